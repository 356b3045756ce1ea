//! The ledger: every event and every effect is booked here, and what must always hold is checked.
//!
//! It knows the contract and never looks into the core. For each event it is told what the line
//! means ([`Said`], [`Told`]), books what that obliges the bridge to do, books each effect against
//! an obligation or a permission, and at the end of the event asks what is still owed.
//!
//! | file | keeps |
//! |---|---|
//! | `session` | processes, handshakes, upward ids |
//! | `legs` | requests that are owed an answer, and the answer's reason |
//! | `chains`, `verdict` | one call over its legs, its states and keys, what a retry deserves |
//! | `lane` | what may run, what must |
//! | `questions` | who carries a question, its one answer |
//! | `told` | progress and log messages |
//! | `streams` | subscriptions |
//! | `down`, `up` | the shape of each frame |
//! | `ending` | deadlines, drain, exit |
//! | `relay`, `passed` | the two ways of standing aside (I15, I14) |

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mcp_uplift::bridge::{Effect, Event, ServerEra, Settings};

use super::talk::{Ask, Said, Told};

mod chains;
mod down;
mod ending;
mod lane;
mod legs;
mod passed;
mod questions;
mod relay;
mod session;
mod streams;
mod told;
mod up;
mod verdict;

use chains::{Chain, St};
use legs::{Leg, Owed};
use questions::Asked;
use session::{Phase, Session};
use streams::Streams;

/// A rule that was broken.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) rule: &'static str,
    pub(crate) what: String,
}

pub(crate) type Check = Result<(), Fault>;

pub(crate) fn ensure(holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Fault { rule, what: what() }) }
}

pub(crate) fn broken<T>(rule: &'static str, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { rule, what: what.into() })
}

/// Which of its three jobs the bridge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Bridged,
    /// A legacy client is relayed (I15).
    Relayed,
    /// A modern server is passed on to (I14).
    Passed,
}

/// What belongs to one event.
#[derive(Debug, Default)]
struct Batch {
    /// Answers that must come in this batch, by id.
    owed: Vec<Owed>,
    /// Chains whose leg must be answered in this batch, and why.
    due: Vec<(usize, &'static str)>,
    /// Chains that the client gave up in this event.
    given_up: Vec<usize>,
    /// Calls that must be cancelled upward in this batch.
    to_cancel: Vec<u64>,
    /// Chains whose call was cancelled in this batch.
    cancelled: Vec<usize>,
    /// Chains to which a reply came in this event.
    replied: Vec<usize>,
    /// Chains that the client came back to in this event.
    returned: Vec<usize>,
    /// Chains whose time was up, and for which an older one was given up (E14b).
    excused: Vec<usize>,
    /// Questions refused in this batch whose call was still open then (E21).
    refused_early: Vec<(usize, usize)>,
    /// Chains whose answers went up in this batch.
    answered: Vec<usize>,
    /// Several messages in one line: what each of them sets off is not known apart.
    is_mixed: bool,
    /// What the questions in such a line need.
    mixed_needs: u8,
    /// A line over the limit may have been any answer.
    is_overlong: bool,
    /// The process was lost in this event.
    is_lost: bool,
    /// The handshake failed for good or for now.
    is_failed: bool,
    /// It cannot be known which folders questions were held when it came.
    are_folders_unsure: bool,
    /// Something waited for one of the folders questions: all of them are refused.
    are_folders_blocking: bool,
    /// A signal came.
    is_stopping: bool,
    effects: u64,
}

pub(crate) struct Ledger {
    settings: Settings,
    now: u64,
    /// When the event before this one was handled: every deadline up to then was acted upon.
    before: u64,
    mode: Mode,
    batch: Batch,
    session: Session,
    legs: BTreeMap<String, Leg>,
    chains: Vec<Chain>,
    /// Chains that are not over, in order of arrival.
    live: Vec<usize>,
    leg_chain: BTreeMap<u64, usize>,
    asked: Vec<Asked>,
    open_questions: Vec<usize>,
    /// Every requestState that was ever issued, with its chain.
    states: BTreeMap<String, usize>,
    /// States that a lost process took with it (E24).
    void_states: BTreeSet<String>,
    /// Answers of the client that were taken, by number: chain and place.
    given: BTreeMap<u64, (usize, chains::Source)>,
    sent: u64,
    /// When `roots/list` was last answered (E20).
    folders_told: Option<u64>,
    /// The first time of those that follow upon each other.
    folders_since: u64,
    held_until: Option<u64>,
    /// Whether one of the folders questions is held, and so until when, cannot be known.
    are_folders_unsure: bool,
    told: told::Said,
    streams: Streams,
    relay: relay::Relay,
    passed: passed::Passed,
    memory: lane::Memory,
    ready_at: u64,
    lost_at: Option<u64>,
    /// The client sent what decides the era (I1).
    is_pinned: bool,
    is_slow: bool,
    closed_at: Option<u64>,
    exit: Option<u8>,
    wakes_in_place: u64,
    fruitless_wakes: u64,
}

impl Ledger {
    pub(crate) fn new(settings: Settings) -> Self {
        Ledger {
            settings,
            now: 0,
            before: 0,
            mode: Mode::Bridged,
            batch: Batch::default(),
            session: Session::default(),
            legs: BTreeMap::new(),
            chains: Vec::new(),
            live: Vec::new(),
            leg_chain: BTreeMap::new(),
            asked: Vec::new(),
            open_questions: Vec::new(),
            states: BTreeMap::new(),
            void_states: BTreeSet::new(),
            given: BTreeMap::new(),
            sent: 0,
            folders_told: None,
            folders_since: 0,
            held_until: None,
            are_folders_unsure: false,
            told: told::Said::default(),
            streams: Streams::default(),
            relay: relay::Relay::default(),
            passed: passed::Passed::default(),
            memory: lane::Memory::default(),
            ready_at: 0,
            lost_at: None,
            is_pinned: false,
            is_slow: false,
            closed_at: None,
            exit: None,
            wakes_in_place: 0,
            fruitless_wakes: 0,
        }
    }

    pub(crate) fn exit(&self) -> Option<u8> {
        self.exit
    }

    /// An event is about to be handled.
    pub(crate) fn event(&mut self, event: &Event, said: &Said, told: &[Told], now: u64) -> Check {
        self.batch = Batch { is_mixed: told.len() > 1, ..Batch::default() };
        self.before = self.now;
        self.now = now;
        self.book(event, said, told)?;
        self.time_passes();
        Ok(())
    }

    /// What the passing of time alone brings about, before the effects of an event are booked.
    fn time_passes(&mut self) {
        let now = self.now;
        self.are_folders_unsure &= self.may_hold_folders();
        self.batch.are_folders_unsure = self.are_folders_unsure;
        if let Phase::Listing(until) = self.session.phase
            && until <= now
            && self.is_running()
            && !self.is_closed_too_long()
        {
            self.tools_are_known(false);
        }
        for number in &self.live {
            let chain = &mut self.chains[*number];
            if let St::Visiting { until } = chain.st
                && until <= now
            {
                chain.st = St::Waiting { since: now, is_ahead: true };
            }
        }
        self.settle_revived();
    }

    fn book(&mut self, event: &Event, said: &Said, told: &[Told]) -> Check {
        let now = self.now;
        match event {
            Event::ClientLine(line) => self.client_said(said, &line.bytes),
            Event::ClientOverlong => {
                self.owe(Owed::error(None, -32600));
                Ok(())
            }
            Event::ClientClosed => {
                self.closed_at = Some(now);
                Ok(())
            }
            Event::ClientSlow(is_slow) => {
                self.is_slow = *is_slow;
                self.slow_client();
                Ok(())
            }
            Event::ServerStarted(generation) => self.server_started(generation.0),
            Event::ServerUnstartable(generation, _) => self.server_unstartable(generation.0),
            Event::ServerLine(generation, line) => {
                if self.is_believed(generation.0) {
                    return self.server_said(told, &line.bytes);
                }
                Ok(())
            }
            Event::ServerOverlong(generation) => {
                if self.is_believed(generation.0) {
                    self.overlong();
                }
                Ok(())
            }
            Event::ServerClosed(generation) => {
                if self.is_believed(generation.0) {
                    self.session.closed_at = Some(now);
                }
                Ok(())
            }
            Event::ServerExited(generation, _) => self.server_exited(generation.0),
            Event::Stop(_) => {
                self.batch.is_stopping = true;
                Ok(())
            }
            Event::ClientGone | Event::Wake => Ok(()),
        }
    }

    /// An effect of that event.
    pub(crate) fn effect(&mut self, effect: &Effect) -> Check {
        ensure(self.exit.is_none(), "H11-nothing-after-exit", || format!("{effect:?}"))?;
        self.batch.effects += 1;
        match effect {
            Effect::ToClient(frame) => self.down(&frame.bytes()),
            Effect::ToServer(frame) => self.up(&frame.bytes()),
            Effect::StartServer(generation) => self.start_server(generation.0),
            Effect::StopServer(generation) => self.stop_server(generation.0),
            Effect::Say(..) => Ok(()),
            Effect::Exit(status) => {
                self.exit = Some(*status);
                Ok(())
            }
        }
    }

    fn client_said(&mut self, said: &Said, bytes: &[u8]) -> Check {
        match self.mode {
            Mode::Relayed => {
                self.relay_client(said, bytes);
                return Ok(());
            }
            Mode::Passed => {
                self.pass_client(said);
                return Ok(());
            }
            Mode::Bridged => {}
        }
        match said {
            Said::Request(ask) => self.asked_by_client(ask),
            Said::Cancel(id) => self.client_cancels(id),
            Said::Refused(ask, code) => {
                let in_use = self.legs.contains_key(&ask.id);
                self.is_pinned |= *code == -32601 && !in_use;
                self.owe(Owed::error(Some(&ask.id), if in_use { -32600 } else { *code }));
                Ok(())
            }
            Said::Wrong(id, code) => {
                self.owe(Owed::error(id.as_deref(), *code));
                Ok(())
            }
            Said::Ping(ask) => {
                self.owe(Owed::Empty(ask.id.clone()));
                Ok(())
            }
            Said::Initialize(id) => {
                self.opens_legacy(id, bytes);
                Ok(())
            }
            Said::Nothing | Said::Legacy(..) => Ok(()),
        }
    }

    fn asked_by_client(&mut self, ask: &Rc<Ask>) -> Check {
        if self.legs.contains_key(&ask.id) {
            self.owe(Owed::error(Some(&ask.id), -32600));
            return Ok(());
        }
        self.is_pinned |= ask.method != "server/discover";
        self.accept(ask);
        Ok(())
    }

    fn server_said(&mut self, told: &[Told], bytes: &[u8]) -> Check {
        match self.mode {
            Mode::Relayed => {
                self.relay_server(told, bytes);
                return Ok(());
            }
            Mode::Passed => {
                self.pass_server(told);
                return Ok(());
            }
            Mode::Bridged => {}
        }
        for told in told {
            match told {
                Told::Reply(id, reply) => self.server_replied(*id, reply)?,
                Told::Asked(question) => self.server_asked(question),
                Told::Hopeless(id, code) => self.session.owe(id, Some(*code)),
                Told::Ping(id) => self.session.owe(id, None),
                Told::Withdrawn(id) => self.server_withdrew(id),
                Told::Progress { token, value } => self.server_progressed(*token, *value),
                Told::Log { level, number } => self.server_logged(*level, *number),
                Told::Changed(topic) => self.server_changed(topic),
                Told::Visited(mark) => self.server_visited(*mark),
                Told::Noise | Told::Note { .. } => {}
            }
        }
        Ok(())
    }

    fn is_modern_only(&self) -> bool {
        self.settings.server_era == ServerEra::Modern
    }
}
