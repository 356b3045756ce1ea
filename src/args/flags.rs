//! The table of flags, and who is meant by a name.

use std::ffi::OsStr;

use super::draft::{Draft, Rest, add_root, say_more, set_cwd, set_env, set_era};
use super::units::Unit;
use super::{Request, UsageError};
use crate::shell::Verbosity;
use Group::{Messages, Protocol, Server};
use Takes::{Nothing, Text};
use Unit::{Bytes, Count, Millis};

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
    /// Checks what no single flag can, and makes it a request.
    pub(super) finish: fn(Draft, Rest<'_>) -> Result<Request, UsageError>,
}

/// The bridge.
pub(super) const BRIDGE: Command = Command { flags: FLAGS, finish: Draft::finish };

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

#[rustfmt::skip]
pub(super) const FLAGS: &[Flag] = &[
    ENV, INHERIT_ENV, CWD,
    Flag { value: "PATH", default: "none", ..flag(Server, "root", Text(add_root),
        "a directory to name when the server asks for roots (repeatable)") },
    Flag { default: "off", ..flag(Server, "no-new-privs", Nothing(|draft| draft.no_new_privs = true),
        "nothing that is started gains privileges, as by setuid (Linux)") },

    Flag { value: "ERA", default: "auto", ..flag(Protocol, "protocol-version", Text(set_era),
        "what COMMAND speaks: auto, legacy or 2026-07-28") },
    Flag { default: "off", ..flag(Protocol, "hold-lane", Nothing(|draft| draft.settings.hold_lane = true),
        "a call that waits for the client's input keeps others waiting") },
    Flag { group: Protocol, ..number("parallel", Count, 1, |d| Slot::Size(&mut d.settings.limits.parallel),
        "requests that run at once on the server") },
    Flag { group: Protocol, ..number("cache-ttl-ms", Millis, 0, |d| Slot::Time(&mut d.settings.limits.cache_ttl_ms),
        "how long clients may keep lists and reads") },

    number("max-line-bytes", Bytes, 1, |d| Slot::Size(&mut d.settings.limits.line_bytes),
        "longest line taken from either side"),
    number("max-buffer-bytes", Bytes, 1, |d| Slot::Size(&mut d.settings.limits.buffer_bytes),
        "bytes that wait in all, for a slow reader or for their turn"),
    number("max-in-flight", Count, 1, |d| Slot::Size(&mut d.settings.limits.in_flight),
        "accepted requests that are not answered yet"),
    number("max-subscriptions", Count, 0, |d| Slot::Size(&mut d.settings.limits.subscriptions),
        "open subscriptions/listen streams"),
    number("max-subscription-uris", Count, 0, |d| Slot::Size(&mut d.settings.limits.subscription_uris),
        "resource URIs one stream may name"),
    number("mrtr-ttl-ms", Millis, 1, |d| Slot::Time(&mut d.settings.limits.mrtr_ttl_ms),
        "how long a requestState can be answered"),
    number("request-timeout-ms", Millis, 1, |d| Slot::Time(&mut d.settings.limits.request_timeout_ms),
        "longest silence of a running request"),
    number("max-request-ms", Millis, 1, |d| Slot::Time(&mut d.settings.limits.request_max_ms),
        "longest run of a request"),
    number("initialize-timeout-ms", Millis, 1, |d| Slot::Time(&mut d.settings.limits.initialize_timeout_ms),
        "longest handshake"),
    number("shutdown-grace-ms", Millis, 0, |d| Slot::Time(&mut d.settings.limits.shutdown_grace_ms),
        "from closing the server's stdin to SIGKILL; SIGTERM after a third"),

    Flag { short: Some('q'), ..flag(Messages, "quiet", Nothing(|draft| draft.verbosity = Verbosity::Quiet),
        "errors only") },
    Flag { short: Some('v'), ..flag(Messages, "verbose", Nothing(say_more),
        "starts and ends, too; -vv: each message, shortened") },
    Flag { short: Some('h'), ..flag(Messages, "help", Takes::Ask(|| Request::Help), "print this") },
    Flag { short: Some('V'), ..flag(Messages, "version", Takes::Ask(|| Request::Version), "print the version") },
];

pub(super) fn lettered(flags: &'static [Flag], letter: char) -> Result<&'static Flag, UsageError> {
    flags
        .iter()
        .find(|flag| flag.short == Some(letter))
        .ok_or_else(|| UsageError(format!("no option '-{letter}'; --help lists them")))
}

pub(super) fn named(flags: &'static [Flag], name: &str) -> Result<&'static Flag, UsageError> {
    if let Some(flag) = flags.iter().find(|flag| flag.name == name) {
        return Ok(flag);
    }
    let near = flags
        .iter()
        .map(|flag| (distance(name, flag.name), flag.name))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 3)
        .min();
    let begins = || flags.iter().find(|flag| name.len() > 2 && flag.name.starts_with(name));
    let hint = match near.map(|(_, near)| near).or_else(|| begins().map(|flag| flag.name)) {
        Some(near) => format!("did you mean '--{near}'?"),
        None => "--help lists them".to_owned(),
    };
    Err(UsageError(format!("no option '--{name}'; {hint}")))
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
