//! The only clock: milliseconds since the program started.

use std::time::{Duration, Instant};

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

    /// The system's name for `moment`.
    pub(crate) fn instant_of(&self, moment: Time) -> Instant {
        self.start + Duration::from_millis(moment.0)
    }
}
