//! The end of each event, and of the whole run: deadlines, drain, exit (H10, H11, invariant 7).

use mcp_uplift::bridge::{Event, Time};

use super::chains::St;
use super::lane::PATIENCE_MS;
use super::session::Process;
use super::{Check, Ledger, Mode, ensure};

/// Wake-ups at one moment, and wake-ups in a row without any effect, that mean a busy loop.
const WAKES_IN_PLACE: u64 = 8;
const FRUITLESS_WAKES: u64 = 200;

impl Ledger {
    /// No more requests can come and none is unanswered: the rest is given up.
    pub(super) fn is_draining(&self) -> bool {
        self.closed_at.is_some()
            && self.legs.values().all(|leg| leg.ask.filter.is_some())
            && !self.streams.is_opening()
    }

    /// No client comes back to the parked calls that hold the lane before others (H11).
    pub(super) fn is_lane_freed(&self) -> bool {
        self.closed_at.is_some() && self.settings.hold_lane && self.waiting() > 0
    }

    /// Whole requests that wait; those that wait for their log level are among them.
    pub(super) fn waiting(&self) -> usize {
        let waits = |n: &&usize| matches!(self.chains[**n].st, St::Waiting { .. });
        self.live.iter().filter(waits).count()
    }

    fn check_lane_freed(&self) -> Check {
        let holds = |n: &&usize| {
            matches!(self.chains[**n].st, St::Parked(_)) && self.chains[**n].call.is_some()
        };
        // One whose level was set has its place in the lane while folders are digested.
        let is_certain = self.waiting() > self.leveling() && !self.is_digesting();
        let is_freed = self.is_lane_freed() && is_certain;
        let held = self.live.iter().find(holds).filter(|_| is_freed);
        ensure(held.is_none(), "H11-nobody-comes-back", || format!("{held:?}"))
    }

    /// The event was handled and its effects were booked.
    pub(crate) fn end_of_event(&mut self, event: &Event, deadline: Option<Time>) -> Check {
        if self.exit.is_some() {
            ensure(deadline.is_none(), "H11-no-deadline-after-exit", || format!("{deadline:?}"))?;
            return self.check_exit(event);
        }
        if self.mode == Mode::Bridged {
            self.check_session()?;
            self.check_cancels()?;
        }
        match self.mode {
            Mode::Bridged => {}
            Mode::Relayed => self.check_relay()?,
            Mode::Passed => {
                self.check_passed()?;
                self.check_cancels()?;
            }
        }
        self.check_legs()?;
        if self.mode == Mode::Bridged {
            self.check_logs()?;
            // What it wants to do in a moment it need not have done yet.
            if deadline.is_none_or(|at| at.0 > self.now) {
                self.check_questions()?;
                self.check_clocks()?;
                self.check_lane()?;
                self.check_lane_freed()?;
                self.check_streams()?;
            }
        }
        self.check_deadline(event, deadline)?;
        self.check_wakes_in_time(deadline)?;
        let is_done = self.is_draining()
            && match self.mode {
                Mode::Bridged => true,
                Mode::Relayed => !self.relay.has_open(),
                Mode::Passed => !self.passed.has_open(),
            };
        ensure(!is_done, "H11-exit-when-done", || "nothing is unanswered".into())
    }

    fn check_deadline(&mut self, event: &Event, deadline: Option<Time>) -> Check {
        let is_wake = matches!(event, Event::Wake);
        let is_here = deadline.is_some_and(|at| at.0 <= self.now);
        self.wakes_in_place = if is_here { self.wakes_in_place + 1 } else { 0 };
        ensure(self.wakes_in_place <= WAKES_IN_PLACE, "I7-no-busy-loop", || {
            format!("{deadline:?} at {}", self.now)
        })?;
        let is_fruitless = is_wake && self.batch.effects == 0;
        self.fruitless_wakes = if is_fruitless { self.fruitless_wakes + 1 } else { 0 };
        ensure(self.fruitless_wakes <= FRUITLESS_WAKES, "I7-wakes-bear-fruit", || {
            format!("{} without effect", self.fruitless_wakes)
        })?;
        // The shell owes an event while a process starts or ends.
        let shell_owes = matches!(self.session.process, Process::Asked | Process::Stopping);
        let waits = self.mode == Mode::Bridged && !self.legs.values().all(|l| self.is_steady(l));
        ensure(deadline.is_some() || shell_owes || !waits, "I7-every-wait-has-a-deadline", || {
            let first = self.legs.values().find(|leg| !self.is_steady(leg));
            format!("{first:?}")
        })
    }

    /// What has a clock is looked at when it has run out, not when something else happens.
    fn check_wakes_in_time(&self, deadline: Option<Time>) -> Check {
        if self.mode != Mode::Bridged || !self.is_ready() {
            return Ok(());
        }
        let limit = |n: &usize| {
            let chain = &self.chains[*n];
            let at = match &chain.st {
                St::Running { idle, latest } => (*idle).min(*latest),
                St::Parked(parked) => parked.until,
                St::Visiting { until } => *until,
                St::Returning { since, .. } if chain.call.is_some() && !self.settings.hold_lane => {
                    since + PATIENCE_MS
                }
                St::Returning { .. } | St::Waiting { .. } | St::Over => return None,
            };
            (!chain.is_unseen()).then_some((at, *n))
        };
        let blocked = self.blocked_until();
        let first = self.live.iter().filter_map(limit).chain(blocked).min();
        let is_late = first.is_some_and(|(at, _)| deadline.is_none_or(|wake| wake.0 > at));
        ensure(!is_late, "I7-wakes-in-time", || {
            let chain = first.map(|(_, n)| &self.chains[n]);
            format!("{deadline:?}, not {first:?}: {:?}", chain.map(|c| (&c.st, &c.newest)))
        })
    }

    /// A stream that is open waits for nothing.
    fn is_steady(&self, leg: &super::Leg) -> bool {
        leg.ask.filter.is_some() && !self.streams.waits(&leg.ask.id)
    }

    fn check_exit(&self, event: &Event) -> Check {
        let status = self.exit.unwrap_or_default();
        let session = &self.session;
        let orderly = if session.is_unstartable {
            2
        } else {
            u8::from(session.was_asked && !session.was_ready)
        };
        match event {
            Event::Stop(signal) => {
                let expected = u8::try_from(128 + signal).unwrap_or(u8::MAX);
                return ensure(status == expected, "H10-status", || format!("{status}"));
            }
            Event::ClientGone => {
                return ensure(status == orderly, "H13-status", || {
                    format!("{status}, not {orderly}")
                });
            }
            _ => {}
        }
        if self.mode == Mode::Relayed && self.batch.is_lost {
            return ensure(status == 1, "I15-status", || format!("{status}"));
        }
        ensure(status == orderly, "H13-status", || format!("{status}, not {orderly}"))?;
        ensure(self.closed_at.is_some(), "H11-exit-only-when-done", || "not closed".into())?;
        if self.mode == Mode::Bridged {
            ensure(self.legs.is_empty(), "H11-all-answered", || format!("{:?}", self.legs))?;
            ensure(self.batch.owed.is_empty(), "H11-all-answered", || {
                format!("{:?}", self.batch.owed)
            })?;
        }
        if self.mode == Mode::Bridged && self.is_running() {
            let open: Vec<_> =
                self.live.iter().filter(|n| self.chains[**n].call.is_some()).collect();
            ensure(open.is_empty(), "H11-parked-are-abandoned", || format!("{open:?}"))?;
            let questions = self.open_questions.len();
            ensure(questions == 0, "H11-questions-are-refused", || {
                format!("{questions} are open")
            })?;
        }
        Ok(())
    }
}
