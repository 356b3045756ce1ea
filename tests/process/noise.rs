//! Nonsense from both sides: the bridge lives, answers every sound request once, and writes nothing
//! but sound messages.
//!
//! What is asked under an id that begins with `well-formed` is sound and fresh. All other lines are
//! drawn from [`nonsense`], which may by chance be sound as well.

use std::collections::HashMap;

use crate::client::{Client, PATIENCE_MS, raw_request};
use crate::dice::Dice;
use crate::json::{Json, nested_arrays, short};
use crate::size;

const LINE_LIMIT: usize = 64 * 1024;

/// Unanswered sound requests at a time.
const OPEN: usize = 12;

pub(crate) fn both_sides_write_nonsense() -> String {
    let requests = size(1_000, 20_000);
    let options =
        ["--max-line-bytes", "64KiB", "--request-timeout-ms", "150", "--max-in-flight", "64"];
    let mut dice = Dice::new(7);
    let seed = dice.below(1_000_000).to_string();
    let mut client = Client::start("noise", &options, &["noise", &seed]);
    client.discover();
    client.fence(); // a client of the new revision, from here on (I2)
    let mut open: HashMap<String, String> = HashMap::new();
    let (mut ticket, mut lines, mut refused, mut unasked) = (String::new(), 0, 0, 0);
    let mut next = 0;
    while next < requests || !open.is_empty() {
        if next < requests && open.len() < OPEN {
            next += 1;
            let mut bytes = Vec::new();
            for _ in 0..dice.below(4) {
                bytes.extend(nonsense(&mut dice, lines));
                bytes.push(b'\n');
                lines += 1;
            }
            let id = format!("\"well-formed-{next}\"");
            let line = sound(&mut dice, &id, &ticket);
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            open.insert(id, line);
            // Cut anywhere: a line is what ends in a line feed, not what comes in one piece.
            let cut = dice.index(bytes.len());
            client.send_bytes(&bytes[..cut]);
            client.send_bytes(&bytes[cut..]);
            continue;
        }
        let Some(message) = client.message_within(PATIENCE_MS) else {
            client.fail(&format!("unanswered: {:?}", open.values()));
        };
        if let Some(state) =
            message.get("result").and_then(|result| result.get("requestState")?.text())
        {
            state.clone_into(&mut ticket);
        }
        let id = message.get("id").map(Json::to_text).unwrap_or_default();
        if message.has("method") || !id.starts_with("\"well-formed") {
            unasked += 1;
        } else if open.remove(&id).is_none() {
            client.fail(&format!("not open, or answered twice: {}", message.short(200)));
        } else {
            refused += u64::from(message.has("error"));
        }
    }
    assert!(refused < requests, "nothing was served");
    client.discover();
    for message in client.end() {
        let id = message.get("id").map(Json::to_text).unwrap_or_default();
        assert!(!id.starts_with("\"well-formed"), "answered twice: {}", message.short(200));
    }
    format!(
        "{requests} sound requests among {lines} lines of nonsense, {refused} with an error, \
         {unasked} other messages"
    )
}

/// A request that must be answered.
fn sound(dice: &mut Dice, id: &str, ticket: &str) -> String {
    let call = format!(r#""name":"t","arguments":{}"#, value(dice));
    let retry = format!(r#"{call},"requestState":"{ticket}","inputResponses":{}"#, value(dice));
    let (method, members) = match dice.below(18) {
        0 => ("tools/list", String::new()),
        1 => ("resources/read", r#""uri":"file:///a""#.to_owned()),
        2 => ("prompts/get", r#""name":"p""#.to_owned()),
        3 => ("server/discover", String::new()),
        4 => ("no/such-method", format!(r#""x":{}"#, value(dice))),
        5 => ("ping", String::new()),
        6 => ("resources/list", format!(r#""cursor":{}"#, value(dice))),
        7 => ("completion/complete", format!(r#""ref":{}"#, value(dice))),
        8 | 9 => ("tools/call", retry),
        10 | 11 => ("tools/call", call),
        _ => ("tools/call", r#""name":"t""#.to_owned()),
    };
    raw_request(id, method, &members)
}

/// Any JSON value, most of them odd; the arrays nest too deep for anything that recurses.
pub(crate) fn value(dice: &mut Dice) -> String {
    let nested = nested_arrays(100 + dice.index(5_000));
    let values = [
        "null",
        "true",
        "-0",
        "1.0",
        "1e400",
        "98765432109876543210",
        "\"\"",
        "\"\\ud83d\"",
        "\"\\u0000\"",
        "\"é😀\"",
        "{}",
        "[]",
        "[null]",
        r#"{"a":1,"a":2}"#,
        r#"{"":{"":null}}"#,
        r#"{"q1":null,"q2":{"action":"accept","content":{"a":[1]}}}"#,
        nested.as_str(),
        r#"{"q1":{"action":"accept"}}"#,
        r#"{"name":"x","arguments":null,"_meta":[]}"#,
    ];
    dice.pick(&values).to_owned()
}

/// A line without its end.
fn nonsense(dice: &mut Dice, n: usize) -> Vec<u8> {
    let id = format!("\"n-{n}\"");
    let whole = sound(dice, &id, "0123456789abcdef.0123456789abcdef0123456789abcdef");
    let mut line = match dice.below(14) {
        0 => (0..dice.below(200)).map(|_| dice.byte()).collect(),
        1 => whole.as_bytes()[..dice.index(whole.len())].to_vec(),
        2..=4 => mutated(dice, whole.as_bytes()),
        5 => odd_frame(dice, &id).into_bytes(),
        6 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{}"#,
            "{\"a\":".repeat(9_000)
        )
        .into_bytes(),
        7 => format!("{}{}", "[".repeat(dice.index(40_000)), "]".repeat(dice.index(40_000)))
            .into_bytes(),
        8 => vec![b'x'; LINE_LIMIT + dice.index(LINE_LIMIT)],
        9 => [b"\xef\xbb\xbf", whole.as_bytes(), b"\r"].concat(),
        10 => format!("[{whole},{whole},7]").into_bytes(),
        11 => notification(dice).into_bytes(),
        12 => listen(dice, &id).into_bytes(),
        _ => dice
            .pick(&[&b""[..], b" \t ", b"\xff\xfe\x00", b"\xed\xa0\x80", b"\x00", b"{", b"nul"])
            .to_vec(),
    };
    line.retain(|byte| *byte != b'\n');
    line
}

fn mutated(dice: &mut Dice, whole: &[u8]) -> Vec<u8> {
    let mut line = whole.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.index(line.len());
        match dice.below(4) {
            0 => line[at] = dice.byte(),
            1 => line.insert(at, dice.pick(b"\"{}[]:,\\\0\xc3 0e-")),
            2 => drop(line.remove(at)),
            _ => {
                let from = dice.index(line.len());
                let piece = line[from.min(at)..from.max(at)].to_vec();
                line.extend(piece);
            }
        }
    }
    line
}

/// Members of the wrong types, or given twice, or too many.
fn odd_frame(dice: &mut Dice, id: &str) -> String {
    let (a, b, c) = (value(dice), value(dice), value(dice));
    let version = dice.pick(&["\"2.0\"", "\"2.0\"", "2.0", "\"1.0\"", "null"]);
    match dice.below(6) {
        0 => format!(r#"{{"jsonrpc":{version},"id":{a},"method":{b},"params":{c}}}"#),
        1 => format!(
            r#"{{"jsonrpc":{version},"id":{id},"id":{id},"method":"ping","method":"tools/list","params":{a},"params":{b}}}"#
        ),
        2 => format!(r#"{{"jsonrpc":{version},"id":{id},"result":{a},"error":{b}}}"#),
        3 => format!(
            r#"{{"jsonrpc":{version},"id":{id},"method":"tools/list","params":{{"_meta":{a}}}}}"#
        ),
        4 => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":{a},"io.modelcontextprotocol/clientCapabilities":{b},"io.modelcontextprotocol/logLevel":{c},"progressToken":{a}}}}}}}"#
        ),
        _ => short(
            &format!(r#"{{"id":{id},"jsonrpc":"2.0","x":{a},"\u006dethod":"tools/list"}}"#),
            9_999,
        ),
    }
}

fn notification(dice: &mut Dice) -> String {
    let methods =
        ["notifications/cancelled", "notifications/progress", "notifications/initialized", "x", ""];
    let (method, a) = (dice.pick(&methods), value(dice));
    let params = match dice.below(3) {
        0 => a,
        1 => format!(r#"{{"requestId":{a},"reason":{a}}}"#),
        _ => format!(r#"{{"requestId":"n-{}","progressToken":{a}}}"#, dice.below(2_000)),
    };
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

fn listen(dice: &mut Dice, id: &str) -> String {
    let (a, b) = (value(dice), value(dice));
    let filter = match dice.below(3) {
        0 => a,
        1 => format!(r#"{{"toolsListChanged":{a},"resourceSubscriptions":{b}}}"#),
        _ => r#"{"toolsListChanged":true,"resourceSubscriptions":["a","a","é"]}"#.to_owned(),
    };
    raw_request(id, "subscriptions/listen", &format!("\"notifications\":{filter}"))
}
