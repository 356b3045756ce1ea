//! What the columns come to: the report.

use std::borrow::Cow;

use super::model::{Era, Late, Outcome, Overall, Owner, Report, RuleResult, Verdict};
use super::options::{FailOn, Options};
use super::rules::{self, Rule};
use super::secrets::{masked, masked_start};
use super::seen::{OUT_OF_TIME, Probe, Reply, Seen, seconds};
use super::{NOT_READY, STDERR_BYTES, UNREACHABLE, judge, scope, sdk, uses};
use crate::message::object::Object;
use crate::message::value::string;
use crate::message::vocabulary::key;
use crate::shell::How;

/// What helps where a process had not started in time.
const MORE_TIME: &str = "raise --start-timeout, or run the command once by hand so that nothing \
                         is left to download";

/// Did any process answer, or live and write something, and nothing else in all its time?
pub(super) fn is_reachable(seen: &Seen) -> bool {
    let all_ended = seen.children.iter().all(|child| child.ended == How::ByItself);
    let had_its_time = seen.gave_up != Some(OUT_OF_TIME);
    seen.has_answered || (seen.has_written && !all_ended && had_its_time)
}

pub(super) fn judged(seen: &Seen) -> Vec<(&'static Rule, Outcome)> {
    let judges = judge::JUDGES.iter();
    judges.filter_map(|(id, judge)| Some((rules::find(id)?, in_time(seen, judge(seen))))).collect()
}

/// Marks what rests on a request without an answer where such a one was answered, but later.
fn in_time(seen: &Seen, outcome: Outcome) -> Outcome {
    let is_silence = outcome.evidence.last().is_some_and(|frame| frame.is_ours);
    // Behind this program nothing is faster: what is late at all may be so there.
    let is_meant = |method: &&str| seen.is_wrapped || *method == outcome.method;
    let is_slow = is_silence && seen.slow.iter().any(is_meant);
    Outcome { late: outcome.late.or(is_slow.then_some(Late::Answer)), ..outcome }
}

pub(super) fn is_wanted(options: &Options, rule: &Rule) -> bool {
    let names = |ids: &[String]| ids.iter().any(|id| id == rule.id);
    (options.wishes.only.is_empty() || names(&options.wishes.only)) && !names(&options.wishes.skip)
}

/// The report, but for what only the clock and the processes know.
pub(super) fn conclude(
    options: &Options,
    native: Seen,
    mut wrapped: Option<Seen>,
    outcomes: Vec<(&'static Rule, Outcome)>,
) -> Report {
    let is_reachable = is_reachable(&native);
    let is_wrapped_reachable = wrapped.as_ref().is_some_and(self::is_reachable);
    let words: Vec<String> = std::iter::once(&options.launch.program)
        .chain(&options.launch.args)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let package = sdk::of_command(&words, options.launch.cwd.as_deref());
    let sdk = sdk::agreed(package, sdk::of_wire(&native.marks));
    if let Some(wrapped) = &mut wrapped {
        wrapped.slow.extend(&native.slow);
        wrapped.shakes_no_hands = native.initialize.as_ref().is_some_and(|probe| {
            matches!(probe.reply, Reply::Silence(_)) && native.lateness(probe).is_none()
        });
    }
    let mut behind = wrapped.as_ref().map(judged).unwrap_or_default().into_iter();
    let mut results = Vec::new();
    for (rule, native) in outcomes.into_iter().filter(|_| is_reachable) {
        let wrapped = behind.next().map(|(_, outcome)| outcome);
        if !is_wanted(options, rule) {
            continue;
        }
        let late = native.late;
        let is_late = late.is_some();
        let owner = if is_late { Owner::Unknown } else { sdk::owner(rule, sdk.as_ref()) };
        let fix = match (native.verdict.is_finding(), late) {
            (true, Some(Late::Start)) => MORE_TIME.to_owned(),
            (true, Some(Late::Answer)) => "raise --timeout".to_owned(),
            (true, Some(Late::Handshake) | None) => sdk::fix(rule, sdk.as_ref(), owner),
            (false, _) => String::new(),
        };
        results.push(RuleResult { rule, native, wrapped, owner, fix });
    }
    let mut report = Report {
        command: words,
        verdict: Overall::Unreachable,
        reason: String::new(),
        era: native.era,
        server: server_name(&native),
        sdk: sdk.filter(|_| is_reachable),
        results,
        asked: rules::all().iter().filter(|rule| is_wanted(options, rule)).count(),
        notes: Vec::new(),
        is_wrapped_run: wrapped.is_some(),
        changes: uses::changes(&native, wrapped.as_ref()),
        features: uses::features(&native),
        children: Vec::new(),
        stderr: Vec::new(),
        uncalled_tools: uses::uncalled_tools(&native, wrapped.as_ref()),
        duration_ms: 0,
        started_unix: 0,
        exit_code: UNREACHABLE,
    };
    if is_reachable {
        report.verdict = overall(&report, is_wrapped_reachable);
        report.exit_code = exit_code(options, &report);
    } else {
        report.reason = unreachable_reason(&native, options.wishes.start_timeout_ms);
        report.era = Era::Unknown;
    }
    report.notes = scope::notes(&options.wishes, &report);
    report.children = native.children;
    report.children.extend(wrapped.into_iter().flat_map(|seen| seen.children));
    report
}

fn overall(report: &Report, is_wrapped_reachable: bool) -> Overall {
    // What was not judged when wrapped is not known to be cured by it.
    let is_cured = |result: &RuleResult| {
        result.wrapped.as_ref().is_some_and(|wrapped| wrapped.verdict != Verdict::Inconclusive)
    };
    let is_ready = is_wrapped_reachable
        && report.wrapped_failures().next().is_none()
        && report.native(Verdict::Fail).all(is_cured);
    if report.native(Verdict::Fail).next().is_none() {
        Overall::ReadyNatively
    } else if is_ready {
        Overall::ReadyWhenWrapped
    } else {
        Overall::NotReady
    }
}

fn exit_code(options: &Options, report: &Report) -> u8 {
    let has = |verdict| report.native(verdict).next().is_some();
    let is_accepted = options.wishes.accept_wrapped && report.verdict == Overall::ReadyWhenWrapped;
    let fails = match options.wishes.fail_on {
        FailOn::Never => false,
        FailOn::Error => has(Verdict::Fail) && !is_accepted,
        FailOn::Warning => has(Verdict::Warn) || (has(Verdict::Fail) && !is_accepted),
    };
    if fails { NOT_READY } else { 0 }
}

fn unreachable_reason(seen: &Seen, start_timeout_ms: u64) -> String {
    if !seen.unstartable.is_empty() {
        return seen.unstartable.clone();
    }
    let mut reason = match seen.children.iter().find(|child| child.ended == How::ByItself) {
        Some(child) => match child.exit {
            Some(status) => format!("the process ended with status {status}"),
            None => "the process was ended by a signal".to_owned(),
        },
        None if seen.gave_up == Some(OUT_OF_TIME) => {
            "the time of --budget was used up before anything was answered".to_owned()
        }
        None if seen.was_mute_at_start => {
            let waited = seconds(start_timeout_ms);
            format!("the process never answered: nothing in {waited} s; {MORE_TIME}")
        }
        None => "the process never answered".to_owned(),
    };
    if !seen.last_stderr.is_empty() {
        let last = seen.shown(&seen.last_stderr);
        reason = format!("{reason}; its last line on stderr: {last}");
    }
    reason
}

/// What the server calls itself, in whichever era.
fn server_name(seen: &Seen) -> Option<(String, String)> {
    let of = |info: Object<'_>| {
        let member = |name: &str| info.get(name).and_then(string).map(Cow::into_owned);
        Some((member("name")?, member("version").unwrap_or_default()))
    };
    let modern = seen.discover.as_ref().and_then(Probe::result);
    let modern = modern.and_then(|result| result.object("_meta")?.object(key::SERVER_INFO));
    let legacy = seen.initialize.as_ref().and_then(Probe::result);
    let legacy = legacy.and_then(|result| result.object("serverInfo"));
    modern.and_then(of).or_else(|| legacy.and_then(of))
}

/// Hides what was given with `--env` wherever the server's own words are shown. Frames are masked
/// already: they may be cut in the middle of a value.
pub(super) fn mask(report: &mut Report, secrets: &[String]) {
    let hide = |text: &mut String| *text = masked(text, secrets);
    hide(&mut report.reason);
    for line in &mut report.stderr {
        *line = masked_start(line, STDERR_BYTES, secrets);
    }
    if let Some((name, version)) = &mut report.server {
        hide(name);
        hide(version);
    }
    for result in &mut report.results {
        hide(&mut result.native.found);
        if let Some(wrapped) = &mut result.wrapped {
            hide(&mut wrapped.found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::model::Frame;

    fn report(native: Verdict, wrapped: Verdict) -> Report {
        let outcome = |verdict| Outcome {
            verdict,
            found: String::new(),
            method: "",
            evidence: Vec::new(),
            late: None,
        };
        let result = RuleResult {
            rule: &rules::all()[0],
            native: outcome(native),
            wrapped: Some(outcome(wrapped)),
            owner: Owner::Unknown,
            fix: String::new(),
        };
        Report {
            command: Vec::new(),
            verdict: Overall::Unreachable,
            reason: String::new(),
            era: Era::Legacy,
            server: None,
            sdk: None,
            results: vec![result],
            asked: 1,
            notes: Vec::new(),
            is_wrapped_run: true,
            changes: Vec::new(),
            features: Vec::new(),
            children: Vec::new(),
            stderr: Vec::new(),
            uncalled_tools: 0,
            duration_ms: 0,
            started_unix: 0,
            exit_code: 0,
        }
    }

    #[test]
    fn silence_beside_late_answers() {
        let text = String::new();
        let asked = Frame { child: 'A', ms: 0, is_ours: true, text, bytes: 0 };
        let answer = Frame { is_ours: false, ..asked.clone() };
        for (is_wrapped, slow, evidence, expected) in [
            (false, &["ping"][..], vec![asked.clone()], None),
            (true, &["ping"], vec![asked.clone()], Some(Late::Answer)),
            (false, &["ping", "x"], vec![asked.clone()], Some(Late::Answer)),
            (true, &["x"], vec![asked.clone(), answer], None),
            (true, &[], vec![asked], None),
            (true, &["x"], vec![], None),
        ] {
            let seen = Seen { is_wrapped, slow: slow.to_vec(), ..Seen::default() };
            let (verdict, found) = (Verdict::Fail, String::new());
            let outcome = Outcome { verdict, found, method: "x", evidence, late: None };
            assert_eq!(in_time(&seen, outcome).late, expected, "{is_wrapped} {slow:?}");
        }
    }

    /// What nobody could judge is not cured, and a column that never ran is no good one.
    #[test]
    fn ready_when_wrapped_is_what_was_seen_to_be() {
        for (native, wrapped, is_reachable, expected) in [
            (Verdict::Pass, Verdict::Pass, true, Overall::ReadyNatively),
            (Verdict::Warn, Verdict::Fail, true, Overall::ReadyNatively),
            (Verdict::Fail, Verdict::Pass, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Warn, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Skip, true, Overall::ReadyWhenWrapped),
            (Verdict::Fail, Verdict::Fail, true, Overall::NotReady),
            (Verdict::Fail, Verdict::Inconclusive, true, Overall::NotReady),
            (Verdict::Fail, Verdict::Pass, false, Overall::NotReady),
        ] {
            assert_eq!(overall(&report(native, wrapped), is_reachable), expected);
        }
    }
}
