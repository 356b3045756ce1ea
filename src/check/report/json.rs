//! The report for programs. Its shape has a number, `schemaVersion`, that only a change raises which
//! breaks its readers.
//!
//! The fixed parts stand here as they are printed: each `put` is a piece of them with the value
//! that follows. That is a tenth of the code that members written one by one become.

use super::words::Tally;
use crate::check::model::{
    Change, ChildNote, Feature, Frame, Outcome, Report, RuleResult, Sdk, Verdict,
};
use crate::check::rules::{self, SPEC};
use crate::check::secrets::clean;
use crate::message::object::Object;
use crate::message::value::is_too_deep;
use crate::message::writer::push_string;

const HEAD: &str = concat!(
    r#"{"schemaVersion":1,"tool":{"name":"mcp-uplift","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""},"revision":"2026-07-28","target":{"command":["#
);

/// The report as one JSON object on one line.
#[must_use]
pub(crate) fn print(report: &Report) -> String {
    let mut text = HEAD.to_owned();
    let out = &mut text;
    for word in &report.command {
        push_string(next(out), word);
    }
    put(out, r#"],"transport":"stdio"},"verdict":"#, report.verdict.name());
    if !report.reason.is_empty() {
        put(out, r#","reason":"#, &report.reason);
    }
    put(out, r#","era":"#, report.era.name());
    push_server(out, report.server.as_ref());
    push_sdk(out, report.sdk);
    push_summary(out, report);
    put_number(out, r#"},"rulesAsked":"#, report.asked as u64);
    put_number(out, r#","rulesKnown":"#, rules::all().len() as u64);
    out.push_str(r#","notes":["#);
    for note in &report.notes {
        push_string(next(out), note);
    }
    out.push_str(r#"],"rules":["#);
    for result in &report.results {
        push_rule(next(out), result);
    }
    out.push_str(r#"],"findings":["#);
    for result in report.results.iter().filter(|result| result.native.verdict.is_finding()) {
        push_finding(next(out), result);
    }
    out.push_str(r#"],"changes":["#);
    for change in &report.changes {
        push_change(next(out), change);
    }
    out.push_str(r#"],"legacyFeatures":["#);
    for feature in &report.features {
        push_feature(next(out), feature);
    }
    out.push_str(r#"],"children":["#);
    for child in &report.children {
        push_child(next(out), child);
    }
    put_number(out, r#"],"durationMs":"#, report.duration_ms);
    out.push_str("}\n");
    text
}

/// Appends a fixed piece and a text as a JSON string.
#[inline(never)]
pub(super) fn put(out: &mut String, fixed: &str, text: &str) {
    out.push_str(fixed);
    push_string(out, text);
}

/// Appends a fixed piece and a number.
#[inline(never)]
pub(super) fn put_number(out: &mut String, fixed: &str, number: u64) {
    out.push_str(fixed);
    out.push_str(&number.to_string());
}

/// Appends a fixed piece and the address of a section of the specification.
pub(super) fn put_spec(out: &mut String, fixed: &str, section: &str) {
    put(out, fixed, &[SPEC, section].concat());
}

/// Begins the next entry of an array that was opened with its bracket.
#[inline(never)]
pub(super) fn next(out: &mut String) -> &mut String {
    if !out.ends_with('[') {
        out.push(',');
    }
    out
}

/// Appends a fixed piece and one letter as a JSON string.
fn put_letter(out: &mut String, fixed: &str, letter: char) {
    put(out, fixed, letter.encode_utf8(&mut [0; 4]));
}

fn push_server(out: &mut String, server: Option<&(String, String)>) {
    let Some((name, version)) = server else {
        return out.push_str(r#","server":null"#);
    };
    put(out, r#","server":{"name":"#, &clean(name));
    put(out, r#","version":"#, &clean(version));
    out.push('}');
}

fn push_sdk(out: &mut String, sdk: Option<Sdk>) {
    let Some(sdk) = sdk else {
        return out.push_str(r#","sdk":null"#);
    };
    put(out, r#","sdk":{"name":"#, sdk.name);
    put(out, r#","line":"#, sdk.line);
    put(out, r#","why":"#, sdk.why);
    out.push('}');
}

/// How many native outcomes there are of each verdict, and whose the errors are.
fn push_summary(out: &mut String, report: &Report) {
    let tally = Tally::of(report);
    for (fixed, count) in [
        (r#","summary":{"errors":"#, tally.errors),
        (r#","warnings":"#, tally.warnings),
        (r#","inconclusive":"#, tally.inconclusive),
        (r#","passed":"#, tally.passed),
        (r#","skipped":"#, tally.skipped),
        (r#","sdk":"#, tally.sdk),
        (r#","server":"#, tally.server),
        (r#","unknown":"#, tally.unknown),
    ] {
        put_number(out, fixed, count as u64);
    }
}

fn push_rule(out: &mut String, result: &RuleResult) {
    let rule = result.rule;
    put(out, r#"{"id":"#, rule.id);
    put(out, r#","title":"#, rule.title);
    put(out, r#","level":"#, rule.level.name());
    put(out, r#","kind":"#, rule.kind.name());
    put_spec(out, r#","spec":"#, rule.spec);
    out.push_str(r#","native":"#);
    push_outcome(out, &result.native, Some(result));
    if let Some(wrapped) = &result.wrapped {
        out.push_str(r#","wrapped":"#);
        push_outcome(out, wrapped, None);
    }
    out.push('}');
}

/// One cell of the report; `advice` is there in the column that advice is given for.
fn push_outcome(out: &mut String, outcome: &Outcome, advice: Option<&RuleResult>) {
    put(out, r#"{"verdict":"#, outcome.verdict.name());
    if !outcome.found.is_empty() {
        put(out, r#","found":"#, &outcome.found);
    }
    if let Some(result) = advice.filter(|_| outcome.verdict.is_finding()) {
        put(out, r#","expected":"#, result.rule.expected);
        put(out, r#","fix":"#, &result.fix);
        put(out, r#","owner":"#, result.owner.name());
    }
    if !outcome.evidence.is_empty() {
        out.push_str(r#","evidence":["#);
        for frame in &outcome.evidence {
            push_evidence(next(out), frame);
        }
        out.push(']');
    }
    out.push('}');
}

fn push_evidence(out: &mut String, frame: &Frame) {
    put_letter(out, r#"{"child":"#, frame.child);
    put_number(out, r#","ms":"#, frame.ms);
    put(out, r#","dir":"#, if frame.is_ours { "out" } else { "in" });
    push_frame(out, frame);
    out.push('}');
}

/// The line itself where it is an object, else its text: what is nested so deep that a reader of the
/// report may fail at it is text as well.
fn push_frame(out: &mut String, frame: &Frame) {
    out.push_str(r#","frame":"#);
    if frame.is_cut() {
        put_number(out, r#"{"truncated":true,"bytes":"#, frame.bytes as u64);
        put(out, r#","head":"#, &frame.text);
        return out.push('}');
    }
    match Object::parse(&frame.text) {
        Some(_) if !is_too_deep(&frame.text) => out.push_str(frame.text.trim()),
        _ => push_string(out, &frame.text),
    }
}

/// A native finding once more, under the names that the public tool has for its parts.
fn push_finding(out: &mut String, result: &RuleResult) {
    let rule = result.rule;
    let is_error = result.native.verdict == Verdict::Fail;
    put(out, r#"{"ruleId":"#, rule.id);
    put(out, r#","severity":"#, if is_error { "error" } else { "warning" });
    put(out, r#","owner":"#, result.owner.name());
    put(out, r#","title":"#, rule.title);
    put(out, r#","observed":"#, &result.native.found);
    put(out, r#","expected":"#, rule.expected);
    put(out, r#","fix":"#, &result.fix);
    put_spec(out, r#","specRef":"#, rule.spec);
    out.push('}');
}

fn push_change(out: &mut String, change: &Change) {
    put(out, r#"{"id":"#, change.id);
    put(out, r#","text":"#, change.text);
    put(out, r#","because":"#, &change.because);
    out.push('}');
}

fn push_feature(out: &mut String, feature: &Feature) {
    put(out, r#"{"feature":"#, feature.what.name());
    put(out, r#","how":"#, if feature.is_observed { "observed" } else { "declared" });
    put_letter(out, r#","child":"#, feature.child);
    if let Some(frame) = &feature.frame {
        push_frame(out, frame);
    }
    out.push('}');
}

fn push_child(out: &mut String, child: &ChildNote) {
    put_letter(out, r#"{"id":"#, child.id);
    put(out, r#","column":"#, if child.is_wrapped { "wrapped" } else { "native" });
    put_number(out, r#","ms":"#, child.ms);
    put_number(out, r#","frames":"#, child.frames as u64);
    out.push_str(r#","exit":"#);
    match child.exit {
        Some(status) => out.push_str(&status.to_string()),
        None => out.push_str("null"),
    }
    put(out, r#","ended":"#, child.ended.name());
    out.push('}');
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::check::model::{Era, Gone, Overall, Owner};
    use crate::check::rules;
    use crate::shell::How;
    use serde_json::{Value, json};

    /// A frame as it came in.
    fn frame(text: &str) -> Frame {
        Frame { child: 'A', ms: 113, is_ours: false, text: text.to_owned(), bytes: text.len() }
    }

    fn outcome(verdict: Verdict, found: &str) -> Outcome {
        let (found, evidence) = (found.to_owned(), Vec::new());
        Outcome { verdict, found, method: "", evidence, late: None }
    }

    fn result(id: &str, verdict: Verdict, found: &str) -> RuleResult {
        let rule = rules::all().iter().find(|rule| rule.id == id).unwrap();
        let native = outcome(verdict, found);
        let fix = if verdict.is_finding() { "mend \"it\"" } else { "" };
        RuleResult { rule, native, wrapped: None, owner: Owner::Unknown, fix: fix.to_owned() }
    }

    /// A report with one outcome of each kind.
    pub(in crate::check::report) fn sample() -> Report {
        let mut first =
            result("MCP001", Verdict::Fail, "error -32601 \"no\u{1b}[1m [x](https://y)\"");
        let asked = Frame { is_ours: true, ms: 112, ..frame(r#"{"id":1}"#) };
        let long = Frame { bytes: 5000, ..frame("{\"id\":2,") };
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let texts = ["{\"a\":1e2} ", "not \"JSON\"", "[1]", "{\"a\":}", &deep];
        first.native.evidence = vec![asked, long];
        first.native.evidence.extend(texts.map(frame));
        first.native.method = "server/discover";
        first.owner = Owner::Sdk;
        first.wrapped = Some(outcome(Verdict::Pass, ""));
        let child = |id, exit, is_wrapped| ChildNote {
            id,
            is_wrapped,
            ms: 812,
            frames: 21,
            exit,
            ended: How::InputClosed,
        };
        let feature = |child, frame: Option<Frame>| Feature {
            what: Gone::Logging,
            is_observed: frame.is_some(),
            child,
            frame,
        };
        Report {
            command: vec!["node".to_owned(), "a \"b\"\n".to_owned()],
            verdict: Overall::NotReady,
            reason: String::new(),
            era: Era::Legacy,
            server: Some(("jot\u{202e}".to_owned(), "1".to_owned())),
            sdk: Some(Sdk { name: "typescript", line: "1.x", why: "wire", is_modern: Some(false) }),
            results: vec![
                first,
                result("MCP006", Verdict::Pass, ""),
                result("MCP007", Verdict::Inconclusive, "no answer"),
                result("MCP009", Verdict::Skip, "not advertised"),
                result("MCP018", Verdict::Warn, "no name"),
            ],
            asked: 5,
            notes: vec!["judged by 5".to_owned()],
            is_wrapped_run: false,
            changes: vec![Change {
                id: "serial-calls",
                text: "one by one",
                because: "tools".into(),
            }],
            features: vec![feature('C', None), feature('E', Some(frame("{}")))],
            children: vec![child('A', Some(-3), false), child('B', None, true)],
            stderr: Vec::new(),
            uncalled_tools: 0,
            duration_ms: 2410,
            started_unix: 1_785_233_472,
            exit_code: 1,
        }
    }

    /// A report about a command that never answered.
    pub(in crate::check::report) fn unreachable() -> Report {
        let reason = "no answer; its last word: oh".to_owned();
        let (verdict, results, server, sdk) = (Overall::Unreachable, Vec::new(), None, None);
        Report {
            verdict,
            reason,
            notes: Vec::new(),
            results,
            server,
            sdk,
            era: Era::Unknown,
            exit_code: 2,
            ..sample()
        }
    }

    fn read(report: &Report) -> Value {
        serde_json::from_str(&print(report)).unwrap()
    }

    #[test]
    fn the_shape() {
        let doc = read(&sample());
        for (place, expected) in [
            ("/schemaVersion", json!(1)),
            ("/tool/name", json!("mcp-uplift")),
            ("/target", json!({"command": ["node", "a \"b\"\n"], "transport": "stdio"})),
            ("/verdict", json!("not-ready")),
            ("/era", json!("legacy")),
            ("/server", json!({"name": "jot", "version": "1"})),
            ("/sdk", json!({"name": "typescript", "line": "1.x", "why": "wire"})),
            (
                "/summary",
                json!({"errors": 1, "warnings": 1, "inconclusive": 1, "passed": 1, "skipped": 1,
                       "sdk": 1, "server": 0, "unknown": 0}),
            ),
            ("/rulesAsked", json!(5)),
            ("/rulesKnown", json!(26)),
            ("/notes", json!(["judged by 5"])),
            ("/rules/0/id", json!("MCP001")),
            ("/rules/0/level", json!("error")),
            ("/rules/0/kind", json!("plumbing")),
            ("/rules/0/native/fix", json!("mend \"it\"")),
            ("/rules/0/native/owner", json!("sdk")),
            ("/rules/0/wrapped", json!({"verdict": "pass"})),
            ("/rules/1/native", json!({"verdict": "pass"})),
            ("/rules/2/native", json!({"verdict": "inconclusive", "found": "no answer"})),
            ("/rules/4/native/verdict", json!("warn")),
            ("/findings/0/ruleId", json!("MCP001")),
            ("/findings/1/severity", json!("warning")),
            ("/findings/1/observed", json!("no name")),
            ("/changes", json!([{"id": "serial-calls", "text": "one by one", "because": "tools"}])),
            (
                "/legacyFeatures",
                json!([{"feature": "logging", "how": "declared", "child": "C"},
                       {"feature": "logging", "how": "observed", "child": "E", "frame": {}}]),
            ),
            (
                "/children",
                json!([{"id": "A", "column": "native", "ms": 812, "frames": 21, "exit": -3,
                        "ended": "stdin closed"},
                       {"id": "B", "column": "wrapped", "ms": 812, "frames": 21, "exit": null,
                        "ended": "stdin closed"}]),
            ),
            ("/durationMs", json!(2410)),
        ] {
            assert_eq!(doc.pointer(place), Some(&expected), "{place}");
        }
        for absent in ["/reason", "/rules/1/wrapped", "/findings/2"] {
            assert_eq!(doc.pointer(absent), None, "{absent}");
        }
        let spec = doc.pointer("/findings/0/specRef").and_then(Value::as_str).unwrap();
        assert!(spec.starts_with("https://modelcontextprotocol.io/specification/2026-07-28/"));
    }

    #[test]
    fn frames_are_objects_or_text() {
        let doc = read(&sample());
        let frames = doc.pointer("/rules/0/native/evidence").and_then(Value::as_array).unwrap();
        assert_eq!(frames[0], json!({"child": "A", "ms": 112, "dir": "out", "frame": {"id": 1}}));
        let shown: Vec<&Value> = frames.iter().skip(1).map(|entry| &entry["frame"]).collect();
        let cut = json!({"truncated": true, "bytes": 5000, "head": "{\"id\":2,"});
        let plain =
            [cut, json!({"a": 1e2}), json!("not \"JSON\""), json!("[1]"), json!("{\"a\":}")];
        assert_eq!(shown[..5], plain.iter().collect::<Vec<_>>());
        assert!(shown[5].is_string());
    }

    #[test]
    fn what_is_unknown_is_null() {
        let doc = read(&unreachable());
        for (place, expected) in [
            ("/verdict", json!("unreachable")),
            ("/reason", json!("no answer; its last word: oh")),
            ("/era", json!("unknown")),
            ("/server", Value::Null),
            ("/sdk", Value::Null),
            ("/rules", json!([])),
            ("/findings", json!([])),
        ] {
            assert_eq!(doc.pointer(place), Some(&expected), "{place}");
        }
    }
}
