//! Writes the man page and the completions of the shells: `make pages`.
//!
//! ```text
//! usage: pages FOLDER
//! ```

#[path = "files.rs"]
mod files;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder] = arguments.as_slice() else {
        return complain("usage: pages FOLDER", 2);
    };
    for (name, text) in files::all() {
        let path = Path::new(folder).join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| fs::write(&path, text)) {
            return complain(&format!("{}: {error}", path.display()), 1);
        }
    }
    ExitCode::SUCCESS
}

/// Says what went wrong on stderr, whether or not anybody listens.
fn complain(what: &str, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "pages: {what}");
    ExitCode::from(status)
}
