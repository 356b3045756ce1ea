//! Every `unsafe` call of the system: signals, waiting, polling, raw reads and writes.
//!
//! Each function is safe to call with any argument and knows nothing of the bridge. What the
//! standard library can do is done there instead.

#[cfg(not(unix))]
compile_error!("mcp-uplift runs on Unix only: it needs process groups, signals and poll(2)");

use std::fs::File;
use std::io;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::os::unix::thread::JoinHandleExt;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

pub(crate) use libc::{POLLIN, POLLOUT};
pub(crate) use libc::{
    SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
};

/// Turns the -1 of a system call into the error it stands for.
fn checked(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

// ---- what a static program leaves out ----

// Two names of the C library that would bring along what nobody here uses, a tenth of a static
// program. They are weak: where the library's own are linked for another reason, those count.
//
// - `pthread_getattr_np`: the standard library asks for the bounds of each thread's stack, only to
//   word the message of an overflow; the answer reads `/proc/self/maps` with `scanf`. Here it says
//   that it does not know (ENOSYS).
// - `__libc_resp`: each thread's place for the state of the name resolver. Here it is the place and
//   no more; nobody resolves names.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_arch = "x86_64",
    target_feature = "crt-static"
))]
std::arch::global_asm!(
    ".pushsection .text.pthread_getattr_np,\"ax\",@progbits",
    ".weak pthread_getattr_np",
    ".type pthread_getattr_np,@function",
    "pthread_getattr_np:",
    "mov eax, {not_known}",
    "ret",
    ".size pthread_getattr_np, . - pthread_getattr_np",
    ".popsection",
    ".pushsection .tbss.__libc_resp,\"awT\",@nobits",
    ".weak __libc_resp",
    ".type __libc_resp,@object",
    ".p2align 3",
    "__libc_resp:",
    ".zero 8",
    ".size __libc_resp, 8",
    ".popsection",
    not_known = const libc::ENOSYS,
);

// ---- signals ----

/// Ends a wait of one of our threads. Ignored unless caught, and of no other use to us.
const INTERRUPT: libc::c_int = libc::SIGURG;

/// Where the signal handler writes; -1 until [`catch_signals`].
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);

#[cfg(any(target_os = "linux", target_os = "android"))]
fn errno() -> *mut libc::c_int {
    // SAFETY: has no precondition; the address is the calling thread's own.
    unsafe { libc::__errno_location() }
}
#[cfg(target_vendor = "apple")]
fn errno() -> *mut libc::c_int {
    // SAFETY: has no precondition; the address is the calling thread's own.
    unsafe { libc::__error() }
}

/// From now on signals end the program, as they end any other.
pub(crate) fn release_signals() {
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        // SAFETY: the default action needs no handler and no memory of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Tells the reader of the pipe which signal came. Runs at any moment, so it may only write.
extern "C" fn on_signal(signal: libc::c_int) {
    let byte = u8::try_from(signal).unwrap_or(0);
    let pipe = SIGNAL_PIPE.load(Ordering::Relaxed);
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    // SAFETY: errno belongs to the interrupted code, which must not see ours; the address is
    // valid for this thread.
    let saved = unsafe { *errno() };
    // SAFETY: write(2) is allowed in a handler; the buffer is one live byte. The pipe does not
    // block: when it is full, enough wake-ups wait already.
    unsafe { libc::write(pipe, (&raw const byte).cast(), 1) };
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    // SAFETY: as above.
    unsafe {
        *errno() = saved;
    }
}

/// From now on each of `signals` writes its number into `pipe`, which is kept open for ever.
///
/// A handler, not a blocked mask: the mask would be inherited by the child, which then could not
/// be told to end. What our parent ignores (`nohup`, a shell's `&`) stays ignored, `SIGCHLD` apart.
pub(crate) fn catch_signals(signals: &[i32], pipe: OwnedFd) -> io::Result<()> {
    catch_interrupts()?;
    set_nonblocking(pipe.as_fd())?;
    SIGNAL_PIPE.store(pipe.as_raw_fd(), Ordering::Relaxed);
    std::mem::forget(pipe);
    for &signal in signals {
        // SAFETY: all zero bytes are a valid `sigaction`.
        let (mut action, mut old) = unsafe {
            (std::mem::zeroed::<libc::sigaction>(), std::mem::zeroed::<libc::sigaction>())
        };
        // SAFETY: `old` is live; a null action only asks.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) };
        checked(asked as libc::ssize_t)?;
        if old.sa_sigaction == libc::SIG_IGN && signal != SIGCHLD {
            continue;
        }
        action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
        unblock(signal);
        // SAFETY: the structure is live; the handler only does what a handler may.
        let done = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
        checked(done as libc::ssize_t)?;
    }
    Ok(())
}

extern "C" fn on_interrupt(_: libc::c_int) {}

/// Prepares [`interrupt`].
fn catch_interrupts() -> io::Result<()> {
    // SAFETY: all zero bytes are a valid `sigaction`: without SA_RESTART.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction = on_interrupt as *const () as libc::sighandler_t;
    // SAFETY: the structure is live; the handler does nothing.
    let done = unsafe { libc::sigaction(INTERRUPT, &raw const action, std::ptr::null_mut()) };
    checked(done as libc::ssize_t)?;
    unblock(INTERRUPT);
    Ok(())
}

/// Our parent may have blocked it; threads that start later take it over from this one.
fn unblock(signal: libc::c_int) {
    // SAFETY: all zero bytes are a valid `sigset_t`, which is live; any number may be added.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Makes a system call in which `thread` waits return with `Interrupted`.
pub(crate) fn interrupt(thread: &JoinHandle<()>) {
    // SAFETY: the handle keeps the thread's number valid, ended or not; the handler of this
    // signal, without which it would be ignored, does nothing.
    unsafe { libc::pthread_kill(thread.as_pthread_t(), INTERRUPT) };
}

/// Sends a signal to every process of a group. An error says that nobody was there to take it.
pub(crate) fn signal_group(group: i32, signal: i32) -> io::Result<()> {
    if group <= 1 {
        return Err(io::ErrorKind::InvalidInput.into()); // 0 is our own group, -1 everybody
    }
    // SAFETY: no memory is involved.
    checked(unsafe { libc::kill(-group, signal) } as libc::ssize_t).map(drop)
}

/// Sends a signal to one process.
pub(crate) fn signal_process(pid: i32, signal: i32) -> io::Result<()> {
    if pid <= 1 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: no memory is involved.
    checked(unsafe { libc::kill(pid, signal) } as libc::ssize_t).map(drop)
}

// ---- processes ----

/// How a process ended: its exit status, or the signal that ended it.
pub(crate) type Status = Result<i32, i32>;

/// Asks without waiting whether child `pid` has ended, and leaves it unreaped, so that its
/// number stays ours. `Err`: it is no child of ours, or was reaped.
pub(crate) fn ended(pid: i32) -> io::Result<Option<Status>> {
    let id = libc::id_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let info = wait_id(libc::P_PID, id, libc::WNOWAIT)?;
    // SAFETY: waitid filled the structure, or left the zeros that mean "nobody yet".
    let (child, status) = unsafe { (info.si_pid(), info.si_status()) };
    let exited = info.si_code == libc::CLD_EXITED;
    Ok((child != 0).then_some(if exited { Ok(status) } else { Err(status) }))
}

/// Reaps child `pid` if it has ended. True when it is gone, by this or before.
pub(crate) fn reap(pid: i32) -> bool {
    let Ok(id) = libc::id_t::try_from(pid) else {
        return true;
    };
    // SAFETY: waitid filled the structure, or left the zeros that mean "nobody yet".
    wait_id(libc::P_PID, id, 0).map_or(true, |info| unsafe { info.si_pid() } != 0)
}

/// A child that has ended and is not reaped; `Err` when there is no child at all.
pub(crate) fn any_ended() -> io::Result<Option<i32>> {
    let info = wait_id(libc::P_ALL, 0, libc::WNOWAIT)?;
    // SAFETY: waitid filled the structure, or left the zeros that mean "nobody yet".
    let child = unsafe { info.si_pid() };
    Ok((child != 0).then_some(child))
}

fn wait_id(kind: libc::idtype_t, id: libc::id_t, flags: i32) -> io::Result<libc::siginfo_t> {
    // SAFETY: all zero bytes are a valid `siginfo_t`.
    let mut info = unsafe { std::mem::zeroed::<libc::siginfo_t>() };
    // SAFETY: `info` is live; WNOHANG never waits.
    let result =
        unsafe { libc::waitid(kind, id, &raw mut info, libc::WEXITED | libc::WNOHANG | flags) };
    checked(result as libc::ssize_t).map(|_| info)
}

/// Orphaned descendants become our children, so that none can escape (Linux; elsewhere nothing).
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: this option takes one number and no memory.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
}

/// From here on no program that this process or a descendant starts gains privileges by its file's
/// mode or capabilities (Linux `no_new_privs`). Cannot be taken back.
///
/// # Errors
/// Where the system has no such thing.
pub(crate) fn renounce_new_privileges() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let (yes, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
        // SAFETY: this option takes numbers and no memory.
        let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, unused, unused, unused) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Gives the process that `command` starts ordinary signals, and (Linux) ties its life to the
/// calling thread's: spawn only from the thread that lives as long as the program.
pub(crate) fn before_exec(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = std::process::id();
    let prepare = move || {
        // SAFETY: all zero bytes are a valid `sigset_t`; the calls are allowed between fork and
        // exec, and the set is live.
        unsafe {
            let mut none = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::signal(SIGCHLD, libc::SIG_DFL);
            libc::signal(SIGTERM, libc::SIG_DFL);
        }
        #[cfg(target_os = "linux")]
        // SAFETY: this option takes one number; getppid has no precondition.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            // The bridge may have died before the line above took effect.
            if u32::try_from(libc::getppid()) != Ok(parent) {
                return Err(io::ErrorKind::NotConnected.into());
            }
        }
        Ok(())
    };
    // SAFETY: the closure calls only functions allowed between fork and exec, and allocates
    // nothing.
    unsafe { command.pre_exec(prepare) };
}

// ---- waiting for descriptors ----

/// One descriptor to watch; the same memory as `struct pollfd`.
#[repr(transparent)]
pub(crate) struct Watched(libc::pollfd);

impl Watched {
    /// Watches `fd` for `events`; errors and hang-ups are always reported.
    pub(crate) fn new(fd: BorrowedFd<'_>, events: i16) -> Self {
        Watched(libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 })
    }

    /// Whether the last [`poll`] reported anything.
    pub(crate) fn ready(&self) -> bool {
        self.0.revents != 0
    }

    /// No longer looks at the descriptor.
    pub(crate) fn forget(&mut self) {
        self.0.fd = -1;
        self.0.revents = 0;
    }
}

/// Waits until one of them is ready, at most `timeout` milliseconds (-1: for ever). A signal in
/// between is no error. Returns how many are ready.
pub(crate) fn poll(watched: &mut [Watched], timeout: i32) -> io::Result<usize> {
    let count = libc::nfds_t::try_from(watched.len()).unwrap_or(0);
    loop {
        // SAFETY: `Watched` is `pollfd` by `repr(transparent)`; the slice is live and `count` long.
        let result = unsafe { libc::poll(watched.as_mut_ptr().cast(), count, timeout) };
        match checked(result as libc::ssize_t) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Lets reads and writes of this open file return instead of waiting.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl with these commands takes and gives numbers only.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    checked(flags as libc::ssize_t)?;
    // SAFETY: as above.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) };
    checked(done as libc::ssize_t).map(drop)
}

/// A second, non-blocking opening of the pipe behind `fd` (Linux), so that the flag of the first,
/// which other processes share, stays as it is.
pub(crate) fn reopen_pipe(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    if cfg!(not(target_os = "linux")) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    Ok(file.into())
}

/// How many bytes a read would get at once.
pub(crate) fn unread(fd: BorrowedFd<'_>) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which is live.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    if result < 0 { 0 } else { usize::try_from(count).unwrap_or(0) }
}

// ---- bytes ----

/// One read of at most `most` bytes, added at the end of `buffer`. 0 is the end of input; a signal
/// may interrupt it.
pub(crate) fn read_into(
    fd: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    most: usize,
) -> io::Result<usize> {
    buffer.reserve(most);
    let spare = buffer.spare_capacity_mut();
    let room = spare.len().min(most);
    // SAFETY: `room` bytes from the pointer belong to the vector; read(2) only writes there.
    let count = checked(unsafe { libc::read(fd.as_raw_fd(), spare.as_mut_ptr().cast(), room) })?;
    // SAFETY: the kernel has just initialised `count` bytes behind the length.
    unsafe { buffer.set_len(buffer.len() + count) };
    Ok(count)
}

/// One write of several pieces.
pub(crate) fn write_pieces(fd: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    let count = libc::c_int::try_from(pieces.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `IoSlice` has the layout of `iovec` on Unix (documented); the slice is live.
    checked(unsafe { libc::writev(fd.as_raw_fd(), pieces.as_ptr().cast(), count) })
}

/// One write of several pieces to a socket that never waits, whatever the socket's flags.
pub(crate) fn send_pieces(fd: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all zero bytes are a valid `msghdr`.
    let mut message = unsafe { std::mem::zeroed::<libc::msghdr>() };
    message.msg_iov = pieces.as_ptr().cast_mut().cast();
    message.msg_iovlen = pieces.len() as _;
    // SAFETY: the header points at live slices, which sendmsg only reads.
    checked(unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT) })
}

/// Where `byte` first stands; the C library's search looks at many bytes at once.
pub(crate) fn find_byte(byte: u8, text: &[u8]) -> Option<usize> {
    // SAFETY: pointer and length are of one live slice.
    let found = unsafe { libc::memchr(text.as_ptr().cast(), i32::from(byte), text.len()) };
    (!found.is_null()).then(|| found.addr() - text.as_ptr().addr())
}

/// Where `byte` last stands.
pub(crate) fn find_last_byte(byte: u8, text: &[u8]) -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: pointer and length are of one live slice.
        let found = unsafe { libc::memrchr(text.as_ptr().cast(), i32::from(byte), text.len()) };
        (!found.is_null()).then(|| found.addr() - text.as_ptr().addr())
    }
    #[cfg(not(target_os = "linux"))]
    text.iter().rposition(|there| *there == byte)
}

// ---- terminals ----

/// How many columns the terminal has that stdout or stderr is; `None` where neither is one.
pub(crate) fn columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    for fd in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        // SAFETY: this request fills one live structure of its kind.
        let result = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &raw mut size) };
        if result == 0 && size.ws_col > 0 {
            return Some(usize::from(size.ws_col));
        }
    }
    None
}

// ---- memory ----

/// One heap for all threads, which keeps what is freed until [`give_memory_back`]: a line is
/// allocated by one thread and freed by another, and fresh memory costs more than the work on it.
/// Call before the first thread.
pub(crate) fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes two numbers.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        // Small pieces would wait unmerged for a request that the large free end never lets come,
        // and the heap would grow for ever.
        libc::mallopt(libc::M_MXFAST, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20); // the most there is
        if [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().all(is_unlimited) {
            // Room, not memory: a line that grows at the end of the heap need not move.
            libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_unlimited(resource: libc::__rlimit_resource_t) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur == libc::RLIM_INFINITY
}

/// Hands unused memory back to the system.
pub(crate) fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: has no precondition.
    unsafe {
        libc::malloc_trim(0);
    }
}
