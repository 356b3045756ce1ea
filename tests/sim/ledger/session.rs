//! Processes and handshakes (H), and every id that was sent up (A19).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::talk::{Offers, Reply};
use super::{Check, Ledger, Mode, broken, ensure};

/// A process that ends while it serves is followed by the next one after this, doubling, and not
/// more often than that in a minute (H12).
const BACKOFF_MS: u64 = 100;
const BACKOFF_LONGEST_MS: u64 = 10_000;
const CRASHES: usize = 5;
const MINUTE_MS: u64 = 60_000;
/// A server that closed its output is ended after this (H12).
const CLOSED_MS: u64 = 100;

/// Why a request was sent up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Initialize,
    Probe,
    Tools,
    Level,
    Subscribe(String),
    Unsubscribe,
    Call(usize),
    Passed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    Answered,
    Cancelled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Process {
    #[default]
    None,
    Asked,
    Running,
    /// It was told to end.
    Stopping,
}

/// How far the handshake with a running process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Fresh,
    Hello,
    Probing,
    /// Asked for undeclared tools, until then at most (B8).
    Listing(u64),
    Ready,
}

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) generation: u32,
    pub(super) process: Process,
    pub(super) phase: Phase,
    /// Of the last handshake that held.
    pub(super) offers: Rc<Offers>,
    pub(super) sent: BTreeMap<u64, (Purpose, Fate)>,
    last_id: u64,
    /// Requests of the server that are answered in the same batch: the code, or `None` for `{}`.
    owed: Vec<(String, Option<i64>)>,
    pub(super) level: Option<usize>,
    /// When `logging/setLevel` was sent under an id that is not answered.
    pub(super) level_asked: BTreeMap<u64, u64>,
    pub(super) levels_in_a_row: u64,
    pub(super) leveled_at: Option<u64>,
    pub(super) closed_at: Option<u64>,
    pub(super) was_asked: bool,
    pub(super) was_ready: bool,
    pub(super) is_unstartable: bool,
    /// A server that is modern stays so (I7).
    pub(super) is_modern: bool,
    discovered_late: bool,
    /// When processes ended that served.
    crashes: Vec<u64>,
    pub(super) wants_initialized: bool,
}

impl Session {
    pub(super) fn owe(&mut self, id: &str, code: Option<i64>) {
        self.owed.push((id.to_owned(), code));
    }

    /// Was an answer to this request of the server owed in this batch? Pays it.
    pub(super) fn pay(&mut self, id: &str) -> Option<Option<i64>> {
        let at = self.owed.iter().position(|(owed, _)| owed == id)?;
        Some(self.owed.remove(at).1)
    }

    pub(super) fn unpaid(&self) -> Option<&(String, Option<i64>)> {
        self.owed.first()
    }
}

impl Ledger {
    pub(super) fn is_running(&self) -> bool {
        self.session.process == Process::Running
    }

    /// Is a line of this process looked at?
    pub(super) fn is_believed(&self, generation: u32) -> bool {
        self.session.generation == generation && self.is_running()
    }

    /// Is the process to be ended because it closed its output?
    pub(super) fn is_closed_too_long(&self) -> bool {
        self.session.closed_at.is_some_and(|at| at + CLOSED_MS <= self.now)
    }

    /// May the client's requests go up?
    pub(super) fn is_ready(&self) -> bool {
        self.is_running()
            && match self.session.phase {
                Phase::Ready => true,
                Phase::Listing(until) => until <= self.now,
                Phase::Fresh | Phase::Hello | Phase::Probing => false,
            }
    }

    pub(super) fn start_server(&mut self, generation: u32) -> Check {
        ensure(self.session.process == Process::None, "H12-one-process", || {
            format!("start {generation} while {:?}", self.session.process)
        })?;
        ensure(generation == self.session.generation + 1, "H12-generations-count", || {
            format!("start {generation} after {}", self.session.generation)
        })?;
        ensure(!self.session.is_unstartable, "H13-unstartable-stays", || "started again".into())?;
        self.session.generation = generation;
        self.session.process = Process::Asked;
        self.check_backoff()
    }

    fn check_backoff(&self) -> Check {
        let now = self.now;
        let recent = self.session.crashes.iter().filter(|at| **at + MINUTE_MS > now).count();
        ensure(recent < CRASHES, "H12-crash-loop", || format!("{recent} ends within a minute"))?;
        let Some(last) = self.session.crashes.last().filter(|_| recent > 0) else { return Ok(()) };
        let wait = (BACKOFF_MS << (recent - 1)).min(BACKOFF_LONGEST_MS);
        ensure(last + wait <= now, "H12-backoff", || format!("ended at {last}, started at {now}"))
    }

    pub(super) fn stop_server(&mut self, generation: u32) -> Check {
        let is_current = generation == self.session.generation && self.is_running();
        ensure(is_current, "H10-stops-the-current", || format!("stop {generation}"))?;
        let is_kept_waiting = self.is_closed_too_long();
        let is_shaking = matches!(self.session.phase, Phase::Hello | Phase::Probing);
        ensure(
            is_kept_waiting || is_shaking || self.mode == Mode::Relayed,
            "H10-stops-with-a-reason",
            || format!("{:?}", self.session.phase),
        )?;
        self.session.process = Process::Stopping;
        self.lose(true)
    }

    pub(super) fn server_started(&mut self, generation: u32) -> Check {
        if generation == self.session.generation && self.session.process == Process::Asked {
            self.session.process = Process::Running;
            self.session.phase = Phase::Fresh;
            self.session.closed_at = None;
            if self.mode == Mode::Passed {
                self.passed_started();
            }
        }
        Ok(())
    }

    pub(super) fn server_unstartable(&mut self, generation: u32) -> Check {
        if generation == self.session.generation {
            self.session.process = Process::None;
            self.session.is_unstartable = true;
            self.batch.is_failed = true;
        }
        Ok(())
    }

    pub(super) fn server_exited(&mut self, generation: u32) -> Check {
        if generation != self.session.generation {
            return Ok(());
        }
        let was_believed = self.is_running();
        self.session.process = Process::None;
        if was_believed { self.lose(false) } else { Ok(()) }
    }

    /// The process is gone, or about to go: nothing it was asked will be answered.
    fn lose(&mut self, is_stopped: bool) -> Check {
        let was_ready = self.is_ready_phase();
        if was_ready && self.mode != Mode::Relayed {
            self.session.crashes.push(self.now);
        }
        self.session.sent.clear();
        self.session.owed.clear();
        self.session.level = None;
        self.session.level_asked.clear();
        self.session.wants_initialized = false;
        self.session.closed_at = None;
        self.batch.is_lost = true;
        self.batch.is_failed |= is_stopped && !was_ready;
        self.session.phase = Phase::Fresh;
        match self.mode {
            Mode::Bridged | Mode::Relayed => self.chains_lost(),
            Mode::Passed => self.passed_lost(),
        }
        Ok(())
    }

    fn is_ready_phase(&self) -> bool {
        match self.session.phase {
            Phase::Ready => true,
            Phase::Listing(until) => until <= self.now,
            Phase::Fresh | Phase::Hello | Phase::Probing => false,
        }
    }

    /// Books an id of ours: a positive integer above all before it (A19).
    pub(super) fn book_id(&mut self, id: u64, purpose: Purpose) -> Check {
        ensure(id > self.session.last_id, "A19-ids-are-not-reused", || format!("{id}"))?;
        self.session.last_id = id;
        self.session.sent.insert(id, (purpose, Fate::Open));
        Ok(())
    }

    pub(super) fn sends_initialize(&mut self, id: u64) -> Check {
        let may = matches!(self.session.phase, Phase::Fresh | Phase::Hello | Phase::Probing);
        ensure(may, "H1-initialize-first", || format!("{:?}", self.session.phase))?;
        ensure(!self.is_modern_only(), "I4b-pinned-modern", || "initialize".into())?;
        self.session.phase = Phase::Hello;
        self.session.was_asked = true;
        self.book_id(id, Purpose::Initialize)
    }

    pub(super) fn sends_probe(&mut self, id: u64) -> Check {
        let may = matches!(self.session.phase, Phase::Fresh | Phase::Hello | Phase::Probing);
        ensure(may, "I5-probe-before-all", || format!("{:?}", self.session.phase))?;
        let is_legacy = self.settings.server_era == mcp_uplift::bridge::ServerEra::Legacy;
        ensure(!is_legacy, "I4b-legacy-never-probes", || "server/discover".into())?;
        self.session.phase = Phase::Probing;
        self.session.was_asked = true;
        self.book_id(id, Purpose::Probe)
    }

    pub(super) fn sends_initialized(&mut self) -> Check {
        ensure(self.session.wants_initialized, "H5-initialized-once", || "unexpected".into())?;
        self.session.wants_initialized = false;
        self.session.was_ready = true;
        self.session.phase = if self.session.offers.undeclared_tools.is_some() {
            Phase::Listing(self.now + 2000)
        } else {
            Phase::Ready
        };
        if self.session.phase == Phase::Ready {
            self.is_ready_now();
        }
        Ok(())
    }

    /// A response of the server (A17).
    pub(super) fn server_replied(&mut self, id: u64, reply: &Reply) -> Check {
        let Some((purpose, fate)) = self.session.sent.get_mut(&id) else { return Ok(()) };
        if *fate != Fate::Open || (*reply == Reply::Broken && !matches!(purpose, Purpose::Call(_)))
        {
            return Ok(());
        }
        *fate = Fate::Answered;
        match purpose.clone() {
            Purpose::Initialize => self.initialize_answered(reply),
            Purpose::Probe => self.probe_answered(reply),
            Purpose::Tools => {
                if let Phase::Listing(_) = self.session.phase {
                    self.tools_are_known(matches!(reply, Reply::Result { failed: false }));
                }
            }
            Purpose::Subscribe(uri) => {
                self.subscription_answered(id, &uri, matches!(reply, Reply::Result { .. }));
            }
            Purpose::Call(chain) => self.call_answered(chain, id, reply),
            Purpose::Level => {
                self.session.level_asked.remove(&id);
            }
            Purpose::Unsubscribe | Purpose::Passed => {}
        }
        Ok(())
    }

    fn initialize_answered(&mut self, reply: &Reply) {
        if let Reply::Welcome(offers) = reply {
            self.session.offers = Rc::clone(offers);
            self.session.wants_initialized = true;
        } else if self.session.discovered_late && matches!(reply, Reply::Error { .. }) {
            self.turns_modern();
        }
    }

    fn probe_answered(&mut self, reply: &Reply) {
        if *reply == Reply::Discovered {
            if self.session.phase == Phase::Probing {
                self.turns_modern();
            } else {
                self.session.discovered_late = true;
            }
        }
    }

    fn turns_modern(&mut self) {
        self.session.is_modern = true;
        self.session.phase = Phase::Ready;
        self.session.was_ready = true;
        self.mode = Mode::Passed;
        self.take_over_held();
    }

    /// The answer to B8's question, or its time is up.
    pub(super) fn tools_are_known(&mut self, has_tools: bool) {
        if has_tools {
            let mut offers = (*self.session.offers).clone();
            offers.capabilities.push("tools");
            self.session.offers = Rc::new(offers);
        }
        self.session.phase = Phase::Ready;
        self.is_ready_now();
    }

    fn is_ready_now(&mut self) {
        self.ready_at = self.now;
        self.revive();
        self.settle_revived();
    }

    pub(super) fn check_session(&mut self) -> Check {
        if let Some((id, _)) = self.session.unpaid() {
            return broken("H7-answered-at-once", format!("the server's request {id}"));
        }
        ensure(!self.session.wants_initialized || !self.is_running(), "H5-initialized", || {
            "the handshake was accepted and initialized was not sent".into()
        })?;
        ensure(!self.is_closed_too_long(), "H12-closed-output-is-ended", || {
            format!("closed at {:?}", self.session.closed_at)
        })
    }
}
