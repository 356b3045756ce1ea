//! The event loop: one event in, its effects out, again.
//!
//! ```text
//!  wait ──▶ tell the core ──▶ perform its effects ──▶ more there? ──▶ flush both sides ──▶ wait
//! ```
//!
//! Memory stays bounded because each reader stands still unless its batch is taken, and [`Flow`]
//! says whether it is.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use super::child::{Launch, Server, Wiring};
use super::clock::{Clock, Pause};
use super::console::Console;
use super::flow::{Flow, Waiting};
use super::inbox::{Batch, Inbox, Permits, Post, Woken, inbox};
use super::leaving::Leaving;
use super::lines::Piece;
use super::outlet::Outlet;
use super::readers::read_client;
use super::sink::Sink;
use super::strays::Strays;
use super::watch::watch;
use crate::bridge::{Bridge, Effect, Event, Generation, Level, Limits, Time};
use crate::sys;

/// What the loop serves: the bridge, or in tests something simpler.
pub(super) trait Core {
    fn handle(&mut self, event: Event, now: Time);
    fn next_effect(&mut self) -> Option<Effect>;
    fn deadline(&self) -> Option<Time>;
    /// Bytes it keeps for later.
    fn kept_bytes(&self) -> usize;
}

impl Core for Bridge {
    fn handle(&mut self, event: Event, now: Time) {
        Bridge::handle(self, event, now);
    }
    fn next_effect(&mut self) -> Option<Effect> {
        Bridge::next_effect(self)
    }
    fn deadline(&self) -> Option<Time> {
        Bridge::deadline(self)
    }
    fn kept_bytes(&self) -> usize {
        Bridge::kept_bytes(self)
    }
}

/// What is ready is gathered up to this many bytes before it is written.
const GATHER: usize = 256 << 10;

/// Batches taken before what they caused is written, at most.
const ROUNDS: usize = 64;

/// A writer thread tells when its bytes fall below this part of `--max-buffer-bytes`, and when they
/// are all written.
const LOW_WATER: usize = 8;

/// Memory goes back to the system after this long without work.
const IDLE_MS: u64 = 300;

/// How often to look whether a server that does not read has begun to.
const STUCK_MS: u64 = 50;

/// Lines and frames that are worth it.
const MUCH: usize = 256 << 10;

/// Everything the loop works with.
pub(super) struct EventLoop<C> {
    core: C,
    launch: Launch,
    limits: Limits,
    console: Console,
    clock: Clock,
    now: Time,
    /// The core's clock stands while nothing goes on but for the client (D7): what it waits for may
    /// lie in a pipe that is not read meanwhile.
    pause: Pause,
    inbox: Inbox,
    /// Given to each thread that starts later.
    post: Post,
    /// Batches of a side that is held up; no more than it has permits.
    held: VecDeque<Woken>,
    client_permits: Permits,
    to_client: Outlet,
    server: Option<Server>,
    strays: Strays,
    /// Events that effects brought about, to be told next.
    follow_ups: VecDeque<Event>,
    flow: Flow,
    client_gone: bool,
    /// The least exit status: 1 once stdin or stdout failed.
    least_code: u8,
    /// One was dealt with since the queues were looked at.
    has_large: bool,
    /// Bytes of the largest line since memory was last given back, where that is much.
    largest: usize,
    /// Much memory was in use; give it back at this time unless there is more work.
    trim_at: Option<Time>,
    leaving: Option<Leaving>,
}

impl<C: Core> EventLoop<C> {
    pub(super) fn new(
        core: C,
        launch: Launch,
        limits: Limits,
        console: Console,
    ) -> io::Result<Self> {
        let (post, inbox) = inbox();
        let low_water = limits.buffer_bytes / LOW_WATER;
        watch(post.clone())?;
        let stdout = Sink::shared(io::stdout().as_fd())?;
        Ok(EventLoop {
            core,
            launch,
            console,
            clock: Clock::start(),
            now: Time(0),
            pause: Pause::default(),
            client_permits: read_client(limits.line_bytes, post.clone())?,
            to_client: Outlet::new(stdout, "client writer", low_water, post.clone()),
            inbox,
            post,
            held: VecDeque::new(),
            limits,
            server: None,
            strays: Strays::default(),
            follow_ups: VecDeque::new(),
            flow: Flow::default(),
            client_gone: false,
            least_code: 0,
            has_large: false,
            largest: 0,
            trim_at: None,
            leaving: None,
        })
    }

    /// Runs to the end; the exit status.
    pub(super) fn run(mut self) -> u8 {
        self.perform_effects();
        self.follow_up();
        loop {
            self.settle();
            if let Some(code) = self.may_end() {
                return code;
            }
            let mut woken = self.wait();
            self.now = self.clock.now();
            for round in 1.. {
                self.take(woken);
                // What is polled must be taken, so the last round polls no more.
                if round == ROUNDS || self.unflushed() >= GATHER {
                    break;
                }
                let Some(next) = self.poll() else { break };
                woken = next;
            }
        }
    }

    // ---- what comes in ----

    fn wait(&mut self) -> Woken {
        if let Some(woken) = self.take_held() {
            return woken;
        }
        // A needless look once a day is cheaper than a second way to wait.
        let a_day = self.now.after(86_400_000);
        let deadline = self.deadline().map_or(a_day, |deadline| deadline.min(a_day));
        self.inbox.wait(|| self.clock.until(deadline)).unwrap_or(Woken::Time)
    }

    /// What is there already.
    fn poll(&mut self) -> Option<Woken> {
        self.take_held().or_else(|| self.inbox.poll())
    }

    /// A batch that was put aside, if it may be taken by now.
    fn take_held(&mut self) -> Option<Woken> {
        let at = self.held.iter().position(|woken| !self.is_held_up(woken))?;
        self.held.remove(at)
    }

    fn is_held_up(&self, woken: &Woken) -> bool {
        match woken {
            Woken::Client(_) => self.flow.holds_client() || self.leaving.is_some(),
            // While we leave nobody hears the server, but it may need to be read to end.
            Woken::Server(..) => self.flow.holds_server() && self.leaving.is_none(),
            Woken::Signal(_)
            | Woken::ChildEnded
            | Woken::ClientGone
            | Woken::InputEnds
            | Woken::InputFails(_)
            | Woken::Written
            | Woken::Time => false,
        }
    }

    fn take(&mut self, woken: Woken) {
        if self.is_held_up(&woken) {
            return self.held.push_back(woken);
        }
        match woken {
            Woken::Signal(signal) => self.stop(signal),
            Woken::ChildEnded => self.look_at_children(),
            Woken::ClientGone => self.lose_client(),
            Woken::InputEnds => self.flow.input_ends(),
            Woken::InputFails(error) => self.fail_to("read stdin", &error),
            Woken::Client(batch) => self.take_client(batch),
            Woken::Server(generation, batch) => self.take_server(generation, batch),
            Woken::Written | Woken::Time => {} // `settle` looks at all of it
        }
    }

    fn take_client(&mut self, batch: Batch) {
        for cut in batch.cuts {
            for piece in cut.pieces(self.limits.line_bytes) {
                self.expect_work(&piece);
                self.tell(match piece {
                    Piece::Line(line) => Event::ClientLine(line),
                    Piece::Overlong => Event::ClientOverlong,
                });
            }
        }
        self.client_permits.give_back();
        if batch.end {
            self.tell(Event::ClientClosed);
        }
    }

    fn take_server(&mut self, generation: Generation, batch: Batch) {
        for cut in batch.cuts {
            for piece in cut.pieces(self.limits.line_bytes) {
                self.expect_work(&piece);
                self.tell(match piece {
                    Piece::Line(line) => Event::ServerLine(generation, line),
                    Piece::Overlong => Event::ServerOverlong(generation),
                });
            }
        }
        if let Some(server) = &mut self.server {
            server.give_permit_back();
            server.closed |= batch.end;
        }
        if batch.end {
            self.tell(Event::ServerClosed(generation));
            self.bury_server();
        }
    }

    /// A large line leaves large buffers behind, and may have others behind it.
    fn expect_work(&mut self, piece: &Piece) {
        let Piece::Line(line) = piece else { return };
        if line.bytes.len() >= MUCH {
            self.largest = self.largest.max(line.bytes.len());
            self.has_large = true;
            self.trim_at = Some(self.now.after(IDLE_MS));
        }
    }

    fn look_at_children(&mut self) {
        if let Some(server) = &mut self.server {
            server.look();
        }
        self.strays.reap(self.server.as_ref().map(|server| server.pid));
        self.bury_server();
    }

    /// Once the server has ended and its last line was taken, it is over (H12).
    fn bury_server(&mut self) {
        let Some(server) = self.server.take_if(|server| server.closed && server.exit.is_some())
        else {
            return;
        };
        let (generation, pid, exit) = (server.generation, server.pid, server.exit);
        let kill_at = self.leaving.as_ref().map(|leaving| leaving.kill_at);
        let grace_ends = self.now.after(self.limits.shutdown_grace_ms);
        self.strays.inherit(server, self.now, kill_at.unwrap_or(grace_ends));
        if let Some(exit) = exit {
            self.console.say(Level::Info, &format!("process {pid} {exit}"));
            self.tell(Event::ServerExited(generation, exit));
        }
    }

    fn lose_client(&mut self) {
        if !std::mem::replace(&mut self.client_gone, true) {
            if let Some(error) = self.to_client.take_failure() {
                self.fail_to("write to stdout", &error);
            }
            self.tell(Event::ClientGone);
            self.flush(); // what cannot be written must not be waited for
        }
    }

    fn fail_to(&mut self, what: &str, error: &io::Error) {
        self.fail(&format!("cannot {what}: {error}"));
    }

    /// Our own end of the conversation failed, which is no good end.
    fn fail(&mut self, why: &str) {
        self.console.say(Level::Error, why);
        self.least_code = 1;
        if let Some(leaving) = &mut self.leaving {
            leaving.code = leaving.code.max(1);
        }
    }

    fn stop(&mut self, signal: i32) {
        let code = u8::try_from(128 + signal).unwrap_or(u8::MAX);
        let grace = self.limits.shutdown_grace_ms;
        if self.leaving.is_none() {
            self.tell(Event::Stop(signal));
            self.leave(code); // whatever the core makes of it, we were asked to end
        }
        let Some(leaving) = &mut self.leaving else {
            return;
        };
        leaving.signal(code, self.now, grace);
        if leaving.kill_at <= self.now {
            self.strays.hurry(self.now, self.now);
            if let Some(server) = &mut self.server {
                server.hurry(self.now, self.now);
            }
        }
    }

    // ---- the core ----

    /// Tells the core one thing and does what it wants; then what that brought about.
    fn tell(&mut self, event: Event) {
        self.follow_ups.push_back(event);
        self.follow_up();
    }

    fn follow_up(&mut self) {
        while self.leaving.is_none()
            && let Some(event) = self.follow_ups.pop_front()
        {
            if self.console.shows_frames() {
                self.console.show_event(&event);
            }
            self.core.handle(event, self.pause.core_time(self.now));
            self.perform_effects();
        }
        if self.leaving.is_some() {
            self.follow_ups.clear();
        }
    }

    fn perform_effects(&mut self) {
        while let Some(effect) = self.core.next_effect() {
            if self.console.shows_frames() {
                self.console.show_effect(&effect);
            }
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ToClient(frame) => self.to_client.push(frame),
            Effect::ToServer(frame) => {
                if let Some(server) = &mut self.server {
                    server.push(frame);
                }
            }
            Effect::StartServer(generation) => self.start_server(generation),
            Effect::StopServer(generation) => {
                let grace = self.limits.shutdown_grace_ms;
                let named = self.server.as_mut().filter(|s| s.generation == generation);
                if let Some(server) = named {
                    server.stop(self.now, grace / 3, grace);
                }
            }
            Effect::Say(level, text) => self.console.say(level, &text),
            Effect::Exit(code) => self.leave(code),
        }
    }

    #[inline(never)] // it would stand in the program twice, and it is the largest part of the loop
    fn start_server(&mut self, generation: Generation) {
        let wiring = Wiring {
            line_limit: self.limits.line_bytes,
            low_water: self.limits.buffer_bytes / LOW_WATER,
            inbox: &self.post,
            stderr: None,
        };
        let started = if self.server.is_some() {
            Err("the server before it has not ended".to_owned())
        } else if self.leaving.is_some() {
            Err("the bridge is ending".to_owned())
        } else {
            Server::start(&self.launch, generation, wiring)
        };
        self.follow_ups.push_back(match started {
            Ok(server) => {
                self.console.say(Level::Info, &format!("started process {}", server.pid));
                self.server = Some(server);
                Event::ServerStarted(generation)
            }
            Err(cause) => Event::ServerUnstartable(generation, cause),
        });
    }

    // ---- between two waits ----

    /// Writes what was gathered, and looks at everything that changes with time and writing.
    fn settle(&mut self) {
        self.flush();
        if self.core_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.tell(Event::Wake);
        }
        self.watch_queues();
        self.flush();
        if self.to_client.is_broken() {
            self.lose_client();
        }
        if let Some(server) = &mut self.server {
            server.climb(self.now);
        }
        if self.strays.deadline().is_some_and(|at| at <= self.now) {
            self.strays.look(self.now);
        }
        if self.trim_at.take_if(|at| *at <= self.now).is_some() {
            self.largest = 0;
            sys::give_memory_back();
        }
    }

    fn flush(&mut self) {
        if let Some(server) = &mut self.server {
            server.flush();
        }
        self.to_client.flush();
    }

    fn unflushed(&self) -> usize {
        self.to_client.unflushed() + self.server.as_ref().map_or(0, Server::unflushed)
    }

    fn watch_queues(&mut self) {
        let waiting = Waiting {
            for_client: self.to_client.queued(),
            for_server: self.server.as_ref().map_or(0, Server::queued),
            replies: self.server.as_mut().map_or(0, Server::queued_replies),
            // Besides, each side may have one more such line in its reader's hands.
            kept: self.core.kept_bytes() + 2 * self.largest,
        };
        let change = self.flow.update(waiting, self.limits.buffer_bytes);
        self.pause.set(self.flow.waits_for_client() && self.leaving.is_none(), self.now);
        if let Some(slow) = change {
            self.tell(Event::ClientSlow(slow));
        }
        if waiting.for_client.max(waiting.for_server) > MUCH {
            self.trim_at = Some(self.now.after(IDLE_MS));
        }
        // Holes between much that waits are worth more than the time of filling them anew.
        let is_tight = waiting.sum() > self.limits.buffer_bytes / 2;
        if std::mem::take(&mut self.has_large) && is_tight {
            sys::give_memory_back();
        }
    }

    fn core_deadline(&self) -> Option<Time> {
        self.core.deadline().and_then(|at| self.pause.real_time(at))
    }

    /// When the loop must wake by itself.
    fn deadline(&self) -> Option<Time> {
        let leaving = self.leaving.as_ref().and_then(|leaving| leaving.deadline(self.now));
        // A core that was just woken and names the same moment again does not get to spin.
        let core = self.core_deadline().filter(|_| self.leaving.is_none());
        let core = core.map(|at| if at <= self.now { self.now.after(1) } else { at });
        let server = self.server.as_ref().and_then(Server::deadline);
        // Its writer tells when all is written, but it may have to be read before that.
        let stuck = self.flow.waits_for_server().then(|| self.now.after(STUCK_MS));
        let own = [core, server, self.strays.deadline(), self.trim_at, leaving, stuck];
        own.into_iter().flatten().min()
    }

    // ---- the end ----

    fn leave(&mut self, code: u8) {
        if self.leaving.is_some() {
            return;
        }
        let grace = self.limits.shutdown_grace_ms;
        if let Some(server) = &mut self.server {
            server.stop(self.now, grace / 3, grace);
        }
        self.strays.hurry(self.now, self.now.after(grace));
        self.leaving = Some(Leaving::new(code.max(self.least_code), self.now, grace));
    }

    /// The exit status, when everything is done that must be done before.
    fn may_end(&mut self) -> Option<u8> {
        let leaving = self.leaving.as_mut()?;
        let unwritten = self.to_client.queued();
        if leaving.writes(unwritten, self.now) {
            return None;
        }
        let gives_up = leaving.gives_up(self.now);
        if unwritten > 0 && leaving.is_first_loss() {
            self.fail("the client does not read; what is left for it is lost");
        }
        if self.server.is_none() && self.strays.are_gone() {
            // Whoever lost its parent only just now came to us as well.
            let kill_at = self.leaving.as_ref().map_or(self.now, |leaving| leaving.kill_at);
            self.strays.inherit_orphans(self.now, kill_at);
        }
        let is_alone = self.server.is_none() && self.strays.are_gone();
        if gives_up && !is_alone {
            self.console.say(Level::Warning, "a process of the server does not end; leaving it");
        }
        self.leaving.as_ref().filter(|_| is_alone || gives_up).map(|leaving| leaving.code)
    }
}
