//! The modern client: requests of all kinds, retries good and bad, cancellations, nonsense.

use std::collections::VecDeque;
use std::rc::Rc;

use super::json::Json;
use super::plan::{ClientHabits, Ending};
use super::rng::Rng;
use super::talk::{Ask, Filter, Given, Kind, Retry, Said};
use super::turns::Turn;
use super::words::{self, ANSWER, LEG, LEVELS, MODERN, P_CAPABILITIES, P_LEVEL, P_VERSION};

mod nonsense;
mod requests;

/// What the client does next, and how often in proportion.
pub(crate) const MOVES: [(Move, u64); 18] = [
    (Move::Call, 12),
    (Move::Retry, 24),
    (Move::Cancel, 4),
    (Move::List, 5),
    (Move::Discover, 2),
    (Move::Complete, 2),
    (Move::Vendor, 2),
    (Move::Listen, 3),
    (Move::Duplicate, 1),
    (Move::Malformed, 1),
    (Move::Envelope, 1),
    (Move::Illegal, 1),
    (Move::Note, 1),
    (Move::Removed, 1),
    (Move::Initialize, 1),
    (Move::Ping, 1),
    (Move::Overlong, 1),
    (Move::Slow, 2),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Call,
    Retry,
    Cancel,
    List,
    Discover,
    Complete,
    Vendor,
    Listen,
    Duplicate,
    Malformed,
    Envelope,
    Illegal,
    Note,
    Removed,
    Initialize,
    Ping,
    Overlong,
    Slow,
}

/// What the client did.
#[derive(Debug)]
pub(crate) enum Did {
    Wrote(Vec<u8>, Said),
    Overlong,
    Slow(bool),
    Closed,
    Gone,
    Stopped(i32),
    Nothing,
}

/// A request that was answered with questions.
#[derive(Clone, Debug)]
struct Parked {
    ask: Rc<Ask>,
    state: String,
    wanted: Vec<(String, Kind)>,
}

pub(crate) struct Client {
    /// Of all its acts; `rng` is that of the present one.
    source: Rng,
    rng: Rng,
    habits: ClientHabits,
    inbox: VecDeque<Json>,
    open: Vec<Rc<Ask>>,
    parked: Vec<Parked>,
    /// States that were used, and those of calls that were given up.
    stale: Vec<Parked>,
    /// Ids of requests that are over.
    free_ids: Vec<String>,
    tokens: Vec<String>,
    legs: u64,
    answers: u64,
    is_slow: bool,
    /// It sent something that decides the era.
    is_pinned: bool,
    has_ended: bool,
}

impl Client {
    pub(crate) fn new(habits: ClientHabits, rng: Rng) -> Self {
        Client {
            source: rng.clone(),
            rng,
            habits,
            inbox: VecDeque::new(),
            open: Vec::new(),
            parked: Vec::new(),
            stale: Vec::new(),
            free_ids: Vec::new(),
            tokens: Vec::new(),
            legs: 0,
            answers: 0,
            is_slow: false,
            is_pinned: false,
            has_ended: false,
        }
    }

    /// A frame arrives; it is read at some later act.
    pub(crate) fn hears(&mut self, frame: Json) {
        self.inbox.push_back(frame);
    }

    /// One act, and the time to the next; `None`: it has left.
    pub(crate) fn act(&mut self, turn: Turn) -> (Did, Option<u64>) {
        if self.has_ended {
            return (Did::Nothing, None);
        }
        self.rng = self.source.at(turn.number);
        let mut read = self.inbox.len();
        if self.rng.chance(20) {
            read = self.rng.index(read + 1);
        }
        for _ in 0..read {
            self.read();
        }
        let pause = self.habits.pace.draw(&mut self.rng);
        if !turn.is_taken {
            self.habits.moves = self.habits.moves.saturating_sub(1);
            return (Did::Nothing, Some(pause));
        }
        if self.habits.moves == 0 {
            self.has_ended = true;
            let did = match self.habits.ending {
                Ending::Closes => Did::Closed,
                Ending::Gone => Did::Gone,
                Ending::Signal => Did::Stopped(*self.rng.pick(&[1, 2, 15])),
            };
            return (did, None);
        }
        self.habits.moves -= 1;
        (self.make_a_move(), Some(pause))
    }

    fn make_a_move(&mut self) -> Did {
        let next = MOVES[self.rng.weighted(&self.habits.weights)].0;
        let wrote = match next {
            Move::Slow if !self.habits.stutters => return Did::Nothing,
            Move::Slow => {
                self.is_slow = !self.is_slow;
                return Did::Slow(self.is_slow);
            }
            Move::Overlong => return Did::Overlong,
            Move::Call => self.call(),
            Move::List => self.list(),
            Move::Discover => self.request("server/discover", ""),
            Move::Complete => self.complete(),
            Move::Vendor => self.vendor(),
            Move::Listen => self.listen(),
            Move::Retry => match self.retry() {
                Some(retry) => retry,
                None => self.call(),
            },
            Move::Cancel => self.cancel(),
            Move::Duplicate => self.duplicate(),
            Move::Malformed => self.malformed(),
            Move::Envelope => self.bad_envelope(),
            Move::Illegal => self.illegal(),
            Move::Note => self.note(),
            Move::Removed => self.removed(),
            Move::Initialize => self.stray_initialize(),
            Move::Ping => self.ping(),
        };
        Did::Wrote(wrote.0, wrote.1)
    }

    fn read(&mut self) {
        let Some(frame) = self.inbox.pop_front() else { return };
        if frame.has("method") {
            return;
        }
        let Some(id) = frame.get("id").map(Json::to_text) else { return };
        let Some(at) = self.open.iter().position(|ask| ask.id == id) else { return };
        let ask = self.open.swap_remove(at);
        self.free_ids.push(id);
        let Some(result) = frame.get("result") else { return };
        let state = result.get("requestState").and_then(Json::text);
        let (Some(state), Some(wanted)) = (state, result.get("inputRequests")) else { return };
        let wanted = wanted.members().unwrap_or_default().iter();
        let wanted = wanted.map(|(key, request)| (key.clone(), kind(request))).collect();
        self.parked.push(Parked { ask, state: state.to_owned(), wanted });
    }
}

/// What a client is asked for.
fn kind(request: &Json) -> Kind {
    let mode = request.get("params").and_then(|params| params.get("mode")).and_then(Json::text);
    match (request.get("method").and_then(Json::text), mode) {
        (Some("sampling/createMessage"), _) => Kind::Sampling,
        (Some("roots/list"), _) => Kind::Roots,
        (_, Some("url")) => Kind::Url,
        _ => Kind::Form,
    }
}
