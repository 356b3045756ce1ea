//! Writing that never waits, for each kind of descriptor we may have been given.
//!
//! The open file behind stdout and stderr is shared with whoever started us, so its flags stay
//! untouched: a pipe is opened a second time (Linux), a socket is asked not to wait write by
//! write, everything else is asked first and then given little.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

use crate::sys::{self, Watched};

/// What a pipe that reports room is sure to take (`PIPE_BUF` on Linux, and no more elsewhere).
const SURE: usize = 4096;

/// The most pieces given to one system call.
pub(crate) const MOST_PIECES: usize = 64;

enum Way {
    /// A write returns at once, as it is.
    Plain,
    /// A socket of which we may not change the flags.
    Socket,
    /// Only what is sure to fit is written, and only after asking.
    Ask,
}

/// A descriptor to write to.
pub(crate) struct Sink {
    fd: OwnedFd,
    way: Way,
}

impl Sink {
    /// A pipe end of our own, which nobody else shares.
    pub(crate) fn own_pipe(fd: OwnedFd) -> io::Result<Self> {
        sys::set_nonblocking(fd.as_fd())?;
        Ok(Sink {
            fd,
            way: Way::Plain,
        })
    }

    /// A descriptor that others may use, too: stdout, stderr.
    pub(crate) fn shared(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let file = File::from(fd.try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        let way = if kind.is_fifo() {
            if let Ok(own) = sys::reopen_pipe(fd) {
                return Ok(Sink {
                    fd: own,
                    way: Way::Plain,
                });
            }
            Way::Ask
        } else if kind.is_socket() {
            Way::Socket
        } else if kind.is_file() {
            Way::Plain
        } else {
            Way::Ask
        };
        Ok(Sink {
            fd: file.into(),
            way,
        })
    }

    /// Writes what fits now. `WouldBlock`: nothing does.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            let result = match self.way {
                Way::Plain => sys::write_pieces(self.fd.as_fd(), pieces),
                Way::Socket => sys::send_pieces(self.fd.as_fd(), pieces),
                Way::Ask => self.ask_and_write(pieces),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn ask_and_write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.wait(0) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let Some(first) = pieces.iter().find(|piece| !piece.is_empty()) else {
            return Ok(0);
        };
        let sure = &first[..first.len().min(SURE)];
        sys::write_pieces(self.fd.as_fd(), &[IoSlice::new(sure)])
    }

    /// Waits until something fits or an error is to be had, at most `timeout` milliseconds
    /// (-1: for ever); false when that did not come.
    pub(crate) fn wait(&self, timeout: i32) -> bool {
        let mut watched = [Watched::new(self.fd.as_fd(), sys::POLLOUT)];
        sys::poll(&mut watched, timeout).is_ok_and(|ready| ready > 0)
    }
}
