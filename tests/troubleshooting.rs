//! docs/troubleshooting.md has every message of the program, and no other.
//!
//! The messages are read from the source: the string literals of the calls that say something, and
//! of those that hand a reason on to them. What a literal leaves open stands as `...` in the page.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_uplift::message::capabilities::Capabilities;
use mcp_uplift::message::refusal::Refusal;
use serde_json::Value;

const PAGE: &str = include_str!("../docs/troubleshooting.md");

/// What stands in the page from here on is for those who see the client only.
const CLIENT: &str = "## What the client sees";

/// Calls of the core whose literals are messages, or the reasons in them.
const CORE: &[&str] = &[
    "give_server_up(",
    "condemn_server(",
    "probe_failed(",
    "found.push(",
    "fail_waiting(",
    "fail_call(",
    "InvalidMessage(",
    "UpstreamUnavailable(",
    "is_loop\n",
    "fn hint_at_hold_lane",
    "let how =",
    "let why =",
];

/// The same of the shell, the command line and the check.
const OTHERS: &[&str] = &[
    "UsageError(",
    "Err(",
    "err(",
    "about(",
    ".ok_or(",
    "let text =",
    "let wrong =",
    "let unreadable =",
    "map_err(",
    "let started =",
    "fn unexpected",
    "fn explain",
    "fn unstartable",
    "self.fail(",
    "let cause =",
    "fn unreachable_reason",
    "fn unwritable",
    "fn notes",
    "const MORE_TIME",
];

/// A shape that the arguments of `fail_to` fill.
const CANNOT: &str = "cannot ...: ...";

/// A shape that the ends of a process fill, and what has them.
const ENDED: &str = "the server ...";
const ENDS: &str = "Display for Exit";

/// Shapes without a word of their own: what they hold is a message by itself. Any other would be
/// found by nobody who looks for what it says.
const FRAMES: &[&str] = &["--...: ...", "'...'"];

/// Names under which a message reaches `say` that was made elsewhere, by one of the above.
const HANDED_ON: &[&str] = &["why", "finding", "text", "&text", "&why", "NO_LEGACY_CLIENT"];

/// A source file: its text with blanks for comments and the inside of literals, and the literals.
struct Source {
    masked: String,
    literals: Vec<(usize, String)>,
}

impl Source {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        // Tests inside a file stand at its end.
        let is_inline = |(at, _): &(usize, &str)| {
            text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'))
        };
        let end = text.match_indices("#[cfg(test)]\n").find(is_inline);
        Source::scan(&text[..end.map_or(text.len(), |(at, _)| at)])
    }

    fn scan(text: &str) -> Self {
        let (mut masked, mut literals) = (String::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let at = text.len() - rest.len();
            let len = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("r#\"") {
                rest.find("\"#").unwrap() + 2
            } else if first == '"' {
                let len = quoted(rest);
                literals.push((at, unescaped(&rest[1..len - 1])));
                len
            } else if let Some(len) = character(rest) {
                len
            } else {
                masked.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            };
            masked.extend(std::iter::repeat_n(' ', len));
            rest = &rest[len..];
        }
        assert_eq!(masked.len(), text.len());
        Source { masked, literals }
    }

    /// What belongs to each place where this stands: the arguments of a call, the rest of a `let`,
    /// the body of a function.
    fn regions(&self, marker: &str) -> Vec<(usize, usize)> {
        let is_call = marker.ends_with('(');
        let found = self.masked.match_indices(marker).map(|(at, _)| at);
        let starts_a_word = |at: &usize| {
            !self.masked[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                || !marker.starts_with(char::is_alphabetic)
                || marker == "err("
        };
        let end = |at: usize| {
            let (mut depth, is_fn) = (0, marker.starts_with("fn "));
            for (offset, c) in self.masked[at..].char_indices() {
                depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
                let is_over = if is_fn { c == '}' } else { is_call && c == ')' };
                if depth == 0 && (is_over || (!is_call && !is_fn && c == ';')) || depth < 0 {
                    return at + offset;
                }
            }
            self.masked.len()
        };
        found.filter(starts_a_word).map(|at| (at, end(at))).collect()
    }

    fn literals_in(&self, (start, end): (usize, usize)) -> impl Iterator<Item = &str> {
        let is_in = move |(at, _): &&(usize, String)| (start..end).contains(at);
        self.literals.iter().filter(is_in).map(|(_, literal)| literal.as_str())
    }
}

/// Bytes of the string literal at the start.
fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Bytes of the character literal at the start, if it is one and no lifetime.
fn character(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'')?;
    let inner = if rest.starts_with('\\') {
        rest[2..].find('\'')? + 2
    } else {
        rest.chars().next()?.len_utf8()
    };
    rest[inner..].starts_with('\'').then_some(inner + 2)
}

fn unescaped(literal: &str) -> String {
    let mut out = String::new();
    let mut rest = literal.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('\n')) => rest = rest.as_str().trim_start().chars(),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

/// A literal as the page writes it: `...` for what is put in, no blanks around it.
fn told(literal: &str) -> String {
    let mut out = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('{') {
        let (_, after) = after.split_once('}').unwrap();
        out = out + before + "...";
        rest = after;
    }
    (out + rest).trim().replace("......", "...")
}

/// Does it say something by itself?
fn has_words(told: &str) -> bool {
    told.chars().filter(char::is_ascii_alphabetic).count() > 3 && told.contains(' ')
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
    assert!(!found.is_empty());
    found
}

/// Everything that can be said as a warning or an error.
fn said() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let core = [sources("src/bridge"), sources("src/message")].concat();
    let mut others = [sources("src/args"), sources("src/shell")].concat();
    others.extend(
        [
            "src/args.rs",
            "src/main.rs",
            "src/check/conclude.rs",
            "src/check/delivery.rs",
            "src/check/mod.rs",
            "src/check/scope.rs",
        ]
        .map(|path| root.join(path)),
    );
    others.retain(|path| !path.ends_with("src/args/help.rs"));
    let mut messages = BTreeSet::new();
    for (files, markers) in [(core, CORE), (others, OTHERS)] {
        for path in files {
            let source = Source::read(&path);
            let mut regions: Vec<_> =
                markers.iter().flat_map(|marker| source.regions(marker)).collect();
            regions.extend(said_in(&source, &path));
            let literals = regions.into_iter().flat_map(|region| source.literals_in(region));
            let literals: Vec<_> = literals.map(told).collect();
            let is_bare = |told: &&String| {
                told.contains("...") && !has_words(told) && !FRAMES.contains(&told.as_str())
            };
            let bare = literals.iter().find(is_bare);
            assert!(bare.is_none(), "{}: {bare:?} says nothing", path.display());
            messages.extend(literals.into_iter().filter(|literal| has_words(literal)));
            for region in source.regions("unexpected(") {
                source.literals_in(region).for_each(|filling| _ = messages.remove(filling));
            }
            for region in source.regions("fail_to(") {
                let failed = source.literals_in(region).map(|what| format!("cannot {what}: ..."));
                messages.extend(failed);
            }
        }
    }
    messages.remove(CANNOT);
    assert!(messages.remove(ENDED));
    let source = Source::read(&root.join("src/bridge/event.rs"));
    let at = source.masked.find(ENDS).unwrap();
    let bodies = source.regions("fn fmt");
    let body = bodies.into_iter().find(|(start, _)| *start > at).unwrap();
    let ends: Vec<_> =
        source.literals_in(body).map(|end| format!("the server {}", told(end))).collect();
    assert!(ends.len() > 1, "{ends:?}");
    messages.extend(ends);
    messages
}

/// The arguments of `say` at the levels that are shown, and what they name.
fn said_in(source: &Source, path: &Path) -> Vec<(usize, usize)> {
    let mut regions = source.regions("const NO_LEGACY_CLIENT");
    for (start, end) in source.regions("say(") {
        let call = &source.masked[start..end];
        if !call.contains("Level::Error") && !call.contains("Level::Warning") {
            continue;
        }
        if source.literals_in((start, end)).next().is_some() {
            regions.push((start, end));
            continue;
        }
        let argument = call.trim_end_matches([',', ' ', '\n']).rsplit(',').next().unwrap().trim();
        let name = format!("let {} =", argument.trim_start_matches('&'));
        let before = source.regions(&name).into_iter().rfind(|(at, _)| *at < start);
        let has_text = |region: &(usize, usize)| source.literals_in(*region).next().is_some();
        let is_known = before.as_ref().is_some_and(has_text) || HANDED_ON.contains(&argument);
        assert!(is_known, "{}: where does {argument} come from?", path.display());
        regions.extend(before.filter(|(at, _)| !source.masked[*at..start].contains("\n    }\n")));
    }
    regions
}

/// The cells of all table rows of a part of the page, without the heads.
fn rows(part: &str) -> impl Iterator<Item = Vec<&str>> {
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| message |");
    part.lines()
        .filter(is_row)
        .map(|line| line.trim_matches(['|', ' ']).split(" | ").map(str::trim).collect())
}

/// What stands in backticks.
fn marked(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn parts() -> (&'static str, &'static str) {
    let at = PAGE.find(CLIENT).unwrap();
    PAGE.split_at(at)
}

fn agree(source: &BTreeSet<String>, page: &BTreeSet<String>) {
    let missing: Vec<_> = source.difference(page).collect();
    let invented: Vec<_> = page.difference(source).collect();
    assert!(missing.is_empty(), "docs/troubleshooting.md lacks {missing:#?}");
    assert!(invented.is_empty(), "docs/troubleshooting.md has what nothing says: {invented:#?}");
}

#[test]
fn every_message_on_stderr_is_told() {
    let said = said();
    assert!(said.len() > 50, "{}", said.len());
    let page =
        rows(parts().0).flat_map(|cells| marked(cells[0]).map(str::to_owned).collect::<Vec<_>>());
    agree(&said, &page.collect());
}

#[test]
fn every_refusal_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(&root.join("src/message/refusal.rs"));
    let bodies = source.regions("fn message");
    let literals = bodies.into_iter().flat_map(|body| source.literals_in(body));
    let messages: BTreeSet<_> = literals.map(told).filter(|literal| has_words(literal)).collect();
    assert!(messages.len() > 20);
    let page =
        rows(parts().1).flat_map(|cells| marked(cells[0]).map(str::to_owned).collect::<Vec<_>>());
    agree(&messages, &page.collect());
}

/// Code and reason of each refusal are those of its row.
#[test]
fn codes_and_reasons_are_those_of_the_program() {
    let word = || "x".to_owned();
    let refusals = [
        Refusal::ParseError(6),
        Refusal::InvalidRequest,
        Refusal::TooDeep,
        Refusal::LineTooLong,
        Refusal::IdInUse,
        Refusal::LegacyConnection(word()),
        Refusal::Envelope { key: "_meta", problem: word() },
        Refusal::Envelope { key: "key", problem: word() },
        Refusal::UnsupportedVersion { requested: None },
        Refusal::MethodNotFound(word()),
        Refusal::NotSupported("tools"),
        Refusal::LogLevel,
        Refusal::Params(word()),
        Refusal::InvalidState,
        Refusal::Restarted,
        Refusal::MissingCapability(Capabilities::ROOTS),
        Refusal::TooManyRounds,
        Refusal::Declined,
        Refusal::Timeout,
        Refusal::UpstreamExited(word()),
        Refusal::UpstreamUnavailable(word()),
        Refusal::Overloaded("--max-in-flight"),
        Refusal::TooManyStreams,
        Refusal::InvalidResult,
        Refusal::InvalidMessage(word()),
    ];
    let mut reasons = BTreeSet::new();
    for refusal in refusals {
        let error: Value = serde_json::from_str(&format!("{{{}}}", refusal.outcome())).unwrap();
        let error = &error["error"];
        let message = error["message"].as_str().unwrap();
        let mut fitting: Vec<_> = rows(parts().1)
            .filter(|cells| marked(cells[0]).any(|shape| fits(shape, message)))
            .collect();
        // The most special shape is meant.
        fitting.sort_by_key(|cells| std::cmp::Reverse(cells[0].len()));
        let cells = fitting.first().unwrap_or_else(|| panic!("no row for {message}"));
        assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()), "{message}");
        assert!(cells[1].contains(&error["code"].to_string()), "{message}: {}", cells[1]);
        let reason = error["data"]["reason"].as_str().filter(|reason| !reason.contains(' '));
        if let Some(reason) = reason {
            assert!(marked(cells[1]).any(|told| told == reason), "{message}: {reason}");
            reasons.insert(reason.to_owned());
        }
    }
    let told =
        rows(parts().1).flat_map(|cells| marked(cells[1]).map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(told.collect::<BTreeSet<_>>(), reasons);
}

/// Is it of this shape, in which `...` stands for anything?
fn fits(shape: &str, text: &str) -> bool {
    let mut parts = shape.split("...");
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || shape.ends_with("...")
}

#[test]
fn every_row_says_what_to_do() {
    for cells in rows(PAGE) {
        assert!(cells.len() >= 3 && cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
    }
}

#[test]
fn literals_are_found() {
    let source = Source::scan(
        "fn f() { // say(Level::Error, \"no\")\n say(Level::Error, &format!(\"a {x} \\\n   b's '{}'\")); c('\"'); }",
    );
    let found: Vec<_> = source.literals_in(source.regions("say(")[0]).map(told).collect();
    assert_eq!(found, ["a ... b's '...'"]);
}
