//! Fuzzing without a nightly compiler: seeded inputs against independent models.
//!
//! `cargo test --test fuzz` plays a fixed number of seeds of each target; `-- WORD...` those whose
//! name holds a word. `FUZZ_SECONDS=N` plays each for N seconds on all cores, `FUZZ_FIRST=N` begins
//! at that seed. `FUZZ_SEED=N` plays one seed and prints its input.
//!
//! A target makes an input of a seed and judges it. It plays in a process of its own, so that an
//! overflowing stack or an abort still names its seed.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a model names the cases that a rule names; all others are one"
)]
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

mod answers;
mod asked;
mod campaign;
mod discover;
mod edits;
mod envelopes;
mod equality;
mod errors;
mod framing;
mod messages;
mod model;
mod notes;
mod numbers;
mod options;
mod parsing;
mod results;
mod shrink;
mod tools;
mod tree;
mod upward;
mod visits;
mod words;

#[path = "../support/json.rs"]
#[allow(dead_code, reason = "the cases use more of it")]
mod json;
#[path = "../sim/rng.rs"]
#[allow(dead_code, reason = "the simulation uses more of it")]
mod rng;

use std::process::ExitCode;

use rng::Rng;

/// What is wrong, beginning with the rule that is broken.
type Verdict = Result<(), String>;

/// One thing to try. Both functions begin with the same dice, so that they agree on what is tried.
struct Target {
    name: &'static str,
    /// Seeds that a plain run plays: about a second of one core, unoptimized.
    seeds: u64,
    generate: fn(&mut Rng) -> Vec<u8>,
    check: fn(&mut Rng, &[u8]) -> Verdict,
}

const TARGETS: &[Target] = &[
    framing::TARGET,
    parsing::TARGET,
    edits::TARGET,
    envelopes::TARGET,
    answers::TARGET,
    options::TARGET,
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, name] = &args[..]
        && word == campaign::PLAY
    {
        let target = TARGETS.iter().find(|target| target.name == name);
        return target.map_or(ExitCode::FAILURE, campaign::play);
    }
    // Words of cargo's own test runner mean nothing here.
    let words: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_meant =
        |target: &&Target| words.is_empty() || words.iter().any(|w| target.name.contains(*w));
    let meant: Vec<_> = TARGETS.iter().filter(is_meant).collect();
    let passed = meant.iter().filter(|target| campaign::run(target)).count();
    println!("{passed} passed, {} failed", meant.len() - passed);
    if passed == meant.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
