//! What one seed stands for: the options of the bridge and the habits of its two sides.
//!
//! Each seed switches whole features off and others up, so that rare combinations come up often
//! somewhere ("swarm testing") instead of everything a little everywhere.

use mcp_uplift::bridge::{Limits, ServerEra, Settings};

use super::rng::Rng;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) client: ClientHabits,
    pub(crate) server: ServerHabits,
    /// Milliseconds a wake-up may be late.
    pub(crate) lateness: u64,
}

/// Time between two acts: one of these ranges, with these chances.
#[derive(Clone, Debug)]
pub(crate) struct Pace(Vec<(u64, u64, u64)>);

impl Pace {
    fn new(rng: &mut Rng, longest: u64) -> Self {
        let ranges = [(0, 0), (0, 6), (5, 60), (90, 1100), (900, 5000), (4000, longest)];
        Pace(ranges.iter().map(|(low, high)| (*low, *high, rng.below(5).pow(2) + 1)).collect())
    }

    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let weights: Vec<_> = self.0.iter().map(|(_, _, weight)| *weight).collect();
        let (low, high, _) = self.0[rng.weighted(&weights)];
        rng.range(low, high)
    }
}

/// How the client's side opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    Modern,
    /// `initialize` first.
    Legacy,
    /// `server/discover`, then `initialize`.
    Seeking,
}

/// How the conversation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Closes,
    Gone,
    Signal,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientHabits {
    pub(crate) kind: ClientKind,
    pub(crate) ending: Ending,
    pub(crate) moves: u64,
    pub(crate) pace: Pace,
    /// Percent of the capabilities it declares.
    pub(crate) generous: u64,
    /// Percent of requests with a log level, and with a progress token.
    pub(crate) curious: u64,
    /// Percent of its answers that do not consent.
    pub(crate) declines: u64,
    /// Percent of retries that are not as they should be.
    pub(crate) sloppy: u64,
    /// Weights of [`super::client::MOVES`].
    pub(crate) weights: Vec<u64>,
    /// It reads and writes with pauses only; the bridge is told that it is slow now and then.
    pub(crate) stutters: bool,
}

/// What the wrapped command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Legacy,
    Modern,
    /// Its handshakes fail, in one way or another.
    Broken,
    /// It cannot be started.
    Missing,
}

#[derive(Clone, Debug)]
pub(crate) struct ServerHabits {
    pub(crate) kind: ServerKind,
    pub(crate) pace: Pace,
    /// Weights of [`super::server::ACTS`].
    pub(crate) weights: Vec<u64>,
    /// Acts it may do of its own accord.
    pub(crate) spontaneous: u64,
    /// Looks at one call at a time (E14b).
    pub(crate) serial: bool,
    /// Percent of results that are not what they should be.
    pub(crate) sloppy: u64,
    /// Permille of acts after which it ends.
    pub(crate) mortal: u64,
    /// Percent of calls that it waits with until its questions are answered.
    pub(crate) patient: u64,
    /// Percent of the capabilities it has.
    pub(crate) able: u64,
    /// Percent of handshakes that go wrong although the server is a legacy one.
    pub(crate) clumsy: u64,
    /// Percent of calls that it will never answer.
    pub(crate) silent: u64,
    /// Questions a call may ask.
    pub(crate) questions: u64,
    /// It answers no call before it has asked all of them.
    pub(crate) insists: bool,
    /// It answers each call with a demand for new visits (E28).
    pub(crate) nags: bool,
}

impl Plan {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let settings = settings(rng);
        let longest = settings.limits.mrtr_ttl_ms + settings.limits.request_timeout_ms;
        let mut plan = Plan {
            client: client(rng, longest),
            server: server(rng, longest),
            settings,
            lateness: *rng.pick(&[0, 0, 0, 3, 40, 1500]),
        };
        match rng.below(60) {
            0 => plan.asks_much(rng, true),
            1 => plan.asks_much(rng, false),
            2 => plan.nags(rng),
            _ => {}
        }
        plan
    }

    /// One call with more questions than anybody answers (E27), or more calls with a question
    /// than are kept (E14).
    fn asks_much(&mut self, rng: &mut Rng, of_one: bool) {
        let limits = &mut self.settings.limits;
        (limits.mrtr_ttl_ms, limits.request_timeout_ms) = (300_000, 120_000);
        (limits.request_max_ms, limits.in_flight) = (3_600_000, if of_one { 1 } else { 32 });
        self.settings.server_era = ServerEra::Auto;
        self.settings.roots.clear();
        let client = &mut self.client;
        (client.kind, client.moves) = (ClientKind::Modern, if of_one { 400 } else { 150 });
        (client.generous, client.sloppy) = (100, 0);
        client.pace = Pace(vec![(0, 40, 1)]);
        // Mostly retries after the first call, or calls only.
        let usual = super::client::MOVES.map(|(_, weight)| weight / 12);
        client.weights = usual.to_vec();
        client.weights[..2].copy_from_slice(if of_one { &[0, 30] } else { &[30, 0] });
        let server = &mut self.server;
        (server.kind, server.able, server.clumsy) = (ServerKind::Legacy, 100, 0);
        (server.mortal, server.silent, server.patient) = (0, 0, 100);
        (server.spontaneous, server.insists) = (1000, true);
        server.questions = if of_one { 200 } else { 1 };
        server.serial = false;
        server.pace = Pace(vec![(0, *rng.pick(&[4, 9]), 1)]);
        server.weights = super::server::ACTS.map(|(_, weight)| weight.min(1)).to_vec();
        server.weights[2] = 60 + rng.below(60); // Ask
        for broken in [7, 13, 14, 16, 17] {
            server.weights[broken] = 0; // Withdraw, Broken, Overlong, Batch, CloseOutput
        }
    }

    /// One call that is sent up again and again, and folders asked for in between (E20, E27).
    fn nags(&mut self, rng: &mut Rng) {
        self.asks_much(rng, true);
        self.client.declines = 0;
        let server = &mut self.server;
        (server.insists, server.nags, server.questions) = (false, true, 0);
    }
}

fn settings(rng: &mut Rng) -> Settings {
    let limits = Limits {
        buffer_bytes: *rng.pick(&[64 << 20, 64 << 20, 64 << 20, 2000]),
        in_flight: *rng.pick(&[32, 32, 32, 8, 3, 1]),
        subscriptions: *rng.pick(&[16, 3, 1]),
        subscription_uris: *rng.pick(&[256, 3]),
        mrtr_ttl_ms: *rng.pick(&[300_000, 60_000, 8000, 1500]),
        request_timeout_ms: *rng.pick(&[120_000, 20_000, 5000, 900]),
        request_max_ms: *rng.pick(&[3_600_000, 90_000, 12_000]),
        initialize_timeout_ms: *rng.pick(&[60_000, 10_000, 2500]),
        cache_ttl_ms: *rng.pick(&[0, 5000]),
        parallel: *rng.pick(&[1, 1, 1, 1, 1, 2, 3, 4]),
        ..Limits::default()
    };
    Settings {
        limits,
        hold_lane: rng.chance(20),
        server_era: *rng.pick(&[
            ServerEra::Auto,
            ServerEra::Auto,
            ServerEra::Auto,
            ServerEra::Auto,
            ServerEra::Auto,
            ServerEra::Auto,
            ServerEra::Legacy,
            ServerEra::Modern,
        ]),
        roots: if rng.chance(15) { vec!["/work".into(), "/a b/\u{e9}".into()] } else { vec![] },
        command_name: "server".into(),
    }
}

/// Weights of which some are nothing and some are much.
fn weights(rng: &mut Rng, usual: &[u64]) -> Vec<u64> {
    usual.iter().map(|weight| weight * *rng.pick(&[0, 1, 1, 1, 2, 4])).collect()
}

fn client(rng: &mut Rng, longest: u64) -> ClientHabits {
    let mut weights = weights(rng, &super::client::MOVES.map(|(_, weight)| weight));
    weights[0] += 8; // something is always called
    ClientHabits {
        kind: *rng.pick(&[
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Modern,
            ClientKind::Legacy,
            ClientKind::Seeking,
        ]),
        ending: *rng.pick(&[
            Ending::Closes,
            Ending::Closes,
            Ending::Closes,
            Ending::Closes,
            Ending::Closes,
            Ending::Closes,
            Ending::Gone,
            Ending::Signal,
        ]),
        moves: *rng.pick(&[4, 15, 30, 60, 60, 120]),
        pace: Pace::new(rng, longest),
        generous: *rng.pick(&[100, 90, 70, 30, 0]),
        curious: *rng.pick(&[0, 30, 80]),
        declines: 25,
        sloppy: *rng.pick(&[0, 15, 60]),
        weights,
        stutters: rng.chance(20),
    }
}

fn server(rng: &mut Rng, longest: u64) -> ServerHabits {
    let mut weights = weights(rng, &super::server::ACTS.map(|(_, weight)| weight));
    weights[0] += 5; // something is always answered
    ServerHabits {
        kind: *rng.pick(&[
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Legacy,
            ServerKind::Modern,
            ServerKind::Modern,
            ServerKind::Broken,
            ServerKind::Missing,
        ]),
        pace: Pace::new(rng, longest / 4),
        weights,
        spontaneous: *rng.pick(&[0, 5, 20, 60]),
        serial: rng.chance(25),
        sloppy: *rng.pick(&[0, 0, 10, 40]),
        mortal: *rng.pick(&[0, 0, 5, 20, 60]),
        patient: *rng.pick(&[100, 90, 50]),
        able: *rng.pick(&[100, 80, 80, 40, 0]),
        clumsy: *rng.pick(&[0, 0, 0, 10, 50]),
        silent: *rng.pick(&[0, 0, 3, 20]),
        questions: *rng.pick(&[0, 1, 3, 3, 60]),
        insists: false,
        nags: false,
    }
}
