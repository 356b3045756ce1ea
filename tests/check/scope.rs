//! What a report says of itself: how much was judged, that a start took too long, that a tool is not
//! there.

use serde_json::{Value, json};

use crate::command_line::Check;
use crate::need;
use crate::program::{check, say, start};
use crate::work::Work;

pub(crate) const CHECKS: &[Check] = &[
    ("scope-of-a-legacy-server", scope_of_a_legacy_server),
    ("scope-in-all-forms", scope_in_all_forms),
    ("late-start", late_start),
    ("late-for-ever", late_for_ever),
    ("silence-is-no-late-start", silence_is_no_late_start),
    ("absent-tool", absent_tool),
    ("absent-tool-of-a-legacy-server", absent_tool_of_a_legacy_server),
    ("repeated-fix", repeated_fix),
    ("proposals", proposals),
    ("output-is-opened-first", output_is_opened_first),
    ("output-is-kept", output_is_kept),
    ("output-of-others", output_of_others),
    ("late-answers", late_answers),
    ("late-when-wrapped", late_when_wrapped),
    ("no-handshake", no_handshake),
    ("budget-used-up", budget_used_up),
];

/// Wherever its lines were broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rule<'r>(report: &'r Value, id: &str) -> &'r Value {
    let rules = report["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    rules.iter().find(|rule| rule["id"] == id).unwrap_or(&Value::Null)
}

/// Green it is, and it says for how much.
fn scope_of_a_legacy_server() -> Result<(), String> {
    let run = check("legacy-strict", &["--only", "MCP011"])?;
    need!(run.status == Some(0), "exit {:?}", run.status);
    let (_, block) = run.out.split_once("READY NATIVELY").unwrap_or_default();
    let lines: Vec<_> = block.lines().skip(1).collect();
    let expected = [
        "judged by 1 of 26 rules (--only): nothing is said of the others",
        "no rule was judged",
        "the server speaks the legacy era: MCP001 was not asked",
    ];
    need!(lines == expected, "{}", run.out);
    let run = check("legacy-strict", &["--skip", "MCP001,MCP002,MCP004,MCP005,MCP006,MCP009"])?;
    need!(run.status == Some(0), "exit {:?}", run.status);
    need!(run.out.contains("\njudged by 20 of 26 rules (--skip): "), "{}", run.out);
    need!(!run.out.contains("no rule was judged"), "{}", run.out);
    need!(run.out.contains("\nthe server speaks the legacy era: MCP001 was not"), "{}", run.out);
    let both = ["--only", "MCP006,MCP011", "--skip", "MCP006"];
    let run = check("legacy-strict", &both)?;
    need!(run.out.contains("\njudged by 1 of 26 rules (--only, --skip): "), "{}", run.out);
    // What fails is told by its rule, and what was asked as a whole is the whole.
    let run = check("legacy-strict", &["--only", "MCP001"])?;
    need!(!run.out.contains("legacy era:"), "{}", run.out);
    let whole = check("modern", &["--skip", "MCP003"])?;
    need!(!whole.out.contains("judged by"), "{}", whole.out);
    Ok(())
}

fn scope_in_all_forms() -> Result<(), String> {
    let only = ["--only", "MCP011"];
    let told = "judged by 1 of 26 rules (--only): nothing is said of the others";
    let report = check("legacy-strict", &[&["--format", "json"], &only[..]].concat())?.json()?;
    need!(report["rulesAsked"] == 1 && report["rulesKnown"] == 26, "{report}");
    need!(report["notes"][0] == told, "{}", report["notes"]);
    need!(report["notes"].as_array().is_some_and(|notes| notes.len() == 3), "{report}");
    let report = check("modern", &["--format", "json"])?.json()?;
    need!(report["rulesAsked"] == 26 && report["notes"] == json!([]), "{report}");
    let report = check("legacy-strict", &[&["--format", "sarif"], &only[..]].concat())?.json()?;
    let notes = &report["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    need!(notes[0] == json!({"level": "warning", "message": {"text": told}}), "{notes}");
    need!(notes.as_array().is_some_and(|notes| notes.len() == 3), "{notes}");
    let report = check("mute", &["--format", "json"])?.json()?;
    need!(report["rulesAsked"] == 26 && report["rulesKnown"] == 26, "{report}");
    let page = &check("legacy-strict", &[&["--format", "markdown"], &only[..]].concat())?.out;
    let told_there = told.replace(':', "\\:");
    need!(page.contains(&told_there) && page.contains("no rule was judged"), "{page}");
    // On stderr, too, where the report goes elsewhere.
    let run = check("legacy-strict", &[&["--output", "/dev/null"], &only[..]].concat())?;
    need!(run.err.contains(told) && run.err.contains("legacy era"), "{}", run.err);
    Ok(())
}

/// It takes longer to start than it may.
fn late_start() -> Result<(), String> {
    let late = |flags: &[&str]| {
        let flags = [&["--start-timeout", "1000"], flags].concat();
        Ok::<_, String>(start("late-start", false, &flags)?.finish())
    };
    let run = late(&[])?;
    let text = words(&run.out);
    need!(run.status == Some(1), "exit {:?}", run.status);
    for told in [
        "found no answer in 1 s",
        "fix raise --start-timeout, or run the command once by hand so that nothing is left to download",
        "a process wrote nothing in the 1 s that it had to start: raise --start-timeout",
    ] {
        need!(text.contains(told), "not told: {told}: {}", run.out);
    }
    need!(!text.contains("--initialize-timeout-ms"), "{}", run.out);
    need!(!text.contains("not cured by wrapping"), "{}", run.out);
    let report = late(&["--wrapped", "--format", "json"])?.json()?;
    for id in ["MCP001", "MCP002"] {
        let native = &rule(&report, id)["native"];
        let fix = native["fix"].as_str().unwrap_or_default();
        need!(fix.starts_with("raise --start-timeout"), "{id}: {native}");
        need!(native["owner"] == "unknown", "{id}: {native}");
    }
    // What came late was seen, and is judged as ever.
    let fix = rule(&report, "MCP004")["native"]["fix"].as_str().unwrap_or_default();
    need!(fix.contains("resultType"), "MCP004: {report}");
    let found = rule(&report, "MCP001")["wrapped"]["found"].as_str().unwrap_or_default();
    need!(found.contains("(--start-timeout)"), "wrapped: {found}");
    let page = &late(&["--format", "markdown"])?.out;
    need!(page.contains("a longer --start-timeout"), "{page}");
    let verbose = &late(&["--verbose"])?.out;
    let ours = verbose.split("Stderr of the server").nth(1).unwrap_or_default();
    need!(!ours.contains("--initialize-timeout-ms"), "{ours}");
    Ok(())
}

/// Nothing was ever written: the time to start is one reason.
fn late_for_ever() -> Result<(), String> {
    let run = check("mute", &[])?;
    let told = "UNREACHABLE the process never answered: nothing in 3 s; raise --start-timeout, or \
                run the command once by hand so that nothing is left to download";
    need!(words(&run.out).contains(told), "{}", run.out);
    Ok(())
}

/// Who answers initialize at once, and nothing before, starts in time.
fn silence_is_no_late_start() -> Result<(), String> {
    let report = check("silent-before-init", &["--format", "json"])?.json()?;
    let fix = rule(&report, "MCP001")["native"]["fix"].as_str().unwrap_or_default();
    need!(!fix.is_empty() && !fix.contains("--start-timeout"), "{fix}");
    need!(report["notes"] == json!([]), "{}", report["notes"]);
    Ok(())
}

fn absent_tool() -> Result<(), String> {
    let told = "no tool 'get_time'; it has alpha, beta, gamma";
    let run = check("modern", &["--format", "json", "--call", "get_time={}"])?;
    let report = run.json()?;
    let native = &rule(&report, "RDY112")["native"];
    need!(native["verdict"] == "inconclusive" && native["found"] == told, "{native}");
    need!(run.notes.lines("called").is_empty(), "called: {:?}", run.notes.lines("called"));
    let text = &check("modern", &["--call", "get_time={}", "--call", "alpha={}"])?.out;
    need!(text.contains(told) && text.contains("\n2 tools were not called"), "{text}");
    // Twice the same is one.
    let text = &check("modern", &["--call", "alpha={}", "--call", "alpha={}"])?.out;
    need!(text.contains("\n2 tools were not called"), "{text}");
    let many = check("shuffled", &["--format", "json", "--call", "get_time={}"])?.json()?;
    let found = rule(&many, "RDY112")["native"]["found"].as_str().unwrap_or_default();
    need!(found.ends_with(", ... (97 in all)") && found.len() < 120, "{found}");
    // So many names are not kept.
    let run = check("many-tools", &["--call", "t10000={}"])?;
    need!(!run.out.contains("no tool"), "{}", run.out);
    need!(run.notes.lines("called") == ["t10000"], "not called: {}", run.out);
    // Of a list that has no end nobody knows what is not in it.
    let run = check("paginated-endless", &["--call", "get_time={}"])?;
    need!(!run.out.contains("no tool 'get_time'"), "{}", run.out);
    Ok(())
}

fn absent_tool_of_a_legacy_server() -> Result<(), String> {
    let flags = ["--format", "json", "--call", "get_time={}"];
    let run = start("legacy-strict", false, &flags)?.finish();
    let report = run.json()?;
    let told = "no tool 'get_time'; it has alpha, beta, gamma";
    for column in ["native", "wrapped"] {
        let outcome = &rule(&report, "RDY112")[column];
        need!(outcome["verdict"] == "inconclusive", "{column}: {outcome}");
        need!(outcome["found"] == told, "{column}: {outcome}");
    }
    let text = &start("legacy-strict", false, &["--call", "get_time={}"])?.finish().out;
    need!(text.contains("\n3 tools were not called"), "{text}");
    // Legacy servers are called behind the bridge only.
    let text = &start("legacy-strict", false, &["--call", "alpha={}"])?.finish().out;
    need!(text.contains("\n2 tools were not called"), "{text}");
    let text = &check("legacy-strict", &["--call", "alpha={}"])?.out;
    need!(text.contains("\n3 tools were not called"), "{text}");
    Ok(())
}

fn repeated_fix() -> Result<(), String> {
    let text = &check("looks-typescript", &[])?.out;
    need!(words(text).matches("move to @modelcontextprotocol/server 2.x").count() == 1, "{text}");
    need!(text.matches("    fix       as MCP001\n").count() > 3, "{text}");
    let report = check("looks-typescript", &["--format", "json"])?.json()?;
    need!(!report.to_string().contains("as MCP001"), "{report}");
    Ok(())
}

fn proposals() -> Result<(), String> {
    for (flags, told) in [
        (&["--onyl", "MCP001"][..], "no option '--onyl'; did you mean '--only'?"),
        (&["--formt", "json"], "did you mean '--format'?"),
        (&["--zzz"], "no option '--zzz'; check --help lists them"),
        (&["-x"], "no option '-x'; check --help lists them"),
    ] {
        let (status, _, err) = say(&[flags, &["--", "/bin/cat"]].concat(), None)?;
        need!(status == Some(2) && err.contains(told), "{flags:?}: {err}");
    }
    Ok(())
}

/// Where it cannot be written, no server is started.
fn output_is_opened_first() -> Result<(), String> {
    let run = check("modern", &["--output", "/nonexistent/folder/report"])?;
    need!(run.status == Some(2), "exit {:?}", run.status);
    need!(run.err.contains("--output: cannot write '/nonexistent/folder/report'"), "{}", run.err);
    need!(run.notes.lines("pids").is_empty(), "a server was started");
    Ok(())
}

/// What was there stays until there is something better.
fn output_is_kept() -> Result<(), String> {
    let folder = Work::create("kept", 1.0)?;
    let outcome = kept_in(&folder);
    folder.remove();
    outcome
}

fn kept_in(folder: &Work) -> Result<(), String> {
    let (old, new) = (folder.folder.join("old"), folder.folder.join("new"));
    let long = "an older report\n".repeat(4000);
    std::fs::write(&old, &long).map_err(|why| why.to_string())?;
    for path in [&old, &new] {
        let running = start("hangs", false, &["--output", &path.display().to_string()])?;
        running.wait_for_servers(1)?;
        running.signal(crate::sys::SIGINT);
        let run = running.finish();
        need!(run.status == Some(130), "exit {:?}", run.status);
    }
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    need!(read(&old) == long, "an interrupted check cost the older report");
    need!(!new.exists(), "an interrupted check left an empty report");
    let run = check("modern", &["--output", &old.display().to_string()])?;
    need!(run.status == Some(0), "exit {:?}", run.status);
    need!(read(&old).starts_with("mcp-uplift check"), "{}", read(&old));
    need!(!read(&old).contains("an older report"), "the rest of the older report");
    Ok(())
}

/// What others put there meanwhile is theirs, and what they took away is no place for a report.
fn output_of_others() -> Result<(), String> {
    let folder = Work::create("others", 1.0)?;
    let outcome = others_in(&folder);
    folder.remove();
    outcome
}

fn others_in(folder: &Work) -> Result<(), String> {
    let (path, other) = (folder.folder.join("report"), folder.folder.join("other"));
    let flags = ["--output", &path.display().to_string()];
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    let put = |at| std::fs::write(at, "of another check").map_err(|why| why.to_string());
    let replace = || std::fs::rename(&other, &path).map_err(|why| why.to_string());
    for replaces in [false, true] {
        let running = start("hangs", false, &flags)?;
        running.wait_for_servers(1)?;
        if replaces {
            put(&other)?;
            replace()?;
        } else {
            put(&path)?;
        }
        running.signal(crate::sys::SIGINT);
        let run = running.finish();
        need!(run.status == Some(130), "exit {:?}", run.status);
        need!(read() == "of another check", "{replaces}: it is gone: {:?}", read());
        std::fs::remove_file(&path).map_err(|why| why.to_string())?;
    }
    let running = start("slow-start", false, &flags)?;
    running.wait_for_servers(1)?;
    std::fs::remove_file(&path).map_err(|why| why.to_string())?;
    let run = running.finish();
    need!(run.status == Some(0), "exit {:?}: {}", run.status, run.err);
    need!(read().starts_with("mcp-uplift check"), "no report: {:?}", read());
    Ok(())
}

/// It takes longer to answer than it may: that is said, and nobody else is blamed.
fn late_answers() -> Result<(), String> {
    let report = check("late-unknown", &["--format", "json"])?.json()?;
    let native = &rule(&report, "RDY108")["native"];
    need!(native["verdict"] == "fail", "{native}");
    need!(native["fix"] == "raise --timeout" && native["owner"] == "unknown", "{native}");
    let told = "an answer came when the 1 s that it had were over: raise --timeout";
    need!(report["notes"] == json!([told]), "{}", report["notes"]);
    let page = &check("late-unknown", &["--format", "markdown"])?.out;
    need!(page.contains("a longer --timeout"), "{page}");
    // Whoever never answers is not late.
    let report = check("ignores-unknown", &["--format", "json"])?.json()?;
    let native = &rule(&report, "RDY108")["native"];
    need!(native["fix"] != "raise --timeout", "{native}");
    need!(report["notes"] == json!([]), "{}", report["notes"]);
    Ok(())
}

/// The bridge has a little less time for a server to start: no fault of the bridge.
fn late_when_wrapped() -> Result<(), String> {
    let flags = ["--wrapped", "--start-timeout", "1650"];
    let text = words(&start("slow-start", false, &flags)?.finish().out);
    need!(!text.contains("a bug of mcp-uplift"), "{text}");
    need!(text.contains("wrapped not started in time: "), "{text}");
    need!(text.contains(" that it had to start: raise --start-timeout"), "{text}");
    Ok(())
}

/// Whoever leaves initialize unanswered starts in time: neither its time nor the bridge is to blame.
fn no_handshake() -> Result<(), String> {
    let flags = ["--wrapped", "--start-timeout", "1000"];
    let text = words(&check("initialize-ignored", &flags)?.out);
    need!(text.contains("it never answers initialize: "), "{text}");
    need!(!text.contains("raise --start-timeout"), "{text}");
    need!(!text.contains("a bug of mcp-uplift"), "{text}");
    Ok(())
}

/// What there was no time for is said below a verdict; without an answer there is none.
fn budget_used_up() -> Result<(), String> {
    let report = check("ignores-unknown", &["--format", "json", "--budget", "1500"])?.json()?;
    let note = report["notes"][0].as_str().unwrap_or_default();
    let rules = report["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_meant = |rule: &&Value| rule["native"]["found"] == "the time of --budget was used up";
    let count = rules.iter().filter(is_meant).count();
    let told = format!("rules not judged because the time of --budget was used up: {count}");
    need!(count > 3 && note == told, "{note}: {}", report["rules"]);
    for mode in ["mute", "garbage"] {
        let run = check(mode, &["--budget", "800"])?;
        need!(run.status == Some(2), "{mode}: exit {:?}: {}", run.status, run.out);
        let told = "UNREACHABLE the time of --budget was used up before anything was answered";
        need!(words(&run.out).contains(told), "{mode}: {}", run.out);
    }
    Ok(())
}
