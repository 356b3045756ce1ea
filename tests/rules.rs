//! A rule that the code or a test names stands in tests/rules.tsv, and each of these in
//! docs/contract.md, which has its text.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/sources.rs"]
mod sources;
#[path = "support/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::fs;

use regex_lite::Regex;
use sources::sources;
use tree::{read, root};

/// The rules of the table, in its order.
fn rules() -> Vec<String> {
    let table = read("tests/rules.tsv");
    table.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_code_names_is_a_rule() {
    let name = Regex::new(r"\b[A-LRWX]\d{1,2}[a-z]?\b").unwrap();
    let known: BTreeSet<_> = rules().into_iter().collect();
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        // Only where it is told: code may have names of this form.
        let told = text.lines().filter_map(|line| line.split_once("//")).map(|(_, words)| words);
        for found in told.flat_map(|words| name.find_iter(words)) {
            if known.contains(found.as_str()) {
                named.insert(found.as_str().to_owned());
            } else {
                wrong.push(format!("{}: {}", path.display(), found.as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "no such rule in tests/rules.tsv:\n{}", wrong.join("\n"));
    assert!(named.len() > 80, "{}", named.len());
}

/// A rule that is a letter is a whole section.
#[test]
fn every_rule_has_its_text() {
    let contract = read("docs/contract.md");
    let name = Regex::new(r"\b[A-LRWX]\d{1,2}[a-z]?\b|(?m:^## [A-Z]\.)").unwrap();
    let told = name.find_iter(&contract).map(|found| found.as_str());
    let told: BTreeSet<_> = told.map(|name| name.trim_matches(['#', ' ', '.'])).collect();
    let untold: Vec<_> = rules().into_iter().filter(|rule| !told.contains(rule.as_str())).collect();
    assert!(untold.is_empty(), "docs/contract.md has no text for {untold:?}");
}
