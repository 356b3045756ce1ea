//! What the documents name exists: links and their anchors, files, options, targets of `make`; and
//! the figures of docs/evidence.md are those of the repository.
//!
//! `UPDATE_DOCS=1 cargo test --test docs` writes the table of ratios in docs/evidence.md anew.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_uplift::args;
use regex_lite::Regex;
use serde_json::Value;

/// Folders that are made, not kept.
const MADE: &[&str] = &["target", "vendor"];

/// Endings of files that are kept.
const ENDINGS: &[&str] = &[".rs", ".md", ".json", ".tsv", ".txt", ".py", ".c", ".toml"];

/// The marks around the ratios.
const START: &str = "<!-- written by the test of the documents -->\n";
const END: &str = "<!-- end of what it writes -->";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

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
    for page in pages() {
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

// ---- docs/evidence.md ----

/// What `make bench` measured, beside its limits.
fn ratios() -> String {
    let results: Value = serde_json::from_str(&read("bench/results.json")).unwrap();
    let targets: Value = serde_json::from_str(&read("bench/targets.json")).unwrap();
    let machine = &results["machine"];
    let word = |name: &str| machine[name].as_str().unwrap();
    let mut table = format!(
        "Linux {}, {}, {} CPUs, {} rounds.\n\n\
         | figure | least | median | most | limit of the median | |\n|---|---:|---:|---:|---:|---|\n",
        word("kernel"),
        word("arch"),
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

#[test]
fn ratios_are_those_that_were_measured() {
    let page = read("docs/evidence.md");
    let (before, rest) = page.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let renewed = format!("{before}{START}\n{}\n{END}{after}", ratios());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join("docs/evidence.md"), renewed).unwrap();
    } else {
        assert_eq!(page, renewed, "UPDATE_DOCS=1 writes the table anew");
    }
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
