//! From a fresh process to one that serves: `initialize`, the probe, and a look at tools that nobody
//! declared (H1-H6, B8, I4b-I7).

use super::event::Level;
use super::upstream::{LISTING_MS, PROBE_MS, Phase, Purpose};
use super::{Bridge, ServerEra};
use crate::message::body::Body;
use crate::message::discover::{self, Offers};
use crate::message::object::Object;
use crate::message::refusal::error_code;
use crate::message::value::string;
use crate::message::vocabulary::{MODERN, Revision, code, key};
use crate::message::wire;

/// Everything that the bridge can convert is declared: what a client can do is known per request
/// only, and much later (H2).
const DECLARED: &str = "{\"roots\":{},\"sampling\":{\"tools\":{},\"context\":{}},\"elicitation\":{\"form\":{},\"url\":{}}}";

/// A revision before the first that has a name here; spoken like the next one (H3).
const BEFORE_THE_FIRST: &str = "2024-10-07";

impl Bridge {
    /// Sends `initialize` with the newest revision that was not offered yet (H1, H4).
    pub(super) fn shake_hands(&mut self) {
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

    #[cold]
    #[inline(never)]
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
    #[cold]
    #[inline(never)]
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

    /// Asks whether the server is a modern one (I5).
    pub(super) fn probe(&mut self) {
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
    #[cold]
    #[inline(never)]
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
        if is_auto
            && self.upstream.probes == 0
            && discover::is_modern_refusal(&Body::Object(error.clone()))
        {
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
}
