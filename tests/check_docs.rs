//! docs/check.md names what a check can say: every rule, verdict, owner and era.

use mcp_uplift::args::pages;
use mcp_uplift::check::model::{Era, Owner, Verdict};
use mcp_uplift::check::rules::{self, HTTP_ONLY, Kind};

const PAGE: &str = include_str!("../docs/check.md");

/// The cells of the table row that begins with this cell.
fn row(first: &str) -> Vec<&'static str> {
    let cells = |line: &'static str| -> Vec<&str> {
        line.trim_matches(['|', ' ']).split('|').map(str::trim).collect()
    };
    let mut rows = PAGE.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.find(|cells| cells.first() == Some(&first))
        .unwrap_or_else(|| panic!("docs/check.md has no row {first}"))
}

#[test]
fn every_rule_is_told() {
    for rule in rules::all() {
        let cells = row(rule.id);
        assert_eq!(cells.len(), 5, "{}", rule.id);
        assert_eq!(cells[1], rule.title, "{}", rule.id);
        let whose = if rule.kind == Kind::Server { ", yours" } else { "" };
        assert_eq!(cells[2], format!("{}{whose}", rule.level.name()), "{}", rule.id);
        assert!(!cells[3].is_empty(), "{}", rule.id);
        assert_eq!(cells[4].replace('`', "\""), rule.by_hand, "{}", rule.id);
    }
    assert!(HTTP_ONLY.iter().all(|(id, _)| PAGE.contains(id)));
}

/// And no other is.
#[test]
fn every_rule_that_is_told_exists() {
    let words = PAGE.split(|c: char| !c.is_ascii_alphanumeric());
    let ids = words.filter(|word| {
        let number = word.strip_prefix("MCP").or_else(|| word.strip_prefix("RDY"));
        number.is_some_and(|rest| rest.len() == 3 && rest.bytes().all(|b| b.is_ascii_digit()))
    });
    for id in ids {
        let is_http = HTTP_ONLY.iter().any(|(other, _)| *other == id);
        assert!(is_http || rules::find(id).is_some(), "docs/check.md names {id}");
    }
}

/// The table has each option with the value and the default of `--help`, and no other.
#[test]
fn every_option_is_told() {
    let part = PAGE.split("## Options").nth(1).unwrap();
    let part = part.split("\n## ").next().unwrap();
    let rows = part.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<_> = line.trim_matches(['|', ' ']).split(" | ").map(str::trim).collect();
        [cells[0], cells.get(2).unwrap_or(&"")].map(|cell| cell.replace('`', ""))
    });
    let told: Vec<_> = rows.collect();
    let flags = pages::check().into_iter().map(|row| {
        let value = if row.value.is_empty() { String::new() } else { format!(" {}", row.value) };
        let letter = row.short.map(|letter| format!("-{letter}, ")).unwrap_or_default();
        [format!("{letter}--{}{value}", row.name), row.default]
    });
    let flags: Vec<_> = flags.collect();
    for flag in &flags {
        assert!(told.contains(flag), "docs/check.md lacks {flag:?}");
    }
    let invented = told.iter().find(|row| !flags.contains(row));
    assert!(invented.is_none(), "docs/check.md has {invented:?}");
}

#[test]
fn every_verdict_is_told() {
    let verdicts =
        [Verdict::Pass, Verdict::Warn, Verdict::Fail, Verdict::Skip, Verdict::Inconclusive];
    let owners = [Owner::Sdk, Owner::Server, Owner::Unknown];
    let eras = [Era::Unknown, Era::Legacy, Era::Modern, Era::Dual];
    let names = verdicts.map(Verdict::name).into_iter();
    for name in names.chain(owners.map(Owner::name)).chain(eras.map(Era::name)) {
        assert!(PAGE.contains(&format!("`{name}`")), "docs/check.md lacks {name}");
    }
}

/// The bounds of the page on limits are those of the sources.
#[test]
fn bounds_of_the_check() {
    let page = include_str!("../docs/limits.md");
    let rows = page.split("## In the check").nth(1).unwrap_or_default().lines();
    let names = rows.filter(|row| row.starts_with('|')).filter_map(|row| row.split('`').nth(1));
    let names: Vec<_> = names.collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check");
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let sources: String = files.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        assert!(sources.contains(&format!("const {name}: usize")), "no {name}");
    }
}
