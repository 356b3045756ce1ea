//! Much in a row: a long conversation leaves no trace in memory (invariant 7), and a client that is
//! faster than the bridge loses nothing (invariant 1).

use std::collections::VecDeque;

use crate::client::{Client, error, request, text};
use crate::size;

/// One call after the other; memory after the first thousand is the measure.
pub(crate) fn many_calls_one_after_the_other() -> String {
    let calls = size(20_000, 100_000);
    let mut client = Client::start("long-run", &[], &[]);
    let (mut before, start) = (0, client.work.now());
    for n in 1..=calls {
        let id = client.call("echo", &format!("\"tag\":{n}"));
        let answer = client.answer(id);
        assert_eq!(text(&answer), Some(n.to_string().as_str()));
        if n == 1000 {
            before = client.resident_kb();
        }
    }
    let ms = client.work.now().since(start);
    let after = client.resident_kb();
    assert!(after <= before + 300, "from {before} KB to {after} KB in {calls} calls");
    assert!(client.end().is_empty());
    format!("{calls} calls in {ms} ms, {before} KB after 1000, {after} KB at the end")
}

/// Each call asks, and nobody comes back: one given-up call after the other leaves nothing either.
pub(crate) fn many_questions_that_nobody_answers() -> String {
    const AT_ONCE: usize = 8;
    let calls = size(2_500, 20_000);
    let mut client = Client::start("nobody-answers", &[], &[]);
    let (mut before, mut open) = (0, VecDeque::new());
    for n in 1..=calls {
        open.push_back(client.call("ask", &format!("\"tag\":{n}")));
        if open.len() > AT_ONCE
            && let Some(id) = open.pop_front()
        {
            client.ticket(id);
        }
        if n == 700 {
            before = client.resident_kb();
        }
    }
    for id in open {
        client.ticket(id);
    }
    let after = client.resident_kb();
    assert!(after <= before + 150, "from {before} KB to {after} KB in {calls} calls");
    client.end();
    format!("{calls} calls, {before} KB after 700, {after} KB at the end")
}

/// Lines that need no answer keep the bridge busy for as long as there are more of them; here and
/// there stands one that needs an answer.
pub(crate) fn lines_come_faster_than_they_are_read() -> String {
    const REQUESTS: u64 = 300;
    let mut client = Client::start("flood", &[], &[]);
    client.discover();
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n";
    let notes = note.repeat((64 << 10) / note.len()); // as much as is read at once
    for n in 1..=REQUESTS {
        client.begin(&format!("{notes}{}", request(1000 + n, "ping", "")));
    }
    client.finish(usize::try_from(REQUESTS).expect("a small number"));
    client.discover();
    let lost: Vec<_> = (1001..=1000 + REQUESTS).filter(|id| !client.has_kept(*id)).collect();
    assert!(lost.is_empty(), "never answered: {lost:?}");
    for id in 1001..=1000 + REQUESTS {
        assert_eq!(error(&client.answer(id)), Some((-32601, "")));
    }
    assert!(client.end().is_empty(), "something was answered twice");
    format!("{REQUESTS} requests answered among {} MB of notifications", (REQUESTS * 64) >> 10)
}
