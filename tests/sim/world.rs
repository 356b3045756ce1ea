//! The world of one seed: both actors, the process and the core on a virtual clock.
//!
//! Time stands while something is to do and then jumps to the next moment anybody waits for. What
//! happens at one moment keeps its order; a wake-up may come a little late, as on a busy machine.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_uplift::bridge::{Bridge, Effect, Event, Exit, Generation, Line, Settings, Time};

use super::client::{Client, Did};
use super::fuzz::{Lenient, Mutator};
use super::json::Json;
use super::ledger::{Check, Fault, Ledger, broken, ensure};
use super::legacy::LegacyClient;
use super::plan::{ClientKind, Plan, ServerKind};
use super::rng::Rng;
use super::server::{Out, Server};
use super::talk::{Said, Told};
use super::trace::Trace;
use super::turns::{Act, Turn, Turns};

/// Events after which a run is taken to go on for ever.
const MOST_EVENTS: u64 = 60_000;

enum Item {
    Tell(Event, Said, Vec<Told>),
    ClientActs,
    ServerActs(u32),
    Starts(u32),
    Ends(u32, Exit),
}

enum AnyClient {
    Modern(Client),
    Legacy(LegacyClient),
}

struct Process {
    server: Server,
    generation: u32,
    acts: u64,
    is_scheduled: bool,
    is_output_open: bool,
    /// It is gone, though its end was not told yet.
    is_dead: bool,
}

/// Who watches a run.
enum Judge {
    /// All that must hold.
    Strict(Box<Ledger>),
    /// What must hold even where lines are garbled on their way.
    Lenient(Lenient, Mutator),
}

/// What a run came to.
pub(crate) struct Run {
    pub(crate) events: u64,
    pub(crate) hash: u64,
    pub(crate) fault: Option<Fault>,
    pub(crate) lines: Vec<String>,
    /// What was done, in its order.
    pub(crate) acts: Vec<Act>,
    pub(crate) now: u64,
}

pub(crate) struct World {
    bridge: Bridge,
    judge: Judge,
    rng: Rng,
    plan: Plan,
    turns: Turns,
    acts: Vec<Act>,
    client: AnyClient,
    client_acts: u64,
    has_client_ended: bool,
    process: Option<Process>,
    marks: u64,
    now: u64,
    items: BTreeMap<(u64, u64), Item>,
    count: u64,
    trace: Trace,
}

/// Plays one seed to its end or to the first broken rule.
pub(crate) fn play(seed: u64, turns: &Turns, is_traced: bool) -> Run {
    play_judged(seed, turns, is_traced, Settings::clone)
}

/// The same, judged by other settings than those the bridge has.
pub(crate) fn play_judged(
    seed: u64,
    turns: &Turns,
    is_traced: bool,
    believed: fn(&Settings) -> Settings,
) -> Run {
    run(Rng::new(seed), turns, is_traced, |plan, _| {
        Judge::Strict(Box::new(Ledger::new(believed(&plan.settings))))
    })
}

/// The same with lines that are garbled on their way, both ways.
pub(crate) fn play_garbled(seed: u64, turns: &Turns, is_traced: bool) -> Run {
    let rng = Rng::new(seed ^ 0x5EED);
    run(rng, turns, is_traced, |_, rng| {
        Judge::Lenient(Lenient::default(), Mutator::new(rng.fork()))
    })
}

fn run(
    mut rng: Rng,
    turns: &Turns,
    is_traced: bool,
    judge: impl FnOnce(&Plan, &mut Rng) -> Judge,
) -> Run {
    let plan = Plan::new(&mut rng);
    let mut trace = Trace::new(is_traced);
    trace.note(|| format!("{plan:?}"));
    let judge = judge(&plan, &mut rng);
    let mut world = World::new(plan, judge, rng, trace);
    world.turns = turns.clone();
    let fault = world.run().err();
    Run {
        events: world.count,
        hash: world.trace.hash(),
        fault,
        lines: world.trace.into_lines(),
        acts: world.acts,
        now: world.now,
    }
}

impl World {
    fn new(plan: Plan, judge: Judge, mut rng: Rng, trace: Trace) -> Self {
        let mut entropy = rng.fork();
        let fill = Box::new(move |bytes: &mut [u8]| {
            for byte in bytes {
                *byte = entropy.next().to_be_bytes()[0];
            }
        });
        let client_rng = rng.fork();
        let client = match plan.client.kind {
            ClientKind::Modern => AnyClient::Modern(Client::new(plan.client.clone(), client_rng)),
            ClientKind::Legacy | ClientKind::Seeking => {
                AnyClient::Legacy(LegacyClient::new(plan.client.clone(), client_rng))
            }
        };
        let mut world = World {
            bridge: Bridge::new(plan.settings.clone(), fill),
            judge,
            rng,
            plan,
            turns: Turns::default(),
            acts: Vec::new(),
            client,
            client_acts: 0,
            has_client_ended: false,
            process: None,
            marks: 0,
            now: 0,
            items: BTreeMap::new(),
            count: 0,
            trace,
        };
        world.later(0, Item::ClientActs);
        world
    }

    fn later(&mut self, delay: u64, item: Item) {
        self.count += 1;
        self.items.insert((self.now + delay, self.count), item);
    }

    fn run(&mut self) -> Check {
        self.perform()?;
        while self.exit().is_none() {
            ensure(self.count < MOST_EVENTS, "I7-runs-for-ever", || format!("{}", self.count))?;
            if self.is_waked_next() {
                self.tell(Event::Wake, &Said::Nothing, &[])?;
            } else if let Some(((at, _), item)) = self.items.pop_first() {
                self.now = at;
                self.act(item)?;
            } else if self.turns.is_reduced() && !self.has_client_ended {
                return Ok(()); // it would have gone on
            } else {
                return broken("H11-stuck", "nobody waits for anything");
            }
        }
        self.after_the_end()
    }

    /// Is a wake-up the next thing to come? Then its time has come.
    fn is_waked_next(&mut self) -> bool {
        let next = self.items.first_key_value().map(|((at, _), _)| *at);
        let Some(deadline) = self.bridge.deadline() else { return false };
        let mut at = deadline.0.max(self.now);
        let mut rng = self.rng.at(at);
        let is_next = match next {
            None => true,
            Some(next) if next == at => rng.chance(50),
            Some(next) => at < next,
        };
        if !is_next {
            return false;
        }
        if self.plan.lateness > 0 && rng.chance(20) {
            let late = at + rng.below(self.plan.lateness);
            at = next.map_or(late, |next| late.min(next));
        }
        self.now = at;
        self.count += 1;
        true
    }

    fn act(&mut self, item: Item) -> Check {
        match item {
            Item::Tell(event, said, told) => self.tell(event, &said, &told)?,
            Item::ClientActs => self.client_acts(),
            Item::ServerActs(generation) => self.server_acts(generation),
            Item::Starts(generation) => self.starts(generation),
            Item::Ends(generation, exit) => self.ends(generation, exit),
        }
        Ok(())
    }

    fn client_acts(&mut self) {
        let act = Act { actor: 0, number: self.client_acts };
        if !self.turns.goes_on(act) {
            return;
        }
        self.client_acts += 1;
        let turn = turn(&self.turns, &mut self.acts, act);
        let (did, pause) = match &mut self.client {
            AnyClient::Modern(client) => client.act(turn),
            AnyClient::Legacy(client) => client.act(turn),
        };
        // A sudden end comes in the very moment that something is due, at times.
        let due = self.bridge.deadline().map_or(0, |at| at.0.saturating_sub(self.now));
        let delay = if self.rng.at(act.number).chance(50) { due } else { 0 };
        self.has_client_ended |= matches!(did, Did::Closed | Did::Gone | Did::Stopped(_));
        let event = match did {
            Did::Wrote(bytes, said) => {
                let event = Event::ClientLine(Line { bytes, ended: true });
                self.later(0, Item::Tell(event, said, Vec::new()));
                None
            }
            Did::Overlong => Some(Event::ClientOverlong),
            Did::Slow(is_slow) => Some(Event::ClientSlow(is_slow)),
            Did::Closed => Some(Event::ClientClosed),
            Did::Gone => {
                let item = Item::Tell(Event::ClientGone, Said::Nothing, Vec::new());
                return self.later(delay, item);
            }
            Did::Stopped(signal) => {
                let item = Item::Tell(Event::Stop(signal), Said::Nothing, Vec::new());
                return self.later(delay, item);
            }
            Did::Nothing => None,
        };
        if let Some(event) = event {
            self.later(0, Item::Tell(event, Said::Nothing, Vec::new()));
        }
        if let Some(pause) = pause {
            self.later(pause, Item::ClientActs);
        }
    }

    fn server_acts(&mut self, generation: u32) {
        let Some(process) = self.process.as_mut().filter(|p| p.generation == generation) else {
            return;
        };
        process.is_scheduled = false;
        let act = Act { actor: generation, number: process.acts };
        if process.is_dead || !self.turns.goes_on(act) {
            return;
        }
        process.acts += 1;
        let turn = turn(&self.turns, &mut self.acts, act);
        let (out, pause) = process.server.act(turn);
        if let Some(pause) = pause {
            process.is_scheduled = true;
            self.later(pause, Item::ServerActs(generation));
        }
        for out in out {
            self.comes_out(generation, out);
        }
    }

    fn comes_out(&mut self, generation: u32, out: Out) {
        let Some(process) = self.process.as_mut() else { return };
        let number = Generation(generation);
        let event = match out {
            Out::Exit(exit) => return self.ends(generation, exit),
            _ if !process.is_output_open => return,
            Out::Line(bytes, told) => {
                let event = Event::ServerLine(number, Line { bytes, ended: true });
                return self.later(0, Item::Tell(event, Said::Nothing, told));
            }
            Out::Overlong => Event::ServerOverlong(number),
            Out::CloseOutput => {
                process.is_output_open = false;
                Event::ServerClosed(number)
            }
        };
        self.later(0, Item::Tell(event, Said::Nothing, Vec::new()));
    }

    fn starts(&mut self, generation: u32) {
        let number = Generation(generation);
        let event = if self.plan.server.kind == ServerKind::Missing {
            Event::ServerUnstartable(number, "no such file".into())
        } else {
            let rng = self.rng.at(u64::from(generation));
            self.process = Some(Process {
                server: Server::new(self.plan.server.clone(), rng, self.marks),
                generation,
                acts: 0,
                is_scheduled: false,
                is_output_open: true,
                is_dead: false,
            });
            Event::ServerStarted(number)
        };
        self.later(0, Item::Tell(event, Said::Nothing, Vec::new()));
    }

    /// The process ends: its output closes, and a little later its end is known.
    fn ends(&mut self, generation: u32, exit: Exit) {
        let Some(process) = self.process.as_mut().filter(|p| p.generation == generation) else {
            return;
        };
        if std::mem::replace(&mut process.is_dead, true) {
            return;
        }
        self.marks = process.server.marks;
        let number = Generation(generation);
        if std::mem::replace(&mut process.is_output_open, false) {
            self.later(0, Item::Tell(Event::ServerClosed(number), Said::Nothing, Vec::new()));
        }
        let pause = *self.rng.at(u64::from(generation)).pick(&[0, 0, 3, 60, 150]);
        self.later(pause, Item::Tell(Event::ServerExited(number, exit), Said::Nothing, Vec::new()));
    }

    fn exit(&self) -> Option<u8> {
        match &self.judge {
            Judge::Strict(ledger) => ledger.exit(),
            Judge::Lenient(lenient, _) => lenient.exit(),
        }
    }

    /// One event goes in, its effects come out.
    fn tell(&mut self, event: Event, said: &Said, told: &[Told]) -> Check {
        let event = match &mut self.judge {
            Judge::Strict(_) => event,
            Judge::Lenient(_, mutator) => mutator.garbled(event, self.now),
        };
        self.trace.event(self.now, &event);
        if let Event::ServerExited(..) = event {
            self.process = None;
        }
        match &mut self.judge {
            Judge::Strict(ledger) => ledger.event(&event, said, told, self.now)?,
            Judge::Lenient(lenient, _) => lenient.event(&event),
        }
        let handle = || self.bridge.handle(event.clone(), Time(self.now));
        let is_handled = catch_unwind(AssertUnwindSafe(handle)).is_ok();
        ensure(is_handled, "I10-no-panic", || format!("{event:?}"))?;
        self.perform()?;
        let deadline = self.bridge.deadline();
        match &mut self.judge {
            Judge::Strict(ledger) => ledger.end_of_event(&event, deadline),
            Judge::Lenient(lenient, _) => lenient.end_of_event(&event, deadline, self.now),
        }
    }

    fn perform(&mut self) -> Check {
        while let Some(effect) = self.bridge.next_effect() {
            self.trace.effect(self.now, &effect);
            match &mut self.judge {
                Judge::Strict(ledger) => ledger.effect(&effect)?,
                Judge::Lenient(lenient, _) => lenient.effect(&effect)?,
            }
            match effect {
                Effect::ToClient(frame) => self.client_hears(&frame.bytes()),
                Effect::ToServer(frame) => self.server_hears(&frame.bytes()),
                Effect::StartServer(generation) => {
                    let pause = *self.rng.at(u64::from(generation.0)).pick(&[0, 0, 20, 700]);
                    self.later(pause, Item::Starts(generation.0));
                }
                Effect::StopServer(generation) => {
                    let grace = self.plan.settings.limits.shutdown_grace_ms;
                    let pause = self.rng.at(u64::from(generation.0)).below(grace);
                    self.later(pause, Item::Ends(generation.0, Exit::Signal(15)));
                }
                Effect::Say(..) | Effect::Exit(_) => {}
            }
        }
        Ok(())
    }

    fn client_hears(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let Ok(frame) = Json::parse(text.trim_end()) else { return };
        match &mut self.client {
            AnyClient::Modern(client) => client.hears(frame),
            AnyClient::Legacy(client) => client.hears(frame),
        }
    }

    fn server_hears(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let Ok(frame) = Json::parse(text.trim_end()) else { return };
        let Some(process) = self.process.as_mut().filter(|p| !p.is_dead) else { return };
        process.server.hears(frame);
        if !std::mem::replace(&mut process.is_scheduled, true) {
            let generation = process.generation;
            let mut rng = self.rng.at(process.acts << 32 | u64::from(generation));
            let pause = self.plan.server.pace.draw(&mut rng);
            self.later(pause, Item::ServerActs(generation));
        }
    }

    /// A bridge that has ended does nothing any more, whatever comes.
    fn after_the_end(&mut self) -> Check {
        let late = [
            Event::Wake,
            Event::ClientLine(Line { bytes: b"{}".to_vec(), ended: true }),
            Event::ServerExited(Generation(1), Exit::Code(0)),
        ];
        for event in late {
            self.bridge.handle(event, Time(self.now + 5));
            let effect = self.bridge.next_effect();
            ensure(effect.is_none(), "H11-nothing-after-exit", || format!("{effect:?}"))?;
            let deadline = self.bridge.deadline();
            ensure(deadline.is_none(), "H11-nothing-after-exit", || format!("{deadline:?}"))?;
        }
        Ok(())
    }
}

/// The turn of this act; one that is taken is noted.
fn turn(turns: &Turns, acts: &mut Vec<Act>, act: Act) -> Turn {
    let is_taken = turns.takes(act);
    if is_taken {
        acts.push(act);
    }
    Turn { number: act.number, is_taken }
}
