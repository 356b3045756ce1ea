//! The command line: one table of flags, read both ways.
//!
//! ```text
//!  words ──▶ FLAGS ──▶ Draft ──▶ Options { settings, launch, verbosity }
//!              ├──▶ --help
//!              └──▶ pages ──▶ man page, completions (not in the program)
//! ```
//!
//! The numbers' defaults stand in [`crate::bridge::Limits`]; all else about a flag in its line of
//! the table. `check` has a table of its own, read in the same way.

mod bridge;
mod check;
mod draft;
mod environment;
mod flags;
mod help;
pub mod pages;
mod units;

use std::env;
use std::ffi::OsString;

use lexopt::{Arg, Parser};

use crate::bridge::Settings;
use crate::check::options::Options as CheckOptions;
use crate::shell::{Launch, Verbosity};
use bridge::BRIDGE;
use check::CHECK;
use draft::{Draft, Rest};
use flags::{Command, Flag, Slot, Takes};
pub use help::{check_help, help};

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// Serve a command.
    Run(Box<Options>),
    /// `check`: see how far a command is from 2026-07-28.
    Check(Box<CheckOptions>),
    /// `check --help`.
    CheckHelp,
    /// `check --list-rules`.
    ListRules {
        /// For programs.
        is_json: bool,
    },
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

/// Reads the words after the program's name; `variables` is our environment.
///
/// # Errors
/// When they make no sense, with what was expected.
pub fn parse(
    words: impl IntoIterator<Item = OsString>,
    variables: &[(OsString, OsString)],
) -> Result<Request, UsageError> {
    let words = words.into_iter().collect::<Vec<_>>();
    let is_check = words.first().is_some_and(|word| word == "check");
    let command = if is_check { CHECK } else { BRIDGE };
    let mut parser = Parser::from_args(words.into_iter().skip(usize::from(is_check)));
    let mut draft = Draft::default();
    let (program, args) = loop {
        if let Some(mut rest) = parser.try_raw_args()
            && rest.next_if(|word| word == "--").is_some()
        {
            let mut words = rest.collect::<Vec<_>>().into_iter();
            break (words.next(), words.collect());
        }
        let flag = match parser.next().map_err(|error| UsageError(explain(error)))? {
            None => break (None, Vec::new()),
            Some(Arg::Value(program)) if program == "check" && !is_check => {
                let text = "'check' goes before its options; for a program of that name: -- check";
                return Err(UsageError(text.to_owned()));
            }
            Some(Arg::Value(program)) => {
                break (
                    Some(program),
                    parser.raw_args().map(Iterator::collect).unwrap_or_default(),
                );
            }
            Some(Arg::Long(name)) if !is_check && is_of_check(name) => {
                return Err(UsageError(format!(
                    "'--{name}' is an option of 'mcp-uplift check' and goes behind that word"
                )));
            }
            Some(Arg::Long(name)) => flags::named(&command, name)?,
            Some(Arg::Short(letter)) => flags::lettered(&command, letter)?,
        };
        match &flag.takes {
            Takes::Ask(request) => return Ok(request()),
            Takes::Nothing(act) => act(&mut draft),
            Takes::Text(set) => {
                set(&mut draft, &value_of(flag, &mut parser)?).map_err(|e| about(flag, &e))?;
            }
            Takes::Number { unit, least, slot } => {
                let value = unit.parse(&value_of(flag, &mut parser)?, *least);
                let value = value.map_err(|e| about(flag, &e))?;
                match slot(&mut draft) {
                    Slot::Time(time) => *time = value,
                    Slot::Size(size) => {
                        *size = usize::try_from(value).map_err(|_| about(flag, "too large"))?;
                    }
                }
            }
        }
    };
    (command.finish)(draft, Rest { program, args, variables })
}

/// Is it an option that only the check has?
fn is_of_check(name: &str) -> bool {
    let has = |command: &Command| command.flags.iter().any(|flag| flag.name == name);
    has(&CHECK) && !has(&BRIDGE)
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

/// Reads the command line and the environment of this process.
///
/// # Errors
/// As [`parse`].
pub fn from_process() -> Result<Request, UsageError> {
    parse(env::args_os().skip(1), &env::vars_os().collect::<Vec<_>>())
}

#[cfg(test)]
mod check_tests;
#[cfg(test)]
mod tests;
