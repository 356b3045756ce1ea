//! What a check comes to: outcomes of rules, and the report that is made of them.
//!
//! Plain data: `probe` gathers, `rules` judge, `report` prints.

use std::ops::Range;

use super::rules::Rule;
use crate::message::object::quoted;
use crate::shell::How;

/// How a rule came out in one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// A finding below an error.
    Warn,
    /// A finding that is an error.
    Fail,
    /// The rule does not apply.
    Skip,
    /// It applies and could not be judged.
    Inconclusive,
}

impl Verdict {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
            Verdict::Skip => "skip",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// Is there something to mend?
    #[must_use]
    pub fn is_finding(self) -> bool {
        matches!(self, Verdict::Warn | Verdict::Fail)
    }
}

/// What was seen of a rule in one column.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it came out.
    pub verdict: Verdict,
    /// What was found; of a rule that was skipped or could not be judged, why. Server text in it is
    /// clean and short already. May be empty where the rule passed.
    pub found: String,
    /// The method that is concerned, for the place of a finding; "" where there is none.
    pub method: &'static str,
    /// The frames that show it.
    pub evidence: Vec<Frame>,
}

/// One line on its way to or from a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The child: `A`, `B`, `C`, `D`, `E`, ...
    pub child: char,
    /// Milliseconds since that child was started.
    pub ms: u64,
    /// From us to the child.
    pub is_ours: bool,
    /// The line, or as much of it as is kept ([`Frame::KEPT`] bytes), not cleaned.
    pub text: String,
    /// Bytes of the whole line.
    pub bytes: usize,
}

impl Frame {
    /// Bytes of a line that are kept.
    pub const KEPT: usize = 2 << 10;

    /// Is only the beginning of the line kept?
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.text.len() < self.bytes
    }
}

/// Who has to mend a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The SDK, by an upgrade.
    Sdk,
    /// The author of the server.
    Server,
    /// Nobody can tell.
    Unknown,
}

impl Owner {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Owner::Sdk => "sdk",
            Owner::Server => "server",
            Owner::Unknown => "unknown",
        }
    }
}

/// One rule in all columns that were run.
#[derive(Clone, Debug)]
pub struct RuleResult {
    /// Which rule.
    pub rule: &'static Rule,
    /// The server alone.
    pub native: Outcome,
    /// The server behind this program, if that was run.
    pub wrapped: Option<Outcome>,
    /// Who mends the native finding.
    pub owner: Owner,
    /// How; "" where there is no native finding.
    pub fix: String,
}

/// The verdict on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overall {
    /// No native error.
    ReadyNatively,
    /// Errors natively, none when wrapped.
    ReadyWhenWrapped,
    /// Errors in both columns, or natively and the other was not run.
    NotReady,
    /// No process ever answered.
    Unreachable,
}

impl Overall {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Overall::ReadyNatively => "ready-natively",
            Overall::ReadyWhenWrapped => "ready-when-wrapped",
            Overall::NotReady => "not-ready",
            Overall::Unreachable => "unreachable",
        }
    }
}

/// Which protocol the server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// It answers, but nothing usable.
    #[default]
    Unknown,
    /// Only after `initialize`.
    Legacy,
    /// Only 2026-07-28.
    Modern,
    /// Both, by how it is opened.
    Dual,
}

impl Era {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Era::Unknown => "unknown",
            Era::Legacy => "legacy",
            Era::Modern => "modern",
            Era::Dual => "dual",
        }
    }

    /// Does it serve 2026-07-28?
    #[must_use]
    pub fn is_modern(self) -> bool {
        matches!(self, Era::Modern | Era::Dual)
    }
}

/// The SDK that a server was built with, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdk {
    /// `typescript`, `python`, `rust`.
    pub name: &'static str,
    /// `1.x`, `2.x`, ...; "" where the marks of several releases are the same.
    pub line: &'static str,
    /// `package` (its own file) or `wire` (how its lines look).
    pub why: &'static str,
    /// Does this release serve 2026-07-28? `None`: its marks do not tell.
    pub is_modern: Option<bool>,
}

/// Something that is different for clients when the server is wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name, for instance `serial-calls`.
    pub id: &'static str,
    /// One sentence for the person.
    pub text: &'static str,
    /// What shows that it concerns this server.
    pub because: String,
}

/// A feature that 2026-07-28 does not have, in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name, for instance `logging`.
    pub name: &'static str,
    /// Was it seen at work, and not only declared?
    pub is_observed: bool,
    /// The child that showed it.
    pub child: char,
    /// Where.
    pub frame: Option<Frame>,
}

/// One process of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildNote {
    /// `A`, `B`, ...
    pub id: char,
    /// Did it run behind this program?
    pub is_wrapped: bool,
    /// Milliseconds from its start to its end.
    pub ms: u64,
    /// Lines in both directions.
    pub frames: usize,
    /// Its exit status; `None` where a signal ended it.
    pub exit: Option<i32>,
    /// What ended it.
    pub ended: How,
}

/// Everything a report shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The verdict.
    pub verdict: Overall,
    /// Why it is unreachable; else "".
    pub reason: String,
    /// Which protocol it speaks.
    pub era: Era,
    /// Name and version it gave itself, not cleaned.
    pub server: Option<(String, String)>,
    /// What it was built with.
    pub sdk: Option<Sdk>,
    /// All rules that were asked for, in the order of their ids; none when unreachable.
    pub results: Vec<RuleResult>,
    /// Was the second column run?
    pub is_wrapped_run: bool,
    /// What changes when wrapped.
    pub changes: Vec<Change>,
    /// What the server uses that is gone.
    pub features: Vec<Feature>,
    /// The processes, in the order of their start.
    pub children: Vec<ChildNote>,
    /// What the children wrote to stderr, the last lines; shown with `--verbose`.
    pub stderr: Vec<String>,
    /// Tools that were listed and not called.
    pub uncalled_tools: usize,
    /// Milliseconds from first to last.
    pub duration_ms: u64,
    /// When it began, in seconds since 1970.
    pub started_unix: u64,
    /// The exit status that goes with it.
    pub exit_code: u8,
}

impl Report {
    /// Native findings of this verdict.
    pub fn native(&self, verdict: Verdict) -> impl Iterator<Item = &RuleResult> {
        self.results.iter().filter(move |result| result.native.verdict == verdict)
    }

    /// Rules that fail when wrapped.
    pub fn wrapped_failures(&self) -> impl Iterator<Item = &RuleResult> {
        let fails = |result: &&RuleResult| {
            result.wrapped.as_ref().is_some_and(|outcome| outcome.verdict == Verdict::Fail)
        };
        self.results.iter().filter(fails)
    }
}

/// Values shorter than this are not looked for: they would hide half of every text.
const LEAST_SECRET: usize = 4;

/// All spellings of values that must not be shown.
#[must_use]
pub fn spellings(values: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // The longest first: one may be the beginning of another.
    let mut add = |text: &str| {
        let at = all.iter().position(|other| other.len() < text.len());
        all.insert(at.unwrap_or(all.len()), text.to_owned());
    };
    // A value of several lines may come line by line.
    let lines = values.iter().flat_map(|value| value.lines().chain([&**value]));
    for value in lines.filter(|value| value.len() >= LEAST_SECRET) {
        add(value);
        // As JSON writers spell it: ours, those that escape slashes, those that keep to ASCII.
        let quoted = quoted(value);
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        let ascii = ascii_json(inner);
        for spelling in [inner, &ascii] {
            add(spelling);
            add(&spelling.split('/').collect::<Vec<_>>().join("\\/"));
        }
    }
    all
}

/// The inside of a JSON string, with nothing but ASCII in it.
fn ascii_json(inner: &str) -> String {
    let mut out = String::new();
    for c in inner.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// A text in which none of these values stands.
#[must_use]
pub fn masked(text: &str, secrets: &[String]) -> String {
    masked_start(text, text.len(), secrets)
}

/// The beginning of a text, as much of it as these bytes hold: none of these values stands in it, nor
/// the beginning of one.
#[must_use]
pub fn masked_start(text: &str, bytes: usize, secrets: &[String]) -> String {
    let longest = secrets.first().map_or(0, String::len);
    let seen = start_of(text, bytes.saturating_add(longest));
    let end = start_of(text, bytes).len();
    let mut out = String::new();
    let mut at = 0;
    for place in places(seen, secrets) {
        if place.start >= end {
            break;
        }
        out.push_str(seen.get(at..place.start).unwrap_or_default());
        out.push_str("***");
        at = place.end;
    }
    out.push_str(seen.get(at..end).unwrap_or_default());
    out
}

/// Where these values stand in a text, in order; those that overlap are one place.
fn places(text: &str, secrets: &[String]) -> Vec<Range<usize>> {
    let of = |secret: &String| {
        let length = secret.len();
        text.match_indices(&**secret).map(|(at, _)| at..at + length).collect::<Vec<_>>()
    };
    let mut all: Vec<Range<usize>> = secrets.iter().flat_map(of).collect();
    all.sort_by_key(|place| place.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for place in all {
        match apart.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => apart.push(place),
        }
    }
    apart
}

/// As much of a text as fits so many bytes.
fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Server text that may be shown: without control and direction characters, of
/// [`SHOWN`](crate::bounds::SHOWN) characters at most.
#[must_use]
pub fn clean(text: &str) -> String {
    let is_bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut out: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_bad(*c))
        .take(crate::bounds::SHOWN)
        .collect();
    if text.chars().nth(crate::bounds::SHOWN).is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_in_all_spellings() {
        let secrets = spellings(&[
            "abcd".into(),
            "abcdef/\"\u{e9}".into(),
            "xyz".into(),
            "one11\ntwo22".into(),
        ]);
        for (text, expected) in [
            ("abcd abcdef/\"\u{e9}", "*** ***"),
            ("\"abcdef/\\\"\u{e9}\"", "\"***\""),
            ("\"abcdef\\/\\\"\\u00e9\"", "\"***\""),
            ("xyz", "xyz"),
            ("one11", "***"),
            ("one11\ntwo22", "***"),
            ("abc", "abc"),
        ] {
            assert_eq!(masked(text, &secrets), expected, "{text}");
        }
    }

    #[test]
    fn a_value_across_a_cut_is_hidden() {
        let secrets = spellings(&["0123456789".into(), "89ab".into()]);
        for (text, bytes, expected) in [
            ("x0123456789y0123456789", 3, "x***"),
            ("x0123456789y0123456789", 12, "x***y"),
            ("x0123456789y0123456789", 13, "x***y***"),
            ("x0123456789y", 0, ""),
            ("x0123456789abz", 20, "x***z"),
            ("01234\u{e9}", 6, "01234"),
        ] {
            assert_eq!(masked_start(text, bytes, &secrets), expected, "{text} {bytes}");
        }
    }

    #[test]
    fn server_text_is_clean_and_short() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd"), "a[31mbc d");
        let long = "x".repeat(crate::bounds::SHOWN + 1);
        assert_eq!(clean(&long).len(), crate::bounds::SHOWN + 3);
    }
}
