//! The legacy session with the wrapped server: how far it is, what we sent, what a reply is for.
//!
//! ```text
//!   Starting ──▶ Fresh ──▶ Handshaking ──▶ Listing ──▶ Ready
//!      ▲                                     │ (only a server that declared nothing, B8)
//!      └── Down ◀── Leaving ◀── (exit, silence, closed output: from everywhere)
//! ```
//! Knows no client and no chain but by number; sends nothing.

use super::event::{Generation, Time};
use super::ids::{ChainId, ServerId};
use super::notices::LogLevel;
use super::table::Table;
use crate::bounds::{MOST_CRASHES, MOST_PENDING};
use crate::message::discover::Profile;
use crate::message::vocabulary::Revision;
use std::collections::VecDeque;

/// What an outstanding request is for. A reply is routed by this and by nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `initialize`.
    Handshake,
    /// The `tools/list` that finds undeclared tools (B8).
    Tools,
    /// A client's request.
    Call(ChainId),
    /// `server/discover`, to see whether the server is modern (I5).
    Probe,
    /// `logging/setLevel` before this chain's request (F15).
    Level(ChainId),
    /// `resources/subscribe` for a stream (G6).
    Subscribe,
    /// A request of the client that passes to a modern server (I14).
    Passed,
    /// Something whose answer changes nothing.
    Courtesy,
}

/// How far the session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The shell was asked for a process.
    Starting,
    /// The process runs and was told nothing (H13).
    Fresh,
    /// `initialize` is out (H1); until when it may stay unanswered (H6).
    Handshaking { until: Time },
    /// `server/discover` is out (I5).
    Probing { until: Time },
    /// The tools probe is out (B8).
    Listing { until: Time },
    /// Requests may go up.
    Ready,
    /// The process was told to end; nothing is sent or believed any more.
    Leaving,
    /// No process.
    Down,
}

/// How long an end of the server counts (H12).
const CRASH_WINDOW_MS: u64 = 60_000;
const BACKOFF_MS: u64 = 100;
const BACKOFF_LONGEST_MS: u64 = 10_000;

/// How long a server that declared nothing may take to list its tools (B8).
pub(super) const LISTING_MS: u64 = 2000;

/// How long a server may take to answer `server/discover` (I7).
pub(super) const PROBE_MS: u64 = 5000;

/// How long a server may take to set its log level (F15).
pub(super) const LEVEL_MS: u64 = 2000;

/// How long a server that closed its output may take to end before it is made to (H12).
pub(super) const CLOSED_MS: u64 = 100;

#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) phase: Phase,
    pub(super) generation: Generation,
    /// The handshake's result; kept while the next process starts, so that what was advertised
    /// stays known.
    pub(super) profile: Option<Profile>,
    /// The same server, if the probe finds undeclared tools (B8).
    pub(super) with_tools: Option<Profile>,
    /// Something needs the server: shake hands as soon as there is a process.
    pub(super) is_wanted: bool,
    /// Revisions that were not offered yet, newest first (H4).
    pub(super) to_offer: Vec<Revision>,
    /// The one that was offered last.
    offered: Revision,
    /// `initialize` was refused and the next revision is still to be tried, on the next process
    /// if this one leaves (H4).
    pub(super) is_walking: bool,
    /// The server turned out to be a modern one; holds for all its processes (I7).
    pub(super) is_modern: bool,
    /// `server/discover` was asked, and once more (I5).
    pub(super) probes: u32,
    /// A discover answer came after its time: modern, if `initialize` fails (I6).
    pub(super) discovered_late: bool,
    /// What the server's log level is (F15).
    pub(super) log_level: LogLevel,
    /// Why nothing can be asked, once and for all (C3, H13).
    pub(super) verdict: Option<String>,
    /// A handshake was begun, and one was completed: the exit status tells (H13).
    pub(super) was_asked: bool,
    pub(super) was_ready: bool,
    /// The command could not even be started (H13).
    pub(super) is_unstartable: bool,
    /// Lines of this process that were no messages (A16).
    pub(super) noise: u32,
    /// The server closed its output; when it is made to end.
    pub(super) closed: Option<Time>,
    /// The next process may start then.
    pub(super) not_before: Time,
    pending: Table<ServerId, Purpose>,
    last_id: u64,
    crashes: VecDeque<Time>,
}

impl Upstream {
    pub(super) fn new() -> Self {
        Upstream {
            phase: Phase::Starting,
            generation: Generation(1),
            profile: None,
            with_tools: None,
            is_wanted: false,
            to_offer: Revision::NEWEST_FIRST.to_vec(),
            offered: Revision::R2025_11,
            is_walking: false,
            is_modern: false,
            probes: 0,
            discovered_late: false,
            log_level: LogLevel::default(),
            verdict: None,
            was_asked: false,
            was_ready: false,
            is_unstartable: false,
            noise: 0,
            closed: None,
            not_before: Time(0),
            pending: Table::default(),
            last_id: 0,
            crashes: VecDeque::new(),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// The server, once it has shaken hands.
    pub(super) fn ready_profile(&self) -> Option<&Profile> {
        self.profile.as_ref().filter(|_| self.is_ready())
    }

    /// Is the process to be believed: there, and not told to end?
    pub(super) fn is_believed(&self) -> bool {
        !matches!(self.phase, Phase::Leaving | Phase::Down)
    }

    /// Whose results they are, as JSON text (C4).
    pub(super) fn identity(&self) -> &str {
        self.profile.as_ref().map_or("{}", |profile| &profile.identity)
    }

    /// The revision that answers have to fit; the newest before any is known.
    pub(super) fn revision(&self) -> Revision {
        self.profile.as_ref().map_or(Revision::R2025_11, |profile| profile.revision)
    }

    /// The revision to offer now (H4).
    pub(super) fn offer(&mut self) -> Revision {
        if !self.to_offer.is_empty() {
            self.offered = self.to_offer.remove(0);
        }
        self.offered
    }

    /// The last offer was not refused: it was taken, or the process went away over it. The next
    /// process is offered it first.
    pub(super) fn offer_again(&mut self) {
        self.to_offer.insert(0, self.offered);
        self.is_walking = false;
    }

    /// An id for a request that goes up now.
    pub(super) fn expect(&mut self, purpose: Purpose) -> ServerId {
        self.last_id += 1;
        let id = ServerId(self.last_id);
        self.pending.insert(id, purpose);
        if self.pending.len() > MOST_PENDING {
            self.forget_oldest();
        }
        id
    }

    /// A server that answers nothing: what nothing waits for without a clock of its own is
    /// forgotten, oldest first. If it is answered after all, that answer meets nothing (A17).
    fn forget_oldest(&mut self) {
        let is_idle = |purpose: &Purpose| {
            matches!(purpose, Purpose::Level(_) | Purpose::Subscribe | Purpose::Courtesy)
        };
        let oldest = self.pending.iter().find(|(_, purpose)| is_idle(purpose)).map(|(id, _)| *id);
        if let Some(oldest) = oldest {
            self.pending.remove(&oldest);
        }
    }

    /// What the reply with this id is for; `None` when nothing waits for it (A17).
    pub(super) fn take(&mut self, id: ServerId) -> Option<Purpose> {
        self.pending.remove(&id)
    }

    /// What still waits for a reply with this id.
    pub(super) fn purpose(&self, id: ServerId) -> Option<Purpose> {
        self.pending.get(&id).copied()
    }

    /// The process has ended, or is not believed any more: nothing it was asked is answered.
    pub(super) fn forget_pending(&mut self) {
        self.pending.take();
    }

    /// Counts an end that nobody ordered and sets when the next process may start (H12).
    pub(super) fn crashed(&mut self, now: Time) {
        self.crashes.push_back(now);
        self.forget_old_crashes(now);
        let doublings = u32::try_from(self.crashes.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let wait = BACKOFF_MS
            .checked_shl(doublings)
            .map_or(BACKOFF_LONGEST_MS, |ms| ms.min(BACKOFF_LONGEST_MS));
        self.not_before = now.after(wait);
    }

    /// Has it ended so often that starting it again makes no sense now (H12)?
    pub(super) fn is_crash_loop(&mut self, now: Time) -> bool {
        self.forget_old_crashes(now);
        self.crashes.len() >= MOST_CRASHES
    }

    fn forget_old_crashes(&mut self, now: Time) {
        while self.crashes.front().is_some_and(|at| now.since(*at) >= CRASH_WINDOW_MS) {
            self.crashes.pop_front();
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Handshaking { until } | Phase::Probing { until } | Phase::Listing { until } => {
                Some(until)
            }
            Phase::Down if self.is_wanted && self.verdict.is_none() => Some(self.not_before),
            Phase::Starting | Phase::Fresh | Phase::Ready | Phase::Leaving | Phase::Down => None,
        };
        phase.into_iter().chain(self.closed).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_spent_once() {
        let mut upstream = Upstream::new();
        let id = upstream.expect(Purpose::Handshake);
        assert_eq!(upstream.take(id), Some(Purpose::Handshake));
        assert_eq!(upstream.take(id), None);
        assert_ne!(upstream.expect(Purpose::Tools), id);
    }

    #[test]
    fn crashes_back_off_and_stop() {
        let mut upstream = Upstream::new();
        let mut waits = Vec::new();
        for _ in 0..MOST_CRASHES {
            assert!(!upstream.is_crash_loop(Time(1000)));
            upstream.crashed(Time(1000));
            waits.push(upstream.not_before.since(Time(1000)));
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600]);
        assert!(upstream.is_crash_loop(Time(1000)));
        assert!(!upstream.is_crash_loop(Time(61_000)));
    }
}
