//! What happens to us from outside the two conversations: signals, ended children, a client that
//! no longer reads.

use std::io::{self, PipeReader, Read};
use std::mem;
use std::os::fd::AsFd;
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use super::readers::STACK;
use crate::sys::{self, Watched};

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Told to end by this signal.
    Stop(i32),
    /// A child has ended, or several.
    ChildEnded,
    /// Nobody reads our stdout.
    ClientGone,
}

/// Starts the thread that notices.
pub(crate) fn watch() -> io::Result<Receiver<Notice>> {
    let (mut signals, pipe) = io::pipe()?;
    let caught = [sys::SIGTERM, sys::SIGINT, sys::SIGHUP, sys::SIGCHLD];
    sys::catch_signals(&caught, pipe.into())?;
    let (notices, receiver) = bounded(16);
    thread::Builder::new()
        .name("signal reader".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let stdout = io::stdout();
            // No event is asked for: only an error or a hang-up wakes us, that is, a lost reader.
            let mut watched = [
                Watched::new(signals.as_fd(), sys::POLLIN),
                Watched::new(stdout.as_fd(), 0),
            ];
            while sys::poll(&mut watched, -1).is_ok() {
                if watched[1].ready() {
                    watched[1].forget(); // it stays so, and would wake us for ever
                    if notices.send(Notice::ClientGone).is_err() {
                        return;
                    }
                }
                if watched[0].ready() {
                    for notice in read_signals(&mut signals) {
                        if notices.send(notice).is_err() {
                            return;
                        }
                    }
                }
            }
            mem::forget(notices); // a closed channel would wake the loop for ever
        })?;
    Ok(receiver)
}

/// The signals that have come; many ended children are one notice.
fn read_signals(signals: &mut PipeReader) -> Vec<Notice> {
    let mut bytes = [0; 64];
    let count = signals.read(&mut bytes).unwrap_or(0);
    let mut noticed = Vec::new();
    for &byte in &bytes[..count] {
        let notice = match i32::from(byte) {
            sys::SIGCHLD => Notice::ChildEnded,
            signal => Notice::Stop(signal),
        };
        if !noticed.contains(&notice) || notice != Notice::ChildEnded {
            noticed.push(notice);
        }
    }
    noticed
}
