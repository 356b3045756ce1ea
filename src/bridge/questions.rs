//! Questions on their way to the client: who carries one, and how it is asked, refused, or moved to
//! another (E).

use super::Bridge;
use super::chain::{Chain, Doing, Owner, Question, Source, State, Window};
use super::event::Level;
use super::ids::{ChainId, QuestionId};
use crate::bounds::{MOST_PARKED, MOST_QUESTIONS, MOST_ROUNDS};
use crate::message::answers;
use crate::message::questions::{Asked, Kind};
use crate::message::refusal::Refusal;
use crate::message::results;
use crate::message::wire::{self, Id};

impl Bridge {
    /// A question of the server.
    pub(super) fn question(&mut self, server_id: Id, asked: Asked) {
        if asked.kind == Kind::Roots && !self.settings.roots.is_empty() {
            let roots = answers::roots_result(&self.settings.roots);
            return self.reply(&server_id, Kind::Roots, &roots);
        }
        let question = self.chains.question(Source::Server(server_id), asked);
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

    pub(super) fn reply_to(&mut self, question: &Question, outcome: &str) {
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
    pub(super) fn pass_reply(&mut self, server_id: &Id, kind: Kind, outcome: &str) {
        self.tell_server(wire::response(Some(server_id.text()), outcome));
        self.note_digestion(kind);
    }

    /// A server that has been told its folders needs a moment to look at them (E20).
    pub(super) fn note_digestion(&mut self, kind: Kind) {
        if kind == Kind::Roots {
            let waits = self.chains.all.values().any(Chain::is_unsent);
            self.ambient.digest(self.now, waits);
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

    /// Answers a chain's leg with all its questions (E3) and waits for the client to come back.
    pub(super) fn park(&mut self, id: ChainId) {
        if let Some(chain) = self.chains.all.get_mut(&id) {
            chain.show_questions();
        }
        self.park_as_shown(id);
    }

    /// The same with only those that its client has seen (E15.3).
    pub(super) fn park_as_shown(&mut self, id: ChainId) {
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
        let identity = self.upstream.identity();
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
}
