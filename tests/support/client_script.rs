//! The scripted client: plays the `client` steps of a case, told the time, doing nothing itself.

use mcp_uplift::bridge::Time;

use super::case::Case;
use super::json::{Json, short};
use super::pattern::{Names, line_of, matches, would_match};
use super::sending::Sending;
use super::steps::{ClientStep, ProcessStep, Raw, RawText, scaled};

/// What a scripted client can do to the world, and see of it.
pub(crate) trait ClientWorld {
    fn write(&mut self, bytes: &[u8]) -> Result<(), String>;
    fn close_stdin(&mut self);
    fn signal(&mut self, name: &str) -> Result<(), String>;
    fn set_mark(&mut self, name: &str);
    fn has_mark(&self, name: &str) -> bool;
    /// How the bridge ended; a signal counts negative.
    fn exit_status(&mut self) -> Option<i64>;
    /// Does, or looks at, what only a real process has.
    fn process_step(&mut self, step: &ProcessStep) -> Result<(), String>;
}

/// Where the script has come to.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    /// Nothing to do before this moment unless something arrives.
    Blocked(Time),
    Failed(String),
    Done,
}

enum Progress {
    Done,
    Blocked(Time),
    Wrong(String),
}

/// A line the bridge wrote that no step has taken yet.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) message: Json,
    pub(crate) text: String,
}

pub(crate) struct ClientScript {
    steps: Vec<ClientStep>,
    at: usize,
    /// When the current step, or its current part, began.
    since: Option<Time>,
    /// A `send_raw` that is under way.
    raw: Option<Sending>,
    /// How many of the waiting lines the current step has looked at.
    seen: usize,
    /// Whether the last step has closed what was open.
    closed: bool,
    names: Names,
    inbox: Vec<Waiting>,
    optional: Vec<Json>,
    scale: f64,
}

impl ClientScript {
    pub(crate) fn new(case: &Case, scale: f64) -> Self {
        ClientScript {
            steps: case.client.clone(),
            at: 0,
            since: None,
            raw: None,
            seen: 0,
            closed: false,
            names: Names::new(),
            inbox: Vec::new(),
            optional: Vec::new(),
            scale,
        }
    }

    /// A line from the bridge; one that is no JSON counts as null and is complained of elsewhere.
    pub(crate) fn line(&mut self, message: Json, text: String) {
        self.inbox.push(Waiting { message, text });
    }

    /// What no step took and no `maybe` allows.
    pub(crate) fn left_over(&self) -> Vec<&Waiting> {
        let mut allowed: Vec<&Json> = self.optional.iter().collect();
        let mut rest = Vec::new();
        for waiting in &self.inbox {
            let allows = |pattern: &&Json| would_match(pattern, &waiting.message, &self.names);
            match allowed.iter().position(allows) {
                Some(n) => drop(allowed.remove(n)),
                None => rest.push(waiting),
            }
        }
        rest
    }

    /// Names the current step, for a complaint about it.
    pub(crate) fn place(&self) -> String {
        match self.steps.get(self.at) {
            Some(ClientStep::Finish { .. }) | None => "at the end".to_owned(),
            Some(_) => format!("client step {}", self.at + 1),
        }
    }

    pub(crate) fn poll(&mut self, now: Time, world: &mut dyn ClientWorld) -> Turn {
        while let Some(step) = self.steps.get(self.at).cloned() {
            let since = *self.since.get_or_insert(now);
            match self.play(&step, since, now, world) {
                Progress::Done => {
                    self.at += 1;
                    self.since = None;
                    self.seen = 0;
                }
                Progress::Blocked(until) => return Turn::Blocked(until),
                Progress::Wrong(why) => return Turn::Failed(format!("{}: {why}", self.place())),
            }
        }
        Turn::Done
    }

    fn play(
        &mut self,
        step: &ClientStep,
        since: Time,
        now: Time,
        world: &mut dyn ClientWorld,
    ) -> Progress {
        match step {
            ClientStep::Send { message, may_fail } => {
                let sent = line_of(message, &self.names).and_then(|line| world.write(&line));
                if let Err(why) = sent
                    && !may_fail
                {
                    return Progress::Wrong(why);
                }
            }
            ClientStep::SendRaw(raw) => return self.send_raw(raw, now, world),
            ClientStep::Expect { pattern, within_ms, next, raw } => {
                let until = since.after(scaled(self.scale, *within_ms));
                return self.expect(pattern, *next, raw, until, now);
            }
            ClientStep::Maybe(pattern) => self.optional.push(pattern.clone()),
            ClientStep::ExpectNone { ms, matching } => {
                return self.quiet(matching.as_ref(), since.after(*ms), now);
            }
            ClientStep::Sleep { ms } if now < since.after(*ms) => {
                return Progress::Blocked(since.after(*ms));
            }
            ClientStep::Mark(name) => world.set_mark(name),
            ClientStep::WaitMark { name, within_ms } => {
                if !world.has_mark(name) {
                    let until = since.after(scaled(self.scale, *within_ms));
                    let never = || format!("the server never reached the mark {name}");
                    return blocked_or_wrong(until, now, never);
                }
            }
            ClientStep::Differ(a, b) => return self.differ(a, b),
            ClientStep::CloseStdin => world.close_stdin(),
            ClientStep::Signal(name) => {
                if let Err(why) = world.signal(name) {
                    return Progress::Wrong(why);
                }
            }
            ClientStep::ExpectExit { codes, within_ms } => {
                let until = since.after(scaled(self.scale, *within_ms));
                return expect_exit(codes.as_deref(), until, now, world);
            }
            ClientStep::Process { step, within_ms } => {
                let until = since.after(scaled(self.scale, *within_ms));
                if let Err(why) = world.process_step(step) {
                    return blocked_or_wrong(until, now, || why);
                }
            }
            ClientStep::Sleep { .. } | ClientStep::Note => {}
            ClientStep::Finish { codes } => {
                return self.finish(codes.as_deref(), since, now, world);
            }
        }
        Progress::Done
    }

    fn expect(
        &mut self,
        pattern: &Json,
        next: bool,
        raw: &Raw,
        until: Time,
        now: Time,
    ) -> Progress {
        while let Some(Waiting { message, text }) = self.inbox.get(self.seen).cloned() {
            match matches(pattern, &message, &mut self.names) {
                Ok(()) => {
                    self.inbox.remove(self.seen);
                    return raw.check(&text).map_or_else(Progress::Wrong, |()| Progress::Done);
                }
                Err(reason) if next || self.is_the_reply(pattern, &message) => {
                    return Progress::Wrong(format!("{reason} in {}", short(&text, 300)));
                }
                Err(_) => self.seen += 1,
            }
        }
        blocked_or_wrong(until, now, || {
            let others: Vec<_> = self.inbox.iter().map(|w| short(&w.text, 120)).collect();
            let others = if others.is_empty() { "nothing".to_owned() } else { others.join("; ") };
            format!("no {} in time; waiting unread: {others}", pattern.short(160))
        })
    }

    /// A reply with the id this step waits for that did not match fails at once.
    fn is_the_reply(&self, pattern: &Json, message: &Json) -> bool {
        let wanted = pattern.get("id");
        let captured = wanted.and_then(Json::text).filter(|text| text.starts_with('$'));
        let wanted = captured.map_or(wanted, |name| self.names.get(name));
        let found = message.get("id").filter(|_| !message.has("method"));
        wanted.is_some_and(|wanted| found.is_some_and(|found| wanted.same(found)))
    }

    fn quiet(&mut self, matching: Option<&Json>, until: Time, now: Time) -> Progress {
        let disturbs = |waiting: &&&Waiting| {
            matching.is_none_or(|pattern| would_match(pattern, &waiting.message, &self.names))
        };
        if let Some(waiting) = self.left_over().iter().find(disturbs) {
            return Progress::Wrong(format!("expected silence, got {}", short(&waiting.text, 300)));
        }
        if now < until { Progress::Blocked(until) } else { Progress::Done }
    }

    fn differ(&self, a: &str, b: &str) -> Progress {
        match (self.names.get(a), self.names.get(b)) {
            (Some(x), Some(y)) if x.same(y) => {
                Progress::Wrong(format!("{a} and {b} are equal: {}", x.short(160)))
            }
            (Some(_), Some(_)) => Progress::Done,
            (None, _) | (_, None) => Progress::Wrong(format!("{a} or {b} was never captured")),
        }
    }

    fn send_raw(&mut self, step: &RawText, now: Time, world: &mut dyn ClientWorld) -> Progress {
        let sending = self.raw.take().map_or_else(|| Sending::of(step, &self.names), Ok);
        let gone = sending.and_then(|mut sending| {
            let at = sending.go_on(step, now, &mut |piece| world.write(piece))?;
            self.raw = at.map(|_| sending);
            Ok(at)
        });
        match gone {
            Ok(None) => Progress::Done,
            Ok(Some(at)) => Progress::Blocked(at),
            Err(why) => Progress::Wrong(why),
        }
    }

    /// Closes our end unless the bridge has ended by itself, and waits for its end.
    fn finish(
        &mut self,
        codes: Option<&[i64]>,
        since: Time,
        now: Time,
        world: &mut dyn ClientWorld,
    ) -> Progress {
        if !self.closed {
            self.closed = true;
            if world.exit_status().is_some() {
                return Progress::Done;
            }
            world.close_stdin();
        }
        expect_exit(codes, since.after(scaled(self.scale, 8000)), now, world)
    }
}

fn expect_exit(
    codes: Option<&[i64]>,
    until: Time,
    now: Time,
    world: &mut dyn ClientWorld,
) -> Progress {
    match world.exit_status() {
        Some(code) if codes.is_none_or(|codes| codes.contains(&code)) => Progress::Done,
        Some(code) => Progress::Wrong(format!("exit status {code} instead of {codes:?}")),
        None => blocked_or_wrong(until, now, || "the bridge is still running".to_owned()),
    }
}

fn blocked_or_wrong(until: Time, now: Time, why: impl FnOnce() -> String) -> Progress {
    if now < until { Progress::Blocked(until) } else { Progress::Wrong(why()) }
}
