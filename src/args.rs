//! The command line: one table of flags, read both ways.
//!
//! ```text
//!  words ──▶ FLAGS ──▶ Draft ──▶ Options { settings, launch, verbosity }
//!              └──▶ --help
//! ```
//!
//! The numbers' defaults stand in [`Limits::default`]; names, groups, texts and all else here.

mod environment;
mod help;
mod units;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use lexopt::{Arg, Parser};

use crate::bridge::{Limits, ServerEra, Settings};
use crate::shell::{Launch, Verbosity};
use environment::Given;
pub use help::help;
use units::Unit;

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// Serve a command.
    Run(Box<Options>),
}

/// Everything the command line decides.
#[derive(Debug)]
pub struct Options {
    /// For the core.
    pub settings: Settings,
    /// The command and what it finds around it.
    pub launch: Launch,
    /// How much is told on stderr.
    pub verbosity: Verbosity,
}

/// One line that says what was expected. Never shows the value of an environment variable.
#[derive(Debug, PartialEq, Eq)]
pub struct UsageError(pub String);

/// Options on their way: as typed, not yet checked against each other.
#[derive(Default)]
struct Draft {
    settings: Settings,
    env: Vec<Given>,
    inherit_env: bool,
    cwd: Option<PathBuf>,
    verbosity: Verbosity,
}

/// Where a number goes.
enum Slot<'a> {
    Size(&'a mut usize),
    Time(&'a mut u64),
}

/// What a flag does with its value, if it takes one.
enum Takes {
    Number { unit: Unit, least: u64, slot: fn(&mut Limits) -> Slot<'_> },
    Text(fn(&mut Draft, &OsStr) -> Result<(), String>),
    Nothing(fn(&mut Draft)),
    Help,
    Version,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Server,
    Protocol,
    Limits,
    Messages,
}

/// A flag; `default` is shown by `--help`, for numbers it is empty and taken from [`Limits`].
struct Flag {
    short: Option<char>,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    group: Group,
    takes: Takes,
    help: &'static str,
}

const fn number(
    name: &'static str,
    unit: Unit,
    least: u64,
    slot: fn(&mut Limits) -> Slot<'_>,
    help: &'static str,
) -> Flag {
    let takes = Takes::Number { unit, least, slot };
    let value = unit.value_name();
    Flag { short: None, name, value, default: "", group: Group::Limits, takes, help }
}

use Group::{Messages, Protocol, Server};
use Takes::{Nothing, Text};
use Unit::{Bytes, Count, Millis};

const fn flag(group: Group, name: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { short: None, name, value: "", default: "", group, takes, help }
}

#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    Flag { value: "NAME[=VALUE]", ..flag(Server, "env", Text(set_env),
        "pass this variable on, with this value or ours (repeatable)") },
    flag(Server, "inherit-env", Nothing(|draft| draft.inherit_env = true),
        "pass our whole environment on, not only the variables listed below"),
    Flag { value: "DIR", default: "ours", ..flag(Server, "cwd", Text(set_cwd),
        "working directory of COMMAND") },
    Flag { value: "PATH", default: "none", ..flag(Server, "root", Text(add_root),
        "a directory to name when the server asks for roots (repeatable)") },

    Flag { value: "ERA", default: "auto", ..flag(Protocol, "protocol-version", Text(set_era),
        "what COMMAND speaks: auto, legacy or 2026-07-28") },
    Flag { default: "off", ..flag(Protocol, "hold-lane", Nothing(|draft| draft.settings.hold_lane = true),
        "a call that waits for the client's input keeps others waiting") },
    Flag { group: Protocol, ..number("parallel", Count, 1, |l| Slot::Size(&mut l.parallel),
        "requests that run at once on the server") },
    Flag { group: Protocol, ..number("cache-ttl-ms", Millis, 0, |l| Slot::Time(&mut l.cache_ttl_ms),
        "how long clients may keep lists and reads") },

    number("max-line-bytes", Bytes, 1, |l| Slot::Size(&mut l.line_bytes),
        "longest line taken from either side"),
    number("max-buffer-bytes", Bytes, 1, |l| Slot::Size(&mut l.buffer_bytes),
        "bytes queued for a slow reader, each direction, and bytes of requests that wait"),
    number("max-in-flight", Count, 1, |l| Slot::Size(&mut l.in_flight),
        "accepted requests that are not answered yet"),
    number("max-subscriptions", Count, 0, |l| Slot::Size(&mut l.subscriptions),
        "open subscriptions/listen streams"),
    number("max-subscription-uris", Count, 0, |l| Slot::Size(&mut l.subscription_uris),
        "resource URIs one stream may name"),
    number("mrtr-ttl-ms", Millis, 1, |l| Slot::Time(&mut l.mrtr_ttl_ms),
        "how long a requestState can be answered"),
    number("request-timeout-ms", Millis, 1, |l| Slot::Time(&mut l.request_timeout_ms),
        "longest silence of a running request"),
    number("max-request-ms", Millis, 1, |l| Slot::Time(&mut l.request_max_ms),
        "longest run of a request"),
    number("initialize-timeout-ms", Millis, 1, |l| Slot::Time(&mut l.initialize_timeout_ms),
        "longest handshake"),
    number("shutdown-grace-ms", Millis, 0, |l| Slot::Time(&mut l.shutdown_grace_ms),
        "from closing the server's stdin to SIGKILL; SIGTERM after a third"),

    Flag { short: Some('q'), ..flag(Messages, "quiet", Nothing(|draft| draft.verbosity = Verbosity::Quiet),
        "errors only") },
    Flag { short: Some('v'), ..flag(Messages, "verbose", Nothing(say_more),
        "starts and ends, too; -vv: each message, shortened") },
    Flag { short: Some('h'), ..flag(Messages, "help", Takes::Help, "print this") },
    Flag { short: Some('V'), ..flag(Messages, "version", Takes::Version, "print the version") },
];

/// Reads the words after the program's name; `variables` is our environment.
///
/// # Errors
/// When they make no sense, with what was expected.
pub fn parse(
    words: impl IntoIterator<Item = OsString>,
    variables: &[(OsString, OsString)],
) -> Result<Request, UsageError> {
    let mut parser = Parser::from_args(words.into_iter().collect::<Vec<_>>());
    let mut draft = Draft::default();
    loop {
        if let Some(mut rest) = parser.try_raw_args()
            && rest.next_if(|word| word == "--").is_some()
        {
            let mut command = rest.collect::<Vec<_>>().into_iter();
            return draft.finish(command.next(), command.collect(), variables);
        }
        let flag = match parser.next().map_err(|error| UsageError(explain(error)))? {
            None => return draft.finish(None, Vec::new(), variables),
            Some(Arg::Value(program)) if program == "check" => {
                return Err(usage(
                    "'check' is not in this release; for a program of that name: -- check",
                ));
            }
            Some(Arg::Value(program)) => {
                let rest = parser.raw_args().map(Iterator::collect).unwrap_or_default();
                return draft.finish(Some(program), rest, variables);
            }
            Some(Arg::Long(name)) => named(name)?,
            Some(Arg::Short(letter)) => lettered(letter)?,
        };
        match &flag.takes {
            Takes::Help => return Ok(Request::Help),
            Takes::Version => return Ok(Request::Version),
            Nothing(act) => act(&mut draft),
            Text(set) => {
                set(&mut draft, &value_of(flag, &mut parser)?).map_err(|e| about(flag, &e))?;
            }
            Takes::Number { unit, least, slot } => {
                let value = unit.parse(&value_of(flag, &mut parser)?, *least);
                let value = value.map_err(|e| about(flag, &e))?;
                match slot(&mut draft.settings.limits) {
                    Slot::Time(time) => *time = value,
                    Slot::Size(size) => {
                        *size = usize::try_from(value).map_err(|_| about(flag, "too large"))?;
                    }
                }
            }
        }
    }
}

fn usage(text: &str) -> UsageError {
    UsageError(text.to_owned())
}

fn about(flag: &Flag, what: &str) -> UsageError {
    UsageError(format!("--{}: {what}", flag.name))
}

fn value_of(flag: &Flag, parser: &mut Parser) -> Result<OsString, UsageError> {
    parser.value().map_err(|_| about(flag, &format!("expected a value: {}", flag.value)))
}

/// A wrong word, without repeating a value, which may be a secret in the wrong place.
fn explain(error: lexopt::Error) -> String {
    if let lexopt::Error::UnexpectedValue { option, .. } = error {
        return format!("{option} takes no value");
    }
    error.to_string()
}

fn lettered(letter: char) -> Result<&'static Flag, UsageError> {
    FLAGS
        .iter()
        .find(|flag| flag.short == Some(letter))
        .ok_or_else(|| UsageError(format!("no option '-{letter}'; --help lists them")))
}

fn named(name: &str) -> Result<&'static Flag, UsageError> {
    if let Some(flag) = FLAGS.iter().find(|flag| flag.name == name) {
        return Ok(flag);
    }
    let near = FLAGS
        .iter()
        .map(|flag| (distance(name, flag.name), flag.name))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3)
        .min();
    let begins = || FLAGS.iter().find(|flag| name.len() > 2 && flag.name.starts_with(name));
    let hint = match near.map(|(_, near)| near).or_else(|| begins().map(|flag| flag.name)) {
        Some(near) => format!("did you mean '--{near}'?"),
        None => "--help lists them".to_owned(),
    };
    Err(UsageError(format!("no option '--{name}'; {hint}")))
}

/// How many characters must be added, dropped or changed to make `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return usize::MAX; // no flag is so long
    }
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.chars().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

// ---- what the text flags do ----

fn set_env(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.env.push(Given::parse(word).ok_or("expected NAME or NAME=VALUE")?);
    Ok(())
}

fn set_cwd(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    if word.is_empty() {
        return Err("expected a directory".to_owned());
    }
    draft.cwd = Some(word.into());
    Ok(())
}

fn add_root(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    let path = Path::new(word);
    if !path.is_dir() {
        return Err(format!("expected an existing directory, got '{}'", path.display()));
    }
    let unreadable = |error: std::io::Error| format!("'{}': {error}", path.display());
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    // A link stays as named; only `..` cannot stand in a URI.
    let plain = !absolute.components().any(|part| part == Component::ParentDir);
    let absolute = if plain { absolute } else { path.canonicalize().map_err(unreadable)? };
    let root = absolute.to_str().ok_or("expected a path in UTF-8")?;
    draft.settings.roots.push(root.to_owned());
    Ok(())
}

fn set_era(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.settings.server_era = match word.to_str() {
        Some("auto") => ServerEra::Auto,
        Some("legacy") => ServerEra::Legacy,
        Some("2026-07-28") => ServerEra::Modern,
        _ => {
            return Err(format!("expected auto, legacy or 2026-07-28, got '{}'", word.display()));
        }
    };
    Ok(())
}

fn say_more(draft: &mut Draft) {
    draft.verbosity = match draft.verbosity {
        Verbosity::Quiet | Verbosity::Normal => Verbosity::Lifecycle,
        Verbosity::Lifecycle | Verbosity::Frames => Verbosity::Frames,
    };
}

impl Draft {
    fn finish(
        mut self,
        program: Option<OsString>,
        args: Vec<OsString>,
        variables: &[(OsString, OsString)],
    ) -> Result<Request, UsageError> {
        let program = program.filter(|program| !program.is_empty()).ok_or_else(|| {
            usage("expected a command: mcp-uplift [OPTIONS] -- COMMAND [ARGS...]; see --help")
        })?;
        let base = Path::new(&program).file_name().unwrap_or(&program);
        self.settings.command_name = base.to_string_lossy().into_owned();
        let env = environment::for_child(variables, self.inherit_env, &self.env)
            .map_err(|name| UsageError(format!("--env: '{}' is not set", name.display())))?;
        Ok(Request::Run(Box::new(Options {
            settings: self.settings,
            launch: Launch { program, args, env, cwd: self.cwd },
            verbosity: self.verbosity,
        })))
    }
}

/// Reads the command line and the environment of this process.
///
/// # Errors
/// As [`parse`].
pub fn from_process() -> Result<Request, UsageError> {
    parse(env::args_os().skip(1), &env::vars_os().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
