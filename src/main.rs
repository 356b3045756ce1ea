//! Arguments in, exit status out.

use std::process::ExitCode;

use mcp_uplift::args::{self, Request, UsageError};
use mcp_uplift::bridge::Level;
use mcp_uplift::check::{self, report::list};
use mcp_uplift::shell::{self, Console, Verbosity};

fn main() -> ExitCode {
    match args::from_process() {
        Ok(Request::Help) => print(&args::help()),
        Ok(Request::Version) => print(concat!("mcp-uplift ", env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Request::CheckHelp) => print(&args::check_help()),
        Ok(Request::ListRules { is_json: true }) => print(&list::json()),
        Ok(Request::ListRules { is_json: false }) => print(&list::text()),
        Ok(Request::Check(options)) => check::run(&options),
        Ok(Request::Run(options)) => {
            shell::run(options.settings, options.launch, options.verbosity)
        }
        Err(UsageError(text)) => {
            Console::new(Verbosity::Normal).say(Level::Error, &text);
            ExitCode::from(2)
        }
    }
}

/// Help and version are the output.
fn print(text: &str) -> ExitCode {
    match shell::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            Console::new(Verbosity::Normal).say(Level::Error, &why);
            ExitCode::FAILURE
        }
    }
}
