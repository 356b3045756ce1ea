//! The world around the bridge: threads, pipes, processes, signals. It decides nothing that
//! concerns the protocol.
//!
//! ```text
//!  client stdin ─▶ client reader ─┐                             ┌─▶ client stdout
//!                                 ├─▶ event loop ─▶ Core ─▶ ────┤   (a writer thread helps
//!  server stdout ▶ server reader ─┘   (main thread)             └─▶ server stdin   a slow side)
//!  signals, ended children ─▶ signal reader ─▶ event loop
//! ```
//!
//! The loop (`event_loop`) runs on the main thread. It alone owns the core, starts and reaps
//! processes, and waits for nothing but its channels, so whatever one side does, the other side's
//! pings and our signals are served.

mod child;
pub(crate) mod clock;
mod console;
mod event_loop;
mod flow;
mod inbox;
pub(crate) mod keeper;
mod leaving;
pub mod lines;
mod outlet;
mod readers;
mod sink;
mod strays;
#[cfg(test)]
mod tests;
mod threads;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

pub use child::Launch;
pub use console::{Console, Verbosity};
pub(crate) use console::{is_dumb_terminal, is_unsafe, may_colour};
pub use keeper::How;

use crate::bridge::{Bridge, Level, Settings};
use crate::sys;
use event_loop::EventLoop;

/// Serves the client on stdin and stdout until either is closed or a signal comes.
///
/// To be called once, from the thread that lives as long as the program: servers are tied to it.
#[must_use]
pub fn run(settings: Settings, launch: Launch, verbosity: Verbosity) -> ExitCode {
    let limits = settings.limits.clone();
    let bridge = Bridge::new(settings, Box::new(fill_with_random_bytes));
    let console = Console::new(verbosity);
    if launch.no_new_privs
        && let Err(error) = sys::renounce_new_privileges()
    {
        console.say(Level::Error, &format!("--no-new-privs: {error}"));
        return ExitCode::from(2);
    }
    sys::share_heap();
    sys::adopt_orphans();
    match EventLoop::new(bridge, launch, limits, console) {
        Ok(event_loop) => ExitCode::from(event_loop.run()),
        Err(error) => {
            Console::new(verbosity).say(Level::Error, &format!("cannot start: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Writes what is wanted of us to stdout. A reader that has seen enough of it (`| head`) is no failure.
///
/// # Errors
/// Any other failure, as a sentence.
pub fn print(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

fn fill_with_random_bytes(buffer: &mut [u8]) {
    if let Err(error) = getrandom::fill(buffer) {
        // Without it a requestState could be guessed; better no bridge. The server sees its
        // stdin close.
        Console::new(Verbosity::Quiet).say(Level::Error, &format!("no random bytes: {error}"));
        std::process::abort();
    }
}
