//! One side's way out: frames leave whole, in order, and without ever stopping the loop.
//!
//! ```text
//!  push ──▶ batch ──flush──▶ write(2), as long as all of it fits
//!                       └──▶ queue ──▶ writer thread, until the queue is empty again
//! ```
//!
//! The thread is started when the other side is slow for the first time. The queue has no bound
//! of its own: the loop stops taking input while [`Outlet::queued`] is high.
#![allow(
    clippy::indexing_slicing,
    reason = "`written` is less than the first part, and no more parts are counted than there are places"
)]

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::inbox::{Post, Woken};
use super::sink::{MOST_PIECES, Sink};
use super::threads;
use crate::bridge::Frame;
use crate::message::splice::Part;

/// Bytes of a buffer that small frames share while they wait.
const SHARED: usize = 64 << 10;

/// Frames to write, as their parts, of which the first may be half written.
#[derive(Default)]
struct Frames {
    parts: VecDeque<Part>,
    /// How much of the first part is written.
    written: usize,
}

impl Frames {
    fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() - self.written
    }

    /// Adds frames that will wait: small ones share a buffer, for each of its own would cost as
    /// much again as it holds.
    fn append(&mut self, others: Frames) {
        if self.is_empty() {
            self.written = others.written;
        }
        for part in others.parts {
            let bytes = part.bytes();
            match self.parts.back_mut() {
                Some(Part::Own(last)) if last.capacity() - last.len() >= bytes.len() => {
                    last.extend_from_slice(bytes);
                }
                _ if bytes.len() < SHARED / 16 => {
                    let mut shared = Vec::with_capacity(SHARED);
                    shared.extend_from_slice(bytes);
                    self.parts.push_back(Part::Own(shared));
                }
                _ => self.parts.push_back(part),
            }
        }
    }

    /// One write of as much as the sink takes at once.
    fn write_some(&mut self, sink: &Sink) -> io::Result<usize> {
        let mut pieces = [IoSlice::new(&[]); MOST_PIECES];
        let mut count = 0;
        for (piece, part) in pieces.iter_mut().zip(&self.parts) {
            let skip = if count == 0 { self.written } else { 0 };
            *piece = IoSlice::new(&part.bytes()[skip..]);
            count += 1;
        }
        let done = sink.write(&pieces[..count])?;
        self.written += done;
        while self.parts.front().is_some_and(|first| first.bytes().len() <= self.written) {
            self.written -= self.parts.pop_front().map_or(0, |first| first.bytes().len());
        }
        Ok(done)
    }
}

/// What loop and writer thread share.
struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the outlet was closed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Frames,
    /// Bytes in `queue` and in the thread's hands; 0: the loop may write by itself.
    bytes: usize,
    /// Nobody reads any more; nothing is written from then on.
    broken: bool,
    /// What it was that broke it, unless the reader just left.
    failure: Option<io::Error>,
    /// Nothing will be added: the thread ends after the last byte.
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way out to one side. Dropping it closes the descriptor once what is queued is written.
pub(crate) struct Outlet {
    sink: Arc<Sink>,
    shared: Arc<Shared>,
    batch: Frames,
    batch_bytes: usize,
    /// Bytes taken since the beginning.
    taken: u64,
    /// Where among them the replies stand that may still wait.
    replies: VecDeque<Range<u64>>,
    /// The thread tells the loop here that much has been written, or nothing more can be.
    news: Post,
    /// The thread tells when its bytes fall below this, and when they are all written.
    low_water: usize,
    has_thread: bool,
    name: &'static str,
}

impl Outlet {
    pub(crate) fn new(sink: Sink, name: &'static str, low_water: usize, news: Post) -> Self {
        Outlet {
            sink: Arc::new(sink),
            shared: Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() }),
            batch: Frames::default(),
            batch_bytes: 0,
            taken: 0,
            replies: VecDeque::new(),
            news,
            low_water,
            has_thread: false,
            name,
        }
    }

    /// Takes a frame; it leaves with the next [`Outlet::flush`].
    pub(crate) fn push(&mut self, frame: Frame) {
        let end = self.taken + frame.len() as u64;
        if frame.is_reply() {
            match self.replies.back_mut() {
                Some(last) if last.end == self.taken => last.end = end,
                _ => self.replies.push_back(self.taken..end),
            }
        }
        self.taken = end;
        self.batch_bytes += frame.len();
        for part in frame.into_parts() {
            self.batch.parts.push_back(part);
        }
    }

    /// Bytes taken that the system has not.
    pub(crate) fn queued(&self) -> usize {
        self.batch_bytes + self.shared.lock().bytes
    }

    /// Of the bytes that are queued, those of replies.
    pub(crate) fn queued_replies(&mut self) -> usize {
        if self.replies.is_empty() {
            return 0;
        }
        let written = self.taken - self.queued() as u64;
        while self.replies.front().is_some_and(|reply| reply.end <= written) {
            self.replies.pop_front();
        }
        let waits = |reply: &Range<u64>| reply.end - reply.start.max(written);
        usize::try_from(self.replies.iter().map(waits).sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// Bytes of this wake-up, not flushed.
    pub(crate) fn unflushed(&self) -> usize {
        self.batch_bytes
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.lock().broken
    }

    /// Why it broke, once, if not for a reader that left.
    pub(crate) fn take_failure(&self) -> Option<io::Error> {
        self.shared.lock().failure.take()
    }

    /// Writes what can be written at once and leaves the rest to the thread.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let mut state = self.shared.lock();
        if state.bytes == 0 && !state.broken {
            drop(state); // the thread, if there is one, sleeps until something is queued
            let result = write_all(&mut batch, &self.sink);
            if batch.is_empty() {
                return;
            }
            if let Err(error) = result {
                return give_up(&self.shared, &self.sink, error);
            }
            state = self.shared.lock();
        }
        if state.broken {
            return;
        }
        state.bytes += batch.bytes();
        state.queue.append(batch);
        drop(state);
        self.wake_thread();
    }

    fn wake_thread(&mut self) {
        if self.has_thread {
            self.shared.changed.notify_one();
            return;
        }
        let (sink, shared) = (Arc::clone(&self.sink), Arc::clone(&self.shared));
        let (news, low_water) = (self.news.clone(), self.low_water);
        let work = move || write_queued(&sink, &shared, &news, low_water);
        match threads::start(self.name, Box::new(work)) {
            Ok(_) => self.has_thread = true,
            // Without a thread nothing can be written in order any more.
            Err(error) => give_up(&self.shared, &self.sink, error),
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.flush();
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

/// Writes until all is written (`Ok`, `frames` empty), no more fits (`Ok`), or nobody reads.
fn write_all(frames: &mut Frames, sink: &Sink) -> io::Result<()> {
    while !frames.is_empty() {
        match frames.write_some(sink) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nobody reads: forget what waits.
fn give_up(shared: &Shared, sink: &Sink, error: io::Error) {
    let mut state = shared.lock();
    state.broken = true;
    state.failure = (!sink.has_lost(&error)).then_some(error);
    state.bytes = 0;
    state.queue = Frames::default();
}

/// The writer thread.
fn write_queued(sink: &Sink, shared: &Shared, news: &Post, low_water: usize) {
    loop {
        let mut state = shared.lock();
        while state.queue.is_empty() {
            if state.closed {
                return;
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut frames = mem::take(&mut state.queue);
        drop(state);
        while !frames.is_empty() {
            match frames.write_some(sink) {
                Ok(done) => {
                    let mut state = shared.lock();
                    let before = state.bytes;
                    state.bytes = before.saturating_sub(done);
                    if state.bytes == 0 || (state.bytes < low_water && before >= low_water) {
                        news.try_send(Woken::Written);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    sink.wait(-1);
                }
                Err(error) => {
                    give_up(shared, sink, error);
                    news.try_send(Woken::Written);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use std::time::Duration;

    use super::super::inbox::{Inbox, inbox};
    use super::*;

    fn wait(told: &Inbox) {
        told.wait(|| Duration::from_secs(60)).expect("the thread tells");
    }

    fn frame(number: usize, size: usize) -> Frame {
        let mut text = format!("{number}:").into_bytes();
        text.resize(size - 1, b'.');
        text.push(b'\n');
        text.into()
    }

    #[test]
    fn a_slow_reader_gets_all_in_order() {
        let (mut read, write) = io::pipe().unwrap();
        let (news, told) = inbox();
        let sink = Sink::own_pipe(write.into()).unwrap();
        let mut outlet = Outlet::new(sink, "test writer", 1 << 20, news);
        let sizes = [10, 200_000, 50, 3_000_000, 7, 7, 100_000];
        let mut expected = Vec::new();
        for (number, size) in sizes.into_iter().enumerate() {
            expected.extend_from_slice(&frame(number, size).bytes());
            outlet.push(frame(number, size));
            outlet.flush();
        }
        assert!(outlet.queued() > 3_000_000, "the loop was not held up");
        let mut got = vec![0; expected.len()];
        read.read_exact(&mut got).unwrap();
        assert!(got == expected);
        wait(&told);
        while outlet.queued() > 0 {
            wait(&told);
        }
        // Caught up: the loop writes by itself again.
        outlet.push(frame(0, 20));
        outlet.flush();
        assert_eq!(outlet.queued(), 0);
        drop(outlet);
        let mut rest = Vec::new();
        read.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), 20);
    }

    #[test]
    fn closing_waits_for_what_is_queued() {
        let (mut read, write) = io::pipe().unwrap();
        let (news, _told) = inbox();
        let sink = Sink::own_pipe(write.into()).unwrap();
        let mut outlet = Outlet::new(sink, "test writer", 1, news);
        outlet.push(frame(0, 500_000));
        drop(outlet);
        let mut got = Vec::new();
        read.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 500_000);
    }

    #[test]
    fn a_reader_that_leaves_breaks_it_once_and_for_all() {
        let (read, write) = io::pipe().unwrap();
        let (news, told) = inbox();
        let sink = Sink::own_pipe(write.into()).unwrap();
        let mut outlet = Outlet::new(sink, "test writer", 1, news);
        outlet.push(frame(0, 500_000));
        outlet.flush();
        assert!(!outlet.is_broken());
        drop(read);
        wait(&told);
        assert!(outlet.is_broken());
        assert!(outlet.take_failure().is_none(), "leaving is no failure");
        assert_eq!(outlet.queued(), 0);
        outlet.push(frame(1, 500_000));
        outlet.flush();
        assert_eq!(outlet.queued(), 0);
    }
}
