//! Many seeds on all cores, and the story of the first that fails.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::known;
use super::world::Run;

/// Lines of the transcript that a failure shows.
const SHOWN: usize = 60;
/// Seeds after which a long campaign says how far it is.
const MILESTONE: u64 = 100_000;

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

pub(crate) struct Campaign {
    /// The test, for the command that replays a seed.
    pub(crate) name: &'static str,
    /// Plays a seed; keeps its transcript where it is told to.
    pub(crate) play: fn(u64, bool) -> Run,
}

impl Campaign {
    /// Plays the one seed that was asked for and tells all of it, or plays many.
    pub(crate) fn run(&self, seeds: u64) {
        if let Some(seed) = number("SIM_SEED") {
            match self.verdict(seed, &AtomicU64::new(0)) {
                Ok(()) => println!("{}", self.story(seed, "nothing")),
                Err(rule) => panic!("{}", self.story(seed, &rule)),
            }
            return;
        }
        let first = number("SIM_FIRST").unwrap_or(1);
        let end = first + number("SIM_SEEDS").unwrap_or(seeds);
        let events = AtomicU64::new(0);
        let broken = self.play_all(first, end, &events);
        let count = broken.values().map(Vec::len).sum::<usize>();
        println!("{}: {} seeds, {} events", self.name, end - first, events.into_inner());
        for (rule, seeds) in &broken {
            println!("{:>6} seeds break {rule}, the first is {}", seeds.len(), seeds[0]);
        }
        let unknown = broken.iter().find(|(rule, _)| !known::is_known(rule));
        if let Some((rule, seeds)) = unknown {
            panic!("{count} seeds fail; {}", self.story(seeds[0], rule));
        }
    }

    /// Seeds that fail, in order, by the rule they break.
    fn play_all(&self, first: u64, end: u64, events: &AtomicU64) -> BTreeMap<String, Vec<u64>> {
        let next = AtomicU64::new(first);
        let broken = Mutex::new(BTreeMap::<String, Vec<u64>>::new());
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return;
                }
                if (seed - first + 1).is_multiple_of(MILESTONE) {
                    println!("{} seeds", seed - first + 1);
                }
                if let (Err(rule), Ok(mut broken)) = (self.verdict(seed, events), broken.lock()) {
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
        let run = catch_unwind(AssertUnwindSafe(|| (self.play)(seed, false)));
        let Ok(run) = run else { return Err("I10-no-panic".into()) };
        events.fetch_add(run.events, Ordering::Relaxed);
        run.fault.map_or(Ok(()), |fault| Err(fault.rule.to_owned()))
    }

    /// What happened, what was broken, and how to see it again.
    fn story(&self, seed: u64, rule: &str) -> String {
        let mut text = format!("seed {seed} breaks {rule}\n");
        // A panic leaves no transcript; its message went to stderr.
        if let Ok(run) = catch_unwind(AssertUnwindSafe(|| (self.play)(seed, true))) {
            let shown = if number("SIM_SEED").is_some() { usize::MAX } else { SHOWN };
            let skipped = run.lines.len().saturating_sub(shown);
            for line in run.lines.iter().take(1).chain(&run.lines[skipped.max(1)..]) {
                text += line;
                text.push('\n');
            }
            if let Some(fault) = run.fault {
                text += &format!("at {} ms, {}: {}\n", run.now, fault.rule, fault.what);
            }
        }
        text + &format!("SIM_SEED={seed} cargo test --test sim {}\n", self.name)
    }
}
