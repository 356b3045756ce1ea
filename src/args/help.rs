//! `--help`, printed from the table.

use super::bridge::BRIDGE;
use super::check::CHECK;
use super::draft::Draft;
use super::environment::PASSED;
use super::flags::{Flag, Group, Slot, Takes};

const WIDTH: usize = 80;

/// Where the explanations begin.
const COLUMN: usize = 30;

const HEAD: &str = "\
Serves a legacy stdio MCP server to MCP 2026-07-28 clients.

Usage: mcp-uplift [OPTIONS] -- COMMAND [ARGS...]
       mcp-uplift COMMAND [ARGS...]
       mcp-uplift check ...   how far a server is from 2026-07-28: check --help

Everything after COMMAND, or after --, belongs to the server's command line.
";

const TAIL: &str = "
Sizes: 65536, 64KiB, 16MiB, 1GiB, 1MB. Times: 500 or 500ms, 30s, 2m, 1h.

Exit status: 0 the client closed and all was answered; 1 the server was asked
and never completed a handshake, or ended under a legacy client, or stdin or
stdout failed; 2 wrong usage, or COMMAND could not be started; 128+N ended by
signal N.
";

const CHECK_HEAD: &str = "\
Checks how far a stdio MCP server is from MCP 2026-07-28, alone and behind
mcp-uplift. It is started several times; no tool is called but with --call.

Usage: mcp-uplift check [OPTIONS] [--] COMMAND [ARGS...]
       mcp-uplift check --list-rules

Everything after COMMAND, or after --, belongs to the server's command line.
";

const CHECK_TAIL: &str = "
Times: 500 or 500ms, 30s, 2m, 1h.

Exit status: 0 ready; 1 findings; 2 wrong usage, or COMMAND could not be started
or never answered; 3 a fault of the check itself; 130 interrupted.
";

/// The headings, in their order.
pub(super) const BRIDGE_GROUPS: &[(Group, &str)] = &[
    (Group::Server, "The server"),
    (Group::Protocol, "Protocol"),
    (Group::Limits, "Limits"),
    (Group::Messages, "Messages"),
];

/// The headings of `check`.
pub(super) const CHECK_GROUPS: &[(Group, &str)] = &[
    (Group::Server, "The server"),
    (Group::Rules, "What is checked"),
    (Group::Times, "Times"),
    (Group::Report, "The report"),
    (Group::Instead, "Instead of a check"),
];

/// The text of `--help`.
#[must_use]
pub fn help() -> String {
    page(HEAD, BRIDGE.flags, BRIDGE_GROUPS, TAIL)
}

/// The text of `check --help`.
#[must_use]
pub fn check_help() -> String {
    page(CHECK_HEAD, CHECK.flags, CHECK_GROUPS, CHECK_TAIL)
}

fn page(head: &str, flags: &[Flag], groups: &[(Group, &str)], tail: &str) -> String {
    let mut text = head.to_owned();
    for (group, title) in groups {
        text += "\n";
        text += title;
        text += ":\n";
        for flag in flags.iter().filter(|flag| flag.group == *group) {
            push_flag(&mut text, flag);
        }
    }
    text += "\nVariables passed on to the server when set; others with --env:\n";
    let names: Vec<&str> = PASSED.iter().copied().flatten().copied().collect();
    text += "  ";
    push_wrapped(&mut text, &names.join(" "), 2);
    text + tail
}

fn push_flag(text: &mut String, flag: &Flag) {
    let mut name = match flag.short {
        Some(letter) => format!("  -{letter}, --{}", flag.name),
        None => format!("      --{}", flag.name),
    };
    if !flag.value.is_empty() {
        name += " ";
        name += flag.value;
    }
    text.push_str(&name);
    if name.len() + 2 > COLUMN {
        text.push('\n');
        name.clear();
    }
    text.push_str(&" ".repeat(COLUMN - name.len()));
    let default = default(flag);
    if default.is_empty() {
        push_wrapped(text, flag.help, COLUMN);
    } else {
        push_wrapped(text, &format!("{} [{default}]", flag.help), COLUMN);
    }
}

pub(super) fn default(flag: &Flag) -> String {
    let Takes::Number { unit, slot, .. } = &flag.takes else {
        return flag.default.to_owned();
    };
    match slot(&mut Draft::default()) {
        Slot::Size(size) => unit.show(u64::try_from(*size).unwrap_or(u64::MAX)),
        Slot::Time(time) => unit.show(*time),
    }
}

/// Adds words; lines after the first begin in column `indent`.
fn push_wrapped(text: &mut String, words: &str, indent: usize) {
    let mut column = indent;
    for (index, word) in words.split(' ').enumerate() {
        if index > 0 && column + 1 + word.len() > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text.push('\n');
}
