//! What the standard library cannot do for the process player: signals, sessions, waiting on a pipe.
#![expect(unsafe_code, reason = "a few system calls, each safe to use from the rest of the tests")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

pub(crate) const SIGHUP: i32 = libc::SIGHUP;
pub(crate) const SIGINT: i32 = libc::SIGINT;
pub(crate) const SIGTERM: i32 = libc::SIGTERM;
pub(crate) const SIGKILL: i32 = libc::SIGKILL;

pub(crate) fn kill(pid: u32, signal: i32) {
    if let Ok(pid) = i32::try_from(pid) {
        // SAFETY: takes numbers only; a process that has gone is an error nobody needs.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Whether a read would not block, waiting that long for it.
pub(crate) fn readable(fd: BorrowedFd, wait_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd.
    unsafe { libc::poll(&raw mut poll, 1, wait_ms) > 0 }
}

static TERM_PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_term(_signal: libc::c_int) {
    let byte = 1_u8;
    // SAFETY: write(2) may be called in a handler; one live byte.
    unsafe { libc::write(TERM_PIPE.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
}

/// From now on each SIGTERM writes a byte into this pipe. A handler, because a child gets back the
/// default in its place, which is what a grandchild of a case must have.
pub(crate) fn catch_term(pipe: RawFd) {
    TERM_PIPE.store(pipe, Ordering::Relaxed);
    let handler = on_term as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only writes to a pipe.
    unsafe { libc::signal(libc::SIGTERM, handler) };
}

/// The command runs in a session of its own.
pub(crate) fn in_own_session(command: &mut Command) -> &mut Command {
    // SAFETY: setsid(2) may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::setsid() {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        })
    }
}

/// The command ignores SIGTERM.
pub(crate) fn ignoring_term(command: &mut Command) -> &mut Command {
    // SAFETY: signal(2) may be called between fork and exec; exec keeps what is ignored.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGTERM, libc::SIG_IGN);
            Ok(())
        })
    }
}

/// Puts this file in the place of our stdout, whose reader then sees its end.
pub(crate) fn replace_stdout(file: &std::fs::File) {
    // SAFETY: takes two descriptors, both open.
    unsafe { libc::dup2(file.as_raw_fd(), 1) };
}
