//! What SECURITY.md says is true as far as the source can show it, and each test it names exists.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/sources.rs"]
mod sources;
#[path = "support/tree.rs"]
mod tree;

use sources::sources;
use std::fs;
use std::path::PathBuf;
use tree::{read, root};

fn text_of(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn named_tests_exist() {
    let page = read("SECURITY.md");
    let all = text_of(&[sources(&root().join("src")), sources(&root().join("tests"))].concat());
    let exists = |name: &str| {
        root().join(name).is_file()
            || root().join(format!("tests/cases/{name}.json")).is_file()
            || all.contains(&format!("fn {name}("))
            || all.contains(&format!("(\"{name}\", "))
            || all.contains(&format!("name: \"{name}\""))
    };
    let table = page.split("## What is guaranteed").nth(1).unwrap();
    let rows = table.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| "));
    let mut named = 0;
    for row in rows.skip(1) {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        let names = cells[2].split('`').skip(1).step_by(2);
        let before = named;
        for name in names {
            assert!(exists(name), "SECURITY.md names {name}, which is nowhere");
            named += 1;
        }
        assert!(named > before, "no test for: {}", cells[0]);
    }
    assert!(named > 30, "{named}");
}

#[test]
fn unsafe_stands_in_two_files() {
    let files = sources(&root().join("src"));
    assert!(files.len() > 40);
    let may = ["src/sys.rs", "src/blocks.rs"];
    for path in files.iter().filter(|path| !may.iter().any(|file| path.ends_with(file))) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        for line in code {
            let is_unsafe =
                ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|w| line.contains(w));
            assert!(!is_unsafe, "{}: {line}", path.display());
        }
    }
    for file in may {
        let text = read(file);
        assert!(text.matches("SAFETY:").count() >= text.matches("unsafe {").count(), "{file}");
    }
}

#[test]
fn few_crates() {
    let manifest = read("Cargo.toml");
    let section = manifest.split("[dependencies]").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    let names: Vec<_> =
        section.lines().filter_map(|line| Some(line.split_once('=')?.0.trim())).collect();
    assert_eq!(names, ["crossbeam-channel", "getrandom", "lexopt", "libc"]);
}
