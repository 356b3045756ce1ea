//! What a verdict is worth: how many rules it rests on, and what it says nothing of.

use super::model::{Era, Late, Outcome, Overall, Report, Verdict};
use super::options::Wishes;
use super::rules;
use super::seen::{OUT_OF_TIME, seconds};

/// What is said directly behind the verdict, one line each: a good one may be so for want of
/// questions.
pub(super) fn notes(wishes: &Wishes, report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.verdict == Overall::Unreachable {
        return notes;
    }
    let (asked, known) = (report.asked, rules::all().len());
    if asked < known {
        let by = narrowed_by(wishes);
        notes.push(format!(
            "judged by {asked} of {known} rules ({by}): nothing is said of the others"
        ));
    }
    let count = report.results.iter().filter(|result| result.native.found == OUT_OF_TIME).count();
    if count > 0 {
        notes.push(format!("rules not judged because the time of --budget was used up: {count}"));
    }
    if is_any(report, |outcome| outcome.late == Some(Late::Start)) {
        let had = seconds(wishes.start_timeout_ms);
        notes.push(format!(
            "a process wrote nothing in the {had} s that it had to start: raise --start-timeout"
        ));
    }
    if is_any(report, |outcome| outcome.late == Some(Late::Answer)) {
        let had = seconds(wishes.timeout_ms);
        notes.push(format!(
            "an answer came when the {had} s that it had were over: raise --timeout"
        ));
    }
    let is_known = |verdict| !matches!(verdict, Verdict::Skip | Verdict::Inconclusive);
    if !is_any(report, |outcome| is_known(outcome.verdict)) {
        notes.push("no rule was judged".to_owned());
    }
    let is_asked = |id| report.results.iter().any(|result| result.rule.id == id);
    if let Some(id) = ["MCP001", "MCP002"].into_iter().find(|id| !is_asked(*id))
        && report.era == Era::Legacy
        && report.verdict == Overall::ReadyNatively
    {
        notes.push(format!("the server speaks the legacy era: {id} was not asked"));
    }
    notes
}

/// The options that left rules out.
fn narrowed_by(wishes: &Wishes) -> &'static str {
    match (wishes.only.is_empty(), wishes.skip.is_empty()) {
        (false, false) => "--only, --skip",
        (false, true) => "--only",
        (true, _) => "--skip",
    }
}

/// Is there such an outcome, in any column?
fn is_any(report: &Report, is_meant: impl Fn(&Outcome) -> bool) -> bool {
    let mut results = report.results.iter();
    results.any(|result| is_meant(&result.native) || result.wrapped.as_ref().is_some_and(&is_meant))
}
