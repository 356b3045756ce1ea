//! A server process: its start, its pipes, and the ladder that ends it (H10, H13).
//!
//! ```text
//!  stop ──▶ stdin closes once it is written ── a third of the grace ──▶ SIGTERM ── its end ──▶ SIGKILL
//! ```
//!
//! The signals go to the process group. The process stays unreaped until its group is ended, so
//! that its number cannot come to mean somebody else.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::inbox::Post;
use super::outlet::Outlet;
use super::readers::{ServerReader, read_server};
use super::sink::Sink;
use crate::bridge::{Exit, Frame, Generation, Time};
use crate::sys;

/// What to start, and with what around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The command as typed; without a slash it is looked for on the child's `PATH`.
    pub program: OsString,
    /// Its arguments, word for word.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; ours if none.
    pub cwd: Option<PathBuf>,
    /// Neither it nor we can gain privileges by starting a program (Linux).
    pub no_new_privs: bool,
}

/// What a starting server needs to know of the loop.
pub(crate) struct Wiring<'a> {
    pub(crate) line_limit: usize,
    pub(crate) low_water: usize,
    pub(crate) inbox: &'a Post,
    /// Where its stderr goes; `None`: to ours.
    pub(crate) stderr: Option<OwnedFd>,
}

/// A running server process, or one that has ended and is still being read.
pub(crate) struct Server {
    pub(crate) generation: Generation,
    /// Also the number of its process group.
    pub(crate) pid: i32,
    child: Child,
    input: Option<Outlet>,
    reader: ServerReader,
    /// Its output is read to the end.
    pub(crate) closed: bool,
    pub(crate) exit: Option<Exit>,
    ladder: Option<Ladder>,
}

/// The deadlines of a stop that still lie ahead.
struct Ladder {
    term_at: Option<Time>,
    kill_at: Option<Time>,
}

impl Server {
    /// Starts the process. The error is a sentence that names the command (H13).
    pub(crate) fn start(
        launch: &Launch,
        generation: Generation,
        mut wiring: Wiring<'_>,
    ) -> Result<Self, String> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).env_clear().envs(launch.env.iter().map(|(n, v)| (n, v)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(wiring.stderr.take().map_or_else(Stdio::inherit, Stdio::from));
        command.process_group(0);
        if let Some(cwd) = &launch.cwd {
            if !cwd.is_dir() {
                return Err(format!(
                    "cannot start '{}': '{}' is not a directory",
                    launch.program.display(),
                    cwd.display()
                ));
            }
            command.current_dir(cwd);
        }
        sys::before_exec(&mut command);
        let mut child = command.spawn().map_err(|error| unstartable(launch, &error))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pid = i32::try_from(child.id()).unwrap_or(0);
        match pipes.map(|pipes| connect(pipes, generation, &wiring)) {
            Some(Ok((input, reader))) => Ok(Server {
                generation,
                pid,
                child,
                input: Some(input),
                reader,
                closed: false,
                exit: None,
                ladder: None,
            }),
            failed => {
                let _ = child.kill();
                let _ = child.wait();
                let cause = match failed {
                    Some(Err(error)) => error.to_string(),
                    Some(Ok(_)) | None => "no pipes".to_owned(),
                };
                Err(format!("cannot talk to '{}': {cause}", launch.program.display()))
            }
        }
    }

    /// Queues a frame for its stdin, unless that is closed.
    pub(crate) fn push(&mut self, frame: Frame) {
        if let Some(input) = &mut self.input {
            input.push(frame);
        }
    }

    /// Writes what was pushed.
    pub(crate) fn flush(&mut self) {
        if let Some(input) = &mut self.input {
            input.flush();
        }
    }

    /// Bytes that it has not read yet.
    pub(crate) fn queued(&self) -> usize {
        self.input.as_ref().map_or(0, Outlet::queued)
    }

    /// Of those, the answers to its own requests.
    pub(crate) fn queued_replies(&mut self) -> usize {
        self.input.as_mut().map_or(0, Outlet::queued_replies)
    }

    /// Bytes pushed and not flushed.
    pub(crate) fn unflushed(&self) -> usize {
        self.input.as_ref().map_or(0, Outlet::unflushed)
    }

    /// Begins the ladder: its stdin closes, and after so many milliseconds come the signals. One that
    /// runs goes on as it is.
    pub(crate) fn stop(&mut self, now: Time, term_ms: u64, kill_ms: u64) {
        if self.ladder.is_none() {
            self.input = None;
            self.ladder = Some(Ladder {
                term_at: Some(now.after(term_ms)),
                kill_at: Some(now.after(kill_ms)),
            });
        }
    }

    /// Shortens a ladder that runs: SIGTERM now, SIGKILL at `kill_at`.
    pub(crate) fn hurry(&mut self, now: Time, kill_at: Time) {
        if let Some(ladder) = &mut self.ladder {
            ladder.term_at = ladder.term_at.map(|at| at.min(now));
            ladder.kill_at = ladder.kill_at.map(|at| at.min(kill_at));
        }
        self.climb(now);
    }

    /// When the next step of the ladder is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let ladder = self.ladder.as_ref().filter(|_| self.exit.is_none())?;
        ladder.term_at.min(ladder.kill_at).or(ladder.kill_at)
    }

    /// Takes the steps that are due.
    pub(crate) fn climb(&mut self, now: Time) {
        let Some(ladder) = self.ladder.as_mut().filter(|_| self.exit.is_none()) else {
            return;
        };
        for (step, signal) in
            [(&mut ladder.term_at, sys::SIGTERM), (&mut ladder.kill_at, sys::SIGKILL)]
        {
            if step.take_if(|at| *at <= now).is_some()
                && sys::signal_group(self.pid, signal).is_err()
            {
                let _ = sys::signal_process(self.pid, signal); // it has moved to another group
            }
        }
    }

    /// Looks whether the process has ended; if so, its reader takes the rest and stops.
    pub(crate) fn look(&mut self) {
        if self.exit.is_none()
            && let Some(status) = sys::ended(self.pid).unwrap_or(Some(Ok(0)))
        {
            self.exit = Some(match status {
                Ok(code) => Exit::Code(code),
                Err(signal) => Exit::Signal(signal),
            });
            self.reader.finish();
        }
    }

    /// The loop is done with a batch of its lines.
    pub(crate) fn give_permit_back(&self) {
        self.reader.permits.give_back();
    }

    /// Reaps it. Only after its end was seen, without which this would wait for ever, and after its
    /// group was dealt with.
    pub(crate) fn reap(mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn connect(
    pipes: (ChildStdin, ChildStdout),
    generation: Generation,
    wiring: &Wiring<'_>,
) -> io::Result<(Outlet, ServerReader)> {
    let (stdin, stdout) = pipes;
    let sink = Sink::own_pipe(stdin.into())?;
    let input = Outlet::new(sink, "server writer", wiring.low_water, wiring.inbox.clone());
    let inbox = wiring.inbox.clone();
    let reader = read_server(generation, stdout.into(), wiring.line_limit, inbox)?;
    Ok((input, reader))
}

fn unstartable(launch: &Launch, error: &io::Error) -> String {
    let program = Path::new(&launch.program);
    let has_slash = program.components().count() > 1;
    let absent = error.kind() == io::ErrorKind::NotFound;
    let has_blank = program.to_string_lossy().contains(' ');
    let cause = if absent && has_blank {
        "no such command; give the command and each of its arguments as a word of its own"
    } else if absent && !has_slash {
        "no such command on PATH"
    } else if absent && program.is_file() {
        "the interpreter in its first line does not exist"
    } else if absent {
        "no such file"
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "it is not an executable file"
    } else {
        &error.to_string().to_ascii_lowercase()
    };
    format!("cannot start '{}': {cause}", program.display())
}
