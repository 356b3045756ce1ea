//! The tables as plain rows, for what is made of them outside of the program: the man page and the
//! completions (`make pages`). The program itself calls none of this.

use super::bridge::BRIDGE;
use super::check::CHECK;
use super::environment::PASSED;
use super::flags::{Flag, Group};
use super::help::{BRIDGE_GROUPS, CHECK_GROUPS, default};

/// An option, in the words of `--help`.
#[derive(Debug)]
pub struct Row {
    /// The heading it stands under.
    pub group: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Its name, without dashes.
    pub name: &'static str,
    /// What its value is called; empty when it takes none.
    pub value: &'static str,
    /// What holds without it; empty when that goes without saying.
    pub default: String,
    /// What it does.
    pub help: &'static str,
}

/// The options of the bridge.
#[must_use]
pub fn bridge() -> Vec<Row> {
    rows(BRIDGE.flags, BRIDGE_GROUPS)
}

/// The options of `check`.
#[must_use]
pub fn check() -> Vec<Row> {
    rows(CHECK.flags, CHECK_GROUPS)
}

/// The variables that are passed on; a name that ends in `*` is a prefix.
#[must_use]
pub fn passed() -> Vec<&'static str> {
    PASSED.concat()
}

/// Goes by the flags, so that none is lost for want of a heading.
fn rows(flags: &[Flag], groups: &[(Group, &'static str)]) -> Vec<Row> {
    let row = |flag: &Flag| Row {
        group: groups.iter().find(|(group, _)| *group == flag.group).map_or("", |(_, title)| title),
        short: flag.short,
        name: flag.name,
        value: flag.value,
        default: default(flag),
        help: flag.help,
    };
    flags.iter().map(row).collect()
}
