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

use std::process::ExitCode;

pub use child::Launch;
pub use console::{Console, Verbosity};
pub(crate) use console::{is_dumb_terminal, is_unsafe, may_colour};
pub use keeper::How;

use crate::bridge::{Bridge, Effect, Event, Level, Settings, Time};
use crate::sys;
use event_loop::EventLoop;

/// What the loop serves: the bridge, or in tests something simpler.
trait Core {
    fn handle(&mut self, event: Event, now: Time);
    fn next_effect(&mut self) -> Option<Effect>;
    fn deadline(&self) -> Option<Time>;
    /// Bytes it keeps for later.
    fn kept_bytes(&self) -> usize;
}

impl Core for Bridge {
    fn handle(&mut self, event: Event, now: Time) {
        Bridge::handle(self, event, now);
    }
    fn next_effect(&mut self) -> Option<Effect> {
        Bridge::next_effect(self)
    }
    fn deadline(&self) -> Option<Time> {
        Bridge::deadline(self)
    }
    fn kept_bytes(&self) -> usize {
        Bridge::kept_bytes(self)
    }
}

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

fn fill_with_random_bytes(buffer: &mut [u8]) {
    if let Err(error) = getrandom::fill(buffer) {
        // Without it a requestState could be guessed; better no bridge. The server sees its
        // stdin close.
        Console::new(Verbosity::Quiet).say(Level::Error, &format!("no random bytes: {error}"));
        std::process::abort();
    }
}
