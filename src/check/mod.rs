//! `mcp-uplift check`: how far a server is from 2026-07-28, alone and wrapped.
//!
//! ```text
//!  Options ──▶ probe (talk, processes) ──▶ Seen ──▶ judge (pure) ──▶ Report ──▶ report (pure)
//!              once alone, once behind this program
//! ```
//! Processes, framing and signals are the bridge's own: [`crate::shell`] keeps the child, and
//! [`crate::message`] reads what it says.
#![forbid(unsafe_code)]

mod changes;
mod conclude;
mod delivery;
mod digest;
mod envelope;
mod excerpt;
mod heard;
mod judge;
pub mod model;
pub mod options;
mod probe;
pub mod report;
pub mod rules;
mod scope;
mod sdk;
mod secrets;
mod seen;
mod talk;
mod uses;

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use crate::bridge::Level;
use crate::shell::clock::unix_seconds;
use crate::shell::keeper::Keeper;
use crate::shell::{Console, Launch, Verbosity};
use crate::sys;
use conclude::{conclude, is_reachable, is_wanted, judged, mask};
use delivery::{Progress, Sheet, deliver};
use model::{Report, Verdict};
use options::{Options, Wrapped};
use secrets::{hidden, longest};
use seen::in_our_words;

/// Bytes of a line that a child may write.
const LINE_BYTES: usize = 10 << 20;

/// Bytes of a line on stderr that are looked at.
const STDERR_BYTES: usize = 4 << 10;

/// Exit status: something stands in the way.
const NOT_READY: u8 = 1;
/// Exit status: the check itself failed.
const FAULT: u8 = 3;
/// Exit status: nothing could be judged.
const UNREACHABLE: u8 = 2;

/// Runs the check and prints its report. The exit status: 0 ready, 1 findings, 2 could not check,
/// 128 and the number of a signal that ended it.
///
/// To be called once, from the thread that lives as long as the program.
#[must_use]
pub fn run(options: &Options) -> ExitCode {
    let console = Console::new(Verbosity::Lifecycle).with_colour(options.wishes.may_color);
    let sheet = match options.wishes.output.as_deref().map(Sheet::open).transpose() {
        Ok(sheet) => sheet,
        Err(why) => {
            console.say(Level::Error, &why);
            return ExitCode::from(UNREACHABLE);
        }
    };
    let stop = match check(options, &console) {
        Ok(report) => return delivered(options, &report, sheet, &console),
        Err(stop) => stop,
    };
    if let Some(sheet) = sheet {
        sheet.discard();
    }
    match stop {
        Stop::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Stop::Fault(error) => {
            console.say(Level::Error, &format!("cannot check: {error}"));
            ExitCode::from(FAULT)
        }
    }
}

fn delivered(
    options: &Options,
    report: &Report,
    sheet: Option<Sheet<'_>>,
    console: &Console,
) -> ExitCode {
    match deliver(options, report, sheet, console) {
        Ok(()) => ExitCode::from(report.exit_code),
        Err(why) => {
            console.say(Level::Error, &why);
            ExitCode::from(UNREACHABLE)
        }
    }
}

/// Why there is no report.
enum Stop {
    Signal(i32),
    Fault(io::Error),
}

/// Both columns, and what they come to.
fn check(options: &Options, console: &Console) -> Result<Report, Stop> {
    sys::share_heap();
    let secrets = hidden(&options.secrets);
    // A value that must not be shown may lie across the cut.
    let most = STDERR_BYTES.saturating_add(longest(&secrets));
    let mut keeper = Keeper::new(LINE_BYTES, most).map_err(Stop::Fault)?;
    let report = columns(options, &mut keeper);
    if keeper.has_left_one() {
        console.say(Level::Warning, "a process of the server does not end; leaving it");
    }
    let mut report = report?;
    mask(&mut report, &secrets);
    // While the last process was ended, or since.
    keeper.stopped().map_or(Ok(report), |signal| Err(Stop::Signal(signal)))
}

fn columns(options: &Options, keeper: &mut Keeper) -> Result<Report, Stop> {
    let started_unix = unix_seconds();
    let absent = absent_uri().map_err(Stop::Fault)?;
    let progress = Progress::new();
    let launch = &options.launch;
    let native = probe::column(keeper, launch, options, false, &absent, &mut |what| {
        progress.show(what, false);
    });
    let native = native.map_err(Stop::Signal)?;
    let is_reachable = is_reachable(&native);
    let outcomes = judged(&native);
    let has_errors = outcomes
        .iter()
        .any(|(rule, outcome)| outcome.verdict == Verdict::Fail && is_wanted(options, rule));
    let wants_wrapped = match options.wishes.wrapped {
        Wrapped::Always => true,
        Wrapped::Never => false,
        Wrapped::IfNeeded => has_errors,
    };
    let wrapped = if is_reachable && wants_wrapped {
        let launch = wrapped_launch(options).map_err(Stop::Fault)?;
        let seen = probe::column(keeper, &launch, options, true, &absent, &mut |what| {
            progress.show(what, true);
        });
        Some(seen.map_err(Stop::Signal)?)
    } else {
        None
    };
    progress.hide();
    let mut stderr = keeper.stderr_lines();
    for line in stderr.iter_mut().filter(|line| line.starts_with("mcp-uplift:")) {
        *line = in_our_words(line);
    }
    let duration_ms = keeper.now().0;
    let mut report = conclude(options, native, wrapped, outcomes);
    report.stderr = stderr;
    report.duration_ms = duration_ms;
    report.started_unix = started_unix;
    Ok(report)
}

/// A URI of a scheme that nobody serves.
fn absent_uri() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let number = u64::from_le_bytes(bytes);
    Ok(format!("mcp-uplift-check:///absent/{number:016x}"))
}

/// The same command behind this program, which gets the same surroundings.
fn wrapped_launch(options: &Options) -> io::Result<Launch> {
    let native = &options.launch;
    let start = format!("{}ms", options.wishes.start_timeout_ms.saturating_sub(200).max(100));
    let mut args: Vec<OsString> =
        ["--inherit-env", "--initialize-timeout-ms", &start, "--"].map(OsString::from).into();
    args.push(native.program.clone());
    args.extend(native.args.iter().cloned());
    Ok(Launch {
        program: env::current_exe()?.into_os_string(),
        args,
        env: native.env.clone(),
        cwd: native.cwd.clone(),
        no_new_privs: native.no_new_privs,
    })
}
