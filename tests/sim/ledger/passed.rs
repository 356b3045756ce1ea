//! A modern server: messages pass but for their ids (I14).

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Ask, Reply, Said, Told};
use super::super::words::{LEG, P_STREAM};
use super::legs::Owed;
use super::session::{Fate, Phase, Purpose};
use super::{Check, Ledger, Mode, broken, ensure};

#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Requests that have to go up, in this order.
    waiting: VecDeque<Rc<Ask>>,
    /// Those that did, by the id they have upward.
    open: BTreeMap<u64, Rc<Ask>>,
    /// Answers that must go down in this event.
    due: Vec<Rc<Ask>>,
    /// Notifications of this event: the stream they name, and whether they must go down.
    notes: Vec<(Option<u64>, bool)>,
    /// The client's notification of this event may go up.
    may_note: bool,
}

impl Passed {
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty() || !self.waiting.is_empty()
    }

    fn is_in_use(&self, id: &str) -> bool {
        self.open.values().chain(&self.waiting).any(|ask| ask.id == id)
    }
}

impl Ledger {
    /// The server turned out to be modern: what waited for the handshake passes as it came.
    pub(super) fn take_over_held(&mut self) {
        let mut held: Vec<_> =
            std::mem::take(&mut self.legs).into_values().map(|l| l.ask).collect();
        held.sort_by_key(|ask| ask.leg);
        self.passed.waiting.extend(held);
        self.live.clear();
    }

    pub(super) fn passed_lost(&mut self) {
        let open = std::mem::take(&mut self.passed.open);
        self.passed.due.extend(open.into_values());
    }

    pub(super) fn pass_client(&mut self, said: &Said) {
        match said {
            Said::Request(ask) | Said::Ping(ask) => self.pass_request(ask),
            Said::Refused(ask, code) => {
                let is_stray = *code == -32022 && ask.method == "initialize";
                if is_stray {
                    return self.owe(Owed::error(Some(&ask.id), -32022)); // B9
                }
                self.pass_request(ask);
            }
            Said::Cancel(id) => {
                self.passed.waiting.retain(|ask| ask.id != *id);
                let found = self.passed.open.iter().find(|(_, ask)| ask.id == *id);
                if let Some(upward) = found.map(|(upward, _)| *upward) {
                    self.passed.open.remove(&upward);
                    self.batch.to_cancel.push(upward);
                }
            }
            Said::Wrong(id, code) => self.owe(Owed::error(id.as_deref(), *code)),
            Said::Initialize(id) => self.owe(Owed::error(Some(id), -32022)),
            Said::Nothing | Said::Legacy(..) => self.passed.may_note = true,
        }
    }

    fn pass_request(&mut self, ask: &Rc<Ask>) {
        let limits = &self.settings.limits;
        let count = self.passed.open.len() + self.passed.waiting.len();
        if self.passed.is_in_use(&ask.id) {
            self.owe(Owed::error(Some(&ask.id), -32600));
        } else if count >= limits.in_flight + limits.subscriptions {
            self.owe(Owed::error(Some(&ask.id), -32603));
        } else {
            self.passed.waiting.push_back(Rc::clone(ask));
        }
    }

    pub(super) fn pass_request_up(&mut self, id: u64, method: &str, params: &Json) -> Check {
        let Some(ask) = self.passed.waiting.pop_front() else {
            return broken("I14-nothing-of-its-own", method.to_owned());
        };
        ensure(ask.method == method, "I14-in-order", || format!("{method} instead of {ask:?}"))?;
        let leg = params.get("_meta").and_then(|meta| meta.get(LEG)).and_then(Json::as_u64);
        ensure(leg.is_none_or(|leg| leg == ask.leg), "I14-in-order", || params.short(200))?;
        self.passed.open.insert(id, ask);
        self.book_id(id, Purpose::Passed)
    }

    pub(super) fn pass_note_up(&mut self, method: &str, params: &Json) -> Check {
        if method == "notifications/cancelled" {
            let id = params.get("requestId").and_then(Json::as_u64).unwrap_or(0);
            let Some(at) = self.batch.to_cancel.iter().position(|due| *due == id) else {
                return broken("F8-only-what-is-cancelled", params.short(100));
            };
            self.batch.to_cancel.remove(at);
            return Ok(());
        }
        let may = std::mem::take(&mut self.passed.may_note);
        ensure(may, "I14-nothing-of-its-own", || method.to_owned())
    }

    pub(super) fn pass_server(&mut self, told: &[Told]) {
        for told in told {
            match told {
                Told::Reply(_, Reply::Broken) => {}
                Told::Reply(id, _) => {
                    if let Some((_, fate)) = self.session.sent.get_mut(id) {
                        *fate = Fate::Answered;
                    }
                    self.passed.due.extend(self.passed.open.remove(id));
                }
                Told::Asked(question) => self.session.owe(&question.id, Some(-32601)),
                Told::Hopeless(id, _) | Told::Ping(id) => self.session.owe(id, Some(-32601)),
                Told::Note { stream } => self.passed.notes.push((*stream, true)),
                Told::Noise => self.passed.notes.push((None, false)),
                Told::Withdrawn(_)
                | Told::Progress { .. }
                | Told::Log { .. }
                | Told::Changed(_)
                | Told::Visited(_) => self.passed.notes.push((None, true)),
            }
        }
    }

    /// A line over the limit may have been any answer.
    pub(super) fn passed_overlong(&mut self) {
        self.passed_lost();
    }

    pub(super) fn pass_down(&mut self, frame: &Json) -> Check {
        if frame.has("method") {
            ensure(!frame.has("id"), "E2-no-requests-down", || frame.short(200))?;
            if self.passed.notes.is_empty() {
                return broken("I14-nothing-of-its-own", frame.short(200));
            }
            let (stream, _) = self.passed.notes.remove(0);
            let Some(ask) = stream.and_then(|stream| self.passed.open.get(&stream)) else {
                return Ok(());
            };
            let params = frame.get("params");
            let named = params.and_then(|p| p.get("_meta")).and_then(|meta| meta.get(P_STREAM));
            let is_own = named.map(Json::to_text).as_ref() == Some(&ask.id);
            return ensure(is_own, "I14-the-clients-stream", || frame.short(200));
        }
        let id = frame.get("id").map(Json::to_text);
        if let Some(at) = self.passed.due.iter().position(|ask| Some(&ask.id) == id.as_ref()) {
            self.passed.due.remove(at);
            return Ok(());
        }
        let reason = frame.get("error").and_then(|e| e.get("data")).and_then(|d| d.get("reason"));
        let after = self.settings.limits.request_timeout_ms;
        let is_over = self.closed_at.is_some_and(|at| at + after <= self.now);
        match reason.and_then(Json::text) {
            Some("timeout") if is_over => {}
            Some("overloaded")
                if self.settings.limits.buffer_bytes < 1 << 20
                    && self.passed.waiting.back().map(|ask| &ask.id) == id.as_ref() => {}
            Some("upstream_unavailable") if !self.is_running() => {}
            _ => return self.pay(id.as_deref(), frame),
        }
        let before = self.passed.open.len() + self.passed.waiting.len();
        self.passed.open.retain(|_, ask| Some(&ask.id) != id.as_ref());
        self.passed.waiting.retain(|ask| Some(&ask.id) != id.as_ref());
        let after = self.passed.open.len() + self.passed.waiting.len();
        ensure(after + 1 == before, "I1-one-answer-each", || frame.short(200))
    }

    /// At the end of an event: what could pass has passed.
    pub(super) fn check_passed(&mut self) -> Check {
        let passed = &mut self.passed;
        passed.may_note = false;
        let note = passed.notes.iter().find(|(_, must)| *must).copied();
        passed.notes.clear();
        ensure(note.is_none(), "I14-notes-pass", || format!("{note:?}"))?;
        ensure(passed.due.is_empty(), "I14-answers-pass", || format!("{:?}", self.passed.due))?;
        let is_there = self.is_running() && self.mode == Mode::Passed;
        let waits = self.passed.waiting.front();
        ensure(waits.is_none() || !is_there, "I14-requests-pass", || format!("{waits:?}"))
    }

    /// A process of a modern server is used as it is.
    pub(super) fn passed_started(&mut self) {
        self.session.phase = Phase::Ready;
    }
}
