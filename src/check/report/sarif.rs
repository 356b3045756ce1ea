//! The report for code scanning: SARIF 2.1.0.

use super::json::{next, put, put_number, put_spec};
use crate::check::digest::sha256;
use crate::check::model::{Overall, Report, RuleResult, Verdict};
use crate::check::rules::{self, Rule};

const HEAD: &str = concat!(
    r#"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":["#,
    r#"{"tool":{"driver":{"name":"mcp-uplift","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#"","informationUri":"https://modelcontextprotocol.io/specification/2026-07-28","rules":["#,
);

/// The report as one log with one run. `anchor` is the file that findings are shown at: its path
/// from the root of the sources.
#[must_use]
pub(crate) fn print(report: &Report, anchor: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    let out = &mut text;
    for rule in rules::all() {
        push_rule(next(out), rule);
    }
    out.push_str("]}}");
    push_invocation(out, report);
    let location = location(anchor);
    out.push_str(r#","results":["#);
    for result in &report.results {
        push_result(out, report, result, &location);
    }
    put(out, r#"],"properties":{"verdict":"#, report.verdict.name());
    put(out, r#","era":"#, report.era.name());
    out.push_str("}}]}\n");
    text
}

fn push_rule(out: &mut String, rule: &Rule) {
    put(out, r#"{"id":"#, rule.id);
    put(out, r#","name":"#, &pascal_case(rule.title));
    put(out, r#","shortDescription":{"text":"#, rule.title);
    put(out, r#"},"fullDescription":{"text":"#, rule.expected);
    put_spec(out, r#"},"helpUri":"#, rule.spec);
    put(out, r#","help":{"text":"#, rule.by_hand);
    put(out, r#"},"defaultConfiguration":{"level":"#, rule.level.name());
    put(out, r#"},"properties":{"tags":["mcp","#, rule.kind.name());
    out.push_str("]}}");
}

/// `results lack a valid resultType` as `ResultsLackAValidResultType`.
fn pascal_case(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    let mut begins = true;
    for c in title.chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
            continue;
        }
        out.push(if begins { c.to_ascii_uppercase() } else { c });
        begins = false;
    }
    out
}

fn push_invocation(out: &mut String, report: &Report) {
    let is_done = report.verdict != Overall::Unreachable;
    let end = report.started_unix.saturating_add(report.duration_ms / 1000);
    out.push_str(r#","invocations":[{"executionSuccessful":"#);
    out.push_str(if is_done { "true" } else { "false" });
    put(out, r#","startTimeUtc":"#, &utc(report.started_unix));
    put(out, r#","endTimeUtc":"#, &utc(end));
    put_number(out, r#","exitCode":"#, report.exit_code.into());
    out.push_str(r#","toolExecutionNotifications":["#);
    if !is_done {
        let fixed = r#"{"level":"error","message":{"text":"#;
        put(next(out), fixed, &without_links(&report.reason));
        out.push_str("}}");
    }
    for note in &report.notes {
        put(next(out), r#"{"level":"warning","message":{"text":"#, note);
        out.push_str("}}");
    }
    out.push_str("]}]");
}

/// One finding, or a rule that could not be judged; nothing for what is well or does not apply.
fn push_result(out: &mut String, report: &Report, result: &RuleResult, location: &str) {
    let level = match result.native.verdict {
        Verdict::Fail => r#","kind":"fail","level":"error""#,
        Verdict::Warn => r#","kind":"fail","level":"warning""#,
        Verdict::Inconclusive => r#","kind":"open","level":"none""#,
        Verdict::Pass | Verdict::Skip => return,
    };
    let id = result.rule.id;
    let index = rules::all().iter().position(|rule| rule.id == id).unwrap_or(0);
    put(next(out), r#"{"ruleId":"#, id);
    put_number(out, r#","ruleIndex":"#, index as u64);
    out.push_str(level);
    put(out, r#","message":{"text":"#, &message(result));
    out.push_str(location);
    push_place(out, result.native.method);
    let print = fingerprint(id, &report.command);
    put(out, r#"}]}],"partialFingerprints":{"readiness/v1":"#, &print);
    out.push_str("}}");
}

/// What was found and what to do. Without advice, as of a rule that was not judged, only the first.
fn message(result: &RuleResult) -> String {
    let mut text = String::new();
    let is_finding = result.native.verdict.is_finding();
    let expected = if is_finding { result.rule.expected } else { "" };
    for (label, part) in [
        ("found: ", result.native.found.as_str()),
        ("expected: ", expected),
        ("fix: ", &result.fix),
    ] {
        if part.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(label);
        text.push_str(part);
    }
    if text.is_empty() {
        text.push_str(result.rule.title);
    }
    without_links(&text)
}

/// A message may hold links, `[like](this)`; one that a server wrote is to stay text.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == '(' && out.ends_with(']') {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// The part of a result from its message to the method that is concerned, with the place in a file.
fn location(anchor: Option<&str>) -> String {
    let mut out = r#"},"locations":[{"#.to_owned();
    if let Some(anchor) = anchor {
        put(&mut out, r#""physicalLocation":{"artifactLocation":{"uri":"#, &uri(anchor));
        out.push_str(r#"},"region":{"startLine":1}},"#);
    }
    out.push_str(r#""logicalLocations":["#);
    out
}

/// The method as a place; the connection where there is none.
fn push_place(out: &mut String, method: &str) {
    if method.is_empty() {
        out.push_str(r#"{"name":"stdio","fullyQualifiedName":"stdio","kind":"module""#);
        return;
    }
    put(out, r#"{"name":"#, method);
    put(out, r#","fullyQualifiedName":"#, &["stdio/", method].concat());
    out.push_str(r#","kind":"function""#);
}

/// A relative path as an address, in which only these characters stand for themselves.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
            continue;
        }
        out.push('%');
        let digits = [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
        out.extend(digits.into_iter().flatten().map(|digit| digit.to_ascii_uppercase()));
    }
    out
}

/// What makes a finding the same in the next run: the rule and the command.
fn fingerprint(id: &str, command: &[String]) -> String {
    let mut text = id.to_owned();
    for word in command {
        text.push('\n');
        text.push_str(word);
    }
    sha256(&text)
}

/// Seconds since 1970 as a date and a time.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days of a year that begins in March, so that the odd day of a leap year comes last.
    let days = days + 719_468; // since the first of March in the year 0
    let (era, day) = (days / 146_097, days % 146_097); // 400 years
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::super::json::tests::{sample, unreachable};
    use super::*;
    use serde_json::{Value, json};

    fn read(report: &Report, anchor: Option<&str>) -> Value {
        let doc: Value = serde_json::from_str(&print(report, anchor)).unwrap();
        assert_eq!(doc["version"], "2.1.0");
        assert_eq!(doc["runs"].as_array().map(Vec::len), Some(1));
        doc["runs"][0].clone()
    }

    #[test]
    fn every_rule_is_described() {
        let run = read(&sample(), None);
        let driver = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(driver.len(), rules::all().len());
        for (entry, rule) in driver.iter().zip(rules::all()) {
            assert_eq!(entry["id"], rule.id);
            assert_eq!(entry["shortDescription"]["text"], rule.title);
            assert_eq!(entry["defaultConfiguration"]["level"], rule.level.name());
            assert!(entry["helpUri"].as_str().unwrap().starts_with("https://"), "{entry}");
            let name = entry["name"].as_str().unwrap();
            assert!(name.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        }
        assert_eq!(pascal_case("the _meta envelope, a b"), "TheMetaEnvelopeAB");
    }

    #[test]
    fn findings_and_open_questions_are_results() {
        let run = read(&sample(), None);
        let results = run["results"].as_array().unwrap();
        let short: Vec<Value> =
            results.iter().map(|r| json!([r["ruleId"], r["kind"], r["level"]])).collect();
        let expected = [
            json!(["MCP001", "fail", "error"]),
            json!(["MCP007", "open", "none"]),
            json!(["MCP018", "fail", "warning"]),
        ];
        assert_eq!(short, expected);
        let mut prints = Vec::new();
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
            prints.push(result["partialFingerprints"]["readiness/v1"].as_str().unwrap());
        }
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), 3);
        assert_eq!(results[1]["message"]["text"], "found: no answer");
        let text = results[0]["message"]["text"].as_str().unwrap();
        assert!(text.contains("[x] (https://y)\"\nexpected: "), "{text}");
        assert!(text.ends_with("\nfix: mend \"it\""), "{text}");
        let place = json!([{"logicalLocations": [{"name": "server/discover",
            "fullyQualifiedName": "stdio/server/discover", "kind": "function"}]}]);
        assert_eq!(results[0]["locations"], place);
        assert_eq!(results[1]["locations"][0]["logicalLocations"][0]["name"], "stdio");
        assert_eq!(run["properties"], json!({"verdict": "not-ready", "era": "legacy"}));
        let note = json!([{"level": "warning", "message": {"text": "judged by 5"}}]);
        let invocation = json!([{"executionSuccessful": true, "exitCode": 1,
            "toolExecutionNotifications": note,
            "startTimeUtc": "2026-07-28T10:11:12Z", "endTimeUtc": "2026-07-28T10:11:14Z"}]);
        assert_eq!(run["invocations"], invocation);
    }

    #[test]
    fn an_anchor_is_a_place_in_a_file() {
        let run = read(&sample(), Some("src/server.js"));
        let place =
            json!({"artifactLocation": {"uri": "src/server.js"}, "region": {"startLine": 1}});
        assert_eq!(run["results"][2]["locations"][0]["physicalLocation"], place);
    }

    #[test]
    fn nothing_was_reached() {
        let run = read(&unreachable(), None);
        assert_eq!(run["results"], json!([]));
        let invocation = &run["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let note = json!([{"level": "error", "message": {"text": "no answer; its last word: oh"}}]);
        assert_eq!(invocation["toolExecutionNotifications"], note);
    }

    #[test]
    fn fingerprints_are_of_rule_and_command() {
        let command = ["node", "a b"].map(str::to_owned);
        assert_eq!(fingerprint("MCP001", &command), sha256("MCP001\nnode\na b"));
    }

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_785_233_472, "2026-07-28T10:11:12Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
        assert!(utc(u64::MAX).ends_with('Z'));
    }
}
