//! Questions that belong to no call (E20), as far as they can wait: the folders question that
//! servers ask right after the handshake, and the check whether a question blocks a list.
//!
//! Knows no chains but by number, reads no clock, sends nothing.

use super::event::Time;
use super::ids::{ChainId, QuestionId};
use crate::message::wire::Id;

/// A server digests folders after it has read them: a request sent in the same moment still runs
/// with the old ones (E20).
const DIGEST_MS: u64 = 100;

/// A server that asks for them again and again is waited for no longer: requests must go up some
/// day.
const DIGEST_LONGEST_MS: u64 = 1000;

/// A list that has not finished this long after a question is taken to wait for it (E20).
const BLOCKED_MS: u64 = 1000;

/// A question that came while something ran that cannot carry it.
#[derive(Debug)]
struct Suspect {
    question: QuestionId,
    /// What ran then.
    running: Vec<ChainId>,
    at: Time,
}

#[derive(Debug, Default)]
pub(super) struct Ambient {
    /// The server's ids of its open `roots/list`; one answer goes to all of them.
    roots: Vec<(Id, QuestionId)>,
    until: Time,
    /// Until when requests are kept back after folders were told (E20), and since when.
    pub(super) digesting: Time,
    digesting_since: Time,
    /// None could go up since then.
    owes_turn: bool,
    suspects: Vec<Suspect>,
}

impl Ambient {
    /// Keeps a folders question for the next call whose client has folders.
    pub(super) fn hold_roots(&mut self, id: Id, question: QuestionId, until: Time) {
        if self.roots.is_empty() {
            self.until = until;
        }
        self.roots.push((id, question));
    }

    /// The server was told its folders, or that there are none, and needs a moment to look at them.
    /// A request that `waits` and was kept back for the longest time has its turn before the next.
    pub(super) fn digest(&mut self, now: Time, waits: bool) {
        if self.digesting <= now && !(self.owes_turn && waits) {
            self.digesting_since = now;
        }
        self.owes_turn = true;
        let longest = self.digesting_since.after(DIGEST_LONGEST_MS);
        self.digesting = now.after(DIGEST_MS).min(longest);
    }

    /// Whatever could go up went up.
    pub(super) fn had_turn(&mut self, now: Time) {
        self.owes_turn &= self.digesting > now;
    }

    /// Is a folders question open?
    pub(super) fn holds_roots(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The questions that are held.
    pub(super) fn held(&self) -> Vec<QuestionId> {
        self.roots.iter().map(|(_, question)| *question).collect()
    }

    /// Ends the folders question: the ids that are owed the answer.
    pub(super) fn take_roots(&mut self) -> Vec<Id> {
        self.roots.drain(..).map(|(id, _)| id).collect()
    }

    /// The server does not want to know any more (E25). True when it was one of these.
    pub(super) fn withdraw(&mut self, id: &Id) -> bool {
        let Some(at) = self.roots.iter().position(|(held, _)| held == id) else { return false };
        let (_, question) = self.roots.remove(at);
        self.acquit(question);
        true
    }

    /// Nothing waits for this question any more.
    pub(super) fn acquit(&mut self, question: QuestionId) {
        self.suspects.retain(|suspect| suspect.question != question);
    }

    /// This chain has ended: it waits for nothing any more.
    pub(super) fn forget(&mut self, chain: ChainId) {
        for suspect in &mut self.suspects {
            suspect.running.retain(|running| *running != chain);
        }
        self.suspects.retain(|suspect| !suspect.running.is_empty());
    }

    /// Is this the question, or one of those, that is held here?
    pub(super) fn has(&self, question: QuestionId) -> bool {
        self.roots.iter().any(|(_, held)| *held == question)
    }

    /// Watches whether what runs is waiting for this question.
    pub(super) fn suspect(&mut self, question: QuestionId, running: Vec<ChainId>, now: Time) {
        self.suspects.push(Suspect { question, running, at: now.after(BLOCKED_MS) });
    }

    /// Questions whose time has come, each with what ran when it was asked.
    pub(super) fn due_suspects(&mut self, now: Time) -> Vec<(QuestionId, Vec<ChainId>)> {
        let (due, rest) = self.suspects.drain(..).partition(|suspect: &Suspect| suspect.at <= now);
        self.suspects = rest;
        due.into_iter().map(|suspect| (suspect.question, suspect.running)).collect()
    }

    /// Nothing is left of a process that has gone.
    pub(super) fn clear(&mut self) {
        *self = Ambient::default();
    }

    /// When the folders question expires.
    pub(super) fn roots_expire(&self) -> Option<Time> {
        (!self.roots.is_empty()).then_some(self.until)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let suspects = self.suspects.iter().map(|suspect| suspect.at);
        suspects.chain(self.roots_expire()).min()
    }
}
