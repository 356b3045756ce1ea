//! What only a real process can show: storms, kills, full pipes, signals, memory.
//!
//! `cargo test --test process` plays all stories; `-- WORD...` those whose name holds a word.
//! `STORM=full` takes the large counts, `SEED=N` other dice, `BRIDGE=PATH` another build of the
//! program, `JOBS=N` sets how many stories run side by side.
//!
//! This binary, started with [`client::SERVE`], is the wrapped server of all of them.
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

mod cancel_storm;
mod client;
mod dice;
mod endings;
mod full_pipes;
mod kill_storm;
mod long_run;
mod noise;
mod noise_server;
mod relay;
mod server;
mod start_up;

// Shared with the cases; each target uses its part.
#[allow(dead_code)]
#[path = "../support/envelope.rs"]
mod envelope;
#[allow(dead_code)]
#[path = "../support/json.rs"]
mod json;
#[allow(dead_code)]
#[path = "../support/pipes.rs"]
mod pipes;
#[allow(dead_code)]
#[path = "../support/sys.rs"]
mod sys;
#[allow(dead_code)]
#[path = "../support/work.rs"]
mod work;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A name, and a function that panics when the bridge does wrong and comes back with its figures.
type Story = (&'static str, fn() -> String);

/// The long ones first.
const STORIES: &[Story] = &[
    ("kill_storm", kill_storm::servers_are_killed_under_load),
    ("kill_in_the_restart_handshake", kill_storm::killed_in_the_handshake_of_a_restart),
    ("kill_too_often", kill_storm::killed_too_often),
    ("cancel_storm", cancel_storm::calls_are_cancelled_at_any_moment),
    ("long_run", long_run::many_calls_one_after_the_other),
    ("flood", long_run::lines_come_faster_than_they_are_read),
    ("noise", noise::both_sides_write_nonsense),
    ("slow_client", full_pipes::the_client_stops_reading),
    ("flooded_deaf_server", full_pipes::the_server_stops_reading),
    ("deaf_server_cancelled", full_pipes::calls_to_a_deaf_server_are_cancelled),
    ("slow_client_ends", full_pipes::end_of_input_of_a_client_that_does_not_read),
    ("deaf_server_ends", full_pipes::end_of_input_before_a_deaf_server),
    ("full_signal", full_pipes::signals_while_pipes_are_full),
    ("pester", full_pipes::the_server_pesters),
    ("both_full", full_pipes::nobody_reads),
    ("eof_pipeline", endings::end_of_input_behind_32_requests),
    ("eof_everything_open", endings::end_of_input_with_everything_open),
    ("eof_backoff", endings::end_of_input_while_the_next_server_is_due),
    ("reader_gone", endings::the_reader_goes_during_a_call),
    ("signals", endings::signals_in_every_state),
    ("signal_stubborn", endings::a_signal_and_a_server_that_ignores_all),
    ("bridge_killed", endings::the_bridge_itself_is_killed),
    ("relay", relay::a_legacy_conversation),
    ("relay_cancel", relay::cancelled_requests_are_forgotten),
    ("relay_crash", relay::the_server_crashes),
    ("unstartable", start_up::commands_that_cannot_start),
    ("ends_at_once", start_up::a_server_that_ends_at_once),
    ("mute", start_up::a_server_that_never_answers),
    ("babbles", start_up::a_server_that_only_babbles),
    ("unused", start_up::a_server_that_nobody_asks),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, folder, ways @ ..] = &args[..]
        && word == client::SERVE
    {
        return server::serve(Path::new(folder), ways);
    }
    // Words of cargo's own test runner mean nothing here.
    let words: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let told = |(name, _): &&Story| words.is_empty() || words.iter().any(|w| name.contains(*w));
    let stories: Vec<_> = STORIES.iter().filter(told).collect();
    let (turns, passed) = (Mutex::new(stories.iter()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..jobs() {
            scope.spawn(|| {
                while let Some((name, story)) = turns.lock().ok().and_then(|mut turns| turns.next())
                {
                    match std::thread::spawn(story).join() {
                        Ok(figures) => {
                            passed.fetch_add(1, Ordering::Relaxed);
                            println!("PASS {name}  {figures}");
                        }
                        Err(_) => println!("FAIL {name}"), // why was printed by the panic
                    }
                }
            });
        }
    });
    let (passed, all) = (passed.into_inner(), stories.len());
    println!("{passed} passed, {} failed", all - passed);
    if passed == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn jobs() -> usize {
    std::env::var("JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(3)
}

/// How much of a storm to play: the whole only with `STORM=full`.
fn size(usual: u64, full: u64) -> u64 {
    if std::env::var("STORM").is_ok_and(|word| word == "full") { full } else { usual }
}
