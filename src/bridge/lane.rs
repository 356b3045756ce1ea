//! The lane: which request may go up now.
//!
//! A legacy question names no call, so one request runs at a time (D6), or as many as
//! `--parallel` says. Knows no JSON, sends nothing.
//!
//! ```text
//!   ahead  retries, requests sent again, calls that roots held back ┐
//!   line   everything else, first come, first served                ┴─▶ running ─▶ gone
//! ```
//! A parked chain gives its place in the lane back and returns through `ahead`.

use super::event::Time;
use super::ids::ChainId;
use super::table::Table;
use std::collections::VecDeque;

/// A retry waits this long for a busy lane, then its answers go up all the same (D6).
pub(super) const RETRY_WAITS_MS: u64 = 1000;

/// A place ahead of the line.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    chain: ChainId,
    load: Load,
}

/// What stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// A whole request: it brings the running call no relief.
    Request,
    /// Answers, which may be what the running call waits for: when they go although the lane is
    /// busy, if ever.
    Answers(Option<Time>),
}

/// What may go up next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The answers of a chain that returned.
    Answers(ChainId),
    /// A whole request.
    Request(ChainId),
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    ahead: VecDeque<Ahead>,
    line: VecDeque<ChainId>,
    running: Table<ChainId, ()>,
}

impl Lane {
    /// To the end of the line.
    pub(super) fn wait(&mut self, chain: ChainId) {
        self.line.push_back(chain);
    }

    /// Ahead of the line, with the whole request (E20, E28).
    pub(super) fn wait_ahead(&mut self, chain: ChainId) {
        self.ahead.push_back(Ahead { chain, load: Load::Request });
    }

    /// Ahead of the line, with answers; they go up at `force` at the latest (D6).
    pub(super) fn come_back(&mut self, chain: ChainId, force: Option<Time>) {
        self.ahead.push_back(Ahead { chain, load: Load::Answers(force) });
    }

    /// Takes what may go up now, and counts it as running. `requests`: may whole requests go?
    pub(super) fn next(&mut self, parallel: usize, requests: bool, now: Time) -> Option<Next> {
        let is_free = self.running.len() < parallel;
        let may_go = |ahead: &Ahead| match ahead.load {
            Load::Answers(force) => {
                let is_due = force.is_some_and(|force| force <= now);
                is_free || is_due || self.running.contains_key(&ahead.chain)
            }
            Load::Request => is_free && requests,
        };
        if let Some(at) = self.ahead.iter().position(may_go) {
            let ahead = self.ahead.remove(at)?;
            self.running.insert(ahead.chain, ());
            return Some(match ahead.load {
                Load::Answers(_) => Next::Answers(ahead.chain),
                Load::Request => Next::Request(ahead.chain),
            });
        }
        // A request that stands ahead and may not go yet keeps the line behind it.
        if !is_free || !requests || self.has_request_ahead() {
            return None;
        }
        let chain = self.line.pop_front()?;
        self.running.insert(chain, ());
        Some(Next::Request(chain))
    }

    /// The chain does not run any more: answered, parked, or gone.
    pub(super) fn release(&mut self, chain: ChainId) {
        self.running.remove(&chain);
    }

    /// The chain is gone, wherever it was.
    pub(super) fn forget(&mut self, chain: ChainId) {
        self.release(chain);
        self.ahead.retain(|ahead| ahead.chain != chain);
        self.line.retain(|waiting| *waiting != chain);
    }

    /// Chains that run, oldest first.
    pub(super) fn running(&self) -> impl Iterator<Item = ChainId> + '_ {
        self.running.keys().copied()
    }

    /// Chains in the line, first first.
    pub(super) fn line(&self) -> impl Iterator<Item = ChainId> + '_ {
        self.line.iter().copied()
    }

    /// Does a whole request wait for its turn?
    pub(super) fn has_requests(&self) -> bool {
        !self.line.is_empty() || self.has_request_ahead()
    }

    fn has_request_ahead(&self) -> bool {
        self.ahead.iter().any(|ahead| ahead.load == Load::Request)
    }

    /// Does the lane have no room for another request?
    pub(super) fn is_busy(&self, parallel: usize) -> bool {
        self.running.len() >= parallel
    }

    /// When the next answers go up in spite of a busy lane.
    pub(super) fn deadline(&self) -> Option<Time> {
        let force = |ahead: &Ahead| match ahead.load {
            Load::Answers(force) => force,
            Load::Request => None,
        };
        self.ahead.iter().filter_map(force).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ChainId = ChainId(1);
    const B: ChainId = ChainId(2);
    const C: ChainId = ChainId(3);

    #[test]
    fn one_at_a_time_in_order() {
        let mut lane = Lane::default();
        lane.wait(A);
        lane.wait(B);
        assert_eq!(lane.next(1, true, Time(0)), Some(Next::Request(A)));
        assert_eq!(lane.next(1, true, Time(9999)), None);
        lane.release(A);
        assert_eq!(lane.next(1, true, Time(9999)), Some(Next::Request(B)));
    }

    #[test]
    fn answers_pass_the_line_and_then_the_running_call() {
        let mut lane = Lane::default();
        lane.wait(A);
        lane.wait(B);
        assert_eq!(lane.next(1, true, Time(0)), Some(Next::Request(A)));
        lane.come_back(C, Some(Time(1000)));
        assert_eq!(lane.next(1, true, Time(999)), None);
        assert_eq!(lane.next(1, true, Time(1000)), Some(Next::Answers(C)));
        lane.release(A);
        assert_eq!(lane.next(1, true, Time(1000)), None, "C runs now");
        lane.release(C);
        assert_eq!(lane.next(1, true, Time(1000)), Some(Next::Request(B)));
    }

    #[test]
    fn a_held_back_request_keeps_the_line_behind_it() {
        let mut lane = Lane::default();
        lane.wait(B);
        lane.wait_ahead(A);
        assert_eq!(lane.next(1, false, Time(0)), None);
        assert_eq!(lane.next(1, true, Time(0)), Some(Next::Request(A)));
    }

    #[test]
    fn a_chain_that_kept_its_place_answers_at_once() {
        let mut lane = Lane::default();
        lane.wait(A);
        assert_eq!(lane.next(1, true, Time(0)), Some(Next::Request(A)));
        lane.come_back(A, None);
        assert_eq!(lane.next(1, true, Time(0)), Some(Next::Answers(A)));
    }
}
