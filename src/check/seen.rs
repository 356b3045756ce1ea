//! What was seen of a server in one column: the raw material of the rules.

use super::excerpt::excerpt;
use super::model::{ChildNote, Era, Feature, Frame, Late, tenths};
use super::sdk::Marks;
use super::secrets::{clean, masked_start};
use crate::message::object::Object;
use crate::message::value::string;

/// Why nothing more was asked.
pub(super) const OUT_OF_TIME: &str = "the time of --budget was used up";

/// Bytes that are looked at of a text, of which less is shown.
const LOOKED_AT: usize = 4 << 10;

/// How the bridge says that the time to start was over, in the words of the check.
const UNSTARTED: &str = "(--start-timeout)\"";

/// The same time has one name as an option of the bridge and another one here.
pub(super) fn in_our_words(text: &str) -> String {
    text.replace("--initialize-timeout-ms", "--start-timeout")
}

/// A text of the server's, masked before it is cut: nobody knows a part of a value.
fn may_be_shown(text: &str, secrets: &[String]) -> String {
    clean(&masked_start(text, LOOKED_AT, secrets))
}

/// What came back for a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A result, as JSON text.
    Result(String),
    /// An error object, as JSON text.
    Error(String),
    /// Nothing, within so many milliseconds.
    Silence(u64),
    /// The process ended.
    Exited,
}

impl Reply {
    /// In words, with the server's own, but for what must not be shown.
    pub(super) fn words(&self, secrets: &[String]) -> String {
        match self {
            Reply::Result(_) => "a result".to_owned(),
            Reply::Silence(ms) => ["no answer in ", &seconds(*ms), " s"].concat(),
            Reply::Exited => "the process ended".to_owned(),
            Reply::Error(raw) => {
                let error = Object::parse(raw).unwrap_or_default();
                let shown = |text: &str| may_be_shown(text, secrets);
                let message = shown(&error.get("message").and_then(string).unwrap_or_default());
                let code = shown(error.get("code").unwrap_or("without a code"));
                ["error ", &code, " \"", &message, "\""].concat()
            }
        }
    }
}

/// A request that was sent, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) method: &'static str,
    pub(super) reply: Reply,
    /// The reply in words, with the server's own.
    pub(super) words: String,
    /// The request, and the answer if there was one.
    pub(super) frames: Vec<Frame>,
}

impl Probe {
    /// The members of its result.
    #[inline(never)]
    pub(super) fn result(&self) -> Option<Object<'_>> {
        match &self.reply {
            Reply::Result(raw) => Object::parse(raw),
            Reply::Error(_) | Reply::Silence(_) | Reply::Exited => None,
        }
    }

    /// Without the bulk of a large answer, which no rule needs.
    pub(super) fn bounded(mut self) -> Self {
        self.reply = match self.reply {
            Reply::Result(raw) => Reply::Result(excerpt(raw)),
            Reply::Error(raw) => Reply::Error(excerpt(raw)),
            other @ (Reply::Silence(_) | Reply::Exited) => other,
        };
        self
    }

    /// Was it answered with a result at all?
    pub(super) fn is_result(&self) -> bool {
        matches!(self.reply, Reply::Result(_))
    }

    /// The members of its error.
    #[inline(never)]
    pub(super) fn error(&self) -> Option<Object<'_>> {
        match &self.reply {
            Reply::Error(raw) => Some(Object::parse(raw).unwrap_or_default()),
            Reply::Result(_) | Reply::Silence(_) | Reply::Exited => None,
        }
    }

    /// The code of its error.
    #[inline(never)]
    pub(super) fn code(&self) -> Option<i64> {
        self.error()?.get("code")?.parse().ok()
    }

    /// Did this program answer in its place, because it had not started?
    fn is_unstarted(&self) -> bool {
        self.words.ends_with(UNSTARTED)
    }

    /// Was there no answer at all?
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(self.reply, Reply::Silence(_) | Reply::Exited)
    }
}

/// Milliseconds as seconds, with a tenth where there is one.
pub(super) fn seconds(ms: u64) -> String {
    let text = tenths(ms);
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// A list that was asked for, all pages of it.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    /// The first page.
    pub(super) probe: Probe,
    /// Names or URIs in their order; `None` where it did not answer with its array.
    pub(super) names: Option<Vec<String>>,
    /// All items of it are known.
    pub(super) is_whole: bool,
    /// A tool may be run as a task of 2025-11-25.
    pub(super) has_tasks: bool,
}

impl Listing {
    pub(super) fn works(&self) -> bool {
        self.names.is_some()
    }
}

/// Everything of one column.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) is_wrapped: bool,
    pub(super) era: Era,
    pub(super) marks: Marks,

    // ---- the opening ----
    pub(super) discover: Option<Probe>,
    /// Lists on A, in the order asked for.
    pub(super) lists: Vec<Listing>,
    /// One that is advertised was not asked for.
    pub(super) lacks_list: bool,
    pub(super) again: Option<Listing>,
    /// The list as the first frame of a process.
    pub(super) alone: Option<Listing>,
    pub(super) initialize: Option<Probe>,
    /// After the handshake, without and with an envelope.
    pub(super) plain: Option<Listing>,
    pub(super) enveloped: Option<Listing>,
    /// A version that does not exist, as the first frame of a process.
    pub(super) version: Option<Probe>,

    // ---- probes ----
    pub(super) ping: Option<Probe>,
    pub(super) set_level: Option<Probe>,
    pub(super) subscribe: Option<Probe>,
    pub(super) unsubscribe: Option<Probe>,
    pub(super) listen: Option<Listen>,
    pub(super) read: Option<Probe>,
    pub(super) without_meta: Option<Probe>,
    pub(super) version_only: Option<Probe>,
    pub(super) unknown: Option<Probe>,
    pub(super) calls: Vec<CallSeen>,
    /// Tools that were to be called and are not there; in words.
    pub(super) absent_tools: Option<String>,
    /// One that was to be made was not.
    pub(super) lacks_call: bool,

    // ---- all along ----
    /// Lines that are no messages.
    pub(super) junk: Vec<Frame>,
    /// Answers whose id is not that of the request, or that came twice.
    pub(super) wrong_ids: Vec<Frame>,
    /// Requests of the server where a modern client waits for answers only.
    pub(super) asked: Vec<Frame>,
    /// Notifications there that nobody subscribed to.
    pub(super) told: Vec<Frame>,
    /// Methods that ended a process.
    pub(super) deaths: Vec<(&'static str, Vec<Frame>)>,
    /// The main process went on after its input had closed.
    pub(super) outlives_input: bool,
    pub(super) was_ended: bool,
    /// Something answered, in any process.
    pub(super) has_answered: bool,
    /// A process wrote nothing in all the time that it had to start.
    pub(super) was_mute_at_start: bool,
    /// Another wrote something in that time.
    pub(super) was_heard_at_start: bool,
    /// The answer to a first request came when that time was over.
    pub(super) was_answered_late: bool,
    /// Methods of other requests whose answers came late.
    pub(super) slow: Vec<&'static str>,
    /// Alone it left `initialize` unanswered, although it had started.
    pub(super) shakes_no_hands: bool,
    /// Something was written, answer or not.
    pub(super) has_written: bool,
    /// Time or replacements were used up.
    pub(super) gave_up: Option<&'static str>,
    pub(super) features: Vec<Feature>,
    pub(super) children: Vec<ChildNote>,
    pub(super) last_stderr: String,
    pub(super) unstartable: String,
    /// What must not be shown.
    pub(super) secrets: Vec<String>,
}

/// A tool that was called.
#[derive(Clone, Debug)]
pub(super) struct CallSeen {
    pub(super) name: String,
    /// Without any capability.
    pub(super) first: Probe,
    /// With those that it asked for.
    pub(super) second: Option<Probe>,
    /// Meanwhile the server sent a request of its own.
    pub(super) was_asked: bool,
}

impl CallSeen {
    pub(super) fn last(&self) -> &Probe {
        self.second.as_ref().unwrap_or(&self.first)
    }
}

/// What came of `subscriptions/listen`.
#[derive(Clone, Debug)]
pub(super) struct Listen {
    pub(super) probe: Probe,
    /// It was acknowledged as it must be; else why not.
    pub(super) fault: Option<String>,
}

impl Seen {
    /// `capabilities` as discover told them, else initialize.
    pub(super) fn capabilities(&self) -> Object<'_> {
        let told = [&self.discover, &self.initialize].into_iter().flatten();
        told.filter_map(|probe| probe.result()?.object("capabilities")).next().unwrap_or_default()
    }

    /// Did this first request find a process that was still starting? Who was silent at first and
    /// answers others in time merely ignores it.
    pub(super) fn lateness(&self, first: &Probe) -> Option<Late> {
        let starts_late =
            self.was_answered_late || (self.was_mute_at_start && !self.was_heard_at_start);
        let is_silent = matches!(first.reply, Reply::Silence(_));
        match first.is_unstarted() {
            true if self.shakes_no_hands => Some(Late::Handshake),
            true => Some(Late::Start),
            false => (is_silent && starts_late).then_some(Late::Start),
        }
    }

    /// A text of the server's as it may be shown.
    pub(super) fn shown(&self, text: &str) -> String {
        may_be_shown(text, &self.secrets)
    }

    /// The list of tools.
    pub(super) fn tools(&self) -> Option<&Listing> {
        self.usable_lists().into_iter().find(|list| list.probe.method == "tools/list")
    }

    /// Did any of A's lists work?
    pub(super) fn lists_at_once(&self) -> bool {
        self.lists.iter().any(Listing::works)
    }

    /// The lists that can be compared and judged, the best first: A's, else C's.
    pub(super) fn usable_lists(&self) -> Vec<&Listing> {
        let works = |list: &&Listing| list.works();
        let of_a: Vec<_> = self.lists.iter().filter(works).collect();
        if !of_a.is_empty() {
            return of_a;
        }
        let of_c = [&self.enveloped, &self.plain];
        of_c.into_iter().flatten().find(works).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cut would leave the beginning of it.
    #[test]
    fn no_part_of_an_error_shows_a_secret() {
        let secrets = ["0123456789".to_owned()];
        let long = format!("{}0123456789", "x".repeat(195));
        for raw in [
            format!(r#"{{"code":1,"message":"{long}"}}"#),
            format!(r#"{{"code":"{long}","message":""}}"#),
        ] {
            let words = Reply::Error(raw).words(&secrets);
            assert!(words.contains("x***") && !words.contains('0'), "{words}");
        }
    }

    #[test]
    fn silence_in_words() {
        for (ms, words) in
            [(3_000, "no answer in 3 s"), (1_450, "no answer in 1.5 s"), (990, "no answer in 1 s")]
        {
            assert_eq!(Reply::Silence(ms).words(&[]), words);
        }
    }
}
