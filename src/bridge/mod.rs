//! The protocol core: events in, effects out. No thread, clock, file or process inside.
#![forbid(unsafe_code)]

mod event;
mod settings;

use std::collections::VecDeque;

pub use event::{Effect, Event, Exit, Frame, Generation, Level, Line, Time};
pub use settings::{Limits, ServerEra, Settings};

/// Fills its argument with random bytes; the only source of randomness of the core.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// The bridge between one client and one wrapped server.
pub struct Bridge {
    effects: VecDeque<Effect>,
}

impl Bridge {
    /// A bridge at time 0. Its first effect starts the server (H13).
    #[must_use]
    pub fn new(_settings: Settings, _entropy: Entropy) -> Self {
        Bridge { effects: VecDeque::from([Effect::StartServer(Generation(1))]) }
    }

    /// Takes one event. Drain [`Bridge::next_effect`] before the next one.
    pub fn handle(&mut self, _event: Event, _now: Time) {}

    /// The next consequence, in order; `None` when all are drained.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When the bridge next wants [`Event::Wake`]; `None`: not before another event.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        None
    }
}
