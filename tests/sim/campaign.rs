//! Many seeds on all cores, and the story of the first that fails.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::minimise::minimise;
use super::turns::Turns;
use super::world::Run;

/// Seeds after which a long campaign says how far it is.
const MILESTONE: u64 = 100_000;

/// Is only the first broken rule wanted, without its story?
fn is_brief() -> bool {
    std::env::var_os("SIM_BRIEF").is_some()
}

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

pub(crate) struct Campaign {
    /// The test, for the command that replays a seed.
    pub(crate) name: &'static str,
    /// Plays these acts of a seed; keeps its transcript where it is told to.
    pub(crate) play: fn(u64, &Turns, bool) -> Run,
    /// Of the seeds that `SIM_SEEDS` asks for, it plays one in so many.
    pub(crate) one_in: u64,
}

impl Campaign {
    /// Plays the one seed that was asked for and tells all of it, or plays many.
    pub(crate) fn run(&self, seeds: u64) {
        if let Some(seed) = number("SIM_SEED") {
            return self.replay(seed);
        }
        let first = number("SIM_FIRST").unwrap_or(1);
        let end = first + number("SIM_SEEDS").map_or(seeds, |seeds| seeds / self.one_in);
        let events = AtomicU64::new(0);
        let broken = self.play_all(first, end, &events);
        let count = broken.values().map(Vec::len).sum::<usize>();
        println!("{}: {} seeds, {} events", self.name, end - first, events.into_inner());
        for (rule, seeds) in &broken {
            println!("{:>6} seeds break {rule}, the first is {}", seeds.len(), seeds[0]);
        }
        if let Some((rule, seeds)) = broken.first_key_value() {
            let story = if is_brief() { String::new() } else { self.story(seeds[0], rule) };
            panic!("{count} seeds fail; seed {} breaks {rule}\n{story}", seeds[0]);
        }
    }

    /// One seed, all of it or the acts that `SIM_ACTS` names.
    fn replay(&self, seed: u64) {
        let turns = match std::env::var("SIM_ACTS").map(|acts| acts.parse::<Turns>()) {
            Ok(Ok(turns)) => turns,
            Ok(Err(why)) => panic!("SIM_ACTS: {why}"),
            Err(_) => Turns::default(),
        };
        let run = (self.play)(seed, &turns, true);
        println!("{}", transcript(&run));
        if let Some(fault) = &run.fault {
            let story =
                if turns.is_reduced() { String::new() } else { self.story(seed, fault.rule) };
            panic!("seed {seed} breaks {}\n{story}", fault.rule);
        }
    }

    /// Seeds that fail, in order, by the rule they break.
    fn play_all(&self, first: u64, end: u64, events: &AtomicU64) -> BTreeMap<String, Vec<u64>> {
        let next = AtomicU64::new(first);
        let broken = Mutex::new(BTreeMap::<String, Vec<u64>>::new());
        let is_broken = AtomicBool::new(false);
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end || is_brief() && is_broken.load(Ordering::Relaxed) {
                    return;
                }
                if (seed - first + 1).is_multiple_of(MILESTONE) {
                    println!("{} seeds", seed - first + 1);
                }
                if let (Err(rule), Ok(mut broken)) = (self.verdict(seed, events), broken.lock()) {
                    is_broken.store(true, Ordering::Relaxed);
                    broken.entry(rule).or_default().push(seed);
                }
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        let mut broken = broken.into_inner().unwrap_or_default();
        broken.values_mut().for_each(|seeds| seeds.sort_unstable());
        broken
    }

    /// The rule that a seed breaks, if it does.
    fn verdict(&self, seed: u64, events: &AtomicU64) -> Result<(), String> {
        let run = catch_unwind(AssertUnwindSafe(|| (self.play)(seed, &Turns::default(), false)));
        let Ok(run) = run else { return Err("I10-no-panic".into()) };
        events.fetch_add(run.events, Ordering::Relaxed);
        run.fault.map_or(Ok(()), |fault| Err(fault.rule.to_owned()))
    }

    /// The fewest acts that break the rule, what the core wrote in answer, and how to see it again.
    fn story(&self, seed: u64, rule: &str) -> String {
        let again = format!("cargo test --test sim {} -- --nocapture\n", self.name);
        let whole = format!("all of it: SIM_SEED={seed} {again}");
        let Some(minimal) = minimise(rule, |turns| (self.play)(seed, turns, false)) else {
            return whole; // the model itself panics, and its message went to stderr
        };
        let acts: Vec<_> = minimal.acts.iter().map(ToString::to_string).collect();
        let run = (self.play)(seed, &Turns::only(minimal.acts.iter().copied()), true);
        format!(
            "{} of {} acts are enough:\n{}again: SIM_SEED={seed} SIM_ACTS={} {again}{whole}",
            acts.len(),
            minimal.of,
            transcript(&run),
            acts.join(",")
        )
    }
}

/// What went in and out, and what was broken by it.
fn transcript(run: &Run) -> String {
    let mut text = run.lines.join("\n") + "\n";
    if let Some(fault) = &run.fault {
        text += &format!("at {} ms, {}: {}\n", run.now, fault.rule, fault.what);
    }
    text
}
