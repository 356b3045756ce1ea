//! The report for people: plain ASCII, wrapped, with colour where it can be seen.

use crate::check::model::{
    Change, ChildNote, Feature, Outcome, Overall, Owner, Report, RuleResult, Sdk, Verdict, clean,
};
use crate::check::rules::SPEC;

/// What we call ourselves.
const PROGRAM: &str = "mcp-uplift";

/// No report is narrower.
const NARROWEST: usize = 60;

/// Cells are not moved further to the right than on a terminal of this width, so that a row stays
/// one line for the eye.
const WIDEST_TABLE: usize = 100;

/// Columns that the cells take.
const CELLS: usize = 20;

/// Columns of the native cell, with its gap.
const CELL: usize = 9;

/// Where the title of a rule begins.
const TITLE: usize = 11;

/// Where labels begin, and where their texts do.
const LABEL: usize = 4;
const TEXT: usize = 14;

/// A space at which no line ends. Texts of servers have none: `clean` makes it a plain one.
const HOLD: char = '\u{a0}';

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// `push_str` that stays a call. A report is made of hundreds of them, and time is no matter here:
/// each one would take three times as much room where it stands.
pub(super) trait Append {
    /// Adds `text` to the end.
    fn append(&mut self, text: &str);
}

impl Append for String {
    #[inline(never)]
    fn append(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// How the report is to look.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of a line, 60 at least.
    pub width: usize,
    /// Is there colour?
    pub has_color: bool,
    /// With frames, stderr of the children, and rules that passed or were skipped?
    pub is_verbose: bool,
}

/// The report.
#[must_use]
pub fn print(report: &Report, style: &Style) -> String {
    let mut page = Page {
        out: String::new(),
        width: style.width.max(NARROWEST),
        has_color: style.has_color,
        is_verbose: style.is_verbose,
        owes_heads: report.is_wrapped_run,
    };
    page.heads(report);
    page.out.append("\n");
    let start = page.out.len();
    page.rules(report);
    page.changes(&report.changes);
    if style.is_verbose {
        page.background(report);
    }
    page.uncalled(report.uncalled_tools);
    if page.out.len() > start {
        page.out.append("\n");
    }
    page.verdict(report);
    page.out
}

/// The verdict with its numbers, on one line: what is said when the report itself goes elsewhere.
#[must_use]
pub fn last_line(report: &Report) -> String {
    let mut line = String::from(head(report.verdict).0);
    line.append("   ");
    line.append(&ascii(&summary(report)));
    line
}

/// A report being written.
struct Page {
    out: String,
    width: usize,
    has_color: bool,
    is_verbose: bool,
    /// Do the names of the columns still have to be said?
    owes_heads: bool,
}

impl Page {
    /// What was checked, and what it is.
    fn heads(&mut self, report: &Report) {
        self.out.append(PROGRAM);
        self.out.append(" check   MCP 2026-07-28   stdio\n");
        self.lit(DIM, "server");
        self.pad(3);
        let mut text = command(&report.command);
        if report.verdict != Overall::Unreachable {
            text.append("   (");
            push_identity(&mut text, report);
            text.append(")");
        }
        self.block("", 9, &text);
    }

    /// All rules that have something to say.
    fn rules(&mut self, report: &Report) {
        self.section("Errors", &of_verdict(report, Verdict::Fail));
        self.section("Warnings", &of_verdict(report, Verdict::Warn));
        self.section("Not judged", &of_verdict(report, Verdict::Inconclusive));
        let wrapped: Vec<_> = report.results.iter().filter(|r| is_wrapped_only(r)).collect();
        self.section("Only when wrapped", &wrapped);
        if self.is_verbose {
            self.section("Passed", &of_verdict(report, Verdict::Pass));
            self.section("Skipped", &of_verdict(report, Verdict::Skip));
        }
    }

    /// Rules under one headline.
    fn section(&mut self, title: &str, results: &[&RuleResult]) {
        if results.is_empty() {
            return;
        }
        let start = self.out.len();
        self.out.append(title);
        self.out.append(" (");
        self.out.append(&results.len().to_string());
        self.out.append(")");
        if self.owes_heads {
            self.owes_heads = false;
            let used = self.out.len() - start;
            self.pad(self.cells_at().saturating_sub(used));
            self.lit(DIM, "native   wrapped");
        }
        self.out.append("\n");
        for result in results {
            self.row(result);
            self.details(result);
        }
    }

    /// The column of the first cell.
    fn cells_at(&self) -> usize {
        self.width.min(WIDEST_TABLE) - CELLS
    }

    /// One rule and how it came out.
    fn row(&mut self, result: &RuleResult) {
        let (mark, _, color) = look(shown_verdict(result));
        self.pad(2);
        self.lit(color, mark);
        self.pad(1);
        self.lit(BOLD, result.rule.id);
        self.pad(1);
        let at = self.cells_at();
        let mut lines = wrap(&row_text(result), at - TITLE - 1);
        if lines.first().is_some_and(|line| is_url(line)) {
            lines.insert(0, String::new());
        }
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                self.pad(TITLE);
            }
            self.out.append(line);
            if index == 0 {
                self.pad(at.saturating_sub(TITLE + line.len()));
                self.cells(result);
            }
            self.out.append("\n");
        }
    }

    fn cells(&mut self, result: &RuleResult) {
        let (_, cell, color) = look(result.native.verdict);
        self.lit(color, cell);
        if let Some(wrapped) = &result.wrapped {
            self.pad(CELL.saturating_sub(cell.len()));
            let (_, cell, color) = look(wrapped.verdict);
            self.lit(color, cell);
        }
    }

    /// What stands behind a row.
    fn details(&mut self, result: &RuleResult) {
        let native = &result.native;
        let is_finding = native.verdict.is_finding();
        let is_wrapped_finding =
            result.wrapped.as_ref().is_some_and(|wrapped| wrapped.verdict.is_finding());
        match native.verdict {
            Verdict::Warn | Verdict::Fail => self.labelled("found", &native.found),
            Verdict::Pass if self.is_verbose => self.labelled("note", &native.found),
            Verdict::Skip if self.is_verbose => self.labelled("why", &native.found),
            Verdict::Pass | Verdict::Skip | Verdict::Inconclusive => {}
        }
        if is_finding || is_wrapped_finding {
            self.labelled("expected", result.rule.expected);
        }
        if is_finding {
            self.labelled("fix", &fix(result));
        }
        self.labelled("wrapped", &wrapped_note(result));
        if is_finding || is_wrapped_finding {
            self.spec(result.rule.spec);
        }
        if self.is_verbose {
            self.frames(native);
            if let Some(wrapped) = &result.wrapped {
                self.frames(wrapped);
            }
        }
    }

    /// A text under its label, if there is one.
    fn labelled(&mut self, label: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.pad(LABEL);
        self.lit(DIM, label);
        self.pad(TEXT - LABEL - label.len());
        self.block("", TEXT, text);
    }

    /// Where the specification says so; alone on its line, so that terminals see a link.
    fn spec(&mut self, path: &str) {
        self.pad(LABEL);
        self.lit(DIM, "spec");
        self.out.append("\n");
        self.pad(LABEL);
        self.out.append(SPEC);
        self.out.append(path);
        self.out.append("\n");
    }

    /// The frames that show an outcome. Of what is in order there is nothing to show.
    fn frames(&mut self, outcome: &Outcome) {
        if matches!(outcome.verdict, Verdict::Pass | Verdict::Skip) {
            return;
        }
        for frame in &outcome.evidence {
            let mut text = String::from(frame.child);
            text.append(" ");
            text.append(&frame.ms.to_string());
            text.append(if frame.is_ours { " ms > " } else { " ms < " });
            text.append(&clean(&frame.text));
            self.pad(LABEL);
            self.block("", LABEL + 2, &text);
        }
    }

    /// What clients will notice when the server is wrapped.
    fn changes(&mut self, changes: &[Change]) {
        let column = changes.iter().map(|change| change.id.len()).max().unwrap_or(0);
        self.headline("Changes when wrapped", changes.is_empty());
        for change in changes {
            let mut text = String::from(change.text);
            if self.is_verbose {
                push_because(&mut text, &change.because);
            }
            self.entry(change.id, column, &text);
        }
    }

    /// What is asked for with `--verbose` besides the rules.
    fn background(&mut self, report: &Report) {
        self.features(&report.features);
        self.children(&report.children);
        self.headline("Stderr of the server", report.stderr.is_empty());
        for line in report.stderr.iter().filter(|line| !line.trim().is_empty()) {
            self.pad(2);
            self.block("", LABEL, &clean(line));
        }
        self.block(
            "",
            2,
            "The server ran with your rights, in the minimal environment of the bridge unless \
             --inherit-env was given.",
        );
    }

    fn features(&mut self, features: &[Feature]) {
        let column = features.iter().map(|feature| feature.name.len()).max().unwrap_or(0);
        self.headline("In use, and not part of 2026-07-28", features.is_empty());
        for feature in features {
            let mut text =
                String::from(if feature.is_observed { "observed, " } else { "declared, " });
            text.push(feature.child);
            self.entry(feature.name, column, &text);
        }
    }

    fn children(&mut self, children: &[ChildNote]) {
        self.headline("Processes", children.is_empty());
        for child in children {
            let mut text = seconds(child.ms);
            text.append(if child.is_wrapped { ", wrapped, " } else { ", native, " });
            push_count(&mut text, child.frames, "line");
            text.append(", ended: ");
            text.append(child.ended);
            if let Some(status) = child.exit {
                text.append(", exit ");
                text.append(&status.to_string());
            }
            self.entry(child.id.encode_utf8(&mut [0; 4]), 1, &text);
        }
    }

    /// A headline without a number, over something.
    fn headline(&mut self, title: &str, is_empty: bool) {
        if !is_empty {
            self.out.append(title);
            self.out.append("\n");
        }
    }

    /// A name and what there is to say about it; `column` is the width of the longest name.
    fn entry(&mut self, name: &str, column: usize, text: &str) {
        self.pad(2);
        self.lit(DIM, name);
        self.pad(column.saturating_sub(name.len()) + 2);
        self.block("", column + 4, text);
    }

    fn uncalled(&mut self, tools: usize) {
        if tools > 0 {
            let mut text = String::new();
            push_count(&mut text, tools, "tool");
            text.append(if tools == 1 { " was" } else { " were" });
            text.append(" not called (--call NAME=JSON checks one).");
            self.block("", 2, &text);
        }
    }

    /// The last block.
    fn verdict(&mut self, report: &Report) {
        let (words, color) = head(report.verdict);
        self.lit(color, words);
        self.pad(3);
        self.block(color, words.len() + 3, &summary(report));
        if report.verdict == Overall::ReadyWhenWrapped {
            self.lit(DIM, "Run it as:");
            self.pad(2);
            push_command_lines(&mut self.out, &report.command, self.width);
        }
        if report.verdict == Overall::NotReady {
            self.block("", 2, &why_not_ready(report));
        }
    }

    /// A text in its colour.
    fn lit(&mut self, color: &str, text: &str) {
        let is_lit = self.has_color && !color.is_empty();
        if is_lit {
            self.out.append("\x1b[");
            self.out.append(color);
            self.out.append("m");
        }
        self.out.append(text);
        if is_lit {
            self.out.append("\x1b[0m");
        }
    }

    fn pad(&mut self, columns: usize) {
        push_spaces(&mut self.out, columns);
    }

    /// Goes on to the next line, unless nothing stands on this one.
    fn leave_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if !self.out.ends_with('\n') {
            self.out.append("\n");
        }
    }

    /// A text over as many lines as it takes, all but the first of them indented; the first is at
    /// that column already, or before.
    fn block(&mut self, color: &str, indent: usize, text: &str) {
        for (index, line) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            if index > 0 {
                self.pad(indent);
            } else if is_url(line) {
                self.leave_line();
                self.pad(indent);
            }
            self.lit(color, line);
            self.out.append("\n");
        }
    }
}

/// Does a line of its own belong to this?
fn is_url(text: &str) -> bool {
    text.starts_with("https://")
}

/// Numbers of native outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rules that failed.
    pub errors: usize,
    /// Rules with a finding below an error.
    pub warnings: usize,
    /// Rules that apply and could not be judged.
    pub inconclusive: usize,
    /// Rules that passed.
    pub passed: usize,
    /// Rules that do not apply.
    pub skipped: usize,
    /// Errors that an SDK mends.
    pub sdk: usize,
    /// Errors that the author mends.
    pub server: usize,
    /// Errors of which nobody can tell.
    pub unknown: usize,
}

impl Tally {
    /// Counts.
    #[must_use]
    pub fn of(report: &Report) -> Tally {
        let mut tally = Tally::default();
        for result in &report.results {
            match result.native.verdict {
                Verdict::Pass => tally.passed += 1,
                Verdict::Warn => tally.warnings += 1,
                Verdict::Skip => tally.skipped += 1,
                Verdict::Inconclusive => tally.inconclusive += 1,
                Verdict::Fail => {
                    tally.errors += 1;
                    match result.owner {
                        Owner::Sdk => tally.sdk += 1,
                        Owner::Server => tally.server += 1,
                        Owner::Unknown => tally.unknown += 1,
                    }
                }
            }
        }
        tally
    }
}

/// The words of a verdict, and their colour.
fn head(verdict: Overall) -> (&'static str, &'static str) {
    match verdict {
        Overall::ReadyNatively => ("READY NATIVELY", "1;32"),
        Overall::ReadyWhenWrapped => ("READY WHEN WRAPPED", "1;33"),
        Overall::NotReady => ("NOT READY", "1;31"),
        Overall::Unreachable => ("UNREACHABLE", "1;31"),
    }
}

/// Mark, cell and colour of a verdict.
fn look(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Pass => ("+", "ok", GREEN),
        Verdict::Warn => ("!", "warn", YELLOW),
        Verdict::Fail => ("x", "FAIL", RED),
        Verdict::Skip => ("-", "skip", DIM),
        Verdict::Inconclusive => ("?", "?", DIM),
    }
}

/// What follows the words of a verdict: numbers, or why there are none.
fn summary(report: &Report) -> String {
    if report.verdict == Overall::Unreachable {
        return report.reason.clone();
    }
    let tally = Tally::of(report);
    let mut text = String::new();
    push_count(&mut text, tally.errors, "error");
    if report.is_wrapped_run {
        text.append(" natively");
    }
    if tally.errors > 0 {
        text.append(" (");
        push_number(&mut text, tally.sdk, " SDK, ");
        push_number(&mut text, tally.server, " yours");
        if tally.unknown > 0 {
            text.append(", ");
            push_number(&mut text, tally.unknown, " unknown");
        }
        text.append(")");
    }
    if report.is_wrapped_run {
        push_wrapped(&mut text, report);
    }
    text.append(", ");
    push_count(&mut text, tally.warnings, "warning");
    text.append(", ");
    push_number(&mut text, tally.passed, " passed, ");
    push_number(&mut text, tally.skipped, " skipped");
    if tally.inconclusive > 0 {
        text.append(", ");
        push_number(&mut text, tally.inconclusive, " not judged");
    }
    text.append("   ");
    text.append(&seconds(report.duration_ms));
    hold_numbers(&text)
}

/// The text with every number held to the word behind it.
fn hold_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let is_held = c == ' ' && out.ends_with(|last: char| last.is_ascii_digit());
        out.push(if is_held { HOLD } else { c });
    }
    out
}

/// The errors of the second column, and how much of it is unknown.
fn push_wrapped(text: &mut String, report: &Report) {
    text.append(", ");
    push_number(text, report.wrapped_failures().count(), " wrapped");
    let wrapped = report.results.iter().filter_map(|result| result.wrapped.as_ref());
    let unjudged = wrapped.filter(|outcome| outcome.verdict == Verdict::Inconclusive).count();
    if unjudged > 0 {
        text.append(" (");
        push_number(text, unjudged, " not judged)");
    }
}

/// What stands in the way of a wrapped server.
fn why_not_ready(report: &Report) -> String {
    if !report.is_wrapped_run {
        return String::from("It was not tried behind mcp-uplift (--native-only).");
    }
    let mut text = String::from("Errors when wrapped:");
    let mut gap = ' ';
    for result in report.wrapped_failures() {
        text.push(gap);
        if gap == ',' {
            text.append(" ");
        }
        text.append(result.rule.id);
        gap = ',';
    }
    text
}

/// Name, era and SDK of the server.
fn push_identity(text: &mut String, report: &Report) {
    if let Some((name, version)) = &report.server {
        text.append("\"");
        text.append(&clean(name));
        text.append("\" ");
        text.append(&clean(version));
        text.append(", ");
    }
    text.append("era: ");
    text.append(report.era.name());
    if let Some(sdk) = &report.sdk {
        text.append(", ");
        push_sdk(text, sdk);
    }
}

fn push_sdk(text: &mut String, sdk: &Sdk) {
    // The look of its lines is no proof.
    if sdk.why == "wire" {
        text.append("looks like ");
    }
    text.append(match sdk.name {
        "typescript" => "TypeScript SDK",
        "python" => "Python SDK",
        "rust" => "rmcp",
        other => other,
    });
    if !sdk.line.is_empty() {
        text.append(" v");
        text.append(sdk.line.strip_suffix(".x").unwrap_or(sdk.line));
    }
}

/// Rules that came out so for the server alone, and have no other reason to be shown.
fn of_verdict(report: &Report, verdict: Verdict) -> Vec<&RuleResult> {
    let is_meant = |result: &&RuleResult| is_native(result, verdict) && !is_wrapped_only(result);
    report.results.iter().filter(is_meant).collect()
}

fn is_native(result: &RuleResult, verdict: Verdict) -> bool {
    result.native.verdict == verdict
}

/// Is there nothing to say about the server alone, but something about the wrapped one?
fn is_wrapped_only(result: &RuleResult) -> bool {
    matches!(result.native.verdict, Verdict::Pass | Verdict::Skip)
        && result
            .wrapped
            .as_ref()
            .is_some_and(|wrapped| !matches!(wrapped.verdict, Verdict::Pass | Verdict::Skip))
}

/// Does a rule have its row in any report?
pub(super) fn is_shown(result: &RuleResult) -> bool {
    !matches!(result.native.verdict, Verdict::Pass | Verdict::Skip) || is_wrapped_only(result)
}

/// The verdict that a rule is marked with.
pub(super) fn shown_verdict(result: &RuleResult) -> Verdict {
    match &result.wrapped {
        Some(wrapped) if is_wrapped_only(result) => wrapped.verdict,
        _ => result.native.verdict,
    }
}

/// What a row says: the title is about a finding, so without one it is the reason.
fn row_text(result: &RuleResult) -> String {
    let native = &result.native;
    if native.verdict != Verdict::Inconclusive || native.found.is_empty() {
        return String::from(result.rule.title);
    }
    let mut text = String::new();
    if !native.found.contains(native.method) {
        text.append(native.method);
        text.append(": ");
    }
    text.append(&native.found);
    text
}

/// Who has to do what.
fn fix(result: &RuleResult) -> String {
    let mut text = String::new();
    if !result.fix.is_empty() {
        text.append(match result.owner {
            Owner::Sdk => "SDK: ",
            Owner::Server => "server: ",
            Owner::Unknown => "",
        });
        text.append(&result.fix);
    }
    text
}

/// What there is to say about the second column, beyond its cell.
pub(super) fn wrapped_note(result: &RuleResult) -> String {
    let mut text = String::new();
    let Some(wrapped) = &result.wrapped else { return text };
    let is_news = wrapped.found != result.native.found && !wrapped.found.is_empty();
    match wrapped.verdict {
        Verdict::Fail if is_native(result, Verdict::Fail) => {
            text.append("not cured by wrapping");
            if is_news {
                text.append(": ");
                text.append(&wrapped.found);
            }
        }
        Verdict::Fail => {
            text.append(&wrapped.found);
            text.append(if is_native(result, Verdict::Pass) {
                " - a bug of mcp-uplift, not of the server: please report it"
            } else {
                " - the server's own answer, passed on"
            });
        }
        Verdict::Warn if is_news => text.append(&wrapped.found),
        Verdict::Inconclusive if is_news => {
            text.append("not judged: ");
            text.append(&wrapped.found);
        }
        Verdict::Pass | Verdict::Warn | Verdict::Skip | Verdict::Inconclusive => {}
    }
    text
}

/// The reason for something, in brackets.
pub(super) fn push_because(text: &mut String, because: &str) {
    if !because.is_empty() {
        text.append(" (");
        text.append(&clean(because));
        text.append(")");
    }
}

/// Appends a number and what follows it.
fn push_number(text: &mut String, count: usize, rest: &str) {
    text.append(&count.to_string());
    text.append(rest);
}

/// Appends a number of things: `1 error`, `2 errors`.
pub(super) fn push_count(text: &mut String, count: usize, noun: &str) {
    push_number(text, count, " ");
    text.append(noun);
    if count != 1 {
        text.append("s");
    }
}

/// A duration, for instance `2.4 s`.
pub(super) fn seconds(ms: u64) -> String {
    let tenths = ms.saturating_add(50) / 100;
    let mut text = (tenths / 10).to_string();
    text.append(".");
    text.append(&(tenths % 10).to_string());
    text.append(" s");
    text
}

fn push_spaces(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

/// A text on one line that every terminal can show: everything else is spelled as in JSON.
#[must_use]
pub fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else if matches!(c, '\n' | '\r' | '\t' | HOLD) {
            out.append(" ");
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.append("\\u");
                for shift in [12, 8, 4, 0] {
                    out.extend(char::from_digit(u32::from(*unit) >> shift & 15, 16));
                }
            }
        }
    }
    out
}

/// Cuts a text between its words into lines of `room` columns. Only a URL may be longer; it stands
/// alone.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut gap = 0;
    for word in text.split([' ', '\n', '\r', '\t']) {
        // Of several spaces in a row all count, but none at the end of a line.
        if !word.is_empty() {
            add_word(&mut lines, &mut line, gap, &ascii(word), room);
            gap = 0;
        }
        gap += 1;
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Adds a word to the line, or ends that first.
fn add_word(lines: &mut Vec<String>, line: &mut String, gap: usize, word: &str, room: usize) {
    let is_url = is_url(word);
    let fits = line.len() + gap + word.len() <= room;
    // No line would hold a long word, so it begins on this one.
    let is_long = word.len() > room && line.len() + gap < room;
    if !line.is_empty() {
        if is_url || !(fits || is_long) {
            lines.push(std::mem::take(line));
        } else {
            push_spaces(line, gap);
        }
    }
    if is_url {
        lines.push(String::from(word));
        return;
    }
    for c in word.chars() {
        if line.len() >= room {
            lines.push(std::mem::take(line));
        }
        line.push(c);
    }
}

/// A command as it is typed into a shell.
pub(super) fn command(words: &[String]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.append(" ");
        }
        text.append(&shell_word(word));
    }
    text
}

/// One word for a shell, quoted if it has to be.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    let mut text = String::new();
    if !word.is_empty() && word.bytes().all(is_plain) {
        text.append(word);
    } else if word.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'') {
        text.append("'");
        text.append(word);
        text.append("'");
    } else {
        push_escaped_word(&mut text, 0, word, usize::MAX);
    }
    text
}

/// Appends a word as `$'...'`, in pieces that a shell puts together again, none of which goes
/// beyond `width`; gives the column at the end.
fn push_escaped_word(text: &mut String, column: usize, word: &str, width: usize) -> usize {
    let mut column = column + 2;
    text.append("$'");
    for byte in word.bytes() {
        let length = match byte {
            b'\'' | b'\\' => 2,
            b' '..=b'~' => 1,
            _ => 4,
        };
        // A quote and a backslash follow the last byte of a piece.
        if column + length + 2 > width {
            text.append("'\\\n$'");
            column = 2;
        }
        column += length;
        if length == 4 {
            text.append("\\");
            for shift in [6, 3, 0] {
                text.push(char::from(b'0' + (byte >> shift & 7)));
            }
        } else {
            if length == 2 {
                text.append("\\");
            }
            text.push(char::from(byte));
        }
    }
    text.append("'");
    column + 1
}

/// Appends the command that wraps this one, in lines that a shell takes as they are; the first
/// one begins at the column of the others.
fn push_command_lines(text: &mut String, words: &[String], width: usize) {
    const INDENT: usize = 12;
    text.append(PROGRAM);
    text.append(" --");
    let mut column = INDENT + PROGRAM.len() + 3;
    for raw in words {
        let word = shell_word(raw);
        // A space and a backslash may have to follow.
        if column + word.len() + 3 > width {
            text.append(" \\\n");
            push_spaces(text, INDENT);
            column = INDENT;
        } else {
            text.append(" ");
            column += 1;
        }
        if column + word.len() + 2 > width {
            column = push_escaped_word(text, column, raw, width);
        } else {
            text.append(&word);
            column += word.len();
        }
    }
    text.append("\n");
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::string_slice, reason = "tests")]
pub(super) mod tests {
    use super::*;
    use crate::check::model::{Era, Frame};
    use crate::check::rules::{Kind, Level, Rule};

    static DISCOVER: Rule = Rule {
        id: "MCP001",
        title: "server/discover does not work",
        level: Level::Error,
        kind: Kind::Plumbing,
        expected: "a DiscoverResult that lists 2026-07-28",
        by_hand: "",
        spec: "server/discover",
    };
    static ALONE: Rule = Rule {
        id: "MCP002",
        title: "requests do not stand alone (handshake or discover needed)",
        spec: "basic/versioning#backward-compatibility-with-initialization-based-versions",
        expected: "answers without a handshake",
        ..DISCOVER
    };
    static LEVEL: Rule = Rule { id: "MCP007", title: "logging/setLevel works", ..DISCOVER };
    static IDENTITY: Rule =
        Rule { id: "MCP018", title: "results do not name the server", ..DISCOVER };
    static UNKNOWN: Rule = Rule { id: "RDY108", title: "unknown methods", ..DISCOVER };

    pub(in crate::check::report) fn outcome(verdict: Verdict, found: &str) -> Outcome {
        let evidence = vec![Frame {
            child: 'A',
            ms: 112,
            is_ours: false,
            text: format!("{{\"x\":\"\u{1b}[2Jé{}\"}}", "x".repeat(400)),
            bytes: 420,
        }];
        Outcome { verdict, found: found.to_owned(), method: "tools/list", evidence }
    }

    fn result(rule: &'static Rule, native: Outcome, wrapped: Outcome) -> RuleResult {
        let fix = if native.verdict.is_finding() {
            "move from @modelcontextprotocol/sdk 1.x to @modelcontextprotocol/server 2.x and start \
             it with serveStdio"
        } else {
            ""
        };
        RuleResult { rule, native, wrapped: Some(wrapped), owner: Owner::Sdk, fix: fix.to_owned() }
    }

    /// A server with one rule of every kind, ready when wrapped.
    pub(in crate::check::report) fn sample() -> Report {
        use Verdict::{Fail, Inconclusive, Pass, Skip, Warn};
        let ok = || outcome(Pass, "");
        Report {
            command: vec!["node".to_owned(), "server.js".to_owned()],
            verdict: Overall::ReadyWhenWrapped,
            reason: String::new(),
            era: Era::Legacy,
            server: Some(("jot\u{1b}".to_owned(), "1.0.0".to_owned())),
            sdk: Some(Sdk {
                name: "typescript",
                line: "1.x",
                why: "package",
                is_modern: Some(false),
            }),
            results: vec![
                result(&DISCOVER, outcome(Fail, "error -32601 \"Méthod\nnot found\""), ok()),
                result(&ALONE, outcome(Pass, "dual-era"), ok()),
                result(&LEVEL, outcome(Inconclusive, "no answer in 5 s"), ok()),
                result(&IDENTITY, outcome(Warn, "no serverInfo"), ok()),
                result(&UNKNOWN, outcome(Skip, "the server is legacy"), ok()),
            ],
            is_wrapped_run: true,
            changes: vec![
                Change {
                    id: "serial-calls",
                    text: "tool calls run one at a time",
                    because: "tools".to_owned(),
                },
                Change {
                    id: "cache-defaults",
                    text: "results are marked ttlMs 0, private",
                    because: String::new(),
                },
            ],
            features: vec![Feature {
                name: "logging",
                is_observed: false,
                child: 'C',
                frame: None,
            }],
            children: vec![ChildNote {
                id: 'A',
                is_wrapped: false,
                ms: 812,
                frames: 21,
                exit: Some(0),
                ended: "stdin closed",
            }],
            stderr: vec!["READY NATIVELY\u{7}".to_owned()],
            uncalled_tools: 3,
            duration_ms: 2410,
            started_unix: 0,
            exit_code: 1,
        }
    }

    const PLAIN: Style = Style { width: 80, has_color: false, is_verbose: false };

    /// The report without its escapes.
    fn bare(text: &str) -> String {
        let mut parts = text.split("\x1b[");
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let (sgr, rest) = part.split_once('m').unwrap();
            assert!(sgr.bytes().all(|b| b.is_ascii_digit() || b == b';'), "{sgr}");
            out.push_str(rest);
        }
        out
    }

    /// What holds for every report.
    #[track_caller]
    fn check(report: &Report) {
        for width in [0, 60, 61, 80, 97, 200] {
            for is_verbose in [false, true] {
                let plain = print(report, &Style { width, has_color: false, is_verbose });
                let lit = print(report, &Style { width, has_color: true, is_verbose });
                assert_eq!(bare(&lit), plain);
                assert!(plain.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')), "{plain}");
                assert!(plain.ends_with('\n'));
                let mut heads = 0;
                for line in plain.lines() {
                    let is_url = line.trim_start().starts_with("https://");
                    assert!(line.len() <= width.max(60) || is_url, "{line}");
                    assert!(!line.ends_with(' '), "{line:?}");
                    heads += usize::from(
                        ["READY NATIVELY", "READY WHEN WRAPPED", "NOT READY", "UNREACHABLE"]
                            .iter()
                            .any(|head| line.starts_with(head)),
                    );
                }
                assert_eq!(heads, 1, "{plain}");
                assert!(!plain.contains(&"x".repeat(300)));
            }
        }
    }

    #[test]
    fn the_layout_is_that_of_the_contract() {
        let report = sample();
        check(&report);
        let expected = r#"mcp-uplift check   MCP 2026-07-28   stdio
server   node server.js   ("jot" 1.0.0, era: legacy, TypeScript SDK v1)

Errors (1)                                                  native   wrapped
  x MCP001 server/discover does not work                    FAIL     ok
    found     error -32601 "M\u00e9thod not found"
    expected  a DiscoverResult that lists 2026-07-28
    fix       SDK: move from @modelcontextprotocol/sdk 1.x to
              @modelcontextprotocol/server 2.x and start it with serveStdio
    spec
    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
Warnings (1)
  ! MCP018 results do not name the server                   warn     ok
    found     no serverInfo
    expected  a DiscoverResult that lists 2026-07-28
    fix       SDK: move from @modelcontextprotocol/sdk 1.x to
              @modelcontextprotocol/server 2.x and start it with serveStdio
    spec
    https://modelcontextprotocol.io/specification/2026-07-28/server/discover
Not judged (1)
  ? MCP007 tools/list: no answer in 5 s                     ?        ok
Changes when wrapped
  serial-calls    tool calls run one at a time
  cache-defaults  results are marked ttlMs 0, private
3 tools were not called (--call NAME=JSON checks one).

READY WHEN WRAPPED   1 error natively (1 SDK, 0 yours), 0 wrapped, 1 warning,
                     1 passed, 1 skipped, 1 not judged   2.4 s
Run it as:  mcp-uplift -- node server.js
"#;
        assert_eq!(print(&report, &PLAIN), expected);
    }

    #[test]
    fn verbose_shows_what_is_behind_it() {
        let text = print(&sample(), &Style { is_verbose: true, ..PLAIN });
        for part in [
            "    A 112 ms < {\"x\":\"[2J\\u00e9xxx",
            "Passed (1)\n  + MCP002 requests do not stand alone (handshake or        ok       ok\n           discover needed)\n    note      dual-era\n",
            "Skipped (1)\n  - RDY108 unknown methods                                  skip     ok\n    why       the server is legacy\n",
            "  serial-calls    tool calls run one at a time (tools)\n",
            "  logging  declared, C\n",
            "  A  0.8 s, native, 21 lines, ended: stdin closed, exit 0\n",
            "Stderr of the server\n  READY NATIVELY\n",
            "The server ran with your rights",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn one_column_has_no_heads() {
        let mut report = sample();
        report.is_wrapped_run = false;
        report.verdict = Overall::NotReady;
        report.changes.clear();
        report.uncalled_tools = 1;
        for result in &mut report.results {
            result.wrapped = None;
            result.owner = Owner::Unknown;
        }
        check(&report);
        let text = print(&report, &PLAIN);
        assert!(!text.contains("native   wrapped") && !text.contains(" ok\n"), "{text}");
        assert!(text.contains("  fix       move from"), "{text}");
        assert!(text.contains("\n1 tool was not called"), "{text}");
        assert!(!text.contains("Changes") && !text.contains("Run it as"), "{text}");
        assert!(text.contains("\nNOT READY   1 error (0 SDK, 0 yours, 1 unknown), 1 warning,"));
        assert!(text.ends_with("\nIt was not tried behind mcp-uplift (--native-only).\n"));
    }

    #[test]
    fn the_second_column_has_its_say() {
        let mut report = sample();
        report.verdict = Overall::NotReady;
        report.results[0].wrapped = Some(outcome(Verdict::Fail, "error -1"));
        report.results[1].wrapped = Some(outcome(Verdict::Fail, "no answer"));
        report.results[2].wrapped = Some(outcome(Verdict::Inconclusive, "no list"));
        report.results[4].wrapped = Some(outcome(Verdict::Warn, "late"));
        check(&report);
        let text = print(&report, &PLAIN);
        for part in [
            "    wrapped   not cured by wrapping: error -1\n",
            "Only when wrapped (2)\n  x MCP002 requests do not stand alone (handshake or        ok       FAIL\n",
            "    wrapped   no answer - a bug of mcp-uplift, not of the server: please report\n",
            "    wrapped   not judged: no list\n",
            "  ! RDY108 unknown methods                                  skip     warn\n    wrapped   late\n",
            "2 wrapped (1 not judged),\n            1 warning",
            "Errors when wrapped: MCP001, MCP002\n",
        ] {
            assert!(
                text.replace("    expected  a DiscoverResult that lists 2026-07-28\n", "")
                    .contains(part),
                "{part}\n{text}"
            );
        }
    }

    #[test]
    fn nothing_but_the_reason_when_unreachable() {
        let mut report = sample();
        report.verdict = Overall::Unreachable;
        report.reason =
            "no process wrote an answer; stderr ends with \"Error at line: \u{1b}é\"".to_owned();
        report.results.clear();
        report.changes.clear();
        report.uncalled_tools = 0;
        report.server = None;
        check(&report);
        let expected = "mcp-uplift check   MCP 2026-07-28   stdio\nserver   node server.js\n\n\
            UNREACHABLE   no process wrote an answer; stderr ends with \"Error at line:\n              \
            \\u001b\\u00e9\"\n";
        assert_eq!(print(&report, &PLAIN), expected);
        assert_eq!(last_line(&report), format!("UNREACHABLE   {}", ascii(&report.reason)));
    }

    #[test]
    fn a_server_without_findings_has_a_short_report() {
        let mut report = sample();
        report.verdict = Overall::ReadyNatively;
        report.results.drain(2..4);
        report.results.remove(0);
        report.changes.clear();
        report.is_wrapped_run = false;
        report.uncalled_tools = 0;
        check(&report);
        assert!(print(&report, &PLAIN).ends_with(
            "SDK v1)\n\nREADY NATIVELY   0 errors, 0 warnings, 1 passed, 1 skipped   2.4 s\n"
        ));
        assert_eq!(
            last_line(&report),
            "READY NATIVELY   0 errors, 0 warnings, 1 passed, 1 skipped   2.4 s"
        );
    }

    #[test]
    fn hostile_texts_stay_inside() {
        let long = "x".repeat(250);
        for found in [
            "https://example.com/".to_owned() + &"y".repeat(200) + " NOT READY",
            format!("a {} b", long.get(..220).unwrap()),
            "NOT READY\nUNREACHABLE\u{202e}\u{9b}2J".to_owned(),
            "    ".to_owned(),
            "é".repeat(200),
            "https://a.b/".to_owned() + &"y".repeat(100),
        ] {
            let mut report = sample();
            report.server = Some((found.clone(), found.clone()));
            report.stderr = vec![found.clone(), String::new()];
            report.command = vec!["a b".to_owned(), found.clone(), "UNREACHABLE".repeat(20)];
            for result in &mut report.results {
                result.native.found = found.clone();
                result.native.method = "";
                result.wrapped = Some(outcome(Verdict::Fail, &found));
            }
            check(&report);
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("node", "node"),
            ("--a=b/c,d:e@f", "--a=b/c,d:e@f"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$x", "'$x'"),
            ("~/x", "'~/x'"),
            ("it's", "$'it\\'s'"),
            ("é\n\\", "$'\\303\\251\\012\\\\'"),
        ] {
            assert_eq!(shell_word(word), expected);
        }
    }

    #[test]
    fn a_shell_reads_long_commands_back() {
        let words: Vec<String> = [
            "/a/b".repeat(40),
            "x".to_owned(),
            "it's é\\".repeat(30),
            "p q".to_owned(),
            "y".repeat(46),
            "z".repeat(45),
            "--flag=1".repeat(4),
        ]
        .into();
        let mut text = String::new();
        push_command_lines(&mut text, &words, 60);
        assert!(
            text.lines().enumerate().all(|(n, line)| line.len() <= if n == 0 { 48 } else { 60 })
        );
        let script = format!("mcp-uplift() {{ shift; printf '%s\\0' \"$@\"; }}\n{text}");
        // Only where there is a shell that knows $'...'.
        let Ok(done) = std::process::Command::new("bash").arg("-c").arg(&script).output() else {
            return;
        };
        let read: Vec<String> = String::from_utf8(done.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(str::to_owned)
            .collect();
        assert_eq!(read, words, "{text}");
    }

    #[test]
    fn lines_break_between_words() {
        for (text, room, expected) in [
            ("", 5, vec![""]),
            ("ab cd ef", 5, vec!["ab cd", "ef"]),
            ("a   b", 5, vec!["a   b"]),
            ("a   b", 4, vec!["a", "b"]),
            ("  ab ", 5, vec!["ab"]),
            ("a bcdefgh i", 5, vec!["a bcd", "efgh", "i"]),
            ("a https://b.c d", 5, vec!["a", "https://b.c", "d"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("\u{1f600}", 12, vec!["\\ud83d\\ude00"]),
        ] {
            assert_eq!(wrap(text, room), expected, "{text}");
        }
    }

    #[test]
    fn durations_have_tenths() {
        for (ms, expected) in
            [(0, "0.0 s"), (49, "0.0 s"), (50, "0.1 s"), (2410, "2.4 s"), (61_950, "62.0 s")]
        {
            assert_eq!(seconds(ms), expected);
        }
    }
}
