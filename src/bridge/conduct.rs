//! What several directions share: answering, forwarding, finishing, giving up, ending.

use super::Bridge;
use super::chain::{Chain, Doing, State};
use super::event::{Effect, Level};
use super::front::Leg;
use super::ids::{ChainId, ServerId};
use super::lane::Next;
use super::modern::Modern;
use super::relay::Relay;
use super::upstream::Purpose;
use crate::message::body::Body;
use crate::message::object::Object;
use crate::message::params;
use crate::message::refusal::{Refusal, write_upstream_error};
use crate::message::results::{self, Stamp};
use crate::message::splice::Spliced;
use crate::message::wire::{self, Id};
use crate::message::writer::{Text, quoted};

impl Bridge {
    /// Spends a leg: its one answer. `outcome` is `"result":...` or `"error":...`.
    #[expect(clippy::needless_pass_by_value, reason = "answering spends the leg")]
    pub(super) fn answer(&mut self, leg: Leg, outcome: &str) {
        self.front.leave(&leg.id);
        self.tell_client(wire::response(Some(leg.id.text()), outcome));
    }

    pub(super) fn refuse(&mut self, leg: Leg, refusal: &Refusal) {
        self.answer(leg, &refusal.outcome());
    }

    /// Answers a line that never became a leg.
    #[cold]
    pub(super) fn refuse_line(&mut self, id: Option<&Id>, refusal: &Refusal) {
        self.tell_client(wire::response(id.map(Id::text), &refusal.outcome()));
    }

    /// Lets go up whatever may go up now (D6). What this sets off may call it again; the loop here
    /// goes on then, so that a long line never becomes a deep stack.
    pub(super) fn pump(&mut self) {
        if self.is_pumping {
            return;
        }
        self.is_pumping = true;
        while self.pump_one() {}
        self.is_pumping = false;
    }

    fn pump_one(&mut self) -> bool {
        let is_ready = self.upstream.is_ready();
        let requests = is_ready && self.ambient.digesting <= self.now;
        let parallel = if is_ready { self.settings.limits.parallel } else { 0 };
        match self.lane.next(parallel, requests, self.now) {
            None => return false,
            Some(Next::Answers(chain)) => self.send_answers(chain),
            // Folders may have been asked for since the request came in (E20).
            Some(Next::Request(chain)) if self.ask_roots_first(chain) => self.lane.release(chain),
            Some(Next::Request(chain)) if self.ambient.digesting > self.now => {
                self.lane.release(chain);
                self.lane.wait_ahead(chain);
            }
            Some(Next::Request(chain)) if self.level_first(chain) => {}
            Some(Next::Request(chain)) => self.forward(chain),
        }
        true
    }

    /// Puts a chain whose request is to be sent at the head of the line. A parked one is not: its
    /// client has to come back first.
    pub(super) fn wait_again(&mut self, id: ChainId) {
        self.chains.change(id, Doing::Waiting { since: self.now });
        if !self.chains.all.get(&id).is_some_and(Chain::is_waiting) {
            return;
        }
        self.lane.forget(id);
        self.lane.wait_ahead(id);
    }

    /// Sends a chain's request up.
    pub(super) fn forward(&mut self, id: ChainId) {
        let limits = &self.settings.limits;
        let idle = self.now.after(limits.request_timeout_ms);
        let latest = self.now.after(limits.request_max_ms);
        self.chains.change(id, Doing::Running { idle, latest, window: None });
        let sent = self.chains.next_sent();
        let Some(chain) = self.chains.all.get_mut(&id) else { return };
        let Some(leg) = chain.leg() else { return };
        let wants_progress = leg.progress_token.is_some();
        let call = self.upstream.expect(Purpose::Call(id));
        chain.call = Some(call);
        chain.sent = sent;
        chain.progress.is_asked_for = wants_progress;
        let request = &chain.request;
        let token = wants_progress.then_some(call.0);
        let mut up = Spliced::over(request.line());
        wire::request_head(&mut up, call.0, &request.name);
        params::write_upward(&mut up, &request.params(), &request.meta(), token);
        up.push_str(wire::END);
        let frame = up.finish();
        let is_mrtr = request.method.is_mrtr();
        self.tell_server(frame);
        if !is_mrtr {
            self.watch_roots(id);
        }
    }

    /// The server's answer to a chain's call.
    pub(super) fn finish(&mut self, id: ChainId, outcome: Result<Body<'_>, Body<'_>>) {
        self.flush_progress(id);
        if let Some(visits) = self.visits_wanted(id, &outcome) {
            return self.ask_for_visits(id, visits);
        }
        let Some(mut chain) = self.take_chain(id) else { return };
        chain.call = None;
        let questions = std::mem::take(&mut chain.questions);
        let line = self.line.clone().unwrap_or_default();
        let mut out = Spliced::over(&line);
        if let Some(leg) = chain.leg() {
            wire::response_head(&mut out, Some(leg.id.text()));
        }
        let head = out.own_len();
        let is_result = matches!(outcome, Ok(Body::Object(_)));
        self.write_outcome(&mut out, &chain, outcome);
        match chain.state {
            State::Parked { outcome: ref mut kept, .. } => {
                *kept = Some(out.finish().text_from(0));
                self.chains.all.insert(id, chain);
                self.abandon_oldest_parked();
            }
            State::Active(leg, _) => {
                out.push_str(wire::END);
                let mut frame = out.finish();
                if let (true, Some(cursor)) = (is_result, chain.request.page()) {
                    let most = self.settings.limits.kept_bytes();
                    frame = frame.shared();
                    let answer = (frame.clone(), head);
                    self.memory.remember(chain.request.method, cursor, answer, most);
                }
                self.front.leave(&leg.id);
                self.tell_client(frame);
            }
        }
        self.rehome(questions);
        self.pump();
    }

    /// Writes what the outcome of a call looks like to the client.
    fn write_outcome(
        &mut self,
        out: &mut Spliced<'_>,
        chain: &Chain,
        outcome: Result<Body<'_>, Body<'_>>,
    ) {
        let failed = match &outcome {
            Ok(Body::Object(result)) => results::is_tool_error(result),
            Ok(_) | Err(_) => true,
        };
        if failed && !chain.missing.is_empty() {
            return out.push_str(&Refusal::MissingCapability(chain.missing).outcome()); // E9
        }
        match outcome {
            Ok(Body::Object(result)) => self.write_complete(out, chain, &result),
            Ok(Body::Absent | Body::Null | Body::Other) => {
                out.push_str(&Refusal::InvalidResult.outcome());
            }
            Err(error) => {
                let mut text = String::new();
                write_upstream_error(&mut text, chain.request.method, &error);
                out.push_str(&text);
            }
        }
    }

    fn write_complete(&mut self, out: &mut Spliced<'_>, chain: &Chain, result: &Object<'_>) {
        let method = chain.request.method;
        let stamp = Stamp {
            server_info: self.upstream.identity(),
            cache_ttl_ms: self.settings.limits.cache_ttl_ms,
        };
        let mut found = Vec::new();
        results::write_complete(out, method, result, stamp, &mut found);
        for finding in found {
            self.say(Level::Warning, finding);
        }
    }

    /// Ends a running chain with an error of ours. The server is not told; see [`Self::abandon`].
    pub(super) fn fail(&mut self, id: ChainId, refusal: &Refusal) {
        let Some(mut chain) = self.take_chain(id) else { return };
        let questions = std::mem::take(&mut chain.questions);
        if let Some(leg) = chain.into_leg() {
            self.refuse(leg, refusal);
        }
        self.rehome(questions);
    }

    /// Tells the server that a chain's call is not wanted any more (F8); its late answer, if one
    /// comes, meets nothing (A17).
    pub(super) fn cancel_call(&mut self, id: ChainId, reason: &str) {
        let Some(call) = self.chains.all.get_mut(&id).and_then(|chain| chain.call.take()) else {
            return;
        };
        self.upstream.take(call);
        let params = format!("{{\"requestId\":{},\"reason\":{}}}", call.0, quoted(reason));
        self.tell_server(wire::notification("notifications/cancelled", &params));
    }

    /// Gives a chain up: cancels its call, refuses its questions, forgets it (F8, F9, E23). Its
    /// leg, if it has one, is not answered: its client cancelled it.
    pub(super) fn abandon(&mut self, id: ChainId, reason: &str) {
        self.cancel_call(id, reason);
        let Some(chain) = self.take_chain(id) else { return };
        self.rehome(chain.questions);
        self.pump();
    }

    /// Takes a chain out of wherever it is. Whoever does so answers its leg.
    pub(super) fn take_chain(&mut self, id: ChainId) -> Option<Chain> {
        self.lane.forget(id);
        self.ambient.forget(id);
        self.chains.all.remove(&id)
    }

    /// The call with this id of ours cannot be answered any more: its answer was unreadable.
    #[cold]
    pub(super) fn fail_call(&mut self, call: ServerId, why: &str) {
        if let Some(Purpose::Call(chain)) = self.upstream.take(call) {
            if let Some(chain) = self.chains.all.get_mut(&chain) {
                chain.call = None;
            }
            self.settle_or_keep(chain, &Refusal::InvalidMessage(why.into()));
            self.pump();
        }
    }

    /// Ends a chain with an error, or keeps the error for the client that comes back (E18).
    fn settle_or_keep(&mut self, id: ChainId, refusal: &Refusal) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        if let State::Parked { outcome, .. } = &mut chain.state {
            *outcome = Some(refusal.outcome());
            self.lane.release(id);
            let questions = std::mem::take(&mut chain.questions);
            self.rehome(questions);
        } else {
            self.fail(id, refusal);
        }
    }

    /// Once no more requests can come and none is unanswered, the program is done (H11).
    pub(super) fn finish_draining(&mut self) {
        if !self.front.closed || self.has_ended {
            return;
        }
        if self.settings.hold_lane {
            self.free_held_lane();
        }
        if self.front.in_flight() > 0 {
            return;
        }
        if self.listen.is_opening() || self.has_relayed() {
            return;
        }
        let parked: Vec<_> = self.chains.parked().map(|(id, _)| id).collect();
        for chain in parked {
            self.abandon(chain, "the client has gone");
        }
        self.refuse_roots();
        self.close_streams();
        self.exit(self.status());
    }

    /// No client comes back after the end of input: parked chains that hold the lane are given up
    /// one by one for what waits behind them (H11).
    fn free_held_lane(&mut self) {
        let holds = |id: &ChainId| self.chains.all.get(id).is_some_and(Chain::is_parked);
        let parked: Vec<_> = self.lane.running().filter(holds).collect();
        for chain in parked {
            if self.lane.has_requests() {
                self.abandon(chain, "the client has gone");
            }
        }
    }

    /// Is a request unanswered that was only passed on?
    pub(super) fn has_relayed(&self) -> bool {
        self.relay.as_ref().is_some_and(Relay::has_open)
            || self.modern.as_ref().is_some_and(Modern::has_open)
    }

    /// The exit status of an orderly end (H13).
    pub(super) fn status(&self) -> u8 {
        let upstream = &self.upstream;
        if upstream.is_unstartable {
            2
        } else if upstream.was_asked && !upstream.was_ready {
            1
        } else {
            0
        }
    }

    #[cold]
    pub(super) fn exit(&mut self, status: u8) {
        self.has_ended = true;
        self.push(Effect::Exit(status));
    }
}
