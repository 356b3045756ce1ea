//! What changes for clients when a server is wrapped: names and sentences.

/// The sentence for an entry of `changes`.
#[derive(Debug)]
pub(super) struct ChangeText {
    /// Its name, see [`Change::id`](super::model::Change::id).
    pub(super) id: &'static str,
    /// One sentence for the person.
    pub(super) text: &'static str,
}

/// All changes.
#[rustfmt::skip]
static CHANGES: [ChangeText; 13] = [
    change("shared-session", "all requests share one legacy session"),
    change("serial-calls", "tool calls run one at a time (--parallel)"),
    change("questions-as-input", "questions arrive as input_required, and the call is sent again with the answers"),
    change("ambient-question-refused", "questions outside a call are refused, or wait for the next call"),
    change("roots-frozen", "the server is not told when roots change"),
    change("log-per-request", "the log level comes with each request; logs outside a call are dropped"),
    change("subscribe-via-listen", "resource updates come through subscriptions/listen"),
    change("tasks-driven", "tasks are polled here; the client waits for the result"),
    change("cache-defaults", "results are marked ttlMs 0, private (--cache-ttl-ms)"),
    change("error-codes-mapped", "old error codes become those of 2026-07-28"),
    change("methods-local", "methods that the server did not announce are refused here, with -32601"),
    change("stdout-filtered", "lines that are no messages are dropped, with a warning"),
    change("restart-on-exit", "a server that ends is started again for the next request"),
];

const fn change(id: &'static str, text: &'static str) -> ChangeText {
    ChangeText { id, text }
}

/// The change of this id.
#[must_use]
pub(super) fn find(id: &str) -> Option<&'static ChangeText> {
    CHANGES.iter().find(|change| change.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../docs/check.md");

    #[test]
    fn ids_are_unique_and_found() {
        for (at, entry) in CHANGES.iter().enumerate() {
            assert_eq!(CHANGES.iter().position(|other| other.id == entry.id), Some(at));
            assert_eq!(find(entry.id).map(|found| found.text), Some(entry.text));
        }
        assert!(find("").is_none());
    }

    #[test]
    fn the_page_tells_them() {
        for ChangeText { id, text } in &CHANGES {
            assert!(PAGE.contains(&format!("\n| `{id}` | {text} |\n")), "docs/check.md lacks {id}");
        }
    }
}
