//! What only a real process can show: storms, kills, full pipes, signals, memory.
//!
//! `cargo test --test process` plays all stories; `-- WORD...` those whose name holds a word.
//! `STORM=full` takes the large counts, `SEED=N` other dice, `BRIDGE=PATH` another build of the
//! program, `JOBS=N` sets how many stories run side by side.
//!
//! This binary, started with [`client::SERVE`], is the wrapped server of all of them.
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

mod alone;
mod attacker;
mod attacks;
mod cancel_storm;
mod client;
mod confined;
mod descriptors;
mod dice;
mod echo_server;
mod endings;
mod family;
mod family_server;
mod flood;
mod full_pipes;
mod inherited;
mod kill_storm;
mod limits;
mod line_limits;
mod long_run;
mod noise;
mod noise_server;
mod pending;
mod plain_text;
mod relay;
mod server;
mod shell_server;
mod start_up;
mod surroundings;
mod terminal;

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

use work::SKIPPED;

/// A name, and a function that panics when the bridge does wrong and comes back with its figures, or
/// with `SKIPPED` and why.
type Story = (&'static str, fn() -> String);

/// The long ones first.
const STORIES: &[Story] = &[
    ("hostile_servers", attacks::hostile_servers),
    ("hostile_clients", attacks::hostile_clients),
    ("flood_both_ways", flood::large_echoes_fill_all_pipes),
    ("flood_read_at_once", flood::large_calls_wait_for_a_server_that_writes),
    ("line_limits", line_limits::lines_at_the_limit),
    ("slow_client_ends", full_pipes::end_of_input_of_a_client_that_does_not_read),
    ("family", family::nobody_outlives_the_bridge),
    ("signals_closing", endings::signals_while_closing),
    ("kill_storm", kill_storm::servers_are_killed_under_load),
    ("kill_in_the_restart_handshake", kill_storm::killed_in_the_handshake_of_a_restart),
    ("kill_too_often", kill_storm::killed_too_often),
    ("cancel_storm", cancel_storm::calls_are_cancelled_at_any_moment),
    ("long_run", long_run::many_calls_one_after_the_other),
    ("nobody_answers", long_run::many_questions_that_nobody_answers),
    ("flood", long_run::lines_come_faster_than_they_are_read),
    ("noise", noise::both_sides_write_nonsense),
    ("pending_requests", pending::requests_of_the_client),
    ("pending_questions", pending::questions_of_the_server),
    ("slow_client", full_pipes::the_client_stops_reading),
    ("flooded_deaf_server", full_pipes::the_server_stops_reading),
    ("deaf_server_cancelled", full_pipes::calls_to_a_deaf_server_are_cancelled),
    ("deaf_server_ends", full_pipes::end_of_input_before_a_deaf_server),
    ("pauses_at_end", full_pipes::a_reader_that_pauses_at_the_end),
    ("pauses", full_pipes::a_reader_that_pauses_for_longer_than_calls_may_take),
    ("full_signal", full_pipes::signals_while_pipes_are_full),
    ("pester", full_pipes::the_server_pesters),
    ("both_full", full_pipes::nobody_reads),
    ("eof_pipeline", endings::end_of_input_behind_32_requests),
    ("eof_everything_open", endings::end_of_input_with_everything_open),
    ("eof_backoff", endings::end_of_input_while_the_next_server_is_due),
    ("reader_gone", endings::the_reader_goes_during_a_call),
    ("signals", endings::signals_in_every_state),
    ("signal_stubborn", endings::a_signal_and_a_server_that_ignores_all),
    ("signals_at_start", endings::signals_at_the_start),
    ("signal_twice", endings::a_second_signal_ends_the_grace),
    ("bridge_killed", endings::the_bridge_itself_is_killed),
    ("killed_before_launcher", family::the_bridge_is_killed_before_a_launcher),
    ("crash_leaves_daemon", family::a_crash_leaves_a_daemon),
    ("closes_stdout", family::a_server_that_closes_its_stdout),
    ("relay", relay::a_legacy_conversation),
    ("relay_cancel", relay::cancelled_requests_are_forgotten),
    ("relay_crash", relay::the_server_crashes),
    ("unstartable", start_up::commands_that_cannot_start),
    ("ends_at_once", start_up::a_server_that_ends_at_once),
    ("mute", start_up::a_server_that_never_answers),
    ("babbles", start_up::a_server_that_only_babbles),
    ("stdin_kinds", descriptors::kinds_of_stdin),
    ("stdin_unreadable", descriptors::stdin_that_cannot_be_read),
    ("stdout_unwritable", descriptors::stdout_that_cannot_be_written),
    ("stdout_unseen", descriptors::stdout_that_nobody_sees),
    ("stderr_kinds", descriptors::stderr_that_takes_nothing),
    ("socket", descriptors::one_socket_as_stdin_and_stdout),
    ("half_lines", descriptors::half_lines_at_the_end),
    ("plain_text", plain_text::no_control_characters),
    ("blocked_signals", inherited::blocked_signals),
    ("ignored_signals", inherited::ignored_signals),
    ("nohup", inherited::ends_that_the_parent_ignores),
    ("stopped", inherited::stopped_and_continued),
    ("terminal", terminal::a_person_types),
    ("few_files", limits::few_files),
    ("few_processes", limits::few_processes),
    ("little_memory", limits::little_memory),
    ("no_new_privs", confined::no_new_privileges),
    ("holds_only_pipes", confined::nothing_but_pipes),
    ("gone_folder", surroundings::a_folder_that_is_gone),
    ("no_variables", surroundings::no_variables),
    ("no_proc", surroundings::no_proc),
    ("read_only", surroundings::nothing_to_write_on),
    ("unused", start_up::a_server_that_nobody_asks),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, folder, ways @ ..] = &args[..]
        && word == client::SERVE
    {
        return server::serve(Path::new(folder), ways);
    }
    sys::usual_signals();
    // Words of cargo's own test runner mean nothing here.
    let words: Vec<_> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let told = |(name, _): &&Story| words.is_empty() || words.iter().any(|w| name.contains(*w));
    let stories: Vec<_> = STORIES.iter().filter(told).collect();
    if stories.is_empty() {
        println!("no story is called like that: {words:?}");
        return ExitCode::FAILURE;
    }
    let (turns, passed) = (Mutex::new(stories.iter()), AtomicUsize::new(0));
    let skipped = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs() {
            scope.spawn(|| {
                while let Some((name, story)) = turns.lock().ok().and_then(|mut turns| turns.next())
                {
                    let start = work::since_epoch();
                    match std::thread::spawn(story).join() {
                        Ok(figures) if figures.starts_with(SKIPPED) => {
                            skipped.fetch_add(1, Ordering::Relaxed);
                            println!("SKIP {name}  {figures}");
                        }
                        Ok(figures) => {
                            passed.fetch_add(1, Ordering::Relaxed);
                            let seconds = work::since_epoch().saturating_sub(start).as_secs_f32();
                            println!("PASS {name}  {figures} [{seconds:.1} s]");
                        }
                        Err(_) => println!("FAIL {name}"), // why was printed by the panic
                    }
                }
            });
        }
    });
    let (passed, skipped) = (passed.into_inner(), skipped.into_inner());
    let failed = stories.len() - passed - skipped;
    let left_out = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    println!("{passed} passed, {failed} failed{left_out}");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn jobs() -> usize {
    std::env::var("JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(3)
}

/// How much of a storm to play: the whole only with `STORM=full`.
fn size(usual: u64, full: u64) -> u64 {
    if std::env::var("STORM").is_ok_and(|word| word == "full") { full } else { usual }
}
