//! The scripted server as a process: this test program run again, with its script on real pipes.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::case::Case;
use super::json::Json;
use super::pattern::Names;
use super::server_script::{ServerScript, ServerWorld, Turn};
use super::steps::Grandchild;
use super::sys;
use super::work::Work;

/// What the signal thread has to know of the script.
static UNFINISHED: AtomicBool = AtomicBool::new(true);
static IGNORES_TERM: AtomicBool = AtomicBool::new(false);

/// Closed by `stop_reading`.
static READING: (Mutex<bool>, Condvar) = (Mutex::new(true), Condvar::new());

/// Plays the server of the case in `script`, with its files in `folder`; comes back with the status
/// to exit with.
pub(crate) fn serve(script: &Path, folder: &Path, argv: &[String]) -> Result<i32, String> {
    let work = Work::open(folder)?;
    work.remember_pid(std::process::id());
    end_on_term(work.clone())?;
    let case = Case::load(script)?;
    let run = work.next_run();
    let mut world = Pipes::new(work.clone(), run)?;
    world.event("start");
    let arrived = read_stdin(work.clone(), run)?;
    let cwd = std::env::current_dir().map_err(|e| e.to_string())?;
    let names = Names::from([
        ("$argv".to_owned(), Json::Array(argv.iter().map(|arg| Json::string(arg)).collect())),
        ("$cwd".to_owned(), Json::String(cwd.display().to_string())),
    ]);
    let mut script = ServerScript::new(&case, run, work.scale, names);
    loop {
        match script.poll(work.now(), &mut world) {
            Turn::Blocked(until) => {
                let wait = until.map_or(3_600_000, |until| until.since(work.now()));
                let wait = if script.waits_for_mark() { wait.min(5) } else { wait };
                match arrived.recv_timeout(Duration::from_millis(wait)) {
                    Ok(Some(line)) => script.line(line),
                    Ok(None) => script.eof(),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
            }
            Turn::Failed(why) => {
                work.append("fail", &why);
                work.trace("S!", &format!("FAIL {why}"));
            }
            Turn::Exit(code) => {
                world.last_line();
                world.event("exit");
                return Ok(code);
            }
            Turn::Killed => {
                world.event("kill_self");
                sys::kill(std::process::id(), sys::SIGKILL);
            }
        }
    }
}

/// SIGTERM ends us, and the runner learns whether the script was still waiting for something.
fn end_on_term(work: Work) -> Result<(), String> {
    let (mut reader, writer) = std::io::pipe().map_err(|e| e.to_string())?;
    sys::catch_term(writer.as_raw_fd());
    std::mem::forget(writer); // the handler writes to it as long as we live
    std::thread::spawn(move || {
        while reader.read(&mut [0]).is_ok() {
            record(&work, "sigterm");
            if !IGNORES_TERM.load(Ordering::SeqCst) {
                if UNFINISHED.load(Ordering::SeqCst) {
                    record(&work, "unfinished");
                }
                record(&work, "exit");
                std::process::exit(0);
            }
        }
    });
    Ok(())
}

fn record(work: &Work, event: &str) {
    work.append("events", event);
    work.trace("S!", event);
}

/// The lines of our stdin; `None` at its end.
fn read_stdin(work: Work, run: usize) -> Result<Receiver<Option<Vec<u8>>>, String> {
    let (sender, receiver) = channel();
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().map_err(|e| e.to_string())?;
    let mut stdin = File::from(stdin);
    let mut frames = open_frames(&work, run)?;
    std::thread::spawn(move || {
        let mut line = Vec::new();
        let mut chunk = vec![0; 65536];
        loop {
            wait_until_reading();
            let size = stdin.read(&mut chunk).unwrap_or(0);
            for part in chunk[..size].split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    drop(frames.write_all(&[b"<", &line[..]].concat()));
                    line.pop();
                    drop(sender.send(Some(std::mem::take(&mut line))));
                }
            }
            if size == 0 {
                break;
            }
        }
        if !line.is_empty() {
            work.trace("S<", &format!("(no newline) {}", String::from_utf8_lossy(&line)));
        }
        record(&work, "eof");
        drop(sender.send(None));
        loop {
            std::thread::park(); // the channel stays open, so that a wait on it is a wait
        }
    });
    Ok(receiver)
}

fn wait_until_reading() {
    let mut reading = lock(&READING.0);
    while !*reading {
        reading = READING.1.wait(reading).unwrap_or_else(PoisonError::into_inner);
    }
}

fn lock(flag: &Mutex<bool>) -> MutexGuard<'_, bool> {
    flag.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_frames(work: &Work, run: usize) -> Result<File, String> {
    let path = work.folder.join(format!("frames.{run}"));
    OpenOptions::new().create(true).append(true).open(path).map_err(|e| e.to_string())
}

struct Pipes {
    work: Work,
    stdout: File,
    frames: File,
    /// Written and not yet a whole line.
    line: Vec<u8>,
}

impl Pipes {
    fn new(work: Work, run: usize) -> Result<Self, String> {
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().map_err(|e| e.to_string())?;
        let frames = open_frames(&work, run)?;
        Ok(Pipes { work, stdout: File::from(stdout), frames, line: Vec::new() })
    }
}

impl Pipes {
    /// What was written last, and never ended, is a line too (A3).
    fn last_line(&mut self) {
        if !self.line.is_empty() {
            drop(self.frames.write_all(&[b">", &self.line[..], b"\n"].concat()));
        }
    }
}

impl ServerWorld for Pipes {
    fn standing(&mut self, unfinished: bool, ignores_term: bool) {
        UNFINISHED.store(unfinished, Ordering::SeqCst);
        IGNORES_TERM.store(ignores_term, Ordering::SeqCst);
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                drop(self.frames.write_all(&[b">", &self.line[..]].concat()));
                self.line.clear();
            }
        }
        if self.stdout.write_all(bytes).is_err() {
            self.event("stdout gone");
        }
    }

    fn write_stderr(&mut self, bytes: &[u8]) {
        if std::io::stderr().write_all(bytes).is_err() {
            self.event("stderr gone");
        }
    }

    fn event(&mut self, name: &str) {
        record(&self.work, name);
    }

    fn trace(&mut self, kind: &str, text: &str) {
        self.work.trace(kind, text);
    }

    fn set_mark(&mut self, name: &str) {
        self.work.set_mark(name);
    }

    fn has_mark(&self, name: &str) -> bool {
        self.work.has_mark(name)
    }

    fn close_stdout(&mut self) {
        match OpenOptions::new().write(true).open("/dev/null") {
            Ok(null) => {
                sys::replace_stdout(&null);
                self.stdout = null;
            }
            Err(why) => self.trace("S!", &format!("/dev/null: {why}")),
        }
    }

    fn read_on(&mut self, reading: bool) {
        *lock(&READING.0) = reading;
        READING.1.notify_all();
    }

    fn fork(&mut self, grandchild: Grandchild) {
        if let Err(why) = fork(grandchild, &self.work) {
            self.trace("S!", &format!("no grandchild: {why}"));
        }
    }
}

/// A `sleep` that outlives a careless bridge. It keeps our process group unless the case says
/// otherwise.
fn fork(grandchild: Grandchild, work: &Work) -> std::io::Result<()> {
    let mut command = Command::new("sh");
    // The shell of a daemon says who it started and goes.
    let program = if grandchild.daemon {
        "sleep 60 </dev/null >/dev/null 2>&1 & echo $!"
    } else {
        "exec sleep 60"
    };
    let held = |hold: bool| {
        if hold { Stdio::inherit() } else { Stdio::null() }
    };
    command.args(["-c", program]).stderr(Stdio::null());
    command.stdin(held(grandchild.hold_stdin)).stdout(held(grandchild.hold_stdout));
    if grandchild.ignore_term {
        sys::ignoring_term(&mut command);
    }
    if grandchild.setsid || grandchild.daemon {
        sys::in_own_session(&mut command);
    }
    if grandchild.daemon {
        let said = command.stdout(Stdio::piped()).output()?.stdout;
        work.remember_pid(String::from_utf8_lossy(&said).trim().parse().unwrap_or(0));
    } else {
        work.remember_pid(command.spawn()?.id());
    }
    Ok(())
}
