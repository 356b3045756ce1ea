//! The command line of the bridge: its flags and what each does.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::draft::{Draft, Rest};
use super::flags::{CWD, Command, ENV, Flag, Group, INHERIT_ENV, Slot, Takes, flag, number};
use super::units::Unit::{Bytes, Count, Millis};
use super::{Options, Request, UsageError};
use crate::bridge::ServerEra;
use crate::shell::Verbosity;
use Group::{Messages, Protocol, Server};
use Takes::{Nothing, Text};

/// The bridge.
pub(super) const BRIDGE: Command = Command { flags: FLAGS, help: "--help", finish };

#[rustfmt::skip]
const FLAGS: &[Flag] = &[
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

/// Checks what no single flag can, and completes it.
fn finish(mut draft: Draft, rest: Rest<'_>) -> Result<Request, UsageError> {
    let launch = draft.launch(rest, "mcp-uplift [OPTIONS] -- COMMAND [ARGS...]; see --help")?;
    let base = Path::new(&launch.program).file_name().unwrap_or(&launch.program);
    draft.settings.command_name = base.to_string_lossy().into_owned();
    Ok(Request::Run(Box::new(Options {
        settings: draft.settings,
        launch,
        verbosity: draft.verbosity,
    })))
}

fn add_root(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    let path = Path::new(word);
    if !path.is_dir() {
        return Err(format!("expected an existing directory, got '{}'", path.display()));
    }
    let unreadable = |error: std::io::Error| format!("cannot read '{}': {error}", path.display());
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
