//! The client's side: which of its requests are owed an answer, and the debt itself.
//!
//! Knows no server and reads no clock. Owner of rule A11.

use super::ids::ChainId;
use super::table::Table;
use crate::message::capabilities::Capabilities;
use crate::message::object::{Object, Spans};
use crate::message::params;
use crate::message::value::is_key;
use crate::message::vocabulary::Method;
use crate::message::wire::Id;
use std::collections::VecDeque;
use std::sync::Arc;

/// The right, and the duty, to answer one client request once. Not `Clone`; answering spends it.
#[must_use = "every accepted request is owed one answer"]
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) id: Id,
    /// What the client can be asked during this leg (B13).
    pub(super) capabilities: Capabilities,
    /// JSON text of the token under which it wants progress (F1).
    pub(super) progress_token: Option<Box<str>>,
    /// From which severity on it wants log messages (F12).
    pub(super) log_level: Option<u8>,
}

/// A request as it came in: its line, and where in it the parameters stand.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The method's name on the wire.
    pub(super) name: Box<str>,
    line: Arc<String>,
    params: Spans,
    /// `params._meta`.
    meta: Spans,
}

impl Request {
    /// `params` must have been parsed from `line`.
    pub(super) fn new(
        method: Method,
        name: &str,
        params: Spans,
        meta: Spans,
        line: String,
    ) -> Self {
        Request { method, name: name.into(), line: Arc::new(line), params, meta }
    }

    /// The line as it came in.
    pub(super) fn line(&self) -> &Arc<String> {
        &self.line
    }

    pub(super) fn params(&self) -> Object<'_> {
        self.params.read(&self.line)
    }

    pub(super) fn meta(&self) -> Object<'_> {
        self.meta.read(&self.line)
    }

    /// The page of a list that it asks for, where it asks for nothing else (D6): the cursor as JSON
    /// text, "" for the first.
    pub(super) fn page(&self) -> Option<&str> {
        if !self.method.is_list() {
            return None; // all that wait are asked at each event: nothing is read in vain
        }
        let params = self.params();
        let is_more = |name: &str| params::is_salient(name) && !is_key(name, "cursor");
        let is_plain = !params.iter().any(|(name, _)| is_more(name));
        is_plain.then(|| params.get("cursor").unwrap_or(""))
    }

    /// Does a client come back with it (E15)? On other methods such a state says nothing (X22).
    pub(super) fn is_retry(&self) -> bool {
        self.method.is_mrtr() && self.params().get("requestState").is_some()
    }

    /// Bytes it keeps: its line, and where its members stand, which may be more.
    pub(super) fn size(&self) -> usize {
        self.line.len() + self.params.size() + self.meta.size()
    }
}

/// A request that came before the server was there to judge it by.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) leg: Leg,
    /// An unknown `logLevel` is judged after the method (B1).
    pub(super) level_is_legal: bool,
    pub(super) request: Request,
}

/// Where an unanswered request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    /// Waits for the handshake.
    Held,
    /// Belongs to a chain.
    Chain(ChainId),
    /// An open stream; answered when it ends.
    Stream,
}

/// Which protocol the client speaks (I1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Era {
    /// Nothing but probes so far.
    #[default]
    Opening,
    /// It sent a request with a modern envelope.
    Modern,
}

/// The requests that are owed an answer.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) era: Era,
    seats: Table<Id, Seat>,
    /// In the order of arrival.
    pub(super) held: VecDeque<Held>,
    /// No more requests can come (H11).
    pub(super) closed: bool,
}

impl Front {
    /// Is a request with this id unanswered (A11)?
    pub(super) fn is_in_flight(&self, id: &Id) -> bool {
        self.seats.contains_key(id)
    }

    pub(super) fn seat(&self, id: &Id) -> Option<Seat> {
        self.seats.get(id).copied()
    }

    pub(super) fn sit(&mut self, id: &Id, seat: Seat) {
        self.seats.insert(id.clone(), seat);
    }

    /// Ends the debt: answered, or cancelled.
    pub(super) fn leave(&mut self, id: &Id) {
        self.seats.remove(id);
    }

    /// Requests accepted and not answered; streams are not waited for.
    pub(super) fn in_flight(&self) -> usize {
        self.seats.values().filter(|seat| **seat != Seat::Stream).count()
    }

    /// Of those, the ones that count against `--max-in-flight` (R): not what is cheap to answer,
    /// as soon as there is a server.
    pub(super) fn counted(&self) -> usize {
        let exempt = self.held.iter().filter(|held| held.request.method.is_exempt()).count();
        self.in_flight() - exempt
    }

    /// Bytes of the requests that wait for the handshake.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.iter().map(|held| held.request.size()).sum()
    }

    /// Takes a held request out of the line.
    pub(super) fn take_held(&mut self, id: &Id) -> Option<Held> {
        let at = self.held.iter().position(|held| held.leg.id == *id)?;
        self.held.remove(at)
    }
}
