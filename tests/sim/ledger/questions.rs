//! Questions of the server: who carries one, who sees it, and its one answer (E5-E9, E16-E25).

use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Kind, Question};
use super::super::words::{self, ANSWER};
use super::chains::{MOST_ROUNDS, Source, St};
use super::{Check, Ledger, Mode, broken, ensure};

/// Questions that are kept (R).
const MOST_QUESTIONS: usize = 256;

/// The longest that questions gather (E6).
const WINDOW_MS: u64 = 50;
/// What has not finished this long after a question waits for it (E20).
const BLOCKED_MS: u64 = 1000;

/// Who carries a question, by E5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Running(usize),
    Parked(usize),
    Undeclared(usize),
    Nobody,
    /// What ran when it came cannot be seen from outside.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Answered,
    Withdrawn,
    Dead,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) question: Rc<Question>,
    state: State,
    owner: Owner,
    /// More than one chain was open when it came; `None`: that cannot be seen.
    is_contested: Option<bool>,
    /// Shown or answered by then.
    due: Option<u64>,
    must_be_refused: bool,
    /// The folders question of no call (E20): surely, or perhaps.
    is_held: bool,
    may_be_held: bool,
    /// What ran beside it and could not carry it, and when it is taken to wait for it.
    blockers: Vec<(usize, u64)>,
    /// Nothing ran unseen that could have carried it.
    are_blockers_sure: bool,
}

impl Ledger {
    pub(super) fn holds_folders(&self) -> bool {
        self.open_questions.iter().any(|at| self.asked[*at].is_held)
    }

    pub(super) fn may_hold_folders(&self) -> bool {
        let held = |at: &usize| self.asked[*at].is_held || self.asked[*at].may_be_held;
        self.open_questions.iter().any(held)
    }

    pub(super) fn server_asked(&mut self, question: &Rc<Question>) {
        let at = self.asked.len();
        let running = self.live.iter().filter(|n| self.chains[**n].is_running());
        let running: Vec<_> = running.copied().collect();
        let due = self.now + BLOCKED_MS;
        let blockers = running.iter().map(|number| (*number, due)).collect();
        let carries = running.iter().any(|n| self.chains[*n].is_mrtr());
        self.asked.push(Asked {
            question: Rc::clone(question),
            state: State::Open,
            owner: Owner::Unknown,
            is_contested: (!self.batch.is_mixed).then(|| self.open_chains(usize::MAX) > 1),
            due: None,
            must_be_refused: false,
            is_held: false,
            may_be_held: false,
            blockers: if carries { Vec::new() } else { blockers },
            // In a batch something may have gone up before the question came.
            are_blockers_sure: !self.batch.is_mixed
                && !self.live.iter().any(|n| self.chains[*n].is_silent()),
        });
        self.open_questions.push(at);
        if question.kind == Kind::Roots && !self.settings.roots.is_empty() {
            self.asked[at].must_be_refused = true; // answered at once, that is
        } else {
            self.place(at, usize::MAX);
        }
    }

    fn open_chains(&self, except: usize) -> usize {
        self.live.iter().filter(|n| **n != except && self.chains[**n].is_open()).count()
    }

    /// The owner by E5's list.
    fn predicted(&self, needs: u8, except: usize) -> Owner {
        let open = self.live.iter().filter(|n| **n != except && self.chains[**n].is_open());
        let open: Vec<_> = open.copied().collect();
        if self.batch.is_mixed || open.iter().any(|n| self.chains[*n].is_unseen()) {
            return Owner::Unknown;
        }
        let newest = |fits: &dyn Fn(usize) -> bool| {
            open.iter().copied().filter(|n| fits(*n)).max_by_key(|n| self.chains[*n].sent)
        };
        let runs = |n: usize| self.chains[n].is_running();
        let can = |n: usize| needs & !self.chains[n].newest.allows == 0;
        newest(&|n| runs(n) && can(n))
            .map(Owner::Running)
            .or_else(|| newest(&|n| !runs(n) && can(n)).map(Owner::Parked))
            .or_else(|| newest(&runs).map(Owner::Undeclared))
            .unwrap_or(Owner::Nobody)
    }

    /// Whoever carries such a question may lack what it needs (E9).
    fn anyone_may_miss(&mut self, needs: u8) {
        for number in &self.live {
            let chain = &mut self.chains[*number];
            if chain.is_open() {
                chain.may_miss |= needs & !chain.newest.allows;
            }
        }
    }

    fn place(&mut self, at: usize, except: usize) {
        let needs = self.asked[at].question.needs;
        let owner = self.predicted(needs, except);
        if self.batch.is_mixed {
            self.batch.mixed_needs |= needs;
        }
        self.anyone_may_miss(needs);
        let now = self.now;
        let ttl = self.settings.limits.mrtr_ttl_ms;
        let asked = &mut self.asked[at];
        asked.owner = owner;
        match owner {
            Owner::Running(_) => asked.due = Some(now + WINDOW_MS),
            Owner::Undeclared(number) => {
                asked.must_be_refused = true;
                let lacking = needs & !self.chains[number].newest.allows;
                self.chains[number].missing(lacking);
            }
            Owner::Nobody if asked.question.kind == Kind::Roots => {
                asked.is_held = true;
                self.held_until.get_or_insert(now + ttl);
            }
            Owner::Nobody => asked.must_be_refused = true,
            Owner::Unknown if asked.question.kind == Kind::Roots => {
                asked.may_be_held = true;
                self.are_folders_unsure = true;
            }
            Owner::Parked(_) | Owner::Unknown => {}
        }
    }

    /// A chain ended while questions were its: each moves on where its owner was a guess, else it
    /// is refused (E5, E21).
    pub(super) fn owner_ended(&mut self, number: usize) {
        for at in self.open_questions.clone() {
            let asked = &mut self.asked[at];
            if asked.owner == Owner::Unknown {
                let needs = asked.question.needs;
                self.anyone_may_miss(needs);
                continue;
            }
            if !matches!(asked.owner, Owner::Running(n) | Owner::Parked(n) if n == number) {
                continue;
            }
            asked.due = None;
            let Some(is_contested) = asked.is_contested.filter(|_| !self.batch.is_mixed) else {
                asked.owner = Owner::Unknown;
                let needs = asked.question.needs;
                self.anyone_may_miss(needs);
                self.batch.mixed_needs |= needs;
                continue;
            };
            if is_contested && self.open_chains(number) > 0 {
                self.place(at, number);
                self.watch_beside(at, number);
            } else {
                self.asked[at].must_be_refused = true;
            }
        }
    }

    pub(super) fn server_withdrew(&mut self, id: &str) {
        let found = self.open_questions.iter().find(|at| self.asked[**at].question.id == id);
        if let Some(at) = found.copied() {
            self.settle(at, State::Withdrawn);
        }
    }

    /// A question is over: no client needs to answer it any more.
    fn settle(&mut self, at: usize, state: State) {
        self.asked[at].state = state;
        self.open_questions.retain(|open| *open != at);
        let asked = &mut self.asked[at];
        let was_held = std::mem::take(&mut asked.is_held) | std::mem::take(&mut asked.may_be_held);
        let folders = was_held && !self.may_hold_folders();
        if folders {
            self.held_until = None;
        }
        for number in &self.live {
            let chain = &mut self.chains[*number];
            chain.slots.retain(|_, slot| {
                slot.source != Source::Question(at) && !(folders && slot.source == Source::Roots)
            });
            if let St::Returning { is_silent, .. } = &mut chain.st {
                *is_silent |= chain.slots.values().all(|slot| slot.answer.is_none());
            }
        }
    }

    /// What the questions need that wait for this chain, as far as it can be seen.
    pub(super) fn needs_of_queued(&self, number: usize) -> u8 {
        let open = self.open_questions.iter().map(|at| &self.asked[*at]);
        let queued = open
            .filter(|asked| asked.owner == Owner::Parked(number) || asked.owner == Owner::Unknown);
        queued.fold(0, |needs, asked| needs | asked.question.needs)
    }

    /// A retry does not declare what a question needs: it is refused (B13).
    pub(super) fn drop_undeclared(&mut self, source: Source) {
        if let Source::Question(at) = source {
            self.asked[at].must_be_refused = true;
        }
    }

    pub(super) fn questions_lost(&mut self) {
        for at in std::mem::take(&mut self.open_questions) {
            self.asked[at].state = State::Dead;
            self.asked[at].is_held = false;
        }
    }

    /// A leg shows a question of the server.
    pub(super) fn check_question_shown(&mut self, number: usize, at: usize) -> Check {
        let asked = &mut self.asked[at];
        ensure(asked.state == State::Open, "E25-only-open-questions", || format!("{asked:?}"))?;
        let is_owner = match asked.owner {
            Owner::Running(owner) | Owner::Parked(owner) => owner == number,
            Owner::Unknown => true,
            Owner::Undeclared(_) | Owner::Nobody => false,
        };
        ensure(is_owner, "E5-owner", || format!("{asked:?} shown by {number}"))?;
        asked.owner = Owner::Parked(number);
        asked.due = None;
        Ok(())
    }

    /// A leg was answered with questions: all that are its are among them (E6).
    pub(super) fn check_all_shown(&mut self, number: usize) -> Check {
        for at in &self.open_questions {
            let asked = &mut self.asked[*at];
            if asked.owner == Owner::Running(number) {
                return broken("E6-all-questions-together", format!("{asked:?} is missing"));
            }
        }
        Ok(())
    }

    /// The chain runs again: what was asked meanwhile is due (E17).
    pub(super) fn queued_are_due(&mut self, number: usize) {
        for at in &self.open_questions {
            let asked = &mut self.asked[*at];
            if asked.owner == Owner::Parked(number)
                && !self.chains[number].slots.values().any(|s| s.source == Source::Question(*at))
            {
                asked.owner = Owner::Running(number);
                asked.due = Some(self.now);
            }
        }
    }

    /// The one answer to a request of the server's.
    pub(super) fn question_answered(&mut self, id: &str, frame: &Json) -> Check {
        let found = self.open_questions.iter().find(|at| self.asked[**at].question.id == id);
        let Some(at) = found.copied() else {
            return broken("E4-one-answer-per-question", frame.short(200));
        };
        let kind = self.asked[at].question.kind;
        let answer = frame.get("result").and_then(|r| r.get(ANSWER)).and_then(Json::as_u64);
        match answer {
            Some(number) => self.answer_of_the_client(at, number)?,
            None if kind == Kind::Roots && !self.settings.roots.is_empty() => {
                let roots = frame.get("result").and_then(|r| r.get("roots")).and_then(Json::items);
                let count = roots.unwrap_or_default().len();
                ensure(count == self.settings.roots.len(), "E20-own-folders", || frame.short(200))?;
            }
            None => self.check_refusal(at, frame)?,
        }
        if kind == Kind::Roots {
            self.digests();
        }
        self.settle(at, State::Answered);
        Ok(())
    }

    fn answer_of_the_client(&mut self, at: usize, number: u64) -> Check {
        let Some((chain, source)) = self.given.get(&number).copied() else {
            return broken("E16-only-given-answers", format!("{number} for {:?}", self.asked[at]));
        };
        if source == Source::Roots {
            let asked = &self.asked[at];
            return ensure(asked.is_held || asked.may_be_held, "E20-folders-for-folders", || {
                format!("{number}")
            });
        }
        ensure(source == Source::Question(at), "E5-the-right-answer", || {
            format!("{number} was given to {source:?}, goes to {:?}", self.asked[at])
        })?;
        self.answers_go(chain)
    }

    /// A refusal has one of the forms of E21, and a reason.
    fn check_refusal(&mut self, at: usize, frame: &Json) -> Check {
        let asked = &self.asked[at];
        let code = frame.get("error").and_then(|e| e.get("code")).and_then(Json::as_i64);
        let action = frame.get("result").and_then(|r| r.get("action")).and_then(Json::text);
        let fits = match asked.question.kind {
            Kind::Form => action == Some("cancel"),
            Kind::Url => action == Some("cancel") || code == Some(-32602),
            Kind::Sampling => code == Some(-1),
            Kind::Roots => code == Some(-32601),
        };
        ensure(fits, "E21-refusal-forms", || {
            format!("{:?}: {}", asked.question, frame.short(200))
        })?;
        // Others may have joined it, and expire with it (E20).
        self.batch.are_folders_unsure |=
            asked.question.kind == Kind::Roots && asked.owner == Owner::Unknown;
        let asked = &self.asked[at];
        let has_reason = asked.must_be_refused
            || self.mode == Mode::Passed
            || asked.owner == Owner::Unknown
            || self.is_draining()
            || self.is_lane_freed()
            || self.is_crowded()
            || self.is_blocking(at)
            || match asked.owner {
                Owner::Running(number) | Owner::Parked(number) => {
                    let lacking = asked.question.needs & !self.chains[number].newest.allows;
                    self.chains[number].missing(lacking);
                    lacking != 0 && !matches!(self.chains[number].st, St::Parked(_))
                }
                Owner::Nobody => self.folders_may_be_refused() || self.folders_block(),
                Owner::Undeclared(_) | Owner::Unknown => true,
            };
        self.batch.are_folders_blocking |= self.folders_block();
        let asked = &self.asked[at];
        ensure(has_reason, "E5-needless-refusal", || format!("{asked:?}"))?;
        if let Owner::Running(number) | Owner::Parked(number) = asked.owner
            && self.chains[number].call.is_some()
            && asked.question.needs & !self.chains[number].newest.allows == 0
            && !self.is_blocking(at)
            && !self.is_crowded()
        {
            self.batch.refused_early.push((at, number));
        }
        Ok(())
    }

    /// More questions are open than are kept (R).
    fn is_crowded(&self) -> bool {
        self.open_questions.len() > MOST_QUESTIONS
    }

    /// A question has a new owner: what runs beside it and cannot carry it may wait for it (E20).
    fn watch_beside(&mut self, at: usize, except: usize) {
        let runs = |n: &&usize| **n != except && self.chains[**n].is_running();
        let running: Vec<_> = self.live.iter().filter(runs).copied().collect();
        let is_sure = !self.live.iter().any(|n| self.chains[*n].is_silent());
        self.asked[at].are_blockers_sure &= is_sure;
        if !running.iter().any(|n| self.chains[*n].is_mrtr()) {
            let due = self.now + BLOCKED_MS;
            self.asked[at].blockers.extend(running.into_iter().map(|number| (number, due)));
        }
    }

    /// A request goes up that cannot carry the folders question: does it wait for it (E20)?
    pub(super) fn watch_folders(&mut self, number: usize) {
        let due = self.now + BLOCKED_MS;
        for at in &self.open_questions {
            if self.asked[*at].is_held {
                self.asked[*at].blockers.push((number, due));
            }
        }
    }

    /// When a question is refused because something that runs beside it cannot carry it (E20).
    pub(super) fn blocked_until(&self) -> Option<(u64, usize)> {
        let open = self.open_questions.iter().map(|at| &self.asked[*at]);
        let sure = open.filter(|asked| asked.are_blockers_sure && asked.owner != Owner::Unknown);
        let runs = |n: &usize| self.chains[*n].is_running();
        let due = sure.flat_map(|asked| &asked.blockers).filter(|(n, _)| runs(n));
        due.map(|(n, at)| (*at, *n)).min()
    }

    /// Does something wait for this question that cannot carry it (E20)?
    fn is_blocking(&self, at: usize) -> bool {
        let runs = |n: &usize| self.chains[*n].is_running();
        let carried = self.live.iter().any(|n| runs(n) && self.chains[*n].is_open());
        let blockers = self.asked[at].blockers.iter();
        blockers.into_iter().any(|(n, due)| *due <= self.now && runs(n)) && !carried
    }

    /// Does something wait for one of the folders questions? Then all of them are refused.
    fn folders_block(&self) -> bool {
        let held = self
            .open_questions
            .iter()
            .filter(|at| self.asked[**at].is_held || self.asked[**at].may_be_held);
        self.batch.are_folders_blocking || held.into_iter().any(|at| self.is_blocking(*at))
    }

    fn folders_may_be_refused(&self) -> bool {
        let lacks = |n: &usize| {
            let chain = &self.chains[*n];
            let waits = matches!(chain.st, St::Waiting { .. } | St::Visiting { .. });
            let is_asked = chain.newest.allows & words::ROOTS != 0 && chain.rounds < MOST_ROUNDS;
            waits && chain.is_mrtr() && !is_asked
        };
        self.held_until.is_some_and(|until| until <= self.now)
            || self.batch.are_folders_unsure
            || self.live.iter().any(lacks)
    }

    /// At the end of an event: no question waits longer than it may.
    pub(super) fn check_questions(&mut self) -> Check {
        for at in &self.open_questions {
            let asked = &self.asked[*at];
            ensure(!asked.must_be_refused, "E20-E9-refused-at-once", || format!("{asked:?}"))?;
            ensure(asked.due.is_none_or(|due| due >= self.now), "E6-shown-in-time", || {
                format!("{asked:?}")
            })?;
            let is_held_too_long = asked.is_held
                && !self.are_folders_unsure
                && self.held_until.is_some_and(|until| until <= self.now);
            ensure(!is_held_too_long, "E20-folders-expire", || format!("{asked:?}"))?;
            let is_sure = self.settings.limits.parallel == 1 && asked.are_blockers_sure;
            let blocked = is_sure && self.is_blocking(*at);
            ensure(!blocked, "E20-blocked", || format!("{asked:?}"))?;
        }
        // Looked at once: what carried it then may not later (E20).
        for at in &self.open_questions {
            self.asked[*at].blockers.retain(|(_, due)| *due > self.now);
        }
        Ok(())
    }
}
