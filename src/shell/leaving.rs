//! The end of the program: what must still happen, and how long it may take (H10, H11).

use std::mem;

use super::strays::BURIAL_MS;
use crate::bridge::Time;

/// A client that takes nothing for so long is not going to take the rest.
const STALLED_MS: u64 = 15_000;

/// A repeated signal is a second wish only after this; `timeout` sends two at once.
const SAME_SIGNAL_MS: u64 = 200;

/// We end with `code` once the client has what is queued, the server is gone, and its leftovers.
pub(crate) struct Leaving {
    pub(crate) code: u8,
    /// When a signal came: then somebody waits for our end.
    signalled: Option<Time>,
    pub(crate) kill_at: Time,
    /// When to stop writing to the client.
    write_until: Time,
    /// Bytes the client had not taken when that was last set.
    unwritten: usize,
    is_loss_told: bool,
}

impl Leaving {
    pub(crate) fn new(code: u8, now: Time, grace_ms: u64) -> Self {
        Leaving {
            code,
            signalled: None,
            kill_at: now.after(grace_ms),
            write_until: now.after(STALLED_MS),
            unwritten: usize::MAX,
            is_loss_told: false,
        }
    }

    /// A signal made us end, or came while we were ending: no more than the grace is left. A
    /// second one ends the waiting.
    pub(crate) fn signal(&mut self, code: u8, now: Time, grace_ms: u64) {
        match self.signalled {
            None => {
                self.code = code;
                self.signalled = Some(now);
                self.write_until = self.write_until.min(now.after(grace_ms));
            }
            Some(first) if now.since(first) < SAME_SIGNAL_MS => {}
            Some(_) => {
                self.kill_at = self.kill_at.min(now);
                self.write_until = now;
            }
        }
    }

    /// Whether to go on writing to the client, of whose bytes `unwritten` wait.
    pub(crate) fn writes(&mut self, unwritten: usize, now: Time) -> bool {
        if unwritten < self.unwritten && self.signalled.is_none() {
            self.unwritten = unwritten;
            self.write_until = now.after(STALLED_MS);
        }
        unwritten > 0 && now < self.write_until
    }

    /// Whether to say that the client does not get everything: once, and not where a signal cut it
    /// short, for then somebody wanted it so.
    pub(crate) fn is_first_loss(&mut self) -> bool {
        !mem::replace(&mut self.is_loss_told, true) && self.signalled.is_none()
    }

    /// Whether processes that do not go away are left behind.
    pub(crate) fn gives_up(&self, now: Time) -> bool {
        now >= self.kill_at.after(BURIAL_MS)
    }

    /// When either of these changes by itself.
    pub(crate) fn deadline(&self, now: Time) -> Option<Time> {
        let moments = [self.write_until, self.kill_at.after(BURIAL_MS)];
        moments.into_iter().filter(|at| *at > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_client_is_served_while_it_reads() {
        let mut leaving = Leaving::new(0, Time(0), 1500);
        for (at, unwritten, writes) in [
            (0, 100, true),
            (14_000, 90, true),
            (28_999, 90, true),
            (29_000, 90, false),
            (29_001, 50, true), // it did read in the end
            (29_002, 0, false),
        ] {
            assert_eq!(leaving.writes(unwritten, Time(at)), writes, "at {at}");
        }
    }

    #[test]
    fn a_loss_is_told_once_and_not_after_a_signal() {
        let mut leaving = Leaving::new(0, Time(0), 1500);
        assert!(leaving.is_first_loss());
        assert!(!leaving.is_first_loss());
        let mut leaving = Leaving::new(0, Time(0), 1500);
        leaving.signal(143, Time(100), 1500);
        assert!(!leaving.is_first_loss());
    }

    #[test]
    fn a_signal_bounds_the_writing_and_a_second_ends_it() {
        let mut leaving = Leaving::new(0, Time(0), 1500);
        assert!(leaving.writes(100, Time(0)));
        leaving.signal(143, Time(100), 1500);
        assert_eq!((leaving.code, leaving.kill_at), (143, Time(1500)));
        assert!(leaving.writes(50, Time(1599)));
        assert!(!leaving.writes(40, Time(1600)));
        leaving.signal(143, Time(200), 1500); // the same one
        assert_eq!(leaving.kill_at, Time(1500));
        leaving.signal(130, Time(300), 1500);
        assert_eq!((leaving.code, leaving.kill_at), (143, Time(300)));
        assert!(!leaving.writes(40, Time(300)));
    }
}
