//! Each mode of the server against what `cases.tsv` expects, and what holds for every check.

use serde_json::Value;

use crate::program::{self, Run};
use crate::readiness_server;
use crate::table::{self, Case};
use crate::{Complaints, Job};

/// All rows natively, and those again in both columns whose second one is known.
pub(crate) fn jobs() -> Result<Vec<Job>, String> {
    let cases = table::load()?;
    let mut jobs = vec![
        Job { name: "table".to_owned(), play: Box::new(every_mode_has_a_row) },
        Job { name: "itself".to_owned(), play: Box::new(itself) },
    ];
    // In both columns first: they take longest.
    for is_wrapped in [true, false] {
        for case in cases.iter().filter(|case| !is_wrapped || case.wrapped != "*") {
            let case = case.clone();
            let column = if is_wrapped { "wrapped" } else { "native" };
            let name = format!("{column} {}", case.mode);
            jobs.push(Job { name, play: Box::new(move || play(&case, is_wrapped)) });
        }
    }
    Ok(jobs)
}

fn play(case: &Case, is_wrapped: bool) -> Complaints {
    let column = if is_wrapped { "--wrapped" } else { "--native-only" };
    let mut flags = vec!["--format", "json", column];
    flags.extend(&case.flags);
    match program::start(case.mode, false, &flags) {
        Ok(running) => complaints(case, is_wrapped, &running.finish()),
        Err(why) => vec![why],
    }
}

fn complaints(case: &Case, is_wrapped: bool, run: &Run) -> Complaints {
    let mut bad = surroundings(case, is_wrapped, run);
    let report = match run.json() {
        Ok(report) => report,
        Err(why) => {
            bad.push(why);
            return bad;
        }
    };
    if report["schemaVersion"] != 1 {
        bad.push(format!("schemaVersion {}", report["schemaVersion"]));
    }
    let verdict = if is_wrapped { case.wrapped } else { case.native };
    if report["verdict"] != verdict {
        bad.push(format!("verdict {}, expected {verdict}", report["verdict"]));
    }
    if run.status != Some(case.exit) {
        bad.push(format!("exit {:?}, expected {}", run.status, case.exit));
    }
    let is_dual = readiness_server::modes().any(|mode| mode == (case.mode, true));
    let era = match case.base {
        "modern" if is_dual => "dual",
        "nothing" => "unknown",
        base => base,
    };
    if report["era"] != era {
        bad.push(format!("era {}, expected {era}", report["era"]));
    }
    // A, B, C and D, and six in the place of others.
    let most = 10 + case.flags.len() / 2;
    for column in ["native", "wrapped"] {
        let children = report["children"].as_array().into_iter().flatten();
        let count = children.filter(|child| child["column"] == column).count();
        if count > most {
            bad.push(format!("{count} processes in the column {column}"));
        }
    }
    let empty = Vec::new();
    let rules = report["rules"].as_array().unwrap_or(&empty);
    if case.letters.is_empty() != rules.is_empty() {
        bad.push(format!("{} rules", rules.len()));
    }
    for (id, right) in &case.letters {
        let rule = rules.iter().find(|rule| rule["id"] == *id).unwrap_or(&Value::Null);
        let letter = letter(&rule["native"]);
        if *right != "*" && !right.split('/').any(|one| one == letter) {
            bad.push(format!("{id} {letter}, expected {right}: {}", rule["native"]["found"]));
        }
    }
    if is_wrapped && verdict == "ready-when-wrapped" {
        let fails = |rule: &&Value| rule["wrapped"]["verdict"] == "fail";
        let failed = rules.iter().filter(fails);
        bad.extend(
            failed.map(|rule| format!("wrapped {}: {}", rule["id"], rule["wrapped"]["found"])),
        );
    }
    bad
}

/// What every check keeps, whatever it finds.
fn surroundings(case: &Case, is_wrapped: bool, run: &Run) -> Complaints {
    let mut bad = Vec::new();
    if run.left > 0 {
        bad.push(format!("{} of {} processes were left", run.left, run.notes.lines("pids").len()));
    }
    if run.notes.lines("pids").is_empty() {
        bad.push("no server was started".to_owned());
    }
    let called = run.notes.lines("called");
    if case.flags.is_empty() && !called.is_empty() {
        bad.push(format!("called without --call: {}", called.join(", ")));
    }
    // At most these two in each column.
    if called.len() > if is_wrapped { 4 } else { 2 } {
        bad.push(format!("{} calls", called.len()));
    }
    let is_never =
        |method: &&String| matches!(method.as_str(), "prompts/get" | "completion/complete");
    if let Some(method) = run.notes.lines("methods").iter().find(is_never) {
        bad.push(format!("{method} was asked"));
    }
    if let Some(line) = run.notes.lines("badinput").first() {
        bad.push(format!("the server was sent what is no message: {line}"));
    }
    let is_spoken_to_as_legacy =
        run.notes.lines("methods").iter().any(|m| m == "notifications/initialized");
    if !is_spoken_to_as_legacy && !run.notes.lines("responses").is_empty() {
        bad.push("a question was answered where a modern client writes no answers".to_owned());
    }
    bad
}

fn letter(outcome: &Value) -> &'static str {
    match outcome["verdict"].as_str() {
        Some("pass") => "P",
        Some("warn") => "W",
        Some("fail") => "F",
        Some("skip") => "S",
        Some("inconclusive") => "I",
        _ => "none",
    }
}

fn every_mode_has_a_row() -> Complaints {
    let Ok(cases) = table::load() else { return vec!["cases.tsv".to_owned()] };
    let modes = readiness_server::modes().map(|(mode, _)| mode);
    let lacks = |mode: &&str| cases.iter().all(|case| case.mode != *mode);
    modes.filter(lacks).map(|mode| format!("no row for {mode}")).collect()
}

/// The bridge around a legacy server is what it says of itself: ready.
fn itself() -> Complaints {
    let run = match program::start("legacy-strict", true, &["--format", "json"]) {
        Ok(running) => running.finish(),
        Err(why) => return vec![why],
    };
    let mut bad = Vec::new();
    if run.left > 0 {
        bad.push(format!("{} processes were left", run.left));
    }
    match run.json() {
        Err(why) => bad.push(why),
        Ok(report) => {
            let rules = report["rules"].as_array().cloned().unwrap_or_default();
            let finds = |rule: &&Value| matches!(letter(&rule["native"]), "F" | "W" | "I");
            let found = rules.iter().filter(finds);
            bad.extend(found.map(|rule| format!("{}: {}", rule["id"], rule["native"]["found"])));
            if report["verdict"] != "ready-natively" || run.status != Some(0) || rules.is_empty() {
                bad.push(format!("verdict {}, exit {:?}", report["verdict"], run.status));
            }
        }
    }
    bad
}
