//! The scripted server: plays the `server` steps of a case, told the time, doing nothing itself.
//!
//! Whoever plays it puts in what arrives ([`ServerScript::line`], [`ServerScript::eof`]) and calls
//! [`ServerScript::poll`] until that blocks. So the same script runs on a virtual clock beside the
//! core and on the wall clock in a process of its own.

use std::collections::VecDeque;

use mcp_uplift::bridge::Time;

use super::case::Case;
use super::json::{Json, short};
use super::pattern::{Names, line_of, matches, raw_bytes, would_match};
use super::sending::Sending;
use super::steps::{Expectation, Grandchild, RawText, ServerStep, scaled};

/// What a scripted server can do to the world.
pub(crate) trait ServerWorld {
    /// How the script stands before each step: whether it waits for more, and ignores SIGTERM.
    fn standing(&mut self, unfinished: bool, ignores_term: bool);
    fn write(&mut self, bytes: &[u8]);
    fn write_stderr(&mut self, bytes: &[u8]);
    fn event(&mut self, name: &str);
    fn trace(&mut self, kind: &str, text: &str);
    fn set_mark(&mut self, name: &str);
    fn has_mark(&self, name: &str) -> bool;
    fn close_stdout(&mut self);
    fn read_on(&mut self, reading: bool);
    fn fork(&mut self, grandchild: Grandchild);
}

/// Where the script has come to.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    /// Nothing to do before this moment (`None`: ever) unless something arrives.
    Blocked(Option<Time>),
    /// The bridge did something wrong; said once, then the script waits for its end.
    Failed(String),
    Exit(i32),
    Killed,
}

enum Input {
    Line(Vec<u8>),
    Eof,
}

/// How far one step came.
enum Progress {
    Done,
    Blocked(Time),
    Wrong(String),
    /// Stdin has closed and nothing is left to do.
    Leave,
    Exit(i32),
    Killed,
}

/// What [`ServerScript::next_message`] found.
enum Found {
    Message(Json, String),
    Eof,
    Nothing,
    Wrong(String),
}

pub(crate) struct ServerScript {
    steps: Vec<(usize, ServerStep)>,
    at: usize,
    /// When the current step, or its current part, began.
    since: Option<Time>,
    /// The patterns an `expect_all` still waits for.
    left: Option<Vec<Json>>,
    /// A `send_raw` that is under way.
    raw: Option<Sending>,
    names: Names,
    autos: Vec<(Json, Json)>,
    ignored: Vec<Json>,
    inbox: VecDeque<Input>,
    scale: f64,
    keep_after_eof: bool,
    ignores_term: bool,
    seen_eof: bool,
    failed: bool,
    left_for_good: bool,
}

impl ServerScript {
    /// The script of the n-th start of this case's server.
    pub(crate) fn new(case: &Case, start: usize, scale: f64, names: Names) -> Self {
        ServerScript {
            steps: case.server_script(start).to_vec(),
            at: 0,
            since: None,
            left: None,
            raw: None,
            names,
            autos: Vec::new(),
            ignored: Vec::new(),
            inbox: VecDeque::new(),
            scale,
            keep_after_eof: false,
            ignores_term: false,
            seen_eof: false,
            failed: false,
            left_for_good: false,
        }
    }

    pub(crate) fn line(&mut self, line: Vec<u8>) {
        self.inbox.push_back(Input::Line(line));
    }

    pub(crate) fn eof(&mut self) {
        self.inbox.push_back(Input::Eof);
    }

    pub(crate) fn ignores_term(&self) -> bool {
        self.ignores_term
    }

    pub(crate) fn waits_for_mark(&self) -> bool {
        matches!(self.steps.get(self.at), Some((_, ServerStep::WaitMark(_))))
    }

    /// Whether the script still waits for something from the bridge.
    pub(crate) fn unfinished(&self) -> bool {
        let waits = |step: &ServerStep| {
            if let ServerStep::Expect(expectation) = step {
                return !expectation.or_eof;
            }
            matches!(step, ServerStep::ExpectEof { .. })
        };
        let left = self.steps.get(self.at..).unwrap_or_default();
        left.iter().any(|(_, step)| waits(step))
    }

    pub(crate) fn poll(&mut self, now: Time, world: &mut dyn ServerWorld) -> Turn {
        if self.failed {
            while let Some(input) = self.inbox.pop_front() {
                self.seen_eof |= matches!(input, Input::Eof);
            }
            return if self.seen_eof { Turn::Exit(0) } else { Turn::Blocked(None) };
        }
        while !self.left_for_good {
            let Some((number, step)) = self.steps.get(self.at).cloned() else {
                world.standing(false, self.ignores_term);
                return self.after_the_script(now, world);
            };
            world.standing(self.unfinished(), self.ignores_term);
            let since = *self.since.get_or_insert(now);
            match self.play(&step, since, now, world) {
                Progress::Done => {
                    self.at += 1;
                    self.since = None;
                }
                Progress::Blocked(until) => return Turn::Blocked(Some(until)),
                Progress::Wrong(why) => return self.fail(&format!("server step {number}: {why}")),
                Progress::Leave => return self.leave(),
                Progress::Exit(code) => return Turn::Exit(code),
                Progress::Killed => return Turn::Killed,
            }
        }
        Turn::Blocked(None)
    }

    fn fail(&mut self, why: &str) -> Turn {
        self.failed = true;
        Turn::Failed(why.to_owned())
    }

    /// Exit, or stay until a signal where the case says so.
    fn leave(&mut self) -> Turn {
        self.at = self.steps.len();
        self.left_for_good = self.keep_after_eof;
        if self.keep_after_eof { Turn::Blocked(None) } else { Turn::Exit(0) }
    }

    /// Nothing more may come except what `auto` or `ignore` covers.
    fn after_the_script(&mut self, now: Time, world: &mut dyn ServerWorld) -> Turn {
        match self.next_message(world) {
            Found::Nothing => Turn::Blocked(None),
            Found::Eof => self.leave(),
            Found::Wrong(why) => self.fail(&format!("at {} ms: {why}", now.0)),
            Found::Message(message, _) => self
                .fail(&format!("unexpected after the end of the script: {}", message.short(160))),
        }
    }

    fn play(
        &mut self,
        step: &ServerStep,
        since: Time,
        now: Time,
        world: &mut dyn ServerWorld,
    ) -> Progress {
        match step {
            ServerStep::Expect(expectation) => return self.expect(expectation, since, now, world),
            ServerStep::ExpectNone { ms } => return self.quiet(since.after(*ms), now, world),
            ServerStep::ExpectEof { within_ms } => {
                return self.expect_eof(since.after(scaled(self.scale, *within_ms)), now, world);
            }
            ServerStep::Send(message) => match line_of(message, &self.names) {
                Ok(line) => send(&line, world),
                Err(why) => return Progress::Wrong(why),
            },
            ServerStep::SendRaw(raw) => return self.send_raw(raw, now, world),
            ServerStep::Auto { pattern, reply } => {
                self.autos.push((pattern.clone(), reply.clone()));
            }
            ServerStep::Ignore(pattern) => self.ignored.push(pattern.clone()),
            ServerStep::Stderr(text) => match raw_bytes(text, &self.names) {
                Ok(bytes) => world.write_stderr(&bytes),
                Err(why) => return Progress::Wrong(why),
            },
            ServerStep::Sleep { ms } => return wait_until(since.after(*ms), now),
            ServerStep::Mark(name) => world.set_mark(name),
            ServerStep::WaitMark(name) => {
                if !world.has_mark(name) {
                    let until = since.after(scaled(self.scale, 10_000));
                    let never = || format!("the client never set the mark {name}");
                    return blocked_or_wrong(until, now, never);
                }
            }
            ServerStep::IgnoreEof => self.keep_after_eof = true,
            ServerStep::IgnoreTerm => self.ignores_term = true,
            ServerStep::CloseStdout => world.close_stdout(),
            ServerStep::Reading(reading) => world.read_on(*reading),
            ServerStep::Fork(grandchild) => world.fork(*grandchild),
            ServerStep::Exit(code) => return Progress::Exit(*code),
            ServerStep::KillSelf => return Progress::Killed,
            ServerStep::Note => {}
        }
        Progress::Done
    }

    fn expect(
        &mut self,
        expectation: &Expectation,
        since: Time,
        now: Time,
        world: &mut dyn ServerWorld,
    ) -> Progress {
        let mut left = self.left.take().unwrap_or_else(|| expectation.patterns.clone());
        let mut since = since;
        while !left.is_empty() {
            let within = scaled(self.scale, expectation.within_ms);
            match self.next_message(world) {
                Found::Message(message, line) => {
                    if let Err(why) = self.take_one(&mut left, &message, &line, expectation) {
                        return Progress::Wrong(why);
                    }
                    since = now; // each message has its own time
                }
                Found::Nothing => {
                    let pattern = left[0].short(160);
                    let late = || format!("nothing arrived within {within} ms; expected {pattern}");
                    self.left = Some(left);
                    self.since = Some(since);
                    return blocked_or_wrong(since.after(within), now, late);
                }
                Found::Eof if expectation.or_eof => return Progress::Leave,
                Found::Eof => {
                    return Progress::Wrong(format!(
                        "stdin closed; expected {}",
                        left[0].short(160)
                    ));
                }
                Found::Wrong(why) => return Progress::Wrong(why),
            }
        }
        Progress::Done
    }

    /// Takes the first pattern that the message matches off the list.
    fn take_one(
        &mut self,
        left: &mut Vec<Json>,
        message: &Json,
        line: &str,
        expectation: &Expectation,
    ) -> Result<(), String> {
        if !message.has("jsonrpc") {
            return Err(format!("not a JSON-RPC object: {}", message.short(160)));
        }
        let mut reasons = Vec::new();
        for n in 0..left.len() {
            match matches(&left[n], message, &mut self.names) {
                Ok(()) => {
                    left.remove(n);
                    return expectation.raw.check(line);
                }
                Err(reason) => reasons.push(reason),
            }
        }
        Err(format!("{} in {}", reasons.join(" / "), message.short(160)))
    }

    fn quiet(&mut self, until: Time, now: Time, world: &mut dyn ServerWorld) -> Progress {
        match self.next_message(world) {
            Found::Nothing => wait_until(until, now),
            Found::Eof => Progress::Wrong("stdin closed during a quiet period".to_owned()),
            Found::Wrong(why) => Progress::Wrong(why),
            Found::Message(message, _) => {
                Progress::Wrong(format!("expected silence, got {}", message.short(160)))
            }
        }
    }

    fn expect_eof(&mut self, until: Time, now: Time, world: &mut dyn ServerWorld) -> Progress {
        let late = |got: &str| format!("expected stdin to close, got {got}");
        match self.next_message(world) {
            Found::Eof => Progress::Done,
            Found::Nothing => blocked_or_wrong(until, now, || late("nothing")),
            Found::Wrong(why) => Progress::Wrong(why),
            Found::Message(message, _) => Progress::Wrong(late(&message.short(160))),
        }
    }

    fn send_raw(&mut self, step: &RawText, now: Time, world: &mut dyn ServerWorld) -> Progress {
        let sending = self.raw.take().map_or_else(
            || {
                let sending = Sending::of(step, &self.names)?;
                world.trace("S>", &short(&String::from_utf8_lossy(&sending.bytes), 300));
                Ok(sending)
            },
            Ok,
        );
        let gone = sending.and_then(|mut sending| {
            let mut write = |piece: &[u8]| {
                world.write(piece);
                Ok(())
            };
            let at = sending.go_on(step, now, &mut write)?;
            self.raw = at.map(|_| sending);
            Ok(at)
        });
        match gone {
            Ok(None) => Progress::Done,
            Ok(Some(at)) => Progress::Blocked(at),
            Err(why) => Progress::Wrong(why),
        }
    }

    /// The next message that no `auto` or `ignore` takes.
    fn next_message(&mut self, world: &mut dyn ServerWorld) -> Found {
        while let Some(input) = self.inbox.pop_front() {
            let Input::Line(line) = input else {
                self.seen_eof = true;
                return Found::Eof;
            };
            let text = String::from_utf8_lossy(&line).into_owned();
            world.trace("S<", &text);
            let parsed = str::from_utf8(&line).map_err(|e| e.to_string()).and_then(Json::parse);
            let message = match parsed {
                Ok(message) => message,
                Err(why) => {
                    let text = short(&text, 160);
                    return Found::Wrong(format!("the bridge wrote a line that is {why}: {text}"));
                }
            };
            if self.ignored.iter().any(|pattern| would_match(pattern, &message, &self.names)) {
                continue;
            }
            match self.automatic(&message) {
                Some(Ok(line)) => send(&line, world),
                Some(Err(why)) => return Found::Wrong(why),
                None => return Found::Message(message, text),
            }
        }
        Found::Nothing
    }

    /// The line that an `auto` step answers this message with.
    fn automatic(&self, message: &Json) -> Option<Result<Vec<u8>, String>> {
        self.autos.iter().find_map(|(pattern, reply)| {
            let mut names = self.names.clone();
            matches(pattern, message, &mut names).ok()?;
            names.insert("$id".to_owned(), message.get("id").cloned().unwrap_or(Json::Null));
            Some(line_of(reply, &names))
        })
    }
}

fn send(line: &[u8], world: &mut dyn ServerWorld) {
    world.trace("S>", String::from_utf8_lossy(line).trim_end());
    world.write(line);
}

fn wait_until(until: Time, now: Time) -> Progress {
    if now < until { Progress::Blocked(until) } else { Progress::Done }
}

fn blocked_or_wrong(until: Time, now: Time, why: impl FnOnce() -> String) -> Progress {
    if now < until { Progress::Blocked(until) } else { Progress::Wrong(why()) }
}
