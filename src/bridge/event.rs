//! What the world tells the bridge, and what the bridge wants of the world.
//!
//! Every cause is an [`Event`], every consequence an [`Effect`]. Nothing else passes the border
//! between the core and the shell, so two log lines there show all that ever happens.

pub use crate::message::splice::Frame;
use std::fmt;

/// Milliseconds since the program started. The core is told the time; it never reads a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Time {
    /// The moment `ms` milliseconds later.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Time(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this moment, 0 when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Counts the server's processes, from 1. What a dead process left in its pipe carries its number,
/// so it is never taken for the next one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u32);

/// One line as read, without its line feed, not yet known to be UTF-8 (A1, A3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The bytes before the line feed.
    pub bytes: Vec<u8>,
    /// False for the rest that stood before the end of input without a line feed (A3).
    pub ended: bool,
}

/// How a server process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exited with status {code}"),
            Exit::Signal(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

/// A cause: one thing that happened outside the core.
#[derive(Clone, Debug)]
pub enum Event {
    /// A line from the client.
    ClientLine(Line),
    /// A line from the client went over the limit and was thrown away up to its end (A12).
    ClientOverlong,
    /// The client closed our stdin: no more requests can come (H11).
    ClientClosed,
    /// The client no longer reads our stdout: nobody is left to answer (H11).
    ClientGone,
    /// The client reads slower than we write (true), or has caught up (false): what may be
    /// dropped or merged is, answers never (R).
    ClientSlow(bool),
    /// The process of this generation runs.
    ServerStarted(Generation),
    /// The command could not be started, for this reason (H13).
    ServerUnstartable(Generation, String),
    /// A line from the server.
    ServerLine(Generation, Line),
    /// A line from the server went over the limit and was dropped up to its end (R).
    ServerOverlong(Generation),
    /// The server closed its stdout; the process may live on (H12).
    ServerClosed(Generation),
    /// The process ended. All its lines came before (H12), `ServerClosed` too.
    ServerExited(Generation, Exit),
    /// We were told to end by this signal (H10).
    Stop(i32),
    /// The moment of [`super::Bridge::deadline`] has come.
    Wake,
}

impl Event {
    /// The process it is about.
    pub(super) fn generation(&self) -> Option<Generation> {
        match self {
            Event::ServerStarted(server)
            | Event::ServerUnstartable(server, _)
            | Event::ServerLine(server, _)
            | Event::ServerOverlong(server)
            | Event::ServerClosed(server)
            | Event::ServerExited(server, _) => Some(*server),
            Event::ClientLine(_)
            | Event::ClientOverlong
            | Event::ClientClosed
            | Event::ClientGone
            | Event::ClientSlow(_)
            | Event::Stop(_)
            | Event::Wake => None,
        }
    }
}

/// In the words of a log.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(server) = self.generation() {
            write!(f, "server {} ", server.0)?;
        }
        f.write_str(match self {
            Event::ClientLine(_) => "line from the client",
            Event::ClientOverlong => "line from the client over the limit",
            Event::ClientClosed => "the client closed our input",
            Event::ClientGone => "the client reads no more",
            Event::ClientSlow(true) => "the client reads slowly",
            Event::ClientSlow(false) => "the client has caught up",
            Event::ServerStarted(_) => "started",
            Event::ServerUnstartable(..) => "cannot be started",
            Event::ServerLine(..) => "sent a line",
            Event::ServerOverlong(_) => "sent a line over the limit",
            Event::ServerClosed(_) => "closed its output",
            Event::ServerExited(_, exit) => return exit.fmt(f),
            Event::Stop(signal) => return write!(f, "told to end by signal {signal}"),
            Event::Wake => "a deadline has come",
        })
    }
}

/// A consequence: one thing the shell is to do, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Write to the client.
    ToClient(Frame),
    /// Write to the server of the newest generation.
    ToServer(Frame),
    /// Start the server's process; answered by `ServerStarted` or `ServerUnstartable`.
    StartServer(Generation),
    /// Run the stop ladder on this process (H10); answered by `ServerExited`.
    StopServer(Generation),
    /// Tell the person on stderr.
    Say(Level, String),
    /// Write what is queued, stop the server (H10), end with this status.
    Exit(u8),
}

/// How much a message to the person matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed; shown always.
    Error,
    /// Something is odd or was repaired; `-q` hides it.
    Warning,
    /// Lifecycle; `-v` shows it.
    Info,
}
