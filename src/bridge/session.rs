//! The wrapped server's life: start, loss, next process (H12, H13, C3).

use super::chain::{Doing, State};
use super::event::{Effect, Exit, Level};
use super::modern::Modern;
use super::upstream::{CLOSED_MS, Phase};
use super::{Bridge, ServerEra};
use crate::message::refusal::Refusal;

impl Bridge {
    /// Something needs the server.
    pub(super) fn want_server(&mut self) {
        self.upstream.is_wanted = true;
        match self.upstream.phase {
            Phase::Fresh => self.use_fresh(),
            Phase::Down => self.restart_if_due(),
            Phase::Starting
            | Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready
            | Phase::Leaving => {}
        }
    }

    /// A process that was told nothing yet, and something for it to do.
    fn use_fresh(&mut self) {
        if self.relay.is_some() {
            self.relay_is_there();
        } else if self.modern.is_some() {
            self.modern_is_there();
        } else if self.upstream.is_modern {
            self.server_is_modern();
        } else if self.settings.server_era == ServerEra::Modern {
            self.probe();
        } else {
            self.shake_hands();
        }
    }

    /// Starts the next process as soon as it may start (H12).
    pub(super) fn restart_if_due(&mut self) {
        if self.upstream.phase != Phase::Down || !self.upstream.is_wanted {
            return;
        }
        if let Some(why) = self.upstream_verdict() {
            return self.fail_for_good(&why);
        }
        if self.upstream.not_before <= self.now {
            self.upstream.generation.0 += 1;
            self.upstream.phase = Phase::Starting;
            self.push(Effect::StartServer(self.upstream.generation));
        }
    }

    /// Why no request can be served now, nor after a short wait.
    pub(super) fn upstream_verdict(&mut self) -> Option<String> {
        if let Some(why) = &self.upstream.verdict {
            return Some(why.clone());
        }
        let is_loop = self.upstream.phase == Phase::Down && self.upstream.is_crash_loop(self.now);
        is_loop
            .then(|| "it ended too often within a minute and is not started again for now".into())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn server_started(&mut self) {
        if self.upstream.phase != Phase::Starting {
            return;
        }
        self.upstream.phase = Phase::Fresh;
        self.upstream.closed = None;
        self.upstream.noise = 0;
        if self.upstream.is_wanted {
            self.use_fresh();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn server_unstartable(&mut self, why: &str) {
        self.say(Level::Error, why);
        self.upstream.is_unstartable = true;
        self.upstream.verdict = Some(why.to_owned());
        self.upstream.phase = Phase::Down;
        self.fail_for_good(why);
    }

    /// The server can't be used, now or later: its process is ended.
    pub(super) fn give_server_up(&mut self, why: &str) {
        self.leave_server();
        self.condemn_server(why);
    }

    /// The server can't be used, now or later; what waits is told why.
    fn condemn_server(&mut self, why: &str) {
        self.say(Level::Error, format!("the server cannot be used: {why}"));
        self.upstream.verdict = Some(why.to_owned());
        self.fail_for_good(why);
    }

    /// Nothing of a process outlives it: no answer of it is awaited, no question of it is open.
    fn forget_process(&mut self) {
        self.upstream.closed = None;
        self.upstream.forget_pending();
        self.ambient.clear();
        self.close_ambient();
    }

    /// Makes the process end; until it has, nothing is sent to it or believed of it.
    pub(super) fn leave_server(&mut self) {
        self.upstream.phase = Phase::Leaving;
        self.forget_process();
        self.push(Effect::StopServer(self.upstream.generation));
    }

    /// There will be no server: streams end, too (G13, G14).
    fn fail_for_good(&mut self, why: &str) {
        self.fail_waiting(why);
        self.close_streams();
        self.upstream.is_wanted = false;
    }

    /// Refuses everything that waits for a server (C3). The next request starts another, and open
    /// streams want one in any case.
    pub(super) fn fail_waiting(&mut self, why: &str) {
        let refusal = Refusal::UpstreamUnavailable(why.to_owned());
        self.refuse_opening(&refusal);
        self.upstream.is_wanted = !self.listen.streams.is_empty();
        for held in std::mem::take(&mut self.front.held) {
            self.refuse(held.leg, &refusal);
        }
        self.refuse_relayed(&refusal);
        self.refuse_passed(&refusal);
        self.refuse_waiting_to_pass(&refusal);
        let waiting: Vec<_> = self
            .chains
            .all
            .iter()
            .filter(|(_, chain)| chain.is_waiting())
            .map(|(id, _)| *id)
            .collect();
        for chain in waiting {
            self.fail(chain, &refusal);
        }
    }

    /// The server closed its output. It usually ends right after that; else it is made to (H12).
    #[cold]
    #[inline(never)]
    pub(super) fn server_closed(&mut self) {
        self.upstream.closed = Some(self.now.after(CLOSED_MS));
    }

    /// It closed its output and lives on: of no use any more (H12).
    #[cold]
    #[inline(never)]
    pub(super) fn server_stays_closed(&mut self) {
        let how = "it closed its output";
        self.say(Level::Warning, format!("the server is ended: {how}"));
        let phase = self.upstream.phase;
        self.leave_server();
        self.upstream.crashed(self.now);
        if let Phase::Handshaking { .. } = phase {
            self.upstream.offer_again();
        }
        self.server_lost(how, phase == Phase::Ready);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn server_exited(&mut self, exit: Exit) {
        let phase = self.upstream.phase;
        self.upstream.phase = Phase::Down;
        self.forget_process();
        match phase {
            // We ended it and have told everybody why.
            Phase::Leaving => {}
            Phase::Probing { .. } if self.settings.server_era == ServerEra::Auto => {
                // Old servers end on anything before initialize (I6): that goes to a new process.
                self.upstream.not_before = self.now;
                if self.upstream.to_offer.is_empty() {
                    self.condemn_server(&format!(
                        "it refused initialize, and {exit} when asked whether it is modern"
                    ));
                }
            }
            Phase::Handshaking { .. } if self.upstream.is_walking => {
                // It refused a revision and left: the next one is offered to a new process (H4).
                self.upstream.offer_again();
                self.upstream.not_before = self.now;
            }
            Phase::Starting | Phase::Fresh | Phase::Down => {
                self.upstream.crashed(self.now);
                let told = format!(
                    "the server {exit} before it was asked anything; its stderr may say why, \
                     and --env passes a variable on to it"
                );
                self.say(Level::Warning, told);
                // What nobody asked for needs no delay when somebody does.
                self.upstream.not_before = self.now;
            }
            Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready => {
                if let Phase::Handshaking { .. } = phase {
                    self.upstream.offer_again();
                }
                let was_ready = phase == Phase::Ready;
                self.say(Level::Warning, format!("the server {exit}{}", self.hint_at_hold_lane()));
                self.upstream.crashed(self.now);
                self.server_lost(&format!("it {exit}"), was_ready);
            }
        }
        self.restart_if_due();
    }

    /// A server that reads the next request where it expected an answer often dies of it (E14b).
    fn hint_at_hold_lane(&self) -> &'static str {
        let is_running = self.chains.all.values().any(|c| c.is_running() && c.call.is_some());
        let is_parked = self.chains.all.values().any(|c| c.is_parked() && c.call.is_some());
        if is_running && is_parked && !self.settings.hold_lane {
            " while a question was open and another call ran; if it cannot do both, use --hold-lane"
        } else {
            ""
        }
    }

    /// What ran on the process that is gone fails, its states are void (E24); what only waited
    /// runs on the next one.
    fn server_lost(&mut self, how: &str, was_ready: bool) {
        let refusal = Refusal::UpstreamExited(how.to_owned());
        self.refuse_passed(&refusal);
        if self.relay.is_some() {
            // No other process can take up a legacy session: that is the end.
            self.refuse_relayed(&refusal);
            return self.exit(1);
        }
        self.epoch = self.random_hex::<8>();
        self.memory.clear();
        self.upstream.log_level.forget();
        self.listen.forget_watches();
        let ids: Vec<_> = self.chains.all.keys().copied().collect();
        for id in ids {
            let Some(chain) = self.chains.all.get_mut(&id) else {
                continue;
            };
            chain.questions.clear();
            chain.call = None;
            match &chain.state {
                State::Active(_, Doing::Waiting { .. }) => {}
                // Not sent yet, or not for the time being: they go on with the next process.
                State::Active(_, Doing::Leveling { .. } | Doing::Visiting { .. }) => {
                    self.wait_again(id);
                }
                State::Active(_, Doing::Running { .. }) => self.fail(id, &refusal),
                State::Active(_, Doing::Returning { .. }) => self.fail(id, &Refusal::Restarted),
                State::Parked { outcome: Some(_), .. } => self.lane.release(id),
                State::Parked { outcome: None, .. } => drop(self.take_chain(id)),
            }
        }
        let is_waited_for = self.lane.has_requests()
            || !self.front.held.is_empty()
            || self.modern.as_ref().is_some_and(Modern::is_waiting)
            || !self.listen.streams.is_empty();
        self.upstream.is_wanted = is_waited_for;
        if !was_ready && is_waited_for {
            // It never got as far as serving: starting it again is for the next request (C3).
            self.fail_waiting(&format!(
                "{how} during the handshake; its stderr may say why, \
                 and --env passes a variable on to it"
            ));
        }
    }
}
