//! What the standard library cannot do for the process player: signals, sessions, waiting on a pipe.
#![expect(unsafe_code, reason = "a few system calls, each safe to use from the rest of the tests")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

pub(crate) const SIGHUP: i32 = libc::SIGHUP;
pub(crate) const SIGINT: i32 = libc::SIGINT;
pub(crate) const SIGTERM: i32 = libc::SIGTERM;
pub(crate) const SIGKILL: i32 = libc::SIGKILL;
pub(crate) const SIGQUIT: i32 = libc::SIGQUIT;
pub(crate) const SIGUSR1: i32 = libc::SIGUSR1;
pub(crate) const SIGUSR2: i32 = libc::SIGUSR2;
pub(crate) const SIGALRM: i32 = libc::SIGALRM;
pub(crate) const SIGCHLD: i32 = libc::SIGCHLD;
pub(crate) const SIGPIPE: i32 = libc::SIGPIPE;
pub(crate) const SIGTSTP: i32 = libc::SIGTSTP;
pub(crate) const SIGCONT: i32 = libc::SIGCONT;
pub(crate) const SIGURG: i32 = libc::SIGURG;
pub(crate) const SIGWINCH: i32 = libc::SIGWINCH;

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

/// Whether a pipe would take that many bytes.
pub(crate) fn writable(pipe: &impl AsRawFd, size: usize) -> bool {
    let (mut waiting, mut room) = (0, 0);
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: live numbers, which FIONREAD fills; one live pollfd.
    unsafe {
        libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut waiting);
        room = libc::fcntl(pipe.as_raw_fd(), libc::F_GETPIPE_SZ) - waiting.max(room);
        libc::poll(&raw mut poll, 1, 0);
    }
    poll.revents & libc::POLLOUT != 0 && usize::try_from(room).is_ok_and(|room| room >= size)
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
pub(crate) fn replace_stdout(file: &File) {
    // SAFETY: takes two descriptors, both open.
    unsafe { libc::dup2(file.as_raw_fd(), 1) };
}

/// What a command gets from whoever starts it.
#[derive(Clone, Copy)]
pub(crate) enum Inherited {
    /// No such descriptor.
    Closed(RawFd),
    /// The terminal on its stdin, in a session of its own.
    Terminal,
    /// Signals that are ignored.
    Ignored(&'static [i32]),
    /// Signals at their default.
    Default(&'static [i32]),
    /// All signals are blocked.
    Blocked,
    Limit(Limit, u64),
}

/// The resources of setrlimit(2) that stories limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Files,
    Processes,
    Memory,
    Data,
}

pub(crate) fn inherits(command: &mut Command, what: Inherited) -> &mut Command {
    let prepare = move || {
        // SAFETY: each call may be made between fork and exec; the structures are live.
        let result = unsafe {
            match what {
                Inherited::Closed(fd) => libc::close(fd),
                Inherited::Terminal => libc::setsid().min(libc::ioctl(0, libc::TIOCSCTTY, 0)),
                Inherited::Ignored(signals) => set_all(signals, libc::SIG_IGN),
                Inherited::Default(signals) => set_all(signals, libc::SIG_DFL),
                Inherited::Blocked => {
                    let mut all = std::mem::zeroed::<libc::sigset_t>();
                    libc::sigfillset(&raw mut all);
                    libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut())
                }
                Inherited::Limit(limit, most) => {
                    let bounds = libc::rlimit { rlim_cur: most, rlim_max: most };
                    let resource = match limit {
                        Limit::Files => libc::RLIMIT_NOFILE,
                        Limit::Processes => libc::RLIMIT_NPROC,
                        Limit::Memory => libc::RLIMIT_AS,
                        Limit::Data => libc::RLIMIT_DATA,
                    };
                    libc::setrlimit(resource, &raw const bounds)
                }
            }
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure allocates nothing and calls only what may be called there.
    unsafe { command.pre_exec(prepare) }
}

/// Takes the signals that end a program as usual, whoever started the tests in the background or
/// with `nohup`: what we ignore the programs that we start ignore as well.
pub(crate) fn usual_signals() {
    let ends = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    // SAFETY: the default is one of the two.
    unsafe { set_all(&ends, libc::SIG_DFL) };
}

/// Sets how these signals are taken.
///
/// # Safety
/// `to` must be `SIG_IGN` or `SIG_DFL`.
unsafe fn set_all(signals: &[i32], to: libc::sighandler_t) -> i32 {
    for signal in signals {
        // SAFETY: takes two numbers; there is no handler.
        unsafe { libc::signal(*signal, to) };
    }
    0
}

/// A new terminal: the end of whoever types, and the end of the program.
pub(crate) fn terminal() -> io::Result<(File, File)> {
    let (mut outer, mut inner) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: two live numbers; the other pointers may be null.
    let result = unsafe { libc::openpty(&raw mut outer, &raw mut inner, name, settings, size) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    for fd in [outer, inner] {
        // SAFETY: takes numbers only. Another story's process must not hold the terminal.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both were just opened and belong to nobody else.
    Ok(unsafe { (File::from_raw_fd(outer), File::from_raw_fd(inner)) })
}

/// From now on we trace this process, as a debugger does: its end is told to its parent only once we
/// have ended ourselves. True where that is allowed.
#[cfg(target_os = "linux")]
pub(crate) fn trace(pid: u32) -> bool {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: takes numbers only; the process goes on as it was.
    i32::try_from(pid)
        .is_ok_and(|pid| unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, none, none) == 0 })
}

/// Whether we may do what only root may.
pub(crate) fn is_root() -> bool {
    // SAFETY: has no precondition.
    unsafe { libc::geteuid() == 0 }
}
