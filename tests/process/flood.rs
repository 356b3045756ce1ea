//! Much in both directions at once: all pipes are full, nobody waits for ever, and each request gets
//! its one answer (invariants 1 and 7, R).
//!
//! The server of these stories has one thread: while it writes an answer it reads nothing, so a
//! bridge that stops reading it until it reads waits for ever.

use std::collections::BTreeSet;

use crate::attacks::{DEFAULT, judge};
use crate::client::{Client, answered, call, error, method, request, text};
use crate::echo_server::ECHOES;
use crate::json::Json;
use crate::work::sleep;

const MB: usize = 1 << 20;

/// Much less than the client writes; what finds no room is refused.
const SMALL: (&[&str], u64) = (&["--max-buffer-bytes", "8MiB"], 8 << 10);

/// Lines on their way through, which come on top: two for each side.
const LINES_KB: u64 = 4 << 10;

/// A text of this size that no other call has.
fn pad(id: u64, bytes: usize) -> String {
    format!("{id:08}").repeat(bytes / 8)
}

fn echo(id: u64, bytes: usize) -> String {
    request(id, "tools/call", &call("echo", &format!("\"pad\":\"{}\"", pad(id, bytes))))
}

/// The call that the next answer belongs to, and whether it was served: otherwise it was refused
/// for want of room.
fn next_answer(client: &mut Client, bytes: usize) -> (u64, bool) {
    let answer = client.wait_for("the next answer", |message| answered(message).is_some());
    let id = answered(&answer).expect("an answer");
    if let Some(refusal) = error(&answer) {
        assert_eq!(refusal, (-32603, "overloaded"));
        return (id, false);
    }
    assert!(text(&answer) == Some(&pad(id, bytes)), "not what {id} sent: {}", answer.short(200));
    (id, true)
}

/// Calls whose answers are due.
struct Due {
    bytes: usize,
    open: BTreeSet<u64>,
    refused: Vec<u64>,
}

impl Due {
    /// Begins so many calls of so many bytes.
    fn begin(client: &Client, calls: u64, bytes: usize) -> Due {
        let open: BTreeSet<u64> = (1001..=1000 + calls).collect();
        open.iter().for_each(|id| client.begin(&echo(*id, bytes)));
        Due { bytes, open, refused: Vec::new() }
    }

    fn take(&mut self, client: &mut Client) {
        let (id, is_served) = next_answer(client, self.bytes);
        assert!(self.open.remove(&id), "{id} was answered twice");
        self.refused.extend((!is_served).then_some(id));
    }

    /// Takes all answers that are left. What was refused comes again, now that there is room.
    fn take_all(&mut self, client: &mut Client) {
        while !self.open.is_empty() {
            self.take(client);
        }
        for id in &self.refused {
            client.begin(&echo(*id, self.bytes));
            client.finish(1);
            assert_eq!(next_answer(client, self.bytes), (*id, true));
        }
    }
}

/// How many calls the server has begun to answer, and how many answers it got rid of.
fn begun_and_done(client: &Client) -> (usize, usize) {
    let log = client.log();
    let count = |word: &str| log.iter().filter(|line| line.starts_with(word)).count();
    (count("got"), count("answered"))
}

fn flood((options, allowed): (&[&str], u64), parallel: &str) -> String {
    const CALLS: usize = 96; // more than the default bound holds
    let lanes = ["--parallel", parallel, "--max-in-flight", "128"];
    let mut client = Client::start("flood", &[options, &lanes].concat(), &[ECHOES]);
    client.discover();
    let stream = client.listen(r#"{"toolsListChanged":true}"#);
    client.stop_reading();
    let mut due = Due::begin(&client, CALLS as u64, MB);
    client.until_logged("got 1", 1);
    client.stand_still(|client| client.log().len() as u64);
    let mut written = 0;
    while client.is_written() {
        written += 1;
    }
    assert!(written < CALLS, "the bridge took all of it");
    let (begun, done) = begun_and_done(&client);
    if parallel != "1" {
        // It is in the middle of an answer, with more calls before it than its pipe holds.
        assert_eq!(begun, done + 1, "the server does not write");
    }
    judge(&client, "full", allowed + LINES_KB);
    for _ in 0..8 {
        client.read_on();
        due.take(&mut client);
        client.stop_reading();
        sleep(30); // slower than anything else here
    }
    client.read_on();
    client.finish(CALLS - written);
    due.take_all(&mut client);
    let told = |message: &Json| method(message) == Some("notifications/tools/list_changed");
    assert!(client.kept().iter().any(told), "the stream was forgotten");
    let peak = judge(&client, "flood", allowed + LINES_KB);
    let again = client.end().iter().filter_map(answered).find(|id| *id != stream);
    assert_eq!(again, None, "it was answered twice");
    format!("{done} answers taken unread, {} calls refused, peak {peak} KB", due.refused.len())
}

/// A client writes much and reads nothing, and its server sends all of it back; then the client
/// reads, first slowly.
pub(crate) fn large_echoes_fill_all_pipes() -> String {
    let small = ["1", "8"].map(|parallel| flood(SMALL, parallel));
    let usual = ["1", "8"].map(|parallel| flood(DEFAULT, parallel));
    format!("8 MiB allowed: {}; by default: {}", small.join("; "), usual.join("; "))
}

/// The client reads all the time. Calls that run and calls that wait take all the room there is, and
/// the next ones stand before a server that has yet to write its answer.
pub(crate) fn large_calls_wait_for_a_server_that_writes() -> String {
    const CALLS: usize = 16;
    let mut refused = 0;
    for parallel in ["2", "3", "8"] {
        let options = [SMALL.0, &["--parallel", parallel]].concat();
        let mut client = Client::start("read-at-once", &options, &[ECHOES, "late"]);
        client.discover();
        let mut due = Due::begin(&client, CALLS as u64, MB + MB / 4);
        client.until_logged("got 1", 1);
        client.stand_still(|client| client.log().len() as u64);
        client.work.set_mark("hear");
        client.finish(CALLS);
        due.take_all(&mut client);
        judge(&client, "read at once", SMALL.1 + LINES_KB);
        assert!(client.end().iter().all(|message| answered(message).is_none()));
        refused += due.refused.len();
    }
    format!("{CALLS} calls of 1.25 MiB three times, {refused} refused at first")
}
