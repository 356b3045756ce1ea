//! Which part of the program knows which, as ARCHITECTURE.md says: no part uses one above it, no two
//! files of a part use each other, and no file is longer than one sitting.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/sources.rs"]
mod sources;
#[path = "support/tree.rs"]
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex_lite::Regex;
use sources::sources;
use tree::{read, root};

/// Each part and what it may use.
const PARTS: &[(&str, &[&str])] = &[
    ("bounds", &[]),
    ("blocks", &[]),
    ("sys", &[]),
    ("message", &["bounds", "blocks"]),
    ("bridge", &["message", "bounds"]),
    ("shell", &["bridge", "message", "bounds", "sys"]),
    ("check", &["shell", "bridge", "message", "bounds", "sys"]),
    ("args", &["check", "shell", "bridge", "message", "bounds"]),
];

const MOST_LINES: usize = 600;

/// Module by module, what it uses; both as paths below the crate.
type Uses = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// `src/message/scan.rs` is `[message, scan]`, `src/message/mod.rs` is `[message]`.
fn module_of(path: &Path) -> Vec<String> {
    let path = path.strip_prefix(root().join("src")).unwrap().with_extension("");
    let names = path.iter().map(|name| name.to_str().unwrap().to_owned());
    names.filter(|name| !["mod", "lib", "main"].contains(&name.as_str())).collect()
}

/// What is written, without comments and without the tests at the end of the file.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The paths in `a::{b, c::{d}}`, one by one.
fn paths_in(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = inner[start..at].trim();
                start = (at + 1).min(inner.len());
                if !item.is_empty() {
                    found.extend(
                        paths_in(item).into_iter().map(|item| head.trim().to_owned() + &item),
                    );
                }
            }
            _ => {}
        }
    }
    found
}

fn uses() -> Uses {
    let files: Vec<_> = sources(&root().join("src"))
        .into_iter()
        .filter(|path| !path.to_str().unwrap().ends_with("tests.rs"))
        .collect();
    let modules: BTreeSet<_> = files.iter().map(|path| module_of(path)).collect();
    let statement = Regex::new(r"(?s)\buse ([^;]+);").unwrap();
    let inline = Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap();
    let mut uses = Uses::new();
    for path in &files {
        let (module, code) = (module_of(path), code_of(path));
        let named = statement.captures_iter(&code).flat_map(|found| paths_in(&found[1]));
        let named = named.chain(inline.find_iter(&code).map(|found| found.as_str().to_owned()));
        let used = uses.entry(module.clone()).or_default();
        for path in named {
            let mut names = path.split("::").map(str::to_owned).peekable();
            let mut target = match names.peek().map(String::as_str) {
                Some("crate") => Vec::new(),
                Some("super") => module[..module.len().saturating_sub(1)].to_vec(),
                Some("self") => module.clone(),
                _ => continue,
            };
            names.next();
            for name in names {
                if name == "super" {
                    target.pop();
                } else {
                    target.push(name);
                }
            }
            while !modules.contains(&target) && target.pop().is_some() {}
            if target != module {
                used.insert(target);
            }
        }
    }
    uses
}

#[test]
fn no_part_uses_one_above_it() {
    let (uses, mut wrong) = (uses(), Vec::new());
    for (module, used) in &uses {
        let Some(part) = module.first() else { continue };
        let (_, allowed) = PARTS.iter().find(|(name, _)| name == part).unwrap_or_else(|| {
            panic!("{part} is a new part: say in PARTS, and in ARCHITECTURE.md, what it may use")
        });
        for target in used.iter().filter_map(|target| target.first()) {
            if target != part && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{} uses {target}", module.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(uses.len() > 60, "{}", uses.len());
}

/// A file may use the one that declares it, and that one it.
#[test]
fn no_two_files_use_each_other() {
    let uses = uses();
    let beside = |module: &Vec<String>| -> Vec<Vec<String>> {
        let is_above = |target: &[String]| module.starts_with(target);
        uses[module]
            .iter()
            .filter(|target| !is_above(target) && !target.starts_with(module))
            .cloned()
            .collect()
    };
    let mut circles = Vec::new();
    for start in uses.keys() {
        let (mut ways, mut seen) = (vec![vec![start.clone()]], BTreeSet::new());
        while let Some(way) = ways.pop() {
            for next in beside(way.last().unwrap()) {
                if next == *start {
                    let names: Vec<_> = way.iter().map(|module| module.join("::")).collect();
                    circles.push(format!("{} -> {}", names.join(" -> "), names[0]));
                } else if seen.insert(next.clone()) {
                    ways.push([&way[..], &[next]].concat());
                }
            }
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

/// Two stories in one file are hard to see in a long one.
#[test]
fn no_file_is_too_long() {
    let architecture = read("ARCHITECTURE.md");
    for folder in ["src", "tests"] {
        for path in sources(&root().join(folder)) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
            assert!(
                lines <= MOST_LINES || architecture.contains(&format!("`{name}` is long")),
                "{name} has {lines} lines: split it, or say in ARCHITECTURE.md why `{name}` is long",
            );
        }
    }
}
