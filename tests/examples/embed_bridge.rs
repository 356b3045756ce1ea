//! The whole bridge inside a program of your own: it serves the client on stdin and stdout, and
//! starts the server whose command line are this program's arguments.
//!
//! ```text
//! usage: embed-bridge COMMAND [ARGS...]
//! ```

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use mcp_uplift::bridge::{Limits, Settings};
use mcp_uplift::shell::{self, Launch, Verbosity};

/// `shell::run` wants the thread that lives as long as the program: servers are tied to it.
fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let Some(program) = words.next() else {
        let _ = writeln!(io::stderr(), "usage: embed-bridge COMMAND [ARGS...]");
        return ExitCode::from(2);
    };
    let settings = Settings {
        limits: Limits { request_timeout_ms: 30_000, ..Limits::default() },
        command_name: program.to_string_lossy().into_owned(),
        ..Settings::default()
    };
    let launch = Launch {
        program,
        args: words.collect(),
        // All of ours; the program itself passes on a short list.
        env: env::vars_os().collect(),
        cwd: None,
        no_new_privs: false,
    };
    shell::run(settings, launch, Verbosity::Normal)
}
