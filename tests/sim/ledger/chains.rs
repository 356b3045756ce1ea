//! One forwarded request over its legs, as far as it shows outside (E, D7).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::{Ask, Reply};
use super::super::words::{self, QUESTION};
use super::legs::Leg;
use super::verdict::Verdict;
use super::{Check, Ledger, broken, ensure};

pub(super) const MOST_ROUNDS: u32 = 50;
const MOST_PARKED: usize = 32;
const VISITING_MS: u64 = 30_000;

/// Where a question that a client sees comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A request of the server, by its place in the run.
    Question(usize),
    /// The folders question outside any call (E20).
    Roots,
    /// A visit that an error demands (E28).
    Visit(u64),
}

/// One key of `inputRequests` that is not settled.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) source: Source,
    /// The client's answer: its number, and whether it consents.
    pub(super) answer: Option<(u64, bool)>,
}

#[derive(Debug)]
pub(super) struct Parked {
    pub(super) state: String,
    pub(super) until: u64,
    pub(super) has_outcome: bool,
    pub(super) left: u64,
}

#[derive(Debug)]
pub(super) enum St {
    Waiting {
        since: u64,
        is_ahead: bool,
    },
    /// The request is sent again at that time at the latest (E28).
    Visiting {
        until: u64,
    },
    Running {
        idle: u64,
        latest: u64,
    },
    Parked(Parked),
    /// Its client came back; `is_silent`: nothing will go up that shows when it runs.
    Returning {
        since: u64,
        left: u64,
        is_silent: bool,
    },
    Over,
}

#[derive(Debug)]
pub(super) struct Chain {
    pub(super) ask: Rc<Ask>,
    /// The newest leg, answered or not.
    pub(super) newest: Rc<Ask>,
    pub(super) st: St,
    pub(super) arrived: u64,
    pub(super) call: Option<u64>,
    /// Order and time of the last thing sent up for it; 0: never.
    pub(super) sent: u64,
    pub(super) sent_at: u64,
    pub(super) was_forwarded: bool,
    /// It may have been sent to without a sign: its place in the order is not known.
    is_order_unsure: bool,
    /// How long it may have run without a sign: its absolute clock may be that much ahead.
    unseen_ms: u64,
    pub(super) reply: Option<(u64, Reply)>,
    pub(super) is_overlong: bool,
    pub(super) slots: BTreeMap<String, Slot>,
    /// All keys that were ever used (E4).
    keys: BTreeMap<String, Source>,
    pub(super) rounds: u32,
    /// What its questions needed and a leg did not declare: surely, and perhaps (E9).
    pub(super) certainly_missing: u8,
    pub(super) may_miss: u8,
    pub(super) has_declined: bool,
    /// The visits last demanded, and whether each is known to be done.
    pub(super) visits: Vec<(u64, bool)>,
    pub(super) hidden_visits: Vec<u64>,
    pub(super) may_wait: bool,
    pub(super) progress: super::told::Progress,
}

impl Chain {
    pub(super) fn new(ask: Rc<Ask>, now: u64) -> Self {
        Chain {
            newest: Rc::clone(&ask),
            ask,
            st: St::Waiting { since: now, is_ahead: false },
            arrived: now,
            call: None,
            sent: 0,
            sent_at: 0,
            was_forwarded: false,
            is_order_unsure: false,
            unseen_ms: 0,
            reply: None,
            is_overlong: false,
            slots: BTreeMap::new(),
            keys: BTreeMap::new(),
            rounds: 0,
            certainly_missing: 0,
            may_miss: 0,
            has_declined: false,
            visits: Vec::new(),
            hidden_visits: Vec::new(),
            may_wait: false,
            progress: super::told::Progress::default(),
        }
    }

    pub(super) fn is_mrtr(&self) -> bool {
        words::is_mrtr(&self.ask.method)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.st, St::Running { .. })
    }

    /// It may run although nothing showed it.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.st, St::Returning { is_silent: true, .. })
    }

    /// Could it carry a question (E5)?
    pub(super) fn is_open(&self) -> bool {
        self.call.is_some() && self.is_mrtr()
    }

    /// Is its client asked for folders that belong to no call (E20)?
    pub(super) fn asks_folders(&self) -> bool {
        self.slots.values().any(|slot| slot.source == Source::Roots)
    }

    /// It may be, or have become, the newest although nothing showed it.
    pub(super) fn is_unseen(&self) -> bool {
        self.is_silent() || self.is_order_unsure
    }

    pub(super) fn open_slots(&self) -> impl Iterator<Item = (&String, &Slot)> {
        self.slots.iter().filter(|(_, slot)| slot.answer.is_none())
    }

    pub(super) fn missing(&mut self, bits: u8) {
        self.certainly_missing |= bits;
        self.may_miss |= bits;
    }

    pub(super) fn is_timed_out(&self, now: u64) -> bool {
        match self.st {
            St::Running { idle, latest } => idle <= now || latest <= now + self.unseen_ms,
            St::Returning { is_silent, .. } => is_silent,
            St::Waiting { .. } | St::Visiting { .. } | St::Parked(_) | St::Over => false,
        }
    }
}

impl Ledger {
    pub(super) fn chain_over(&mut self, number: usize) {
        self.chains[number].st = St::Over;
        self.chains[number].slots.clear();
        self.live.retain(|live| *live != number);
    }

    /// Its client cancelled it: nothing is answered, the server is told (F8, F9).
    pub(super) fn client_gives_up(&mut self, number: usize) {
        let chain = &self.chains[number];
        if let (Some(call), true) = (chain.call, self.is_running()) {
            self.batch.to_cancel.push(call);
        }
        self.batch.given_up.push(number);
        self.chain_over(number);
        self.owner_ended(number);
    }

    /// The server's answer to a call.
    pub(super) fn call_answered(&mut self, number: usize, call: u64, reply: &Reply) {
        let chain = &mut self.chains[number];
        chain.call = None;
        chain.reply = Some((call, reply.clone()));
        self.batch.replied.push(number);
        if let Reply::Visits(visits) = reply
            && self.chains[number].is_mrtr()
        {
            self.visits_demanded(number, visits);
        } else {
            self.outcome_came(number);
        }
        self.owner_ended(number);
    }

    fn outcome_came(&mut self, number: usize) {
        let chain = &mut self.chains[number];
        if let St::Parked(parked) = &mut chain.st {
            parked.has_outcome = true;
            chain.slots.clear();
        } else {
            self.batch.due.push((number, "the server answered"));
        }
    }

    fn visits_demanded(&mut self, number: usize, wanted: &[u64]) {
        let now = self.now;
        let chain = &mut self.chains[number];
        chain.slots.clear();
        let is_same = chain.visits.len() == wanted.len()
            && wanted.iter().all(|mark| chain.visits.iter().any(|(known, _)| known == mark));
        let lacks_url = chain.newest.allows & words::URL == 0;
        if is_same && std::mem::take(&mut chain.may_wait) {
            let is_done = chain.visits.iter().all(|(_, is_done)| *is_done);
            // A parked one is sent once more when its client comes back.
            if !matches!(chain.st, St::Parked(_)) {
                chain.st = St::Visiting { until: if is_done { now } else { now + VISITING_MS } };
            }
            return;
        }
        chain.visits = wanted.iter().map(|mark| (*mark, false)).collect();
        chain.hidden_visits = wanted.to_vec();
        if lacks_url {
            chain.may_miss |= words::URL;
        }
        if !matches!(chain.st, St::Parked(_)) {
            self.batch.due.push((number, "visits are demanded"));
        }
    }

    /// `notifications/elicitation/complete` (E29).
    pub(super) fn server_visited(&mut self, mark: u64) {
        let since = self.now;
        for number in self.live.clone() {
            let chain = &mut self.chains[number];
            for (known, is_done) in &mut chain.visits {
                *is_done |= *known == mark;
            }
            let all_done = chain.visits.iter().all(|(_, is_done)| *is_done);
            if matches!(chain.st, St::Visiting { .. }) && all_done {
                chain.st = St::Waiting { since, is_ahead: true };
            }
        }
    }

    /// A leg is answered with questions.
    pub(super) fn parks(&mut self, leg: &Leg, result: &Json) -> Check {
        let ask = &leg.ask;
        ensure(words::is_mrtr(&ask.method), "E1-only-on-three-methods", || ask.method.clone())?;
        let Some(number) = leg.chain else {
            return broken("E12-result-for-a-bad-state", result.short(200));
        };
        let state = result.get("requestState").and_then(Json::text).unwrap_or_default();
        ensure(!self.states.contains_key(state), "E13-fresh-state", || state.to_owned())?;
        let requests = result.get("inputRequests").and_then(Json::members).unwrap_or_default();
        ensure(!requests.is_empty(), "E3-asks-something", || result.short(200))?;
        let is_partial =
            leg.verdict == Some(Verdict::Partial) && self.batch.returned.contains(&number);
        let mut shown = Vec::new();
        for (key, request) in requests {
            let source = self.source(number, request)?;
            self.check_shown(number, key, source, ask)?;
            shown.push(key.clone());
        }
        let chain = &self.chains[number];
        if is_partial {
            let open: Vec<_> = chain.open_slots().map(|(key, _)| key.clone()).collect();
            ensure(open.iter().all(|key| shown.contains(key)), "E15-asks-the-rest", || {
                format!("{shown:?} instead of {open:?}")
            })?;
            ensure(shown.len() == open.len(), "E15-asks-only-the-rest", || format!("{shown:?}"))?;
        }
        let had_reply = chain.reply.is_some() && !self.chains[number].hidden_visits.is_empty();
        let is_late = self.batch.replied.contains(&number) && !had_reply;
        ensure(!is_late, "E6-the-result-comes-first", || format!("{ask:?}"))?;
        self.park(number, state)?;
        self.check_all_shown(number)
    }

    fn park(&mut self, number: usize, state: &str) -> Check {
        let now = self.now;
        let max = self.settings.limits.request_max_ms;
        let until = now + self.settings.limits.mrtr_ttl_ms;
        let chain = &mut self.chains[number];
        chain.rounds += 1;
        let rule = match chain.st {
            St::Waiting { .. } => "E27-rounds-of-folders",
            _ => "E27-rounds",
        };
        ensure(chain.rounds <= MOST_ROUNDS, rule, || format!("{:?}", chain.ask))?;
        let left = match chain.st {
            St::Waiting { .. } | St::Visiting { .. } => max,
            St::Running { latest, .. } => latest.saturating_sub(now),
            St::Returning { left, since, is_silent } => {
                chain.unseen_ms += if is_silent { now - since } else { 0 };
                chain.is_order_unsure |= is_silent;
                left
            }
            St::Parked(_) | St::Over => {
                return broken("I1-one-answer-each", format!("{:?} parks twice", chain.ask));
            }
        };
        chain.hidden_visits.clear();
        chain.progress.leg_ended();
        chain.st = St::Parked(Parked { state: state.to_owned(), until, has_outcome: false, left });
        self.states.insert(state.to_owned(), number);
        let parked = self.live.iter().copied().filter_map(|n| match &self.chains[n].st {
            St::Parked(parked) => Some((parked.until, n)),
            _ => None,
        });
        let parked: Vec<_> = parked.collect();
        if let (true, Some((_, oldest))) = (parked.len() > MOST_PARKED, parked.iter().min())
            && self.chains[*oldest].call.is_none()
        {
            self.chain_over(*oldest); // nothing to cancel
        }
        Ok(())
    }

    /// Where a question comes from, by what the client sees of it.
    fn source(&self, number: usize, request: &Json) -> Result<Source, super::Fault> {
        let method = request.get("method").and_then(Json::text).unwrap_or_default();
        let params = request.get("params");
        let member = |name: &str| params.and_then(|params| params.get(name));
        let mark = member("_meta").and_then(|meta| meta.get(QUESTION)).and_then(Json::as_u64);
        if let Some(mark) = mark {
            let found = self.asked.iter().position(|asked| asked.question.mark == mark);
            return found.map_or_else(
                || broken("E5-a-question-of-the-server", format!("mark {mark}")),
                |at| Ok(Source::Question(at)),
            );
        }
        if method == "roots/list" {
            return Ok(Source::Roots);
        }
        let visit = member("message").and_then(Json::text).and_then(|text| text.strip_prefix('v'));
        match visit.and_then(|visit| visit.parse().ok()) {
            Some(visit) => Ok(Source::Visit(visit)),
            None => {
                broken("E5-a-question-of-the-server", format!("{number}: {}", request.short(200)))
            }
        }
    }

    /// May this leg be shown this question under this key (E4, E7, E25)?
    fn check_shown(&mut self, number: usize, key: &str, source: Source, ask: &Ask) -> Check {
        let needs = match source {
            Source::Question(at) => {
                self.check_question_shown(number, at)?;
                self.asked[at].question.needs
            }
            Source::Roots => {
                ensure(self.may_hold_folders(), "E20-folders-are-asked-for", || {
                    format!("{ask:?}")
                })?;
                words::ROOTS
            }
            Source::Visit(mark) => {
                let chain = &self.chains[number];
                let is_known = chain.hidden_visits.contains(&mark)
                    || chain.slots.values().any(|slot| slot.source == source);
                ensure(is_known, "E28-the-visits-demanded", || format!("{mark}"))?;
                words::URL
            }
        };
        ensure(needs & !ask.allows == 0, "E7-capability-gate", || {
            format!("{source:?} to {ask:?}")
        })?;
        let chain = &mut self.chains[number];
        let before = chain.keys.insert(key.to_owned(), source);
        ensure(before.is_none_or(|old| old == source), "E4-keys-are-not-reused", || {
            format!("{key}: {before:?}, then {source:?}")
        })?;
        let old_key = chain.slots.iter().find(|(_, slot)| slot.source == source).map(|(k, _)| k);
        ensure(old_key.is_none_or(|old| old == key), "E15-same-keys", || {
            format!("{old_key:?}, then {key}")
        })?;
        chain.slots.insert(key.to_owned(), Slot { source, answer: None });
        Ok(())
    }

    /// A chain's request goes up, or goes up again.
    pub(super) fn forwarded(&mut self, number: usize, call: u64) -> Check {
        self.check_forward(number)?;
        let limits = &self.settings.limits;
        let (idle, latest) =
            (self.now + limits.request_timeout_ms, self.now + limits.request_max_ms);
        self.sent += 1;
        self.session.levels_in_a_row = 0;
        let (sent, sent_at) = (self.sent, self.now);
        let chain = &mut self.chains[number];
        chain.st = St::Running { idle, latest };
        chain.call = Some(call);
        chain.was_forwarded = true;
        chain.may_miss |= self.batch.mixed_needs & !chain.newest.allows;
        chain.reply = None;
        (chain.sent, chain.sent_at) = (sent, sent_at);
        chain.is_order_unsure = false;
        let token = chain.newest.token.is_some();
        chain.progress.forwarded(token);
        if !chain.is_mrtr() {
            self.watch_folders(number);
        }
        Ok(())
    }

    /// The first of a returning chain's answers goes up.
    pub(super) fn answers_go(&mut self, number: usize) -> Check {
        if self.batch.answered.contains(&number) {
            return Ok(());
        }
        let St::Returning { left, .. } = self.chains[number].st else {
            let text = format!("{:?} {:?}", self.chains[number].st, self.chains[number].newest);
            return broken("E15-answers-after-a-retry", text);
        };
        self.check_answers_may_go(number)?;
        self.batch.answered.push(number);
        let idle = self.now + self.settings.limits.request_timeout_ms;
        let latest = self.now + left;
        self.sent += 1;
        self.session.levels_in_a_row = 0;
        let (sent, sent_at) = (self.sent, self.now);
        let chain = &mut self.chains[number];
        chain.st = St::Running { idle, latest };
        (chain.sent, chain.sent_at) = (sent, sent_at);
        chain.is_order_unsure = false;
        self.queued_are_due(number);
        self.check_level_told(number)
    }

    /// The process is lost, and all open calls with it (H12, E24).
    pub(super) fn chains_lost(&mut self) {
        for number in self.live.clone() {
            let now = self.now;
            let chain = &mut self.chains[number];
            chain.slots.clear();
            chain.hidden_visits.clear();
            chain.call = None;
            match &chain.st {
                St::Waiting { .. } | St::Over => {}
                St::Visiting { .. } => chain.st = St::Waiting { since: now, is_ahead: true },
                St::Running { .. } | St::Returning { .. } => {
                    self.batch.due.push((number, "the process is gone"));
                }
                St::Parked(parked) if parked.has_outcome => {}
                St::Parked(parked) => {
                    self.void_states.insert(parked.state.clone());
                    self.chain_over(number);
                }
            }
        }
        self.questions_lost();
        self.streams_lost();
        self.folders_told = None;
        self.held_until = None;
        self.memory_lost();
    }

    /// At the end of an event: every clock of a chain that has run out was acted upon (D7, E13).
    pub(super) fn check_clocks(&mut self) -> Check {
        let now = self.now;
        for number in self.live.clone() {
            let chain = &self.chains[number];
            match &chain.st {
                St::Running { idle, latest } => {
                    ensure(*idle > now && *latest > now, "D7-timeouts", || {
                        format!("idle {idle}, latest {latest}: {:?}", chain.newest)
                    })?;
                }
                St::Parked(parked) if parked.until <= now => {
                    ensure(chain.call.is_none(), "E23-expiry", || format!("{:?}", chain.newest))?;
                    self.chain_over(number); // nothing to cancel: it ends without a sound
                }
                _ => {}
            }
        }
        let parked = self.live.iter().filter(|n| matches!(self.chains[**n].st, St::Parked(_)));
        ensure(parked.count() <= MOST_PARKED, "E14-parked-chains", || "more than 32".into())
    }
}
