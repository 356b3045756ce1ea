//! Servers that never come to serve: what the client hears, and the exit status (H13, C3).

use crate::client::{Client, error};
use crate::json::Json;
use crate::work::Work;

/// A word of the message that a refusal for want of a server must carry.
fn names_the_cause(answer: &Json, cause: &str) {
    assert_eq!(error(answer), Some((-32603, "upstream_unavailable")), "{}", answer.short(300));
    let message = answer.get("error").and_then(|error| error.get("message")?.text());
    assert!(
        message.is_some_and(|text| text.contains(cause)),
        "no {cause:?}: {}",
        answer.short(300)
    );
}

/// Status 2, said at once on stderr, and every request is told why.
pub(crate) fn commands_that_cannot_start() -> String {
    let work = Work::create("unstartable", 1.0).expect("a folder");
    let plain = work.folder.join("clock").display().to_string(); // a file nobody may execute
    let folder = work.folder.display().to_string();
    let missing = work.folder.join("missing").display().to_string();
    let commands = [
        ("mcp-no-such-command", "no such command on PATH"),
        (missing.as_str(), "no such file"),
        (plain.as_str(), "not an executable file"),
        (folder.as_str(), "not an executable file"),
    ];
    for (command, cause) in commands {
        let place = Work::create("unstartable", 1.0).expect("a folder");
        let mut client = Client::around(place, &[], &[command]);
        client.until("a word on stderr", |client| client.said().contains(cause));
        let asked = [client.request("server/discover", ""), client.call("echo", "\"tag\":1")];
        for id in asked {
            let answer = client.answer(id);
            names_the_cause(&answer, cause);
            names_the_cause(&answer, command);
        }
        client.close_stdin();
        assert!(client.rest().is_empty());
        assert_eq!(client.exit(), 2, "{command}");
    }
    work.remove();
    format!("{} commands, status 2", commands.len())
}

/// The server of this story, up to the end with status 1.
fn never_serves(story: &str, ways: &[&str], cause: &str) -> Client {
    let mut client = Client::start(story, &["--initialize-timeout-ms", "400"], ways);
    let asked = [client.request("server/discover", ""), client.call("echo", "\"tag\":1")];
    for id in asked {
        names_the_cause(&client.answer(id), cause);
    }
    client.close_stdin();
    assert!(client.rest().is_empty());
    assert_eq!(client.exit(), 1);
    client.nothing_is_left();
    client
}

pub(crate) fn a_server_that_never_answers() -> String {
    let client = never_serves("mute", &["mute", "stubborn", "helper"], "--initialize-timeout-ms");
    assert_eq!(client.log().iter().filter(|line| *line == "initialize").count(), 1);
    "refused and status 1".to_owned()
}

pub(crate) fn a_server_that_only_babbles() -> String {
    let client = never_serves("babbles", &["babbles"], "--initialize-timeout-ms");
    assert!(client.said().contains("Loading weights"), "what it wrote is shown");
    "refused and status 1".to_owned()
}

pub(crate) fn a_server_that_ends_at_once() -> String {
    let work = Work::create("ends-at-once", 1.0).expect("a folder");
    let mut client = Client::around(work, &[], &["sh", "-c", "exit 3"]);
    for _ in 0..2 {
        let asked = [client.request("server/discover", ""), client.call("echo", "\"tag\":1")];
        for id in asked {
            names_the_cause(&client.answer(id), "status 3");
        }
    }
    client.no_zombies();
    client.close_stdin();
    assert!(client.rest().is_empty());
    assert_eq!(client.exit(), 1);
    "refused twice and status 1".to_owned()
}

/// No request, no handshake, no failure.
pub(crate) fn a_server_that_nobody_asks() -> String {
    let mut client = Client::start("unused", &[], &["mute", "helper"]);
    client.until_logged("start", 1);
    client.close_stdin();
    assert!(client.rest().is_empty());
    assert_eq!(client.exit(), 0);
    client.nothing_is_left();
    assert_eq!(client.log(), ["start", "eof"]);
    "status 0 without a handshake".to_owned()
}
