//! The bridge as a process: lines in, lines out, and what the wrapped server saw of it.
//!
//! The server appends every line to a trace file before it sends it, so whatever led to an answer
//! is in the file when the answer is here. No wait goes without a deadline.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A running bridge with the legacy server behind it.
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    trace: PathBuf,
    trace_read: usize,
}

impl Session {
    pub(crate) fn start(bridge: &str, server: &str) -> Result<Self, String> {
        let name = format!("mcp-uplift-demo-{}.trace", std::process::id());
        let trace = std::env::temp_dir().join(name);
        let mut child = Command::new(bridge)
            .args(["--", server, "--page-size", "8", "--trace"])
            .arg(&trace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{bridge} cannot be started: {error}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("the bridge has no stdout")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Ok(Session { child, stdin, lines, trace, trace_read: 0 })
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("the conversation is over")?;
        let sent = stdin.write_all(format!("{message}\n").as_bytes());
        sent.map_err(|error| format!("the bridge does not listen: {error}"))
    }

    /// The next message of the bridge.
    pub(crate) fn receive(&self) -> Result<Value, String> {
        let line = self.lines.recv_timeout(ANSWER_WITHIN).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                format!("no answer within {} s", ANSWER_WITHIN.as_secs())
            }
            RecvTimeoutError::Disconnected => "the bridge ended".to_string(),
        })?;
        serde_json::from_str(&line).map_err(|error| format!("not JSON ({error}): {line}"))
    }

    /// What the server heard (`<`) and said (`>`) since the last look.
    pub(crate) fn server_side(&mut self) -> Vec<(char, String)> {
        let all = fs::read_to_string(&self.trace).unwrap_or_default();
        let fresh = all.get(self.trace_read..).unwrap_or_default();
        // A line still being written is left for the next look.
        let whole = fresh.rfind('\n').map_or(0, |end| end + 1);
        self.trace_read += whole;
        let split = |line: &str| {
            let (mark, text) = line.split_once(' ')?;
            Some((mark.chars().next()?, text.to_string()))
        };
        fresh[..whole].lines().filter_map(split).collect()
    }

    /// Closes the bridge's stdin and waits for its exit status.
    pub(crate) fn close(&mut self) -> Result<Option<i32>, String> {
        self.stdin = None;
        match self.lines.recv_timeout(ANSWER_WITHIN) {
            Ok(line) => return Err(format!("an answer too many: {line}")),
            Err(RecvTimeoutError::Timeout) => {
                return Err("the bridge does not end when its client is gone".into());
            }
            Err(RecvTimeoutError::Disconnected) => {}
        }
        let status = self.child.wait().map_err(|error| format!("no exit status: {error}"))?;
        Ok(status.code())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Closing its stdin ends a bridge that is well; this is for one that hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.trace);
    }
}
