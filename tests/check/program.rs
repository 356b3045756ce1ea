//! The built program, run as `mcp-uplift check`, and what came of it.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::in_time;
use crate::sys;
use crate::work::{Work, memory_kb, since_epoch, sleep};

/// When there must be a report.
const PATIENCE_MS: u128 = 60_000;

/// Short, so that silent servers do not make the tests slow.
const TIMES: [&str; 4] = ["--timeout", "1000", "--start-timeout", "3000"];

/// One run of the program.
pub(crate) struct Run {
    /// `None`: it was too slow, or a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    /// The folder where the servers left their notes.
    pub(crate) notes: Work,
    /// Servers, and what they started, that were still there when it had ended.
    pub(crate) left: usize,
    /// How long it went on after we began to wait for its end, in milliseconds.
    pub(crate) ms: u128,
    /// The most memory that it had, in KiB.
    pub(crate) peak_kib: u64,
}

impl Run {
    /// The report, where it is one JSON document.
    pub(crate) fn json(&self) -> Result<Value, String> {
        serde_json::from_str(&self.out).map_err(|why| {
            let last = self.err.lines().last().unwrap_or_default();
            format!("no JSON report ({why}), exit {:?}, stderr ends with: {last}", self.status)
        })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.notes.remove();
    }
}

/// A check that runs.
pub(crate) struct Running {
    child: Child,
    pub(crate) notes: Work,
}

/// This binary as the server of that mode.
fn server(mode: &str, notes: &Work) -> Vec<OsString> {
    let own = std::env::current_exe().unwrap_or_default();
    let words: [OsString; 4] = ["--mode", mode, "--trace", ""].map(OsString::from);
    let mut command = vec![own.into_os_string()];
    command.extend(words.into_iter().take(3));
    command.push(notes.folder.clone().into_os_string());
    command
}

/// Starts a check of a server of this mode, or of the bridge around it.
pub(crate) fn start(mode: &str, is_bridged: bool, flags: &[&str]) -> Result<Running, String> {
    let notes = Work::create(mode, 1.0)?;
    let mut words: Vec<OsString> = TIMES.iter().chain(flags).map(OsString::from).collect();
    words.push("--".into());
    if is_bridged {
        words.extend([bridge().into(), "--".into()]);
    }
    words.extend(server(mode, &notes));
    let mut command = command(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|why| format!("it does not start: {why}"))?;
    Ok(Running { child, notes })
}

/// The built program.
pub(crate) fn bridge() -> &'static str {
    env!("CARGO_BIN_EXE_mcp-uplift")
}

/// `mcp-uplift check` with these words.
pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(bridge());
    command.arg("check").args(words).stdin(Stdio::null());
    command.env_remove("NO_COLOR").env("TERM", "xterm").env("PROBE_TOKEN", "of-ours");
    command
}

/// A check of a server of this mode, alone unless the flags say otherwise.
pub(crate) fn check(mode: &str, flags: &[&str]) -> Result<Run, String> {
    let mut all = vec!["--native-only"];
    if flags.contains(&"--wrapped") {
        all.clear();
    }
    all.extend(flags);
    Ok(start(mode, false, &all)?.finish())
}

/// What it says and how it ends with these words alone.
pub(crate) fn say(
    words: &[&str],
    folder: Option<&Path>,
) -> Result<(Option<i32>, String, String), String> {
    let mut command = command(words);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let done = in_time::output(&mut command)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((done.status.code(), text(&done.stdout), text(&done.stderr)))
}

impl Running {
    /// Sends a signal to the program and nobody else.
    pub(crate) fn signal(&self, number: i32) {
        sys::kill(self.child.id(), number);
    }

    /// Waits until so many servers were started and the last of them was asked something.
    pub(crate) fn wait_for_servers(&self, count: usize) -> Result<(), String> {
        for _ in 0..2_000 {
            let methods = self.notes.lines("methods").len();
            if methods >= count && self.notes.lines("pids").len() >= count {
                return Ok(());
            }
            sleep(10);
        }
        Err(format!("less than {count} servers were started"))
    }

    /// Waits for its end and collects what is left.
    pub(crate) fn finish(mut self) -> Run {
        let (out, err) = (reader(self.child.stdout.take()), reader(self.child.stderr.take()));
        let start = since_epoch();
        let mut peak_kib = 0;
        let status = loop {
            peak_kib = memory_kb(self.child.id(), "VmHWM").max(peak_kib);
            match self.child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if (since_epoch().saturating_sub(start)).as_millis() < PATIENCE_MS => {
                    sleep(5);
                }
                _ => {
                    drop(self.child.kill());
                    drop(self.child.wait());
                    break None;
                }
            }
        };
        let ms = since_epoch().saturating_sub(start).as_millis();
        // What was killed takes a moment to go.
        for _ in 0..40 {
            if self.notes.living().is_empty() {
                break;
            }
            sleep(5);
        }
        let left = self.notes.living();
        for pid in &left {
            sys::kill(*pid, sys::SIGKILL);
        }
        let text = |reader: thread::JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
        };
        let (out, err, left) = (text(out), text(err), left.len());
        Run { status, out, err, notes: self.notes, left, ms, peak_kib }
    }
}

/// Reads to the end, beside us.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            drop(pipe.read_to_end(&mut bytes));
        }
        bytes
    })
}
