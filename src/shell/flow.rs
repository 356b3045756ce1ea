//! Who is read and who has to wait, by how much waits to be written.
//!
//! All that waits shares `--max-buffer-bytes`: the *room* of a queue is what the other queue and
//! the core leave of it, and never less than a sixteenth, so that a full one never starves the
//! other. Whom a queue's room holds up is read again below half of the mark; a server that locked itself
//! up as soon as it is below the mark, for it may have to be read before anything goes:
//!
//! | waits for | more than | not read |
//! |---|---|---|
//! | the client | its room | client and server |
//! | the server | half of its room | the client; not the server, which may read only once it is read |
//! | the server, in answer to its own requests | its room | the server: its own lock-up |
//!
//! Whatever a client makes us write must never keep the server from being read: one that answers
//! before it reads on would wait for us, and we for it.

/// The client is slow when more than this waits in spite of a writer thread.
const SLOW: usize = 256 << 10;

/// Answers to its own requests that may wait for the server, however little room there is: some
/// ask thousands of times before they read.
const LEAST_REPLIES: usize = 1 << 20;

/// Bytes that wait.
#[derive(Clone, Copy, Default)]
pub(super) struct Waiting {
    pub(super) for_client: usize,
    pub(super) for_server: usize,
    /// Of these, answers that the server asked for.
    pub(super) replies: usize,
    /// In the core.
    pub(super) kept: usize,
}

impl Waiting {
    pub(super) fn sum(self) -> usize {
        self.for_client + self.for_server + self.kept
    }
}

/// What is held up at present.
#[derive(Default)]
pub(super) struct Flow {
    client_full: bool,
    server_full: bool,
    server_stuck: bool,
    client_slow: bool,
    input_ends: bool,
}

impl Flow {
    /// Takes note of the bytes that wait, of `bound` in all. `Some`: the client has become slow, or
    /// has caught up.
    pub(super) fn update(&mut self, waiting: Waiting, bound: usize) -> Option<bool> {
        let Waiting { for_client, for_server, replies, kept } = waiting;
        let room = |others: usize| bound.saturating_sub(others).max(bound / 16);
        let for_server_room = room(kept + for_client);
        hold(&mut self.client_full, for_client, room(kept + for_server));
        hold(&mut self.server_full, for_server, for_server_room / 2);
        self.server_stuck = replies > for_server_room.max(LEAST_REPLIES);
        let slow = for_client > if self.client_slow { 0 } else { SLOW };
        let changed = slow != self.client_slow;
        self.client_slow = slow;
        changed.then_some(slow)
    }

    /// Nobody writes to our stdin any more. What is left there is no more than a pipe holds, and
    /// behind it stands the end of input, which must not wait for a side that never reads again.
    pub(super) fn input_ends(&mut self) {
        self.input_ends = true;
    }

    /// Whether everything waits for the client to read on.
    pub(super) fn waits_for_client(&self) -> bool {
        self.client_full && !self.input_ends
    }

    /// Whether the server has to read before it is read.
    pub(super) fn waits_for_server(&self) -> bool {
        self.server_stuck
    }

    /// Whether the client has to wait.
    pub(super) fn holds_client(&self) -> bool {
        !self.input_ends && (self.client_full || self.server_full)
    }

    /// Whether the server has to wait.
    pub(super) fn holds_server(&self) -> bool {
        self.client_full || self.server_stuck
    }
}

/// Holds from `bound` on, until half is gone.
fn hold(held: &mut bool, queued: usize, bound: usize) {
    *held = queued > if *held { bound / 2 } else { bound };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_up_above_the_bound_and_free_below_half() {
        let mut flow = Flow::default();
        for (for_client, for_server, kept, holds_client, holds_server) in [
            (160, 0, 0, false, false),
            (161, 0, 0, true, true),
            (81, 0, 0, true, true),
            (80, 0, 0, false, false),
            (160, 0, 0, false, false),
            (0, 80, 0, false, false),
            (0, 81, 0, true, false),
            (0, 161, 0, true, false),
            (0, 1000, 0, true, false),
            (0, 41, 0, true, false),
            (0, 40, 0, false, false),
            // Less room for one where others need it.
            (60, 0, 100, false, false),
            (61, 0, 100, true, true),
            (30, 0, 100, false, false),
            (0, 31, 100, true, false),
            (0, 15, 100, false, false),
            // But always some.
            (10, 0, 400, false, false),
            (11, 0, 400, true, true),
            (5, 0, 400, false, false),
            (0, 6, 400, true, false),
            (0, 0, 400, false, false),
        ] {
            flow.update(Waiting { for_client, for_server, kept, replies: 0 }, 160);
            let holds = (flow.holds_client(), flow.holds_server());
            let expected = (holds_client, holds_server);
            assert_eq!(holds, expected, "{for_client} {for_server} {kept}");
        }
    }

    #[test]
    fn a_server_that_asks_and_does_not_read_is_held_up() {
        const BOUND: usize = 16 << 20;
        let mut flow = Flow::default();
        for (for_client, for_server, replies, holds_server) in [
            (0, BOUND, BOUND, false),
            (0, BOUND + 1, BOUND + 1, true),
            (0, BOUND + 1, BOUND, false),
            // Free at once where there is room again: it may have to be read first.
            (BOUND / 2, BOUND / 2 + 1, BOUND / 2 + 1, true),
            (0, BOUND / 2 + 1, BOUND / 2 + 1, false),
        ] {
            flow.update(Waiting { for_client, for_server, replies, kept: 0 }, BOUND);
            assert_eq!(flow.holds_server(), holds_server, "{for_client} {for_server} {replies}");
        }
        // Some answers may wait although others need all the room.
        for (replies, holds_server) in [(LEAST_REPLIES, false), (LEAST_REPLIES + 1, true)] {
            let waiting = Waiting { for_client: 0, for_server: replies, replies, kept: BOUND };
            flow.update(waiting, BOUND / 4);
            assert_eq!(flow.holds_server(), holds_server, "{replies}");
        }
    }

    #[test]
    fn the_end_of_input_is_not_held_up() {
        let mut flow = Flow::default();
        let much = LEAST_REPLIES + 1;
        flow.update(Waiting { for_client: 101, for_server: much, replies: much, kept: 0 }, 100);
        assert!(flow.holds_client());
        flow.input_ends();
        assert!(!flow.holds_client());
        assert!(flow.holds_server());
    }

    #[test]
    fn slow_until_all_is_written() {
        let mut flow = Flow::default();
        for (for_client, changed) in [
            (SLOW, None),
            (SLOW + 1, Some(true)),
            (SLOW * 2, None),
            (1, None),
            (0, Some(false)),
            (0, None),
        ] {
            let waiting = Waiting { for_client, ..Waiting::default() };
            assert_eq!(flow.update(waiting, 1 << 30), changed, "{for_client}");
        }
    }
}
