//! The two reading threads: the client's lines and a server's lines become batches.
//!
//! ```text
//!  read(2) ──▶ Lines ──▶ Batch ──channel, room for one──▶ event loop
//! ```
//!
//! A batch holds what one read completed: at most 64 KiB of short lines, or one long line and
//! 64 KiB. With one batch in the channel and one in hand, a reader runs ahead of the loop by two
//! lines at most, and stands still while the loop does not take.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::lines::{Lines, Piece};
use crate::sys::{self, Watched};

/// The most that is taken by one read.
const CHUNK: usize = 64 << 10;

/// The readers do little, and each is there for the whole session.
pub(super) const STACK: usize = 128 << 10;

/// What one read completed. The end travels with the lines, so that it cannot overtake them.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) pieces: Vec<Piece>,
    /// Nothing follows.
    pub(crate) end: bool,
}

impl Batch {
    /// Nothing, and nothing follows.
    pub(crate) const END: Batch = Batch {
        pieces: Vec::new(),
        end: true,
    };
}

/// Starts the reader of our stdin.
pub(crate) fn read_client(line_limit: usize) -> io::Result<Receiver<Batch>> {
    let (batches, receiver) = bounded(1);
    thread::Builder::new()
        .name("client reader".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let stdin = io::stdin();
            let mut reading = Reading::new(line_limit, batches);
            loop {
                match sys::read_into(stdin.as_fd(), reading.lines.buffer(), CHUNK) {
                    // Whoever started us may have made stdin non-blocking.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        wait_for(stdin.as_fd())
                    }
                    Ok(0) | Err(_) => break,
                    Ok(_) if reading.send() => {}
                    Ok(_) => return,
                }
            }
            reading.send_end();
        })?;
    Ok(receiver)
}

fn wait_for(fd: BorrowedFd<'_>) {
    // A failed poll shows in the read that follows.
    let _ = sys::poll(&mut [Watched::new(fd, sys::POLLIN)], -1);
}

/// Starts the reader of a server's stdout. When the other end of `ended` closes, the process has
/// ended: what is in the pipe by then is read and no more, for a descendant may hold it open.
pub(crate) fn read_server(
    output: OwnedFd,
    ended: OwnedFd,
    line_limit: usize,
) -> io::Result<Receiver<Batch>> {
    sys::set_nonblocking(output.as_fd())?;
    let (batches, receiver) = bounded(1);
    thread::Builder::new()
        .name("server reader".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let mut reading = Reading::new(line_limit, batches);
            let mut left = usize::MAX;
            while left > 0 {
                match sys::read_into(output.as_fd(), reading.lines.buffer(), CHUNK.min(left)) {
                    Ok(0) => break,
                    Ok(count) if left != usize::MAX => left -= count,
                    Ok(_) => {}
                    Err(error)
                        if error.kind() == io::ErrorKind::WouldBlock && left == usize::MAX => {}
                    Err(_) => break,
                }
                if !reading.send() {
                    return;
                }
                if left == usize::MAX && wait_for_either(&output, &ended) {
                    left = sys::unread(output.as_fd());
                }
            }
            reading.send_end();
        })?;
    Ok(receiver)
}

/// Waits for output or the end of the process; true at its end.
fn wait_for_either(output: &OwnedFd, ended: &OwnedFd) -> bool {
    let mut watched = [
        Watched::new(output.as_fd(), sys::POLLIN),
        Watched::new(ended.as_fd(), sys::POLLIN),
    ];
    sys::poll(&mut watched, -1).is_err() || watched[1].ready()
}

/// Lines on their way to the loop.
struct Reading {
    lines: Lines,
    batches: Sender<Batch>,
}

impl Reading {
    fn new(line_limit: usize, batches: Sender<Batch>) -> Self {
        Reading {
            lines: Lines::new(line_limit),
            batches,
        }
    }

    /// Hands on the complete lines; false when nobody takes them any more.
    fn send(&mut self) -> bool {
        let mut pieces = Vec::new();
        self.lines.split(&mut pieces);
        pieces.is_empty() || self.batches.send(Batch { pieces, end: false }).is_ok()
    }

    fn send_end(mut self) {
        let mut pieces = Vec::new();
        self.lines.finish(&mut pieces);
        // Nobody takes it: then nobody waits for it either.
        let _ = self.batches.send(Batch { pieces, end: true });
    }
}
