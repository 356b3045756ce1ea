//! What a report says, whatever its form: counts, verdicts, names, reasons.

use super::lines::*;
use crate::check::model::*;
use crate::check::secrets::clean;

/// Numbers of native outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Rules that failed.
    pub(crate) errors: usize,
    /// Rules with a finding below an error.
    pub(crate) warnings: usize,
    /// Rules that apply and could not be judged.
    pub(crate) inconclusive: usize,
    /// Rules that passed.
    pub(crate) passed: usize,
    /// Rules that do not apply.
    pub(crate) skipped: usize,
    /// Errors that an SDK mends.
    pub(crate) sdk: usize,
    /// Errors that the author mends.
    pub(crate) server: usize,
    /// Errors of which nobody can tell.
    pub(crate) unknown: usize,
}

impl Tally {
    /// Counts.
    #[must_use]
    pub(crate) fn of(report: &Report) -> Tally {
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
pub(super) fn head(verdict: Overall) -> (&'static str, &'static str) {
    match verdict {
        Overall::ReadyNatively => ("READY NATIVELY", "1;32"),
        Overall::ReadyWhenWrapped => ("READY WHEN WRAPPED", "1;33"),
        Overall::NotReady => ("NOT READY", "1;31"),
        Overall::Unreachable => ("UNREACHABLE", "1;31"),
    }
}

/// What follows the words of a verdict: numbers, or why there are none.
pub(super) fn summary(report: &Report) -> String {
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
pub(super) fn hold_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let is_held = c == ' ' && out.ends_with(|last: char| last.is_ascii_digit());
        out.push(if is_held { HOLD } else { c });
    }
    out
}

/// The errors of the second column, and how much of it is unknown.
pub(super) fn push_wrapped(text: &mut String, report: &Report) {
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
pub(super) fn why_not_ready(report: &Report) -> String {
    if !report.is_wrapped_run {
        return String::from("It was not tried behind mcp-uplift (--native-only).");
    }
    let mut ids: Vec<_> = report.wrapped_failures().map(|result| result.rule.id).collect();
    let mut text = String::from("Errors when wrapped: ");
    if ids.is_empty() {
        let is_open = |outcome: &Outcome| outcome.verdict == Verdict::Inconclusive;
        let open = report.native(Verdict::Fail).filter(|r| r.wrapped.as_ref().is_some_and(is_open));
        text = String::from("Not judged when wrapped: ");
        ids.extend(open.map(|result| result.rule.id));
    }
    text.append(&ids.join(", "));
    text
}

/// Name, era and SDK of the server.
pub(super) fn push_identity(text: &mut String, report: &Report) {
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

pub(super) fn push_sdk(text: &mut String, sdk: &Sdk) {
    text.append(sdk.doubt());
    text.append(sdk.title());
    if !sdk.line.is_empty() {
        text.append(" v");
        text.append(sdk.line.strip_suffix(".x").unwrap_or(sdk.line));
    }
}

/// Rules that came out so for the server alone, and have no other reason to be shown.
pub(super) fn of_verdict(report: &Report, verdict: Verdict) -> Vec<&RuleResult> {
    let is_meant = |result: &&RuleResult| is_native(result, verdict) && !is_wrapped_only(result);
    report.results.iter().filter(is_meant).collect()
}

pub(super) fn is_native(result: &RuleResult, verdict: Verdict) -> bool {
    result.native.verdict == verdict
}

/// Is there nothing to say about the server alone, but something about the wrapped one?
pub(super) fn is_wrapped_only(result: &RuleResult) -> bool {
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
pub(super) fn row_text(result: &RuleResult) -> String {
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
pub(super) fn fix(result: &RuleResult) -> String {
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
        Verdict::Fail if is_native(result, Verdict::Fail) || wrapped.late.is_some() => {
            text.append(match wrapped.late {
                Some(Late::Start) => "not started in time",
                Some(Late::Answer) => "not answered in time",
                Some(Late::Handshake) => "it never answers initialize",
                None => "not cured by wrapping",
            });
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
pub(super) fn push_number(text: &mut String, count: usize, rest: &str) {
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
    let mut text = tenths(ms);
    text.append(" s");
    text
}
