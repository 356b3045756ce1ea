//! Plants deliberate faults in the core, one at a time, and asks whether the checks see them.
//!
//! `make mutants` copies the sources to the target directory and changes nothing else. For each
//! fault of `faults.txt` it builds the copy, plays the simulation and, if need be, the cases in
//! memory. A fault that nobody catches is a hole in the checks. `ONLY=NAME` takes the faults whose
//! name begins so; `SIM_SEEDS=N` sets how many seeds are played.

#![allow(clippy::print_stdout, reason = "the table is what this program is for")]

mod faults;
mod tree;
mod trial;

use std::path::Path;
use std::process::ExitCode;

use faults::{Fault, Player};
use tree::Tree;
use trial::Verdict;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| "target/mutants".into());
    let only: Vec<String> = args.collect();
    match run(Path::new(&folder), &only) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Was each of them caught by whom it should be?
fn run(folder: &Path, only: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = faults::load(&root.join("tests/mutants/faults.txt"))?;
    // All of them fit, before hours are spent on some of them.
    all.iter().try_for_each(|fault| fault.apply(root).map(drop))?;
    let tree = Tree::copy(root, folder)?;
    let is_wanted =
        |fault: &&Fault| only.is_empty() || only.iter().any(|name| fault.name.starts_with(name));
    match (trial::simulation(&tree)?, trial::cases(&tree)?) {
        (Verdict::Passes, Verdict::Passes) => println!("{:<28} passes", "without a fault"),
        (sim, cases) => return Err(format!("without a fault: sim {sim}; cases {cases}")),
    }
    let (mut caught, mut missed) = (0, 0);
    for fault in all.iter().filter(is_wanted) {
        let (is_caught, text) = trial(&tree, fault)?;
        println!("{:<28} {:<4} {text}", fault.name, fault.rules);
        *(if is_caught { &mut caught } else { &mut missed }) += 1;
    }
    println!("make mutants: {caught} caught, {missed} not caught");
    Ok(missed == 0)
}

/// Plays one fault; was it caught as it should be, and by what?
fn trial(tree: &Tree, fault: &Fault) -> Result<(bool, String), String> {
    let planted = tree.plant(fault)?;
    let sim = trial::simulation(tree).map_err(|why| format!("{}: {why}", fault.name))?;
    let told = match (sim, fault.player) {
        (Verdict::Passes, player) => match (trial::cases(tree)?, player) {
            (Verdict::Passes, _) => (false, "NOT CAUGHT".into()),
            (cases, Player::Cases) => (true, format!("caught by cases: {cases}")),
            (cases, Player::Sim) => (false, format!("NOT CAUGHT by sim; by cases: {cases}")),
        },
        (sim, _) => (true, format!("caught by sim: {sim}")),
    };
    planted.mend()?;
    Ok(told)
}
