//! The report for people: plain ASCII, wrapped, with colour where it can be seen.

use super::lines::*;
use super::words::*;
use crate::check::model::{
    Change, ChildNote, Feature, Outcome, Overall, Report, RuleResult, Verdict,
};
use crate::check::rules::SPEC;
use crate::check::secrets::clean;

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

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// How the report is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Columns of a line, 60 at least.
    pub(crate) width: usize,
    /// Is there colour?
    pub(crate) has_color: bool,
    /// With frames, stderr of the children, and rules that passed or were skipped?
    pub(crate) is_verbose: bool,
}

/// The report.
#[must_use]
pub(crate) fn print(report: &Report, style: &Style) -> String {
    let mut page = Page {
        out: String::new(),
        width: style.width.max(NARROWEST),
        has_color: style.has_color,
        is_verbose: style.is_verbose,
        fixes: Vec::new(),
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
pub(crate) fn last_line(report: &Report) -> String {
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
    /// What was said already on how to mend something, and of which rule.
    fixes: Vec<(String, &'static str)>,
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
            self.fix(result);
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

    /// How it is mended; in full where that is said for the first time.
    fn fix(&mut self, result: &RuleResult) {
        let text = fix(result);
        let told = self.fixes.iter().find(|(told, _)| *told == text).map(|(_, id)| *id);
        if let Some(id) = told {
            self.labelled("fix", &["as ", id].concat());
        } else {
            self.labelled("fix", &text);
            self.fixes.push((text, result.rule.id));
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
        let column = features.iter().map(|feature| feature.what.name().len()).max().unwrap_or(0);
        self.headline("In use, and not part of 2026-07-28", features.is_empty());
        for feature in features {
            let mut text =
                String::from(if feature.is_observed { "observed, " } else { "declared, " });
            text.push(feature.child);
            self.entry(feature.what.name(), column, &text);
        }
    }

    fn children(&mut self, children: &[ChildNote]) {
        self.headline("Processes", children.is_empty());
        for child in children {
            let mut text = seconds(child.ms);
            text.append(if child.is_wrapped { ", wrapped, " } else { ", native, " });
            push_count(&mut text, child.frames, "line");
            text.append(", ended: ");
            text.append(child.ended.name());
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
        for note in &report.notes {
            self.block("", 2, note);
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

#[cfg(test)]
#[path = "text_tests.rs"]
pub(super) mod tests;
