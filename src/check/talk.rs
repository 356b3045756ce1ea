//! One process as a check talks to it: frames with their times, ids, answers, and all that it says
//! unasked.

use super::model::{self, ChildNote, Feature, Frame};
use super::seen::{Probe, Reply, Seen};
use crate::bridge::Time;
use crate::message::equal::same_value;
use crate::message::object::{Body, Object, Writer, is_object};
use crate::message::questions;
use crate::message::vocabulary::{MODERN, key};
use crate::message::wire::{self, FromServer};
use crate::shell::Launch;
use crate::shell::keeper::{Heard, How, Keeper, Last};
use crate::shell::lines::Piece;

/// How long a process may take to end that has closed its output, in milliseconds.
const ENDS_MS: u64 = 300;

/// Bytes of answers that may wait for a child that does not read.
const MOST_QUEUED: usize = 1 << 20;

/// Lines that are looked at of what a process says while it is being ended.
const MOST_REST: usize = 20;

/// How long a closed stream is listened to, in milliseconds.
const CLOSED_MS: u64 = 100;

/// Frames of one kind that are kept as evidence.
const MOST_EVIDENCE: usize = 20;

/// What a request says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Envelope<'a> {
    /// Nothing, as before 2026-07-28.
    None,
    /// All that it must.
    Whole,
    /// With these client capabilities.
    With(&'a str),
    /// With this version.
    Version(&'a str),
    /// The version and nothing else.
    VersionOnly,
}

/// The child that runs.
struct Child {
    id: char,
    started: Time,
    frames: usize,
    /// It was opened with `initialize`: it may ask, and is answered.
    is_legacy: bool,
    number: u64,
    /// Ids for which nobody waits any more, and whether they were answered.
    spent: Vec<(String, bool)>,
}

/// Talks to one child after the other, and notes what it sees.
pub(super) struct Talk<'k> {
    pub(super) keeper: &'k mut Keeper,
    launch: &'k Launch,
    pub(super) seen: Seen,
    pub(super) timeout_ms: u64,
    pub(super) start_timeout_ms: u64,
    until: Time,
    next_child: char,
    child: Option<Child>,
    /// The child was ended for a line over the limit, which is no death of its own.
    was_cut_off: bool,
    /// The stream that was closed, of which nothing may follow.
    closed_stream: Option<String>,
}

/// A request that was sent, and what came of it.
pub(super) struct Exchange {
    pub(super) probe: Probe,
    /// The parameters of the acknowledgement, where a stream was opened by one.
    pub(super) acknowledged: Option<String>,
    pub(super) id: String,
}

/// What a line has to say to who waits for an answer.
enum Found {
    Answer(Frame, Reply),
    Acknowledged(Frame, String),
    Nothing,
}

impl<'k> Talk<'k> {
    pub(super) fn new(
        keeper: &'k mut Keeper,
        launch: &'k Launch,
        budget_ms: u64,
        secrets: Vec<String>,
    ) -> Self {
        let until = keeper.now().after(budget_ms);
        Talk {
            keeper,
            launch,
            seen: Seen { secrets, ..Seen::default() },
            timeout_ms: 0,
            start_timeout_ms: 0,
            until,
            next_child: 'A',
            child: None,
            was_cut_off: false,
            closed_stream: None,
        }
    }

    /// Is there no time left?
    pub(super) fn is_out_of_time(&mut self) -> bool {
        let is_out = self.keeper.now() >= self.until || self.keeper.stopped().is_some();
        if is_out {
            self.seen.gave_up = Some("the time of --budget was used up");
        }
        is_out
    }

    pub(super) fn has_child(&self) -> bool {
        self.child.is_some()
    }

    /// Starts a fresh child with this letter, or the next free one, while there is time.
    pub(super) fn start(&mut self, letter: Option<char>) -> bool {
        if self.is_out_of_time() {
            return false;
        }
        let id = letter.unwrap_or_else(|| {
            self.next_child = self.next_child.max('E');
            let id = self.next_child;
            self.next_child = char::from_u32(u32::from(id) + 1).unwrap_or('Z');
            id
        });
        match self.keeper.start(self.launch) {
            Ok(()) => {
                self.child = Some(Child {
                    id,
                    started: self.keeper.now(),
                    frames: 0,
                    is_legacy: false,
                    number: 0,
                    spent: Vec::new(),
                });
                true
            }
            Err(why) => {
                self.seen.unstartable = why;
                false
            }
        }
    }

    /// The handshake has begun: from now on the child may ask.
    pub(super) fn speak_legacy(&mut self) {
        if let Some(child) = &mut self.child {
            child.is_legacy = true;
        }
    }

    /// Ends the child; it has so many milliseconds after its input closes. How it ended.
    pub(super) fn end(&mut self, patience_ms: u64) -> Option<How> {
        self.child.as_ref()?;
        self.keeper.end(patience_ms);
        let mut count = 0;
        let ended = loop {
            match self.keeper.hear_last() {
                Last::Ended(ended) => break ended,
                Last::Piece(_) if count >= MOST_REST => self.count_line(),
                // It was ended in the middle of it.
                Last::Piece(Piece::Line(line)) if !line.ended => self.count_line(),
                Last::Piece(Piece::Overlong) => self.note_overlong(),
                Last::Piece(piece @ Piece::Line(_)) => {
                    self.note(piece, None);
                }
            }
            count += 1;
        };
        let child = self.child.take()?;
        self.seen.children.push(ChildNote {
            id: child.id,
            is_wrapped: self.seen.is_wrapped,
            ms: self.keeper.now().since(child.started),
            frames: child.frames,
            exit: ended.exit,
            ended: ended.how,
        });
        Some(ended.how)
    }

    // ---- out ----

    /// Sends a notification.
    pub(super) fn tell(&mut self, method: &'static str, params: &str) {
        self.send(wire::notification(method, params));
    }

    fn send(&mut self, line: Vec<u8>) -> Option<Frame> {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        self.keeper.say(line);
        self.frame(&text, true)
    }

    fn count_line(&mut self) {
        if let Some(child) = &mut self.child {
            child.frames += 1;
        }
    }

    fn frame(&mut self, text: &str, is_ours: bool) -> Option<Frame> {
        self.count_line();
        let now = self.keeper.now();
        let child = self.child.as_ref()?;
        let kept = model::masked_start(text, Frame::KEPT, &self.seen.secrets);
        let bytes = if text.len() <= Frame::KEPT { kept.len() } else { text.len() };
        let (child, ms) = (child.id, now.since(child.started));
        Some(Frame { child, ms, is_ours, text: kept, bytes })
    }

    /// An id that was not used before, now a number and now a string.
    fn fresh_id(&mut self) -> String {
        let Some(child) = &mut self.child else { return String::new() };
        child.number += 1;
        let number = child.number.to_string();
        if child.number % 2 == 1 { number } else { format!("\"s{number}\"") }
    }

    fn request(
        &mut self,
        method: &str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> (String, Option<Frame>) {
        let id = self.fresh_id();
        let mut line = String::from(wire::HEAD);
        line.push_str(",\"id\":");
        line.push_str(&id);
        line.push_str(",\"method\":\"");
        line.push_str(method);
        line.push_str("\",\"params\":{");
        line.push_str(members);
        let meta = envelope_text(envelope);
        if !meta.is_empty() && !members.is_empty() {
            line.push(',');
        }
        line.push_str(&meta);
        line.push('}');
        line.push_str(wire::END);
        let frame = self.send(line.into_bytes());
        (id, frame)
    }

    // ---- and back ----

    /// Sends a request and waits for its answer. `None`: there was no time left to wait for it.
    pub(super) fn ask(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Probe> {
        self.ask_whole(method, members, envelope).map(Probe::bounded)
    }

    /// The same, with all of an answer of any size.
    pub(super) fn ask_whole(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Probe> {
        let exchange = self.exchange(method, members, envelope)?;
        self.note_mark(method, &exchange.probe.reply);
        Some(exchange.probe)
    }

    /// Opens a stream: the first message for it, an acknowledgement with its parameters or an answer.
    pub(super) fn listen(&mut self, members: &str) -> Option<Exchange> {
        let exchange = self.exchange("subscriptions/listen", members, Envelope::Whole)?;
        Some(Exchange { probe: exchange.probe.bounded(), ..exchange })
    }

    fn exchange(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Option<Exchange> {
        let (id, frame) = self.request(method, members, envelope);
        let mut frames: Vec<_> = frame.into_iter().collect();
        let patience_ms = self.patience();
        let waits_ms = patience_ms.min(self.until.since(self.keeper.now()));
        let mut acknowledged = None;
        let reply = match self.hear(waits_ms, Some(&id)) {
            Found::Answer(frame, reply) => {
                frames.push(frame);
                self.spend(&id, true);
                reply
            }
            Found::Acknowledged(frame, params) => {
                frames.push(frame);
                self.spend(&id, false);
                acknowledged = Some(params);
                Reply::Silence(waits_ms)
            }
            Found::Nothing => {
                self.spend(&id, false);
                // Who was not given the time of others did not fail to answer.
                if self.child.is_some() && waits_ms < patience_ms && self.is_out_of_time() {
                    return None;
                }
                if self.child.is_some() || std::mem::take(&mut self.was_cut_off) {
                    Reply::Silence(waits_ms)
                } else {
                    self.seen.deaths.push((method, frames.clone()));
                    Reply::Exited
                }
            }
        };
        let words = reply.words(&self.seen.secrets);
        Some(Exchange { probe: Probe { method, reply, words, frames }, acknowledged, id })
    }

    /// How it words an error may tell the SDK.
    fn note_mark(&mut self, method: &str, reply: &Reply) {
        let Reply::Error(raw) = reply else { return };
        let error = Object::parse(raw).unwrap_or_default();
        let Some(code) = error.get("code").and_then(|code| code.parse().ok()) else { return };
        let is_before_handshake = self.child.as_ref().is_some_and(|child| !child.is_legacy);
        let (message, data) = (error.get("message"), error.get("data"));
        self.seen.marks.note_error(code, message, data, method, is_before_handshake);
    }

    /// Closes a stream; what follows of it is a fault. True where nothing did.
    pub(super) fn close_stream(&mut self, id: &str) -> bool {
        self.tell("notifications/cancelled", &format!("{{\"requestId\":{id}}}"));
        self.closed_stream = Some(id.to_owned());
        self.pause(CLOSED_MS);
        self.closed_stream.take().is_some()
    }

    /// Listens for a while without having asked anything; whatever comes is noted.
    pub(super) fn pause(&mut self, ms: u64) {
        self.hear(ms, None);
    }

    /// How long to wait for an answer: longer for the first one of a process.
    fn patience(&self) -> u64 {
        let is_first = self.child.as_ref().is_some_and(|child| child.number <= 1);
        if is_first { self.start_timeout_ms } else { self.timeout_ms }
    }

    fn spend(&mut self, id: &str, is_answered: bool) {
        if let Some(child) = &mut self.child {
            child.spent.push((id.to_owned(), is_answered));
        }
    }

    /// Takes note of what comes within so many milliseconds, or until the open request with this id
    /// has its answer.
    fn hear(&mut self, ms: u64, open: Option<&str>) -> Found {
        let until = self.keeper.now().after(ms);
        loop {
            match self.keeper.hear(until) {
                Heard::Piece(piece) => match self.note(piece, open) {
                    Found::Nothing => {}
                    found @ (Found::Answer(..) | Found::Acknowledged(..)) => return found,
                },
                Heard::Closed => {
                    self.end(ENDS_MS);
                    return Found::Nothing;
                }
                Heard::Nothing | Heard::Stopped => return Found::Nothing,
            }
        }
    }

    /// Takes note of a line; what of it answers the open request with this id.
    fn note(&mut self, piece: Piece, open: Option<&str>) -> Found {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Overlong => {
                self.note_overlong();
                self.was_cut_off = true;
                // Its answer may be among what is still heard.
                if let Some(open) = open {
                    self.spend(open, false);
                }
                self.end(0);
                return Found::Nothing;
            }
        };
        let text = match String::from_utf8(line.bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let Some(frame) = self.frame(&text, false) else { return Found::Nothing };
        self.seen.has_written = true;
        self.seen.marks.note_line(&text);
        if !is_object(text.trim_start()) {
            keep(&mut self.seen.junk, Some(frame.clone()));
            if text.trim_start().starts_with('[') {
                self.feature("batches", true, Some(&frame));
            }
        }
        let mut found = Found::Nothing;
        wire::from_server(&text, &mut |message| {
            let one = self.note_message(message, open, &frame);
            if !matches!(one, Found::Nothing) {
                found = one;
            }
        });
        found
    }

    fn note_overlong(&mut self) {
        let frame = self.frame("(a line over the limit)", false);
        keep(&mut self.seen.junk, frame);
    }

    fn note_message(
        &mut self,
        message: FromServer<'_>,
        open: Option<&str>,
        frame: &Frame,
    ) -> Found {
        match message {
            FromServer::Response(id, outcome) => self.note_answer(id, &outcome, open, frame),
            FromServer::Request(id, method, params) => {
                self.note_question(id.text(), &method, &params, frame);
                Found::Nothing
            }
            FromServer::Notification(method, params) => {
                self.note_notification(&method, &params, open, frame)
            }
            FromServer::Noise => {
                if frame.text.trim_start().starts_with('{') {
                    keep(&mut self.seen.junk, Some(frame.clone()));
                }
                Found::Nothing
            }
        }
    }

    fn note_answer(
        &mut self,
        id: Option<&str>,
        outcome: &Result<Body<'_>, Body<'_>>,
        open: Option<&str>,
        frame: &Frame,
    ) -> Found {
        let Some(child) = &mut self.child else { return Found::Nothing };
        let id = id.unwrap_or("null");
        let is = |other: &str| same_value(id, other);
        let is_open = open.is_some_and(is);
        if self.closed_stream.as_deref().is_some_and(is) {
            self.closed_stream = None;
            return Found::Nothing;
        }
        let spent = child.spent.iter_mut().find(|(spent, _)| !is_open && is(spent));
        if let Some((_, is_answered)) = spent {
            // A late answer is nobody's fault; a second one is.
            if std::mem::replace(is_answered, true) {
                keep(&mut self.seen.wrong_ids, Some(frame.clone()));
            }
            return Found::Nothing;
        }
        if !is_open {
            keep(&mut self.seen.wrong_ids, Some(frame.clone()));
        }
        self.seen.has_answered = true;
        if open.is_none() {
            return Found::Nothing;
        }
        let reply = match outcome {
            Ok(Body::Object(result)) => Reply::Result(text_of(result)),
            Ok(_) => Reply::Result("null".to_owned()),
            Err(Body::Object(error)) => Reply::Error(text_of(error)),
            Err(_) => Reply::Error("{}".to_owned()),
        };
        Found::Answer(frame.clone(), reply)
    }

    fn note_question(&mut self, id: &str, method: &str, params: &Body<'_>, frame: &Frame) {
        let feature = match method {
            "ping" => "ping from the server",
            "roots/list" => "roots/list",
            "sampling/createMessage" => "sampling",
            "elicitation/create" => "elicitation",
            _ => "",
        };
        if !feature.is_empty() {
            self.feature(feature, true, Some(frame));
        }
        if !self.child.as_ref().is_some_and(|child| child.is_legacy) {
            keep(&mut self.seen.asked, Some(frame.clone()));
            return;
        }
        let refused = "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}";
        let outcome = match method {
            "ping" => "\"result\":{}".to_owned(),
            "roots/list" => "\"result\":{\"roots\":[]}".to_owned(),
            _ => match questions::read(method, params) {
                Some(Ok(asked)) => asked.kind.refusal().to_owned(),
                Some(Err(_)) | None => refused.to_owned(),
            },
        };
        // Whoever asks and does not read gets no more answers.
        if self.keeper.queued() < MOST_QUEUED {
            self.send(wire::response(Some(id), &outcome));
        }
    }

    fn note_notification(
        &mut self,
        method: &str,
        params: &Body<'_>,
        open: Option<&str>,
        frame: &Frame,
    ) -> Found {
        let empty = Object::default();
        let members = if let Body::Object(members) = params { members } else { &empty };
        let stream = members.object("_meta").and_then(|meta| meta.get(key::SUBSCRIPTION_ID));
        let is_closed = |closed: &str| stream.is_some_and(|stream| same_value(stream, closed));
        if self.closed_stream.as_deref().is_some_and(is_closed) {
            self.closed_stream = None;
        }
        if method == "notifications/subscriptions/acknowledged" && open.is_some() {
            let mut params = String::new();
            members.write(&mut params);
            return Found::Acknowledged(frame.clone(), params);
        }
        let is_legacy = self.child.as_ref().is_some_and(|child| child.is_legacy);
        match method {
            "notifications/message" => self.feature("logging", true, Some(frame)),
            "notifications/progress" => self.feature("progress without token", true, Some(frame)),
            _ if method.ends_with("/list_changed") && stream.is_none() => {
                self.feature("listChanged outside listen", true, Some(frame));
            }
            _ => {}
        }
        if !is_legacy && stream.is_none() {
            keep(&mut self.seen.told, Some(frame.clone()));
        }
        Found::Nothing
    }

    /// Takes note of a feature, once.
    pub(super) fn feature(&mut self, name: &'static str, is_observed: bool, frame: Option<&Frame>) {
        let known = self.seen.features.iter_mut().find(|feature| feature.name == name);
        if let Some(known) = known {
            known.is_observed |= is_observed;
            return;
        }
        let child = frame.map_or('A', |frame| frame.child);
        self.seen.features.push(Feature { name, is_observed, child, frame: frame.cloned() });
    }
}

fn keep(frames: &mut Vec<Frame>, frame: Option<Frame>) {
    if frames.len() < MOST_EVIDENCE {
        frames.extend(frame);
    }
}

fn text_of(object: &Object<'_>) -> String {
    let mut text = String::new();
    object.write(&mut text);
    text
}

/// `"_meta":{...}`, or nothing.
fn envelope_text(envelope: Envelope<'_>) -> String {
    let mut text = String::new();
    let (version, capabilities) = match envelope {
        Envelope::None => return text,
        Envelope::Whole => (MODERN, Some("{}")),
        Envelope::With(capabilities) => (MODERN, Some(capabilities)),
        Envelope::Version(version) => (version, Some("{}")),
        Envelope::VersionOnly => (MODERN, None),
    };
    text.push_str("\"_meta\":");
    let mut meta = Writer::new(&mut text);
    meta.string(key::PROTOCOL_VERSION, version);
    if let Some(capabilities) = capabilities {
        meta.raw(key::CLIENT_CAPABILITIES, capabilities);
        meta.raw(
            key::CLIENT_INFO,
            concat!(
                "{\"name\":\"mcp-uplift-check\",\"version\":\"",
                env!("CARGO_PKG_VERSION"),
                "\"}"
            ),
        );
    }
    meta.end();
    text
}
