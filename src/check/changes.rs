//! What changes for clients when a server is wrapped: names and sentences.

/// Something that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    SharedSession,
    SerialCalls,
    QuestionsAsInput,
    AmbientQuestionRefused,
    RootsFrozen,
    LogPerRequest,
    SubscribeViaListen,
    TasksDriven,
    CacheDefaults,
    ErrorCodesMapped,
    MethodsLocal,
    StdoutFiltered,
    RestartOnExit,
}

impl Changed {
    /// Its name in reports, and one sentence for the person.
    #[rustfmt::skip]
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Changed::SharedSession => ("shared-session", "all requests share one legacy session"),
            Changed::SerialCalls => ("serial-calls", "tool calls run one at a time (--parallel)"),
            Changed::QuestionsAsInput => ("questions-as-input", "questions arrive as input_required, and the call is sent again with the answers"),
            Changed::AmbientQuestionRefused => ("ambient-question-refused", "questions outside a call are refused, or wait for the next call"),
            Changed::RootsFrozen => ("roots-frozen", "the server is not told when roots change"),
            Changed::LogPerRequest => ("log-per-request", "the log level comes with each request; logs outside a call are dropped"),
            Changed::SubscribeViaListen => ("subscribe-via-listen", "resource updates come through subscriptions/listen"),
            Changed::TasksDriven => ("tasks-driven", "tasks are polled here; the client waits for the result"),
            Changed::CacheDefaults => ("cache-defaults", "results are marked ttlMs 0, private (--cache-ttl-ms)"),
            Changed::ErrorCodesMapped => ("error-codes-mapped", "old error codes become those of 2026-07-28"),
            Changed::MethodsLocal => ("methods-local", "methods that the server did not announce are refused here, with -32601"),
            Changed::StdoutFiltered => ("stdout-filtered", "lines that are no messages are dropped, with a warning"),
            Changed::RestartOnExit => ("restart-on-exit", "a server that ends is started again for the next request"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../docs/check.md");
    #[rustfmt::skip]
    const ALL: [Changed; 13] = [
        Changed::SharedSession,
        Changed::SerialCalls,
        Changed::QuestionsAsInput,
        Changed::AmbientQuestionRefused,
        Changed::RootsFrozen,
        Changed::LogPerRequest,
        Changed::SubscribeViaListen,
        Changed::TasksDriven,
        Changed::CacheDefaults,
        Changed::ErrorCodesMapped,
        Changed::MethodsLocal,
        Changed::StdoutFiltered,
        Changed::RestartOnExit,
    ];

    #[test]
    fn the_page_tells_them() {
        for (id, text) in ALL.map(Changed::words) {
            assert!(PAGE.contains(&format!("\n| `{id}` | {text} |\n")), "docs/check.md lacks {id}");
            let same = ALL.iter().filter(|other| other.words().0 == id);
            assert_eq!(same.count(), 1, "{id}");
        }
    }
}
