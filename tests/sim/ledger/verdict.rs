//! What a request with a requestState deserves (E12-E19).

use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Ask, Given, Retry};
use super::super::words;
use super::Ledger;
use super::chains::{Source, St};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// -32602; is it because the process is gone (E24)? `None`: either will do.
    Refused { is_restarted: Option<bool> },
    /// An answer is malformed: -32602, and nothing changes (E15.5).
    Illegal,
    /// The outcome is there already (E18).
    Outcome,
    /// Something is missing: asked again (E15.3).
    Partial,
    /// A visit is wanted that this leg cannot be asked for: -32021 (E28 a).
    Lacking,
    /// All is there.
    Full,
}

impl Verdict {
    pub(super) fn is_answered_at_once(self) -> bool {
        self != Verdict::Full
    }
}

impl Ledger {
    /// Judges a retry, and books what a good one changes.
    pub(super) fn judge_retry(&mut self, ask: &Rc<Ask>) -> (Verdict, Option<usize>) {
        let Some(retry) = &ask.retry else { return (Verdict::Illegal, None) };
        // Before the server is there, a state is judged by itself.
        if self.is_ready() && (ask.is_illegal || self.is_unsupported(ask)) {
            return (Verdict::Refused { is_restarted: Some(false) }, None);
        }
        let state = retry.state.as_deref().unwrap_or_default();
        let found = self.states.get(state).copied().filter(|number| {
            matches!(&self.chains[*number].st, St::Parked(parked) if parked.state == state)
        });
        let Some(number) = found else {
            let is_restarted = if self.void_states.contains(state) {
                Some(true)
            } else if self.states.contains_key(state) || !is_state(state) {
                // A state that was used before the process was lost may be called either.
                (self.lost_at.is_none() || !is_state(state)).then_some(false)
            } else {
                Some(true)
            };
            return (Verdict::Refused { is_restarted }, None);
        };
        if !self.is_same_request(number, ask) {
            return (Verdict::Refused { is_restarted: Some(false) }, None);
        }
        if let St::Parked(parked) = &self.chains[number].st
            && parked.has_outcome
        {
            self.chains[number].newest = Rc::clone(ask);
            return (Verdict::Outcome, Some(number));
        }
        let verdict = self.weigh(number, ask, retry);
        if verdict == Verdict::Illegal {
            return (verdict, None);
        }
        self.take_back(number, ask, retry, verdict);
        (verdict, Some(number))
    }

    fn is_same_request(&self, number: usize, ask: &Ask) -> bool {
        let chain = &self.chains[number];
        let object = |text: &str| Json::parse(&format!("{{{text}}}")).unwrap_or(Json::Null);
        chain.ask.method == ask.method && object(&chain.ask.salient).same(&object(&ask.salient))
    }

    fn weigh(&self, number: usize, ask: &Ask, retry: &Retry) -> Verdict {
        let mut verdict = Verdict::Full;
        for (key, slot) in self.chains[number].open_slots() {
            let lacks = self.needs_of(slot.source) & !ask.allows != 0;
            match (given(retry, key), slot.source) {
                (Given::Illegal, _) => return Verdict::Illegal,
                (Given::Legal { .. }, _) => {}
                (Given::Missing, Source::Visit(_)) if lacks => verdict = Verdict::Lacking,
                // What this leg does not declare it is not asked again (B13).
                (Given::Missing, _) if lacks => {}
                (Given::Missing, _) if verdict == Verdict::Full => verdict = Verdict::Partial,
                (Given::Missing, _) => {}
            }
        }
        verdict
    }

    fn needs_of(&self, source: Source) -> u8 {
        match source {
            Source::Question(at) => self.asked[at].question.needs,
            Source::Roots => words::ROOTS,
            Source::Visit(_) => words::URL,
        }
    }

    /// A good retry: the chain has a leg again.
    fn take_back(&mut self, number: usize, ask: &Rc<Ask>, retry: &Retry, verdict: Verdict) {
        let keys: Vec<_> =
            self.chains[number].open_slots().map(|(k, s)| (k.clone(), s.source)).collect();
        let (mut brings, mut declines) = (false, false);
        for (key, source) in keys {
            let lacking = self.needs_of(source) & !ask.allows;
            let chain = &mut self.chains[number];
            match given(retry, &key) {
                Given::Legal { number: answer, consents } => {
                    if let Some(slot) = chain.slots.get_mut(&key) {
                        slot.answer = Some((answer, consents));
                    }
                    self.given.insert(answer, (number, source));
                }
                Given::Illegal | Given::Missing => {
                    if lacking != 0 {
                        chain.slots.remove(&key);
                        chain.may_miss |= lacking;
                        if let Source::Question(_) = source {
                            chain.missing(lacking);
                        }
                        self.drop_undeclared(source);
                    }
                }
            }
        }
        let queued = self.needs_of_queued(number);
        let chain = &mut self.chains[number];
        chain.may_miss |= queued & !ask.allows;
        for slot in chain.slots.values() {
            brings |= matches!((slot.source, slot.answer), (Source::Question(_), Some(_)));
            declines |= matches!((slot.source, slot.answer), (Source::Visit(_), Some((_, false))));
        }
        chain.newest = Rc::clone(ask);
        let St::Parked(parked) = &chain.st else { return };
        let (left, since) = (parked.left, self.now);
        self.batch.returned.push(number);
        chain.st = if verdict != Verdict::Full
            || chain.call.is_some()
            || !chain.hidden_visits.is_empty()
        {
            St::Returning { since, left, is_silent: !brings }
        } else {
            chain.slots.clear();
            if declines {
                chain.has_declined = true;
                self.batch.due.push((number, "a visit was declined"));
            }
            chain.may_wait = !chain.visits.is_empty();
            St::Waiting { since, is_ahead: true }
        };
        let has_hidden = !chain.hidden_visits.is_empty();
        if has_hidden && ask.allows & words::URL == 0 {
            chain.may_miss |= words::URL;
        }
        if has_hidden && verdict == Verdict::Full {
            self.batch.due.push((number, "visits came while nobody could be told"));
        }
    }
}

fn given(retry: &Retry, key: &str) -> Given {
    let found = retry.given.iter().find(|(given, _)| given == key);
    found.map_or(Given::Missing, |(_, given)| given.clone())
}

/// Has it the form of a state that some process of the bridge may have issued (E24)?
fn is_state(text: &str) -> bool {
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.split_once('.').is_some_and(|(epoch, handle)| is_hex(epoch, 16) && is_hex(handle, 32))
}
