//! The four forms of the report.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use mcp_uplift::check::rules;
use regex_lite::Regex;
use serde_json::Value;

use crate::command_line::Check;
use crate::program::{self, check, say};
use crate::table::IDS;
use crate::work::{Work, since_epoch};
use crate::{need, sys};

/// When a terminal must have shown everything.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const CHECKS: &[Check] = &[
    ("text", text),
    ("text-ready", text_ready),
    ("colour", colour),
    ("colour-of-the-verdict", colour_of_the_verdict),
    ("progress", progress),
    ("json", json),
    ("json-features", json_features),
    ("json-owners", json_owners),
    ("json-rules", json_rules),
    ("json-causes", json_causes),
    ("sarif", sarif),
    ("anchor", anchor),
    ("markdown", markdown),
    ("hostile-text", hostile_text),
    ("secrets", secrets),
    ("secrets-told", secrets_told),
    ("secrets-long", secrets_long),
];

const HEADS: [&str; 4] = ["READY NATIVELY", "READY WHEN WRAPPED", "NOT READY", "UNREACHABLE"];

/// Nothing that a terminal acts on or that turns text around.
const CONTROL: &str = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]";

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|why| why.to_string())
}

/// What holds for every text report; its verdict line.
fn plain(out: &str) -> Result<&str, String> {
    need!(!out.contains('\u{1b}'), "escape codes where there is no terminal");
    need!(out.is_ascii(), "not ASCII: {:?}", out.chars().find(|c| !c.is_ascii()));
    let is_long = |line: &&str| line.len() > 80 && !line.trim().starts_with("https://");
    need!(!out.lines().any(|line| is_long(&line)), "too long: {:?}", out.lines().find(is_long));
    need!(!out.lines().any(|line| line.ends_with(' ')), "a line that ends with a space");
    let is_head = |line: &&str| HEADS.iter().any(|head| line.starts_with(head));
    let heads: Vec<_> = out.lines().filter(is_head).collect();
    need!(heads.len() == 1, "{} verdict lines", heads.len());
    Ok(heads[0])
}

fn text() -> Result<(), String> {
    let run = check("legacy-strict", &[])?;
    let head = plain(&run.out)?;
    need!(run.status == Some(1) && head.starts_with("NOT READY"), "exit {:?}, {head}", run.status);
    for id in ["MCP001", "MCP002", "MCP004", "MCP005", "MCP006", "MCP009", "MCP018"] {
        need!(run.out.contains(id), "{id} is not shown");
    }
    for id in ["MCP007", "RDY101", "RDY112"] {
        need!(!run.out.contains(id), "{id} has nothing to tell and is shown");
    }
    for label in ["found", "expected", "fix", "spec"] {
        need!(regex(&format!(r"(?m)^\s+{label}\b"))?.is_match(&run.out), "no line '{label}'");
    }
    need!(run.out.contains("3 tools were not called"), "tools that were not called");
    need!(regex(r"(?m)^Errors \(6\)$")?.is_match(&run.out), "heading of errors: {}", run.out);
    need!(regex(r"(?m)^Warnings \(1\)$")?.is_match(&run.out), "heading of warnings: {}", run.out);
    need!(!run.out.contains("wrapped"), "a column that was not run: {}", run.out);
    let verbose = check("legacy-strict", &["--verbose"])?;
    plain(&verbose.out)?;
    need!(IDS.iter().all(|id| verbose.out.contains(id)), "--verbose does not show every rule");
    plain(&check("garbage", &["--verbose"])?.out)?;
    let unreachable = check("mute", &[])?;
    need!(plain(&unreachable.out)?.starts_with("UNREACHABLE"), "mute: {}", unreachable.out);
    Ok(())
}

fn text_ready() -> Result<(), String> {
    let run = check("modern", &[])?;
    let head = plain(&run.out)?;
    need!(run.status == Some(0) && head.starts_with("READY NATIVELY"), "{:?}, {head}", run.status);
    let run = check("initialize-ignored", &[])?;
    plain(&run.out)?;
    need!(run.out.contains("MCP002"), "what was not judged is not shown");
    need!(!run.out.contains("all checks passed"), "not all checks passed: {}", run.out);
    let called = check("modern", &["--call", "alpha={}"])?;
    need!(called.out.contains("2 tools were not called"), "tools that were not called");
    Ok(())
}

/// The report as it is shown at a terminal.
fn at_a_terminal(flags: &[&str], name: &str, value: &str) -> Result<String, String> {
    terminal_shows("ping-alive", flags, |command, inner| {
        command.env(name, value).stdout(inner).stderr(Stdio::null());
    })
}

/// What a terminal shows that `set` makes a part of the check of this mode.
fn terminal_shows(
    mode: &str,
    flags: &[&str],
    set: impl FnOnce(&mut Command, File),
) -> Result<String, String> {
    let (mut outer, inner) = sys::terminal().map_err(|why| why.to_string())?;
    let own = std::env::current_exe().map_err(|why| why.to_string())?;
    let own = own.display().to_string();
    let words = [&["--native-only"], flags, &["--", &own, "--mode", mode]].concat();
    let mut command = program::command(&words);
    set(&mut command, inner);
    let mut child = command.spawn().map_err(|why| why.to_string())?;
    drop(command); // it holds the terminal
    let mut shown = Vec::new();
    let mut chunk = [0; 4096];
    let until = since_epoch() + PATIENCE;
    loop {
        let left = until.saturating_sub(since_epoch()).as_millis();
        if left == 0 || !sys::readable(outer.as_fd(), i32::try_from(left).unwrap_or(i32::MAX)) {
            drop(child.kill());
            drop(child.wait());
            return Err(format!("{flags:?}: no end in {} s", PATIENCE.as_secs()));
        }
        match outer.read(&mut chunk) {
            Ok(size) if size > 0 => shown.extend_from_slice(&chunk[..size]),
            _ => break,
        }
    }
    drop(child.kill()); // whoever closed the terminal has nothing left to do
    drop(child.wait());
    Ok(String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

/// The verdict beside a report that goes into a file.
fn colour_of_the_verdict() -> Result<(), String> {
    let told = |mode: &str, flags: &[&str], term: &str| {
        let flags = [&["--output", "/dev/null"], flags].concat();
        terminal_shows(mode, &flags, |command, inner| {
            command.env("TERM", term).stdout(Stdio::null()).stderr(inner);
        })
    };
    let red = "\u{1b}[31m";
    let ready = told("modern", &[], "xterm")?;
    need!(ready.contains("READY NATIVELY"), "no verdict: {ready:?}");
    need!(!ready.contains(red), "a good verdict as an error: {ready:?}");
    let flat = told("ping-alive", &["--no-color"], "xterm")?;
    need!(flat.contains("NOT READY") && !flat.contains("\u{1b}[3"), "--no-color: {flat:?}");
    let dumb = told("ping-alive", &[], "dumb")?;
    need!(dumb.contains("NOT READY") && !dumb.contains('\u{1b}'), "TERM=dumb: {dumb:?}");
    // What goes wrong is told in the same way.
    let file = ["--output", "/nonexistent/folder/report"];
    let wrong = told("modern", &[&file[..], &["--no-color"]].concat(), "xterm")?;
    need!(wrong.contains("cannot write") && !wrong.contains(red), "an error: {wrong:?}");
    Ok(())
}

/// What is waited for stands there from the beginning, whatever the terminal knows of itself.
fn progress() -> Result<(), String> {
    let flags = ["--output", "/dev/null", "--start-timeout", "1000"];
    let shown = terminal_shows("mute", &flags, |command, inner| {
        command.stdout(Stdio::null()).stderr(inner);
    })?;
    let begin = "\r\u{1b}[Kmcp-uplift: waiting for server/discover, 1 s at most";
    need!(shown.starts_with(begin), "{shown:?}");
    Ok(())
}

fn colour() -> Result<(), String> {
    let lit = at_a_terminal(&[], "TERM", "xterm")?;
    need!(lit.contains("\u{1b}["), "no colour on a terminal");
    let bare = regex(r"\x1b\[[0-9;]*m")?.replace_all(&lit, "").into_owned();
    need!(!bare.contains('\u{1b}'), "codes other than SGR");
    let flat = at_a_terminal(&["--no-color"], "TERM", "xterm")?;
    need!(!flat.contains('\u{1b}'), "--no-color");
    // Times differ from run to run.
    let times = regex(r"\d+(\.\d+)? ?m?s\b")?;
    need!(times.replace_all(&bare, "T") == times.replace_all(&flat, "T"), "{bare}\n{flat}");
    need!(!at_a_terminal(&[], "NO_COLOR", "1")?.contains('\u{1b}'), "NO_COLOR");
    need!(!at_a_terminal(&[], "TERM", "dumb")?.contains('\u{1b}'), "TERM=dumb");
    Ok(())
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    value[key].as_array().map(Vec::as_slice).ok_or_else(|| format!("no array {key}: {value}"))
}

fn is_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn json() -> Result<(), String> {
    let report = check("legacy-strict", &["--format", "json"])?.json()?;
    need!(report["schemaVersion"] == 1 && report["revision"] == "2026-07-28", "head: {report}");
    need!(report["tool"]["name"] == "mcp-uplift", "tool: {}", report["tool"]);
    need!(report["verdict"] == "not-ready" && report["era"] == "legacy", "verdict, era");
    need!(report["server"]["name"] == "legacy-strict", "server: {}", report["server"]);
    need!(report["target"]["transport"] == "stdio", "target: {}", report["target"]);
    need!(report["target"]["command"][2] == "legacy-strict", "target: {}", report["target"]);
    let rules = array(&report, "rules")?;
    let ids: Vec<_> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    need!(ids == IDS, "ids or their order: {ids:?}");
    let mut found = Vec::new();
    for rule in rules {
        let (id, native) = (&rule["id"], &rule["native"]);
        need!(rule["level"] == "error" || rule["level"] == "warning", "{id}: level");
        need!(is_word(&rule["title"]) && is_word(&rule["kind"]), "{id}: title, kind");
        need!(rule["spec"].as_str().is_some_and(|url| url.starts_with("https://")), "{id}: spec");
        need!(rule.get("wrapped").is_none(), "{id}: a column that was not run");
        let severity = match native["verdict"].as_str() {
            Some("fail") => "error",
            Some("warn") => "warning",
            _ => continue,
        };
        found.push((id.clone(), severity));
        let texts = ["found", "expected", "fix", "owner"];
        need!(texts.iter().all(|key| is_word(&native[key])), "{id}: texts: {native}");
        let evidence = array(native, "evidence")?;
        let is_frame = |frame: &Value| {
            (frame["dir"] == "in" || frame["dir"] == "out") && is_word(&frame["child"])
        };
        need!(!evidence.is_empty() && evidence.iter().all(is_frame), "{id}: evidence: {native}");
    }
    let findings = array(&report, "findings")?;
    let told: Vec<_> = findings
        .iter()
        .map(|f| (f["ruleId"].clone(), f["severity"].as_str().unwrap_or("")))
        .collect();
    need!(told == found, "findings {told:?}, rules {found:?}");
    for finding in findings {
        let keys = ["title", "observed", "expected", "fix", "specRef"];
        need!(keys.iter().all(|key| is_word(&finding[key])), "finding: {finding}");
        need!(finding["owner"] != "sdk", "nobody's SDK is to be upgraded: {finding}");
    }
    let count = |key: &str| report["summary"][key].as_u64().unwrap_or(u64::MAX);
    let errors = found.iter().filter(|(_, severity)| *severity == "error").count() as u64;
    need!(count("errors") == errors, "summary: {}", report["summary"]);
    need!(count("sdk") + count("server") + count("unknown") == errors, "{}", report["summary"]);
    let kinds = ["errors", "warnings", "inconclusive", "passed", "skipped"];
    let all: u64 = kinds.iter().map(|key| count(key)).sum();
    need!(all == IDS.len() as u64, "summary: {}", report["summary"]);
    let children = array(&report, "children")?;
    need!(children.len() >= 3 && children.iter().all(|c| c["column"] == "native"), "children");
    Ok(())
}

fn json_features() -> Result<(), String> {
    let report = check("legacy-full", &["--format", "json"])?.json()?;
    let features = array(&report, "legacyFeatures")?;
    for name in ["logging", "resources.subscribe"] {
        let is = |f: &Value| f["feature"] == name && f["how"] == "declared" && is_word(&f["child"]);
        need!(features.iter().any(is), "{name}: {features:?}");
    }
    let report = check("asks-at-once", &["--format", "json"])?.json()?;
    let features = array(&report, "legacyFeatures")?;
    let is =
        |f: &Value| f["feature"] == "roots/list" && f["how"] == "observed" && f["child"] == "C";
    need!(features.iter().any(is), "roots/list: {features:?}");
    let run = check("mute", &["--format", "json"])?;
    let report = run.json()?;
    need!(run.status == Some(2) && report["verdict"] == "unreachable", "mute: {report}");
    need!(is_word(&report["reason"]) && report["rules"] == serde_json::json!([]), "mute: {report}");
    let report = check("hostile-text", &["--format", "json"])?.json()?;
    let texts = array(&report, "findings")?;
    let long = texts.iter().find(|f| f["observed"].as_str().is_some_and(|t| t.len() > 400));
    need!(long.is_none(), "server text is not cut: {long:?}");
    let rules = array(&report, "rules")?;
    let evidence = rules.iter().filter_map(|rule| rule["native"]["evidence"].as_array()).flatten();
    let is_cut = |frame: &Value| {
        frame["truncated"] == true
            && frame["bytes"].as_u64() > Some(5_000)
            && is_word(&frame["head"])
    };
    let frames: Vec<_> = evidence.map(|entry| &entry["frame"]).collect();
    need!(frames.iter().any(|frame| is_cut(frame)), "no long frame is cut");
    let long = frames.iter().find(|frame| frame.to_string().len() > 4_200);
    need!(long.is_none(), "a frame is not cut: {long:?}");
    Ok(())
}

/// Who mends it is told by how lines look, and by nothing where they look like two.
fn json_owners() -> Result<(), String> {
    for (mode, sdk) in [("looks-typescript", "typescript"), ("looks-python", "python")] {
        let report = check(mode, &["--format", "json"])?.json()?;
        let known = &report["sdk"];
        need!(known["name"] == sdk && known["why"] == "wire", "{mode}: {known}");
        need!(known["line"] == "1.x", "{mode}: {known}");
        for rule in array(&report, "rules")?.iter().filter(|rule| is_word(&rule["native"]["fix"])) {
            let owner = if rule["kind"] == "plumbing" { "sdk" } else { "server" };
            need!(rule["native"]["owner"] == owner, "{mode}: {rule}");
            let is_guess =
                rule["native"]["fix"].as_str().is_some_and(|fix| fix.contains("looks like"));
            need!(is_guess || owner == "server", "{mode}: {}", rule["native"]["fix"]);
        }
    }
    let report = check("looks-both", &["--format", "json"])?.json()?;
    need!(report["sdk"].is_null(), "looks-both: {}", report["sdk"]);
    need!(report["summary"]["sdk"] == 0, "looks-both: {}", report["summary"]);
    Ok(())
}

fn json_rules() -> Result<(), String> {
    let report = check("modern", &["--format", "json"])?.json()?;
    let told = array(&report, "rules")?;
    need!(told.len() == rules::all().len(), "{} rules", told.len());
    for (told, rule) in told.iter().zip(rules::all()) {
        let id = rule.id;
        need!(told["id"] == id, "{id}: {}", told["id"]);
        need!(told["level"] == rule.level.name(), "{id}: level {}", told["level"]);
        need!(told["kind"] == rule.kind.name(), "{id}: kind {}", told["kind"]);
        let page = format!("{}{}", rules::SPEC, rule.spec);
        need!(told["spec"] == page, "{id}: spec {}", told["spec"]);
    }
    Ok(())
}

/// What was found names the cause.
fn json_causes() -> Result<(), String> {
    for (mode, id, cause) in [
        ("no-discover", "MCP001", "-32601"),
        ("silent-before-init", "MCP001", "no answer in 3 s"),
        ("dies-on-discover", "MCP001", "process ended"),
        ("legacy-strict", "MCP002", "only after initialize"),
        ("needs-discover", "MCP002", "only after server/discover"),
        ("dual", "MCP002", "dual-era"),
        ("dual-claims-modern", "MCP002", "2026-07-28"),
        ("bad-cache", "MCP005", "tools/list"),
        ("read-dies", "RDY109", "resources/read"),
    ] {
        let report = check(mode, &["--format", "json"])?.json()?;
        let rules = array(&report, "rules")?;
        let rule = rules.iter().find(|rule| rule["id"] == id).unwrap_or(&Value::Null);
        let found = rule["native"]["found"].as_str().unwrap_or_default();
        need!(found.contains(cause), "{mode}, {id}: {found:?} does not name: {cause}");
    }
    Ok(())
}

fn sarif() -> Result<(), String> {
    let document = check("legacy-strict", &["--format", "sarif"])?.json()?;
    need!(document["version"] == "2.1.0", "version");
    let runs = array(&document, "runs")?;
    need!(runs.len() == 1, "{} runs", runs.len());
    let rules = array(&runs[0]["tool"]["driver"], "rules")?;
    let ids: Vec<_> = rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
    need!(ids == IDS, "rules: {ids:?}");
    let name = regex("^[A-Z][A-Za-z0-9]*$")?;
    for rule in rules {
        let (id, level) = (&rule["id"], &rule["defaultConfiguration"]["level"]);
        need!(
            rule["helpUri"].as_str().is_some_and(|url| url.starts_with("https://")),
            "{id}: helpUri"
        );
        need!(is_word(&rule["shortDescription"]["text"]), "{id}: shortDescription");
        need!(level == "error" || level == "warning", "{id}: level {level}");
        need!(
            rule["name"].as_str().is_some_and(|text| name.is_match(text)),
            "{id}: {}",
            rule["name"]
        );
    }
    let results = array(&runs[0], "results")?;
    let mut prints = Vec::new();
    for result in results {
        let (id, at) = (&result["ruleId"], result["ruleIndex"].as_u64().unwrap_or(u64::MAX));
        let rule = usize::try_from(at).ok().and_then(|at| rules.get(at));
        need!(rule.is_some_and(|rule| rule["id"] == *id), "ruleIndex of {id}");
        let is_open = result["kind"] == "open" && result["level"] == "none";
        let is_found = result["level"] == "error" || result["level"] == "warning";
        need!(is_open || is_found, "{id}: {}", result["level"]);
        let place = &result["locations"][0]["logicalLocations"][0];
        need!(is_word(&result["message"]["text"]) && is_word(&place["name"]), "{id}: {result}");
        prints.push(result["partialFingerprints"]["readiness/v1"].to_string());
    }
    let shown = |id: &str| results.iter().any(|result| result["ruleId"] == id);
    need!(shown("MCP001") && shown("MCP018") && !shown("MCP007"), "results");
    prints.sort();
    prints.dedup();
    need!(prints.len() == results.len(), "fingerprints are not unique");
    let print = regex("^\"[0-9a-f]{64}\"$")?;
    need!(prints.iter().all(|text| print.is_match(text)), "fingerprints: {prints:?}");
    need!(runs[0]["invocations"][0]["exitCode"] == 1, "invocation");
    let document = check("dies-at-start", &["--format", "sarif"])?.json()?;
    let invocation = &document["runs"][0]["invocations"][0];
    need!(invocation["executionSuccessful"] == false, "unreachable: {invocation}");
    need!(is_word(&invocation["toolExecutionNotifications"][0]["message"]["text"]), "{invocation}");
    Ok(())
}

/// A place in the sources, which begin where the check was started.
fn anchor() -> Result<(), String> {
    let folder = Work::create("anchor", 1.0)?;
    let outcome = anchor_in(&folder);
    folder.remove();
    outcome
}

fn anchor_in(folder: &Work) -> Result<(), String> {
    let root = &folder.folder;
    let sub = root.join("a/b");
    std::fs::create_dir_all(&sub).map_err(|why| why.to_string())?;
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    let script = format!("read line; echo '{refusal}'");
    std::fs::write(sub.join("server.sh"), &script).map_err(|why| why.to_string())?;
    let whole = sub.join("server.sh").display().to_string();
    let elsewhere = sub.display().to_string();
    let shown = |words: &[&str]| {
        let flags = ["--format=sarif", "--native-only", "--only=MCP001"];
        let (_, out, err) = say(&[&flags, words].concat(), Some(root))?;
        let document: Value = serde_json::from_str(&out).map_err(|why| format!("{why}: {err}"))?;
        let place = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        Ok::<_, String>(place["artifactLocation"]["uri"].as_str().map(str::to_owned))
    };
    let at = Some("a/b/server.sh".to_owned());
    for (words, expected) in [
        (&["--", "sh", "a/b/server.sh"][..], &at),
        (&["--cwd", "a/b", "--", "sh", "server.sh"], &at),
        (&["--cwd", "./a", "--", "sh", "./b/server.sh"], &at),
        (&["--cwd", &elsewhere, "--", "sh", "server.sh"], &at),
        (&["--", "sh", &whole], &at),
        (&["--anchor", "./a/b/server.sh", "--", "sh", &whole], &at),
        (&["--cwd", "a/b", "--", "sh", "-c", &script, "a/b/server.sh"], &None),
        (&["--cwd", "/", "--", "/bin/sh", "-c", &script], &None),
    ] {
        let found = shown(words)?;
        need!(found == *expected, "{words:?}: {found:?}");
    }
    Ok(())
}

fn markdown() -> Result<(), String> {
    let report = check("legacy-strict", &["--format", "json"])?.json()?;
    let is_shown = |rule: &&Value| {
        matches!(rule["native"]["verdict"].as_str(), Some("fail" | "warn" | "inconclusive"))
    };
    let wanted = array(&report, "rules")?.iter().filter(is_shown).count();
    let run = check("legacy-strict", &["--format", "markdown"])?;
    let out = &run.out;
    need!(out.starts_with("### "), "heading: {out}");
    let is_row = regex(r"^\|.*\[(MCP|RDY)\d{3}\]\(https://")?;
    let rows: Vec<_> = out.lines().filter(|line| is_row.is_match(line)).collect();
    need!(rows.len() == wanted, "{} rows for {wanted}", rows.len());
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    need!(rows.iter().all(|row| cells(row) == cells(rows[0])), "a ragged table");
    need!(out.contains("<details>") && out.contains("</details>"), "details");
    need!(out.len() < 60_000, "{} bytes", out.len());
    Ok(())
}

fn hostile_text() -> Result<(), String> {
    let control = regex(CONTROL)?;
    for flags in [&["--verbose"][..], &[], &["--format", "markdown"]] {
        let run = check("hostile-text", flags)?;
        let out = &run.out;
        need!(!control.is_match(out), "{flags:?}: control characters");
        need!(out.contains("tick"), "{flags:?}: the server's message is not shown");
        need!(!out.contains(&"x".repeat(300)), "{flags:?}: server text is not cut");
        if flags.contains(&"markdown") {
            need!(!out.contains("<img"), "{flags:?}: HTML of the server");
            need!(!out.contains(" `tick` "), "{flags:?}: a backtick of the server");
            need!(!regex(r"(?m)(^|[^\\])@all")?.is_match(out), "{flags:?}: somebody is called");
            need!(!out.lines().any(|line| line.starts_with("# ")), "{flags:?}: a heading");
        }
    }
    let out = check("hostile-text", &["--format", "sarif"])?.json()?.to_string();
    need!(!out.contains("\\u001b"), "sarif: escape codes");
    Ok(())
}

fn secrets() -> Result<(), String> {
    keeps_secret("legacy-strict")
}

/// Not even where the server tells it.
fn secrets_told() -> Result<(), String> {
    keeps_secret("leaks-env")
}

const FORMS: [&[&str]; 6] = [
    &["--format", "json"],
    &["--verbose"],
    &[],
    &["--format", "sarif"],
    &["--format", "markdown"],
    &["--format", "json", "--wrapped"],
];

/// A value that goes on beyond all that is kept of a line.
fn secrets_long() -> Result<(), String> {
    for length in [2_100, 4_050, 9_000] {
        let value: String = (0..length / 5).map(|number| format!("k{number:04}")).collect();
        let given = format!("PROBE_TOKEN={value}");
        for flags in FORMS {
            let run = check("leaks-env", &[flags, &["--env", &given]].concat())?;
            need!(run.status == Some(1), "{length}, {flags:?}: exit {:?}", run.status);
            // Wherever a line was broken, if it was.
            let told = format!("{}{}", run.out, run.err);
            let is_told = value.as_bytes().chunks(10).any(|part| {
                let part = String::from_utf8_lossy(part);
                part.len() == 10 && told.contains(&*part)
            });
            need!(!is_told, "{length}, {flags:?}: a part of a value of --env is told");
        }
    }
    Ok(())
}

fn keeps_secret(mode: &str) -> Result<(), String> {
    for flags in FORMS {
        let secret = ["--env", "PROBE_TOKEN=hunter2hunter2"];
        let run = check(mode, &[flags, &secret[..]].concat())?;
        need!(run.status == Some(1), "{flags:?}: exit {:?}", run.status);
        let is_told = format!("{}{}", run.out, run.err).contains("hunter2hunter2");
        need!(!is_told, "{flags:?}: a value of --env is told");
    }
    Ok(())
}
