//! The examples of docs/protocol.md are what the bridge does.
//!
//! An example is a code block under a comment that names a case, `<!-- case: e-question-round -->`.
//! The case is played in memory, and what passed is written as the document explains. Behind the
//! name may stand `handshake`, to keep that, and `lines 2-7`, to show only those.
//! `UPDATE_DOCS=1 cargo test --test protocol_doc` writes the blocks anew.

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "only the memory player is used; the runner reports on stdout"
)]
mod support;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use support::case::Case;
use support::json::Json;
use support::transcript::{Passed, Transcript, Way};
use support::{memory, options};

const MARKER: &str = "<!-- case: ";
const PREFIX: &str = "io.modelcontextprotocol/";
const WIDTH: usize = 100;

#[test]
fn examples_are_what_the_bridge_does() {
    let path = here("docs/protocol.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut differences = String::new();
    let renewed = renew(&text, &mut differences).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, renewed).unwrap();
    } else if !differences.is_empty() {
        panic!("docs/protocol.md differs (UPDATE_DOCS=1 writes it anew)\n{differences}");
    }
}

/// The lines of rules, such as `(E3, E12-E15)`, name rules that exist.
#[test]
fn rules_exist() {
    let table = include_str!("rules.tsv");
    let rules: BTreeSet<&str> = table.lines().filter_map(|row| row.split('\t').next()).collect();
    let text = std::fs::read_to_string(here("docs/protocol.md")).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix('(')?.strip_suffix(')'));
    let named: Vec<&str> = lines.flat_map(|line| line.split([',', '-', ' '])).collect();
    assert!(!named.is_empty());
    for rule in named.into_iter().filter(|rule| !rule.is_empty()) {
        assert!(rules.contains(rule), "{rule} is not in tests/rules.tsv");
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The document with its blocks as they should be; `differences` gets what has changed.
fn renew(text: &str, differences: &mut String) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(words) = line.strip_prefix(MARKER) else { continue };
        let example = Example::read(words.trim_end_matches("-->"))?;
        let fence = lines.next().filter(|line| line.starts_with("```"));
        let fence = fence.ok_or_else(|| format!("{}: no block under its comment", example.case))?;
        let old: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let new = example.block()?;
        tell_difference(&example.case, &old, &new, differences);
        for line in [fence].into_iter().chain(new.iter().map(String::as_str)).chain(["```"]) {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(out)
}

/// The lines between the first and the last that differ.
fn tell_difference(case: &str, old: &[&str], new: &[String], out: &mut String) {
    let same = |(a, b): &(&&str, &String)| **a == b.as_str();
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return;
    }
    let removed = old.iter().map(|line| format!("  - {line}\n"));
    let added = new.iter().map(|line| format!("  + {line}\n"));
    out.push_str(&format!("{case}, from line {} on:\n", head + 1));
    out.extend(removed.chain(added));
}

/// What a comment asks for.
struct Example {
    case: String,
    handshake: bool,
    lines: RangeInclusive<usize>,
}

impl Example {
    fn read(words: &str) -> Result<Self, String> {
        let mut words = words.split_whitespace();
        let case = words.next().ok_or("a comment names no case")?.to_owned();
        let mut example = Example { case, handshake: false, lines: 1..=usize::MAX };
        while let Some(word) = words.next() {
            match word {
                "handshake" => example.handshake = true,
                "lines" => {
                    let range = words.next().and_then(|range| range.split_once('-'));
                    let range = range.map(|(from, to)| (from.parse(), to.parse()));
                    let Some((Ok(from), Ok(to))) = range else {
                        return Err(format!("{}: lines without a range", example.case));
                    };
                    example.lines = from..=to;
                }
                _ => return Err(format!("{}: {word} is not known", example.case)),
            }
        }
        Ok(example)
    }

    fn block(&self) -> Result<Vec<String>, String> {
        let about = |why: String| format!("{}: {why}", self.case);
        let case = Case::load(&here("tests/cases").join(format!("{}.json", self.case)))?;
        let settings = options::settings(&case).map_err(about)?;
        let (verdict, transcript) = memory::play(&case, settings);
        verdict.map_err(about)?;
        let mut rows = rows(&transcript).map_err(about)?;
        if !self.handshake {
            drop_handshakes(&mut rows);
        }
        let mut writer = Writer::default();
        let rows = (1..).zip(&rows).filter(|(n, _)| self.lines.contains(n));
        let block: Vec<String> = rows.flat_map(|(_, row)| writer.lines(row)).collect();
        if block.is_empty() { Err(about("no such lines".to_owned())) } else { Ok(block) }
    }
}

/// One line that passed, or something that happened.
struct Row {
    at: u64,
    who: &'static str,
    what: What,
}

enum What {
    Message(Json),
    Note(String),
}

/// All that passed, in the order of the trace. The trace cuts long lines, so it gives the order and
/// the pipes give the messages.
fn rows(transcript: &Transcript) -> Result<Vec<Row>, String> {
    let mut client = transcript.client.iter();
    let mut processes = transcript.server.iter();
    let mut server = [].iter();
    let mut rows = Vec::new();
    let (mut at, mut kind) = (0, String::new());
    for line in transcript.print().lines() {
        // A line that goes on from the one before is another message of the same write.
        let text = match head(line) {
            Some((when, what, text)) => {
                (at, kind) = (when, what.to_owned());
                text
            }
            None if line.starts_with("    stderr: ") => break,
            None => line,
        };
        let row = match kind.as_str() {
            "C>" => Some(("C>B", message(&mut client, Way::ToBridge)?)),
            "C<" => Some(("B>C", message(&mut client, Way::FromBridge)?)),
            "S>" => Some(("S>B", message(&mut server, Way::ToBridge)?)),
            "S<" => Some(("B>S", message(&mut server, Way::FromBridge)?)),
            "S!" if text == "start" => {
                let is_first = processes.len() == transcript.server.len();
                server = processes.next().ok_or("more starts than processes")?.iter();
                (!is_first).then(|| ("S", What::Note("(starts again)".to_owned())))
            }
            _ => note(&kind, text),
        };
        if let Some((who, what)) = row {
            insert(&mut rows, Row { at, who, what });
        }
    }
    while matches!(rows.last(), Some(Row { what: What::Note(_), .. })) {
        rows.pop();
    }
    Ok(rows)
}

/// Time, kind and text of a line of the trace.
fn head(line: &str) -> Option<(u64, &str, &str)> {
    let (at, row) = line.strip_prefix("    ")?.trim_start().split_once(' ')?;
    let (kind, text) = row.split_once(' ')?;
    Some((at.parse().ok()?, kind, text))
}

/// Adds a row. The trace has a line to the server where that read it, behind all else that happened
/// at that moment: the end of its input comes after it, and a notification was sent first.
fn insert(rows: &mut Vec<Row>, row: Row) {
    let is_note = |what: &What| matches!(what, What::Note(_));
    let is_up = row.who == "B>S" && !is_note(&row.what);
    let is_notification = matches!(&row.what, What::Message(message) if !message.has("id"));
    let goes_behind = |other: &&Row| {
        let is_end = other.who == "B>S" && is_note(&other.what);
        is_up && other.at == row.at && (is_end || is_notification && other.who == "B>C")
    };
    let behind = rows.iter().rev().take_while(goes_behind).count();
    rows.insert(rows.len() - behind, row);
}

fn message(pipe: &mut std::slice::Iter<'_, Passed>, way: Way) -> Result<What, String> {
    let passed = pipe.next().filter(|passed| passed.way == way);
    let passed = passed.ok_or("the server reads late, so its order is not known; take another")?;
    Ok(What::Message(passed.message.clone()))
}

/// What a reader wants to know of the rest of the trace.
fn note(kind: &str, text: &str) -> Option<(&'static str, What)> {
    let said = text.strip_prefix("Warning: ").or_else(|| text.strip_prefix("Error: "));
    let (who, text) = match (kind, text, said) {
        ("S!", "exit" | "kill_self", _) => ("S", "(exits)"),
        ("S!", "eof", _) => ("B>S", "(end of input)"),
        ("C!", "stdin closed", _) => ("C>B", "(end of input)"),
        ("C!", _, Some(said)) => ("stderr", said),
        _ => return None,
    };
    let name = if said.is_some() { "mcp-uplift: " } else { "" };
    Some((who, What::Note(format!("{name}{text}"))))
}

fn drop_handshakes(rows: &mut Vec<Row>) {
    let mut id = None;
    rows.retain(|Row { who, what, .. }| {
        let What::Message(message) = what else { return true };
        match (*who, message.get("method").and_then(Json::text)) {
            ("B>S", Some("initialize")) => {
                id = message.get("id").cloned();
                false
            }
            ("B>S", Some("notifications/initialized")) => false,
            ("S>B", None) if id.is_some() && message.get("id") == id.as_ref() => {
                id = None;
                false
            }
            _ => true,
        }
    });
}

/// Writes rows as the document explains.
#[derive(Default)]
struct Writer {
    /// Each `requestState` seen so far.
    states: Vec<String>,
}

impl Writer {
    fn lines(&mut self, row: &Row) -> Vec<String> {
        let text = match &row.what {
            What::Message(message) => self.shown(message).to_text(),
            What::Note(text) => return vec![format!("{:3} {text}", row.who)],
        };
        wrapped(row.who, &text)
    }

    /// The message without `jsonrpc`, with short names for what is long and always the same.
    fn shown(&mut self, json: &Json) -> Json {
        match json {
            Json::String(text) if is_state(text) => {
                let known = self.states.iter().position(|state| state == text);
                let n = known.unwrap_or_else(|| {
                    self.states.push(text.clone());
                    self.states.len() - 1
                });
                Json::String(format!("STATE-{}", n + 1))
            }
            Json::Array(items) => Json::Array(items.iter().map(|item| self.shown(item)).collect()),
            Json::Object(members) => {
                let shown = members.iter().filter(|(name, _)| name != "jsonrpc");
                let shown = shown.map(|(name, value)| {
                    let value = if name == "_meta" { short_meta(value) } else { value.clone() };
                    (short_name(name), self.shown(&value))
                });
                Json::Object(shown.collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
        }
    }
}

fn is_state(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_once('.').is_some_and(|(epoch, handle)| {
        epoch.len() == 16 && handle.len() == 32 && is_hex(epoch) && is_hex(handle)
    })
}

fn short_name(name: &str) -> String {
    name.strip_prefix(PREFIX).map_or(name.to_owned(), |rest| format!("P:{rest}"))
}

/// `META` for a plain envelope and `META+{...}` for one with more or other members; `SERVER` for the
/// scripted server's identity.
fn short_meta(meta: &Json) -> Json {
    let usual = [("protocolVersion", r#""2026-07-28""#), ("clientCapabilities", "{}")];
    let is_usual = |name: &str, value: &Json| {
        let short = name.strip_prefix(PREFIX);
        usual.iter().any(|(known, text)| short == Some(known) && value.to_text() == *text)
    };
    let members = meta.members().unwrap_or_default().iter();
    let members = members.filter(|(name, value)| !is_usual(name, value));
    let rest: Vec<_> = members.map(|(name, value)| (short_name(name), value.clone())).collect();
    let is_envelope = usual.iter().all(|(name, _)| meta.has(&format!("{PREFIX}{name}")));
    let text = Json::Object(rest).to_text();
    // A number is written as its text stands.
    match (is_envelope, text.as_str()) {
        (true, "{}") => Json::Number("META".to_owned()),
        (true, _) => Json::Number(format!("META+{text}")),
        (false, r#"{"P:serverInfo":{"name":"fake","version":"1.2.3"}}"#) => {
            Json::Number("SERVER".to_owned())
        }
        (false, _) => meta.clone(),
    }
}

/// The text behind its arrow, broken after commas so that it fits the width.
fn wrapped(who: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = format!("{who} ");
    for part in parts(text) {
        if line.len() + part.len() > WIDTH && line.len() > 4 {
            lines.push(std::mem::replace(&mut line, " ".repeat(6)));
        }
        line.push_str(part);
    }
    lines.push(line);
    lines
}

/// The text cut behind each comma that stands outside strings.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(&text[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
