//! A server that turned out to be modern itself (I14): requests, answers and notifications pass
//! unchanged, but for the ids. Those are ours upward, so that a late answer to our own probe can
//! never be taken for a client's.

use super::Bridge;
use super::event::{Level, Line};
use super::ids::ServerId;
use super::relay::NO_LEGACY_CLIENT;
use super::table::Table;
use super::upstream::{Phase, Purpose};
use crate::message::body::Body;
use crate::message::envelope::{has_claim, requested_version};
use crate::message::object::Object;
use crate::message::refusal::Refusal;
use crate::message::splice::Spliced;
use crate::message::value::is_key;
use crate::message::vocabulary::key;
use crate::message::wire::{self, FromClient, FromServer, Id};
use crate::message::writer::{Text, Writer};
use std::collections::VecDeque;
use std::sync::Arc;

/// A request of the client that went up.
#[derive(Debug)]
struct Passed {
    /// Its id.
    id: Id,
    /// The server acknowledged it as a stream (G4): its answer is its end.
    is_stream: bool,
}

#[derive(Debug, Default)]
pub(super) struct Modern {
    /// Requests of the client that are not answered, by the id they have upward.
    open: Table<ServerId, Passed>,
    /// Requests that wait for a process, with the line they came in.
    waiting: VecDeque<(Id, Arc<String>)>,
}

impl Modern {
    /// Is a request unanswered? Streams are not waited for (H11).
    pub(super) fn has_open(&self) -> bool {
        self.open.values().any(|passed| !passed.is_stream) || self.is_waiting()
    }

    /// Does a request wait for a process?
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Bytes of what waits for a process.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(|(_, line)| line.len()).sum()
    }

    fn is_in_use(&self, id: &Id) -> bool {
        self.upward(id).is_some() || self.waiting.iter().any(|(waiting, _)| waiting == id)
    }

    fn upward(&self, id: &Id) -> Option<ServerId> {
        self.open.iter().find(|(_, passed)| passed.id == *id).map(|(upward, _)| *upward)
    }
}

impl Bridge {
    /// The server turned out to be modern: what waited for its handshake passes as it came.
    pub(super) fn server_is_modern(&mut self) {
        self.say(
            Level::Info,
            "the server speaks 2026-07-28 itself; its messages are relayed unchanged",
        );
        self.upstream.is_modern = true;
        self.upstream.was_ready = true;
        let mut modern = Modern::default();
        for held in std::mem::take(&mut self.front.held) {
            self.front.leave(&held.leg.id);
            modern.waiting.push_back((held.leg.id, Arc::clone(held.request.line())));
        }
        self.modern = Some(modern);
        self.modern_is_there();
    }

    /// There is a process: what waited for it goes up.
    pub(super) fn modern_is_there(&mut self) {
        self.upstream.phase = Phase::Ready;
        self.upstream.is_wanted = false;
        let Some(modern) = &mut self.modern else { return };
        for (id, line) in std::mem::take(&mut modern.waiting) {
            self.pass_up(id, &line);
        }
    }

    /// Sends a client's request up under an id of ours.
    fn pass_up(&mut self, id: Id, line: &Arc<String>) {
        let Some(request) = Object::parse(line) else { return };
        let upward = self.upstream.expect(Purpose::Passed);
        let mut out = Spliced::over(line);
        let mut up = Writer::new(&mut out);
        up.raw("jsonrpc", "\"2.0\"");
        up.raw("id", &upward.0.to_string());
        for name in ["method", "params"] {
            if let Some(value) = request.get(name) {
                up.raw(name, value);
            }
        }
        up.end();
        out.push('\n');
        if let Some(modern) = &mut self.modern {
            modern.open.insert(upward, Passed { id, is_stream: false });
        }
        self.tell_server(out.finish());
    }

    /// A line of the client.
    pub(super) fn modern_client_line(&mut self, line: Line) {
        let ended = line.ended;
        let Some(text) = self.client_text(line.bytes).map(Arc::new) else { return };
        match wire::from_client(&text) {
            FromClient::NotJson(_) if !ended => {}
            FromClient::NotJson(at) => self.refuse_line(None, &Refusal::ParseError(at)),
            FromClient::Invalid(id) => self.refuse_line(id.as_ref(), &Refusal::InvalidRequest),
            FromClient::Response => {}
            FromClient::Notification(method, params) => self.pass_note(&method, params),
            FromClient::Request(id, method, params) => {
                match self.judge_passed(&id, &method, &params) {
                    Err(refusal) => self.refuse_line(Some(&id), &refusal),
                    Ok(()) if self.upstream.is_ready() => self.pass_up(id, &text),
                    Ok(()) => {
                        if let Some(modern) = &mut self.modern {
                            modern.waiting.push_back((id, Arc::clone(&text)));
                        }
                        self.want_server();
                    }
                }
            }
        }
    }

    /// May this request pass? What came before the server was known is held, was judged as such (B),
    /// and does not come here: what must hold for every request that goes up belongs into `pass_up`.
    fn judge_passed(&mut self, id: &Id, method: &str, params: &Body<'_>) -> Result<(), Refusal> {
        if method == "initialize" && !has_claim(params) {
            self.say(Level::Error, NO_LEGACY_CLIENT);
            return Err(Refusal::UnsupportedVersion { requested: requested_version(params) }); // B9
        }
        let Some(modern) = &self.modern else { return Ok(()) };
        let limits = &self.settings.limits;
        if modern.is_in_use(id) {
            Err(Refusal::IdInUse)
        } else if modern.open.len() + modern.waiting.len()
            >= limits.in_flight + limits.subscriptions
        {
            Err(Refusal::Overloaded("--max-in-flight"))
        } else if modern.waiting_bytes() > limits.buffer_bytes {
            Err(Refusal::Overloaded("--max-buffer-bytes"))
        } else {
            Ok(())
        }
    }

    /// A notification of the client; a cancellation under the id that its request has upward.
    fn pass_note(&mut self, method: &str, params: Body<'_>) {
        let params = params.object().unwrap_or_default();
        let mut out = String::new();
        if method == "notifications/cancelled" {
            let Some(id) = params.get("requestId").and_then(Id::read) else { return };
            let Some(modern) = &mut self.modern else { return };
            modern.waiting.retain(|(waiting, _)| *waiting != id); // not sent yet: that is all
            let Some(upward) = modern.upward(&id) else { return };
            modern.open.remove(&upward);
            self.upstream.take(upward);
            let upward = upward.0.to_string();
            let mut up = Writer::new(&mut out);
            for (name, value) in params.iter() {
                up.copy(name, if is_key(name, "requestId") { &upward } else { value });
            }
            up.end();
        } else {
            params.write(&mut out);
        }
        if self.upstream.is_ready() {
            self.tell_server(wire::notification(method, &out));
        }
    }

    /// A line of the server.
    pub(super) fn modern_server_line(&mut self, text: &Arc<String>, ended: bool) {
        wire::from_server(text, &mut |message| match message {
            FromServer::Noise if ended => self.say_noise(text),
            FromServer::Noise => {}
            // No request goes down in 2026-07-28 (E2).
            FromServer::Request(id, ..) => self.refuse_server(&id),
            FromServer::Notification(method, params) => {
                let params = params.object().unwrap_or_default();
                if method == "notifications/subscriptions/acknowledged" {
                    self.stream_acknowledged(&params);
                }
                let mut out = String::new();
                self.write_with_stream(&mut out, &params);
                self.tell_client(wire::notification(&method, &out));
            }
            FromServer::Response(id, outcome) => self.pass_answer(text, id, outcome),
        });
    }

    fn pass_answer(
        &mut self,
        line: &Arc<String>,
        id: Option<&str>,
        outcome: Result<Body<'_>, Body<'_>>,
    ) {
        let Some(upward) = id.and_then(wire::own_number).map(ServerId) else { return };
        self.upstream.take(upward);
        let open = self.modern.as_ref().and_then(|modern| modern.open.get(&upward));
        let Some(passed) = open else { return };
        let mut out = Spliced::over(line);
        wire::response_head(&mut out, Some(passed.id.text()));
        match outcome {
            Ok(Body::Object(result)) => {
                out.push_str("\"result\":");
                self.write_with_stream(&mut out, &result);
            }
            Ok(_) => out.push_str(&Refusal::InvalidResult.outcome()),
            Err(error) => {
                out.push_str("\"error\":");
                error.object().unwrap_or_default().write(&mut out);
            }
        }
        out.push_str(wire::END);
        if let Some(modern) = &mut self.modern {
            modern.open.remove(&upward);
        }
        self.tell_client(out.finish());
    }

    /// The server has opened a stream: what is left of its request is its end.
    fn stream_acknowledged(&mut self, params: &Object<'_>) {
        let stream = stream_of(&params.object("_meta").unwrap_or_default());
        let Some(modern) = &mut self.modern else { return };
        if let Some(passed) = stream.and_then(|stream| modern.open.get_mut(&stream)) {
            passed.is_stream = true;
        }
    }

    /// Writes an object with the stream that its `_meta` names under the client's own id.
    fn write_with_stream(&self, out: &mut impl Text, object: &Object<'_>) {
        let meta = object.object("_meta").unwrap_or_default();
        let open = self.modern.as_ref().map(|modern| &modern.open);
        let Some(Passed { id, .. }) = stream_of(&meta).and_then(|stream| open?.get(&stream)) else {
            return object.write(out);
        };
        let mut whole = Writer::new(out);
        for (name, value) in object.iter() {
            if !is_key(name, "_meta") {
                whole.copy(name, value);
                continue;
            }
            let mut members = Writer::new(whole.open("_meta"));
            for (name, value) in meta.iter() {
                members
                    .copy(name, if is_key(name, key::SUBSCRIPTION_ID) { id.text() } else { value });
            }
            members.end();
        }
        whole.end();
    }

    /// What is unanswered will not be answered by the server. The next request may start another
    /// process: a modern server has no session to lose.
    pub(super) fn refuse_passed(&mut self, refusal: &Refusal) {
        let Some(modern) = &mut self.modern else { return };
        for (upward, passed) in modern.open.take() {
            self.upstream.take(upward);
            self.refuse_line(Some(&passed.id), refusal);
        }
    }

    /// Ends the streams of a modern server in order (G13): it will not do so itself any more.
    pub(super) fn close_passed_streams(&mut self) {
        let Some(modern) = &mut self.modern else { return };
        for (upward, passed) in modern.open.take_unless(|_, passed| !passed.is_stream) {
            self.upstream.take(upward);
            self.end_stream(&passed.id, None);
        }
    }

    /// Nor will what waits be sent.
    pub(super) fn refuse_waiting_to_pass(&mut self, refusal: &Refusal) {
        let Some(modern) = &mut self.modern else { return };
        for (id, _) in std::mem::take(&mut modern.waiting) {
            self.refuse_line(Some(&id), refusal);
        }
    }
}

/// The stream that a `_meta` names, by the id that it has upward.
fn stream_of(meta: &Object<'_>) -> Option<ServerId> {
    meta.get(key::SUBSCRIPTION_ID).and_then(wire::own_number).map(ServerId)
}
