//! The examples of the documents do what they show: the conversations of the README are held with
//! the built program, and each command line and configuration is one that is understood.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/tree.rs"]
mod tree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mcp_uplift::args;
use regex_lite::Regex;
use serde_json::Value;
use tree::{read, root};

/// The documents that show what to type.
const PAGES: &[&str] = &["README.md", "CONTRIBUTING.md", "docs/check.md", "evidence/README.md"];

struct Block {
    page: &'static str,
    language: String,
    text: String,
}

/// The code blocks of a document, in their order.
fn blocks_of(page: &'static str) -> Vec<Block> {
    let text = read(page);
    let fences = Regex::new(r"(?s)```(\w*)\n(.*?)\n *```").unwrap();
    fences
        .captures_iter(&text)
        .map(|found| Block { page, language: found[1].to_owned(), text: found[2].to_owned() })
        .collect()
}

fn blocks() -> impl Iterator<Item = Block> {
    PAGES.iter().flat_map(|page| blocks_of(page))
}

/// Where cargo puts the examples: beside the tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.push(name);
    assert!(path.exists(), "cargo build --examples makes {}", path.display());
    path
}

/// Each block in bash is followed by one with the lines that come back.
#[test]
fn conversations_of_the_readme() {
    let blocks = blocks_of("README.md");
    let (mut script, mut shown) = (String::from("set -eu\n"), Vec::new());
    for pair in blocks.windows(2).filter(|pair| pair[0].language == "bash") {
        assert_eq!(pair[1].language, "json", "what comes back after:\n{}", pair[0].text);
        // Cargo has built it, and holds its lock now.
        let commands = pair[0].text.lines().filter(|line| !line.starts_with("cargo build "));
        script += &commands.collect::<Vec<_>>().join("\n");
        script += "\necho end of block\n";
        shown.push(pair[1].text.trim().to_owned());
    }
    assert!(shown.len() >= 3, "{shown:?}");
    let server = example("legacy-server");
    let script = script
        .replace("target/release/mcp-uplift", env!("CARGO_BIN_EXE_mcp-uplift"))
        .replace("target/debug/examples/legacy-server", server.to_str().unwrap());
    let played = Command::new("timeout")
        .args(["60", "bash", "-c", &script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(played.stdout).unwrap();
    let errors = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{said}\n{errors}");
    let state = Regex::new(r#""requestState":"[0-9a-f]{16}\.[0-9a-f]{32}""#).unwrap();
    let stateless = |text: &str| state.replace_all(text.trim(), "a state").into_owned();
    let said: Vec<_> = said.split_terminator("end of block\n").map(stateless).collect();
    let shown: Vec<_> = shown.iter().map(|text| stateless(text)).collect();
    assert_eq!(said, shown, "{errors}");
}

#[test]
fn command_lines_are_understood() {
    let line =
        Regex::new(r"^(?:\$ |- run: )?(?:target/release/)?mcp-uplift ((?:-|check )\S.*)").unwrap();
    let mut understood = 0;
    for block in blocks().filter(|block| block.language != "json") {
        for words in block.text.lines().filter_map(|text| line.captures(text)) {
            // A remark behind it is none of its words.
            let words = words[1].split("  ").next().unwrap().split(' ').map(OsString::from);
            let read = args::parse(words, &[]);
            assert!(read.is_ok(), "{}: {read:?} of:\n{}", block.page, block.text);
            understood += 1;
        }
    }
    assert!(understood >= 5, "{understood}");
}

#[test]
fn configurations_are_understood() {
    let mut understood = 0;
    for block in blocks().filter(|block| block.text.contains("\"mcpServers\"")) {
        let config: Value = serde_json::from_str(&block.text).unwrap();
        for server in config["mcpServers"].as_object().unwrap().values() {
            if server["command"] != "mcp-uplift" {
                continue;
            }
            let text = |value: &Value| OsString::from(value.as_str().unwrap());
            let words = server["args"].as_array().unwrap().iter().map(text);
            let env = server["env"].as_object().into_iter().flatten();
            let env: Vec<_> = env.map(|(name, value)| (name.into(), text(value))).collect();
            let read = args::parse(words, &env);
            assert!(matches!(read, Ok(args::Request::Run(_))), "{}: {read:?}", block.page);
            understood += 1;
        }
    }
    assert!(understood >= 2, "{understood}");
}

/// `--test` and `--example` name something that cargo would find.
#[test]
fn words_for_cargo_name_what_is_there() {
    let manifest = read("Cargo.toml");
    let named = Regex::new(r"cargo [^`#\n]*--(test|example) ([\w-]+)").unwrap();
    let mut found = 0;
    for page in PAGES {
        let text = read(page);
        for words in named.captures_iter(&text) {
            let (kind, name) = (&words[1], &words[2]);
            let file = root().join("tests");
            let is_there = match kind {
                "test" => {
                    file.join(format!("{name}.rs")).exists()
                        || file.join(name).join("main.rs").exists()
                }
                _ => manifest.contains(&format!("[[example]]\nname = \"{name}\"\n")),
            };
            assert!(is_there, "{page}: no {kind} {name}");
            found += 1;
        }
    }
    assert!(found >= 5, "{found}");
}
