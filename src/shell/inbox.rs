//! The one queue that wakes the loop, and the permits that keep it short.
//!
//! A reader needs a permit for each batch and gets it back when the loop is done with it. So a
//! side is held up by keeping its permits, while everything else still comes through. One queue,
//! because waiting on several costs half as much CPU again for each message.

use crossbeam_channel::{Receiver, Sender, bounded};

use super::lines::Piece;
use crate::bridge::Generation;

/// Batches of one reader that the loop has not finished, at most.
const AHEAD: usize = 2;

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
    pub(super) pieces: Vec<Piece>,
    /// Nothing follows.
    pub(super) end: bool,
}

/// The queue: where everybody sends, where the loop waits.
pub(super) fn inbox() -> (Sender<Woken>, Receiver<Woken>) {
    bounded(ROOM)
}

/// The loop's side of a reader's permits. The reader ends when this is dropped.
pub(super) struct Permits(Sender<()>);

impl Permits {
    /// Permits to begin with, and the reader's side of them.
    pub(super) fn new() -> (Self, Receiver<()>) {
        let (give, take) = bounded(AHEAD);
        let permits = Permits(give);
        for _ in 0..AHEAD {
            permits.give_back();
        }
        (permits, take)
    }

    /// The loop is done with a batch.
    pub(super) fn give_back(&self) {
        let _ = self.0.try_send(()); // no more than were taken, so it fits; or the reader has ended
    }
}
