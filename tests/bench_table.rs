//! The figures in the README are those that were measured.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/bench_table.rs"]
mod bench_table;

use bench_table::{number, put, table};
use serde_json::{Value, json};

const README: &str = include_str!("../README.md");

fn results() -> Value {
    serde_json::from_str(include_str!("../bench/results.json")).unwrap()
}

/// The row of the table that begins with these words, cell by cell.
fn row(report: &Value, words: &str) -> Vec<String> {
    let table = table(report).unwrap();
    let line = table.lines().find(|line| line.starts_with(&format!("| {words}"))).unwrap();
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn figure(direct: f64, relay: f64, bridge: f64) -> Value {
    json!({"direct": {"median": direct}, "null": {"median": relay}, "bridge": {"median": bridge}})
}

/// Whoever edits one of the two by hand is told; `make bench` writes both.
#[test]
fn table_of_the_readme_is_that_of_the_results() {
    let page = put(README, &table(&results()).unwrap());
    assert!(page.as_deref() == Some(README), "README.md does not show bench/results.json");
}

#[test]
fn three_digits() {
    for (figure, text) in [
        (0.0, "0"),
        (0.006, "0.006"),
        (0.015_77, "0.0158"),
        (0.5, "0.5"),
        (0.999_6, "1.00"),
        (1.0, "1.00"),
        (1.449, "1.45"),
        (9.996, "10.0"),
        (25.62, "25.6"),
        (99.96, "100"),
        (747.4, "747"),
        (999.6, "1,000"),
        (35_592.0, "35,600"),
        (1_009_012.0, "1,010,000"),
    ] {
        assert_eq!(number(figure), text, "{figure}");
    }
}

#[test]
fn cells_of_a_row() {
    let mut report = results();
    report["figures"]["one.list.500"] = figure(0.0779, 0.158, 0.49);
    report["ratios"]["one.list.500"] = json!({"bridge/null": {"median": 3.1}});
    let cells = ["list of 500 tools, ms", "0.0779", "0.158", "0.49", "3.10"];
    assert_eq!(row(&report, "list of 500 tools")[..5], cells);
}

/// Twice the rate is half the cost.
#[test]
fn ratio_of_a_rate() {
    let mut report = results();
    report["figures"]["one.big.8m"] = figure(3000.0, 1500.0, 750.0);
    report["ratios"]["one.big.8m"] = json!({"bridge/null": {"median": 0.5}});
    assert_eq!(row(&report, "results of 8 MiB")[3..5], ["750", "2.00"]);
}

#[test]
fn two_figures_in_one_row() {
    let mut report = results();
    report["calls"] = json!(20_000);
    report["figures"]["session.cpu.first"] = json!({"bridge": {"median": 15.5}});
    report["figures"]["session.cpu.last"] = json!({"bridge": {"median": 15.25}});
    report["ratios"]["session.cpu.last"] = json!({});
    // What one of the two lacks, the row lacks.
    let cells = ["CPU of a call, first / last of 20,000, µs", "", "", "15.5 / 15.2", ""];
    assert_eq!(row(&report, "CPU of a call")[..5], cells);
}

#[test]
fn peer_only_where_it_was_measured() {
    let mut report = results();
    for name in ["one.lat.p50", "one.list.500"] {
        report["figures"][name]["peer"] = Value::Null;
    }
    assert_eq!(row(&report, "list of 500 tools").len(), 5);
    for name in ["one.lat.p50", "one.list.500"] {
        report["figures"][name]["peer"] = json!({"median": 3.3});
        report["ratios"][name]["bridge/peer"] = json!({"median": 0.25});
    }
    assert_eq!(row(&report, "list of 500 tools")[5..], ["3.30", "0.25"]);
    assert!(table(&report).unwrap().contains("| peer |"));
}

#[test]
fn a_report_that_lacks_a_figure() {
    let mut report = results();
    report["figures"]["one.list.500"]["bridge"] = Value::Null;
    assert_eq!(table(&report).unwrap_err(), "the report has no one.list.500 of bridge");
}

#[test]
fn a_page_without_a_place() {
    assert_eq!(put("# A page\n", "a table\n"), None);
}
