//! What may go up now, and what must (D6, E20).

use std::collections::BTreeMap;

use super::super::json::Json;
use super::super::talk::{Ask, Topic};
use super::super::words;
use super::chains::{MOST_ROUNDS, St};
use super::legs::Leg;
use super::session::Purpose;
use super::{Check, Ledger, ensure};

/// A retry waits this long for a busy lane; a list too, when it is remembered (D6).
pub(super) const PATIENCE_MS: u64 = 1000;
/// A server digests folders that long (E20).
const DIGEST_MS: u64 = 100;

/// And that long where it is told them again and again.
const DIGEST_LONGEST_MS: u64 = 1000;
/// A log level is waited for that long (F15).
const LEVEL_MS: u64 = 2000;
/// Levels told one after the other without a request between them: more is a circle.
const LEVELS_IN_A_ROW: u64 = 12;

/// The lists last seen, by method and cursor: the call that brought each.
pub(super) type Memory = BTreeMap<(String, String), u64>;

/// `None`: it asks for more than a page of a list, and nothing is remembered of that.
fn memory_key(ask: &Ask) -> Option<(String, String)> {
    let params = Json::parse(&format!("{{{}}}", ask.salient)).ok()?;
    let is_page = params.members()?.iter().all(|(name, _)| name == "cursor");
    is_page.then(|| (ask.method.clone(), ask.salient.clone()))
}

impl Ledger {
    /// Calls that take a place in the lane, as far as that shows.
    fn occupied(&self, except: usize) -> usize {
        let holds = self.settings.hold_lane;
        let takes = |number: &&usize| {
            let chain = &self.chains[**number];
            **number != except
                && match chain.st {
                    St::Running { .. } => true,
                    St::Parked(_) | St::Returning { .. } => holds && chain.call.is_some(),
                    St::Waiting { .. } | St::Visiting { .. } | St::Over => false,
                }
        };
        self.live.iter().filter(takes).count()
    }

    /// Requests that wait for their log level, which also take a place.
    pub(super) fn leveling(&self) -> usize {
        let fresh = |at: &&u64| **at + LEVEL_MS > self.now;
        self.session.level_asked.values().filter(fresh).count()
    }

    /// The server was told folders: it digests them, and goes on digesting where it did not have to
    /// be sent anything meanwhile.
    pub(super) fn digests(&mut self) {
        let is_over = self.digests_until().is_none_or(|end| end <= self.now);
        let was_over = self.digests_until().is_none_or(|end| end <= self.before);
        if is_over && (was_over || self.waiting() == 0) {
            self.folders_since = self.now;
        }
        self.folders_told = Some(self.now);
    }

    fn digests_until(&self) -> Option<u64> {
        let longest = self.folders_since + DIGEST_LONGEST_MS;
        self.folders_told.map(|at| (at + DIGEST_MS).min(longest))
    }

    pub(super) fn is_digesting(&self) -> bool {
        self.digests_until().is_some_and(|end| end > self.now)
    }

    /// Did it still digest when it was last looked at?
    fn was_digesting(&self) -> bool {
        self.digests_until().is_some_and(|end| end >= self.before)
    }

    /// May a whole request go up now?
    pub(super) fn check_forward(&self, number: usize) -> Check {
        let chain = &self.chains[number];
        let ask = &chain.newest;
        let is_owed = self.legs.get(&ask.id).is_some_and(|leg| leg.chain == Some(number));
        ensure(is_owed, "F8-only-wanted-requests", || format!("{ask:?}"))?;
        let waits = match chain.st {
            St::Waiting { .. } => true,
            St::Visiting { until } => until <= self.now,
            St::Running { .. } | St::Parked(_) | St::Returning { .. } | St::Over => false,
        };
        ensure(waits, "D6-sent-once", || format!("{:?} {ask:?}", chain.st))?;
        ensure(self.is_ready(), "H5-after-the-handshake", || format!("{ask:?}"))?;
        ensure(!ask.is_illegal, "B12-never-forwarded", || format!("{ask:?}"))?;
        ensure(!self.is_unsupported(ask), "B8-never-forwarded", || format!("{ask:?}"))?;
        let most = self.settings.limits.parallel;
        ensure(self.occupied(number) < most, "D6-lane", || {
            format!("{} of {most} run, and {ask:?} goes up", self.occupied(number))
        })?;
        ensure(!self.is_digesting(), "E20-digest", || format!("{ask:?}"))?;
        self.check_order(number)?;
        self.check_folders_first(number)
    }

    /// First come, first served; what stands ahead goes first.
    fn check_order(&self, number: usize) -> Check {
        let St::Waiting { is_ahead: false, .. } = self.chains[number].st else { return Ok(()) };
        let levels = self.session.level_asked.values().any(|at| at + LEVEL_MS >= self.before);
        if self.settings.limits.parallel > 1 && levels {
            return Ok(());
        }
        // It stands ahead itself once its level was set.
        let asks = self.chains[number].newest.level.is_some();
        if asks && self.session.leveled_at.is_some_and(|at| at >= self.chains[number].arrived) {
            return Ok(());
        }
        for other in self.live.iter().filter(|other| **other != number) {
            let chain = &self.chains[*other];
            let passed = match chain.st {
                // One whose level was set keeps its place in the lane, not in the line.
                St::Waiting { .. } if chain.newest.level.is_some() && self.was_digesting() => false,
                St::Waiting { is_ahead, .. } => is_ahead || *other < number,
                St::Returning { is_silent, .. } => !is_silent && chain.call.is_some(),
                St::Visiting { .. } | St::Running { .. } | St::Parked(_) | St::Over => false,
            };
            ensure(!passed, "D6-order", || {
                format!(
                    "{:?} goes up before {:?} ({:?})",
                    self.chains[number].newest, chain.newest, chain.st
                )
            })?;
        }
        Ok(())
    }

    /// Folders are asked for before a call goes up (E20).
    fn check_folders_first(&self, number: usize) -> Check {
        let chain = &self.chains[number];
        if !chain.is_mrtr() || !self.holds_folders() {
            return Ok(());
        }
        let is_asked = self.live.iter().any(|other| self.chains[*other].asks_folders());
        // Who has been asked too often is not asked for folders either (E27).
        let declares = chain.newest.allows & words::ROOTS != 0 && chain.rounds < MOST_ROUNDS;
        ensure(!declares && is_asked, "E20-folders-first", || format!("{:?}", chain.newest))
    }

    /// May the answers of a chain that returned go up now?
    pub(super) fn check_answers_may_go(&self, number: usize) -> Check {
        let St::Returning { since, .. } = self.chains[number].st else { return Ok(()) };
        let is_forced = !self.settings.hold_lane && since + PATIENCE_MS <= self.now;
        let is_free = self.occupied(number) < self.settings.limits.parallel;
        let keeps = self.settings.hold_lane;
        ensure(is_forced || is_free || keeps, "D6-answers-wait", || {
            format!("returned at {since}: {:?}", self.chains[number].newest)
        })
    }

    /// A list came from the server.
    pub(super) fn remember(&mut self, number: usize, call: u64) {
        let ask = &self.chains[number].ask;
        if let Some(key) = memory_key(ask).filter(|_| words::is_list(&ask.method)) {
            self.memory.insert(key, call);
        }
    }

    /// A list that was answered without the server (D6).
    pub(super) fn check_memory(&self, leg: &Leg, number: usize, call: u64) -> Check {
        let chain = &self.chains[number];
        ensure(!chain.was_forwarded, "A17-the-right-result", || {
            format!("{:?} got {call}", leg.ask)
        })?;
        let known = memory_key(&leg.ask).and_then(|key| self.memory.get(&key));
        ensure(known == Some(&call), "D6-the-last-list", || format!("{known:?}, not {call}"))?;
        ensure(leg.since + PATIENCE_MS <= self.now, "D6-a-list-waits-first", || {
            format!("since {}", leg.since)
        })?;
        // One whose level was set keeps its place while folders are digested.
        let busy = self.occupied(number) + self.leveling() + self.silent();
        let may_be_busy = busy >= self.settings.limits.parallel || self.is_digesting();
        ensure(may_be_busy, "D6-only-behind-a-busy-lane", || format!("{:?}", leg.ask))
    }

    fn silent(&self) -> usize {
        self.live.iter().filter(|number| self.chains[**number].is_silent()).count()
    }

    /// The server said that lists changed.
    pub(super) fn lists_changed(&mut self, topic: &Topic) {
        self.memory.retain(|(method, _), _| match topic {
            Topic::Tools => method != "tools/list",
            Topic::Prompts => method != "prompts/list",
            Topic::Resources => !method.starts_with("resources/"),
            Topic::Updated(_) => true,
        });
    }

    pub(super) fn memory_lost(&mut self) {
        self.memory.clear();
        self.lost_at = Some(self.now);
    }

    /// At the end of an event: nothing waits that could go.
    pub(super) fn check_lane(&self) -> Check {
        if !self.is_ready() || self.silent() > 0 {
            return Ok(());
        }
        let busy = self.occupied(usize::MAX) + self.leveling();
        let is_free = busy < self.settings.limits.parallel;
        // Those that wait for their log level have left the line.
        let has_line = self.waiting() > self.leveling();
        for number in &self.live {
            let chain = &self.chains[*number];
            match chain.st {
                St::Waiting { .. } if is_free && has_line && !self.is_digesting() => {
                    ensure(false, "D6-a-free-lane-is-used", || format!("{:?}", chain.newest))?;
                }
                St::Waiting { since, is_ahead: false } => self.check_escape(*number, since)?,
                // A request whose level is set keeps its place while folders are digested.
                St::Returning { since, .. } if chain.call.is_some() && !self.is_digesting() => {
                    let is_forced = !self.settings.hold_lane && since + PATIENCE_MS <= self.now;
                    ensure(!is_free && !is_forced, "D6-answers-go", || {
                        format!("returned at {since}: {:?}", chain.newest)
                    })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A remembered list does not wait longer than a second.
    fn check_escape(&self, number: usize, since: u64) -> Check {
        let chain = &self.chains[number];
        let known = memory_key(&chain.ask).and_then(|key| self.memory.get(&key));
        let since = since.max(self.ready_at);
        // One whose level was set stands ahead of the line, where no list is answered from memory.
        let is_leveled =
            chain.newest.level.is_some() && self.session.leveled_at >= Some(chain.arrived);
        let is_certain =
            self.lost_at.is_none_or(|at| at < chain.arrived) && self.leveling() == 0 && !is_leveled;
        let is_late = known.is_some() && is_certain && since + PATIENCE_MS <= self.now;
        ensure(!is_late || self.is_digesting(), "D6-a-known-list-does-not-wait", || {
            format!("since {since}: {:?}", chain.newest)
        })
    }

    /// The server was told a log level before a request (F15).
    pub(super) fn level_sent(&mut self, id: u64, level: usize) -> Check {
        ensure(self.session.offers.has("logging"), "F15-only-where-offered", || "setLevel".into())?;
        ensure(self.session.level != Some(level), "F15-only-when-it-differs", || {
            format!("{level}")
        })?;
        self.session.level = Some(level);
        self.session.leveled_at = Some(self.now);
        self.session.levels_in_a_row += 1;
        let row = self.session.levels_in_a_row;
        ensure(row <= LEVELS_IN_A_ROW, "F15-levels-lead-to-requests", || format!("{row}"))?;
        self.session.level_asked.insert(id, self.now);
        self.book_id(id, Purpose::Level)?;
        // As verbose as every leg that runs and asked for messages.
        for number in &self.live {
            let chain = &self.chains[*number];
            if let (true, Some(wanted)) = (chain.is_running(), chain.newest.level) {
                ensure(level <= wanted, "F15-never-less-than-wanted", || {
                    format!("{level} told, {wanted} wanted by {:?}", chain.newest)
                })?;
            }
        }
        Ok(())
    }

    /// The server knows a level that serves this leg.
    pub(super) fn check_level_told(&self, number: usize) -> Check {
        let wanted = self.chains[number].newest.level;
        let Some(wanted) = wanted.filter(|_| self.session.offers.has("logging")) else {
            return Ok(());
        };
        let told = self.session.level;
        ensure(told.is_some_and(|told| told <= wanted), "F15-told-first", || {
            format!("{told:?} told, {wanted} wanted by {:?}", self.chains[number].newest)
        })
    }
}
