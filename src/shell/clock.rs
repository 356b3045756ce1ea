//! The only clock: milliseconds since the program started.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::bridge::Time;

/// Tells the time since it was made.
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn instant() -> Instant {
        Instant::now()
    }

    pub(crate) fn start() -> Self {
        Clock { start: Self::instant() }
    }

    pub(crate) fn now(&self) -> Time {
        let passed = Self::instant().duration_since(self.start);
        Time(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    /// How long it is until `moment`; nothing when it has come.
    pub(crate) fn until(&self, moment: Time) -> Duration {
        let passed = Self::instant().duration_since(self.start);
        Duration::from_millis(moment.0).saturating_sub(passed)
    }
}

/// Seconds since 1970, for a report.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}

/// Stretches of time that do not count for the core.
#[derive(Default)]
pub(super) struct Pause {
    /// All that are over, in milliseconds.
    past_ms: u64,
    /// When the present one began.
    since: Option<Time>,
}

impl Pause {
    /// Begins or ends a pause; the same again changes nothing.
    pub(super) fn set(&mut self, pauses: bool, now: Time) {
        match (pauses, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                self.past_ms += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// What the core is told at this moment.
    pub(super) fn core_time(&self, now: Time) -> Time {
        Time(self.since.unwrap_or(now).0.saturating_sub(self.past_ms))
    }

    /// When a moment of the core's comes; `None`: not before the pause ends.
    pub(super) fn real_time(&self, at: Time) -> Option<Time> {
        self.since.is_none().then(|| at.after(self.past_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_does_not_count() {
        let mut pause = Pause::default();
        assert_eq!(pause.core_time(Time(100)), Time(100));
        for now in [100, 150] {
            pause.set(true, Time(now));
            assert_eq!(pause.core_time(Time(now)), Time(100));
            assert_eq!(pause.real_time(Time(120)), None);
        }
        pause.set(false, Time(1100));
        assert_eq!(pause.core_time(Time(1110)), Time(110));
        assert_eq!(pause.real_time(Time(120)), Some(Time(1120)));
        pause.set(true, Time(2000));
        pause.set(false, Time(3000));
        assert_eq!(pause.core_time(Time(3000)), Time(1000));
    }
}
