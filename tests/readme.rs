//! The README says what the program says.

#![allow(clippy::unwrap_used, reason = "what is unwrapped stands in the repository")]

#[path = "support/in_time.rs"]
mod in_time;

use std::process::Command;

use mcp_uplift::args;

/// The options stand in the README as `--help` prints them.
#[test]
fn options_are_those_of_the_help() {
    let (readme, help) = (include_str!("../README.md"), args::help());
    let start = help.find("The server:").unwrap();
    let end = help.find("\nExit status:").unwrap();
    assert!(readme.contains(&help[start..end]), "the options block of README.md is out of date");
}

/// The report in the README is the one that the program prints, but for the time it took.
#[test]
fn report_is_that_of_the_program() {
    let readme = include_str!("../README.md");
    let block = readme.split("$ mcp-uplift check ").nth(1).unwrap();
    let (command, rest) = block.split_once('\n').unwrap();
    let (shown, _) = rest.split_once("\n```").unwrap();
    let server =
        in_time::example(command.split(' ').find(|word| word.contains("-server")).unwrap());
    let path = std::env::join_paths(
        std::iter::once(server.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let mut check = Command::new(env!("CARGO_BIN_EXE_mcp-uplift"));
    check.arg("check").args(command.split(' ')).env("PATH", path.unwrap());
    let printed = in_time::output(&mut check).unwrap();
    assert_eq!(printed.status.code(), Some(1), "{printed:?}");
    let timeless = |text: &str| {
        let is_time = |word: &&str| word.parse::<f64>().is_ok() && word.contains('.');
        text.split(' ').filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
    };
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(timeless(printed.trim_end()), timeless(shown), "run the command and paste it");
}
