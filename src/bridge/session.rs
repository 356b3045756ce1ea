//! The wrapped server's life: start, handshake, loss, next process (H1-H6, H12, H13, B8, C3).

use super::chain::{Doing, State};
use super::event::{Effect, Exit, Generation, Level};
use super::modern::Modern;
use super::relay::is_modern_refusal;
use super::upstream::{CLOSED_MS, LISTING_MS, PROBE_MS, Phase, Purpose};
use super::{Bridge, ServerEra};
use crate::message::body::Body;
use crate::message::discover::{self, Offers};
use crate::message::object::Object;
use crate::message::refusal::{Refusal, error_code};
use crate::message::value::string;
use crate::message::vocabulary::{MODERN, Revision, code, key};
use crate::message::wire;

/// Everything that the bridge can convert is declared: what a client can do is known per request
/// only, and much later (H2).
const DECLARED: &str = "{\"roots\":{},\"sampling\":{\"tools\":{},\"context\":{}},\"elicitation\":{\"form\":{},\"url\":{}}}";

/// A revision before the first that has a name here; spoken like the next one (H3).
const BEFORE_THE_FIRST: &str = "2024-10-07";

impl Bridge {
    /// Something needs the server.
    pub(super) fn want_server(&mut self) {
        self.upstream.is_wanted = true;
        match self.upstream.phase {
            Phase::Fresh => self.use_fresh(),
            Phase::Down => self.restart_if_due(),
            Phase::Starting
            | Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready
            | Phase::Leaving => {}
        }
    }

    /// A process that was told nothing yet, and something for it to do.
    fn use_fresh(&mut self) {
        if self.relay.is_some() {
            self.relay_is_there();
        } else if self.modern.is_some() {
            self.modern_is_there();
        } else if self.upstream.is_modern {
            self.server_is_modern();
        } else if self.settings.server_era == ServerEra::Modern {
            self.probe();
        } else {
            self.shake_hands();
        }
    }

    /// Starts the next process as soon as it may start (H12).
    pub(super) fn restart_if_due(&mut self) {
        if self.upstream.phase != Phase::Down || !self.upstream.is_wanted {
            return;
        }
        if let Some(why) = self.upstream_verdict() {
            return self.fail_for_good(&why);
        }
        if self.upstream.not_before <= self.now {
            self.upstream.generation.0 += 1;
            self.upstream.phase = Phase::Starting;
            self.push(Effect::StartServer(self.upstream.generation));
        }
    }

    /// Why no request can be served now, nor after a short wait.
    pub(super) fn upstream_verdict(&mut self) -> Option<String> {
        if let Some(why) = &self.upstream.verdict {
            return Some(why.clone());
        }
        let is_loop = self.upstream.phase == Phase::Down && self.upstream.is_crash_loop(self.now);
        is_loop
            .then(|| "it ended too often within a minute and is not started again for now".into())
    }

    pub(super) fn server_started(&mut self, generation: Generation) {
        if generation != self.upstream.generation || self.upstream.phase != Phase::Starting {
            return;
        }
        self.upstream.phase = Phase::Fresh;
        self.upstream.closed = None;
        self.upstream.noise = 0;
        if self.upstream.is_wanted {
            self.use_fresh();
        }
    }

    pub(super) fn server_unstartable(&mut self, generation: Generation, why: &str) {
        if generation != self.upstream.generation {
            return;
        }
        self.say(Level::Error, why);
        self.upstream.is_unstartable = true;
        self.upstream.verdict = Some(why.to_owned());
        self.upstream.phase = Phase::Down;
        self.fail_for_good(why);
    }

    /// Sends `initialize` with the newest revision that was not offered yet (H1, H4).
    fn shake_hands(&mut self) {
        let revision = self.upstream.offer();
        self.upstream.was_asked = true;
        self.upstream.is_walking = false;
        let until = self.now.after(self.settings.limits.initialize_timeout_ms);
        self.upstream.phase = Phase::Handshaking { until };
        let id = self.upstream.expect(Purpose::Handshake);
        let params = format!(
            "{{\"protocolVersion\":\"{}\",\"capabilities\":{DECLARED},\"clientInfo\":{{\"name\":\"mcp-uplift\",\"version\":\"{}\"}}}}",
            revision.name(),
            env!("CARGO_PKG_VERSION")
        );
        self.tell_server(wire::request(id.0, "initialize", &params));
    }

    pub(super) fn handshake_answered(&mut self, outcome: Result<Body<'_>, Body<'_>>) {
        match outcome {
            Ok(Body::Object(result)) => self.handshake_accepted(&result),
            Ok(Body::Absent | Body::Null | Body::Other) => {
                self.give_server_up("it answered initialize with a result that is not an object");
            }
            Err(error) => self.handshake_refused(&error.object().unwrap_or_default()),
        }
    }

    fn handshake_accepted(&mut self, result: &Object<'_>) {
        let version = result.string("protocolVersion").unwrap_or_default();
        let revision = match Revision::named(&version) {
            Some(revision) => revision,
            None if version == BEFORE_THE_FIRST => {
                self.say(Level::Warning, "the server speaks 2024-10-07; taken for 2024-11-05");
                Revision::R2024_11
            }
            None => {
                let why = format!(
                    "it answered initialize with protocol version \"{version}\", expected 2024-11-05 to 2025-11-25"
                );
                return self.give_server_up(&why);
            }
        };
        let offers = discover::offers(result, revision);
        let command = &self.settings.command_name;
        self.upstream.profile = Some(discover::profile(result, revision, offers, command));
        self.upstream.offer_again();
        self.upstream.was_ready = true;
        self.tell_server(wire::notification("notifications/initialized", ""));
        if !offers.nothing {
            return self.server_is_ready();
        }
        let offers = Offers { tools: true, ..offers };
        let command = &self.settings.command_name;
        self.upstream.with_tools = Some(discover::profile(result, revision, offers, command));
        self.upstream.phase = Phase::Listing { until: self.now.after(LISTING_MS) };
        let id = self.upstream.expect(Purpose::Tools);
        self.tell_server(wire::request(id.0, "tools/list", "{}"));
    }

    /// The answer to the probe for undeclared tools (B8).
    pub(super) fn tools_listed(&mut self, outcome: &Result<Body<'_>, Body<'_>>) {
        if !matches!(self.upstream.phase, Phase::Listing { .. }) {
            return;
        }
        let with_tools = self.upstream.with_tools.take();
        if let Ok(Body::Object(result)) = outcome
            && discover::has_tools(result)
        {
            self.upstream.profile = with_tools;
        }
        self.server_is_ready();
    }

    /// Requests may go up: those that waited are judged now, in their order.
    pub(super) fn server_is_ready(&mut self) {
        self.upstream.phase = Phase::Ready;
        self.upstream.is_wanted = false;
        let revision = self.upstream.revision().name();
        self.say(Level::Info, format!("the server is ready (legacy, {revision})"));
        self.judge_waiting_again();
        self.revive_streams();
        for held in std::mem::take(&mut self.front.held) {
            self.admit(held);
        }
        self.pump();
    }

    /// What waited for its turn while the process changed was judged by the old one's capabilities
    /// (B8, H5).
    fn judge_waiting_again(&mut self) {
        let waiting = self.chains.all.iter().filter(|(_, chain)| chain.is_waiting());
        let refused =
            waiting.filter_map(|(id, chain)| Some((*id, self.judge_offers(&chain.request).err()?)));
        for (id, refusal) in refused.collect::<Vec<_>>() {
            self.fail(id, &refusal);
        }
    }

    /// Asks whether the server is a modern one (I5).
    fn probe(&mut self) {
        self.upstream.was_asked = true;
        self.upstream.probes += 1;
        self.upstream.phase = Phase::Probing { until: self.now.after(PROBE_MS) };
        let id = self.upstream.expect(Purpose::Probe);
        let meta = format!(
            "{{\"{}\":\"{MODERN}\",\"{}\":{{\"name\":\"mcp-uplift\",\"version\":\"{}\"}},\"{}\":{{}}}}",
            key::PROTOCOL_VERSION,
            key::CLIENT_INFO,
            env!("CARGO_PKG_VERSION"),
            key::CLIENT_CAPABILITIES
        );
        self.tell_server(wire::request(id.0, "server/discover", &format!("{{\"_meta\":{meta}}}")));
    }

    /// The answer to the probe (I5); one that comes too late counts if `initialize` fails (I6).
    pub(super) fn probe_answered(&mut self, outcome: Result<Body<'_>, Body<'_>>) {
        let is_in_time = matches!(self.upstream.phase, Phase::Probing { .. });
        match outcome {
            Ok(Body::Object(result)) if discover::serves(&result, MODERN) => {
                if is_in_time {
                    self.server_is_modern();
                } else {
                    self.upstream.discovered_late = true;
                }
            }
            Err(error) if is_in_time && error_code(&error) == Some(code::UNSUPPORTED_VERSION) => {
                let named = discover::supported_versions(&error.object().unwrap_or_default());
                let is_legacy = named.iter().any(|name| Revision::named(name).is_some());
                if named.iter().any(|name| name == MODERN) && self.upstream.probes < 2 {
                    self.probe();
                } else if named.is_empty() || (is_legacy && !named.iter().any(|n| n == MODERN)) {
                    self.probe_failed("it refused server/discover");
                } else {
                    self.give_server_up(&format!("it serves only {}", named.join(", ")));
                }
            }
            Ok(_) | Err(_) if is_in_time => {
                self.probe_failed("its answer to server/discover is not a modern one");
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// Not a modern server, as far as the probe can tell: legacy after all, unless told otherwise.
    pub(super) fn probe_failed(&mut self, how: &str) {
        if self.settings.server_era == ServerEra::Modern {
            self.give_server_up(&format!(
                "{how}, and --protocol-version {MODERN} allows nothing else"
            ));
        } else if self.upstream.to_offer.is_empty() {
            self.give_server_up(&format!("it refused initialize, and {how}"));
        } else {
            self.shake_hands();
            self.upstream.is_walking = true;
        }
    }

    /// `initialize` was refused (H4): try the best revision that the server names, else the next.
    fn handshake_refused(&mut self, error: &Object<'_>) {
        let message = error.get("message").and_then(string).unwrap_or("no message".into());
        if self.upstream.discovered_late {
            return self.server_is_modern();
        }
        let is_auto = self.settings.server_era == ServerEra::Auto;
        if is_auto && self.upstream.probes == 0 && is_modern_refusal(&Body::Object(error.clone())) {
            let text =
                format!("the server refused initialize ({message}); asking whether it is modern");
            self.say(Level::Info, text);
            return self.probe();
        }
        let named = discover::supported_versions(error);
        let known: Vec<_> = named.iter().filter_map(|name| Revision::named(name)).collect();
        if let Some(best) = known.iter().max() {
            self.upstream.to_offer.retain(|revision| revision == best);
        } else if !named.is_empty() {
            self.upstream.to_offer.clear();
        }
        if self.upstream.to_offer.is_empty() {
            return self.give_server_up(&format!("it refused initialize: {message}"));
        }
        self.say(
            Level::Info,
            format!("the server refused initialize ({message}); trying an older revision"),
        );
        self.shake_hands();
        self.upstream.is_walking = true;
    }

    /// The server can't be used, now or later: its process is ended.
    pub(super) fn give_server_up(&mut self, why: &str) {
        self.leave_server();
        self.condemn_server(why);
    }

    /// The server can't be used, now or later; what waits is told why.
    fn condemn_server(&mut self, why: &str) {
        self.say(Level::Error, format!("the server cannot be used: {why}"));
        self.upstream.verdict = Some(why.to_owned());
        self.fail_for_good(why);
    }

    /// `initialize` is never cancelled: a server that does not answer it is ended (H6).
    pub(super) fn handshake_timed_out(&mut self) {
        let ms = self.settings.limits.initialize_timeout_ms;
        let how = format!("it did not answer initialize within {ms} ms (--initialize-timeout-ms)");
        self.say(Level::Error, format!("the server is ended: {how}"));
        self.leave_server();
        self.upstream.offer_again();
        self.upstream.crashed(self.now);
        self.fail_waiting(&how);
    }

    /// Nothing of a process outlives it: no answer of it is awaited, no question of it is open.
    fn forget_process(&mut self) {
        self.upstream.closed = None;
        self.upstream.forget_pending();
        self.ambient.clear();
        self.close_ambient();
    }

    /// Makes the process end; until it has, nothing is sent to it or believed of it.
    pub(super) fn leave_server(&mut self) {
        self.upstream.phase = Phase::Leaving;
        self.forget_process();
        self.push(Effect::StopServer(self.upstream.generation));
    }

    /// There will be no server: streams end, too (G13, G14).
    fn fail_for_good(&mut self, why: &str) {
        self.close_streams();
        self.fail_waiting(why);
    }

    /// Refuses everything that waits for a server (C3). The next request starts another, and open
    /// streams want one in any case.
    fn fail_waiting(&mut self, why: &str) {
        self.upstream.is_wanted = !self.listen.streams.is_empty();
        let refusal = Refusal::UpstreamUnavailable(why.to_owned());
        for held in std::mem::take(&mut self.front.held) {
            self.refuse(held.leg, &refusal);
        }
        self.refuse_relayed(&refusal);
        self.refuse_passed(&refusal);
        self.refuse_waiting_to_pass(&refusal);
        let waiting: Vec<_> = self
            .chains
            .all
            .iter()
            .filter(|(_, chain)| chain.is_waiting())
            .map(|(id, _)| *id)
            .collect();
        for chain in waiting {
            self.fail(chain, &refusal);
        }
    }

    /// The server closed its output. It usually ends right after that; else it is made to (H12).
    pub(super) fn server_closed(&mut self, generation: Generation) {
        let is_alive = !matches!(self.upstream.phase, Phase::Leaving | Phase::Down);
        if generation == self.upstream.generation && is_alive {
            self.upstream.closed = Some(self.now.after(CLOSED_MS));
        }
    }

    /// It closed its output and lives on: of no use any more (H12).
    pub(super) fn server_stays_closed(&mut self) {
        let how = "it closed its output";
        self.say(Level::Warning, format!("the server is ended: {how}"));
        let phase = self.upstream.phase;
        self.leave_server();
        self.upstream.crashed(self.now);
        if let Phase::Handshaking { .. } = phase {
            self.upstream.offer_again();
        }
        self.server_lost(how, phase == Phase::Ready);
    }

    pub(super) fn server_exited(&mut self, generation: Generation, exit: Exit) {
        if generation != self.upstream.generation {
            return;
        }
        let phase = self.upstream.phase;
        self.upstream.phase = Phase::Down;
        self.forget_process();
        match phase {
            // We ended it and have told everybody why.
            Phase::Leaving => {}
            Phase::Probing { .. } if self.settings.server_era == ServerEra::Auto => {
                // Old servers end on anything before initialize (I6): that goes to a new process.
                self.upstream.not_before = self.now;
                if self.upstream.to_offer.is_empty() {
                    self.condemn_server(&format!(
                        "it refused initialize, and {exit} when asked whether it is modern"
                    ));
                }
            }
            Phase::Handshaking { .. } if self.upstream.is_walking => {
                // It refused a revision and left: the next one is offered to a new process (H4).
                self.upstream.offer_again();
                self.upstream.not_before = self.now;
            }
            Phase::Starting | Phase::Fresh | Phase::Down => {
                self.upstream.crashed(self.now);
                self.say(Level::Info, format!("the server {exit} before it was asked anything"));
                // What nobody asked for needs no delay when somebody does.
                self.upstream.not_before = self.now;
            }
            Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready => {
                if let Phase::Handshaking { .. } = phase {
                    self.upstream.offer_again();
                }
                let was_ready = phase == Phase::Ready;
                self.say(Level::Warning, format!("the server {exit}{}", self.hint_at_hold_lane()));
                self.upstream.crashed(self.now);
                self.server_lost(&format!("it {exit}"), was_ready);
            }
        }
        self.restart_if_due();
    }

    /// A server that reads the next request where it expected an answer often dies of it (E14b).
    fn hint_at_hold_lane(&self) -> &'static str {
        let is_running = self.chains.all.values().any(|c| c.is_running() && c.call.is_some());
        let is_parked = self.chains.all.values().any(|c| c.is_parked() && c.call.is_some());
        if is_running && is_parked && !self.settings.hold_lane {
            " while a question was open and another call ran; if it cannot do both, use --hold-lane"
        } else {
            ""
        }
    }

    /// What ran on the process that is gone fails, its states are void (E24); what only waited
    /// runs on the next one.
    fn server_lost(&mut self, how: &str, was_ready: bool) {
        let refusal = Refusal::UpstreamExited(how.to_owned());
        self.refuse_passed(&refusal);
        if self.relay.is_some() {
            // No other process can take up a legacy session: that is the end.
            self.refuse_relayed(&refusal);
            return self.exit(1);
        }
        self.epoch = self.random_hex::<8>();
        self.memory.clear();
        self.upstream.log_level.forget();
        self.listen.forget_watches();
        let ids: Vec<_> = self.chains.all.keys().copied().collect();
        for id in ids {
            let Some(chain) = self.chains.all.get_mut(&id) else {
                continue;
            };
            chain.questions.clear();
            chain.call = None;
            match &chain.state {
                State::Active(_, Doing::Waiting { .. }) => {}
                // Not sent yet, or not for the time being: they go on with the next process.
                State::Active(_, Doing::Leveling { .. } | Doing::Visiting { .. }) => {
                    self.wait_again(id);
                }
                State::Active(_, Doing::Running { .. }) => self.fail(id, &refusal),
                State::Active(_, Doing::Returning { .. }) => self.fail(id, &Refusal::Restarted),
                State::Parked { outcome: Some(_), .. } => self.lane.release(id),
                State::Parked { outcome: None, .. } => drop(self.take_chain(id)),
            }
        }
        let is_waited_for = self.lane.has_requests()
            || !self.front.held.is_empty()
            || self.modern.as_ref().is_some_and(Modern::is_waiting)
            || !self.listen.streams.is_empty();
        self.upstream.is_wanted = is_waited_for;
        if !was_ready && is_waited_for {
            // It never got as far as serving: starting it again is for the next request (C3).
            self.fail_waiting(&format!("{how} during the handshake; its stderr may say why"));
        }
    }
}
