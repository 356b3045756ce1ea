//! Options, exit statuses, signals.

use serde_json::Value;

use crate::program::{self, check, say};
use crate::table::IDS;
use crate::work::Work;
use crate::{need, sys};

/// A name, and what says what is wrong.
pub(crate) type Check = (&'static str, fn() -> Result<(), String>);

pub(crate) const CHECKS: &[Check] = &[
    ("interrupted", interrupted),
    ("interrupted-wrapped", interrupted_wrapped),
    ("environment", environment),
    ("answers", answers),
    ("only-and-skip", only_and_skip),
    ("usage", usage),
    ("cannot-start", cannot_start),
    ("fail-on", fail_on),
    ("list-rules", list_rules),
    ("output", output),
    ("call-from-file", call_from_file),
    ("budget", budget),
    ("accept-wrapped", accept_wrapped),
];

/// SIGINT and SIGTERM: no report, no child, whatever it is waiting for.
fn interrupted() -> Result<(), String> {
    let signals = [("SIGINT", sys::SIGINT, 130), ("SIGTERM", sys::SIGTERM, 143)];
    for (name, number, status) in signals {
        for mode in ["mute", "grandchild-apart", "hangs"] {
            let running = program::start(mode, false, &["--format", "json"])?;
            running.wait_for_servers(1)?;
            running.signal(number);
            let run = running.finish();
            need!(run.status == Some(status), "{mode}, {name}: exit {:?}", run.status);
            need!(run.out.is_empty(), "{mode}, {name}: a report: {}", run.out);
            need!(run.left == 0, "{mode}, {name}: {} processes were left", run.left);
        }
    }
    Ok(())
}

/// In the second column there is a bridge between.
fn interrupted_wrapped() -> Result<(), String> {
    let running = program::start("slow-start", false, &["--wrapped", "--verbose"])?;
    // A, B, C and D alone.
    running.wait_for_servers(5)?;
    running.signal(sys::SIGINT);
    let run = running.finish();
    need!(run.status == Some(130), "exit {:?}", run.status);
    need!(run.out.is_empty(), "a report: {}", run.out);
    need!(run.left == 0, "{} processes were left", run.left);
    Ok(())
}

/// The server gets the short environment of the bridge, and what it is given.
fn environment() -> Result<(), String> {
    let name = |flags: &[&str]| {
        let flags = [&["--format", "json", "--only", "MCP001"], flags].concat();
        Ok::<_, String>(check("leaks-env", &flags)?.json()?["server"]["name"].to_string())
    };
    need!(!name(&[])?.contains("of-ours"), "a variable that was not named");
    need!(name(&["--inherit-env"])?.contains("of-ours"), "--inherit-env");
    Ok(())
}

/// Questions are refused and roots are none, after a handshake; else nothing is answered.
fn answers() -> Result<(), String> {
    let of = |mode: &str| {
        let answers = check(mode, &["--format", "json"])?.notes.lines("responses");
        let answers = answers.iter().map(|line| serde_json::from_str(line).unwrap_or(Value::Null));
        Ok::<Vec<Value>, String>(answers.collect())
    };
    for mode in ["chatty", "asks-modern"] {
        let answers = of(mode)?;
        need!(answers.is_empty(), "{mode}: {answers:?}");
    }
    // One process was opened with initialize.
    let answers = of("asks-at-once")?;
    need!(answers.len() == 2, "asks-at-once: {answers:?}");
    need!(answers[0]["result"] == serde_json::json!({}), "ping: {}", answers[0]);
    need!(answers[1]["result"] == serde_json::json!({"roots": []}), "roots: {}", answers[1]);
    let answers = of("legacy-samples")?;
    let is_refused = answers.len() == 1 && answers[0]["error"]["code"].is_i64();
    need!(is_refused && answers[0]["id"] == "sample", "sampling: {answers:?}");
    Ok(())
}

fn ids(report: &Value) -> Vec<&str> {
    let rules = report["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    rules.iter().filter_map(|rule| rule["id"].as_str()).collect()
}

fn only_and_skip() -> Result<(), String> {
    let json = |flags: &[&str]| {
        let run = check("ping-alive", &[&["--format", "json"], flags].concat())?;
        Ok::<_, String>((run.status, run.json()?))
    };
    let (status, report) = json(&["--only", "mcp006,RDY110"])?;
    need!(ids(&report) == ["MCP006", "RDY110"], "--only: {:?}", ids(&report));
    need!(status == Some(1), "--only with the error: exit {status:?}");
    need!(report["findings"].as_array().map(Vec::len) == Some(1), "--only: findings");
    let (status, report) = json(&["--skip", "MCP006"])?;
    let rest: Vec<_> = IDS.into_iter().filter(|id| *id != "MCP006").collect();
    need!(ids(&report) == rest, "--skip: {:?}", ids(&report));
    need!(status == Some(0), "a skipped rule decides: exit {status:?}");
    need!(report["verdict"] == "ready-natively", "a skipped rule decides: {}", report["verdict"]);
    Ok(())
}

fn usage() -> Result<(), String> {
    let wrong: [&[&str]; 13] = [
        &["--only", "MCP999"],
        &["--skip", "MCP"],
        &["--only", "MCP006,MCP003x"],
        &["--format", "xml"],
        &["--fail-on", "maybe"],
        &["--call", "alpha={"],
        &["--call", "alpha=[]"],
        &["--call", "alpha"],
        &["--call", "alpha=@/nonexistent/arguments"],
        &["--timeout", "soon"],
        &["--budget", "-1"],
        &["--no-such-option"],
        &["--wrapped", "--native-only"],
    ];
    for flags in wrong {
        let words = [flags, &["--", "/bin/cat"]].concat();
        let (status, out, err) = say(&words, None)?;
        need!(status == Some(2), "{flags:?}: exit {status:?}");
        need!(out.is_empty(), "{flags:?}: on stdout: {out}");
        need!(!err.trim().is_empty(), "{flags:?}: not a word on stderr");
    }
    let (status, out, err) = say(&[], None)?;
    need!(status == Some(2) && out.is_empty() && !err.is_empty(), "no command: {status:?}");
    Ok(())
}

/// A command that cannot be started, or ends at once with a last word.
fn cannot_start() -> Result<(), String> {
    let (status, out, err) = say(&["--format", "json", "--", "/nonexistent/program"], None)?;
    need!(status == Some(2), "exit {status:?}");
    need!(format!("{out}{err}").contains("/nonexistent/program"), "it is not named: {out}{err}");
    let run = check("dies-at-start", &["--format", "json"])?;
    let report = run.json()?;
    let reason = report["reason"].as_str().unwrap_or_default();
    need!(reason.ends_with("cannot find module 'nope'"), "reason: {reason}");
    need!(report["rules"] == serde_json::json!([]), "rules: {}", report["rules"]);
    let text = check("dies-at-start", &[])?;
    need!(text.status == Some(2), "exit {:?}", text.status);
    // Wherever its line was broken.
    let words = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    need!(words.contains("cannot find module 'nope'"), "the text report has no reason");
    // Not ready is not what is asked; a check that could not be made is no success.
    let never = check("dies-at-start", &["--fail-on", "never"])?;
    need!(never.status == Some(2), "--fail-on never: exit {:?}", never.status);
    Ok(())
}

fn fail_on() -> Result<(), String> {
    for (mode, level, expected) in [
        ("ping-alive", "never", 0),
        ("ping-alive", "error", 1),
        ("ping-alive", "warning", 1),
        ("restless", "error", 0),
        ("restless", "warning", 1),
        ("dual", "warning", 0),
    ] {
        let status = check(mode, &["--fail-on", level])?.status;
        need!(status == Some(expected), "{mode}, --fail-on {level}: exit {status:?}");
    }
    Ok(())
}

fn list_rules() -> Result<(), String> {
    let (status, out, _) = say(&["--list-rules"], None)?;
    need!(status == Some(0), "exit {status:?}");
    let http = ["MCP003", "MCP010", "MCP014", "MCP016"];
    let missing = IDS.iter().chain(&http).find(|id| !out.contains(**id));
    need!(missing.is_none(), "{missing:?} is not listed");
    let (status, out, _) = say(&["--list-rules", "--format", "json"], None)?;
    need!(status == Some(0), "as JSON: exit {status:?}");
    let list: Value = serde_json::from_str(&out).map_err(|why| format!("as JSON: {why}"))?;
    need!(http.iter().all(|id| list.to_string().contains(id)), "as JSON: {list}");
    Ok(())
}

fn output() -> Result<(), String> {
    let folder = Work::create("output", 1.0)?;
    let path = folder.folder.join("report.json").display().to_string();
    let run = check("modern", &["--format", "json", "--output", &path])?;
    let report = std::fs::read_to_string(&path).unwrap_or_default();
    folder.remove();
    let report: Value = serde_json::from_str(&report).map_err(|why| format!("file: {why}"))?;
    need!(report["verdict"] == "ready-natively", "file: {}", report["verdict"]);
    need!(run.out.is_empty(), "on stdout: {}", run.out);
    need!(run.err.contains("READY NATIVELY"), "on stderr: {}", run.err);
    let run = check("modern", &["--output", "/nonexistent/folder/report"])?;
    need!(run.status == Some(2), "a file that cannot be written: exit {:?}", run.status);
    Ok(())
}

fn call_from_file() -> Result<(), String> {
    let folder = Work::create("arguments", 1.0)?;
    folder.append("arguments.json", "{\"of\": \"a file\"}");
    let call = format!("alpha=@{}", folder.folder.join("arguments.json").display());
    let run = check("modern", &["--format", "json", "--call", &call, "--only", "RDY112"]);
    folder.remove();
    let run = run?;
    let report = run.json()?;
    need!(report["rules"][0]["native"]["verdict"] == "pass", "{}", report["rules"]);
    need!(run.notes.lines("called") == ["alpha"], "called: {:?}", run.notes.lines("called"));
    Ok(())
}

/// What there was no time for is not judged, and that is no error.
fn budget() -> Result<(), String> {
    let run = check("ignores-unknown", &["--format", "json", "--budget", "1500"])?;
    let report = run.json()?;
    let ms = report["durationMs"].as_u64().unwrap_or(u64::MAX);
    need!(ms < 5_000, "{ms} ms");
    need!(report["summary"]["errors"] == 0, "errors: {}", report["findings"]);
    let count = &report["summary"]["inconclusive"];
    need!(count.as_u64() > Some(3), "{count} not judged");
    need!(run.left == 0, "{} processes were left", run.left);
    // Nothing but discover is answered.
    let report = check("discover-only", &["--format", "json", "--budget", "500"])?.json()?;
    need!(report["summary"]["errors"] == 0, "a list: {}", report["findings"]);
    let lists =
        report["rules"].as_array().into_iter().flatten().find(|rule| rule["id"] == "RDY103");
    let judged = lists.map(|rule| &rule["native"]["verdict"]);
    need!(judged.is_some_and(|verdict| verdict == "inconclusive"), "RDY103: {judged:?}");
    // A call that there was no time for.
    let flags = ["--format", "json", "--budget", "1500", "--call", "alpha={}"];
    let report = check("ignores-unknown", &flags)?.json()?;
    let calls =
        report["rules"].as_array().into_iter().flatten().find(|rule| rule["id"] == "RDY112");
    let judged = calls.map(|rule| &rule["native"]["verdict"]);
    need!(judged.is_some_and(|verdict| verdict == "inconclusive"), "RDY112: {judged:?}");
    // Whoever never stops talking gets no more time than others.
    let run = check("chatters", &["--format", "json", "--budget", "2000"])?;
    let ms = run.json()?["durationMs"].as_u64().unwrap_or(u64::MAX);
    need!(ms < 8_000, "{ms} ms of chatter");
    let text = check("ignores-unknown", &["--budget", "1500"])?;
    need!(!text.out.contains("all checks passed"), "all checks passed: {}", text.out);
    Ok(())
}

fn accept_wrapped() -> Result<(), String> {
    let running = program::start("legacy-lenient", false, &["--accept-wrapped"])?;
    let run = running.finish();
    need!(run.status == Some(0), "exit {:?}", run.status);
    need!(run.out.contains("\nREADY WHEN WRAPPED"), "{}", run.out);
    for word in
        ["Run it as:", "native   wrapped", "serial-calls", "shared-session", "cache-defaults"]
    {
        need!(run.out.contains(word), "{word} is not listed: {}", run.out);
    }
    need!(run.left == 0, "{} processes were left", run.left);
    let report = check("legacy-lenient", &["--wrapped", "--format", "json"])?.json()?;
    let rules = report["rules"].as_array().cloned().unwrap_or_default();
    need!(rules.iter().all(|rule| rule["wrapped"]["verdict"].is_string()), "no wrapped column");
    let changes = report["changes"].as_array().cloned().unwrap_or_default();
    let is_whole = |change: &Value| {
        ["id", "text", "because"]
            .iter()
            .all(|key| change[key].as_str().is_some_and(|t| !t.is_empty()))
    };
    need!(!changes.is_empty() && changes.iter().all(is_whole), "{}", report["changes"]);
    Ok(())
}
