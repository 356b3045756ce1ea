//! The loop with real processes around it and a core that only relays.
//!
//! Each test starts this test binary again as the program ([`the_program`]), because signals,
//! orphans and reaping belong to a whole process.
#![allow(clippy::disallowed_methods, reason = "these tests wait for real processes")]

use std::collections::VecDeque;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};

use super::event_loop::Core;
use super::*;
use crate::bridge::{Effect, Event, Generation, Limits, Time};

const SCRIPT: &str = "MCP_UPLIFT_TEST_SCRIPT";
const BUFFER: &str = "MCP_UPLIFT_TEST_BUFFER";
const GRACE_MS: &str = "MCP_UPLIFT_TEST_GRACE";
const CWD: &str = "MCP_UPLIFT_TEST_CWD";

/// Of tests that climb the ladder; others set one that they would not survive.
const GRACE: u64 = 600;
const LONG_GRACE: &str = "20000";
/// In milliseconds: at once, on a busy machine.
const SOON: u128 = 10_000;

const LINE: usize = 1 << 20;

// ---- the program ----

/// Relays lines, tells each other event to the client, and obeys lines that begin with `!`.
struct Relay {
    effects: VecDeque<Effect>,
    generation: u32,
}

impl Relay {
    fn tell(&mut self, text: &str) {
        self.effects.push_back(Effect::ToClient(format!("{text}\n").into_bytes().into()));
    }

    fn start(&mut self) {
        self.generation += 1;
        self.effects.push_back(Effect::StartServer(Generation(self.generation)));
    }

    fn obey(&mut self, order: &str) {
        match order {
            "start" => self.start(),
            "stop" => self.effects.push_back(Effect::StopServer(Generation(self.generation))),
            "ping" => self.tell("pong"),
            code => self.effects.push_back(Effect::Exit(code.parse().unwrap())),
        }
    }
}

impl Core for Relay {
    fn handle(&mut self, event: Event, _now: Time) {
        match &event {
            Event::ClientLine(line) => match line.bytes.strip_prefix(b"!") {
                Some(order) => self.obey(std::str::from_utf8(order).unwrap()),
                None => {
                    let bytes = [&line.bytes[..], b"\n"].concat();
                    self.effects.push_back(Effect::ToServer(bytes.into()));
                }
            },
            Event::ServerLine(_, line) => {
                let rest: &[u8] = if line.ended { b"\n" } else { b" (rest)\n" };
                self.effects.push_back(Effect::ToClient([&line.bytes[..], rest].concat().into()));
            }
            Event::ServerClosed(Generation(number)) => {
                self.tell(&format!("closed {number}"));
                self.obey("stop");
            }
            Event::ClientClosed | Event::ClientGone => self.effects.push_back(Effect::Exit(0)),
            Event::Stop(_) | Event::Wake => {}
            Event::ClientOverlong
            | Event::ClientSlow(_)
            | Event::ServerStarted(_)
            | Event::ServerUnstartable(..)
            | Event::ServerOverlong(_)
            | Event::ServerExited(..) => self.tell(&format!("{event:?}")),
        }
    }
    fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }
    fn kept_bytes(&self) -> usize {
        0
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Not a test: the program that the others start.
#[test]
fn the_program() {
    let Ok(script) = env::var(SCRIPT) else { return };
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(60));
        std::process::exit(99); // no test may hang
    });
    let words: Vec<&str> = script.split('\u{1f}').collect();
    let launch = Launch {
        program: words[0].into(),
        args: words[1..].iter().map(Into::into).collect(),
        env: env::vars_os().filter(|(name, _)| name == "PATH").collect(),
        cwd: env::var_os(CWD).map(Into::into),
        no_new_privs: false,
    };
    let limits = Limits {
        line_bytes: LINE,
        buffer_bytes: env::var(BUFFER).map_or(64 << 20, |size| size.parse().unwrap()),
        shutdown_grace_ms: env::var(GRACE_MS).map_or(GRACE, |grace| grace.parse().unwrap()),
        ..Limits::default()
    };
    let mut relay = Relay { effects: VecDeque::new(), generation: 0 };
    relay.start();
    sys::share_heap();
    sys::adopt_orphans();
    io::stdout().write_all(b"\nready\n").unwrap();
    let event_loop = EventLoop::new(relay, launch, limits, Console::new(Verbosity::Normal));
    std::process::exit(event_loop.unwrap().run().into());
}

// ---- the client ----

struct Client {
    program: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn program(script: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "shell::tests::the_program", "--nocapture", "--test-threads=1"]);
    command.env(SCRIPT, script).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// The words `sh -c script`, in one.
fn shell(script: &str) -> String {
    ["sh", "-c", script].join("\u{1f}")
}

/// Starts the program around a shell script, up to the first server's start.
fn around(script: &str) -> Client {
    started(program(&shell(script)))
}

/// The same with so much grace that no test would see its end.
fn patient_around(script: &str) -> Client {
    let mut command = program(&shell(script));
    command.env(GRACE_MS, LONG_GRACE);
    started(command)
}

fn started(command: Command) -> Client {
    let mut client = start(command);
    client.expect("ServerStarted(Generation(1))");
    client
}

fn start(mut command: Command) -> Client {
    let mut program = command.spawn().unwrap();
    let stdin = program.stdin.take();
    let mut stdout = BufReader::new(program.stdout.take().unwrap());
    let mut head = String::new();
    while !head.ends_with("ready\n") {
        assert!(stdout.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let (sender, lines) = unbounded();
    thread::spawn(move || {
        for line in stdout.lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    Client { program, stdin, lines }
}

impl Client {
    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next(&mut self) -> String {
        self.lines.recv_timeout(Duration::from_secs(20)).expect("a line in time")
    }

    fn expect(&mut self, expected: &str) {
        assert_eq!(self.next(), expected);
    }

    /// The number in the next line, which the script prints as `pid 123`.
    fn pid(&mut self) -> i32 {
        self.next().strip_prefix("pid ").unwrap().parse().unwrap()
    }

    fn signal(&self, signal: i32) {
        sys::signal_process(i32::try_from(self.program.id()).unwrap(), signal).unwrap();
    }

    /// Waits for the end; status and how long that took.
    fn end(&mut self) -> (Option<i32>, u128) {
        let begin = Instant::now();
        let status = self.program.wait().unwrap();
        (status.code(), begin.elapsed().as_millis())
    }

    fn close(&mut self) -> (Option<i32>, u128) {
        self.stdin = None;
        self.end()
    }
}

fn lives(pid: i32) -> bool {
    // A zombie is not alive, whoever has to reap it.
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

fn assert_dies(pid: i32) {
    wait_until(&format!("{pid} has ended"), || !lives(pid));
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

// ---- the tests ----

#[test]
fn lines_go_through_and_the_end_is_quick() {
    let mut client = patient_around("echo pid $$; exec cat");
    let pid = client.pid();
    for line in ["one", "two", "ä", "{}"] {
        client.send(line);
        client.expect(line);
    }
    let (status, took) = client.close();
    assert_eq!(status, Some(0));
    assert!(took < SOON, "{took}");
    assert!(!lives(pid));
}

#[test]
fn what_cannot_start_is_named() {
    let unexecutable = env::current_dir().unwrap().join("Cargo.toml");
    let unexecutable = unexecutable.to_str().unwrap();
    for (script, cwd, expected) in [
        ("no-such-command-", None, "cannot start 'no-such-command-': no such command on PATH"),
        ("/no/such/file", None, "cannot start '/no/such/file': no such file"),
        (unexecutable, None, "it is not an executable file"),
        ("cat", Some("/no/such"), "cannot start 'cat': '/no/such' is not a directory"),
    ] {
        let mut command = program(script);
        command.envs(cwd.map(|cwd| (CWD, cwd)));
        let mut client = start(command);
        let told = client.next();
        assert!(told.starts_with("ServerUnstartable(Generation(1)"), "{told}");
        assert!(told.contains(expected), "{told}");
        assert_eq!(client.close().0, Some(0));
    }
}

#[test]
fn the_ladder_ends_with_sigkill() {
    let mut client = around("trap '' TERM; echo pid $$; while :; do sleep 0.05; done");
    let pid = client.pid();
    let begin = Instant::now();
    client.send("!stop");
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Signal(9))");
    let took = begin.elapsed().as_millis();
    assert!(took >= u128::from(GRACE) - 5, "{took}");
    assert!(!lives(pid));
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn the_ladder_tries_sigterm_after_a_third() {
    let mut client = around("echo pid $$; exec sleep 100");
    client.pid();
    let begin = Instant::now();
    client.send("!stop");
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Signal(15))");
    let took = begin.elapsed().as_millis();
    assert!(took >= u128::from(GRACE / 3) - 5, "{took}");
}

#[test]
fn the_next_server_starts_after_the_last() {
    let mut client = around("read line; echo got $line; exit 7");
    client.send("a");
    client.expect("got a");
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Code(7))");
    client.send("!start");
    client.expect("ServerStarted(Generation(2))");
    client.send("b");
    client.expect("got b");
    client.expect("closed 2");
    client.expect("ServerExited(Generation(2), Code(7))");
    assert_eq!(client.close().0, Some(0));
}

#[test]
fn all_lines_come_before_the_exit() {
    let mut client = around("seq 20000; printf 'half'; kill -9 $$");
    for number in 1..=20_000 {
        client.expect(&number.to_string());
    }
    client.expect("half (rest)");
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Signal(9))");
}

#[test]
fn a_grandchild_that_holds_the_pipes_delays_nothing() {
    let mut client = patient_around("sleep 100 & echo pid $!; echo bye; exit 0");
    let pid = client.pid();
    client.expect("bye");
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Code(0))");
    assert_dies(pid);
    client.send("!ping");
    client.expect("pong");
}

#[test]
fn a_stubborn_grandchild_is_killed_before_our_end() {
    let mut client = around("(trap '' TERM; while :; do sleep 0.1; done) & echo pid $!; exit 0");
    let pid = client.pid();
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Code(0))");
    let (status, took) = client.close();
    assert_eq!(status, Some(0));
    assert!(took < SOON, "{took}");
    assert!(!lives(pid));
}

#[test]
#[cfg(target_os = "linux")]
fn descendants_that_left_the_group_are_found() {
    let script = "echo pid $$; setsid sh -c 'echo pid $$; (trap \"\" TERM; setsid sh -c \"echo pid \\$\\$; exec sleep 100\")& exec sleep 100' & cat";
    let mut client = around(script);
    let pids = [client.pid(), client.pid(), client.pid()];
    assert!(pids.into_iter().all(lives));
    let (status, took) = client.close();
    assert_eq!(status, Some(0));
    assert!(took < SOON, "{took}");
    for pid in pids {
        assert!(!lives(pid), "{pids:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn adopted_processes_leave_no_zombies() {
    let mut client = around("for i in 1 2 3 4 5; do (setsid sleep 0.1 &); done; echo ok; exec cat");
    client.expect("ok");
    // From here on all of them are ours: their parents ended before.
    let id = client.program.id();
    let children = || {
        let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let lists = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")));
        lists.map(Result::unwrap_or_default).collect::<String>()
    };
    wait_until("only the server", || children().split_whitespace().count() == 1);
}

#[test]
#[cfg(target_os = "linux")]
fn the_server_does_not_outlive_sigkill() {
    let mut client = around("trap '' TERM; echo pid $$; exec sleep 100");
    let pid = client.pid();
    client.signal(sys::SIGKILL);
    client.end();
    assert_dies(pid);
}

#[test]
fn a_closed_output_is_told_while_the_server_lives() {
    let mut client = around("echo pid $$; exec sleep 100 >&-");
    let pid = client.pid();
    client.expect("closed 1");
    client.expect("ServerExited(Generation(1), Signal(15))");
    assert!(!lives(pid));
}

#[test]
fn signals_end_it_though_the_core_does_nothing() {
    for signal in [sys::SIGTERM, sys::SIGINT, sys::SIGHUP] {
        let mut client = around("echo pid $$; exec cat");
        let pid = client.pid();
        client.signal(signal);
        assert_eq!(client.end().0, Some(128 + signal));
        assert!(!lives(pid));
    }
}

#[test]
fn a_signal_while_it_ends_gives_the_status_and_a_second_one_hurries() {
    let mut client = patient_around("trap '' TERM; echo pid $$; while :; do sleep 0.05; done");
    let pid = client.pid();
    client.stdin = None;
    thread::sleep(Duration::from_millis(50));
    client.signal(sys::SIGTERM);
    thread::sleep(Duration::from_millis(250));
    let begin = Instant::now();
    client.signal(sys::SIGTERM);
    assert_eq!(client.end().0, Some(143));
    assert!(begin.elapsed().as_millis() < SOON);
    assert!(!lives(pid));
}

#[test]
fn a_client_that_stops_reading_is_noticed_when_idle() {
    let mut command = program(&shell("echo pid $$; exec cat"));
    let mut program = command.spawn().unwrap();
    let mut stdout = BufReader::new(program.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("pid ") {
        stdout.read_line(&mut text).unwrap();
    }
    drop(stdout);
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

#[test]
fn long_lines_are_dropped_and_counted() {
    let mut client = around("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo short; exec cat");
    client.expect("ServerOverlong(Generation(1))");
    client.expect("short");
    client.send(&"y".repeat(LINE + 1));
    client.expect("ClientOverlong");
    let longest = "y".repeat(LINE);
    client.send(&longest);
    assert!(client.next() == longest);
}

fn resident_kib(pid: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A client that does not read: the server is not read any further, and nothing is lost.
#[test]
#[cfg(target_os = "linux")]
fn a_slow_client_holds_the_server_up() {
    let mut command =
        program(&shell("yes 0123456789012345678901234567890 | head -n 1000000; echo end"));
    command.env(BUFFER, "2000000");
    let mut program = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(800));
    let resident = resident_kib(program.id());
    assert!(resident < 20_000, "{resident} KiB");
    let mut stdout = BufReader::new(program.stdout.take().unwrap());
    let (mut count, mut slow, mut line) = (0, Vec::new(), String::new());
    while line != "end\n" {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0);
        count += usize::from(line.starts_with("0123"));
        if line.starts_with("ClientSlow") {
            slow.push(line.contains("true"));
        }
    }
    assert_eq!(count, 1_000_000);
    assert_eq!(slow.first(), Some(&true), "{slow:?}");
    assert!(slow.windows(2).all(|pair| pair[0] != pair[1]), "{slow:?}");
    drop(program.stdin.take());
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

/// A server that does not read: the client is not read any further, and signals are served.
#[test]
#[cfg(target_os = "linux")]
fn a_server_that_does_not_read_holds_the_client_up() {
    let mut command = program(&shell("echo pid $$; while :; do sleep 1; done"));
    command.env(BUFFER, "2000000");
    let mut client = start(command);
    client.expect("ServerStarted(Generation(1))");
    let pid = client.pid();
    let mut stdin = client.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        let line = format!("{}\n", "x".repeat(10_000));
        (0..10_000).take_while(|_| stdin.write_all(line.as_bytes()).is_ok()).count()
    });
    thread::sleep(Duration::from_millis(500));
    let resident = resident_kib(client.program.id());
    assert!(resident < 20_000, "{resident} KiB");
    assert!(!writer.is_finished());
    client.signal(sys::SIGTERM);
    let (status, took) = client.end();
    assert_eq!(status, Some(143));
    assert!(took < SOON, "{took}");
    assert!(!lives(pid));
    let written = writer.join().unwrap();
    assert!(written < 400, "{written} lines of 10 kB");
}

/// What is queued when the end is decided still reaches a client that reads slowly.
#[test]
#[cfg(target_os = "linux")]
fn a_slow_client_gets_all_before_the_end() {
    let mark = env::temp_dir().join(format!("mcp-uplift-test-{}", std::process::id()));
    let script =
        "yes 012345678 | head -n 300000; echo end; echo $$ > MARK.new; mv MARK.new MARK; exec cat";
    let mut command = program(&shell(&script.replace("MARK", mark.to_str().unwrap())));
    let mut program = command.spawn().unwrap();
    wait_until("all is written", || mark.exists());
    let pid = fs::read_to_string(&mark).unwrap();
    fs::remove_file(mark).unwrap();
    let output = fs::File::open(format!("/proc/{}/fd/1", pid.trim())).unwrap();
    wait_until("the pipe is empty", || sys::unread(output.as_fd()) == 0);
    drop(output);
    thread::sleep(Duration::from_millis(100)); // what the reader took last has come to the loop
    drop(program.stdin.take());
    thread::sleep(Duration::from_millis(GRACE * 2));
    assert!(program.try_wait().unwrap().is_none());
    let lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line == "012345678").count(), 300_000);
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

/// As Node starts its children: sockets, not pipes.
#[test]
fn sockets_serve_as_well_as_pipes() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = program(&shell("yes 012345678 | head -n 300000; exec cat"));
    command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
    let mut program = command.spawn().unwrap();
    drop(command);
    thread::sleep(Duration::from_millis(500));
    let mut lines = BufReader::new(ours.try_clone().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.by_ref().filter(|line| line == "012345678").take(300_000).count(), 300_000);
    writeln!(&ours, "hello").unwrap();
    assert!(lines.any(|line| line == "hello"));
    drop((ours, lines));
    assert_eq!(program.wait().unwrap().code(), Some(0));
}
