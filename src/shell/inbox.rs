//! The one queue that wakes the loop, and the permits that keep it short.
//!
//! A reader needs a permit for each batch and gets it back when the loop is done with it. So a
//! side is held up by keeping its permits, while everything else still comes through. One queue,
//! because waiting on several costs half as much CPU again for each message. And the loop waits in
//! its own way, because the queue's spins first.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::lines::{Cut, Piece};
use crate::bridge::Generation;

/// Batches of one reader that the loop has not finished, at most.
const AHEAD: usize = 2;

/// A line of this size is dealt with before the next is read: memory for one is enough.
const LARGE: usize = 1 << 20;

/// Room for the batches of both sides, and for what else happens meanwhile.
const ROOM: usize = 32;

/// What can wake the loop.
pub(super) enum Woken {
    /// Told to end by this signal.
    Signal(i32),
    /// A child has ended, or several.
    ChildEnded,
    /// Nobody reads our stdout.
    ClientGone,
    /// Nobody writes to our stdin any more; what was written may still be unread.
    InputEnds,
    /// Our stdin cannot be read, and ends here.
    InputFails(io::Error),
    /// A writer thread has written what matters, or can write no more.
    Written,
    /// Lines from the client.
    Client(Batch),
    /// Lines from this server.
    Server(Generation, Batch),
    /// A deadline has come.
    Time,
}

/// What one read completed. The end travels with the lines, so that it cannot overtake them.
pub(super) struct Batch {
    pub(super) cuts: Vec<Cut>,
    /// Nothing follows.
    pub(super) end: bool,
}

impl Batch {
    /// Is it so much that there should be no second one at the same time?
    pub(super) fn is_large(&self) -> bool {
        let is_large =
            |cut: &Cut| matches!(cut, Cut::One(Piece::Line(line)) if line.bytes.len() >= LARGE);
        self.cuts.iter().any(is_large)
    }
}

/// Where the loop takes from; made by the thread that waits.
pub(super) struct Inbox(Receiver<Woken>);

/// Where everybody else sends to.
#[derive(Clone)]
pub(super) struct Post {
    queue: Sender<Woken>,
    sleeper: Thread,
}

/// The queue, for the calling thread to wait at.
pub(super) fn inbox() -> (Post, Inbox) {
    let (queue, taken) = bounded(ROOM);
    (Post { queue, sleeper: thread::current() }, Inbox(taken))
}

impl Post {
    /// Sends, and waits for room if need be; false when nobody takes anything any more.
    pub(super) fn send(&self, woken: Woken) -> bool {
        let is_sent = self.queue.send(woken).is_ok();
        self.sleeper.unpark();
        is_sent
    }

    /// Sends unless it is full, and then the loop has enough to look at anyway.
    pub(super) fn try_send(&self, woken: Woken) {
        let _ = self.queue.try_send(woken);
        self.sleeper.unpark();
    }
}

impl Inbox {
    /// What is there already.
    pub(super) fn poll(&self) -> Option<Woken> {
        self.0.try_recv().ok()
    }

    /// Waits for something to be there, as long as `left` says there is time.
    pub(super) fn wait(&self, left: impl Fn() -> Duration) -> Option<Woken> {
        // The other side often answers within its turn, and then nobody has to be woken.
        thread::yield_now();
        loop {
            if let Some(woken) = self.poll() {
                return Some(woken);
            }
            let left = left();
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }
}

/// The loop's side of a reader's permits. The reader ends when this is dropped.
pub(super) struct Permits(Arc<Gate>);

/// The reader's side of its permits.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Permits that are there; none any more once the loop has gone.
    free: Option<usize>,
    /// The reader waits. Waking nobody would still be a system call, for each batch.
    is_waited_for: bool,
}

impl Permits {
    /// Permits to begin with, and the reader's side of them.
    pub(super) fn new() -> (Self, Arc<Gate>) {
        let state = State { free: Some(AHEAD), is_waited_for: false };
        let gate = Arc::new(Gate { state: Mutex::new(state), changed: Condvar::new() });
        (Permits(Arc::clone(&gate)), gate)
    }

    /// The loop is done with a batch.
    pub(super) fn give_back(&self) {
        self.0.set(|free| free.map(|free| free + 1));
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        self.0.set(|_| None);
    }
}

impl Gate {
    fn set(&self, to: impl FnOnce(Option<usize>) -> Option<usize>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.free = to(state.free);
        if state.is_waited_for {
            self.changed.notify_one();
        }
    }

    /// Waits for a permit and takes it; false when there will be none.
    pub(super) fn pass(&self) -> bool {
        self.wait_for(1, 1)
    }

    /// Waits until the loop is done with everything; false when it never will be.
    pub(super) fn settle(&self) -> bool {
        self.wait_for(AHEAD, 0)
    }

    fn wait_for(&self, needed: usize, taken: usize) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &mut state.free {
                None => return false,
                Some(there) if *there >= needed => {
                    *there -= taken;
                    return true;
                }
                Some(_) => {}
            }
            state.is_waited_for = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_waited_for = false;
        }
    }
}
