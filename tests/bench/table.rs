//! Writes the table of `make bench` into the README, in the place of the one that stands there.
//!
//! ```text
//! usage: bench-table RESULTS README
//! ```

#[path = "../support/bench_table.rs"]
mod bench_table;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [results, readme] = arguments.as_slice() else {
        return complain("usage: bench-table RESULTS README", 2);
    };
    match rewrite(results, readme) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => complain(&reason, 1),
    }
}

fn rewrite(results: &str, readme: &str) -> Result<(), String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|e| format!("{path}: {e}"));
    let report = serde_json::from_str(&read(results)?).map_err(|e| format!("{results}: {e}"))?;
    let table = bench_table::table(&report).map_err(|why| format!("{results}: {why}"))?;
    let page = bench_table::put(&read(readme)?, &table)
        .ok_or_else(|| format!("{readme} has no place for the table"))?;
    fs::write(readme, page).map_err(|e| format!("{readme}: {e}"))
}

/// Says what went wrong on stderr, whether or not anybody listens.
fn complain(what: &str, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "bench-table: {what}");
    ExitCode::from(status)
}
