//! What a line from the client causes, in the order of table B.

use super::event::{Level, Line};
use super::front::{Era, Held, Leg, Request, Seat};
use super::relay::NO_LEGACY_CLIENT;
use super::{Bridge, ServerEra, chain::Chain};
use crate::bounds::{MOST_HELD, SMALL};
use crate::message::body::Body;
use crate::message::envelope::{Envelope, has_claim, requested_version};
use crate::message::object::{Object, Spans};
use crate::message::params;
use crate::message::refusal::Refusal;
use crate::message::vocabulary::Method;
use crate::message::wire::{self, FromClient, Id};

impl Bridge {
    pub(super) fn client_line(&mut self, line: Line) {
        let ended = line.ended;
        let Some(text) = self.client_text(line.bytes) else { return };
        match wire::from_client(&text) {
            // What stood before the end of input without a line feed may be half a line (A3).
            FromClient::NotJson(_) if !ended => {}
            FromClient::NotJson(at) => self.refuse_line(None, &Refusal::ParseError(at)),
            FromClient::Invalid(id) => self.refuse_line(id.as_ref(), &Refusal::InvalidRequest),
            FromClient::Response => {
                self.say(
                    Level::Warning,
                    "the client sent a response, which 2026-07-28 has no use for; ignored",
                );
            }
            FromClient::Notification(method, params) => {
                if let ("notifications/cancelled", Some(params)) = (&*method, params.object()) {
                    self.client_cancelled(&params);
                }
            }
            FromClient::Request(id, method, params) => {
                let judged = self.judge(&id, &method, &params);
                if let Ok(Judged::Legacy(requested)) = judged {
                    return self.open_relay(id, requested, text);
                }
                let method_name: Box<str> = method.as_ref().into();
                let spans = match params.object() {
                    Some(params) => {
                        let meta = params.object("_meta").unwrap_or_default();
                        (Spans::of(&params, &text), Spans::of(&meta, &text))
                    }
                    None => (Spans::default(), Spans::default()),
                };
                match judged {
                    Err(refusal) => self.refuse_line(Some(&id), &refusal),
                    Ok(Judged::Legacy(_)) => {}
                    Ok(Judged::Ping) => {
                        self.tell_client(wire::response(Some(id.text()), "\"result\":{}"));
                    }
                    Ok(Judged::Modern(envelope)) => {
                        let method = Method::named(&method_name);
                        let request = Request::new(method, &method_name, spans.0, spans.1, text);
                        self.accept(id, envelope, request);
                    }
                }
            }
        }
    }

    /// A line of the client as text; one that is not UTF-8 is answered (A7).
    pub(super) fn client_text(&mut self, bytes: Vec<u8>) -> Option<String> {
        let text = String::from_utf8(bytes);
        if let Err(error) = &text {
            let at = error.utf8_error().valid_up_to();
            self.refuse_line(None, &Refusal::ParseError(at));
        }
        text.ok()
    }

    /// No more requests can come (H11).
    #[cold]
    #[inline(never)]
    pub(super) fn client_closed(&mut self) {
        self.front.closed = true;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn client_overlong(&mut self) {
        self.refuse_line(None, &Refusal::LineTooLong);
    }

    /// Steps 2 to 5 of table B, the client's era (I1-I3), and the methods no server is asked about.
    fn judge(&mut self, id: &Id, method: &str, params: &Body<'_>) -> Result<Judged, Refusal> {
        if self.front.is_in_flight(id) {
            return Err(Refusal::IdInUse);
        }
        let envelope = Envelope::read(params);
        let is_opening = self.front.era == Era::Opening;
        if method == "initialize" && envelope.is_err() {
            let requested = requested_version(params);
            let is_modern_only =
                self.upstream.is_modern || self.settings.server_era == ServerEra::Modern;
            if is_opening && !is_modern_only {
                return Ok(Judged::Legacy(requested));
            }
            if is_modern_only {
                self.say(Level::Error, NO_LEGACY_CLIENT);
            }
            return Err(Refusal::UnsupportedVersion { requested });
        }
        if is_opening && method == "ping" && !has_claim(params) {
            return Ok(Judged::Ping); // I2: both eras may ask this before anything else
        }
        let envelope = envelope?;
        let kind = Method::named(method);
        if kind != Method::Discover {
            self.front.era = Era::Modern;
        }
        if kind == Method::Removed {
            Err(Refusal::MethodNotFound(method.into()))
        } else {
            Ok(Judged::Modern(envelope))
        }
    }

    /// A request whose envelope is good: it is owed an answer from here on.
    fn accept(&mut self, id: Id, envelope: Envelope, request: Request) {
        let leg = Leg {
            id,
            capabilities: envelope.capabilities,
            progress_token: envelope.progress_token,
            log_level: envelope.log_level.unwrap_or_default(),
        };
        let level_is_legal = envelope.log_level.is_ok();
        let held = Held { leg, level_is_legal, request };
        if self.upstream.is_ready() {
            return self.admit(held);
        }
        if held.request.is_retry() {
            // No chain outlives its process, so this one is refused by what its state says.
            return self.admit_retry(held);
        }
        if let Some(why) = self.upstream_verdict() {
            return self.refuse_line(Some(&held.leg.id), &Refusal::UpstreamUnavailable(why));
        }
        if let Err(refusal) = self.check_room(&held) {
            return self.refuse_line(Some(&held.leg.id), &refusal);
        }
        self.front.sit(&held.leg.id, Seat::Held);
        self.front.held.push_back(held);
        self.want_server();
    }

    /// Is there room for one more unanswered request (R)?
    fn check_room(&self, held: &Held) -> Result<(), Refusal> {
        let is_exempt = held.request.method.is_exempt();
        let has_seat = if is_exempt {
            self.front.held.len() < MOST_HELD
        } else {
            self.front.counted() < self.settings.limits.in_flight
        };
        if !has_seat {
            return Err(Refusal::Overloaded("--max-in-flight"));
        }
        let waiting = self.front.held_bytes() + self.chains.waiting_bytes();
        let size = held.request.size();
        // What is kept for other purposes leaves a quarter at least.
        let most = self.settings.limits.buffer_bytes;
        let has_room = waiting + size <= most / 4
            || (waiting + size <= most && self.kept_bytes() + size <= most);
        let fits = waiting == 0 || has_room;
        if fits || (is_exempt && size <= SMALL) {
            Ok(())
        } else {
            Err(Refusal::Overloaded("--max-buffer-bytes"))
        }
    }

    /// Steps 6 to 9 of table B: what can be judged only now that the server is known.
    pub(super) fn admit(&mut self, held: Held) {
        if let Err(refusal) = self.judge_method(&held) {
            self.front.leave(&held.leg.id);
            return self.refuse_line(Some(&held.leg.id), &refusal);
        }
        if held.request.method == Method::Discover {
            return self.answer_discover(held.leg);
        }
        if held.request.method == Method::Listen {
            return self.admit_stream(held);
        }
        if held.request.is_retry() {
            return self.admit_retry(held);
        }
        if let (false, Err(refusal)) =
            (self.front.is_in_flight(&held.leg.id), self.check_room(&held))
        {
            return self.refuse_line(Some(&held.leg.id), &refusal);
        }
        let Held { leg, request, .. } = held;
        let id = leg.id.clone();
        let chain = self.chains.add(Chain::new(leg, request, self.now));
        self.front.sit(&id, Seat::Chain(chain));
        if !self.ask_roots_first(chain) {
            self.lane.wait(chain);
            self.pump();
        }
    }

    fn judge_method(&self, held: &Held) -> Result<(), Refusal> {
        self.judge_offers(&held.request)?;
        if !held.level_is_legal {
            return Err(Refusal::LogLevel);
        }
        params::check(held.request.method, &held.request.params())
    }

    /// Has the server what this request needs (B8, B10)?
    pub(super) fn judge_offers(&self, request: &Request) -> Result<(), Refusal> {
        let Some(profile) = self.upstream.ready_profile() else { return Ok(()) };
        match request.method.capability() {
            Some(capability) if !profile.offers.has(capability) => {
                Err(Refusal::NotSupported(capability))
            }
            None if request.method == Method::Vendor && !profile.offers.vendor => {
                Err(Refusal::MethodNotFound(request.name.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn answer_discover(&mut self, leg: Leg) {
        if let Some(profile) = self.upstream.ready_profile() {
            let outcome = profile.discover.clone();
            self.answer(leg, &outcome);
        }
    }

    /// `notifications/cancelled` (F7): what was asked under this id is not wanted any more.
    #[cold]
    #[inline(never)]
    fn client_cancelled(&mut self, params: &Object<'_>) {
        let Some(id) = &params.get("requestId").and_then(Id::read) else { return };
        let reason = params.string("reason").unwrap_or("the client gave it up".into());
        match self.front.seat(id) {
            Some(Seat::Held) => {
                drop(self.front.take_held(id));
                self.front.leave(id);
            }
            Some(Seat::Chain(chain)) => {
                self.front.leave(id);
                self.abandon(chain, &reason);
            }
            Some(Seat::Stream) => self.cancel_stream(id),
            // Answered already; when that answer was a question, the chain is given up (F9).
            None => {
                if let Some(chain) = self.chains.parked_leg(id) {
                    self.abandon(chain, &reason);
                }
            }
        }
    }
}

/// What a request turned out to be.
enum Judged {
    /// Of 2026-07-28.
    Modern(Envelope),
    /// The `initialize` of a legacy client, with the version it names (I1).
    Legacy(Option<String>),
    /// A ping before the era is known (I2).
    Ping,
}
