//! URLs that a server wants visited before it serves a request (E28): its error becomes a
//! question, and consent sends the request again.

use super::Bridge;
use super::chain::{Doing, Source, State, Visit};
use super::ids::ChainId;
use crate::bounds::MOST_ROUNDS;
use crate::message::body::Body;
use crate::message::capabilities::Capabilities;
use crate::message::questions::Asked;
use crate::message::refusal::{Refusal, error_code};
use crate::message::visits;
use crate::message::vocabulary::{Method, code};

/// How long the second sending waits for the server's word that the visits are done.
const VISITING_MS: u64 = 30_000;

impl Bridge {
    /// The URLs that an outcome names, where it is such an error on a method that may be answered
    /// with questions.
    pub(super) fn visits_wanted(
        &self,
        id: ChainId,
        outcome: &Result<Body<'_>, Body<'_>>,
    ) -> Option<Vec<(Box<str>, Asked)>> {
        let Err(error) = outcome else { return None };
        let is_mrtr = self.chains.all.get(&id)?.request.method.is_mrtr();
        if !is_mrtr || error_code(error) != Some(code::URL_REQUIRED) {
            return None;
        }
        visits::required_visits(error)
    }

    /// Asks for the visits, or waits when they were accepted already and may not be done yet.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_for_visits(&mut self, id: ChainId, wanted: Vec<(Box<str>, Asked)>) {
        let visiting = self.now.after(VISITING_MS);
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        chain.call = None;
        self.lane.forget(id);
        let leftover = std::mem::take(&mut chain.questions);
        let is_same = chain.visits.len() == wanted.len()
            && wanted.iter().all(|(id, _)| chain.visits.iter().any(|visit| visit.id == *id));
        if is_same && std::mem::take(&mut chain.may_wait) {
            let is_done = chain.visits.iter().all(|visit| visit.is_done);
            self.chains.change(id, Doing::Visiting { until: visiting });
            if is_done {
                self.wait_again(id);
            }
            self.rehome(leftover);
            return self.pump();
        }
        chain.visits =
            wanted.iter().map(|(id, _)| Visit { id: id.clone(), is_done: false }).collect();
        for (_, asked) in wanted {
            let question = self.chains.question(Source::Error, asked);
            if let Some(chain) = self.chains.all.get_mut(&id) {
                chain.questions.push(question);
            }
        }
        self.rehome(leftover);
        // A parked chain shows them when its client comes back (E18).
        if self.chains.all.get(&id).is_some_and(|chain| !chain.is_parked()) {
            self.show_visits(id);
        }
        self.pump();
    }

    /// Answers the leg with the visits, where its client can be asked and has not been too often.
    pub(super) fn show_visits(&mut self, id: ChainId) {
        let Some(chain) = self.chains.all.get_mut(&id) else {
            return;
        };
        let refusal = if !chain.capabilities().covers(Capabilities::URL) {
            Some(Refusal::MissingCapability(Capabilities::URL))
        } else if chain.rounds >= MOST_ROUNDS {
            Some(Refusal::TooManyRounds)
        } else {
            None
        };
        match refusal {
            Some(refusal) => {
                chain.questions.clear();
                self.fail(id, &refusal);
            }
            None => self.park(id),
        }
    }

    /// The person did not want to (E28 c).
    pub(super) fn decline_visits(&mut self, id: ChainId) {
        let Some(chain) = self.take_chain(id) else { return };
        let method = chain.request.method;
        let outcome = if method == Method::ToolsCall {
            visits::declined_visit(self.upstream.identity())
        } else {
            Refusal::Declined.outcome()
        };
        if let Some(leg) = chain.into_leg() {
            self.answer(leg, &outcome);
        }
        self.pump();
    }

    /// The visits were accepted: remember that the next such error may be answered by waiting.
    pub(super) fn visits_accepted(&mut self, id: ChainId) {
        if let Some(chain) = self.chains.all.get_mut(&id) {
            chain.may_wait = !chain.visits.is_empty();
        }
    }

    /// `notifications/elicitation/complete` (E29).
    pub(super) fn visited(&mut self, visit: &str) {
        let mut done = Vec::new();
        for (id, chain) in self.chains.all.iter_mut() {
            for known in chain.visits.iter_mut().filter(|known| *known.id == *visit) {
                known.is_done = true;
            }
            let is_done = chain.visits.iter().all(|known| known.is_done);
            if matches!(chain.state, State::Active(_, Doing::Visiting { .. })) && is_done {
                done.push(*id);
            }
        }
        for id in done {
            self.send_again(id);
        }
    }

    /// The visits are done, or nobody says so: the request is sent once more.
    pub(super) fn send_again(&mut self, id: ChainId) {
        self.wait_again(id);
        self.pump();
    }
}
