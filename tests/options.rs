//! Every option of the bridge does something that a test sees: a case that is played with it, or one
//! of the tests that are named here.
#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use mcp_uplift::args::pages;
use regex_lite::Regex;
use tree::{read, root};

/// Options that no case can show, and the file that does.
const ELSEWHERE: &[(&str, &str)] = &[
    ("help", "tests/readme.rs"),
    ("inherit-env", "tests/options.rs"),
    ("no-new-privs", "tests/process/confined.rs"),
    ("quiet", "tests/options.rs"),
    ("verbose", "tests/process/plain_text.rs"),
    ("version", "tests/process/descriptors.rs"),
];

#[test]
fn every_option_has_a_test() {
    let args = Regex::new(r#""bridge_args":\s*\[([^\]]*)\]"#).unwrap();
    let word = Regex::new(r#""--([a-z-]+)[="]"#).unwrap();
    let mut played = BTreeSet::new();
    for entry in fs::read_dir(root().join("tests/cases")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        // Not as JSON: some have escapes in them that no text may have.
        let case = fs::read_to_string(path).unwrap();
        let words = args.captures(&case).map_or("", |found| found.get(1).unwrap().as_str());
        played.extend(word.captures_iter(words).map(|found| found[1].to_owned()));
    }
    for row in pages::bridge() {
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == row.name);
        match elsewhere {
            Some((_, file)) => {
                let text = read(file);
                let says = |word: String| text.contains(&word);
                let is_named = says(format!("--{}", row.name))
                    || row.short.is_some_and(|letter| says(format!("\"-{letter}")))
                    || says(format!("args::{}()", row.name));
                assert!(is_named, "{file} does not try --{}", row.name);
                assert!(!played.contains(row.name), "--{} has a case by now", row.name);
            }
            None => assert!(
                played.contains(row.name),
                "no case in tests/cases has --{} in its bridge_args: add one, or name the test that \
                 shows what it does in {}",
                row.name,
                file!(),
            ),
        }
    }
}

/// What the bridge and its server say on stderr, from one request to the end of the input.
fn stderr_of(options: &[&str], command: &[&str]) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let shell = format!("echo '{hello}' | exec \"$0\" \"$@\"");
    let played = Command::new("timeout")
        .args(["20", "sh", "-c", &shell, env!("CARGO_BIN_EXE_mcp-uplift")])
        .args(options)
        .arg("--")
        .args(command)
        .env("FAVOURITE_COLOUR", "ultramarine")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&played.stderr).into_owned()
}

#[test]
fn inherit_env_passes_everything() {
    let server = ["sh", "-c", "echo \"it is ${FAVOURITE_COLOUR-unknown}\" >&2"];
    assert!(stderr_of(&[], &server).contains("it is unknown"));
    assert!(stderr_of(&["--inherit-env"], &server).contains("it is ultramarine"));
}

#[test]
fn quiet_hides_warnings_and_no_errors() {
    let banner = ["sh", "-c", "echo a banner"];
    assert!(stderr_of(&[], &banner).contains("skipped: a banner"));
    assert_eq!(stderr_of(&["--quiet"], &banner), "");
    assert!(stderr_of(&["--quiet"], &["/no/such/server"]).contains("cannot start"));
}
