//! The fewest acts that still break a rule.
//!
//! Events of a failing run cannot just be left out of a list: answers name ids, retries name states
//! and keys that another list would not give. So acts are left out (see `turns`), the world is played
//! again, and what is left counts if the same rule breaks. Each such run could happen by itself.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::time::{Duration, Instant};

use super::turns::{Act, Turns};
use super::world::Run;

/// Runs, and the time they take together, after which what was found by then is good enough.
const MOST_RUNS: u64 = 2000;
const LONGEST: Duration = Duration::from_secs(5);

/// The fewest acts that were found.
#[derive(Debug)]
pub(crate) struct Minimal {
    pub(crate) acts: Vec<Act>,
    /// Acts of the whole run.
    pub(crate) of: usize,
}

struct Search<P> {
    play: P,
    rule: String,
    runs: u64,
    started: Instant,
}

/// `None`: not even all acts of the run, named one by one, break the rule.
pub(crate) fn minimise(rule: &str, play: impl Fn(&Turns) -> Run) -> Option<Minimal> {
    #[allow(clippy::disallowed_methods, reason = "how long a person waits, nothing in a run")]
    let started = Instant::now();
    let mut search = Search { play, rule: rule.to_owned(), runs: 0, started };
    hush(|| search.all())
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Each run of a core that panics would say so: not from this thread, not now.
fn hush<T>(act: impl FnOnce() -> T) -> T {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let done = act();
    IS_QUIET.set(false);
    done
}

impl<P: Fn(&Turns) -> Run> Search<P> {
    fn all(&mut self) -> Option<Minimal> {
        let whole = self.breaks(&Turns::default())?;
        let mut acts = self.breaks(&Turns::only(whole.iter().copied()))?;
        let mut size = acts.len();
        while size > 0 {
            let before = acts.len();
            acts = self.without_pieces(acts, size);
            if size > 1 || acts.len() == before {
                size /= 2; // single acts until none can go
            }
        }
        Some(Minimal { acts, of: whole.len() })
    }

    /// Leaves out each piece of this many acts that can go.
    fn without_pieces(&mut self, mut acts: Vec<Act>, size: usize) -> Vec<Act> {
        let mut at = 0;
        while at < acts.len() {
            let end = (at + size).min(acts.len());
            let rest = acts[..at].iter().chain(&acts[end..]).copied();
            match self.breaks(&Turns::only(rest)) {
                Some(fewer) => acts = fewer,
                None => at = end,
            }
        }
        acts
    }

    /// What was done up to the fault, where the same rule breaks again.
    fn breaks(&mut self, turns: &Turns) -> Option<Vec<Act>> {
        if self.runs >= MOST_RUNS || self.started.elapsed() > LONGEST {
            return None;
        }
        let run = catch_unwind(AssertUnwindSafe(|| (self.play)(turns))).ok()?;
        self.runs += 1;
        run.fault.filter(|fault| fault.rule == self.rule).map(|_| run.acts)
    }
}

#[cfg(test)]
mod tests {
    use mcp_uplift::bridge::{Limits, Settings};

    use super::super::world::play_judged;
    use super::*;

    /// The first seed on which a wrong belief shows as this rule, and the fewest acts for it.
    fn fewest(rule: &str, believed: fn(&Settings) -> Settings) -> Minimal {
        let play = |seed, turns: &Turns| play_judged(seed, turns, true, believed);
        // A run of some length, so that there is something to leave out.
        let breaks = |seed: &u64| {
            let run = play(*seed, &Turns::default());
            run.acts.len() > 20 && run.fault.is_some_and(|fault| fault.rule == rule)
        };
        let seed = (1..500).find(breaks).unwrap();
        let minimal = minimise(rule, |turns| play(seed, turns)).unwrap();
        let again = play(seed, &Turns::only(minimal.acts.iter().copied()));
        assert_eq!(again.fault.map(|fault| fault.rule), Some(rule), "seed {seed}: {minimal:?}");
        assert!(minimal.acts.len() < minimal.of, "seed {seed}: {minimal:?}");
        minimal
    }

    /// A ledger that allows two unanswered requests: three requests break that, nothing else is
    /// needed.
    #[test]
    fn three_requests_are_three_acts() {
        let minimal = fewest("R-in-flight", |settings| {
            let limits = Limits { in_flight: 2, ..settings.limits.clone() };
            Settings { limits, ..settings.clone() }
        });
        let (client, server): (Vec<Act>, Vec<Act>) =
            minimal.acts.iter().partition(|act| act.actor == 0);
        assert!(client.len() <= 4 && server.is_empty(), "{minimal:?}");
    }

    /// A ledger that gives a question half a second: a call, the handshake and the question, and the
    /// bridge means to sleep for longer.
    #[test]
    fn a_question_that_stays_open_needs_its_call() {
        let minimal = fewest("I7-wakes-in-time", |settings| {
            let limits = Limits { mrtr_ttl_ms: 500, ..settings.limits.clone() };
            Settings { limits, ..settings.clone() }
        });
        assert!((3..=8).contains(&minimal.acts.len()), "{minimal:?}");
    }
}
