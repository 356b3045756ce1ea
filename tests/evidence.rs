//! The tables of docs/evidence.md are those of the reports: what `make interop`, `make sweep`,
//! `make conformance` and `make bench` wrote, and the numbers of seeds that the tests play.
//!
//! `UPDATE_DOCS=1 cargo test --test evidence` writes the tables anew.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/tree.rs"]
mod tree;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use regex_lite::Regex;
use serde_json::Value;
use tree::{read, root};

const PAGE: &str = "docs/evidence.md";

type Table = fn() -> String;

/// A table stands between `<!-- NAME: ... -->` and `<!-- end of NAME -->`.
const TABLES: &[(&str, Table)] =
    &[("clients", clients), ("servers", servers), ("conformance", conformance), ("ratios", ratios)];

fn report(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// What a report is about, and when it was made.
fn head(report: &Value) -> String {
    let [bridge, commit, date] = ["bridge", "commit", "date"].map(|of| text(&report[of]));
    format!("{bridge} (`{commit}`), {date}")
}

/// For a cell: no bar may end it.
fn cell(words: &str) -> String {
    words.replace('|', "\\|").replace('\n', " ")
}

/// 1981 as 1,981.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut said = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said
}

#[test]
fn tables_are_those_of_the_reports() {
    let page = read(PAGE);
    let mut renewed = page.clone();
    for (name, table) in TABLES {
        let start = renewed.find(&format!("<!-- {name}: ")).unwrap();
        let start = start + renewed[start..].find("-->\n").unwrap() + "-->\n".len();
        let end = renewed.find(&format!("<!-- end of {name} -->")).unwrap();
        renewed.replace_range(start..end, &format!("\n{}\n", table()));
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(PAGE), renewed).unwrap();
    } else {
        assert!(page == renewed, "{PAGE} is old: UPDATE_DOCS=1 cargo test --test evidence");
    }
}

// ---- make interop ----

/// Passed, failed and skipped checks.
#[derive(Clone, Copy, Default)]
struct Counts([u64; 3]);

impl Counts {
    fn read(value: &Value) -> Self {
        let mut counts = Self::default();
        for (count, value) in counts.0.iter_mut().zip(list(value)) {
            *count = value.as_u64().unwrap();
        }
        counts
    }

    fn add(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [0, 0, _] => f.write_str("–"),
            [passed, 0, _] => f.write_str(&thousands(passed)),
            [passed, failed, _] => write!(f, "**{passed} of {}**", passed + failed),
        }
    }
}

fn clients() -> String {
    let report = report("evidence/results/interop.json");
    let clients = report["clients"].as_object().unwrap();
    let groups: Vec<_> = ["start", "lists", "calls", "errors", "prompts, resources", "questions"]
        .into_iter()
        .chain(["progress, logs", "streams", "end", "every message"])
        .collect();
    let mut table = format!("{}.\n\n| client | {} |\n", head(&report), groups.join(" | "));
    table += &format!("|---|{}\n", "---:|".repeat(groups.len()));
    let mut sum = Counts::default();
    for (name, client) in clients {
        let counted = client["groups"].as_object().unwrap();
        assert!(counted.keys().all(|group| groups.contains(&group.as_str())), "{counted:?}");
        write!(table, "| {name}: {} |", text(&client["package"])).unwrap();
        for group in &groups {
            let counts = counted.get(*group).map_or_else(Counts::default, Counts::read);
            sum.add(counts);
            write!(table, " {counts} |").unwrap();
        }
        table.push('\n');
    }
    let [passed, failed, skipped] = sum.0.map(thousands);
    let servers = report["servers"].as_object().unwrap().iter();
    let servers: Vec<_> =
        servers.map(|(name, package)| format!("{name} ({})", text(package))).collect();
    writeln!(
        table,
        "\nAgainst {}. {passed} checks passed, {failed} failed, {skipped} were not possible:\n",
        servers.join(", "),
    )
    .unwrap();
    for (reason, count) in report["skipped"].as_object().unwrap() {
        writeln!(table, "- {count}: {reason}").unwrap();
    }
    for failure in list(&report["failed"]) {
        let [client, server, check, reason] =
            ["client", "server", "check", "reason"].map(|member| text(&failure[member]));
        writeln!(table, "- failed: {client} with {server}, `{check}`: {reason}").unwrap();
    }
    table
}

// ---- make sweep ----

fn servers() -> String {
    #[derive(Default)]
    struct Row {
        tools: u64,
        streams: u64,
        pass: u64,
        fail: u64,
    }
    let report = report("evidence/results/sweep.json");
    let (mut rows, mut others) = (BTreeMap::<_, Row>::new(), String::new());
    for server in list(&report["servers"]) {
        let verdict = text(&server["verdict"]);
        if verdict != "pass" {
            let reason = cell(text(&server["reason"]));
            let words = if verdict == "fail" { "differs" } else { "not counted" };
            writeln!(others, "- {words}: {}: {reason}", text(&server["package"])).unwrap();
        }
        if verdict == "skip" {
            continue;
        }
        let key = (text(&server["protocol"]), text(&server["ecosystem"]));
        let row = rows.entry(key).or_default();
        row.tools += server["tools"].as_u64().unwrap();
        row.streams += u64::from(server["streams"] == true);
        row.pass += u64::from(verdict == "pass");
        row.fail += u64::from(verdict == "fail");
    }
    let mut table = format!(
        "{}.\n\n| revision | from | servers | tools | streams | agree | differ |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
        head(&report),
    );
    let mut all = Row::default();
    for ((revision, from), row) in rows {
        let Row { tools, streams, pass, fail } = row;
        let said = thousands(tools);
        let servers = pass + fail;
        writeln!(
            table,
            "| {revision} | {from} | {servers} | {said} | {streams} | {pass} | {fail} |"
        )
        .unwrap();
        all.tools += tools;
        all.streams += streams;
        all.pass += pass;
        all.fail += fail;
    }
    writeln!(
        table,
        "| all | | {} | {} | {} | {} | {} |",
        all.pass + all.fail,
        thousands(all.tools),
        all.streams,
        all.pass,
        all.fail,
    )
    .unwrap();
    if others.is_empty() { table } else { format!("{table}\n{others}") }
}

// ---- make conformance ----

fn conformance() -> String {
    let reports = ["conformance", "conformance-legacy"]
        .map(|name| report(&format!("evidence/results/{name}.json")));
    let mut table = format!(
        "{}; suite {}.\n\n| scenarios of | checks passed | failed | warnings |\n|---|---:|---:|---:|\n",
        head(&reports[0]),
        text(&reports[0]["suite"]),
    );
    let mut others = String::new();
    for report in &reports {
        let (revision, checks) = (text(&report["revision"]), &report["checks"]);
        let [passed, failed, warnings] = ["passed", "failed", "warnings"].map(|of| &checks[of]);
        writeln!(table, "| {revision} | {passed} | {failed} | {warnings} |").unwrap();
        for finding in list(&report["findings"]) {
            let [scenario, reason] = ["scenario", "reason"].map(|of| text(&finding[of]));
            let words = if finding["excused"] == true { "cannot pass" } else { "failed" };
            writeln!(others, "- {words}: `{scenario}`: {reason}").unwrap();
        }
        let mut skipped = BTreeMap::<_, u32>::new();
        for scenario in list(&report["skipped"]) {
            *skipped.entry(text(&scenario["reason"])).or_default() += 1;
        }
        for (reason, count) in skipped {
            writeln!(others, "- not run: {count} of {revision}: {reason}").unwrap();
        }
    }
    if others.is_empty() { table } else { format!("{table}\n{others}") }
}

// ---- make bench ----

/// What `make bench` measured, beside its limits.
fn ratios() -> String {
    let (results, targets) = (report("bench/results.json"), report("bench/targets.json"));
    let machine = &results["machine"];
    let mut table = format!(
        "Linux {}, {}, {} CPUs, {} rounds.\n\n\
         | figure | least | median | most | limit of the median | |\n|---|---:|---:|---:|---:|---|\n",
        text(&machine["kernel"]),
        text(&machine["arch"]),
        machine["cpus"],
        results["rounds"],
    );
    let (mut others, mut kept) = (0, 0);
    for (name, limits) in targets.as_object().unwrap() {
        let is_kept = |median: f64, most: &Value, least: &Value| {
            most.as_f64().is_none_or(|most| median <= most)
                && least.as_f64().is_none_or(|least| median >= least)
        };
        let (most, least) = (&limits["max vs null"], &limits["min vs null"]);
        if most.is_null() && least.is_null() {
            // A few figures are ratios of the bridge with itself.
            let figure = &results["figures"][name]["bridge"]["median"];
            let is_good = is_kept(figure.as_f64().unwrap(), &limits["max"], &limits["min"]);
            (others, kept) = (others + 1, kept + u32::from(is_good));
            continue;
        }
        let ratio = &results["ratios"][name]["bridge/null"];
        let [low, median, high] = ["min", "median", "max"].map(|of| ratio[of].as_f64().unwrap());
        let limit =
            if most.is_null() { format!("at least {least}") } else { format!("at most {most}") };
        let verdict = if is_kept(median, most, least) { "kept" } else { "missed" };
        table +=
            &format!("| `{name}` | {low:.2} | {median:.2} | {high:.2} | {limit} | {verdict} |\n");
    }
    table + &format!("\nOf the {others} limits that are no ratios to the relay, {kept} are kept.\n")
}

// ---- seeds ----

/// The first group of every match.
fn all(text: &str, pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// The numbers of seeds and faults are those of the tests.
#[test]
fn numbers_of_seeds_are_those_of_the_tests() {
    let page = read("docs/evidence.md").replace(',', "");
    let says = |row: &str| assert!(page.contains(row), "docs/evidence.md lacks {row}");
    let sim = read("tests/sim/main.rs");
    for (constant, test) in [
        ("SEEDS", "every_rule_holds"),
        ("GARBLED", "garbled_lines_do_no_harm"),
        ("TWICE", "the_same_seed_gives_the_same_transcript"),
    ] {
        let seeds = &all(&sim, &format!(r"const {constant}: u64 = (\d+);"))[0];
        says(&format!("| `{test}` | {seeds} |"));
    }
    let mut targets = 0;
    for entry in fs::read_dir(root().join("tests/fuzz")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let name = all(&text, r#"Target \{ name: "(\w+)""#);
        let seeds = all(&text, r"Target \{ name: [^,]*, seeds: ([\d_]+)");
        if let (Some(name), Some(seeds)) = (name.first(), seeds.first()) {
            says(&format!("| `{name}` | {} |", seeds.replace('_', "")));
            targets += 1;
        }
    }
    assert_eq!(targets, read("tests/fuzz/main.rs").matches("::TARGET,").count());
    let faults = all(&read("tests/mutants/faults.txt"), r"(?m)^([a-z][\w-]*): \w+.*, \w+$").len();
    says(&format!("plants {faults} faults"));
}
