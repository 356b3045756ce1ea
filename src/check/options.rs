//! What the command line decides for a check.

use std::path::PathBuf;

use crate::shell::Launch;

/// The form of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people, at a terminal.
    #[default]
    Text,
    /// For programs; its shape has a version.
    Json,
    /// For code scanning.
    Sarif,
    /// For a comment or a summary.
    Markdown,
}

/// What makes the exit status 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    /// An error.
    #[default]
    Error,
    /// A warning, too.
    Warning,
    /// Nothing.
    Never,
}

/// Whether the rules are run behind this program as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapped {
    /// Where there are native errors.
    #[default]
    IfNeeded,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments: one JSON object.
    pub arguments: String,
}

/// Everything a check is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command, and what it finds around it.
    pub launch: Launch,
    /// What was given with `--env`, by name and value, so that no value is ever shown.
    pub secrets: Vec<String>,
    /// All else.
    pub wishes: Wishes,
}

/// What concerns only the check.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// `--format`.
    pub format: Format,
    /// `--output`: where the report goes instead of stdout.
    pub output: Option<PathBuf>,
    /// `--only`: ids in capitals; empty: all.
    pub only: Vec<String>,
    /// `--skip`: ids in capitals.
    pub skip: Vec<String>,
    /// `--fail-on`.
    pub fail_on: FailOn,
    /// `--accept-wrapped`: ready when wrapped is ready enough.
    pub accept_wrapped: bool,
    /// `--wrapped`, `--native-only`.
    pub wrapped: Wrapped,
    /// `--call`, in their order.
    pub calls: Vec<Call>,
    /// `--timeout`: milliseconds for each answer.
    pub timeout_ms: u64,
    /// `--start-timeout`: milliseconds for the first answer of a process.
    pub start_timeout_ms: u64,
    /// `--budget`: milliseconds for each column.
    pub budget_ms: u64,
    /// `--verbose`: frames, stderr of the children, rules that passed.
    pub verbose: bool,
    /// `--no-color` was not given; whether there is colour depends on the terminal as well.
    pub may_color: bool,
    /// `--anchor`: the file that findings are shown at.
    pub anchor: Option<PathBuf>,
}

impl Default for Wishes {
    fn default() -> Self {
        Wishes {
            format: Format::default(),
            output: None,
            only: Vec::new(),
            skip: Vec::new(),
            fail_on: FailOn::default(),
            accept_wrapped: false,
            wrapped: Wrapped::default(),
            calls: Vec::new(),
            timeout_ms: 5_000,
            start_timeout_ms: 10_000,
            budget_ms: 60_000,
            verbose: false,
            may_color: true,
            anchor: None,
        }
    }
}
