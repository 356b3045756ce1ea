//! A legacy client in front of the legacy server: its conversation passes as it is (I15).

use crate::client::{Client, answered, cancel, error, method, text};
use crate::json::Json;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{}},"clientInfo":{"name":"old","version":"1"}}}"#;

fn legacy_client(story: &str, ways: &[&str]) -> Client {
    let mut client = Client::start(story, &[], ways);
    client.is_legacy();
    client.send(INITIALIZE);
    let answer = client.answer(0);
    let version = answer.get("result").and_then(|result| result.get("protocolVersion")?.text());
    assert_eq!(version, Some("2025-03-26"));
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client
}

/// A call as a legacy client makes it.
fn old_call(id: u64, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"tag":{id}}}}}}}"#
    )
}

pub(crate) fn a_legacy_conversation() -> String {
    let mut client = legacy_client("relay", &["helper"]);
    client.send(&old_call(1, "echo"));
    assert_eq!(text(&client.answer(1)), Some("1"));
    // A question goes down as a request, its answer up as a response.
    client.send(&old_call(2, "ask"));
    let question = client.wait_for("the question", |message| method(message).is_some());
    assert_eq!(method(&question), Some("elicitation/create"));
    let id = question.get("id").map(Json::to_text).expect("a request has an id");
    client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept"}}}}"#));
    assert_eq!(text(&client.answer(2)), Some("2"));
    // Three messages on one line.
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    client.send(&format!("[{},{cancelled},{}]", old_call(3, "echo"), old_call(4, "echo")));
    assert_eq!(text(&client.answer(3)), Some("3"));
    assert_eq!(text(&client.answer(4)), Some("4"));
    client.send(&old_call(5, "hang"));
    client.until_logged("got 5", 1);
    client.send(&cancel(5));
    client.until_logged("cancelled 5", 1);
    client.send(&old_call(6, "echo"));
    assert_eq!(text(&client.answer(6)), Some("6"));
    let starts = client.log().iter().filter(|line| *line == "start").count();
    assert_eq!(starts, 1, "one process serves it all");
    assert!(client.end().is_empty());
    "calls, a question, a batch and a cancellation passed".to_owned()
}

/// A legacy server does not answer what was cancelled. The bridge must not wait for it either: not
/// count it among the unanswered requests, nor wait for it at the end of input.
pub(crate) fn cancelled_requests_are_forgotten() -> String {
    let mut client = legacy_client("relay-cancel", &[]);
    for id in 1..=40 {
        client.send(&old_call(id, "hang"));
        client.send(&cancel(id));
    }
    client.until_logged("cancelled 1", 1);
    client.send(&old_call(100, "echo"));
    let answer = client.answer(100);
    assert_eq!(text(&answer), Some("100"), "{}", answer.short(200));
    assert!(client.kept().is_empty(), "a cancelled request was answered");
    let start = client.work.now();
    client.close_stdin();
    client.rest();
    assert_eq!(client.exit(), 0);
    let took = client.work.now().since(start);
    assert!(took < 5_000, "it waited {took} ms for answers that nobody wants");
    format!("40 cancelled, a call served, ended after {took} ms")
}

/// Its session cannot move to another process: what is open is answered, and that is the end.
pub(crate) fn the_server_crashes() -> String {
    let mut client = legacy_client("relay-crash", &["helper"]);
    for id in 1..=3 {
        client.send(&old_call(id, "hang"));
    }
    client.until_logged("got 3", 1);
    client.kill_server();
    let rest = client.rest();
    let status = client.exit();
    let ids: Vec<_> = rest.iter().filter_map(answered).collect();
    assert_eq!(ids, [1, 2, 3]);
    for answer in &rest {
        assert_eq!(error(answer), Some((-32603, "upstream_exited")), "{}", answer.short(200));
    }
    assert_eq!(status, 1);
    client.nothing_is_left();
    "3 requests answered, status 1".to_owned()
}
