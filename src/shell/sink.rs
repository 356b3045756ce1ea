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
        Ok(Sink { fd, way: Way::Plain })
    }

    /// A descriptor that others may use, too: stdout, stderr.
    pub(crate) fn shared(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let file = File::from(fd.try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        let way = if kind.is_fifo() {
            if let Ok(own) = sys::reopen_pipe(fd) {
                return Ok(Sink { fd: own, way: Way::Plain });
            }
            Way::Ask
        } else if kind.is_socket() {
            Way::Socket
        } else if kind.is_file() {
            Way::Plain
        } else {
            Way::Ask
        };
        Ok(Sink { fd: file.into(), way })
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

    #[allow(clippy::indexing_slicing, reason = "no more than there is")]
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

    /// Whether this error of a write means no more than that the reader has left.
    pub(crate) fn has_lost(&self, error: &io::Error) -> bool {
        is_hang_up(self.fd.as_fd(), error)
    }

    /// Waits until something fits or an error is to be had, at most `timeout` milliseconds
    /// (-1: for ever); false when that did not come.
    pub(crate) fn wait(&self, timeout: i32) -> bool {
        let mut watched = [Watched::new(self.fd.as_fd(), sys::POLLOUT)];
        sys::poll(&mut watched, timeout).is_ok_and(|ready| ready > 0)
    }
}

/// Whether the other end of `fd` has gone, so that the error names no cause of its own.
pub(super) fn is_hang_up(fd: BorrowedFd<'_>, error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    let mut watched = [Watched::new(fd, 0)];
    // A terminal that was closed gives input/output errors; the poll tells them from a disk's.
    matches!(error.kind(), BrokenPipe | ConnectionReset)
        || sys::poll(&mut watched, 0).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Writes until no more fits, which must come soon and without waiting.
    fn fill(sink: &Sink, most: usize) -> usize {
        let text = [b'x'; 10_000];
        let mut total = 0;
        loop {
            match sink.write(&[IoSlice::new(&[]), IoSlice::new(&text)]) {
                Ok(count) => {
                    assert!((1..=most).contains(&count), "{count}");
                    total += count;
                    assert!(total < 50_000_000);
                }
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    assert!(!sink.wait(0));
                    return total;
                }
            }
        }
    }

    /// A child that another test is just starting holds the other end for a moment longer.
    fn write_until_it_fails(sink: &Sink) -> io::ErrorKind {
        loop {
            match sink.write(&[IoSlice::new(b"x")]) {
                Ok(_) => std::thread::yield_now(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return error.kind(),
            }
        }
    }

    #[test]
    fn a_full_socket_does_not_hold_the_writer_up() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sink = Sink::shared(ours.as_fd()).unwrap();
        assert!(matches!(sink.way, Way::Socket));
        let total = fill(&sink, 10_000);
        theirs.read_exact(&mut vec![0; total]).unwrap();
        assert!(sink.wait(1_000));
        drop(theirs);
        assert_eq!(write_until_it_fails(&sink), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_full_pipe_does_not_hold_the_writer_up() {
        let (mut read, write) = io::pipe().unwrap();
        let shared = Sink::shared(write.as_fd()).unwrap();
        let asking = Sink { fd: write.into(), way: Way::Ask };
        for sink in [&asking, &shared] {
            let total = fill(sink, 10_000);
            read.read_exact(&mut vec![0; total]).unwrap();
        }
        assert!(fill(&asking, SURE) > 0);
        drop(read);
        assert_eq!(write_until_it_fails(&asking), io::ErrorKind::BrokenPipe);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_flags_of_a_shared_pipe_stay() {
        use std::fs;
        use std::os::fd::AsRawFd;

        let (_read, write) = io::pipe().unwrap();
        let flags = || fs::read_to_string(format!("/proc/self/fdinfo/{}", write.as_raw_fd()));
        let before = flags().unwrap();
        let sink = Sink::shared(write.as_fd()).unwrap();
        assert!(matches!(sink.way, Way::Plain), "opened a second time");
        fill(&sink, 10_000);
        assert_eq!(flags().unwrap(), before);
    }
}
