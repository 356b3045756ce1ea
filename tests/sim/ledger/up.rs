//! What goes up to the server: the shape of each frame, then its place in the books.

use super::super::json::Json;
use super::super::words::{LEG, LEVELS, RESERVED, REVISIONS};
use super::chains::St;
use super::down::{check_members, read};
use super::session::{Fate, Phase, Purpose};
use super::{Check, Ledger, Mode, broken, ensure};

impl Ledger {
    pub(super) fn up(&mut self, bytes: &[u8]) -> Check {
        ensure(self.is_running(), "H10-to-a-running-process-only", || {
            format!("{:?}: {}", self.session.process, String::from_utf8_lossy(bytes))
        })?;
        if self.mode == Mode::Relayed {
            return self.relay_up(bytes);
        }
        let frame = read(bytes)?;
        if self.mode == Mode::Bridged {
            check_members(&frame)?;
        }
        let params = frame.get("params").cloned().unwrap_or(Json::Null);
        match (frame.get("method").and_then(Json::text), frame.get("id")) {
            (None, Some(id)) => self.response_up(&id.to_text(), &frame),
            (None, None) => broken("A4-members", frame.short(200)),
            (Some(method), Some(id)) => {
                let Some(id) = id.as_u64() else { return broken("A19-own-ids", frame.short(200)) };
                if self.mode == Mode::Passed {
                    return self.pass_request_up(id, method, &params);
                }
                self.request_up(id, method, &params)
            }
            (Some(method), None) => {
                if self.mode == Mode::Passed {
                    return self.pass_note_up(method, &params);
                }
                self.notification_up(method, &params)
            }
        }
    }

    fn request_up(&mut self, id: u64, method: &str, params: &Json) -> Check {
        let text =
            |name: &str| params.get(name).and_then(Json::text).unwrap_or_default().to_owned();
        let leg = params.get("_meta").and_then(|meta| meta.get(LEG)).and_then(Json::as_u64);
        if let Some(leg) = leg {
            return self.call_up(id, method, params, leg);
        }
        let is_ready = self.is_ready();
        ensure(
            is_ready || matches!(method, "initialize" | "server/discover" | "tools/list"),
            "H5-after-the-handshake",
            || method.to_owned(),
        )?;
        match method {
            "initialize" => {
                let version = text("protocolVersion");
                ensure(REVISIONS.contains(&version.as_str()), "H1-version", || version.clone())?;
                self.sends_initialize(id)
            }
            "server/discover" => self.sends_probe(id),
            "tools/list" => {
                let may = matches!(self.session.phase, Phase::Listing(_));
                ensure(may, "B8-asked-once", || "tools/list".into())?;
                self.book_id(id, Purpose::Tools)
            }
            "logging/setLevel" => {
                let level = text("level");
                let level = LEVELS.iter().position(|known| *known == level);
                self.level_sent(id, level.unwrap_or(usize::MAX))
            }
            "resources/subscribe" => self.subscribes(id, &text("uri")),
            "resources/unsubscribe" => self.unsubscribes(id, &text("uri")),
            _ => broken("H5-known-requests-only", method.to_owned()),
        }
    }

    /// A request of the client's goes up (D1).
    fn call_up(&mut self, id: u64, method: &str, params: &Json, leg: u64) -> Check {
        let Some(number) = self.leg_chain.get(&leg).copied() else {
            return broken("D1-a-known-leg", format!("{leg}"));
        };
        let ask = std::rc::Rc::clone(&self.chains[number].newest);
        // Which leg's _meta travels shows only when it is sent again (K4).
        ensure(ask.method == method, "D1-method", || format!("{ask:?} as {method}"))?;
        let members = params.members().unwrap_or_default();
        let salient: Vec<_> = members.iter().filter(|(name, _)| name != "_meta").cloned().collect();
        let expected = Json::parse(&format!("{{{}}}", ask.salient)).unwrap_or(Json::Null);
        ensure(Json::Object(salient).same(&expected), "D1-params", || {
            format!("{} instead of {}", params.short(300), expected.short(300))
        })?;
        let meta = params.get("_meta").and_then(Json::members).unwrap_or_default();
        let leaks = meta.iter().any(|(name, _)| name.starts_with(RESERVED));
        ensure(!leaks, "D1-no-modern-meta", || params.short(300))?;
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
        ensure(token.is_none_or(|t| t.as_u64() == Some(id)), "F1-own-token", || params.short(300))?;
        ensure(token.is_some() == ask.token.is_some(), "F1-token-iff-asked", || {
            format!("{ask:?}")
        })?;
        self.check_level_told(number)?;
        self.forwarded(number, id)?;
        self.book_id(id, Purpose::Call(number))
    }

    fn notification_up(&mut self, method: &str, params: &Json) -> Check {
        match method {
            "notifications/initialized" => self.sends_initialized(),
            "notifications/cancelled" => {
                let id = params.get("requestId").and_then(Json::as_u64);
                self.cancelled_up(id.unwrap_or(0))
            }
            _ => broken("H8-known-notifications-only", method.to_owned()),
        }
    }

    /// `notifications/cancelled` for a call: it is open, and there is a reason (F8, F10).
    fn cancelled_up(&mut self, id: u64) -> Check {
        let number = match self.session.sent.get_mut(&id) {
            Some((Purpose::Call(number), fate)) if *fate == Fate::Open => {
                *fate = Fate::Cancelled;
                *number
            }
            other => return broken("F10-only-open-calls", format!("{id}: {other:?}")),
        };
        self.batch.cancelled.push(number);
        let early = self.batch.refused_early.iter().find(|(_, chain)| *chain == number);
        ensure(early.is_none(), "E21-cancelled-before-refused", || format!("{early:?}"))?;
        if let Some(at) = self.batch.to_cancel.iter().position(|due| *due == id) {
            self.batch.to_cancel.remove(at);
            self.chains[number].call = None;
            return Ok(());
        }
        self.check_cancel_reason(number)?;
        self.chains[number].call = None;
        if matches!(self.chains[number].st, St::Parked(_)) {
            self.chain_over(number);
        } else {
            self.batch.due.push((number, "its call was cancelled"));
        }
        self.owner_ended(number);
        Ok(())
    }

    fn check_cancel_reason(&mut self, number: usize) -> Check {
        let now = self.now;
        let is_parked = matches!(self.chains[number].st, St::Parked(_));
        let gives_way = is_parked && self.gives_way(number);
        let chain = &self.chains[number];
        let holds = match &chain.st {
            St::Running { .. } | St::Returning { .. } => {
                self.is_timed_out(number) || chain.rounds >= 50
            }
            St::Parked(parked) => {
                let parked_now = |n: &&usize| matches!(self.chains[**n].st, St::Parked(_));
                let is_oldest_of_many = self.live.iter().filter(parked_now).count() > 32;
                let is_over = self.is_draining() || self.is_lane_freed();
                parked.until <= now || is_oldest_of_many || is_over || gives_way
            }
            St::Waiting { .. } | St::Visiting { .. } | St::Over => false,
        };
        ensure(holds, "F10-cancelled-with-a-reason", || {
            format!("{:?} {:?}", chain.st, chain.newest)
        })
    }

    /// Has it taken too long, or had it before a parked call was given up for it in this event?
    pub(super) fn is_timed_out(&self, number: usize) -> bool {
        self.chains[number].is_timed_out(self.now) || self.batch.excused.contains(&number)
    }

    /// A younger call got no answer: the oldest parked one is given up for it, and its clock starts
    /// anew (E14b).
    fn gives_way(&mut self, number: usize) -> bool {
        let sent = self.chains[number].sent;
        let now = self.now;
        let is_oldest = !self.live.iter().any(|n| {
            let chain = &self.chains[*n];
            matches!(chain.st, St::Parked(_)) && chain.call.is_some() && chain.sent < sent
        });
        let until = now + self.settings.limits.request_timeout_ms;
        let waits = |n: &&usize, is_due: &dyn Fn(u64, usize) -> bool| match self.chains[**n].st {
            St::Running { idle, latest } => {
                self.chains[**n].sent > sent && latest > now && is_due(idle, **n)
            }
            _ => false,
        };
        let is_due = |idle: u64, _: usize| idle <= now;
        let was_due = |_: u64, n: usize| self.batch.excused.contains(&n);
        let found = self.live.iter().find(|n| waits(n, &is_due));
        let found = found.or_else(|| self.live.iter().find(|n| waits(n, &was_due))).copied();
        let is_unsure = self.live.iter().any(|n| self.chains[*n].is_unseen());
        if let (true, Some(other)) = (is_oldest || is_unsure, found) {
            if let St::Running { idle, .. } = &mut self.chains[other].st {
                *idle = until;
            }
            self.batch.excused.push(other);
            return true;
        }
        if is_unsure {
            // It gave way to one of those whose time is up, whatever their order was.
            for number in self.live.clone() {
                if let St::Running { idle, latest } = &mut self.chains[number].st
                    && *idle <= now
                    && *latest > now
                {
                    *idle = until;
                    self.batch.excused.push(number);
                }
            }
        }
        is_unsure
    }

    /// A response upward: to a ping, a hopeless request, or a question.
    fn response_up(&mut self, id: &str, frame: &Json) -> Check {
        let code = frame.get("error").and_then(|e| e.get("code")).and_then(Json::as_i64);
        if let Some(owed) = self.session.pay(id) {
            let is_empty = frame.get("result").and_then(Json::members).is_some_and(<[_]>::is_empty);
            let fits = if owed.is_some() { code == owed } else { is_empty };
            return ensure(fits, "H7-answers", || format!("{owed:?}: {}", frame.short(200)));
        }
        self.question_answered(id, frame)
    }

    /// At the end of an event: what the client gave up was cancelled (F8).
    pub(super) fn check_cancels(&self) -> Check {
        let left = self.batch.to_cancel.first();
        ensure(left.is_none() || !self.is_running(), "F8-cancelled-upward", || format!("{left:?}"))
    }

    /// A line of the server was thrown away: it may have been the answer to anything that runs.
    pub(super) fn overlong(&mut self) {
        self.batch.is_overlong = true;
        if self.mode == Mode::Passed {
            return self.passed_overlong();
        }
        let holds = self.settings.hold_lane;
        // Between two that fail another one starts: who carries what then cannot be seen.
        self.batch.is_mixed = true;
        for number in self.live.clone() {
            let chain = &mut self.chains[number];
            if chain.call.is_none() {
                continue;
            }
            match &mut chain.st {
                St::Running { .. } => {
                    chain.is_overlong = true;
                    self.batch.due.push((number, "a line over the limit"));
                }
                St::Parked(parked) if holds => {
                    chain.is_overlong = true;
                    parked.has_outcome = true;
                    chain.slots.clear();
                }
                St::Returning { is_silent, .. } => {
                    chain.is_overlong = true;
                    if holds && !*is_silent {
                        self.batch.due.push((number, "a line over the limit"));
                    }
                    continue;
                }
                _ => continue,
            }
            let call = self.chains[number].call.take();
            if let Some(sent) = call.and_then(|call| self.session.sent.get_mut(&call)) {
                sent.1 = Fate::Answered;
            }
            self.owner_ended(number);
        }
    }
}
