//! What each passed deadline causes, as one list. Every wait of the core is here.

use super::Bridge;
use super::chain::{Chain, Doing, State};
use super::event::{Frame, Level, Time};
use super::ids::ChainId;
use super::memory::LIST_WAITS_MS;
use super::upstream::Phase;
use crate::message::refusal::Refusal;
use crate::message::wire;

impl Bridge {
    /// Acts on every deadline that has passed.
    pub(super) fn on_wake(&mut self) {
        self.wake_session();
        self.wake_blocked_lists();
        self.wake_ambient();
        self.settle_streams();
        self.wake_relayed();
        for id in self.due_chains() {
            self.wake_chain(id);
        }
        self.wake_waiting_lists();
        self.pump();
        self.ambient.had_turn(self.now);
    }

    /// The earliest of all deadlines.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let chains = self.chains.all.values().filter_map(chain_deadline);
        chains
            .chain(self.upstream.deadline())
            .chain(self.ambient.deadline())
            .chain(self.listen.deadline().filter(|_| self.upstream.is_ready()))
            .chain(self.relay_until)
            .chain(self.lane.deadline())
            .chain(self.digest_deadline())
            .chain(self.list_deadlines().map(|(_, at)| at))
            .min()
    }

    /// What is only passed on has no limit while its client waits by itself; after the end of
    /// input it has one (H11).
    fn wake_relayed(&mut self) {
        if !self.front.closed || !self.has_relayed() {
            self.relay_until = None;
            return;
        }
        let end = self.now.after(self.settings.limits.request_timeout_ms);
        if *self.relay_until.get_or_insert(end) <= self.now {
            self.close_passed_streams();
            self.refuse_relayed(&Refusal::Timeout);
            self.refuse_passed(&Refusal::Timeout);
            self.refuse_waiting_to_pass(&Refusal::Timeout);
        }
    }

    fn wake_session(&mut self) {
        let now = self.now;
        if self.upstream.closed.is_some_and(|at| at <= now) {
            self.upstream.closed = None;
            self.server_stays_closed();
        }
        match self.upstream.phase {
            Phase::Handshaking { until } if until <= now => self.handshake_timed_out(),
            Phase::Probing { until } if until <= now => {
                self.probe_failed("it did not answer server/discover in time");
            }
            Phase::Listing { until } if until <= now => self.server_is_ready(),
            Phase::Down => self.restart_if_due(),
            Phase::Starting
            | Phase::Fresh
            | Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready
            | Phase::Leaving => {}
        }
    }

    /// What cannot carry a question and has not finished since it was asked waits for it (E20).
    fn wake_blocked_lists(&mut self) {
        for (question, suspects) in self.ambient.due_suspects(self.now) {
            let runs = |id: &ChainId| self.chains.all.get(id).is_some_and(Chain::is_running);
            let carried = self
                .lane
                .running()
                .any(|id| self.chains.all.get(&id).is_some_and(|c| c.is_running() && c.is_open()));
            if suspects.iter().any(runs) && !carried {
                self.refuse_blocking(question);
            }
        }
    }

    fn wake_ambient(&mut self) {
        if self.ambient.roots_expire().is_some_and(|at| at <= self.now) {
            self.refuse_roots();
        }
    }

    fn due_chains(&self) -> Vec<ChainId> {
        let due = |chain: &Chain| chain_deadline(chain).is_some_and(|at| at <= self.now);
        self.chains.all.iter().filter(|(_, c)| due(c)).map(|(id, _)| *id).collect()
    }

    fn wake_chain(&mut self, id: ChainId) {
        if self
            .chains
            .all
            .get(&id)
            .is_some_and(|c| c.progress.due().is_some_and(|at| at <= self.now))
        {
            self.flush_progress(id);
        }
        let Some(chain) = self.chains.all.get(&id) else {
            return;
        };
        match &chain.state {
            State::Active(_, doing) => match *doing {
                Doing::Running { window: Some(window), .. } if window.end() <= self.now => {
                    self.ask(id);
                }
                Doing::Running { idle, latest, .. } if idle.min(latest) <= self.now => {
                    self.time_out(id, latest <= self.now);
                }
                Doing::Leveling { until } if until <= self.now => self.level_set(id),
                Doing::Visiting { until } if until <= self.now => self.send_again(id),
                Doing::Waiting { .. }
                | Doing::Leveling { .. }
                | Doing::Visiting { .. }
                | Doing::Running { .. }
                | Doing::Returning { .. } => {}
            },
            State::Parked { until, .. } if *until <= self.now => {
                self.say(
                    Level::Info,
                    "nobody answered the server's question in time; the call is given up",
                );
                self.abandon(id, "its question was not answered in time");
            }
            State::Parked { .. } => {}
        }
    }

    /// A call has run too long (F10). A server that works serially may not even have looked at
    /// it while an older question is open: then that one is given up first (E14b).
    #[cold]
    #[inline(never)]
    fn time_out(&mut self, id: ChainId, is_final: bool) {
        let sent = self.chains.all.get(&id).map_or(0, |chain| chain.sent);
        if let (false, Some(older)) = (is_final, self.chains.oldest_parked_before(sent)) {
            let idle = self.now.after(self.settings.limits.request_timeout_ms);
            if let Some(chain) = self.chains.all.get_mut(&id)
                && let State::Active(_, Doing::Running { idle: clock, .. }) = &mut chain.state
            {
                *clock = idle;
            }
            self.say(
                Level::Warning,
                "a call got no answer while an older question was open; that question is given up",
            );
            return self.abandon(older, "its question was not answered, and a later call waits");
        }
        let missing = self.chains.all.get(&id).map(|chain| chain.missing).unwrap_or_default();
        self.cancel_call(id, "timeout");
        if missing.is_empty() {
            self.fail(id, &Refusal::Timeout);
        } else {
            self.fail(id, &Refusal::MissingCapability(missing)); // E9
        }
        self.pump();
    }

    /// When requests that are kept back after folders were told may go (E20).
    fn digest_deadline(&self) -> Option<Time> {
        let at = self.ambient.digesting;
        (self.upstream.is_ready() && at > self.now && self.lane.has_requests()).then_some(at)
    }

    /// List requests behind a busy lane that could be answered from memory, and from when on (D6).
    fn list_deadlines(&self) -> impl Iterator<Item = (ChainId, Time)> + '_ {
        let is_busy = self.lane.is_busy(self.settings.limits.parallel);
        self.lane.line().filter(move |_| is_busy).filter_map(|id| {
            let chain = self.chains.all.get(&id)?;
            let State::Active(_, Doing::Waiting { since }) = &chain.state else { return None };
            let cursor = chain.request.page()?;
            let is_known = self.memory.knows(chain.request.method, cursor);
            is_known.then(|| (id, since.after(LIST_WAITS_MS)))
        })
    }

    fn wake_waiting_lists(&mut self) {
        let due: Vec<_> =
            self.list_deadlines().filter(|(_, at)| *at <= self.now).map(|(id, _)| id).collect();
        for id in due {
            let Some(answer) = self.recalled(id) else { continue };
            if let Some(leg) = self.take_chain(id).and_then(Chain::into_leg) {
                self.front.leave(&leg.id);
                self.tell_client(answer);
            }
        }
    }

    /// The list last seen, as an answer to this chain's leg (D6).
    fn recalled(&self, id: ChainId) -> Option<Frame> {
        let chain = self.chains.all.get(&id)?;
        let mut head = String::new();
        wire::response_head(&mut head, Some(chain.leg()?.id.text()));
        self.memory.recall(chain.request.method, chain.request.page()?, head)
    }
}

fn chain_deadline(chain: &Chain) -> Option<Time> {
    let state = match &chain.state {
        State::Active(_, Doing::Running { idle, latest, window }) => {
            let end = (*idle).min(*latest);
            Some(window.map_or(end, |window| window.end().min(end)))
        }
        State::Parked { until, .. }
        | State::Active(_, Doing::Leveling { until } | Doing::Visiting { until }) => Some(*until),
        State::Active(_, Doing::Waiting { .. } | Doing::Returning { .. }) => None,
    };
    state.into_iter().chain(chain.progress.due()).min()
}
