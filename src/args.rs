//! The command line: one table of flags, read both ways.
//!
//! ```text
//!  words ──▶ FLAGS ──▶ Draft ──▶ Options { settings, launch, verbosity }
//!              └──▶ --help
//! ```
//!
//! The numbers' defaults stand in [`crate::bridge::Limits`]; all else about a flag in its line of
//! the table.

mod draft;
mod environment;
mod flags;
mod help;
mod units;

use std::env;
use std::ffi::OsString;

use lexopt::{Arg, Parser};

use crate::bridge::Settings;
use crate::shell::{Launch, Verbosity};
use draft::Draft;
use flags::{Flag, Slot, Takes};
pub use help::help;

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
                let text = "'check' is not in this release; for a program of that name: -- check";
                return Err(UsageError(text.to_owned()));
            }
            Some(Arg::Value(program)) => {
                let rest = parser.raw_args().map(Iterator::collect).unwrap_or_default();
                return draft.finish(Some(program), rest, variables);
            }
            Some(Arg::Long(name)) => flags::named(name)?,
            Some(Arg::Short(letter)) => flags::lettered(letter)?,
        };
        match &flag.takes {
            Takes::Help => return Ok(Request::Help),
            Takes::Version => return Ok(Request::Version),
            Takes::Nothing(act) => act(&mut draft),
            Takes::Text(set) => {
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
mod tests;
