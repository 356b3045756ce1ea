//! The command line of `mcp-uplift check`: its flags and what each does.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use super::draft::{Draft, Rest};
use super::flags::{CWD, Command, ENV, Flag, Group, INHERIT_ENV, Slot, Takes, flag, number};
use super::units::Unit::Millis;
use super::{Request, UsageError};
use crate::check::options::{Call, FailOn, Format, Options, Wrapped};
use crate::check::report::list;
use crate::check::rules;
use crate::message::object::Object;
use Group::{Instead, Report, Rules, Times};
use Takes::{Nothing, Text};

/// `mcp-uplift check`.
pub(super) const CHECK: Command = Command { flags: FLAGS, help: "check --help", finish };

#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    ENV, INHERIT_ENV, CWD,

    Flag { value: "IDS", default: "all", ..flag(Rules, "only", Text(|draft, word| add_ids(&mut draft.wishes.only, word)),
        "rules to judge, as in MCP001,RDY108 (repeatable)") },
    Flag { value: "IDS", default: "none", ..flag(Rules, "skip", Text(|draft, word| add_ids(&mut draft.wishes.skip, word)),
        "rules to leave out (repeatable)") },
    Flag { value: "NAME=JSON", default: "none", ..flag(Rules, "call", Text(add_call),
        "call this tool with these arguments; NAME=@FILE reads them (repeatable)") },
    Flag { default: "after errors", ..flag(Rules, "wrapped", Nothing(|draft| draft.is_always_wrapped = true),
        "check COMMAND behind mcp-uplift as well, in any case") },
    Flag { default: "off", ..flag(Rules, "native-only", Nothing(|draft| draft.is_native_only = true),
        "never check it behind mcp-uplift") },

    Flag { group: Times, ..number("timeout", Millis, 1, |draft| Slot::Time(&mut draft.wishes.timeout_ms),
        "longest wait for an answer") },
    Flag { group: Times, ..number("start-timeout", Millis, 1, |draft| Slot::Time(&mut draft.wishes.start_timeout_ms),
        "longest wait for the first answer of a process") },
    Flag { group: Times, ..number("budget", Millis, 1, |draft| Slot::Time(&mut draft.wishes.budget_ms),
        "longest check, native and wrapped each") },

    Flag { value: "FORM", default: "text", ..flag(Report, "format", Text(set_format),
        "text, json, sarif or markdown") },
    Flag { value: "FILE", default: "stdout", ..flag(Report, "output", Text(|draft, word| set_file(&mut draft.wishes.output, word)),
        "write the report there") },
    Flag { value: "FILE", default: "as in COMMAND", ..flag(Report, "anchor", Text(|draft, word| set_file(&mut draft.wishes.anchor, word)),
        "source file that SARIF findings are shown at") },
    Flag { value: "LEVEL", default: "error", ..flag(Report, "fail-on", Text(set_fail_on),
        "what makes the exit status 1: error, warning or never") },
    Flag { default: "off", ..flag(Report, "accept-wrapped", Nothing(|draft| draft.wishes.accept_wrapped = true),
        "exit status 0 also when only ready behind mcp-uplift") },
    Flag { short: Some('v'), default: "off", ..flag(Report, "verbose", Nothing(|draft| draft.wishes.verbose = true),
        "messages behind findings, stderr of COMMAND, passed rules") },
    Flag { default: "off", ..flag(Report, "no-color", Nothing(|draft| draft.wishes.may_color = false),
        "no colour at a terminal; also with NO_COLOR or TERM=dumb set") },

    flag(Instead, "list-rules", Nothing(|draft| draft.lists_rules = true),
        "print all rules, as text or json"),
    Flag { short: Some('h'), ..flag(Instead, "help", Takes::Ask(|| Request::CheckHelp), "print this") },
];

/// Checks what no single flag can, and completes it.
fn finish(mut draft: Draft, rest: Rest<'_>) -> Result<Request, UsageError> {
    if draft.lists_rules {
        return Ok(Request::ListRules { is_json: draft.wishes.format == Format::Json });
    }
    let mut wishes = std::mem::take(&mut draft.wishes);
    wishes.wrapped = match (draft.is_always_wrapped, draft.is_native_only) {
        (false, false) => Wrapped::IfNeeded,
        (true, false) => Wrapped::Always,
        (false, true) => Wrapped::Never,
        (true, true) => {
            return Err(UsageError("--wrapped: not together with --native-only".to_owned()));
        }
    };
    if !wishes.only.is_empty() && wishes.only.iter().all(|id| rules::find(id).is_none()) {
        return Err(UsageError("--only: these rules are for HTTP; see --list-rules".to_owned()));
    }
    let usage = "mcp-uplift check [OPTIONS] [--] COMMAND [ARGS...]; see check --help";
    let launch = draft.launch(rest, usage)?;
    let secrets = draft.secrets(&launch);
    Ok(Request::Check(Box::new(Options { launch, secrets, wishes })))
}

fn add_ids(ids: &mut Vec<String>, word: &OsStr) -> Result<(), String> {
    for id in word.to_string_lossy().split(',') {
        let id = id.trim().to_ascii_uppercase();
        if !list::is_known(&id) {
            return Err(format!("no rule '{id}'; --list-rules names them"));
        }
        ids.push(id);
    }
    Ok(())
}

fn set_format(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.wishes.format = match word.to_str() {
        Some("text") => Format::Text,
        Some("json") => Format::Json,
        Some("sarif") => Format::Sarif,
        Some("markdown") => Format::Markdown,
        _ => return Err(unexpected("text, json, sarif or markdown", word)),
    };
    Ok(())
}

fn set_fail_on(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.wishes.fail_on = match word.to_str() {
        Some("error") => FailOn::Error,
        Some("warning") => FailOn::Warning,
        Some("never") => FailOn::Never,
        _ => return Err(unexpected("error, warning or never", word)),
    };
    Ok(())
}

fn unexpected(expected: &str, word: &OsStr) -> String {
    format!("expected {expected}, got '{}'", word.display())
}

fn set_file(file: &mut Option<PathBuf>, word: &OsStr) -> Result<(), String> {
    if word.is_empty() {
        return Err("expected a file".to_owned());
    }
    *file = Some(word.into());
    Ok(())
}

/// Its error repeats none of the arguments, which may hold a secret.
fn add_call(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    let (name, value) = word
        .to_str()
        .and_then(|word| word.split_once('='))
        .filter(|(name, _)| !name.is_empty())
        .ok_or("expected NAME=JSON or NAME=@FILE")?;
    let text = match value.strip_prefix('@') {
        Some(file) => {
            fs::read_to_string(file).map_err(|error| format!("cannot read '{file}': {error}"))?
        }
        None => value.to_owned(),
    };
    if Object::parse(&text).is_none() {
        return Err(format!("expected a JSON object as the arguments of '{name}'"));
    }
    // They become part of one line; outside of strings, where JSON has no line ends, these are blanks.
    let arguments = text.trim().replace(['\n', '\r'], " ");
    draft.wishes.calls.push(Call { name: name.to_owned(), arguments });
    Ok(())
}
