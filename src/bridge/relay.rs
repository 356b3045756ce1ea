//! The relay: client and server of one era, served as they are (I14, I15).
//!
//! Lines pass as they came. The bridge keeps what is its own in any case: line framing and limits,
//! noise on the server's output, the process, and the debt of one answer to each request, which
//! it pays itself when the server goes away.

use super::Bridge;
use super::event::{Level, Line};
use super::upstream::Phase;
use crate::message::discover;
use crate::message::equal::same_value;
use crate::message::object::{self, Body, Object, is_string};
use crate::message::refusal::{Refusal, error_code};
use crate::message::vocabulary::{MODERN, code, key};
use crate::message::wire::{self, FromClient, FromServer, Id};
use std::collections::{BTreeSet, VecDeque};

/// Which era both sides speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The client opened with `initialize`: everything passes, batches and questions too (I15).
    Legacy,
    /// The server turned out to be modern: nothing of ours is needed (I14).
    Modern,
}

#[derive(Debug)]
pub(super) struct Relay {
    pub(super) kind: Kind,
    /// Requests of the client that are not answered.
    open: BTreeSet<Id>,
    /// Lines that wait for the process.
    waiting: VecDeque<String>,
    waiting_bytes: usize,
    /// The legacy client's `initialize`, and the version it asked for, until it is answered.
    opening: Option<(Id, Option<String>)>,
    /// The version they settled on.
    version: String,
}

impl Relay {
    fn new(kind: Kind) -> Self {
        Relay {
            kind,
            open: BTreeSet::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            opening: None,
            version: String::new(),
        }
    }

    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The request that a response answers, by the value of its id.
    fn close(&mut self, id: &str) -> Option<Id> {
        let found = Id::read(id)
            .filter(|id| self.open.contains(id))
            .or_else(|| self.open.iter().find(|open| same_value(open.text(), id)).cloned())?;
        self.open.remove(&found);
        Some(found)
    }
}

impl Bridge {
    /// A legacy client opens with `initialize` (I1): from here on its lines pass as they are. A
    /// process that has shaken hands already is of no use to it (I15).
    pub(super) fn relay_legacy(&mut self, id: Id, requested: Option<String>, line: String) {
        let mut relay = Relay::new(Kind::Legacy);
        relay.opening = Some((id.clone(), requested));
        relay.open.insert(id);
        self.relay = Some(relay);
        self.upstream.was_asked = true;
        self.upstream.is_wanted = true;
        for held in std::mem::take(&mut self.front.held) {
            // Only probes can still wait: anything else would have decided the era.
            self.refuse(held.leg, &Refusal::LegacyConnection("the legacy era".into()));
        }
        let is_used = !matches!(
            self.upstream.phase,
            Phase::Starting | Phase::Fresh | Phase::Leaving | Phase::Down
        );
        if is_used {
            self.leave_server();
        }
        self.relay_upward(line);
    }

    /// The server turned out to be modern (I14): the requests that waited pass as they came.
    pub(super) fn relay_modern(&mut self) {
        self.upstream.is_modern = true;
        self.upstream.was_ready = true;
        self.upstream.phase = Phase::Ready;
        self.say(
            Level::Info,
            "the server speaks 2026-07-28 itself; its lines are relayed unchanged",
        );
        let mut relay = Relay::new(Kind::Modern);
        let held = std::mem::take(&mut self.front.held);
        relay.open.extend(held.iter().map(|held| held.leg.id.clone()));
        self.relay = Some(relay);
        for held in held {
            self.front.leave(&held.leg.id);
            self.relay_upward(held.request.into_line());
        }
    }

    /// Sends a line up, or keeps it until there is a process to take it.
    fn relay_upward(&mut self, line: String) {
        let is_there = match self.relay.as_ref().map(|relay| relay.kind) {
            Some(Kind::Legacy) => matches!(self.upstream.phase, Phase::Fresh | Phase::Ready),
            Some(Kind::Modern) => self.upstream.is_ready(),
            None => false,
        };
        if is_there {
            self.upstream.phase = Phase::Ready;
            let mut line = line.into_bytes();
            line.push(b'\n');
            return self.tell_server(line);
        }
        if let Some(relay) = &mut self.relay {
            relay.waiting_bytes += line.len();
            relay.waiting.push_back(line);
        }
        self.want_server();
    }

    /// The process is there: what waited for it goes up.
    pub(super) fn relay_waiting(&mut self) {
        self.upstream.phase = Phase::Ready;
        let Some(relay) = &mut self.relay else { return };
        relay.waiting_bytes = 0;
        for line in std::mem::take(&mut relay.waiting) {
            let mut line = line.into_bytes();
            line.push(b'\n');
            self.tell_server(line);
        }
    }

    /// A line of the client while relaying.
    pub(super) fn relay_client_line(&mut self, line: Line) {
        let ended = line.ended;
        let Ok(text) = String::from_utf8(line.bytes) else {
            return self.refuse_line(None, &Refusal::ParseError);
        };
        let Some(relay) = &self.relay else { return };
        let kind = relay.kind;
        let verdict = match wire::from_client(&text) {
            FromClient::NotJson if !ended => return,
            FromClient::NotJson => Err((None, Refusal::ParseError)),
            FromClient::Invalid(None)
                if kind == Kind::Legacy && text.trim_start().starts_with('[') =>
            {
                Ok(batch_requests(&text))
            }
            FromClient::Invalid(id) => Err((id, Refusal::InvalidRequest)),
            FromClient::Response if kind == Kind::Modern => return,
            FromClient::Response => Ok(Vec::new()),
            FromClient::Notification(method, params) => {
                if method == "notifications/cancelled" && kind == Kind::Modern {
                    let id = params.object().and_then(|p| p.get("requestId").and_then(Id::read));
                    if let (Some(id), Some(relay)) = (id, &mut self.relay) {
                        relay.open.remove(&id);
                    }
                }
                Ok(Vec::new())
            }
            FromClient::Request(id, method, params) => self
                .judge_relayed(&id, &method, &params)
                .map(|()| vec![id.clone()])
                .map_err(|r| (Some(id), r)),
        };
        match verdict {
            Err((id, refusal)) => self.refuse_line(id.as_ref(), &refusal),
            Ok(ids) => {
                if let Some(relay) = &mut self.relay {
                    relay.open.extend(ids);
                }
                self.relay_upward(text);
            }
        }
    }

    /// May this request pass?
    fn judge_relayed(&self, id: &Id, method: &str, params: &Body<'_>) -> Result<(), Refusal> {
        let Some(relay) = &self.relay else { return Ok(()) };
        if relay.open.contains(id) {
            return Err(Refusal::IdInUse);
        }
        let limits = &self.settings.limits;
        if relay.open.len() >= limits.in_flight + limits.subscriptions {
            return Err(Refusal::Overloaded("--max-in-flight"));
        }
        if relay.waiting_bytes > limits.buffer_bytes {
            return Err(Refusal::Overloaded("--max-buffer-bytes"));
        }
        match relay.kind {
            Kind::Modern if method == "initialize" && !has_claim(params) => {
                Err(Refusal::UnsupportedVersion { requested: requested_version(params) })
            }
            Kind::Modern => Ok(()),
            Kind::Legacy if method == "server/discover" => Err(Refusal::MethodNotFound), // I3
            Kind::Legacy if has_claim(params) => {
                Err(Refusal::LegacyConnection(relay.version.clone())) // I3
            }
            Kind::Legacy => Ok(()),
        }
    }

    /// A line of the server while relaying.
    pub(super) fn relay_server_line(&mut self, text: &str, ended: bool) {
        let mut passes = false;
        for message in wire::from_server(text) {
            match message {
                FromServer::Noise => {}
                FromServer::Request(id, ..) if self.is_relaying(Kind::Modern) => {
                    // No request goes down in 2026-07-28 (E2).
                    let refusal = "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}";
                    self.tell_server(wire::response(Some(id.text()), refusal));
                }
                FromServer::Response(id, outcome) => passes |= self.relay_response(id, &outcome),
                FromServer::Request(..) | FromServer::Notification(..) => passes = true,
            }
        }
        if passes {
            let mut line = Vec::with_capacity(text.len() + 1);
            line.extend_from_slice(text.as_bytes());
            line.push(b'\n');
            self.tell_client(line);
        } else if ended && wire::from_server(text).iter().any(|m| matches!(m, FromServer::Noise)) {
            self.say_noise(text);
        }
    }

    fn is_relaying(&self, kind: Kind) -> bool {
        self.relay.as_ref().is_some_and(|relay| relay.kind == kind)
    }

    /// Does this answer pass? Not when it answers nothing (A17).
    fn relay_response(&mut self, id: Option<&str>, outcome: &Result<Body<'_>, Body<'_>>) -> bool {
        let Some(relay) = &mut self.relay else { return false };
        let Some(id) = id else { return relay.kind == Kind::Legacy };
        let Some(closed) = relay.close(id) else { return relay.kind == Kind::Legacy };
        let is_opening = relay.opening.as_ref().is_some_and(|(opening, _)| *opening == closed);
        if is_opening {
            let requested = relay.opening.take().and_then(|(_, requested)| requested);
            return match outcome {
                Ok(Body::Object(result)) => {
                    relay.version =
                        result.string("protocolVersion").unwrap_or_default().into_owned();
                    self.upstream.was_ready = true;
                    true
                }
                Err(error) if is_modern_refusal(error) => {
                    self.refuse_legacy_client(&closed, requested);
                    false
                }
                Ok(_) | Err(_) => true,
            };
        }
        true
    }

    /// The server is modern and the client is not: said clearly, and the connection stays (I8-I13
    /// are not built).
    fn refuse_legacy_client(&mut self, id: &Id, requested: Option<String>) {
        self.say(
            Level::Error,
            "the server speaks only 2026-07-28 and the client opened with initialize; such a client cannot be served yet",
        );
        self.relay = None;
        self.upstream.is_modern = true;
        self.upstream.phase = Phase::Fresh;
        self.refuse_line(Some(id), &Refusal::UnsupportedVersion { requested });
    }

    /// The process is gone: what it owed is paid here. A legacy session cannot be taken up by
    /// another process; a modern server has none.
    pub(super) fn relay_lost(&mut self, how: &str) {
        let Some(relay) = &mut self.relay else { return };
        let kind = relay.kind;
        let open = std::mem::take(&mut relay.open);
        for id in open {
            self.refuse_line(Some(&id), &Refusal::UpstreamExited(how.to_owned()));
        }
        if kind == Kind::Legacy && !self.has_ended {
            self.exit(1);
        }
    }

    /// No process will take what waits.
    pub(super) fn relay_unavailable(&mut self, why: &str) {
        let Some(relay) = &mut self.relay else { return };
        relay.waiting.clear();
        relay.waiting_bytes = 0;
        for id in std::mem::take(&mut relay.open) {
            self.refuse_line(Some(&id), &Refusal::UpstreamUnavailable(why.to_owned()));
        }
    }

    /// Input has ended and these are still unanswered after the idle limit (H11).
    pub(super) fn relay_timed_out(&mut self) {
        let Some(relay) = &mut self.relay else { return };
        for id in std::mem::take(&mut relay.open) {
            self.refuse_line(Some(&id), &Refusal::Timeout);
        }
    }
}

/// Does the request claim to be modern (I3)?
pub(super) fn has_claim(params: &Body<'_>) -> bool {
    let Body::Object(params) = params else { return false };
    params.object("_meta").is_some_and(|meta| meta.get(key::PROTOCOL_VERSION).is_some())
}

/// The version that a claim-less `initialize` names, as JSON text (B9).
pub(super) fn requested_version(params: &Body<'_>) -> Option<String> {
    let Body::Object(params) = params else { return None };
    params.get("protocolVersion").filter(|raw| is_string(raw)).map(str::to_owned)
}

/// Is this the refusal of `initialize` by a server that knows only 2026-07-28 (I4b)?
pub(super) fn is_modern_refusal(error: &Body<'_>) -> bool {
    let code = error_code(error);
    let Body::Object(error) = error else { return false };
    code == Some(code::UNSUPPORTED_VERSION)
        || code == Some(code::METHOD_NOT_FOUND)
        || discover::supported_versions(error).iter().any(|version| version == MODERN)
        || error.string("message").is_some_and(|message| message.contains(MODERN))
}

/// The ids of the requests in a batch.
fn batch_requests(text: &str) -> Vec<Id> {
    let items = object::array(text).unwrap_or_default();
    items
        .into_iter()
        .filter_map(|item| Object::parse(item).filter(|o| o.get("method").is_some()))
        .filter_map(|request| request.get("id").and_then(Id::read))
        .collect()
}
