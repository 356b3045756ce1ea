//! The protocol core: events in, effects out. No thread, clock, file or process inside.
//!
//! ```text
//!             what happens             what is owned              what is shared
//!   Event ──▶ from_client     ──┐      front    lane   memory     conduct    questions
//!             from_server     ──┼──▶   chain    ambient           streams    retries
//!             session,        ──┤      listen   notices      ◀──  telling    folders   ──▶ Effect
//!             handshake         │      upstream                              visits
//!             on_wake         ──┘
//!             relay, modern            (lines of one era: their own state, nothing of the rest)
//! ```
//! The middle column are nouns: each owns its state, takes plain values, gives plain values, sends
//! nothing and reads no clock. The files beside it are `impl Bridge`: on the left one for each
//! kind of event, on the right one for each matter that several events touch.
#![forbid(unsafe_code)]

mod ambient;
mod chain;
mod conduct;
mod event;
mod folders;
mod from_client;
mod from_server;
mod front;
mod handshake;
mod ids;
mod lane;
mod listen;
mod memory;
mod modern;
mod notices;
mod on_wake;
mod questions;
mod relay;
mod retries;
mod session;
mod settings;
mod streams;
mod table;
mod telling;
mod upstream;
mod visits;

use crate::message::wire::{self, Id};
use ambient::Ambient;
use chain::Chains;
use front::Front;
use lane::Lane;
use listen::Listen;
use memory::Memory;
use modern::Modern;
use relay::Relay;
use std::collections::VecDeque;
use std::sync::Arc;
use upstream::Upstream;

pub use event::{Effect, Event, Exit, Frame, Generation, Level, Line, Time};
pub use settings::{Limits, ServerEra, Settings};

/// Fills its argument with random bytes; the only source of randomness of the core.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// The bridge between one client and one wrapped server.
pub struct Bridge {
    settings: Settings,
    entropy: Entropy,
    now: Time,
    effects: VecDeque<Effect>,
    front: Front,
    lane: Lane,
    chains: Chains,
    ambient: Ambient,
    memory: Memory,
    upstream: Upstream,
    listen: Listen,
    /// A legacy client is relayed (I15); the rest of the bridge stands still.
    relay: Option<Relay>,
    /// The server is a modern one and is relayed (I14); the rest of the bridge stands still.
    modern: Option<Modern>,
    /// The client reads slower than we write (R).
    is_client_slow: bool,
    /// Until when what is still unanswered after the end of input is waited for, while relaying.
    relay_until: Option<Time>,
    /// Names this process of the server in every ticket (E24).
    epoch: String,
    /// The server's line that is being handled; what goes down may share parts of it.
    line: Option<Arc<String>>,
    /// [`Bridge::pump`] is at work.
    is_pumping: bool,
    /// The status was decided; nothing is taken in any more.
    has_ended: bool,
}

impl Bridge {
    /// A bridge at time 0. Its first effect starts the server (H13).
    #[must_use]
    pub fn new(settings: Settings, entropy: Entropy) -> Self {
        let upstream = Upstream::new();
        let start = Effect::StartServer(upstream.generation);
        let mut bridge = Bridge {
            settings,
            entropy,
            now: Time(0),
            effects: VecDeque::from([start]),
            front: Front::default(),
            lane: Lane::default(),
            chains: Chains::default(),
            ambient: Ambient::default(),
            memory: Memory::default(),
            upstream,
            listen: Listen::default(),
            relay: None,
            modern: None,
            is_client_slow: false,
            relay_until: None,
            epoch: String::new(),
            line: None,
            is_pumping: false,
            has_ended: false,
        };
        bridge.epoch = bridge.random_hex::<8>();
        bridge
    }

    /// Takes one event. Drain [`Bridge::next_effect`] before the next one.
    pub fn handle(&mut self, event: Event, now: Time) {
        debug_assert!(self.effects.is_empty() || now == Time(0), "effects must be drained first");
        if self.has_ended {
            return;
        }
        self.now = now;
        // What a process left in its pipe is not the next one's, nor said by one told to end.
        let is_newest = event.generation().is_none_or(|of| of == self.upstream.generation);
        let is_believed = self.upstream.is_believed();
        match event {
            _ if !is_newest => {}
            Event::ClientLine(line) if self.relay.is_some() => self.relay_client_line(line),
            Event::ClientLine(line) if self.modern.is_some() => self.modern_client_line(line),
            Event::ClientLine(line) => self.client_line(line),
            Event::ClientOverlong => self.client_overlong(),
            Event::ClientClosed => self.client_closed(),
            Event::ClientGone => self.exit(self.status()),
            Event::ClientSlow(is_slow) => self.client_slow(is_slow),
            Event::ServerStarted(_) => self.server_started(),
            Event::ServerUnstartable(_, why) => self.server_unstartable(&why),
            Event::ServerLine(_, line) if is_believed => self.server_line(line),
            Event::ServerOverlong(_) if is_believed => self.server_overlong(),
            Event::ServerClosed(_) if is_believed => self.server_closed(),
            Event::ServerExited(_, exit) => self.server_exited(exit),
            Event::ServerLine(..)
            | Event::ServerOverlong(_)
            | Event::ServerClosed(_)
            | Event::Wake => {}
            Event::Stop(signal) => {
                self.close_streams();
                self.exit(u8::try_from(128 + signal).unwrap_or(u8::MAX));
            }
        }
        if !self.has_ended {
            self.on_wake();
            self.finish_draining();
        }
    }

    /// The next consequence, in order; `None` when all are drained.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When the bridge next wants [`Event::Wake`]; `None`: not before another event.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if self.has_ended { None } else { self.next_deadline() }
    }

    /// Bytes of messages that the bridge keeps for later: what of `--max-buffer-bytes` is not left
    /// for queues (R).
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.front.held_bytes()
            + self.chains.bytes()
            + self.memory.bytes()
            + self.listen.kept_bytes()
            + self.relay.as_ref().map_or(0, Relay::waiting_bytes)
            + self.modern.as_ref().map_or(0, Modern::waiting_bytes)
    }

    #[cold]
    fn say(&mut self, level: Level, text: impl Into<String>) {
        self.push(Effect::Say(level, text.into()));
    }

    fn tell_client(&mut self, line: impl Into<Frame>) {
        self.push(Effect::ToClient(line.into()));
    }

    fn tell_server(&mut self, line: impl Into<Frame>) {
        self.push(Effect::ToServer(line.into()));
    }

    /// Answers a request of the server at once: nobody but the server made this line.
    fn answer_server(&mut self, id: &Id, outcome: &str) {
        let frame = Frame::from(wire::response(Some(id.text()), outcome)).as_reply();
        self.push(Effect::ToServer(frame));
    }

    #[inline(never)] // called from everywhere
    fn push(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// `BYTES` random bytes as text.
    fn random_hex<const BYTES: usize>(&mut self) -> String {
        let mut bytes = [0; BYTES];
        (self.entropy)(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
