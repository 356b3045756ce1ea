//! `make demo`: a conversation with a legacy server through the bridge, shown and checked.
//!
//! The demo plays the client. It prints each message, shortened, beside what the wrapped server
//! heard and said meanwhile, and ends with status 1 if an answer was wrong or did not come.
//!
//! ```text
//! usage: demo BRIDGE LEGACY_SERVER     (the paths of the two programs)
//! ```

mod questions;
mod scenes;
mod screen;
mod session;
mod talk;

use std::io::{self, Write};
use std::process::ExitCode;

use session::Session;
use talk::Talk;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [bridge, server] = arguments.as_slice() else {
        return complain("usage: demo BRIDGE LEGACY_SERVER", 2);
    };
    match converse(bridge, server) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => complain(&format!("{wrong} checks failed, see WRONG above"), 1),
        Err(reason) => complain(&reason, 1),
    }
}

/// Plays all scenes; gives the number of checks that failed, or why it could not go on.
fn converse(bridge: &str, server: &str) -> Result<usize, String> {
    let mut talk = Talk::new(Session::start(bridge, server)?);
    scenes::play(&mut talk)?;
    talk.finish()
}

/// Says what went wrong on stderr, whether or not anybody listens.
fn complain(what: &str, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "demo: {what}");
    ExitCode::from(status)
}
