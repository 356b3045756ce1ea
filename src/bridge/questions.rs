//! Questions on their way: who carries one, how it reaches the client, how its answer gets back
//! (E).

use super::Bridge;
use super::ambient::DIGEST_MS;
use super::chain::{Chain, Doing, Owner, Question, Source, State, Window};
use super::event::Level;
use super::front::{Held, Leg, Request, Seat};
use super::ids::{ChainId, QuestionId};
use super::lane::RETRY_WAITS_MS;
use crate::bounds::{MOST_PARKED, MOST_QUESTIONS, MOST_ROUNDS};
use crate::message::answers::{self, Answer};
use crate::message::capabilities::Capabilities;
use crate::message::equal;
use crate::message::object::Object;
use crate::message::params;
use crate::message::questions::{Asked, Kind};
use crate::message::refusal::Refusal;
use crate::message::results;
use crate::message::vocabulary::Method;
use crate::message::wire::{self, Id};
use crate::message::writer::Writer;

impl Bridge {
    /// A question of the server.
    pub(super) fn question(&mut self, server_id: Id, asked: Asked) {
        if asked.kind == Kind::Roots && !self.settings.roots.is_empty() {
            let roots = answers::roots_result(&self.settings.roots);
            return self.reply(&server_id, Kind::Roots, &roots);
        }
        let question = Question {
            id: self.chains.next_question(),
            source: Source::Server(server_id),
            asked,
            is_contested: self.chains.open() > 1,
            shown_as: None,
            answer: None,
        };
        self.place(question);
        self.bound_questions();
    }

    /// Something runs beside a question that waits, and none of it can carry it: does it wait for
    /// the answer (E20)?
    fn suspect_what_runs(&mut self, question: QuestionId) {
        let is_running = |id: &ChainId| self.chains.all.get(id).is_some_and(Chain::is_running);
        let running: Vec<_> = self.lane.running().filter(is_running).collect();
        let carries = |id: &ChainId| {
            self.chains.all.get(id).is_some_and(|chain| chain.request.method.is_mrtr())
        };
        if !running.is_empty() && !running.iter().any(carries) {
            self.ambient.suspect(question, running, self.now);
        }
    }

    /// Gives a question to the chain that carries it (E5), or deals with it at once.
    fn place(&mut self, question: Question) {
        let needs = question.asked.needs;
        match self.chains.owner(needs) {
            Owner::Running(id) => {
                let now = self.now;
                let Some(chain) = self.chains.all.get_mut(&id) else {
                    return;
                };
                chain.questions.push(question);
                if let State::Active(_, Doing::Running { window, .. }) = &mut chain.state {
                    *window = Some(window.map_or(Window::open(now), |w| w.extended(now)));
                }
            }
            Owner::Parked(id) => {
                let waits = question.id;
                if let Some(chain) = self.chains.all.get_mut(&id) {
                    chain.questions.push(question);
                }
                self.suspect_what_runs(waits);
            }
            Owner::Undeclared(id) => self.refuse_undeclared(id, &question),
            Owner::Nobody => self.place_ambient(question),
        }
    }

    /// E9: the client of this chain cannot be asked. The server may be able to do without.
    fn refuse_undeclared(&mut self, owner: ChainId, question: &Question) {
        if let Some(chain) = self.chains.all.get_mut(&owner) {
            chain.missing = chain.missing | (question.asked.needs & !chain.capabilities());
        }
        let method = question.asked.kind.method();
        self.say(Level::Warning, format!("the server asked {method} and the client did not declare it for this request; refused"));
        self.reply_to(question, question.asked.kind.undeclared());
    }

    /// A question that no call carries (E20).
    fn place_ambient(&mut self, question: Question) {
        let Source::Server(server_id) = question.source else {
            return;
        };
        match question.asked.kind {
            Kind::Roots => {
                let until = self.now.after(self.settings.limits.mrtr_ttl_ms);
                self.ambient.hold_roots(server_id, question.id, until);
                self.suspect_what_runs(question.id);
            }
            kind @ (Kind::Form | Kind::Url | Kind::Sampling) => {
                let text = format!(
                    "the server asked {} outside any call; refused, no client can be asked now",
                    kind.method()
                );
                self.say(Level::Warning, text);
                self.reply(&server_id, kind, kind.refusal());
            }
        }
    }

    /// Questions whose owner has ended: each goes to the next owner where the first was a guess,
    /// else it is refused (E5, E21).
    pub(super) fn rehome(&mut self, questions: Vec<Question>) {
        for mut question in questions {
            if question.is_contested && self.chains.open() > 0 {
                question.shown_as = None;
                question.answer = None;
                self.place(question);
            } else {
                self.reply_to(&question, question.asked.kind.refusal());
            }
        }
    }

    fn reply_to(&mut self, question: &Question, outcome: &str) {
        if let Source::Server(server_id) = &question.source {
            self.reply(server_id, question.asked.kind, outcome);
        }
    }

    /// The one answer to a request of the server's, one of ours.
    pub(super) fn reply(&mut self, server_id: &Id, kind: Kind, outcome: &str) {
        self.answer_server(server_id, outcome);
        self.note_digestion(kind);
    }

    /// The one answer to a request of the server's, one of the client's: it counts against who
    /// made it (R).
    fn pass_reply(&mut self, server_id: &Id, kind: Kind, outcome: &str) {
        self.tell_server(wire::response(Some(server_id.text()), outcome));
        self.note_digestion(kind);
    }

    /// A server that has been told its folders needs a moment to look at them (E20).
    fn note_digestion(&mut self, kind: Kind) {
        if kind == Kind::Roots {
            self.ambient.digesting = self.now.after(DIGEST_MS);
        }
    }

    /// Refuses a question wherever it is: something that cannot carry it waits for it (E20).
    pub(super) fn refuse_blocking(&mut self, id: QuestionId) {
        if self.ambient.has(id) {
            self.refuse_roots();
        } else if let Some((_, question)) = self.chains.take(id) {
            self.reply_to(&question, question.asked.kind.refusal());
        }
    }

    /// The server withdrew a request of its own (E25).
    pub(super) fn withdraw(&mut self, server_id: &Id) {
        if let Some((_, question)) = self.chains.withdraw(server_id) {
            self.ambient.acquit(question.id);
        } else if self.ambient.withdraw(server_id) {
            self.close_ambient();
        }
    }

    /// Keeps the questions in bounds, by number and by bytes: the oldest is refused (R).
    fn bound_questions(&mut self) {
        let most = self.settings.limits.kept_bytes();
        loop {
            let (count, bytes) = self.chains.server_questions();
            let is_full = count > 1 && (count > MOST_QUESTIONS || bytes > most);
            if is_full && let Some(oldest) = self.chains.oldest_server_question() {
                self.say(
                    Level::Warning,
                    "the server asks too much at once; its oldest question is refused",
                );
                self.refuse_blocking(oldest);
            } else if self.ambient.held().len() > MOST_QUESTIONS {
                self.refuse_roots();
            } else {
                return;
            }
        }
    }

    // --- folders asked for outside any call (E20)

    /// Asks a call's client for folders before the call goes up, where the server waits for them.
    /// True when it was asked: the call is parked.
    pub(super) fn ask_roots_first(&mut self, id: ChainId) -> bool {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return false;
        };
        if !self.ambient.holds_roots() || !chain.request.method.is_mrtr() {
            return false;
        }
        // Who has been asked too often is not asked for folders either (E27).
        if !chain.capabilities().covers(Capabilities::ROOTS) || chain.rounds >= MOST_ROUNDS {
            self.refuse_roots_unless_asked();
            return false;
        }
        let question = Question {
            id: self.chains.next_question(),
            source: Source::Roots,
            asked: Asked { kind: Kind::Roots, needs: Capabilities::ROOTS, params: "{}".into() },
            is_contested: false,
            shown_as: None,
            answer: None,
        };
        if let Some(chain) = self.chains.all.get_mut(&id) {
            chain.questions.push(question);
        }
        self.park(id);
        true
    }

    /// A call goes on whose client has no folders: then the server gets none, unless another
    /// client is being asked (E20).
    fn refuse_roots_unless_asked(&mut self) {
        let asks = |chain: &Chain| chain.questions.iter().any(|q| q.source == Source::Roots);
        if !self.chains.all.values().any(asks) {
            self.refuse_roots();
        }
    }

    /// Something is sent up that cannot carry the folders question: does it wait for it?
    pub(super) fn watch_roots(&mut self, chain: ChainId) {
        for question in self.ambient.held() {
            self.ambient.suspect(question, vec![chain], self.now);
        }
    }

    /// Nobody is asked for folders, or not any more.
    pub(super) fn refuse_roots(&mut self) {
        for server_id in self.ambient.take_roots() {
            self.reply(&server_id, Kind::Roots, Kind::Roots.refusal());
        }
        self.close_ambient();
    }

    /// The first client that named its folders names them for all (E20).
    fn pass_roots(&mut self, answer: &str) {
        for server_id in self.ambient.take_roots() {
            self.pass_reply(&server_id, Kind::Roots, answer);
        }
        self.close_ambient();
    }

    /// Once nobody waits for folders, the calls that were asked need no answer any more.
    pub(super) fn close_ambient(&mut self) {
        if self.ambient.holds_roots() {
            return;
        }
        for chain in self.chains.all.values_mut() {
            chain.questions.retain(|question| question.source != Source::Roots);
        }
    }

    // --- to the client

    /// Answers a chain's leg with all its questions (E3) and waits for the client to come back.
    pub(super) fn park(&mut self, id: ChainId) {
        if let Some(chain) = self.chains.all.get_mut(&id) {
            chain.show_questions();
        }
        self.park_as_shown(id);
    }

    /// The same with only those that its client has seen (E15.3).
    fn park_as_shown(&mut self, id: ChainId) {
        let handle = self.random_hex::<16>();
        let ticket = format!("{}.{handle}", self.epoch);
        let Some(chain) = self.chains.all.get_mut(&id) else { return };
        let State::Active(leg, doing) = &chain.state else { return };
        let left_ms = match doing {
            Doing::Waiting { .. } | Doing::Leveling { .. } | Doing::Visiting { .. } => {
                self.settings.limits.request_max_ms
            }
            Doing::Running { latest, .. } => latest.since(self.now),
            Doing::Returning { left_ms } => *left_ms,
        };
        chain.rounds += 1;
        chain.progress.end_leg();
        let identity = self.upstream.profile.as_ref().map_or("{}", |p| p.identity.as_str());
        let asked = chain.questions.iter().filter(|question| question.answer.is_none());
        let requests = asked
            .filter_map(|question| Some((format!("q{}", question.shown_as?), &question.asked)));
        let mut line = String::new();
        wire::response_head(&mut line, Some(leg.id.text()));
        results::write_input_required(&mut line, requests, leg.capabilities, &ticket, identity);
        line.push_str(wire::END);
        self.front.leave(&leg.id);
        chain.state = State::Parked {
            ticket,
            capabilities: leg.capabilities,
            until: self.now.after(self.settings.limits.mrtr_ttl_ms),
            outcome: None,
            left_ms,
        };
        let is_called = chain.call.is_some();
        self.tell_client(line.into_bytes());
        if !(self.settings.hold_lane && is_called) {
            self.lane.release(id);
        }
        self.abandon_oldest_parked();
        self.pump();
    }

    /// Keeps the parked chains in bounds, by number and by bytes (E14, R). The last one stays
    /// whatever its size: its parts were lines, and those have a limit.
    pub(super) fn abandon_oldest_parked(&mut self) {
        let most = self.settings.limits.kept_bytes();
        loop {
            let (count, bytes) = (self.chains.parked().count(), self.chains.parked_bytes());
            let is_full = count > MOST_PARKED || (count > 1 && bytes > most);
            let oldest = self.chains.parked().min_by_key(|(_, until)| *until);
            let Some((oldest, _)) = oldest.filter(|_| is_full) else { return };
            self.say(Level::Warning, "too many questions are open; the oldest call is given up");
            self.abandon(oldest, "too many questions are open");
        }
    }

    /// The questions of a running chain have gathered (E6): ask those that its client can be
    /// asked, refuse the rest (E9).
    pub(super) fn ask(&mut self, id: ChainId) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let State::Active(leg, Doing::Running { window, .. }) = &mut chain.state else { return };
        *window = None;
        let can = leg.capabilities;
        let (kept, undeclared) = std::mem::take(&mut chain.questions)
            .into_iter()
            .partition(|question| can.covers(question.asked.needs));
        chain.questions = kept;
        let has_questions = !chain.questions.is_empty();
        let is_over = chain.rounds >= MOST_ROUNDS;
        let undeclared: Vec<Question> = undeclared;
        for question in undeclared {
            self.refuse_undeclared(id, &question);
        }
        if has_questions && is_over {
            self.cancel_call(id, "it asked too often");
            self.fail(id, &Refusal::TooManyRounds);
            self.pump();
        } else if has_questions {
            self.park(id);
        }
    }

    // --- back from the client

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
