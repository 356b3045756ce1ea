//! One process at a time for a caller that waits for each of its lines: the same pipes, readers and
//! ladder as the event loop uses, without the loop.
//!
//! ```text
//!  start ──▶ say / hear, again and again ──▶ end: stdin closes ── patience ──▶ SIGTERM ──▶ SIGKILL
//! ```

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, PipeWriter, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use super::child::{Launch, Server, Wiring};
use super::clock::Clock;
use super::inbox::{Inbox, Post, Woken, inbox};
use super::lines::Piece;
use super::strays::{BURIAL_MS, Strays};
use super::threads;
use super::watch::watch;
use crate::bridge::{Exit, Frame, Generation, Time};
use crate::sys;

/// Between SIGTERM and SIGKILL, in milliseconds; and where somebody waits for our own end.
const TERM_MS: u64 = 1_000;
const HURRY_MS: u64 = 300;

/// How often to look for descendants that lost their parent meanwhile.
const MOST_ROUNDS: usize = 8;

/// Lines of stderr that are kept.
const STDERR_LINES: usize = 20;

/// What there is to hear.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A line or what became of it.
    Piece(Piece),
    /// It closed its output; as a rule it has ended.
    Closed,
    /// Nothing came in time.
    Nothing,
    /// A signal told us to end.
    Stopped,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Its status; `None` where a signal ended it, or the kernel had not ended it yet.
    pub(crate) exit: Option<i32>,
    pub(crate) how: How,
}

/// What ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its input, which was closed.
    InputClosed,
    /// Nothing of ours.
    ByItself,
    /// SIGTERM, after its time was over.
    Sigterm,
    /// SIGKILL, after SIGTERM.
    Sigkill,
}

impl How {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            How::InputClosed => "stdin closed",
            How::ByItself => "by itself",
            How::Sigterm => "SIGTERM",
            How::Sigkill => "SIGKILL",
        }
    }
}

/// What there is to hear of a process that is being ended.
#[derive(Debug)]
pub(crate) enum Last {
    /// A line or what became of it.
    Piece(Piece),
    /// It is over.
    Ended(Ended),
}

/// The deadlines of the process that is being ended, and what has ended it as far as they have come.
struct Ending {
    how: How,
    term_at: Time,
    kill_at: Time,
}

/// The keeper of one process after the other.
pub(crate) struct Keeper {
    line_bytes: usize,
    inbox: Inbox,
    post: Post,
    clock: Clock,
    server: Option<Server>,
    ending: Option<Ending>,
    generation: Generation,
    pieces: VecDeque<Piece>,
    has_closed: bool,
    is_closed_told: bool,
    strays: Strays,
    stopped: Option<i32>,
    has_left_one: bool,
    stderr: PipeWriter,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
}

impl Keeper {
    /// Nothing runs yet; of a line on stderr so many bytes are kept. To be called from the thread that
    /// lives as long as the program.
    ///
    /// # Errors
    /// Where the system has no room for a pipe or a thread.
    pub(crate) fn new(line_bytes: usize, stderr_bytes: usize) -> io::Result<Self> {
        sys::adopt_orphans();
        let (post, inbox) = inbox();
        watch(post.clone())?;
        let (read, stderr) = io::pipe()?;
        let stderr_lines = Arc::new(Mutex::new(VecDeque::new()));
        let lines = Arc::clone(&stderr_lines);
        let work = move || keep_lines(BufReader::new(read), stderr_bytes, &lines);
        threads::start("stderr reader", Box::new(work))?;
        Ok(Keeper {
            line_bytes,
            inbox,
            post,
            clock: Clock::start(),
            server: None,
            ending: None,
            generation: Generation(0),
            pieces: VecDeque::new(),
            has_closed: false,
            is_closed_told: false,
            strays: Strays::default(),
            stopped: None,
            has_left_one: false,
            stderr,
            stderr_lines,
        })
    }

    /// The time since it was made.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Starts the next process. The one before must have been ended.
    ///
    /// # Errors
    /// A sentence that names the command.
    pub(crate) fn start(&mut self, launch: &Launch) -> Result<(), String> {
        self.generation.0 += 1;
        self.pieces.clear();
        (self.has_closed, self.is_closed_told) = (false, false);
        let stderr = self.stderr.try_clone().map_err(|error| error.to_string())?;
        let wiring = Wiring {
            line_limit: self.line_bytes,
            low_water: 1,
            inbox: &self.post,
            stderr: Some(OwnedFd::from(stderr)),
        };
        self.server = Some(Server::start(launch, self.generation, wiring)?);
        Ok(())
    }

    /// Queues a line for it; a process that reads no more takes nothing, and that is no error.
    pub(crate) fn say(&mut self, line: Vec<u8>) {
        if let Some(server) = &mut self.server {
            server.push(Frame::from(line));
            server.flush();
        }
    }

    /// Bytes that it has not read yet.
    pub(crate) fn queued(&self) -> usize {
        self.server.as_ref().map_or(0, Server::queued)
    }

    /// Waits for the next thing, until this moment.
    pub(crate) fn hear(&mut self, until: Time) -> Heard {
        loop {
            if self.stopped.is_some() {
                return Heard::Stopped;
            }
            // A process that never stops talking does not get more time than others.
            if self.now() >= until {
                return Heard::Nothing;
            }
            if let Some(piece) = self.pieces.pop_front() {
                return Heard::Piece(piece);
            }
            if self.has_closed && !self.is_closed_told {
                self.is_closed_told = true;
                return Heard::Closed;
            }
            let Some(woken) = self.inbox.wait(|| self.clock.until(until)) else {
                return Heard::Nothing;
            };
            self.take(woken);
        }
    }

    fn take(&mut self, woken: Woken) {
        match woken {
            Woken::Signal(signal) => {
                self.stopped = Some(signal);
                self.hurry();
            }
            Woken::ChildEnded => {
                if let Some(server) = &mut self.server {
                    server.look();
                }
                self.strays.reap(self.server.as_ref().map(|server| server.pid));
            }
            Woken::Server(generation, batch) if generation == self.generation => {
                let limit = self.line_bytes;
                for cut in batch.cuts {
                    for piece in cut.pieces(limit) {
                        self.pieces.push_back(piece);
                    }
                }
                self.has_closed |= batch.end;
                if let Some(server) = &self.server {
                    server.give_permit_back();
                }
            }
            Woken::Server(..)
            | Woken::Client(_)
            | Woken::ClientGone
            | Woken::InputEnds
            | Woken::InputFails(_)
            | Woken::Written
            | Woken::Time => {}
        }
    }

    /// Begins to end the process: its input closes, and it has so many milliseconds until it is made
    /// to end, and whatever it started with it. [`Keeper::hear_last`] goes on with it.
    pub(crate) fn end(&mut self, patience_ms: u64) {
        let now = self.now();
        let Some(server) = &mut self.server else { return };
        server.look();
        let ended_first = server.exit.is_some() || self.has_closed;
        let (term_at, kill_at) = (now.after(patience_ms), now.after(patience_ms + TERM_MS));
        let how = if ended_first { How::ByItself } else { How::InputClosed };
        server.stop(now, patience_ms, patience_ms + TERM_MS);
        self.ending = Some(Ending { how, term_at, kill_at });
        self.hurry();
    }

    /// What a process still says that is being ended, and in the end how it did.
    pub(crate) fn hear_last(&mut self) -> Last {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Last::Piece(piece);
            }
            let now = self.now();
            let (Some(server), Some(ending)) = (&mut self.server, &mut self.ending) else {
                return Last::Ended(Ended { exit: None, how: How::ByItself });
            };
            let gives_up_at = ending.kill_at.after(BURIAL_MS);
            // A grandchild may hold the output open; its reader stops when the process has ended.
            let is_over = server.exit.is_some() && (self.has_closed || now >= ending.kill_at);
            // What the kernel cannot end is not waited for.
            if is_over || now >= gives_up_at {
                return Last::Ended(self.bury());
            }
            if server.exit.is_none() && now >= ending.term_at {
                ending.how = if now >= ending.kill_at { How::Sigkill } else { How::Sigterm };
            }
            server.climb(now);
            let next = server.deadline().unwrap_or(gives_up_at).max(now.after(1));
            if let Some(woken) = self.inbox.wait(|| self.clock.until(next)) {
                self.take(woken);
            }
        }
    }

    /// Once somebody waits for our end, nothing gets the time that it would have had.
    fn hurry(&mut self) {
        if self.stopped.is_none() {
            return;
        }
        let now = self.clock.now();
        let kill_at = now.after(HURRY_MS);
        if let (Some(server), Some(ending)) = (&mut self.server, &mut self.ending) {
            ending.term_at = ending.term_at.min(now);
            ending.kill_at = ending.kill_at.min(kill_at);
            server.hurry(now, kill_at);
        }
        self.strays.hurry(now, kill_at);
    }

    /// Ends what the process left behind. How it ended itself.
    fn bury(&mut self) -> Ended {
        let how = self.ending.take().map_or(How::ByItself, |ending| ending.how);
        let Some(server) = self.server.take() else { return Ended { exit: None, how } };
        let exit = match server.exit {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_)) | None => None,
        };
        let mut now = self.now();
        let kill_at = now.after(TERM_MS);
        let in_time = |keeper: &Keeper, now: Time| {
            let hurried = keeper.stopped.map_or(kill_at, |_| now.after(HURRY_MS));
            kill_at.min(hurried)
        };
        if server.exit.is_some() {
            self.strays.inherit(server, now, in_time(self, now));
        } else {
            self.strays.abandon(server.pid);
            self.has_left_one = true;
        }
        // Whoever loses its parent by this comes to us, too.
        for _ in 0..MOST_ROUNDS {
            while let Some(at) = self.strays.deadline() {
                if let Some(woken) = self.inbox.wait(|| self.clock.until(at)) {
                    self.take(woken);
                }
                self.strays.look(self.now());
            }
            now = self.now();
            self.strays.inherit_orphans(now, in_time(self, now));
            if self.strays.are_gone() {
                break;
            }
        }
        Ended { exit, how }
    }

    /// The signal that told us to end, if one did.
    pub(crate) fn stopped(&mut self) -> Option<i32> {
        // While a process runs, `hear` takes what comes.
        while self.server.is_none()
            && let Some(woken) = self.inbox.poll()
        {
            self.take(woken);
        }
        self.stopped
    }

    /// Was there a process that did not end, whatever was done about it?
    pub(crate) fn has_left_one(&self) -> bool {
        self.has_left_one
    }

    /// The last lines that processes wrote to stderr.
    pub(crate) fn stderr_lines(&self) -> Vec<String> {
        self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Reads stderr for ever, and keeps its last lines.
fn keep_lines(mut from: impl BufRead, bytes: usize, lines: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    let mut is_rest = false;
    while from.by_ref().take(bytes as u64).read_until(b'\n', &mut line).is_ok_and(|count| count > 0)
    {
        // Of a long line its beginning is kept.
        let was_rest = std::mem::replace(&mut is_rest, !line.ends_with(b"\n"));
        if was_rest {
            line.clear();
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(text.trim_end().to_owned());
        drop(lines);
        line.clear();
    }
}
