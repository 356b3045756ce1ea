//! Plays the scripted conversations of `tests/cases`, each against the core in memory and against
//! the built program.
//!
//! `cargo test --test cases` plays all; `-- NAME...` those whose id begins so. `--memory` and
//! `--process` choose the player, `--verbose` shows the transcript of a failure, `--scale 9` stretches
//! the waiting limits for a slow machine, `--jobs N` sets how many run side by side, `--bridge PATH`
//! takes another build of the program.
#![allow(clippy::print_stdout, reason = "the report is what this program is for")]

mod support;

use std::path::Path;
use std::process::ExitCode;

use support::{fake_server, process, runner};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, script, work, argv @ ..] = &args[..]
        && word == process::SERVE
    {
        return match fake_server::serve(Path::new(script), Path::new(work), argv) {
            Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(1)),
            Err(why) => {
                println!("the scripted server cannot play: {why}");
                ExitCode::FAILURE
            }
        };
    }
    support::sys::usual_signals();
    match runner::Options::parse(&args).and_then(|options| runner::run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}
