//! What the documents name exists: links and their anchors, files, options, targets of `make`.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_uplift::args;
use regex_lite::Regex;
use tree::{read, root};

/// Folders that are made, not kept.
const MADE: &[&str] = &["target", "vendor"];

/// Endings of files that are kept.
const ENDINGS: &[&str] = &[".rs", ".md", ".json", ".tsv", ".txt", ".py", ".c", ".toml"];

/// One document, its code blocks apart from the rest.
struct Page {
    name: String,
    text: String,
    code: String,
}

impl Page {
    fn read(name: String) -> Self {
        let (mut text, mut code, mut is_code) = (String::new(), String::new(), false);
        for line in read(&name).lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
                continue;
            }
            let part = if is_code { &mut code } else { &mut text };
            part.push_str(line);
            part.push('\n');
        }
        assert!(!is_code, "{name}: a code block has no end");
        Page { name, text, code }
    }

    /// What stands in backticks.
    fn spans(&self) -> Vec<String> {
        all(&self.text, "`([^`\n]+)`")
    }

    /// The names that links to its headings use.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        let plain = |line: &str| line.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        headings
            .map(|line| plain(line).chars().filter(is_kept).collect::<String>().replace(' ', "-"))
            .collect()
    }
}

fn pages() -> Vec<Page> {
    let mut names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(str::to_owned)
        .to_vec();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        names.extend(name.ends_with(".md").then(|| format!("docs/{name}")));
    }
    assert!(names.len() > 8, "{names:?}");
    names.into_iter().map(Page::read).collect()
}

/// The first group of every match.
fn all(text: &str, pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

fn nothing_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut followed) = (Vec::new(), 0);
    let folders = ["bench", "evidence", "tests/cases"].map(|folder| format!("{folder}/README.md"));
    for page in pages().into_iter().chain(folders.map(Page::read)) {
        for link in all(&page.text, r"\]\(([^)\s]+)\)") {
            if link.starts_with("https://") {
                continue;
            }
            followed += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(&page.name).parent().unwrap();
            let target = match path {
                "" => PathBuf::from(&page.name),
                path => folder.join(path),
            };
            if !root().join(&target).exists() {
                wrong.push(format!("{}: {link} leads nowhere", page.name));
            } else if !anchor.is_empty() {
                let target = Page::read(target.to_str().unwrap().to_owned());
                if !target.anchors().contains(anchor) {
                    wrong.push(format!("{}: {link}: no such heading", page.name));
                }
            }
        }
    }
    nothing_wrong(&wrong);
    assert!(followed > 15, "{followed}");
}

#[test]
fn targets_of_make_exist() {
    let makefile = read("Makefile");
    let targets: BTreeSet<_> = all(&makefile, r"(?m)^([a-z]+):").into_iter().collect();
    let mut wrong = Vec::new();
    for page in pages() {
        let code = all(&page.code, r"(?m)(?:^|\s)make ([a-z]+)");
        let spans = page.spans().join("\n");
        let named = code.into_iter().chain(all(&spans, r"(?m)^make ([a-z]+)"));
        wrong.extend(
            named
                .filter(|name| !targets.contains(name))
                .map(|name| format!("{}: make {name}", page.name)),
        );
    }
    nothing_wrong(&wrong);
}

/// What is said about other programs has the name of that program before it.
#[test]
fn options_exist() {
    let help = args::help() + &args::check_help();
    let options = |text: &str| all(text, r"(?m)(?:^|[^-\w])(--[a-z][a-z-]*[a-z])");
    let known: BTreeSet<_> = options(&help).into_iter().collect();
    let of_cargo = Regex::new(r"`[^`\n]*cargo [^`\n]*`").unwrap();
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    for page in pages() {
        let code = page.code.lines().filter(|line| !line.contains("cargo "));
        let text = of_cargo.replace_all(&page.text, "").into_owned();
        for option in options(&(text + &code.collect::<Vec<_>>().join("\n"))) {
            if !known.contains(&option) {
                wrong.push(format!("{}: no option {option}", page.name));
            }
            named.insert(option);
        }
    }
    nothing_wrong(&wrong);
    let untold: Vec<_> = known.difference(&named).collect();
    assert!(untold.is_empty(), "no document names {untold:?}");
}

#[test]
fn files_exist() {
    let path = Regex::new(r"^[\w.*-]+(/[\w.*-]*)+$").unwrap();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in pages() {
        for span in page.spans().into_iter().filter(|span| path.is_match(span)) {
            let first = span.split('/').next().unwrap();
            let is_ours = ["", "src"].iter().any(|folder| root().join(folder).join(first).exists());
            let is_file = ENDINGS.iter().any(|ending| span.ends_with(ending));
            if MADE.contains(&first) || !(is_ours || is_file) {
                continue;
            }
            seen += 1;
            if !exists(&span) {
                wrong.push(format!("{}: no file {span}", page.name));
            }
        }
    }
    nothing_wrong(&wrong);
    assert!(seen > 30, "{seen}");
}

/// As it is, or as a module of the program; with a star, at least one.
fn exists(path: &str) -> bool {
    if let Some((folder, ending)) = path.split_once("/*") {
        let Ok(mut entries) = fs::read_dir(root().join(folder)) else { return false };
        return entries.any(|entry| entry.unwrap().file_name().to_string_lossy().ends_with(ending));
    }
    let ways = [path.to_owned(), format!("src/{path}"), format!("src/{path}.rs")];
    ways.iter().any(|way| root().join(way).exists())
}
