//! The two reading threads: the client's lines and a server's lines become batches.
//!
//! ```text
//!  read(2) ──▶ Lines ──▶ Batch ──permit──▶ inbox
//! ```
//!
//! A batch holds what one read completed: at most 64 KiB of short lines, or one long line and
//! 64 KiB. With one batch before the loop, one behind it and one in hand, a reader runs ahead by
//! three lines at most, by one large one, and stands still while the loop keeps its permits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::inbox::{Batch, Gate, Permits, Post, Woken};
use super::lines::Lines;
use super::sink::is_hang_up;
use super::threads;
use crate::bridge::Generation;
use crate::sys::{self, Watched};

/// The most that is taken by one read.
const CHUNK: usize = 64 << 10;

/// Starts the reader of our stdin.
pub(super) fn read_client(line_limit: usize, inbox: Post) -> io::Result<Permits> {
    let (permits, taken) = Permits::new();
    let mut reading =
        Reading { lines: Lines::new(line_limit), inbox, permits: taken, server: None };
    let work = move || {
        let stdin = io::stdin();
        loop {
            match sys::read_into(stdin.as_fd(), reading.lines.room(CHUNK), CHUNK) {
                // Whoever started us may have made stdin non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_for(stdin.as_fd());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if !is_hang_up(stdin.as_fd(), &error) {
                        reading.inbox.send(Woken::InputFails(error)); // or we end anyway
                    }
                    break;
                }
                Ok(0) => break,
                Ok(_) if reading.send() => {}
                Ok(_) => return,
            }
        }
        reading.send_end();
    };
    threads::start("client reader", Box::new(work))?;
    Ok(permits)
}

fn wait_for(fd: BorrowedFd<'_>) {
    // A failed poll shows in the read that follows.
    let _ = sys::poll(&mut [Watched::new(fd, sys::POLLIN)], -1);
}

/// The loop's hold on the reader of a server's stdout.
pub(super) struct ServerReader {
    pub(super) permits: Permits,
    output: Arc<OwnedFd>,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ServerReader {
    /// The process has ended: what is in the pipe by now is read and no more, for a descendant
    /// may hold it open.
    pub(super) fn finish(&self) {
        self.ended.store(true, Ordering::SeqCst);
        // A read that begins from now on returns at once, one that waits is interrupted.
        let _ = sys::set_nonblocking(self.output.as_fd()); // it worked for a pipe before
        sys::interrupt(&self.thread);
    }
}

/// Starts the reader of a server's stdout.
pub(super) fn read_server(
    generation: Generation,
    output: OwnedFd,
    line_limit: usize,
    inbox: Post,
) -> io::Result<ServerReader> {
    let (permits, taken) = Permits::new();
    let (output, ended) = (Arc::new(output), Arc::new(AtomicBool::new(false)));
    let (fd, has_ended) = (Arc::clone(&output), Arc::clone(&ended));
    let mut reading =
        Reading { lines: Lines::new(line_limit), inbox, permits: taken, server: Some(generation) };
    let work = move || {
        // Known once the process has ended.
        let mut left = None;
        while left != Some(0) {
            let most = left.map_or(CHUNK, |left| CHUNK.min(left));
            match sys::read_into(fd.as_fd(), reading.lines.room(most), most) {
                Ok(0) => break,
                Ok(count) => left = left.map(|left| left.saturating_sub(count)),
                Err(error) if left.is_none() && interrupted(&error) => {}
                Err(_) => break,
            }
            if !reading.send() {
                return;
            }
            if left.is_none() && has_ended.load(Ordering::SeqCst) {
                left = Some(sys::unread(fd.as_fd()));
            }
        }
        reading.send_end();
    };
    let thread = threads::start("server reader", Box::new(work))?;
    Ok(ServerReader { permits, output, ended, thread })
}

fn interrupted(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Lines on their way to the loop.
struct Reading {
    lines: Lines,
    inbox: Post,
    permits: Arc<Gate>,
    /// None: the client.
    server: Option<Generation>,
}

impl Reading {
    /// Hands on the complete lines; false when nobody takes them any more.
    fn send(&mut self) -> bool {
        let mut cuts = Vec::new();
        self.lines.split(&mut cuts);
        cuts.is_empty() || self.send_batch(Batch { cuts, end: false })
    }

    fn send_end(mut self) {
        let mut cuts = Vec::new();
        self.lines.finish(&mut cuts);
        self.send_batch(Batch { cuts, end: true });
    }

    fn send_batch(&self, batch: Batch) -> bool {
        let is_large = batch.is_large();
        let woken = match self.server {
            None => Woken::Client(batch),
            Some(generation) => Woken::Server(generation, batch),
        };
        let is_sent = self.permits.pass() && self.inbox.send(woken);
        is_sent && (!is_large || self.permits.settle())
    }
}
