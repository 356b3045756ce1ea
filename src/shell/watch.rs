//! What happens to us from outside the two conversations: signals, ended children, a client that
//! no longer reads.

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;

use super::inbox::{Post, Woken};
use super::threads;
use crate::sys::{self, Watched};

/// Starts the thread that notices.
#[allow(
    clippy::indexing_slicing,
    reason = "three are watched, and no more is read than there is room"
)]
pub(super) fn watch(inbox: Post) -> io::Result<()> {
    let (mut signals, pipe) = io::pipe()?;
    // Those that end a program by default and that somebody sends it; else the server's processes
    // would outlive us.
    let caught = [
        sys::SIGTERM,
        sys::SIGINT,
        sys::SIGHUP,
        sys::SIGQUIT,
        sys::SIGUSR1,
        sys::SIGUSR2,
        sys::SIGALRM,
        sys::SIGCHLD,
    ];
    sys::catch_signals(&caught, pipe.into())?;
    let work = move || {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        // Of the client's two pipes no event is asked for: only an error or a hang-up wakes us,
        // that is, a lost reader or writer.
        let mut watched = [
            Watched::new(signals.as_fd(), sys::POLLIN),
            Watched::new(stdout.as_fd(), 0),
            Watched::new(stdin.as_fd(), 0),
        ];
        while sys::poll(&mut watched, -1).is_ok() {
            for (at, news) in [(1, Woken::ClientGone), (2, Woken::InputEnds)] {
                if watched[at].ready() {
                    watched[at].forget(); // it stays so, and would wake us for ever
                    if !inbox.send(news) {
                        return;
                    }
                }
            }
            if watched[0].ready() {
                for woken in read_signals(&mut signals) {
                    if !inbox.send(woken) {
                        return;
                    }
                }
            }
        }
    };
    threads::start("signal reader", Box::new(work))?;
    Ok(())
}

/// The signals that have come; many ended children are one piece of news.
#[allow(
    clippy::indexing_slicing,
    reason = "three are watched, and no more is read than there is room"
)]
fn read_signals(signals: &mut PipeReader) -> Vec<Woken> {
    let mut bytes = [0; 64];
    let count = signals.read(&mut bytes).unwrap_or(0);
    let numbers = || bytes[..count].iter().map(|byte| i32::from(*byte));
    let told_to_end = numbers().filter(|signal| *signal != sys::SIGCHLD);
    let mut news: Vec<Woken> = told_to_end.map(Woken::Signal).collect();
    if numbers().any(|signal| signal == sys::SIGCHLD) {
        news.push(Woken::ChildEnded);
    }
    news
}
