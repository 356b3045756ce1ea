//! A legacy server that does what no server should, and answers most requests all the same.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use crate::dice::Dice;
use crate::json::Json;
use crate::noise::value;

/// Longer than the story lets a line be.
const TOO_LONG: usize = 100 * 1024;

pub(crate) fn serve(seed: u64) -> ExitCode {
    let mut dice = Dice::new(seed);
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line).is_ok_and(|size| size > 0) {
        let message = Json::parse(&String::from_utf8_lossy(&line));
        line.clear();
        let Ok(message) = message else { continue };
        let mut out = Vec::new();
        for _ in 0..dice.below(3) {
            out.extend(nonsense(&mut dice));
        }
        if let (Some(method), Some(id)) =
            (message.get("method").and_then(Json::text), message.get("id"))
        {
            out.extend(answer(&mut dice, method, &id.to_text()).into_bytes());
        }
        if stdout.write_all(&out).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn answer(dice: &mut Dice, method: &str, id: &str) -> String {
    let frame = |body: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n");
    if method == "initialize" {
        return frame(
            r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{"listChanged":null},"completions":{},"logging":{}},"serverInfo":{"name":"noise","version":"1"}}"#,
        );
    }
    let (a, b, c) = (value(dice), value(dice), value(dice));
    let sound = match method {
        "tools/list" => format!(
            r#""result":{{"tools":[{{"name":"t","inputSchema":{a}}},null],"nextCursor":null,"x":{b}}}"#
        ),
        "completion/complete" => {
            format!(r#""result":{{"completion":{{"values":["a"],"total":{a}}}}}"#)
        }
        _ => format!(
            r#""result":{{"content":[{{"type":"text","text":"ok","annotations":null}},null],"contents":[],"messages":[],"structuredContent":{a},"_meta":{b}}}"#
        ),
    };
    match dice.below(40) {
        0 => String::new(), // it times out
        1 => frame(&format!(r#""result":{a}"#)),
        2 => frame(&format!(r#""error":{a}"#)),
        3 => frame(&format!(r#""error":{{"code":{a},"message":{b},"data":{c}}}"#)),
        4 => frame(&format!(r#""result":{a},"error":{b}"#)),
        5 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\n"),
        6 => frame(&format!(r#""result":{{"content":"{}"}}"#, "x".repeat(TOO_LONG))),
        7 => frame(&sound).repeat(2),
        8 => format!("[{},{a}]\n", frame(&sound).trim_end()),
        9..=11 => format!("{}{}", question(dice), frame(&sound)),
        12 | 13 => question(dice), // it waits for more than it will get
        _ => frame(&sound),
    }
}

fn question(dice: &mut Dice) -> String {
    let (id, a, b) = (dice.below(1_000_000), value(dice), value(dice));
    let (method, params) = match dice.below(5) {
        0 => ("roots/list", a),
        1 => ("sampling/createMessage", format!(r#"{{"messages":{a},"maxTokens":{b}}}"#)),
        2 => {
            ("elicitation/create", format!(r#"{{"mode":{a},"message":"m","requestedSchema":{b}}}"#))
        }
        3 => ("elicitation/create", a),
        _ => (
            "elicitation/create",
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#.to_owned(),
        ),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

/// Lines that nobody asked for.
fn nonsense(dice: &mut Dice) -> Vec<u8> {
    let (a, b) = (value(dice), value(dice));
    let note = |method: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n")
    };
    let text = match dice.below(14) {
        0 => {
            let mut bytes: Vec<u8> = (0..dice.below(300)).map(|_| dice.byte()).collect();
            bytes.push(b'\n');
            return bytes;
        }
        1 => return b"caf\xe9 \xff\n\xef\xbb\xbf{}\r\n\0\n".to_vec(),
        2 => format!("{a}\n"),
        3 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{a},\"result\":{b}}}\n"),
        4 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{a},\"method\":\"ping\"}}\n"),
        5 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{a},\"method\":\"no/such\",\"params\":{b}}}\n"),
        6 => note(
            "notifications/progress",
            &format!(
                r#"{{"progressToken":{},"progress":{a},"total":{b},"message":{b}}}"#,
                dice.below(2_000)
            ),
        ),
        7 => note(
            "notifications/message",
            &format!(r#"{{"level":"error","data":{a},"logger":{b}}}"#),
        ),
        8 => note("notifications/tools/list_changed", &a),
        9 => note(
            "notifications/resources/updated",
            &format!(r#"{{"uri":"a","_meta":{a},"x":{b}}}"#),
        ),
        10 => note(
            "notifications/cancelled",
            &format!(r#"{{"requestId":{}}}"#, dice.below(1_000_000)),
        ),
        11 => note("notifications/elicitation/complete", &format!(r#"{{"elicitationId":{a}}}"#)),
        12 => format!("[[],{a},{{}}]\n"),
        _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", dice.below(3_000)),
    };
    text.into_bytes()
}
