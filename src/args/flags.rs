//! What a flag is, those that both command lines have, and who is meant by a name.

use std::ffi::OsStr;

use super::draft::{Draft, Rest, set_cwd, set_env};
use super::units::Unit;
use super::{Request, UsageError};
use Group::Server;
use Takes::{Nothing, Text};

/// Where a number goes.
pub(super) enum Slot<'a> {
    Size(&'a mut usize),
    Time(&'a mut u64),
}

/// What a flag does with its value, if it takes one.
pub(super) enum Takes {
    Number {
        unit: Unit,
        least: u64,
        slot: fn(&mut Draft) -> Slot<'_>,
    },
    Text(fn(&mut Draft, &OsStr) -> Result<(), String>),
    Nothing(fn(&mut Draft)),
    /// Nothing else is read then.
    Ask(fn() -> Request),
}

/// A command line of its own: the bridge's, or that of `check`.
pub(super) struct Command {
    pub(super) flags: &'static [Flag],
    /// What lists them.
    pub(super) help: &'static str,
    /// Checks what no single flag can, and makes it a request.
    pub(super) finish: fn(Draft, Rest<'_>) -> Result<Request, UsageError>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Server,
    Protocol,
    Limits,
    Messages,
    Rules,
    Times,
    Report,
    Instead,
}

/// A flag; `default` is shown by `--help`, for numbers it is empty and taken from
/// [`Draft::default`].
pub(super) struct Flag {
    pub(super) short: Option<char>,
    pub(super) name: &'static str,
    pub(super) value: &'static str,
    pub(super) default: &'static str,
    pub(super) group: Group,
    pub(super) takes: Takes,
    pub(super) help: &'static str,
}

pub(super) const fn number(
    name: &'static str,
    unit: Unit,
    least: u64,
    slot: fn(&mut Draft) -> Slot<'_>,
    help: &'static str,
) -> Flag {
    let takes = Takes::Number { unit, least, slot };
    let value = unit.value_name();
    Flag { short: None, name, value, default: "", group: Group::Limits, takes, help }
}

pub(super) const fn flag(
    group: Group,
    name: &'static str,
    takes: Takes,
    help: &'static str,
) -> Flag {
    Flag { short: None, name, value: "", default: "", group, takes, help }
}

#[rustfmt::skip]
pub(super) const ENV: Flag = Flag { value: "NAME[=VALUE]", ..flag(Server, "env", Text(set_env),
    "pass this variable on, with this value or ours (repeatable)") };
#[rustfmt::skip]
pub(super) const INHERIT_ENV: Flag = Flag { default: "off", ..flag(Server, "inherit-env", Nothing(|draft| draft.inherit_env = true),
    "pass our whole environment on, not only the variables listed below") };
#[rustfmt::skip]
pub(super) const CWD: Flag = Flag { value: "DIR", default: "ours", ..flag(Server, "cwd", Text(set_cwd),
    "working directory of COMMAND") };

pub(super) fn lettered(command: &Command, letter: char) -> Result<&'static Flag, UsageError> {
    let help = command.help;
    let flag = command.flags.iter().find(|flag| flag.short == Some(letter));
    flag.ok_or_else(|| UsageError(format!("no option '-{letter}'; {help} lists them")))
}

pub(super) fn named(command: &Command, name: &str) -> Result<&'static Flag, UsageError> {
    let flags = command.flags;
    if let Some(flag) = flags.iter().find(|flag| flag.name == name) {
        return Ok(flag);
    }
    let near = flags
        .iter()
        .map(|flag| (distance(name, flag.name), flag.name))
        .filter(|(distance, candidate)| {
            *distance <= candidate.len() / 3 || letters(name) == letters(candidate)
        })
        .min();
    let begins = || flags.iter().find(|flag| name.len() > 2 && flag.name.starts_with(name));
    let hint = match near.map(|(_, near)| near).or_else(|| begins().map(|flag| flag.name)) {
        Some(near) => format!("did you mean '--{near}'?"),
        None => format!("{} lists them", command.help),
    };
    Err(UsageError(format!("no option '--{name}'; {hint}")))
}

/// What is left of a name when the order of its letters is forgotten.
fn letters(name: &str) -> Vec<u8> {
    let mut letters = name.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

/// How many characters must be added, dropped or changed to make `a` into `b`.
#[allow(clippy::indexing_slicing, reason = "the row has one place more than `b` has characters")]
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
