//! Progress marks and log levels: what may be told about a running call (F1-F5, F14, F15).
//!
//! Knows no chain and no token but by text, reads no clock, sends nothing.

use super::event::Time;
use crate::bounds::MOST_TOKENS;
use crate::message::decimal::Decimal;
use crate::message::notes::Update;

/// Updates a second for one token (F5). A burst up to this many passes whole.
const PER_SECOND: u32 = 20;
const SECOND_MS: u64 = 1000;

/// What becomes of an update.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes down now.
    Emit(Update),
    /// It waits, and a newer one takes its place; [`Progress::due`] tells until when.
    Held,
    /// It says nothing new (F3).
    Dropped,
}

/// The progress of one chain.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The call went up with a token of ours (F4).
    pub(super) is_asked_for: bool,
    /// The last value told under each of the client's tokens (F4).
    marks: Vec<(Box<str>, Decimal)>,
    held: Option<Update>,
    /// The second that is being counted.
    second: Time,
    count: u32,
}

impl Progress {
    /// An update for the leg with this token. Values must rise (F3), and not too often (F5).
    pub(super) fn take(&mut self, token: &str, update: Update, now: Time) -> Verdict {
        let mark = self.marks.iter().find(|(known, _)| **known == *token).map(|(_, value)| value);
        let last = self.held.as_ref().map(|held| &held.value).or(mark);
        if last.is_some_and(|last| update.value <= *last) {
            return Verdict::Dropped;
        }
        if now.since(self.second) >= SECOND_MS {
            (self.second, self.count) = (now, 0);
        }
        if self.count >= PER_SECOND {
            self.held = Some(update);
            return Verdict::Held;
        }
        self.count += 1;
        self.mark(token, update.value.clone());
        Verdict::Emit(update)
    }

    /// The update that waits, before its leg is answered or because its time has come.
    pub(super) fn flush(&mut self, token: &str) -> Option<Update> {
        let update = self.held.take()?;
        self.count += 1;
        self.mark(token, update.value.clone());
        Some(update)
    }

    /// The leg is over; what waited for it is not wanted (F2).
    pub(super) fn end_leg(&mut self) {
        self.held = None;
    }

    /// When the update that waits may go down.
    pub(super) fn due(&self) -> Option<Time> {
        self.held.as_ref().map(|_| self.second.after(SECOND_MS))
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

    fn update(value: &str) -> Update {
        Update { value: Decimal::read(value).unwrap(), members: value.into() }
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
            let verdict = progress.take(token, update(value), Time(0));
            assert_eq!(verdict != Verdict::Dropped, passes, "{token} {value}");
        }
    }

    #[test]
    fn marks_are_bounded() {
        let mut progress = Progress::default();
        for token in 0..2 * MOST_TOKENS {
            let now = Time(SECOND_MS * u64::try_from(token).unwrap());
            progress.take(&token.to_string(), update("1"), now);
        }
        assert_eq!(progress.marks.len(), MOST_TOKENS);
    }

    #[test]
    fn a_flood_is_merged_and_the_newest_is_kept() {
        let mut progress = Progress::default();
        let emitted = (1..=100)
            .filter(|n| {
                matches!(progress.take("0", update(&n.to_string()), Time(5)), Verdict::Emit(_))
            })
            .count();
        assert_eq!(emitted, 20);
        assert_eq!(progress.due(), Some(Time(1000)));
        assert_eq!(progress.flush("0").map(|u| u.members), Some("100".into()));
        assert_eq!(progress.due(), None);
        assert_eq!(progress.take("0", update("100"), Time(2000)), Verdict::Dropped);
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
