//! The README says what the program says.

use mcp_uplift::args;

/// The options stand in the README as `--help` prints them.
#[test]
fn options_are_those_of_the_help() {
    let (readme, help) = (include_str!("../README.md"), args::help());
    let start = help.find("The server:").unwrap();
    let end = help.find("\nExit status:").unwrap();
    assert!(readme.contains(&help[start..end]), "the options block of README.md is out of date");
}
