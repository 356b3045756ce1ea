//! A server that writes as fast as it can, more than anybody wants.

use std::fs::File;
use std::io::Write;

use crate::work::Work;

/// Writes that much of one kind, and a line into `written` after each megabyte. In a thread, so that
/// the server reads on.
pub(crate) fn attack(work: &Work, stdout: &File, kind: &str, megabytes: u64, token: &str) {
    let mut out = stdout.try_clone().expect("the same pipe");
    if kind == "stderr" {
        out = File::options().append(true).open("/dev/stderr").unwrap_or(out);
    }
    let (work, kind, token) = (work.clone(), kind.to_owned(), token.to_owned());
    std::thread::spawn(move || {
        let mut n = 0;
        for megabyte in 0..megabytes {
            let mut lines = String::new();
            while lines.len() < 1 << 20 {
                n += 1;
                lines.push_str(&line(&kind, n, &token));
                lines.push('\n');
            }
            if out.write_all(lines.as_bytes()).is_err() {
                return;
            }
            work.append("written", &megabyte.to_string());
        }
    });
}

fn line(kind: &str, n: u64, token: &str) -> String {
    let note = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
    };
    match kind {
        "progress" => note("progress", &format!(r#"{{"progressToken":{token},"progress":{n}}}"#)),
        "logs" => note("message", r#"{"level":"error","data":"a word"}"#),
        "changes" => note("tools/list_changed", "{}"),
        "updates" => note("resources/updated", r#"{"uri":"x:1"}"#),
        "questions" => format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"elicitation/create","params":{{"message":"?","requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
        ),
        "pings" => format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"ping"}}"#),
        "long" => note("message", &format!(r#"{{"data":"{}"}}"#, "x".repeat(400 << 10))),
        "overlong" => "x".repeat(900 << 10),
        _ => "a word on stderr".to_owned(),
    }
}
