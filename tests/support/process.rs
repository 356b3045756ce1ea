//! The process player: the built program between a scripted client and a scripted server process.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_uplift::bridge::Time;

use super::case::Case;
use super::checks::check_end;
use super::client_script::{ClientScript, ClientWorld, Turn};
use super::json::Json;
use super::pipes::{Reading, Writer, keep};
use super::steps::ProcessStep;
use super::sys;
use super::transcript::{Transcript, Way};
use super::work::{Work, memory_kb, sleep, zombies_of};

/// The word that makes this test program the scripted server.
pub(crate) const SERVE: &str = "serve-a-case";

pub(crate) fn play(case: &Case, bridge: &Path, scale: f64) -> (Result<(), String>, Transcript) {
    let started = Work::create(&case.id, scale).and_then(|work| Player::start(case, bridge, work));
    let mut player = match started {
        Ok(player) => player,
        Err(why) => return (Err(why), Transcript::default()),
    };
    let mut client = ClientScript::new(case, scale);
    let verdict = player.run(&mut client).and_then(|()| {
        player.collect();
        check_end(case, &player.transcript, &client.left_over())?;
        player.no_orphans(case)
    });
    player.kill();
    player.collect();
    player.trace_of_the_server();
    player.work.remove();
    // The server's complaint explains most others.
    let complaint = player.complaint.take();
    (verdict.map_err(|why| complaint.unwrap_or(why)), player.transcript)
}

struct Player {
    work: Work,
    bridge: Child,
    writer: Option<Writer>,
    stdout: Reading,
    stderr: Reading,
    lines: Receiver<(Time, Vec<u8>, bool)>,
    /// Lines that came and the script has not been given yet.
    arrived: Vec<(Json, String)>,
    transcript: Transcript,
    said: Arc<Mutex<Vec<u8>>>,
    /// The peak at the last `note_memory`.
    peak_mb: u64,
    complaint: Option<String>,
}

impl Player {
    fn start(case: &Case, bridge: &Path, work: Work) -> Result<Player, String> {
        let mut command = command(case, bridge, &work)?;
        let mut bridge = command.spawn().map_err(|e| format!("the bridge does not start: {e}"))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (bridge.stdin.take(), bridge.stdout.take(), bridge.stderr.take())
        else {
            return Err("the bridge has no pipes".to_owned());
        };
        let (sender, lines) = channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        Ok(Player {
            writer: Some(Writer::start(stdin)),
            stdout: Reading::start(stdout, split_lines(work.clone(), sender)),
            stderr: Reading::start(stderr, keep(Arc::clone(&said))),
            work,
            bridge,
            lines,
            arrived: Vec::new(),
            transcript: Transcript::default(),
            said,
            peak_mb: 0,
            complaint: None,
        })
    }

    fn run(&mut self, client: &mut ClientScript) -> Result<(), String> {
        loop {
            self.take_lines();
            for (message, text) in self.arrived.drain(..) {
                client.line(message, text);
            }
            let until = match client.poll(self.work.now(), self) {
                Turn::Done => break,
                Turn::Failed(why) => {
                    self.rest(20);
                    self.server_is_content()?;
                    return Err(why);
                }
                Turn::Blocked(until) => until,
            };
            self.server_is_content()?;
            // Marks, the server's complaints and the end of processes have to be looked for.
            let wait = until.since(self.work.now()).clamp(1, 5);
            if self.arrived.is_empty() {
                self.wait(wait);
            }
        }
        // What was written last is still on its way to us, unless a helper holds the pipe.
        for _ in 0..60 {
            if self.stdout.ended() && self.stderr.ended() {
                break;
            }
            self.rest(5);
        }
        self.take_lines();
        for (message, text) in self.arrived.drain(..) {
            client.line(message, text);
        }
        self.server_is_content()
    }

    /// Waits for a line, at most that long.
    fn wait(&mut self, ms: u64) {
        match self.lines.recv_timeout(Duration::from_millis(ms)) {
            Ok((at, line, ended)) => self.take(at, &line, ended),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => sleep(ms),
        }
    }

    fn rest(&mut self, ms: u64) {
        sleep(ms);
        self.take_lines();
    }

    fn take_lines(&mut self) {
        while let Ok((at, line, ended)) = self.lines.try_recv() {
            self.take(at, &line, ended);
        }
    }

    fn take(&mut self, at: Time, line: &[u8], ended: bool) {
        let arrived = self.transcript.client_read(at, line, ended);
        self.arrived.push(arrived);
    }

    /// The scripted server writes down the first thing that was wrong.
    fn server_is_content(&mut self) -> Result<(), String> {
        match self.work.lines("fail").into_iter().next() {
            Some(why) => {
                self.complaint = Some(why.clone());
                Err(why)
            }
            None => Ok(()),
        }
    }

    /// What the server's processes have written down, and stderr.
    fn collect(&mut self) {
        self.transcript.events = self.work.lines("events");
        self.transcript.stderr = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.transcript.server.clear();
        for run in 1..=self.work.runs() {
            self.transcript.server_started();
            for line in self.work.bytes(&format!("frames.{run}")).split(|byte| *byte == b'\n') {
                match line.split_first() {
                    Some((b'<', line)) => self.transcript.server_passed(Way::FromBridge, line),
                    Some((_, line)) => self.transcript.server_passed(Way::ToBridge, line),
                    None => {}
                }
            }
        }
    }

    fn trace_of_the_server(&mut self) {
        for row in self.work.lines("trace") {
            let mut parts = row.splitn(3, ' ');
            if let (Some(at), Some(kind), Some(text)) = (parts.next(), parts.next(), parts.next()) {
                self.transcript.trace(Time(at.parse().unwrap_or(0)), kind, text);
            }
        }
    }

    fn no_orphans(&mut self, case: &Case) -> Result<(), String> {
        if !case.also.no_orphans {
            return Ok(());
        }
        for _ in 0..100 {
            if self.work.living().is_empty() {
                return Ok(());
            }
            self.rest(15);
        }
        let alive = self.work.living().len();
        Err(format!("{alive} server process(es) still alive after the bridge ended"))
    }

    /// Ends what this case started and is still there.
    fn kill(&mut self) {
        self.writer = None;
        drop(self.bridge.kill()); // it may have ended by itself
        drop(self.bridge.wait());
        for pid in self.work.living() {
            sys::kill(pid, sys::SIGKILL);
        }
        self.stdout.stop();
        self.stderr.stop();
    }

    fn peak_mb(&self) -> u64 {
        memory_kb(self.bridge.id(), "VmHWM") / 1024
    }
}

impl ClientWorld for Player {
    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.take_lines(); // what came before stands before it in the transcript
        self.transcript.client_wrote(self.work.now(), bytes);
        let gone = || "the bridge no longer reads its stdin".to_owned();
        let writer = self.writer.as_ref().ok_or_else(gone)?;
        match writer.write(bytes, Duration::from_secs(10).mul_f64(self.work.scale)) {
            Some(true) => Ok(()),
            Some(false) => Err(gone()),
            None => Err("the bridge does not read its stdin".to_owned()),
        }
    }

    fn close_stdin(&mut self) {
        if self.writer.take().is_some() {
            self.transcript.client_closed();
            self.transcript.trace(self.work.now(), "C!", "stdin closed");
        }
    }

    fn signal(&mut self, name: &str) -> Result<(), String> {
        let number = match name {
            "HUP" => sys::SIGHUP,
            "INT" => sys::SIGINT,
            "TERM" => sys::SIGTERM,
            "KILL" => sys::SIGKILL,
            _ => return Err(format!("SIG{name} is not known")),
        };
        self.transcript.trace(self.work.now(), "C!", &format!("SIG{name}"));
        sys::kill(self.bridge.id(), number);
        Ok(())
    }

    fn set_mark(&mut self, name: &str) {
        self.work.set_mark(name);
    }

    fn has_mark(&self, name: &str) -> bool {
        self.work.has_mark(name)
    }

    fn exit_status(&mut self) -> Option<i64> {
        let status = self.bridge.try_wait().ok()??;
        let code = status.code().map(i64::from);
        code.or_else(|| status.signal().map(|signal| -i64::from(signal)))
    }

    fn process_step(&mut self, step: &ProcessStep) -> Result<(), String> {
        match step {
            ProcessStep::Reading(reading) => self.stdout.reading.store(*reading, Ordering::SeqCst),
            ProcessStep::CloseStdout => self.stdout.stop(),
            ProcessStep::CloseStderr => self.stderr.stop(),
            ProcessStep::NoteMemory => self.peak_mb = self.peak_mb(),
            ProcessStep::ExpectGrowth { mb } => {
                let grown = self.peak_mb().saturating_sub(self.peak_mb);
                if grown > *mb {
                    return Err(format!("the bridge's memory peak grew by {grown} MB, not {mb}"));
                }
            }
            ProcessStep::ExpectLiving(wanted) => {
                let alive = self.work.living().len() as u64;
                if alive != *wanted {
                    return Err(format!("{alive} server processes and helpers live, not {wanted}"));
                }
            }
            ProcessStep::ExpectNoZombies => {
                if zombies_of(self.bridge.id()) > 0 {
                    return Err("the bridge leaves ended servers as zombies".to_owned());
                }
            }
        }
        Ok(())
    }
}

/// The bridge's command line: its options, and behind the `--` the server's command.
fn command(case: &Case, bridge: &Path, work: &Work) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let places = [
        ("$PY", program.display().to_string()),
        ("$FAKE", SERVE.to_owned()),
        ("$SCRIPT", case.path.display().to_string()),
        ("$WORK", work.folder.display().to_string()),
    ];
    let fill = |text: &String| {
        places.iter().fold(text.clone(), |text, (name, value)| text.replace(name, value))
    };
    let fake = ["$PY", "$FAKE", "$SCRIPT", "$WORK"].map(str::to_owned).to_vec();
    let child = case.child.as_ref().unwrap_or(&fake);
    let mut command = Command::new(bridge);
    command.args(case.bridge_args.iter().map(fill)).arg("--");
    command.args(child.iter().chain(&case.child_args).map(fill));
    command.env_clear();
    for name in ["PATH", "HOME", "LANG", "TMPDIR"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.envs(case.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    Ok(command)
}

fn split_lines(
    work: Work,
    lines: Sender<(Time, Vec<u8>, bool)>,
) -> impl FnMut(&[u8]) + Send + 'static {
    let mut line = Vec::new();
    move |bytes| {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                line.pop();
                drop(lines.send((work.now(), std::mem::take(&mut line), true)));
            }
        }
        if bytes.is_empty() && !line.is_empty() {
            drop(lines.send((work.now(), std::mem::take(&mut line), false)));
        }
    }
}
