//! Chains: one forwarded request each, over all its legs.
//!
//! ```text
//!   Waiting ──(Leveling)──▶ Running ──▶ answered
//!      ▲                     │   ▲
//!   (Visiting)     questions ▼   │ answers
//!      └───────────────── Parked ──▶ Returning
//! ```
//! A parked chain has no leg: it can answer nobody until its client comes back with the ticket.
//! Only requests of the three methods that may be answered with questions (E1) ever park.

use super::event::Time;
use super::front::{Leg, Request};
use super::ids::{ChainId, QuestionId, ServerId};
use super::notices::Progress;
use super::table::Table;
use crate::message::answers::Given;
use crate::message::capabilities::Capabilities;
use crate::message::questions::Asked;
use crate::message::wire::Id;

/// Where a question comes from, and so where its answer goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A request of the server with this id.
    Server(Id),
    /// The folders question that belongs to no call (E20); [`super::ambient`] keeps its ids.
    Roots,
    /// An error of the server that names a URL (E28); its answer decides whether the request is
    /// sent again.
    Error,
}

/// A URL that the server wants visited before it serves a request (E28).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    /// The server's name for it.
    pub(super) id: Box<str>,
    /// The server said that it is done.
    pub(super) is_done: bool,
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: QuestionId,
    pub(super) source: Source,
    pub(super) asked: Asked,
    /// More than one chain was open when it arrived, so its owner is a guess (E5).
    pub(super) is_contested: bool,
    /// Number of its key in `inputRequests` (E4), once it has been shown to the client.
    pub(super) shown_as: Option<u32>,
    /// The client's answer, kept until all of its round are there (E15.3).
    pub(super) answer: Option<Given>,
}

impl Question {
    /// Bytes it keeps.
    fn size(&self) -> usize {
        self.asked.params.len() + self.answer.as_ref().map_or(0, |given| given.outcome.len())
    }
}

/// The window in which questions that belong together gather (E6).
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) quiet: Time,
    pub(super) latest: Time,
}

impl Window {
    const QUIET_MS: u64 = 5;
    const LONGEST_MS: u64 = 50;

    pub(super) fn open(now: Time) -> Self {
        Window { quiet: now.after(Self::QUIET_MS), latest: now.after(Self::LONGEST_MS) }
    }

    /// A window that closes with this event: its questions have waited long enough (E17).
    pub(super) fn closing(now: Time) -> Self {
        Window { quiet: now, latest: now }
    }

    pub(super) fn extended(self, now: Time) -> Self {
        Window { quiet: now.after(Self::QUIET_MS), ..self }
    }

    pub(super) fn end(self) -> Time {
        self.quiet.min(self.latest)
    }
}

/// What a chain with a leg waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    /// For the lane, to be sent up whole. Since when: a list may be answered from memory (D6).
    Waiting { since: Time },
    /// For the server to take a log level, before the request goes up (F15).
    Leveling { until: Time },
    /// For visits to be done, before the request is sent again (E28).
    Visiting { until: Time },
    /// For the server.
    Running {
        /// When silence has lasted too long (D7).
        idle: Time,
        /// When it has taken too long altogether.
        latest: Time,
        window: Option<Window>,
    },
    /// For the lane, to send its answers up.
    Returning { left_ms: u64 },
}

/// Whether a chain has a leg.
#[derive(Debug)]
pub(super) enum State {
    /// The leg is owed the answer.
    Active(Leg, Doing),
    /// It waits for its client.
    Parked {
        ticket: String,
        /// What its last leg declared (E5).
        capabilities: Capabilities,
        until: Time,
        /// The call's outcome, where it came while nobody could be told (E18).
        outcome: Option<String>,
        /// What is left of the absolute limit; its clock stands while parked (D7).
        left_ms: u64,
    },
}

#[derive(Debug)]
pub(super) struct Chain {
    pub(super) request: Request,
    /// The id of its newest leg, answered or not (F9).
    pub(super) newest_leg: Id,
    pub(super) state: State,
    /// The open upstream call.
    pub(super) call: Option<ServerId>,
    /// When something was last sent up for it, as a running number; 0: never (E5).
    pub(super) sent: u64,
    pub(super) questions: Vec<Question>,
    /// Key number of the last question shown (E4).
    pub(super) keys: u32,
    /// `input_required` answers so far (E27).
    pub(super) rounds: u32,
    /// What the server asked for and the client had not declared (E9).
    pub(super) missing: Capabilities,
    pub(super) progress: Progress,
    /// The URLs of the last such error (E28).
    pub(super) visits: Vec<Visit>,
    /// All were accepted, and the request was sent again but once: the next such error waits.
    pub(super) may_wait: bool,
}

impl Chain {
    pub(super) fn new(leg: Leg, request: Request, now: Time) -> Self {
        Chain {
            newest_leg: leg.id.clone(),
            request,
            state: State::Active(leg, Doing::Waiting { since: now }),
            call: None,
            sent: 0,
            questions: Vec::new(),
            keys: 0,
            rounds: 0,
            missing: Capabilities::NONE,
            progress: Progress::default(),
            visits: Vec::new(),
            may_wait: false,
        }
    }

    /// A chain that may carry a question: its call is open upstream and of the right method (E5).
    pub(super) fn is_open(&self) -> bool {
        self.call.is_some() && self.request.method.is_mrtr()
    }

    /// Gives a key to each question that has none and no answer (E4).
    pub(super) fn show_questions(&mut self) {
        for question in self.questions.iter_mut().filter(|question| question.answer.is_none()) {
            question.shown_as.get_or_insert_with(|| {
                self.keys += 1;
                self.keys
            });
        }
    }

    /// Bytes it keeps: of its request, its questions, the names of its visits, and an outcome that
    /// nobody was told yet.
    fn size(&self) -> usize {
        let outcome = match &self.state {
            State::Parked { outcome: Some(outcome), .. } => outcome.len(),
            State::Parked { outcome: None, .. } | State::Active(..) => 0,
        };
        let questions = self.questions.iter().map(Question::size).sum::<usize>();
        let visits = self.visits.iter().map(|visit| visit.id.len()).sum::<usize>();
        self.request.size() + outcome + questions + visits
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, State::Active(_, Doing::Waiting { .. }))
    }

    /// Is its request to be sent, as soon as it may be?
    pub(super) fn is_unsent(&self) -> bool {
        matches!(self.state, State::Active(_, Doing::Waiting { .. } | Doing::Leveling { .. }))
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Active(_, Doing::Running { .. }))
    }

    pub(super) fn is_parked(&self) -> bool {
        matches!(self.state, State::Parked { .. })
    }

    /// What the client of its current or last leg declared.
    pub(super) fn capabilities(&self) -> Capabilities {
        match &self.state {
            State::Active(leg, _) => leg.capabilities,
            State::Parked { capabilities, .. } => *capabilities,
        }
    }

    /// The leg that is owed an answer, if there is one.
    pub(super) fn leg(&self) -> Option<&Leg> {
        match &self.state {
            State::Active(leg, _) => Some(leg),
            State::Parked { .. } => None,
        }
    }

    /// Gives the leg away; the chain must be dropped or get a new state afterwards.
    pub(super) fn into_leg(self) -> Option<Leg> {
        match self.state {
            State::Active(leg, _) => Some(leg),
            State::Parked { .. } => None,
        }
    }
}

/// Who carries a question (E5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A running chain whose client can be asked.
    Running(ChainId),
    /// A parked chain whose client can be asked when it comes back.
    Parked(ChainId),
    /// A running chain whose client cannot be asked (E9).
    Undeclared(ChainId),
    /// No chain.
    Nobody,
}

/// All chains, by number.
#[derive(Debug, Default)]
pub(super) struct Chains {
    pub(super) all: Table<ChainId, Chain>,
    last_id: u64,
    last_sent: u64,
    last_question: u64,
}

impl Chains {
    pub(super) fn add(&mut self, chain: Chain) -> ChainId {
        self.last_id += 1;
        let id = ChainId(self.last_id);
        self.all.insert(id, chain);
        id
    }

    /// What a chain does next. A parked one has no leg to do it for and stays as it is.
    pub(super) fn change(&mut self, id: ChainId, to: Doing) {
        if let Some(chain) = self.all.get_mut(&id)
            && let State::Active(_, doing) = &mut chain.state
        {
            *doing = to;
        }
    }

    pub(super) fn next_sent(&mut self) -> u64 {
        self.last_sent += 1;
        self.last_sent
    }

    /// A question that is asked now.
    pub(super) fn question(&mut self, source: Source, asked: Asked) -> Question {
        self.last_question += 1;
        let id = QuestionId(self.last_question);
        let is_contested = matches!(source, Source::Server(_)) && self.open() > 1;
        Question { id, source, asked, is_contested, shown_as: None, answer: None }
    }

    /// How many chains could carry a question.
    pub(super) fn open(&self) -> usize {
        self.all.values().filter(|chain| chain.is_open()).count()
    }

    /// The owner of a question that needs these capabilities (E5).
    pub(super) fn owner(&self, needs: Capabilities) -> Owner {
        let newest = |fits: &dyn Fn(&Chain) -> bool| {
            let open = self.all.iter().filter(|(_, chain)| chain.is_open() && fits(chain));
            open.max_by_key(|(_, chain)| chain.sent).map(|(id, _)| *id)
        };
        let can = |chain: &Chain| chain.capabilities().covers(needs);
        newest(&|chain| chain.is_running() && can(chain))
            .map(Owner::Running)
            .or_else(|| newest(&|chain| !chain.is_running() && can(chain)).map(Owner::Parked))
            .or_else(|| newest(&|chain| chain.is_running()).map(Owner::Undeclared))
            .unwrap_or(Owner::Nobody)
    }

    /// The parked chain with this ticket.
    pub(super) fn with_ticket(&self, text: &str) -> Option<ChainId> {
        let has =
            |chain: &Chain| matches!(&chain.state, State::Parked { ticket, .. } if ticket == text);
        self.all.iter().find(|(_, chain)| has(chain)).map(|(id, _)| *id)
    }

    /// The parked chain whose newest leg had this id (F9).
    pub(super) fn parked_leg(&self, leg: &Id) -> Option<ChainId> {
        let has = |chain: &Chain| chain.is_parked() && chain.newest_leg == *leg;
        self.all.iter().find(|(_, chain)| has(chain)).map(|(id, _)| *id)
    }

    /// Parked chains, with the time at which each expires.
    pub(super) fn parked(&self) -> impl Iterator<Item = (ChainId, Time)> + '_ {
        self.all.iter().filter_map(|(id, chain)| match &chain.state {
            State::Parked { until, .. } => Some((*id, *until)),
            State::Active(..) => None,
        })
    }

    /// The parked chain with an open call to which something was sent longest ago, before `sent`
    /// (E14b).
    pub(super) fn oldest_parked_before(&self, sent: u64) -> Option<ChainId> {
        let older = |chain: &Chain| chain.is_parked() && chain.is_open() && chain.sent < sent;
        let found = self.all.iter().filter(|(_, chain)| older(chain));
        found.min_by_key(|(_, chain)| chain.sent).map(|(id, _)| *id)
    }

    /// Takes the question with this id of the server's out of its chain.
    pub(super) fn withdraw(&mut self, server_id: &Id) -> Option<(ChainId, Question)> {
        self.take_question(
            |question| matches!(&question.source, Source::Server(id) if id == server_id),
        )
    }

    /// Takes this question out of its chain.
    pub(super) fn take(&mut self, id: QuestionId) -> Option<(ChainId, Question)> {
        self.take_question(|question| question.id == id)
    }

    fn take_question(&mut self, is_it: impl Fn(&Question) -> bool) -> Option<(ChainId, Question)> {
        for (id, chain) in self.all.iter_mut() {
            if let Some(at) = chain.questions.iter().position(&is_it) {
                let question = chain.questions.remove(at);
                if let State::Active(_, Doing::Running { window, .. }) = &mut chain.state
                    && chain.questions.is_empty()
                {
                    *window = None;
                }
                return Some((*id, question));
            }
        }
        None
    }

    /// Questions of the server that wait in chains, and the bytes of them.
    pub(super) fn server_questions(&self) -> (usize, usize) {
        self.asked().fold((0, 0), |(count, bytes), asked| (count + 1, bytes + asked.size()))
    }

    /// The one that was asked first.
    pub(super) fn oldest_server_question(&self) -> Option<QuestionId> {
        self.asked().map(|question| question.id).min()
    }

    fn asked(&self) -> impl Iterator<Item = &Question> {
        let questions = self.all.values().flat_map(|chain| &chain.questions);
        questions.filter(|question| matches!(question.source, Source::Server(_)))
    }

    /// Bytes that parked chains keep.
    pub(super) fn parked_bytes(&self) -> usize {
        self.all.values().filter(|chain| chain.is_parked()).map(Chain::size).sum()
    }

    /// Bytes that all chains keep.
    pub(super) fn bytes(&self) -> usize {
        self.all.values().map(Chain::size).sum()
    }

    /// Bytes of the requests that wait for the lane.
    pub(super) fn waiting_bytes(&self) -> usize {
        let waiting = self.all.values().filter(|chain| chain.is_waiting());
        waiting.map(|chain| chain.request.size()).sum()
    }
}
