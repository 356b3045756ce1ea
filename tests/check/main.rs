//! `mcp-uplift check` against servers that break one rule at a time, its command line and its reports.
//!
//! `cargo test --test check` plays everything; `-- WORD...` what has a word in its name. `JOBS=N` sets
//! how many run side by side: they mostly wait.
//!
//! This binary, started with `--mode`, is the server of all of them: `tests/fixture/readiness`.
//!
//! ```text
//!  cases.tsv ─▶ table ─▶ verdicts ─┐
//!              command_line ───────┼─▶ program ─▶ mcp-uplift check ─▶ this binary
//!         reports, scope ────────────┘
//! ```
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

mod command_line;
mod program;
mod reports;
mod scope;
mod strain;
mod table;
mod verdicts;

#[path = "../fixture/readiness/main.rs"]
mod readiness_server;

// Shared with the cases; each target uses its part.
#[path = "../support/in_time.rs"]
mod in_time;
#[allow(dead_code)]
#[path = "../support/json.rs"]
mod json;
#[allow(dead_code)]
#[path = "../support/sys.rs"]
mod sys;
#[allow(dead_code)]
#[path = "../support/work.rs"]
mod work;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is wrong, one sentence each.
type Complaints = Vec<String>;

/// A name, and what finds out what is wrong.
struct Job {
    name: String,
    play: Box<dyn Fn() -> Complaints + Send + Sync>,
}

/// A complaint where something is not so.
macro_rules! need {
    ($so:expr, $($words:tt)*) => {
        if !$so {
            return Err(format!($($words)*));
        }
    };
}
pub(crate) use need;

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--mode" || word == "--hold") {
        return readiness_server::main();
    }
    sys::usual_signals();
    let jobs = match verdicts::jobs() {
        Ok(jobs) => jobs,
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let checks = command_line::CHECKS.iter().chain(reports::CHECKS);
    let checks = checks.chain(scope::CHECKS).chain(strain::CHECKS);
    let checks = checks.map(|(name, check)| Job {
        name: format!("check {name}"),
        play: Box::new(|| check().err().into_iter().collect()),
    });
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Flags of cargo's own test runner mean nothing here.
    let words: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_told =
        |job: &Job| words.is_empty() || words.iter().any(|word| job.name.contains(word.as_str()));
    let jobs: Vec<Job> = checks.chain(jobs).filter(is_told).collect();
    if jobs.is_empty() {
        println!("nothing is called like that: {words:?}");
        return ExitCode::FAILURE;
    }
    let skipped = AtomicUsize::new(0);
    let (turns, again) = (Mutex::new(jobs.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..side_by_side() {
            scope.spawn(|| {
                while let Some(job) = turns.lock().ok().and_then(|mut turns| turns.next()) {
                    match play(job) {
                        Outcome::Passed => {}
                        Outcome::Skipped => _ = skipped.fetch_add(1, Ordering::Relaxed),
                        Outcome::Failed => again.lock().expect("no thread panics").push(job),
                    }
                }
            });
        }
    });
    // What takes its time may take too much of it beside others: what counts is how it does alone.
    let again = again.into_inner().expect("no thread panics");
    let failed = again.iter().filter(|job| play(job) == Outcome::Failed).count();
    let only_alone = match again.len() - failed {
        0 => String::new(),
        count => format!(", {count} of those that passed only alone"),
    };
    let skipped = skipped.into_inner();
    let left_out = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    let passed = jobs.len() - failed - skipped;
    println!("{passed} passed, {failed} failed{only_alone}{left_out}");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Passed,
    /// This system does not let it be played.
    Skipped,
    Failed,
}

/// Plays one job and prints how it came out.
fn play(job: &Job) -> Outcome {
    let start = work::since_epoch();
    let complaints = (job.play)();
    let seconds = work::since_epoch().saturating_sub(start).as_secs_f32();
    let (word, outcome) = match complaints.first() {
        None => ("PASS", Outcome::Passed),
        Some(why) if why.starts_with(work::SKIPPED) => ("SKIP", Outcome::Skipped),
        Some(_) => ("MISS", Outcome::Failed),
    };
    let lines = complaints.iter().fold(String::new(), |all, one| all + "\n     " + one);
    println!("{word} {:34} [{seconds:.1} s]{lines}", job.name);
    outcome
}

fn side_by_side() -> usize {
    std::env::var("JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(8)
}
