//! The relatives of a story server: processes that it starts and does not wait for.

use std::process::{Command, Stdio};

use crate::client::{PATIENCE_MS, SERVE};
use crate::sys;
use crate::work::{Work, sleep};

/// The word that makes this binary a daemon's parent.
pub(crate) const FORK: &str = "fork";

/// The word that makes it the daemon.
pub(crate) const SLEEPER: &str = "sleeper";

fn ourselves(work: &Work, ways: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the name of this binary"));
    command.arg(SERVE).arg(&work.folder).args(ways);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Comes back once there is one more daemon: forked twice, in a session of its own.
pub(crate) fn start_daemon(work: &Work, ignores_term: bool) {
    let before = work.lines("daemons").len();
    let mut parent = ourselves(work, &[FORK]);
    if ignores_term {
        sys::ignoring_term(&mut parent);
    }
    parent.status().expect("this binary starts");
    for _ in 0..PATIENCE_MS / 2 {
        if work.lines("daemons").len() > before {
            return;
        }
        sleep(2);
    }
    panic!("no daemon");
}

/// The parent, which ends at once.
#[expect(clippy::zombie_processes, reason = "the daemon outlives us")]
pub(crate) fn fork(work: &Work) {
    let mut daemon = ourselves(work, &[SLEEPER]);
    sys::in_own_session(&mut daemon).spawn().expect("this binary starts");
}

/// The daemon.
pub(crate) fn sleep_for_ever(work: &Work) -> ! {
    work.remember_pid(std::process::id());
    work.append("daemons", "one");
    loop {
        std::thread::park();
    }
}
