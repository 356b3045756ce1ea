//! The simulation: seeded clients and servers against the core on a virtual clock, every rule that
//! must always hold checked after every event.
//!
//! `cargo test --test sim` plays a few thousand seeds, `SIM_SEEDS=N` others, `SIM_FIRST=N` from
//! another one on; `SIM_SEED=N` plays one and shows all of it when it fails.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::match_same_arms,
    reason = "the model looks at few of many cases, and says why for each"
)]
#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "../support/json.rs"]
#[allow(dead_code, reason = "the cases use more of it")]
mod json;

mod client;
mod known;
mod ledger;
mod legacy;
mod plan;
mod rng;
mod server;
mod talk;
mod trace;
mod words;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use world::{Run, play};

const SEEDS: u64 = 2000;
const SHOWN: usize = 60;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Why a seed fails: the rule and the whole story.
fn failure(seed: u64) -> Option<(String, Run)> {
    match catch_unwind(AssertUnwindSafe(|| play(seed, false))) {
        Ok(run) => {
            let rule = run.fault.as_ref().map(|fault| fault.rule.to_owned())?;
            Some((rule, run))
        }
        Err(_) => {
            Some(("panic".into(), Run { events: 0, hash: 0, fault: None, lines: vec![], now: 0 }))
        }
    }
}

fn story(seed: u64, rule: &str) -> String {
    let run = catch_unwind(AssertUnwindSafe(|| play(seed, true)));
    let mut text = format!("\nseed {seed} breaks {rule}\n");
    if let Ok(run) = run {
        let all = number("SIM_SEED").is_some();
        let skip = if all { 0 } else { run.lines.len().saturating_sub(SHOWN) };
        for line in &run.lines[skip..] {
            text += line;
            text.push('\n');
        }
        if let Some(fault) = run.fault {
            text += &format!("at {} ms, {}: {}\n", run.now, fault.rule, fault.what);
        }
    }
    text + &format!("SIM_SEED={seed} cargo test --test sim\n")
}

/// The same events at the same times give the same effects (invariant 8).
#[test]
fn a_seed_tells_one_story() {
    for seed in 1..=100 {
        assert_eq!(play(seed, false).hash, play(seed, false).hash, "seed {seed}");
    }
    assert_ne!(play(1, false).hash, play(2, false).hash);
}

#[test]
fn seeds() {
    if let Some(seed) = number("SIM_SEED") {
        if let Some((rule, _)) = failure(seed) {
            panic!("{}", story(seed, &rule));
        }
        return;
    }
    let first = number("SIM_FIRST").unwrap_or(1);
    let end = first + number("SIM_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(first);
    let events = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    match catch_unwind(AssertUnwindSafe(|| play(seed, false))) {
                        Ok(run) => {
                            events.fetch_add(run.events, Ordering::Relaxed);
                            if let Some(fault) = run.fault
                                && let Ok(mut failures) = failures.lock()
                            {
                                failures.push((fault.rule.to_owned(), seed));
                            }
                        }
                        Err(_) => {
                            if let Ok(mut failures) = failures.lock() {
                                failures.push(("panic".to_owned(), seed));
                            }
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort();
    let mut counts = std::collections::BTreeMap::<String, (u64, u64)>::new();
    for (rule, seed) in &failures {
        counts.entry(rule.clone()).or_insert((0, *seed)).0 += 1;
    }
    println!("{} events, {} failing seeds of {}", events.into_inner(), failures.len(), end - first);
    for (rule, (count, seed)) in &counts {
        println!("{count:>6} {rule} first {seed}");
    }
    if let Some((rule, seed)) = failures.first() {
        panic!("{}", story(*seed, rule));
    }
}
