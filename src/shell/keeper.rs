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
use super::strays::Strays;
use super::threads;
use super::watch::watch;
use crate::bridge::{Exit, Frame, Generation, Time};
use crate::sys;

/// Between SIGTERM and SIGKILL, in milliseconds.
const TERM_MS: u64 = 1_000;

/// How often to look for descendants that lost their parent meanwhile.
const MOST_ROUNDS: usize = 8;

/// Lines of stderr that are kept, and bytes of each.
const STDERR_LINES: usize = 20;
const STDERR_BYTES: u64 = 4 << 10;

/// What there is to hear.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A line or what became of it.
    Piece(Piece),
    /// It closed its output; as a rule it has ended.
    Closed,
    /// Nothing came in time.
    Nothing,
    /// This signal told us to end.
    Stopped(i32),
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Its status; `None` where a signal ended it, or the kernel had not ended it yet.
    pub(crate) exit: Option<i32>,
    /// `stdin closed`, `by itself`, `SIGTERM`, `SIGKILL`.
    pub(crate) how: &'static str,
}

/// The keeper of one process after the other.
pub(crate) struct Keeper {
    line_bytes: usize,
    inbox: Inbox,
    post: Post,
    clock: Clock,
    server: Option<Server>,
    generation: Generation,
    pieces: VecDeque<Piece>,
    has_closed: bool,
    is_closed_told: bool,
    strays: Strays,
    stopped: Option<i32>,
    stderr: PipeWriter,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
}

impl Keeper {
    /// Nothing runs yet. To be called from the thread that lives as long as the program.
    ///
    /// # Errors
    /// Where the system has no room for a pipe or a thread.
    pub(crate) fn new(line_bytes: usize) -> io::Result<Self> {
        sys::adopt_orphans();
        let (post, inbox) = inbox();
        watch(post.clone())?;
        let (read, stderr) = io::pipe()?;
        let stderr_lines = Arc::new(Mutex::new(VecDeque::new()));
        let lines = Arc::clone(&stderr_lines);
        let work = move || keep_lines(BufReader::new(read), &lines);
        threads::start("stderr reader", Box::new(work))?;
        Ok(Keeper {
            line_bytes,
            inbox,
            post,
            clock: Clock::start(),
            server: None,
            generation: Generation(0),
            pieces: VecDeque::new(),
            has_closed: false,
            is_closed_told: false,
            strays: Strays::default(),
            stopped: None,
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
            if let Some(signal) = self.stopped {
                return Heard::Stopped(signal);
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
            Woken::Signal(signal) => self.stopped = Some(signal),
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

    /// Ends the process: its input closes, and it has so many milliseconds until it is made to end,
    /// and whatever it started with it. What it still says can be heard from `last`.
    pub(crate) fn end(&mut self, patience_ms: u64, last: &mut dyn FnMut(Piece)) -> Ended {
        let Some(mut server) = self.server.take() else {
            return Ended { exit: None, how: "by itself" };
        };
        server.look();
        let ended_first = server.exit.is_some() || self.has_closed;
        let mut how = if ended_first { "by itself" } else { "stdin closed" };
        let began = self.now();
        let (term_at, kill_at) = (began.after(patience_ms), began.after(patience_ms + TERM_MS));
        server.stop(began, patience_ms, patience_ms + TERM_MS);
        self.server = Some(server);
        loop {
            let now = self.now();
            self.pieces.drain(..).for_each(&mut *last);
            let Some(server) = &mut self.server else { break };
            // A grandchild may hold the output open; its reader stops when the process has ended.
            if server.exit.is_some() && (self.has_closed || now >= kill_at) {
                break;
            }
            if server.exit.is_none() && now >= term_at {
                how = if now >= kill_at { "SIGKILL" } else { "SIGTERM" };
            }
            server.climb(now);
            if now >= kill_at.after(TERM_MS) {
                break; // the kernel cannot end it
            }
            let next = server.deadline().unwrap_or(kill_at.after(TERM_MS)).max(now.after(1));
            if let Some(woken) = self.inbox.wait(|| self.clock.until(next)) {
                self.take(woken);
            }
        }
        let server = self.server.take();
        let exit = server.as_ref().and_then(|server| match server.exit {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_)) | None => None,
        });
        if let Some(server) = server {
            self.bury(server);
        }
        Ended { exit, how }
    }

    /// Ends what the process left behind.
    fn bury(&mut self, server: Server) {
        let now = self.now();
        self.strays.inherit(server, now, now.after(TERM_MS));
        // Whoever loses its parent by this comes to us, too.
        for _ in 0..MOST_ROUNDS {
            while let Some(at) = self.strays.deadline() {
                if let Some(woken) = self.inbox.wait(|| self.clock.until(at)) {
                    self.take(woken);
                }
                self.strays.look(self.now());
            }
            let now = self.now();
            self.strays.inherit_orphans(now, now.after(TERM_MS));
            if self.strays.are_gone() {
                break;
            }
        }
    }

    /// The last lines that processes wrote to stderr.
    pub(crate) fn stderr_lines(&self) -> Vec<String> {
        self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Reads stderr for ever, and keeps its last lines.
fn keep_lines(mut from: impl BufRead, lines: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    let mut is_rest = false;
    while from.by_ref().take(STDERR_BYTES).read_until(b'\n', &mut line).is_ok_and(|count| count > 0)
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
