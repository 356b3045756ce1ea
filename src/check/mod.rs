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
mod digest;
mod excerpt;
mod judge;
pub mod model;
pub mod options;
mod probe;
pub mod report;
pub mod rules;
pub mod sdk;
mod seen;
mod talk;
mod uses;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::bridge::Level;
use crate::message::object::string;
use crate::shell::clock::unix_seconds;
use crate::shell::keeper::Keeper;
use crate::shell::{Console, How, Launch, Verbosity};
use crate::{shell, sys};
use model::{Era, Outcome, Overall, Report, RuleResult, Verdict};
use options::{FailOn, Format, Options, Wrapped};
use report::{json, markdown, progress, sarif, text};
use rules::Rule;
use seen::Seen;

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
    let console = Console::new(Verbosity::Lifecycle).with_colour(options.may_color);
    match check(options, &console) {
        Ok(report) => match deliver(options, &report, &console) {
            Ok(()) => ExitCode::from(report.exit_code),
            Err(why) => {
                console.say(Level::Error, &why);
                ExitCode::from(UNREACHABLE)
            }
        },
        Err(Stop::Signal(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Err(Stop::Fault(error)) => {
            console.say(Level::Error, &format!("cannot check: {error}"));
            ExitCode::from(FAULT)
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
    let secrets = model::spellings(&options.secrets);
    // A value that must not be shown may lie across the cut.
    let longest = secrets.first().map_or(0, String::len);
    let mut keeper = Keeper::new(LINE_BYTES, STDERR_BYTES + longest).map_err(Stop::Fault)?;
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
    let wants_wrapped = match options.wrapped {
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
    let stderr = keeper.stderr_lines();
    let duration_ms = keeper.now().0;
    let mut report = conclude(options, native, wrapped, outcomes);
    report.stderr = stderr;
    report.duration_ms = duration_ms;
    report.started_unix = started_unix;
    Ok(report)
}

/// Hides what was given with `--env` wherever the server's own words are shown. Frames are masked
/// already: they may be cut in the middle of a value.
fn mask(report: &mut Report, secrets: &[String]) {
    let hide = |text: &mut String| *text = model::masked(text, secrets);
    hide(&mut report.reason);
    for line in &mut report.stderr {
        *line = model::masked_start(line, STDERR_BYTES, secrets);
    }
    if let Some((name, version)) = &mut report.server {
        hide(name);
        hide(version);
    }
    for result in &mut report.results {
        hide(&mut result.native.found);
        if let Some(wrapped) = &mut result.wrapped {
            hide(&mut wrapped.found);
        }
    }
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
    let start = format!("{}ms", options.start_timeout_ms.saturating_sub(200).max(100));
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

/// Did any process answer, or live and write something?
fn is_reachable(seen: &Seen) -> bool {
    let all_ended = seen.children.iter().all(|child| child.ended == How::ByItself);
    seen.has_answered || (seen.has_written && !all_ended)
}

fn judged(seen: &Seen) -> Vec<(&'static Rule, Outcome)> {
    let judges = judge::JUDGES.iter();
    judges.filter_map(|(id, judge)| Some((rules::find(id)?, judge(seen)))).collect()
}

fn is_wanted(options: &Options, rule: &Rule) -> bool {
    let names = |ids: &[String]| ids.iter().any(|id| id == rule.id);
    (options.only.is_empty() || names(&options.only)) && !names(&options.skip)
}

/// The report, but for what only the clock and the processes know.
fn conclude(
    options: &Options,
    native: Seen,
    wrapped: Option<Seen>,
    outcomes: Vec<(&'static Rule, Outcome)>,
) -> Report {
    let is_reachable = is_reachable(&native);
    let is_wrapped_reachable = wrapped.as_ref().is_some_and(self::is_reachable);
    let words: Vec<String> = std::iter::once(&options.launch.program)
        .chain(&options.launch.args)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let package = sdk::of_command(&words, options.launch.cwd.as_deref());
    let sdk = sdk::agreed(package, sdk::of_wire(&native.marks));
    let mut behind = wrapped.as_ref().map(judged).unwrap_or_default().into_iter();
    let mut results = Vec::new();
    for (rule, native) in outcomes.into_iter().filter(|_| is_reachable) {
        let wrapped = behind.next().map(|(_, outcome)| outcome);
        if !is_wanted(options, rule) {
            continue;
        }
        let owner = sdk::owner(rule, sdk.as_ref());
        let is_finding = native.verdict.is_finding();
        let fix = if is_finding { sdk::fix(rule, sdk.as_ref(), owner) } else { String::new() };
        results.push(RuleResult { rule, native, wrapped, owner, fix });
    }
    let mut report = Report {
        command: words,
        verdict: Overall::Unreachable,
        reason: String::new(),
        era: native.era,
        server: server_name(&native),
        sdk: sdk.filter(|_| is_reachable),
        results,
        is_wrapped_run: wrapped.is_some(),
        changes: uses::changes(&native, wrapped.as_ref()),
        features: uses::features(&native),
        children: Vec::new(),
        stderr: Vec::new(),
        uncalled_tools: uses::tools(&native).saturating_sub(options.calls.len()),
        duration_ms: 0,
        started_unix: 0,
        exit_code: UNREACHABLE,
    };
    if is_reachable {
        report.verdict = overall(&report, is_wrapped_reachable);
        report.exit_code = exit_code(options, &report);
    } else {
        report.reason = unreachable_reason(&native);
        report.era = Era::Unknown;
    }
    report.children = native.children;
    report.children.extend(wrapped.into_iter().flat_map(|seen| seen.children));
    report
}

fn overall(report: &Report, is_wrapped_reachable: bool) -> Overall {
    // What was not judged when wrapped is not known to be cured by it.
    let is_cured = |result: &RuleResult| {
        result.wrapped.as_ref().is_some_and(|wrapped| wrapped.verdict != Verdict::Inconclusive)
    };
    let is_ready = is_wrapped_reachable
        && report.wrapped_failures().next().is_none()
        && report.native(Verdict::Fail).all(is_cured);
    if report.native(Verdict::Fail).next().is_none() {
        Overall::ReadyNatively
    } else if is_ready {
        Overall::ReadyWhenWrapped
    } else {
        Overall::NotReady
    }
}

fn exit_code(options: &Options, report: &Report) -> u8 {
    let has = |verdict| report.native(verdict).next().is_some();
    let is_accepted = options.accept_wrapped && report.verdict == Overall::ReadyWhenWrapped;
    let fails = match options.fail_on {
        FailOn::Never => false,
        FailOn::Error => has(Verdict::Fail) && !is_accepted,
        FailOn::Warning => has(Verdict::Warn) || (has(Verdict::Fail) && !is_accepted),
    };
    if fails { NOT_READY } else { 0 }
}

fn unreachable_reason(seen: &Seen) -> String {
    if !seen.unstartable.is_empty() {
        return seen.unstartable.clone();
    }
    let mut reason = match seen.children.iter().find(|child| child.ended == How::ByItself) {
        Some(child) => match child.exit {
            Some(status) => format!("the process ended with status {status}"),
            None => "the process was ended by a signal".to_owned(),
        },
        None => "the process never answered".to_owned(),
    };
    if !seen.last_stderr.is_empty() {
        reason.push_str("; its last line on stderr: ");
        reason.push_str(&seen.shown(&seen.last_stderr));
    }
    reason
}

/// What the server calls itself, in whichever era.
fn server_name(seen: &Seen) -> Option<(String, String)> {
    use crate::message::vocabulary::key;
    let of = |info: crate::message::object::Object<'_>| {
        let member = |name: &str| info.get(name).and_then(string).map(std::borrow::Cow::into_owned);
        Some((member("name")?, member("version").unwrap_or_default()))
    };
    let modern = seen.discover.as_ref().and_then(seen::Probe::result);
    let modern = modern.and_then(|result| result.object("_meta")?.object(key::SERVER_INFO));
    let legacy = seen.initialize.as_ref().and_then(seen::Probe::result);
    let legacy = legacy.and_then(|result| result.object("serverInfo"));
    modern.and_then(of).or_else(|| legacy.and_then(of))
}

// ---- out ----

/// Prints the report where it is wanted.
fn deliver(options: &Options, report: &Report, console: &Console) -> Result<(), String> {
    let to_terminal = options.output.is_none() && io::stdout().is_terminal();
    let printed = match options.format {
        Format::Json => json::print(report),
        Format::Sarif => sarif::print(report, anchor(options).as_deref()),
        Format::Markdown => markdown::print(report),
        Format::Text => text::print(report, &style(options, to_terminal)),
    };
    // Whoever takes the report may take its time; signals end us as they end anybody.
    sys::release_signals();
    if let Some(path) = &options.output {
        fs::write(path, &printed)
            .map_err(|error| format!("--output: cannot write '{}': {error}", path.display()))?;
        console.say(Level::Info, &text::last_line(report));
        return Ok(());
    }
    match io::stdout().write_all(printed.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

fn style(options: &Options, to_terminal: bool) -> text::Style {
    let columns = if to_terminal { sys::columns() } else { None };
    text::Style {
        width: columns.unwrap_or(80).max(60),
        has_color: to_terminal && options.may_color && shell::may_colour(),
        is_verbose: options.verbose,
    }
}

/// The file that findings are shown at: the one that was named, or the first word of the command
/// that is a file below the working directory.
fn anchor(options: &Options) -> Option<String> {
    if let Some(path) = &options.anchor {
        let here = env::current_dir().unwrap_or_default();
        return Some(path.strip_prefix(here).unwrap_or(path).to_string_lossy().into_owned());
    }
    let words = std::iter::once(&options.launch.program).chain(&options.launch.args);
    let here = options.launch.cwd.as_deref().unwrap_or(Path::new("."));
    let file = words.map(Path::new).find(|word| {
        let is_below = word.is_relative()
            && word.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        is_below && word.components().count() > 0 && here.join(word).is_file()
    });
    file.map(|path| path.strip_prefix("./").unwrap_or(path).to_string_lossy().into_owned())
}

/// One line on a terminal that tells what goes on.
struct Progress {
    width: Option<usize>,
}

impl Progress {
    fn new() -> Self {
        let is_shown = io::stderr().is_terminal() && !shell::is_dumb_terminal();
        let width = if is_shown { sys::columns() } else { None };
        Progress { width }
    }

    fn show(&self, what: &str, is_wrapped: bool) {
        if let Some(width) = self.width {
            let behind = format!("{what} (wrapped)");
            let line = progress::line(if is_wrapped { &behind } else { what }, width);
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }

    fn hide(&self) {
        if self.width.is_some() {
            let _ = io::stderr().write_all(progress::ERASE.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(native: Verdict, wrapped: Verdict) -> Report {
        let outcome =
            |verdict| Outcome { verdict, found: String::new(), method: "", evidence: Vec::new() };
        let result = RuleResult {
            rule: &rules::all()[0],
            native: outcome(native),
            wrapped: Some(outcome(wrapped)),
            owner: model::Owner::Unknown,
            fix: String::new(),
        };
        Report {
            command: Vec::new(),
            verdict: Overall::Unreachable,
            reason: String::new(),
            era: Era::Legacy,
            server: None,
            sdk: None,
            results: vec![result],
            is_wrapped_run: true,
            changes: Vec::new(),
            features: Vec::new(),
            children: Vec::new(),
            stderr: Vec::new(),
            uncalled_tools: 0,
            duration_ms: 0,
            started_unix: 0,
            exit_code: 0,
        }
    }

    /// What nobody could judge is not cured, and a column that never ran is no good one.
    #[test]
    fn ready_when_wrapped_is_what_was_seen_to_be() {
        for (native, wrapped, is_reachable, expected) in [
            (Verdict::Pass, Verdict::Pass, true, Overall::ReadyNatively),
            (Verdict::Warn, Verdict::Fail, true, Overall::ReadyNatively),
            (Verdict::Fail, Verdict::Pass, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Warn, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Skip, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Fail, true, Overall::NotReady),
            (Verdict::Fail, Verdict::Inconclusive, true, Overall::NotReady),
            (Verdict::Fail, Verdict::Pass, false, Overall::NotReady),
        ] {
            assert_eq!(overall(&report(native, wrapped), is_reachable), expected);
        }
    }
}
