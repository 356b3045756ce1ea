//! A legacy server of one thread, as most are: while it writes it does not read. Sends each call's
//! `pad` back, between notifications.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use crate::json::Json;
use crate::work::{Work, sleep};

/// The word that makes the story server this one.
pub(crate) const ECHOES: &str = "echoes";

const HANDSHAKE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"echoes","version":"1"}}"#;

/// Logs `got N` before it answers the N-th call, and `answered N` once that is written. If it is
/// `late`, the first call waits for the mark `hear`, and all that is behind it in the pipe as well.
pub(crate) fn serve(work: &Work, is_late: bool) -> ExitCode {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut line, mut calls) = (String::new(), 0);
    while stdin.read_line(&mut line).is_ok_and(|size| size > 0) {
        let message = Json::parse(&line).unwrap_or(Json::Null);
        line.clear();
        let Some(id) = message.get("id").map(Json::to_text) else { continue };
        let is_call = message.get("method").and_then(Json::text) == Some("tools/call");
        let answer = if is_call {
            calls += 1;
            work.append("log", &format!("got {calls}"));
            while is_late && !work.has_mark("hear") {
                sleep(2);
            }
            echo(&id, &message)
        } else {
            result(&id, HANDSHAKE)
        };
        if stdout.write_all(answer.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            break;
        }
        if is_call {
            work.append("log", &format!("answered {calls}"));
        }
    }
    ExitCode::SUCCESS
}

fn echo(id: &str, call: &Json) -> String {
    let params = call.get("params");
    let token = params.and_then(|params| params.get("_meta")?.get("progressToken"));
    let pad = params.and_then(|params| params.get("arguments")?.get("pad")?.text());
    let (token, pad) = (token.map(Json::to_text).unwrap_or_default(), pad.unwrap_or_default());
    let note = |name: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{name}\",\"params\":{params}}}\n")
    };
    [
        note("progress", &format!(r#"{{"progressToken":{token},"progress":1}}"#)),
        note("tools/list_changed", "{}"),
        note("progress", &format!(r#"{{"progressToken":{token},"progress":2}}"#)),
        result(id, &format!(r#"{{"content":[{{"type":"text","text":"{pad}"}}]}}"#)),
    ]
    .concat()
}

fn result(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}
