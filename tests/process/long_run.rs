//! A long conversation leaves no trace in memory (invariant 7).

use crate::client::{Client, text};
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
