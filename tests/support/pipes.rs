//! The pipes of a program under test: a thread for each, so that none can hold up the test.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::sys;
use super::work::sleep;

/// A thread that writes to the bridge, so that one that does not read cannot hold up the case.
pub(crate) struct Writer {
    bytes: Sender<Vec<u8>>,
    written: Receiver<bool>,
}

impl Writer {
    pub(crate) fn start(mut stdin: ChildStdin) -> Writer {
        let (bytes, orders) = channel::<Vec<u8>>();
        let (report, written) = channel();
        std::thread::spawn(move || {
            for bytes in orders {
                if report.send(stdin.write_all(&bytes).is_ok()).is_err() {
                    return;
                }
            }
        });
        Writer { bytes, written }
    }

    /// Whether it could be written; `None` when it has not been in that time.
    pub(crate) fn write(&self, bytes: &[u8], time: Duration) -> Option<bool> {
        self.begin(bytes);
        self.finish(time)
    }

    /// Begins to write, behind what was begun before.
    pub(crate) fn begin(&self, bytes: &[u8]) {
        drop(self.bytes.send(bytes.to_vec())); // a thread that has gone has reported why
    }

    /// Waits for the next end of what was begun: whether it could be written.
    pub(crate) fn finish(&self, time: Duration) -> Option<bool> {
        self.written.recv_timeout(time).ok()
    }
}

/// A thread that reads one of the bridge's pipes, and can be told to pause or to close it.
pub(crate) struct Reading {
    pub(crate) reading: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) trait Pipe: Read + AsFd + Send + 'static {}
impl Pipe for ChildStdout {}
impl Pipe for ChildStderr {}

impl Reading {
    /// `take` gets what was read; nothing at the end.
    pub(crate) fn start(
        mut pipe: impl Pipe,
        mut take: impl FnMut(&[u8]) + Send + 'static,
    ) -> Reading {
        let reading = Arc::new(AtomicBool::new(true));
        let stop = Arc::new(AtomicBool::new(false));
        let (may_read, stopped) = (Arc::clone(&reading), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut chunk = vec![0; 65536];
            while !stopped.load(Ordering::SeqCst) {
                if !may_read.load(Ordering::SeqCst) {
                    sleep(10);
                    continue;
                }
                if !sys::readable(pipe.as_fd(), 20) || !may_read.load(Ordering::SeqCst) {
                    continue;
                }
                match pipe.read(&mut chunk) {
                    Ok(size) if size > 0 => take(&chunk[..size]),
                    Ok(_) | Err(_) => return take(&[]),
                }
            }
        });
        Reading { reading, stop, thread: Some(thread) }
    }

    pub(crate) fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Closes the pipe.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            drop(thread.join()); // a panic there has been printed
        }
    }
}

/// Takes everything into `said`.
pub(crate) fn keep(said: Arc<Mutex<Vec<u8>>>) -> impl FnMut(&[u8]) + Send + 'static {
    move |bytes| {
        said.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}
