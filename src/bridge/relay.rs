//! The relay: a legacy client in front of a legacy server, served as they are (I15).
//!
//! Lines pass as they came: requests both ways, batches, everything. The bridge keeps what is its
//! own in any case: line framing and limits, noise on the server's output, the process, and the
//! debt of one answer to each request, which it pays itself when the server goes away.

use super::Bridge;
use super::event::{Level, Line};
use super::upstream::Phase;
use crate::message::body::Body;
use crate::message::discover::is_modern_refusal;
use crate::message::envelope::has_claim;
use crate::message::equal::same_value;
use crate::message::list;
use crate::message::object::Object;
use crate::message::refusal::Refusal;
use crate::message::wire::{self, FromClient, FromServer, Id};
use std::collections::VecDeque;

/// What the person is told when eras do not meet (I8-I13 are not built).
pub(super) const NO_LEGACY_CLIENT: &str = "the server speaks only 2026-07-28 and the client opened with initialize; such a client cannot be served";

#[derive(Debug)]
pub(super) struct Relay {
    /// Requests of the client that are not answered.
    open: Vec<Id>,
    /// Those that we answered ourselves and the server may answer yet, oldest first.
    paid: VecDeque<Id>,
    /// Lines that wait for the process.
    waiting: VecDeque<String>,
    /// The client's `initialize`, and the version it asked for, until it is answered.
    opening: Option<(Id, Option<String>)>,
    /// Requests came behind it: the process may know ids that are the client's.
    has_more: bool,
    /// The version they settled on; what was asked for until then.
    version: String,
}

impl Relay {
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Bytes of what waits for the process.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(String::len).sum()
    }

    /// The request that a response answers, by the value of its id.
    fn close(&mut self, id: &str) -> Option<Id> {
        let at = self
            .open
            .iter()
            .position(|open| open.text() == id)
            .or_else(|| self.open.iter().position(|open| same_value(open.text(), id)))?;
        Some(self.open.swap_remove(at))
    }

    /// Was this request answered already, by us? Once: what else the server says is its own affair.
    fn is_paid(&mut self, id: &str) -> bool {
        let at = self.paid.iter().position(|paid| same_value(paid.text(), id));
        at.and_then(|at| self.paid.remove(at)).is_some()
    }
}

impl Bridge {
    /// A legacy client opens with `initialize` (I1): from here on its lines pass as they are. A
    /// process that has shaken hands already is of no use to it (I15).
    #[cold]
    #[inline(never)]
    pub(super) fn open_relay(&mut self, id: Id, requested: Option<String>, line: String) {
        self.relay = Some(Relay {
            open: vec![id.clone()],
            paid: VecDeque::new(),
            waiting: VecDeque::new(),
            version: requested.clone().unwrap_or_default(),
            opening: Some((id, requested)),
            has_more: false,
        });
        // Only probes can still wait: anything else would have decided the era.
        for held in std::mem::take(&mut self.front.held) {
            self.refuse(held.leg, &Refusal::MethodNotFound(held.request.name.to_string()));
        }
        self.upstream.was_asked = true;
        match self.upstream.phase {
            Phase::Starting | Phase::Fresh | Phase::Leaving | Phase::Down => {}
            Phase::Handshaking { .. }
            | Phase::Probing { .. }
            | Phase::Listing { .. }
            | Phase::Ready => self.leave_server(),
        }
        self.relay_up(line);
    }

    /// Sends a line up, or keeps it until there is a process to take it.
    fn relay_up(&mut self, line: String) {
        if matches!(self.upstream.phase, Phase::Fresh | Phase::Ready) {
            self.upstream.phase = Phase::Ready;
            return self.tell_server(with_line_feed(line));
        }
        let most = self.settings.limits.buffer_bytes;
        if let Some(relay) = &mut self.relay {
            if relay.waiting_bytes() > most {
                let text =
                    "a notification of the client is dropped: too much waits (--max-buffer-bytes)";
                return self.say(Level::Warning, text);
            }
            relay.waiting.push_back(line);
        }
        self.want_server();
    }

    /// The process is there: what waited for it goes up.
    pub(super) fn relay_is_there(&mut self) {
        self.upstream.phase = Phase::Ready;
        self.upstream.is_wanted = false;
        let Some(relay) = &mut self.relay else { return };
        for line in std::mem::take(&mut relay.waiting) {
            self.tell_server(with_line_feed(line));
        }
    }

    /// A line of the client.
    pub(super) fn relay_client_line(&mut self, line: Line) {
        let ended = line.ended;
        let Some(text) = self.client_text(line.bytes) else { return };
        let mut requests = Vec::new();
        match wire::from_client(&text) {
            FromClient::NotJson(_) if !ended => return,
            FromClient::NotJson(at) => return self.refuse_line(None, &Refusal::ParseError(at)),
            FromClient::Invalid(None) if text.trim_start().starts_with('[') => {
                requests = requests_of_batch(&text);
                let room =
                    self.relay.as_ref().map(|relay| self.check_relay_room(relay, requests.len()));
                if let (Some(Err(refusal)), false) = (room, requests.is_empty()) {
                    for id in requests {
                        self.refuse_line(Some(&id), &refusal);
                    }
                    return;
                }
            }
            FromClient::Invalid(id) => {
                return self.refuse_line(id.as_ref(), &Refusal::InvalidRequest);
            }
            FromClient::Notification(method, params) if method == "notifications/cancelled" => {
                // It may be answered or not; nobody waits for it any more.
                let id = params.object().and_then(|params| params.get("requestId"));
                if let (Some(id), Some(relay)) = (id, &mut self.relay) {
                    relay.close(id);
                }
            }
            FromClient::Response | FromClient::Notification(..) => {}
            FromClient::Request(id, method, params) => {
                if let Err(refusal) = self.judge_relayed(&id, &method, &params) {
                    return self.refuse_line(Some(&id), &refusal);
                }
                requests.push(id);
            }
        }
        if let Some(relay) = &mut self.relay {
            relay.has_more |= !requests.is_empty();
            relay.open.extend(requests);
        }
        self.relay_up(text);
    }

    /// May this request pass?
    fn judge_relayed(&self, id: &Id, method: &str, params: &Body<'_>) -> Result<(), Refusal> {
        let Some(relay) = &self.relay else { return Ok(()) };
        if relay.open.contains(id) {
            Err(Refusal::IdInUse)
        } else if method == "server/discover" {
            Err(Refusal::MethodNotFound(method.into())) // I3
        } else if has_claim(params) {
            Err(Refusal::LegacyConnection(relay.version.clone())) // I3
        } else {
            self.check_relay_room(relay, 1)
        }
    }

    /// Is there room for a line with so many requests (R)? A batch may have half a million.
    fn check_relay_room(&self, relay: &Relay, requests: usize) -> Result<(), Refusal> {
        let limits = &self.settings.limits;
        if relay.open.len() + requests > limits.in_flight {
            Err(Refusal::Overloaded("--max-in-flight"))
        } else if relay.waiting_bytes() > limits.buffer_bytes {
            Err(Refusal::Overloaded("--max-buffer-bytes"))
        } else {
            Ok(())
        }
    }

    /// A line of the server: a message, or a batch with at least one.
    pub(super) fn relay_server_line(&mut self, text: String, ended: bool) {
        let (mut passes, mut is_noise) = (false, true);
        wire::from_server(&text, &mut |message| {
            is_noise &= matches!(message, FromServer::Noise);
            passes |= match message {
                FromServer::Noise => false,
                FromServer::Request(..) | FromServer::Notification(..) => true,
                FromServer::Response(id, outcome) => self.relay_response(id, &outcome),
            };
        });
        if passes {
            self.tell_client(with_line_feed(text));
        } else if ended && is_noise {
            self.say_noise(&text);
        }
    }

    /// Books an answer; false when it must not pass because the client gets another.
    fn relay_response(&mut self, id: Option<&str>, outcome: &Result<Body<'_>, Body<'_>>) -> bool {
        let Some(relay) = &mut self.relay else { return false };
        let Some(id) = id else { return true };
        let Some(closed) = relay.close(id) else { return !relay.is_paid(id) };
        if relay.opening.as_ref().is_none_or(|(opening, _)| *opening != closed) {
            return true;
        }
        let requested = relay.opening.take().and_then(|(_, requested)| requested);
        match outcome {
            Ok(Body::Object(result)) => {
                relay.version = result.string("protocolVersion").unwrap_or_default().into_owned();
                self.upstream.was_ready = true;
                true
            }
            Err(error) if is_modern_refusal(error) => {
                self.refuse_legacy_client(&closed, requested);
                false
            }
            Ok(_) | Err(_) => true,
        }
    }

    /// The server is modern and the client is not: said clearly, and the connection stays open for
    /// a modern one (I8-I13 are not built). A process that may still answer under an id of the
    /// client's is of no use to it: ours could be the same (A19).
    fn refuse_legacy_client(&mut self, id: &Id, requested: Option<String>) {
        self.say(Level::Error, NO_LEGACY_CLIENT);
        self.upstream.is_modern = true;
        self.refuse_line(Some(id), &Refusal::UnsupportedVersion { requested });
        self.refuse_relayed(&Refusal::UpstreamUnavailable(NO_LEGACY_CLIENT.into()));
        if self.relay.take().is_some_and(|relay| relay.has_more) {
            self.leave_server();
        } else {
            self.upstream.phase = Phase::Fresh;
        }
    }

    /// What is unanswered fails, and the server goes on (R): its answers, should they come after all,
    /// are not wanted any more.
    pub(super) fn fail_relayed(&mut self, refusal: &Refusal) {
        let most = self.settings.limits.in_flight;
        if let Some(relay) = &mut self.relay {
            // One of them never comes, each time: those of long ago are forgotten.
            relay.paid.drain(..relay.paid.len().saturating_sub(most));
            relay.paid.extend(relay.open.iter().cloned());
        }
        self.refuse_relayed(refusal);
    }

    /// What is unanswered will not be answered by the server; nor will what waits be sent.
    pub(super) fn refuse_relayed(&mut self, refusal: &Refusal) {
        let Some(relay) = &mut self.relay else { return };
        relay.waiting.clear();
        for id in std::mem::take(&mut relay.open) {
            self.refuse_line(Some(&id), refusal);
        }
    }
}

fn with_line_feed(line: String) -> Vec<u8> {
    let mut line = line.into_bytes();
    line.push(b'\n');
    line
}

/// The ids of the requests in a batch.
fn requests_of_batch(text: &str) -> Vec<Id> {
    list::array(text)
        .into_iter()
        .flatten()
        .filter_map(|item| Object::parse(item).filter(|o| o.get("method").is_some()))
        .filter_map(|request| request.get("id").and_then(Id::read))
        .collect()
}
