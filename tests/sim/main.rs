//! The simulation: seeded clients and servers against the core on a virtual clock, every rule that
//! must always hold checked after every event.
//!
//! `cargo test --test sim` plays a few thousand seeds; `SIM_SEEDS=N` sets how many, `SIM_FIRST=N`
//! from which on. `SIM_SEED=N` plays one, and shows all of it when it fails.

#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::match_same_arms,
    reason = "the model looks at few of many cases, and says why for each"
)]
#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "../support/json.rs"]
#[allow(dead_code, reason = "the cases use more of it")]
mod json;

mod campaign;
mod client;
mod fuzz;
mod ledger;
mod legacy;
mod minimise;
mod plan;
mod rng;
mod server;
mod talk;
mod trace;
mod turns;
mod words;
mod world;

use campaign::{Campaign, number};
use turns::Turns;
use world::{play, play_garbled};

/// Seeds for each test where nothing else is said.
const SEEDS: u64 = 2000;
const GARBLED: u64 = 1000;
const TWICE: u64 = 100;

#[test]
fn every_rule_holds() {
    Campaign { name: "every_rule_holds", play, one_in: 1 }.run(SEEDS);
}

#[test]
fn garbled_lines_do_no_harm() {
    Campaign { name: "garbled_lines_do_no_harm", play: play_garbled, one_in: 4 }.run(GARBLED);
}

#[test]
fn the_same_seed_gives_the_same_transcript() {
    let first = number("SIM_FIRST").unwrap_or(1);
    let turns = Turns::default();
    for seed in first..first + TWICE {
        let (one, other) = (play(seed, &turns, false), play(seed, &turns, false));
        assert_eq!((one.hash, one.events), (other.hash, other.events), "seed {seed}");
    }
}
