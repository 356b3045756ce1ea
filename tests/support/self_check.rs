//! The checks, checked: what must not match does not, and what must be complained of is.
//!
//! A runner that accepts everything passes every case, so this is part of every full run.

use mcp_uplift::bridge::Time;

use super::case::Case;
use super::checks::check_end;
use super::json::{Json, nested_arrays, short};
use super::pattern::{Names, matches, raw_bytes, would_match};
use super::schema::Schema;
use super::transcript::{Transcript, Way};

pub(crate) fn run() -> Result<String, String> {
    json()?;
    patterns()?;
    schemas()?;
    transcripts()?;
    Ok(String::new())
}

fn json() -> Result<(), String> {
    let same = [
        (r#"{"a":1,"b":2}"#, r#" { "b" : 2 , "a" : 1 } "#),
        (r#""\ud83d\ude00\u00e9""#, "\"\u{1f600}\u{e9}\""),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ("1e2", "100.0"),
    ];
    for (a, b) in same {
        if !Json::parse(a)?.same(&Json::parse(b)?) {
            return Err(format!("{a} and {b} should be the same"));
        }
    }
    for (a, b) in [("1", "1.0"), ("1", "\"1\""), ("0", "false"), ("[1,2]", "[2,1]")] {
        if Json::parse(a)?.same(&Json::parse(b)?) {
            return Err(format!("{a} and {b} should differ"));
        }
    }
    for text in ["", "{", "[1,]", "{\"a\":}", "01", "1.", "tru", "\"\u{1}\"", "\"\\x\"", "1 2"] {
        if Json::parse(text).is_ok() {
            return Err(format!("{text:?} should not be JSON"));
        }
    }
    let kept = [
        r#"["\ud83d",1e400,-0.0,{"b":0,"a":[]}]"#.to_owned(),
        nested_arrays(60),
        nested_arrays(70_000),
    ];
    for text in kept {
        if Json::parse(&text)?.to_text() != text {
            return Err(format!("{} is written differently", short(&text, 80)));
        }
    }
    Ok(())
}

fn patterns() -> Result<(), String> {
    let table = [
        (r#"{"a":"$any"}"#, r#"{"a":null,"b":1}"#, true),
        (r#"{"a":"$any"}"#, r#"{"b":1}"#, false),
        (r#"{"a":"$absent"}"#, r#"{"b":1}"#, true),
        (r#"{"a":"$absent"}"#, r#"{"a":null}"#, false),
        (r#"{"a":{"$not":5}}"#, r#"{}"#, true),
        (r#"{"a":{"$not":5}}"#, r#"{"a":5}"#, false),
        (r#"{"a":{"$oneof":["$absent",1]}}"#, r#"{"a":2}"#, false),
        (r#"{"a":{"$oneof":["$absent",1]}}"#, r#"{}"#, true),
        (r#"["$int","$number","$string","$bool"]"#, r#"[1,1.5,"",true]"#, true),
        (r#"["$int"]"#, "[1.0]", false),
        (r#"["$int"]"#, "[1,2]", false),
        (r#"["$x","$x"]"#, "[1,1]", true),
        (r#"["$x","$x"]"#, "[1,1.0]", false),
        (r#"["$x",{"$ne":"$x"}]"#, "[1,1]", false),
        (r#"{"$exact":{"a":1}}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"$has":[2,1]}"#, "[1,2,3]", true),
        (r#"{"$has":[4]}"#, "[1,2,3]", false),
        (r#"{"$all":["$string","$s",{"$regex":"^a.c$"}]}"#, r#""abc""#, true),
        (r#"{"$all":["$string",{"$regex":"^b"}]}"#, r#""abc""#, false),
        (r#"{"$entries":[["$a",1],["$b",2]]}"#, r#"{"x":2,"y":1}"#, true),
        (r#"{"$entries":[["$a",1],["$b",1]]}"#, r#"{"x":2,"y":1}"#, false),
        (r#"{"$entries":[["$a",1]]}"#, r#"{"x":2,"y":1}"#, false),
        (r#"{"P:k":1}"#, r#"{"io.modelcontextprotocol/k":1}"#, true),
    ];
    for (pattern, value, expected) in table {
        let found = would_match(&Json::parse(pattern)?, &Json::parse(value)?, &Names::new());
        if found != expected {
            return Err(format!("{pattern} against {value}: {found}"));
        }
    }
    let mut names = Names::new();
    matches(&Json::parse(r#"{"id":"$c"}"#)?, &Json::parse(r#"{"id":"7"}"#)?, &mut names)?;
    let raw = raw_bytes(r"${c}${pad:2}\xE9${deep:2}", &names)?;
    if raw != b"\"7\"xx\xe9[[]]" {
        return Err(format!("raw bytes are {raw:?}"));
    }
    Ok(())
}

fn schemas() -> Result<(), String> {
    let table = [
        ("2026-07-28", "CallToolResult", r#"{"content":[],"resultType":"complete"}"#, true),
        (
            "2026-07-28",
            "CallToolResult",
            r#"{"content":[{"type":"text"}],"resultType":"complete"}"#,
            false,
        ),
        ("2026-07-28", "DiscoverResult", r#"{"resultType":"complete"}"#, false),
        ("2025-11-25", "ElicitResult", r#"{"action":"accept","content":{"n":1.5}}"#, true),
        ("2025-11-25", "ElicitResult", r#"{"action":"maybe"}"#, false),
        ("2024-11-05", "ListRootsResult", r#"{"roots":[{"uri":"no"}]}"#, false),
        ("2025-06-18", "BlobResourceContents", r#"{"uri":"a:b","blob":"QUJ"}"#, false),
        (
            "2026-07-28",
            "ProgressNotification",
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5,"progress":1}}"#,
            false,
        ),
    ];
    for (revision, definition, value, expected) in table {
        let schema = Schema::of(revision).ok_or_else(|| format!("no {revision}"))?;
        if schema.check(definition, &Json::parse(value)?).is_ok() != expected {
            return Err(format!("{definition} of {revision} against {value}"));
        }
    }
    Ok(())
}

/// What the bridge must never write, each behind one request; and once what it may.
fn transcripts() -> Result<(), String> {
    const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":"p"}}}"#;
    const DONE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#;
    let progress = |value: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"p","progress":{value}}}}}"#
        )
    };
    let tables: [(&str, &[String]); 12] = [
        ("", &[progress(1), progress(2), DONE.to_owned()]),
        ("not rise", &[progress(1), progress(1)]),
        ("not open", &[DONE.to_owned(), progress(1)]),
        ("not open", &[DONE.to_owned(), DONE.to_owned()]),
        ("resultType", &[DONE.replace(r#""resultType":"complete","#, "")]),
        ("extra member", &[DONE.replace(r#""id":1"#, r#""id":1,"x":1"#)]),
        ("not open", &[DONE.replace(r#""id":1"#, r#""id":"1""#)]),
        ("ttlMs is missing", &[DONE.replace(r#""ttlMs":0,"#, "")]),
        ("input_required", &[DONE.replace("complete", "input_required")]),
        ("request was sent", &[r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#.to_owned()]),
        (
            "id is neither",
            &[r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#.to_owned()],
        ),
        (
            "does not exist",
            &[r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":""}}"#.to_owned()],
        ),
    ];
    let case = Case::bare();
    for (complaint, lines) in tables {
        let mut transcript = Transcript::default();
        transcript.client_wrote(Time(0), format!("{ASKED}\n").as_bytes());
        for line in lines {
            transcript.client_read(Time(0), line.as_bytes(), true);
        }
        match check_end(&case, &transcript, &[]) {
            Ok(()) if complaint.is_empty() => {}
            Err(why) if !complaint.is_empty() && why.contains(complaint) => {}
            other => return Err(format!("{complaint:?} expected, got {other:?}")),
        }
    }
    upward(&case)
}

/// The same towards the server.
fn upward(case: &Case) -> Result<(), String> {
    let tables = [
        ("", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        ("twice", r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#),
        (
            "leaked",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","requestState":"s"}}"#,
        ),
        ("name is missing", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#),
        ("not open", r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
        ("unknown", r#"{"jsonrpc":"2.0","method":"notifications/odd"}"#),
    ];
    for (complaint, line) in tables {
        let mut transcript = Transcript::default();
        transcript.server_started();
        transcript.server_passed(Way::FromBridge, br#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
        transcript.server_passed(Way::FromBridge, line.as_bytes());
        match check_end(case, &transcript, &[]) {
            Ok(()) if complaint.is_empty() => {}
            Err(why) if !complaint.is_empty() && why.contains(complaint) => {}
            other => return Err(format!("up, {complaint:?} expected, got {other:?}")),
        }
    }
    Ok(())
}
