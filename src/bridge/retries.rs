//! A client comes back: which chain its state names, what its answers are worth, and their way up
//! (E12-E19).

use super::Bridge;
use super::chain::{Doing, Question, Source, State, Window};
use super::front::{Held, Leg, Request, Seat};
use super::ids::ChainId;
use super::lane::RETRY_WAITS_MS;
use crate::bounds::MOST_ROUNDS;
use crate::message::answers::{self, Answer};
use crate::message::capabilities::Capabilities;
use crate::message::equal;
use crate::message::object::Object;
use crate::message::params;
use crate::message::refusal::Refusal;
use crate::message::vocabulary::Method;
use crate::message::writer::Writer;

impl Bridge {
    /// A request with a `requestState`: a client comes back (E15).
    pub(super) fn admit_retry(&mut self, held: Held) {
        let Held { leg, request, .. } = held;
        self.front.leave(&leg.id);
        let params = request.params();
        let state = params.string("requestState");
        let chain = state.as_deref().and_then(|state| self.chains.with_ticket(state));
        let Some(id) = chain.filter(|id| self.is_same_request(*id, request.method, &params)) else {
            let refusal = match state.as_deref() {
                Some(state) if chain.is_none() && self.is_of_another_process(state) => {
                    Refusal::Restarted
                }
                _ => Refusal::InvalidState,
            };
            return self.refuse_line(Some(&leg.id), &refusal);
        };
        let given = params.object("inputResponses").unwrap_or_default();
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        if let State::Parked { outcome: Some(outcome), .. } = &chain.state {
            let outcome = outcome.clone();
            self.take_chain(id);
            return self.answer(leg, &outcome);
        }
        // Judge all answers before the first is taken: a malformed one changes nothing (E15.5).
        let revision = self.upstream.revision();
        let mut judged = Vec::new();
        for question in chain.questions.iter().filter(|q| q.answer.is_none()) {
            let Some(key) = question.shown_as else {
                continue;
            };
            let raw = given.get(&format!("q{key}"));
            match raw.map(|raw| answers::answer(question.asked.kind, raw, revision)) {
                Some(Answer::Legal(answer)) => judged.push((question.id, answer)),
                Some(Answer::Illegal(what)) => {
                    let refusal = Refusal::Params(format!("inputResponses.q{key}: {what}"));
                    return self.refuse_line(Some(&leg.id), &refusal);
                }
                Some(Answer::TooDeep) => {
                    return self.refuse_line(Some(&leg.id), &Refusal::TooDeep);
                }
                Some(Answer::Missing) | None => {}
            }
        }
        for (question, answer) in judged {
            let found = chain.questions.iter_mut().find(|q| q.id == question);
            if let Some(question) = found {
                question.answer = Some(answer);
            }
        }
        self.come_back(id, leg, request);
    }

    /// A valid retry: all answers of the round are there, or the rest is asked again (E15.3).
    fn come_back(&mut self, id: ChainId, leg: Leg, request: Request) {
        self.refuse_undeclared_of_round(id, leg.capabilities);
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let State::Parked { left_ms, .. } = chain.state else {
            return;
        };
        chain.newest_leg = leg.id.clone();
        self.front.sit(&leg.id, Seat::Chain(id));
        chain.state = State::Active(leg, Doing::Returning { left_ms });
        if chain
            .questions
            .iter()
            .any(|question| is_open(question) && question.source == Source::Error)
            && !chain.capabilities().covers(Capabilities::URL)
        {
            return self.fail(id, &Refusal::MissingCapability(Capabilities::URL)); // E28 a
        }
        if chain.questions.iter().any(is_open) {
            if chain.rounds >= MOST_ROUNDS {
                self.cancel_call(id, "its questions were not answered");
                return self.fail(id, &Refusal::TooManyRounds);
            }
            return self.park_as_shown(id);
        }
        if chain.call.is_none() {
            chain.request = request; // its trace context travels, not that of the first leg (K4)
            return self.take_up(id);
        }
        let force = (!self.settings.hold_lane).then(|| self.now.after(RETRY_WAITS_MS));
        self.lane.come_back(id, force);
        self.pump();
    }

    /// B13: what this leg does not declare it is not asked again.
    fn refuse_undeclared_of_round(&mut self, id: ChainId, can: Capabilities) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let undeclared = take_where(&mut chain.questions, |question| {
            is_open(question)
                && question.source != Source::Error
                && !can.covers(question.asked.needs)
        });
        for question in undeclared {
            if let Source::Roots = question.source {
                self.refuse_roots_unless_asked();
                continue;
            }
            if let Some(chain) = self.chains.all.get_mut(&id) {
                chain.missing = chain.missing | (question.asked.needs & !can);
            }
            self.reply_to(&question, question.asked.kind.undeclared());
        }
    }

    /// A chain without an open call has all its answers: its request goes up, or up again.
    fn take_up(&mut self, id: ChainId) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        if chain.questions.iter().any(|question| question.shown_as.is_none()) {
            return self.show_visits(id); // they came while nobody could be told
        }
        let questions = std::mem::take(&mut chain.questions);
        let is_declined = |question: &Question| {
            question.source == Source::Error
                && !question.answer.as_ref().is_some_and(|given| given.is_accepted)
        };
        if questions.iter().any(is_declined) {
            return self.decline_visits(id);
        }
        self.chains.change(id, Doing::Waiting { since: self.now });
        let roots = questions.into_iter().find(|question| question.source == Source::Roots);
        if let Some(given) = roots.and_then(|question| question.answer)
            && self.ambient.holds_roots()
        {
            self.pass_roots(&given.outcome);
        }
        self.visits_accepted(id);
        self.lane.wait_ahead(id);
        self.pump();
    }

    /// The lane is there: all answers of the round go up together (E15.6).
    pub(super) fn send_answers(&mut self, id: ChainId) {
        self.tell_level(id);
        let sent = self.chains.next_sent();
        let now = self.now;
        let idle = now.after(self.settings.limits.request_timeout_ms);
        let Some(chain) = self.chains.all.get_mut(&id) else { return };
        let State::Active(_, doing) = &mut chain.state else { return };
        let Doing::Returning { left_ms } = *doing else { return };
        let answered = take_where(&mut chain.questions, |question| question.answer.is_some());
        // Questions that came meanwhile have waited long enough (E17).
        let window = (!chain.questions.is_empty()).then(|| Window::closing(now));
        chain.sent = sent;
        *doing = Doing::Running { idle, latest: now.after(left_ms), window };
        for question in answered {
            if let (Source::Server(server_id), Some(given)) = (&question.source, &question.answer) {
                self.pass_reply(server_id, question.asked.kind, &given.outcome);
            }
        }
    }

    /// Does a retry repeat the request of its chain (E13)? `_meta` may differ, it always does.
    fn is_same_request(&self, id: ChainId, method: Method, params: &Object<'_>) -> bool {
        let Some(chain) = self.chains.all.get(&id) else {
            return false;
        };
        let theirs = chain.request.params();
        chain.request.method == method && equal::same_value(&salient(&theirs), &salient(params))
    }

    /// Is it a well-formed state that was not issued for this process of the server (E24)?
    fn is_of_another_process(&self, state: &str) -> bool {
        let is_hex = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        state.split_once('.').is_some_and(|(epoch, handle)| {
            is_hex(epoch, 16) && is_hex(handle, 32) && epoch != self.epoch
        })
    }
}

/// The members that make a request the same request, as one object.
fn salient(params: &Object<'_>) -> String {
    let mut out = String::new();
    let mut members = Writer::new(&mut out);
    for (name, value) in params.iter().filter(|(name, _)| params::is_salient(name)) {
        members.copy(name, value);
    }
    members.end();
    out
}

/// Was it shown to the client, and is it unanswered?
fn is_open(question: &Question) -> bool {
    question.shown_as.is_some() && question.answer.is_none()
}

/// Takes out what fits, keeps the order of both parts.
fn take_where(questions: &mut Vec<Question>, fits: impl Fn(&Question) -> bool) -> Vec<Question> {
    let (taken, kept) = std::mem::take(questions).into_iter().partition(fits);
    *questions = kept;
    taken
}
