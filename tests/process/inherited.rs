//! What the bridge gets from whoever starts it, and what comes to it beside the ends.

use std::process::Command;

use crate::client::{Client, bridge, story_server, text};
use crate::sys::{self, Inherited};
use crate::work::{Work, state_of};

fn start(story: &str, ways: &[&str], shape: impl FnOnce(&mut Command) -> &mut Command) -> Client {
    let work = Work::create(story, 1.0).expect("a folder for the story");
    let mut command = bridge(&[], &story_server(&work, ways));
    shape(&mut command);
    Client::of(work, command)
}

/// A call is answered, its server dies, another call is answered.
fn survives_a_crash(client: &mut Client) {
    for kill in 1..=2 {
        let id = client.call("echo", &format!("\"tag\":{kill}"));
        assert_eq!(text(&client.answer(id)), Some(kill.to_string().as_str()));
        client.kill_server();
        client.until("the bridge knows", |client| {
            client.said().matches("the server").count() >= kill
        });
    }
    let id = client.call("echo", "\"tag\":3");
    assert_eq!(text(&client.answer(id)), Some("3"));
    client.no_zombies();
}

/// A helper of the server holds its stdout, so the reader must be woken by a signal of ours.
pub(crate) fn blocked_signals() -> String {
    let mut client =
        start("blocked", &["helper"], |command| sys::inherits(command, Inherited::Blocked));
    survives_a_crash(&mut client);
    client.signal(sys::SIGTERM);
    client.rest();
    assert_eq!(client.exit(), 128 + sys::SIGTERM);
    client.nothing_is_left();
    "two crashes survived, ended by a signal".to_owned()
}

/// Of ended children we must hear, ignored or not; a client that goes must never kill us.
pub(crate) fn ignored_signals() -> String {
    const SIGNALS: &[i32] = &[sys::SIGPIPE, sys::SIGCHLD];
    for inherited in [Inherited::Ignored(SIGNALS), Inherited::Default(SIGNALS)] {
        let mut client = start("ignored", &["helper"], |command| sys::inherits(command, inherited));
        survives_a_crash(&mut client);
        client.close_stdout();
        assert_eq!(client.exit(), 0);
        client.nothing_is_left();
    }
    "SIGPIPE and SIGCHLD, ignored or not".to_owned()
}

/// `nohup mcp-uplift`, and a shell's `&`.
pub(crate) fn ends_that_the_parent_ignores() -> String {
    const SIGNALS: &[i32] = &[sys::SIGHUP, sys::SIGINT, sys::SIGQUIT];
    let mut client =
        start("nohup", &["helper"], |command| sys::inherits(command, Inherited::Ignored(SIGNALS)));
    client.discover();
    SIGNALS.iter().for_each(|signal| client.signal(*signal));
    let id = client.call("echo", "\"tag\":1");
    client.answer(id);
    client.signal(sys::SIGTERM);
    client.rest();
    assert_eq!(client.exit(), 128 + sys::SIGTERM, "what is not ignored ends it");
    client.nothing_is_left();
    "SIGHUP, SIGINT, SIGQUIT stay ignored".to_owned()
}

/// Job control, in the middle of a call; and signals that mean nothing.
pub(crate) fn stopped_and_continued() -> String {
    let mut client = Client::start("stopped", &[], &["helper"]);
    let id = client.call("work", "\"tag\":1,\"ms\":50");
    client.until_logged("got 1", 1);
    for _ in 0..3 {
        client.signal(sys::SIGTSTP);
        client.until("the bridge is stopped", |client| {
            state_of(client.pid()).as_deref() == Some("T")
        });
        client.signal(sys::SIGCONT);
    }
    assert_eq!(text(&client.answer(id)), Some("1"));
    for _ in 0..50 {
        client.signal(sys::SIGURG);
        client.signal(sys::SIGWINCH);
    }
    let id = client.call("echo", "\"tag\":2");
    assert_eq!(text(&client.answer(id)), Some("2"));
    client.signal(sys::SIGTSTP);
    client.until("the bridge is stopped", |client| state_of(client.pid()).as_deref() == Some("T"));
    let id = client.call("echo", "\"tag\":3"); // the pipe takes it
    client.until_logged("answered 2", 1);
    client.signal(sys::SIGCONT);
    assert_eq!(text(&client.answer(id)), Some("3"));
    assert!(client.end().is_empty());
    "stopped four times, 100 other signals".to_owned()
}
