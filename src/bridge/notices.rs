//! Progress marks and log levels: what may be told about a running call (F1-F5, F14, F15).
//!
//! Knows no chain and no token but by text, reads no clock, sends nothing.

use super::event::Time;
use crate::bounds::MOST_TOKENS;
use crate::message::decimal::Decimal;
use std::sync::Arc;

/// Updates a second for one token (F5). A burst up to this many passes whole.
const PER_SECOND: u32 = 20;
const SECOND_MS: u64 = 1000;

/// What becomes of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes down now.
    Emit,
    /// It waits, and a newer one takes its place; [`Progress::due`] tells until when.
    Held,
    /// It says nothing new (F3).
    Dropped,
}

/// An update that waits: most are replaced by a newer one, so it is not read before it goes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) value: Decimal,
    /// The line it came in.
    pub(super) line: Arc<String>,
}

/// The progress of one chain.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The call went up with a token of ours (F4).
    pub(super) is_asked_for: bool,
    /// The last value told under each of the client's tokens (F4).
    marks: Vec<(Box<str>, Decimal)>,
    waiting: Option<Waiting>,
    /// The second that is being counted.
    second: Time,
    count: u32,
}

impl Progress {
    /// An update for the leg with this token. Values must rise (F3), and not too often (F5).
    pub(super) fn take(
        &mut self,
        token: &str,
        value: Decimal,
        line: &Arc<String>,
        now: Time,
    ) -> Verdict {
        let mark = self.marks.iter().find(|(known, _)| **known == *token).map(|(_, value)| value);
        let last = self.waiting.as_ref().map(|waiting| &waiting.value).or(mark);
        if last.is_some_and(|last| value <= *last) {
            return Verdict::Dropped;
        }
        if now.since(self.second) >= SECOND_MS {
            (self.second, self.count) = (now, 0);
        }
        if self.count >= PER_SECOND {
            self.waiting = Some(Waiting { value, line: Arc::clone(line) });
            return Verdict::Held;
        }
        self.waiting = None; // it would say less than this one
        self.count += 1;
        self.mark(token, value);
        Verdict::Emit
    }

    /// The update that waits, before its leg is answered or because its time has come.
    pub(super) fn flush(&mut self, token: &str) -> Option<Waiting> {
        let waiting = self.waiting.take()?;
        self.count += 1;
        self.mark(token, waiting.value.clone());
        Some(waiting)
    }

    /// The leg is over; what waited for it is not wanted (F2).
    pub(super) fn end_leg(&mut self) {
        self.waiting = None;
    }

    /// When the update that waits may go down.
    pub(super) fn due(&self) -> Option<Time> {
        self.waiting.as_ref().map(|_| self.second.after(SECOND_MS))
    }

    fn mark(&mut self, token: &str, value: Decimal) {
        if let Some((_, mark)) = self.marks.iter_mut().find(|(known, _)| **known == *token) {
            *mark = value;
        } else if self.marks.len() < MOST_TOKENS {
            self.marks.push((token.into(), value));
        }
    }
}

/// Which `logging/setLevel` the server was told last, and whether it must be told another (F15).
/// Levels are places in the order of severity, most verbose first.
#[derive(Debug, Default)]
pub(super) struct LogLevel {
    told: Option<u8>,
}

impl LogLevel {
    /// The level to tell before a request goes up, where the open legs want these levels.
    pub(super) fn change(&mut self, wanted: impl Iterator<Item = u8>) -> Option<u8> {
        let wanted = wanted.min()?;
        if self.told == Some(wanted) {
            return None;
        }
        self.told = Some(wanted);
        Some(wanted)
    }

    /// A new process knows nothing of it.
    pub(super) fn forget(&mut self) {
        self.told = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(progress: &mut Progress, token: &str, value: &str, at: u64) -> Verdict {
        let line = Arc::new(value.to_owned());
        progress.take(token, Decimal::read(value).unwrap(), &line, Time(at))
    }

    #[test]
    fn values_rise_for_each_token() {
        let mut progress = Progress::default();
        for (token, value, passes) in [
            ("0", "1.0", true),
            ("0", "1.0", false),
            ("0", "0.5", false),
            ("0", "2.5", true),
            ("\"0\"", "1.0", true),
            ("0", "2.0", false),
        ] {
            let verdict = take(&mut progress, token, value, 0);
            assert_eq!(verdict != Verdict::Dropped, passes, "{token} {value}");
        }
    }

    #[test]
    fn marks_are_bounded() {
        let mut progress = Progress::default();
        for token in 0..2 * MOST_TOKENS {
            let at = SECOND_MS * u64::try_from(token).unwrap();
            take(&mut progress, &token.to_string(), "1", at);
        }
        assert_eq!(progress.marks.len(), MOST_TOKENS);
    }

    #[test]
    fn a_flood_is_merged_and_the_newest_is_kept() {
        let mut progress = Progress::default();
        let emitted = (1..=100)
            .filter(|n: &u32| take(&mut progress, "0", &n.to_string(), 5) == Verdict::Emit)
            .count();
        assert_eq!(emitted, 20);
        assert_eq!(progress.due(), Some(Time(1000)));
        assert_eq!(progress.flush("0").map(|w| w.line.to_string()), Some("100".into()));
        assert_eq!(progress.due(), None);
        assert_eq!(take(&mut progress, "0", "100", 2000), Verdict::Dropped);
    }

    /// The next second can bring an update before it brings the wake-up for the one that waits.
    #[test]
    fn what_waits_gives_way_to_a_newer_one() {
        let mut progress = Progress::default();
        for value in 1..=21 {
            take(&mut progress, "0", &value.to_string(), 5);
        }
        assert!(progress.due().is_some());
        assert_eq!(take(&mut progress, "0", "22", 1500), Verdict::Emit);
        assert_eq!(progress.due(), None, "21 would be told after 22");
    }

    #[test]
    fn the_most_verbose_level_is_told_once() {
        let mut level = LogLevel::default();
        assert_eq!(level.change([3].into_iter()), Some(3));
        assert_eq!(level.change([3].into_iter()), None);
        assert_eq!(level.change([3, 0].into_iter()), Some(0));
        assert_eq!(level.change(std::iter::empty()), None);
        level.forget();
        assert_eq!(level.change([0].into_iter()), Some(0));
    }
}
