//! What is told about a running call before its answer: progress and log messages (F), and the
//! log level that the server must be told first (F15).

use super::Bridge;
use super::chain::{Chain, Doing, State};
use super::ids::{ChainId, ServerId};
use super::notices::Verdict;
use super::upstream::{LEVEL_MS, Purpose};
use crate::message::body::Body;
use crate::message::notes;
use crate::message::object::Object;
use crate::message::vocabulary::{LOG_LEVELS, key};
use crate::message::wire::{self, FromServer};

impl Bridge {
    /// `notifications/progress` of the server (F1-F5).
    pub(super) fn progressed(&mut self, params: &Object<'_>) {
        let call = params.get(key::PROGRESS_TOKEN).and_then(wire::own_number).map(ServerId);
        let Some(Purpose::Call(id)) = call.and_then(|call| self.upstream.purpose(call)) else {
            return;
        };
        let now = self.now;
        let is_slow = self.is_client_slow;
        let idle_until = now.after(self.settings.limits.request_timeout_ms);
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let State::Active(leg, Doing::Running { idle, .. }) = &mut chain.state else {
            return;
        };
        *idle = idle_until; // D7: it works
        let Some(token) = leg.progress_token.as_deref().filter(|_| chain.progress.is_asked_for)
        else {
            return;
        };
        let (Some(value), Some(line)) = (notes::progress_value(params), &self.line) else {
            return;
        };
        if is_slow {
            return; // R: progress may be dropped first
        }
        if chain.progress.take(token, value, line, now) == Verdict::Emit {
            let params = notes::progress(token, params);
            self.tell_client(wire::notification("notifications/progress", &params));
        }
    }

    /// The update that waits goes down: its second is over, or its leg is about to be answered.
    pub(super) fn flush_progress(&mut self, id: ChainId) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let line = held_progress(chain);
        if let Some(line) = line.filter(|_| !self.is_client_slow) {
            self.tell_client(line);
        }
    }

    /// `notifications/message` of the server (F12-F14): it names no request, so it belongs to the
    /// newest running call that asked for messages.
    pub(super) fn logged(&mut self, params: &Object<'_>) {
        let running = self.chains.all.values().filter(|chain| chain.is_running());
        let wanted = running
            .filter_map(|chain| Some((chain.sent, chain.leg()?.log_level?)))
            .max_by_key(|(sent, _)| *sent);
        let (Some((_, from)), Some((severity, text))) = (wanted, notes::log_message(params)) else {
            return;
        };
        if severity >= from && !self.is_client_slow {
            self.tell_client(wire::notification("notifications/message", &text));
        }
    }

    /// Tells the server the log level that the open legs want, where it was told another, before
    /// something of this chain's goes up (F15). True when it was told.
    #[allow(
        clippy::indexing_slicing,
        reason = "a level is an index that `envelope::log_level` made"
    )]
    pub(super) fn tell_level(&mut self, id: ChainId) -> bool {
        if !self.upstream.ready_profile().is_some_and(|profile| profile.offers.logging) {
            return false;
        }
        let wants = |chain: &Chain| chain.leg().and_then(|leg| leg.log_level);
        if self.chains.all.get(&id).and_then(wants).is_none() {
            return false;
        }
        let is_open = |chain: &Chain| {
            let State::Active(_, doing) = chain.state else { return false };
            matches!(doing, Doing::Running { .. } | Doing::Leveling { .. })
        };
        let open = self.chains.all.iter().filter(|(other, chain)| is_open(chain) || **other == id);
        let levels = open.filter_map(|(_, chain)| wants(chain));
        let Some(level) = self.upstream.log_level.change(levels) else { return false };
        let request = self.upstream.expect(Purpose::Level(id));
        let params = format!("{{\"level\":\"{}\"}}", LOG_LEVELS[usize::from(level)]);
        self.tell_server(wire::request(request.0, "logging/setLevel", &params));
        true
    }

    /// The same, and the request waits for the answer. True when it does.
    pub(super) fn level_first(&mut self, id: ChainId) -> bool {
        let is_told = self.tell_level(id);
        if is_told {
            let until = self.now.after(LEVEL_MS);
            self.chains.change(id, Doing::Leveling { until });
        }
        is_told
    }

    /// The level is set, refused, or took too long: the request goes up. It kept its place in the
    /// lane, but folders may have been asked for, or told, meanwhile (E20).
    pub(super) fn level_set(&mut self, id: ChainId) {
        let chain = self.chains.all.get(&id);
        if !chain.is_some_and(|c| matches!(c.state, State::Active(_, Doing::Leveling { .. }))) {
            return;
        }
        if self.ask_roots_first(id) {
            self.lane.release(id);
            return self.pump();
        }
        // Answers may have gone up past it meanwhile (D6): then it waits for a free place again.
        let others = self.lane.running().filter(|running| *running != id).count();
        if others >= self.settings.limits.parallel {
            return self.wait_again(id);
        }
        let until = self.ambient.digesting;
        if until > self.now {
            return self.chains.change(id, Doing::Leveling { until });
        }
        self.forward(id);
    }
}

/// The line for the update that waits, if one does.
fn held_progress(chain: &mut Chain) -> Option<Vec<u8>> {
    let State::Active(leg, Doing::Running { .. }) = &chain.state else { return None };
    let token = leg.progress_token.as_deref()?;
    let waiting = chain.progress.flush(token)?;
    // A batch may hold several, for this call and for others.
    let is_it = |params: &Object<'_>| {
        let call = params.get(key::PROGRESS_TOKEN).and_then(wire::own_number).map(ServerId);
        call == chain.call && notes::progress_value(params).as_ref() == Some(&waiting.value)
    };
    let mut found = None;
    wire::from_server(&waiting.line, &mut |message| {
        if let FromServer::Notification(_, Body::Object(params)) = message {
            found = Some(params).filter(is_it).or(found.take());
        }
    });
    let params = notes::progress(token, &found?);
    Some(wire::notification("notifications/progress", &params))
}
