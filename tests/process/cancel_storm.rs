//! Thousands of calls through one bridge, half of them cancelled at any moment of their lives.
//!
//! A cancellation and an answer can cross, so an answer after a cancellation is no fault by itself.
//! But the bridge takes our lines in order: once it has answered a `server/discover` that we sent
//! behind a cancellation (a fence), nothing may come for what was cancelled before it (F8).

use std::collections::{BTreeSet, HashMap};

use crate::client::{self, Client, Ticket, answered, call, cancel, method, text, ticket};
use crate::dice::Dice;
use crate::json::Json;
use crate::size;

/// The default of `--max-in-flight`: more would be refused.
const IN_FLIGHT: usize = 32;

/// Parked calls that nobody comes back to; far fewer than may be parked (E14).
const FORGOTTEN: usize = 8;

pub(crate) fn calls_are_cancelled_at_any_moment() -> String {
    let mut storm = Storm::new(size(2_000, 10_000));
    storm.client.discover(); // while it waits for the handshake it counts as in flight, too
    let (mut early, mut late) = (0, 0);
    while !storm.is_over() {
        if storm.calls.len() < storm.total {
            storm.start_calls();
        } else if late == 0 {
            late = storm.client.resident_kb();
        }
        if early == 0 && storm.calls.len() * 10 >= storm.total {
            early = storm.client.resident_kb();
        }
        storm.step();
    }
    let after = storm.client.resident_kb();
    assert!(
        after <= early + 300,
        "memory: {early} KB, at the last call {late} KB, then {after} KB"
    );
    let (asked, start) =
        (storm.client.call("echo", &arguments(storm.total)), storm.client.work.now());
    storm.client.answer(asked);
    let waited = storm.client.work.now().since(start);
    assert!(waited < 1000, "a plain call took {waited} ms after the storm");
    storm.end(&format!("{early} KB at a tenth, {after} KB at the end, then a call in {waited} ms"))
}

/// When a call is to be cancelled.
#[derive(Clone, Copy, PartialEq)]
enum Moment {
    /// In the same write as the call.
    AtOnce,
    /// After so many more lines of the bridge.
    Later(u64),
    /// As soon as it certainly runs.
    AtProgress,
    /// Instead of answering its question.
    WhenParked,
    /// In the same write as the answers to its question.
    WithTheRetry,
    /// Too late.
    Answered,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Open,
    Parked,
    /// Cancelled; its answer may cross that.
    Cancelled,
    /// Cancelled, and the bridge has long known.
    Fenced,
    Done,
    Forgotten,
}

struct Call {
    tool: &'static str,
    moment: Moment,
    state: State,
    /// The id of its newest request.
    leg: u64,
    /// Where it stopped last.
    ticket: Option<Ticket>,
    /// It was cancelled after its last answer had come.
    too_late: bool,
}

/// What is to be done once so many lines were read.
enum Plan {
    Cancel(u64, usize),
    Retry(u64, usize),
}

struct Storm {
    client: Client,
    dice: Dice,
    total: usize,
    calls: Vec<Call>,
    /// The call of each id, and whether it was answered.
    legs: HashMap<u64, (usize, bool)>,
    open: usize,
    plans: Vec<Plan>,
    lines: u64,
    unfenced: Vec<usize>,
    fences: HashMap<u64, Vec<usize>>,
    crossed: usize,
    forgotten: usize,
}

impl Storm {
    fn new(total: u64) -> Storm {
        Storm {
            client: Client::start("cancel-storm", &[], &[]),
            dice: Dice::new(1),
            total: usize::try_from(total).expect("a small number"),
            calls: Vec::new(),
            legs: HashMap::new(),
            open: 0,
            plans: Vec::new(),
            lines: 0,
            unfenced: Vec::new(),
            fences: HashMap::new(),
            crossed: 0,
            forgotten: 0,
        }
    }

    fn is_over(&self) -> bool {
        let is_settled =
            |call: &Call| !matches!(call.state, State::Open | State::Parked | State::Cancelled);
        self.calls.len() == self.total && self.plans.is_empty() && self.calls.iter().all(is_settled)
    }

    fn start_calls(&mut self) {
        while self.open < IN_FLIGHT && self.calls.len() < self.total {
            let tools =
                ["echo", "echo", "work", "work", "work", "ask", "ask", "ask", "ask", "hang"];
            let tool = self.dice.pick(&tools);
            let moment = match self.dice.below(12) {
                _ if tool == "hang" => Moment::AtProgress, // nothing else would end it
                0 => Moment::AtOnce,
                1..=3 => Moment::Later(self.dice.below(120)),
                4 | 5 if tool == "work" => Moment::AtProgress,
                4 if tool == "ask" => Moment::WhenParked,
                5 if tool == "ask" => Moment::WithTheRetry,
                4 | 5 => Moment::Later(self.dice.below(5)),
                6 => Moment::Answered,
                _ => Moment::Never,
            };
            let n = self.calls.len();
            let leg = self.client.next_id();
            let mut lines = client::request(leg, "tools/call", &call(tool, &arguments(n)));
            self.calls.push(Call {
                tool,
                moment,
                state: State::Open,
                leg,
                ticket: None,
                too_late: false,
            });
            self.legs.insert(leg, (n, false));
            self.open += 1;
            match moment {
                Moment::AtOnce => lines = format!("{lines}\n{}", self.cancelling(n)),
                Moment::Later(wait) => self.plans.push(Plan::Cancel(self.lines + wait, n)),
                Moment::AtProgress
                | Moment::WhenParked
                | Moment::WithTheRetry
                | Moment::Answered
                | Moment::Never => {}
            }
            self.client.send(&lines);
        }
    }

    /// Takes one line, if one comes soon, and does what has become due.
    fn step(&mut self) {
        match self.client.message_within(5) {
            Some(message) => self.take(&message),
            None => self.lines += 5, // plans are not to wait for lines that do not come
        }
        self.lines += 1;
        let (lines, mut due) = (self.lines, Vec::new());
        self.plans.retain(|plan| {
            let (Plan::Cancel(at, n) | Plan::Retry(at, n)) = plan;
            let is_due = *at <= lines;
            if is_due {
                due.push((matches!(plan, Plan::Cancel(..)), *n));
            }
            !is_due
        });
        for (is_cancel, n) in due {
            if is_cancel { self.cancel(n) } else { self.retry(n) }
        }
        let is_enough = self.unfenced.len() >= 8 || self.plans.is_empty();
        if is_enough && !self.unfenced.is_empty() {
            let fence = self.client.request("server/discover", "");
            self.fences.insert(fence, std::mem::take(&mut self.unfenced));
        }
    }

    fn take(&mut self, message: &Json) {
        if method(message) == Some("notifications/progress") {
            let leg = message.get("params").and_then(|p| p.get("progressToken")?.as_u64());
            let (n, is_answered) = self.legs[&leg.expect("a token of ours")];
            assert!(!is_answered, "progress behind the answer: {}", message.short(200));
            assert_ne!(self.calls[n].state, State::Fenced, "progress of a cancelled call");
            if self.calls[n].moment == Moment::AtProgress {
                self.cancel(n);
            }
            return;
        }
        let id = answered(message).unwrap_or_else(|| self.client.fail(&message.short(200)));
        if let Some(cancelled) = self.fences.remove(&id) {
            for n in cancelled {
                if self.calls[n].state == State::Cancelled {
                    self.calls[n].state = State::Fenced;
                }
            }
            return;
        }
        let (n, is_answered) = self.legs.get_mut(&id).expect("an id of ours");
        assert!(!std::mem::replace(is_answered, true), "a second answer to {id}");
        let n = *n;
        self.take_answer(n, message);
    }

    fn take_answer(&mut self, n: usize, message: &Json) {
        let state = self.calls[n].state;
        assert!(message.get("result").is_some(), "{state:?}: {}", message.short(300));
        match state {
            State::Open => self.open -= 1,
            State::Cancelled => {
                self.crossed += 1;
                return;
            }
            State::Parked | State::Fenced | State::Done | State::Forgotten => {
                self.client.fail(&format!("{state:?} and answered: {}", message.short(200)))
            }
        }
        if let Some(ticket) = ticket(message) {
            return self.parked(n, ticket);
        }
        assert_eq!(text(message), Some(n.to_string().as_str()), "the answer of another call");
        let call = &mut self.calls[n];
        call.state = State::Done;
        if call.moment == Moment::Answered {
            call.too_late = true;
            let leg = call.leg;
            self.client.send(&cancel(leg));
        }
    }

    fn parked(&mut self, n: usize, ticket: Ticket) {
        let call = &mut self.calls[n];
        (call.state, call.ticket) = (State::Parked, Some(ticket));
        // A late question of a cancelled call can stop any other before its progress is told.
        if call.moment == Moment::WhenParked || call.tool == "hang" {
            self.cancel(n);
        } else if self.forgotten < FORGOTTEN && self.dice.chance(2) {
            call.state = State::Forgotten;
            self.forgotten += 1;
        } else {
            self.plans.push(Plan::Retry(self.lines + self.dice.below(20), n));
        }
    }

    /// The cancellation of a call that is still open, as a line.
    fn cancelling(&mut self, n: usize) -> String {
        let call = &mut self.calls[n];
        self.open -= usize::from(call.state == State::Open);
        call.state = State::Cancelled;
        self.unfenced.push(n);
        cancel(call.leg)
    }

    fn cancel(&mut self, n: usize) {
        if matches!(self.calls[n].state, State::Open | State::Parked) {
            let line = self.cancelling(n);
            self.client.send(&line);
        }
    }

    fn retry(&mut self, n: usize) {
        if self.calls[n].state != State::Parked {
            return;
        }
        let leg = self.client.next_id();
        let call = &mut self.calls[n];
        (call.state, call.leg) = (State::Open, leg);
        let ticket = call.ticket.as_ref().expect("it is parked");
        let retry = client::retry(call.tool, &arguments(n), ticket);
        let mut lines = client::request(leg, "tools/call", &retry);
        self.legs.insert(leg, (n, false));
        self.open += 1;
        if call.moment == Moment::WithTheRetry {
            lines = format!("{lines}\n{}", self.cancelling(n));
        }
        self.client.send(&lines);
    }

    /// Ends the bridge, then holds what its server went through against what we did.
    fn end(mut self, figures: &str) -> String {
        self.client.close_stdin();
        assert!(self.client.rest().is_empty(), "something came behind the last answer");
        assert_eq!(self.client.exit(), 0);
        self.client.nothing_is_left();
        let log = self.client.log();
        let (got, done) = (tags(&log, "got "), tags(&log, "answered "));
        let told = tags(&log, "cancelled ");
        let works = got.iter().find(|n| !done.contains(n) && !told.contains(n));
        assert_eq!(works, None, "the server still works on that call");
        let is_ours = |n: &usize| matches!(self.calls[*n].state, State::Fenced | State::Forgotten);
        assert_eq!(told.iter().find(|n| !is_ours(n)), None, "nobody cancelled that call");
        // Told of a cancellation behind its answer: only where the two have crossed (F10).
        let late = tags(&log, "late ").into_iter().find(|n| !is_ours(n));
        assert_eq!(late, None, "the server was told though its answer had been delivered");
        let (asked, replies) = (questions(&log, "asked "), questions(&log, "reply "));
        assert_eq!(asked, replies, "questions and answers to the server");
        refusals_follow_cancellations(&log);
        format!("{}; {figures}", self.summary(&got, &told))
    }

    /// How many were cancelled at which moment; none may be missing.
    fn summary(&self, got: &BTreeSet<usize>, told: &BTreeSet<usize>) -> String {
        let Storm { calls, crossed, forgotten, .. } = self;
        let is_cancelled = |n: &usize| calls[*n].state == State::Fenced;
        let cancelled: BTreeSet<_> = (0..calls.len()).filter(is_cancelled).collect();
        let waiting = cancelled.difference(got).count();
        let of = |is_parked: bool| {
            let fits = |n: &&usize| calls[**n].ticket.is_some() == is_parked;
            cancelled.intersection(told).filter(fits).count()
        };
        let (parked, running) = (of(true), of(false));
        let over = calls.iter().filter(|call| call.too_late).count();
        assert!(cancelled.len() + over >= calls.len() * 4 / 10, "too few were cancelled");
        assert!(waiting.min(running).min(parked).min(over) > 0, "a moment was not played");
        format!(
            "{} calls, cancelled: {waiting} waiting, {running} running, {parked} parked, {over} too \
             late; {crossed} answers crossed, {forgotten} forgotten",
            calls.len()
        )
    }
}

/// The calls of which the log says this.
fn tags(log: &[String], word: &str) -> BTreeSet<usize> {
    log.iter().filter_map(|line| line.strip_prefix(word)?.parse().ok()).collect()
}

/// The numbers of questions of which the log says this, sorted.
fn questions(log: &[String], word: &str) -> Vec<u64> {
    let first = |rest: &str| rest.split(' ').next().and_then(|number| number.parse().ok());
    let mut numbers: Vec<u64> =
        log.iter().filter_map(|line| first(line.strip_prefix(word)?)).collect();
    numbers.sort_unstable();
    numbers
}

/// E21: a question is refused because its call was given up, and the server heard of that first.
fn refusals_follow_cancellations(log: &[String]) {
    let (mut tags, mut cancelled) = (HashMap::new(), BTreeSet::new());
    for line in log {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["asked", question, tag] => drop(tags.insert(question, tag)),
            ["cancelled", tag] => drop(cancelled.insert(tag)),
            ["reply", question, action] if action != "accept" => {
                let tag = tags[question];
                assert!(
                    cancelled.contains(tag),
                    "{action} to the question of {tag}, which goes on"
                );
            }
            _ => {}
        }
    }
}

fn arguments(n: usize) -> String {
    format!("\"tag\":{n},\"ms\":{}", n % 5)
}
