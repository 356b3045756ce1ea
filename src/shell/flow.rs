//! Who is read and who has to wait, by how much waits to be written.
//!
//! `bound` is `--max-buffer-bytes`; what was held up is read again below half of it:
//!
//! | waits for | more than | not read |
//! |---|---|---|
//! | the client | `bound` | client and server |
//! | the server | `bound` | the client; not the server, which may read only once it is read |
//! | the server | twice `bound` | the server: it makes us answer and does not read, its own lock-up |

/// The client is slow when more than this waits in spite of a writer thread.
const SLOW: usize = 256 << 10;

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
    /// Takes note of the bytes that wait. `Some`: the client has become slow, or has caught up.
    pub(super) fn update(
        &mut self,
        for_client: usize,
        for_server: usize,
        bound: usize,
    ) -> Option<bool> {
        hold(&mut self.client_full, for_client, bound);
        hold(&mut self.server_full, for_server, bound);
        hold(&mut self.server_stuck, for_server, bound.saturating_mul(2));
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
        for (for_client, for_server, holds_client, holds_server) in [
            (100, 100, false, false),
            (101, 0, true, true),
            (51, 0, true, true),
            (50, 0, false, false),
            (100, 0, false, false),
            (0, 101, true, false),
            (0, 201, true, true),
            (0, 101, true, true),
            (0, 100, true, false),
            (0, 50, false, false),
        ] {
            flow.update(for_client, for_server, 100);
            let holds = (flow.holds_client(), flow.holds_server());
            assert_eq!(holds, (holds_client, holds_server), "{for_client} {for_server}");
        }
    }

    #[test]
    fn the_end_of_input_is_not_held_up() {
        let mut flow = Flow::default();
        flow.update(101, 101, 100);
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
            assert_eq!(flow.update(for_client, 0, 1 << 30), changed, "{for_client}");
        }
    }
}
