//! The memory player: both scripts and the core on one virtual clock, no process, no waiting.
//!
//! Everything happens at its time: while something is to do the clock stands; when nothing is, it
//! jumps to the next moment anybody waits for. So a case of minutes takes microseconds, and gives
//! the same transcript each time.

use std::collections::{BTreeSet, VecDeque};

use mcp_uplift::bridge::{Bridge, Effect, Event, Exit, Generation, Settings, Time};

use super::case::Case;
use super::checks::check_end;
use super::client_script::{self, ClientScript, ClientWorld};
use super::framing::{Framer, Piece};
use super::json::Json;
use super::pattern::Names;
use super::server_script::{self, ServerScript, ServerWorld};
use super::steps::{Grandchild, ProcessStep};
use super::sys;
use super::transcript::{Transcript, Way};

/// Events at one moment after which the bridge is taken to run in a circle.
const EVENTS_AT_ONCE_MAX: usize = 200_000;

pub(crate) fn play(case: &Case, settings: Settings) -> (Result<(), String>, Transcript) {
    let mut client = ClientScript::new(case, 1.0);
    let mut stage = Stage::new(case, settings);
    let verdict = stage
        .run(&mut client)
        .and_then(|()| check_end(case, &stage.world.transcript, &client.left_over()));
    (verdict, stage.world.transcript)
}

struct Stage<'a> {
    case: &'a Case,
    bridge: Bridge,
    /// `None` before the start, after the end, and between two processes.
    server: Option<Server>,
    world: World,
    grace_ms: u64,
}

struct Server {
    generation: Generation,
    script: ServerScript,
    /// When the bridge began to stop it (H10).
    stop: Option<Time>,
    terminated: bool,
}

/// What the scripts can reach. Times and the transcript live here too.
struct World {
    now: Time,
    events: VecDeque<Event>,
    marks: BTreeSet<String>,
    from_client: Framer,
    from_server: Framer,
    generation: Generation,
    stdin_open: bool,
    server_stdout_open: bool,
    /// The status the bridge wants to end with, and whether it has.
    exit: Option<u8>,
    ended: bool,
    transcript: Transcript,
}

impl<'a> Stage<'a> {
    fn new(case: &'a Case, settings: Settings) -> Self {
        let line_bytes = settings.limits.line_bytes;
        let grace_ms = settings.limits.shutdown_grace_ms;
        let mut seed = 1_u64;
        let entropy = Box::new(move |bytes: &mut [u8]| {
            for byte in bytes {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = seed.to_be_bytes()[0];
            }
        });
        let world = World {
            now: Time(0),
            events: VecDeque::new(),
            marks: BTreeSet::new(),
            from_client: Framer::new(line_bytes),
            from_server: Framer::new(line_bytes),
            generation: Generation(0),
            stdin_open: true,
            server_stdout_open: false,
            exit: None,
            ended: false,
            transcript: Transcript::default(),
        };
        Stage { case, bridge: Bridge::new(settings, entropy), server: None, world, grace_ms }
    }

    fn run(&mut self, client: &mut ClientScript) -> Result<(), String> {
        self.perform(client);
        let mut at_once = 0;
        loop {
            if let Some(event) = self.next_event() {
                at_once += 1;
                if at_once > EVENTS_AT_ONCE_MAX {
                    return Err(format!("the bridge runs in a circle at {} ms", self.world.now.0));
                }
                self.bridge.handle(event, self.world.now);
                self.perform(client);
                continue;
            }
            let server_until = self.poll_server()?;
            self.finish_when_alone();
            if !self.world.events.is_empty() {
                continue;
            }
            let marks = self.world.marks.len();
            let client_until = match client.poll(self.world.now, &mut self.world) {
                client_script::Turn::Done => return Ok(()),
                client_script::Turn::Failed(why) => return Err(why),
                client_script::Turn::Blocked(until) => until,
            };
            if !self.world.events.is_empty() || self.world.marks.len() > marks {
                continue;
            }
            let deadline = if self.world.exit.is_none() { self.bridge.deadline() } else { None };
            let moments = [server_until, deadline, self.next_of_the_stop(), Some(client_until)];
            let next = moments.into_iter().flatten().min().unwrap_or(client_until);
            if next > self.world.now {
                at_once = 0;
                self.world.now = next;
            }
            self.go_on_stopping();
        }
    }

    /// What comes to the bridge now: what happened, or the moment it asked to be woken.
    fn next_event(&mut self) -> Option<Event> {
        if self.world.exit.is_some() {
            self.world.events.clear();
            return None;
        }
        let due = || self.bridge.deadline().filter(|deadline| *deadline <= self.world.now);
        self.world.events.pop_front().or_else(|| due().map(|_| Event::Wake))
    }

    fn perform(&mut self, client: &mut ClientScript) {
        while let Some(effect) = self.bridge.next_effect() {
            match effect {
                Effect::ToClient(frame) => {
                    let bytes = frame.bytes();
                    let ended = bytes.strip_suffix(b"\n");
                    let line = ended.unwrap_or(&bytes);
                    let (message, text) =
                        self.world.transcript.client_read(self.world.now, line, ended.is_some());
                    client.line(message, text);
                }
                Effect::ToServer(frame) => {
                    let bytes = frame.bytes();
                    self.server_reads(bytes.strip_suffix(b"\n").unwrap_or(&bytes));
                }
                Effect::StartServer(generation) => self.start(generation),
                Effect::StopServer(generation) => {
                    if self.server.as_ref().is_some_and(|server| server.generation == generation) {
                        self.begin_to_stop();
                    }
                }
                Effect::Say(level, text) => {
                    self.world.transcript.trace(
                        self.world.now,
                        "C!",
                        &format!("{level:?}: {text}"),
                    );
                    self.world.transcript.stderr.extend(format!("mcp-uplift: {text}\n").bytes());
                }
                Effect::Exit(code) => {
                    self.world.exit = Some(code);
                    self.begin_to_stop();
                }
            }
        }
    }

    fn server_reads(&mut self, line: &[u8]) {
        if let Some(server) = &mut self.server
            && server.stop.is_none()
        {
            self.world.transcript.server_passed(Way::FromBridge, line);
            server.script.line(line.to_vec());
        }
    }

    fn start(&mut self, generation: Generation) {
        self.world.transcript.server_started();
        let start = self.world.transcript.server.len();
        let names = Names::from([("$argv".to_owned(), Json::Array(Vec::new()))]);
        let script = ServerScript::new(self.case, start, 1.0, names);
        self.server = Some(Server { generation, script, stop: None, terminated: false });
        self.world.generation = generation;
        self.world.server_stdout_open = true;
        self.world.event("start");
        self.world.events.push_back(Event::ServerStarted(generation));
    }

    /// The first rung of the ladder: its stdin closes.
    fn begin_to_stop(&mut self) {
        if let Some(server) = &mut self.server
            && server.stop.is_none()
        {
            server.stop = Some(self.world.now);
            server.script.eof();
            self.world.event("eof");
        }
    }

    fn next_of_the_stop(&self) -> Option<Time> {
        let server = self.server.as_ref()?;
        let wait = if server.terminated { self.grace_ms } else { self.grace_ms / 3 };
        server.stop.map(|stop| stop.after(wait))
    }

    /// The other rungs: SIGTERM after a third of the grace, SIGKILL at its end.
    fn go_on_stopping(&mut self) {
        if self.next_of_the_stop().is_none_or(|next| next > self.world.now) {
            return;
        }
        let Some(server) = &mut self.server else {
            return;
        };
        if server.terminated {
            return self.server_ended(Exit::Signal(9));
        }
        server.terminated = true;
        self.world.event("sigterm");
        if server.script.ignores_term() {
            return;
        }
        if server.script.unfinished() {
            self.world.event("unfinished");
        }
        self.world.event("exit");
        self.server_ended(Exit::Code(0));
    }

    fn poll_server(&mut self) -> Result<Option<Time>, String> {
        let Some(server) = &mut self.server else {
            return Ok(None);
        };
        match server.script.poll(self.world.now, &mut self.world) {
            server_script::Turn::Blocked(until) => return Ok(until),
            server_script::Turn::Failed(why) => {
                self.world.trace("S!", &format!("FAIL {why}"));
                return Err(why);
            }
            server_script::Turn::Exit(code) => {
                self.world.event("exit");
                self.server_ended(Exit::Code(code));
            }
            server_script::Turn::Killed => {
                self.world.event("kill_self");
                self.server_ended(Exit::Signal(9));
            }
        }
        Ok(None)
    }

    fn server_ended(&mut self, exit: Exit) {
        self.world.close_stdout();
        self.world.events.push_back(Event::ServerExited(self.world.generation, exit));
        self.server = None;
    }

    /// A bridge that wants to end has ended once its server has.
    fn finish_when_alone(&mut self) {
        if let Some(code) = self.world.exit
            && self.server.is_none()
            && !self.world.ended
        {
            self.world.ended = true;
            self.world.transcript.trace(self.world.now, "C!", &format!("bridge exited {code}"));
        }
    }
}

impl World {
    fn server_pieces(&mut self, pieces: Vec<Piece>) {
        let generation = self.generation;
        for piece in pieces {
            self.events.push_back(match piece {
                Piece::Line(line) => {
                    self.transcript.server_passed(Way::ToBridge, &line.bytes);
                    Event::ServerLine(generation, line)
                }
                Piece::Overlong => Event::ServerOverlong(generation),
            });
        }
    }

    fn client_pieces(&mut self, pieces: Vec<Piece>) {
        self.events.extend(pieces.into_iter().map(|piece| match piece {
            Piece::Line(line) => Event::ClientLine(line),
            Piece::Overlong => Event::ClientOverlong,
        }));
    }
}

impl ServerWorld for World {
    fn standing(&mut self, _unfinished: bool, _ignores_term: bool) {}

    fn write(&mut self, bytes: &[u8]) {
        if self.server_stdout_open {
            let pieces = self.from_server.push(bytes);
            self.server_pieces(pieces);
        }
    }

    fn write_stderr(&mut self, bytes: &[u8]) {
        self.transcript.stderr.extend_from_slice(bytes);
    }

    fn event(&mut self, name: &str) {
        self.transcript.events.push(name.to_owned());
        self.transcript.trace(self.now, "S!", name);
    }

    fn trace(&mut self, kind: &str, text: &str) {
        self.transcript.trace(self.now, kind, text);
    }

    fn set_mark(&mut self, name: &str) {
        self.marks.insert(name.to_owned());
    }

    fn has_mark(&self, name: &str) -> bool {
        self.marks.contains(name)
    }

    fn close_stdout(&mut self) {
        if self.server_stdout_open {
            self.server_stdout_open = false;
            let rest = self.from_server.end();
            self.server_pieces(rest.into_iter().collect());
            self.events.push_back(Event::ServerClosed(self.generation));
        }
    }

    fn read_on(&mut self, _reading: bool) {}

    fn fork(&mut self, _grandchild: Grandchild) {}
}

impl ClientWorld for World {
    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.transcript.client_wrote(self.now, bytes);
        if self.ended || !self.stdin_open {
            return Err("the bridge no longer reads its stdin".to_owned());
        }
        let pieces = self.from_client.push(bytes);
        self.client_pieces(pieces);
        Ok(())
    }

    fn close_stdin(&mut self) {
        if self.stdin_open {
            self.stdin_open = false;
            self.transcript.client_closed();
            self.transcript.trace(self.now, "C!", "stdin closed");
            let rest = self.from_client.end();
            self.client_pieces(rest.into_iter().collect());
            self.events.push_back(Event::ClientClosed);
        }
    }

    fn signal(&mut self, name: &str) -> Result<(), String> {
        let number = match name {
            "HUP" => sys::SIGHUP,
            "INT" => sys::SIGINT,
            "TERM" => sys::SIGTERM,
            _ => return Err(format!("no case sends SIG{name} in memory")),
        };
        self.transcript.trace(self.now, "C!", &format!("SIG{name}"));
        self.events.push_back(Event::Stop(number));
        Ok(())
    }

    fn set_mark(&mut self, name: &str) {
        self.marks.insert(name.to_owned());
    }

    fn has_mark(&self, name: &str) -> bool {
        self.marks.contains(name)
    }

    fn exit_status(&mut self) -> Option<i64> {
        self.exit.filter(|_| self.ended).map(i64::from)
    }

    fn process_step(&mut self, _step: &ProcessStep) -> Result<(), String> {
        Err("this step needs a process".to_owned())
    }
}
