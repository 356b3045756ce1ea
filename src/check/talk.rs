//! One process as a check talks to it: frames with their times, ids, answers, and all that it says
//! unasked.

use super::model::{self, ChildNote, Feature, Frame};
use super::seen::{Probe, Reply, Seen};
use crate::bridge::Time;
use crate::message::body::Body;
use crate::message::equal::same_value;
use crate::message::object::Object;
use crate::message::questions;
use crate::message::value::is_object;
use crate::message::vocabulary::{MODERN, key};
use crate::message::wire::{self, FromServer};
use crate::message::writer::Writer;
use crate::shell::Launch;
use crate::shell::keeper::{Heard, Keeper};
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
    /// A signal told us to end.
    pub(super) stopped: Option<i32>,
    /// The child was ended for a line over the limit, which is no death of its own.
    was_cut_off: bool,
    /// The stream that was closed, of which nothing may follow.
    closed_stream: Option<String>,
}

/// What an answer to a stream or a request is looked for in.
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
            stopped: None,
            was_cut_off: false,
            closed_stream: None,
        }
    }

    /// Is there no time left?
    pub(super) fn is_out_of_time(&mut self) -> bool {
        let is_out = self.keeper.now() >= self.until || self.stopped.is_some();
        if is_out {
            self.seen.gave_up = Some("the time of --budget was used up");
        }
        is_out
    }

    pub(super) fn has_child(&self) -> bool {
        self.child.is_some()
    }

    /// Starts a fresh child with this letter, or the next free one.
    pub(super) fn start(&mut self, letter: Option<char>) -> bool {
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
    pub(super) fn end(&mut self, patience_ms: u64) -> &'static str {
        let Some(child) = self.child.take() else { return "" };
        let (mut rest, mut count) = (Vec::new(), 0);
        let ended = self.keeper.end(patience_ms, &mut |piece| {
            count += 1;
            if rest.len() < MOST_REST {
                rest.push(piece);
            }
        });
        let (ms, id) = (self.keeper.now().since(child.started), child.id);
        let frames = child.frames + count;
        self.child = Some(child);
        for piece in rest {
            if matches!(piece, Piece::Overlong) {
                self.note_overlong();
            } else {
                self.note(piece, None);
            }
        }
        self.child = None;
        let is_wrapped = self.seen.is_wrapped;
        let note = ChildNote { id, is_wrapped, ms, frames, exit: ended.exit, ended: ended.how };
        self.seen.children.push(note);
        ended.how
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

    fn frame(&mut self, text: &str, is_ours: bool) -> Option<Frame> {
        let now = self.keeper.now();
        let child = self.child.as_mut()?;
        child.frames += 1;
        // A value that must not be shown may lie across the cut.
        let mut kept = model::masked(start_of(text, 2 * Frame::KEPT), &self.seen.secrets);
        let is_whole = text.len() <= Frame::KEPT;
        kept.truncate(start_of(&kept, Frame::KEPT).len());
        let bytes = if is_whole { kept.len() } else { text.len() };
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

    /// Sends a request and waits for its answer.
    pub(super) fn ask(
        &mut self,
        method: &'static str,
        members: &str,
        envelope: Envelope<'_>,
    ) -> Probe {
        let (id, frame) = self.request(method, members, envelope);
        let mut frames: Vec<_> = frame.into_iter().collect();
        let waits_ms = self.patience();
        let reply = match self.wait(&id, waits_ms) {
            Found::Answer(frame, reply) => {
                frames.push(frame);
                self.note_mark(method, &reply);
                reply
            }
            Found::Acknowledged(..) | Found::Nothing => self.no_answer(&id, waits_ms),
        };
        if matches!(reply, Reply::Exited) {
            self.seen.deaths.push((method, frames.clone()));
        }
        self.probe(method, reply, frames)
    }

    fn probe(&self, method: &'static str, reply: Reply, frames: Vec<Frame>) -> Probe {
        let words = reply.words(&self.seen.secrets);
        Probe { method, reply, words, frames }
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

    /// Opens a stream: the first message for it, an acknowledgement with its parameters or an answer.
    pub(super) fn listen(&mut self, members: &str) -> (Probe, Option<String>, String) {
        let method = "subscriptions/listen";
        let (id, frame) = self.request(method, members, Envelope::Whole);
        let mut frames: Vec<_> = frame.into_iter().collect();
        let waits_ms = self.patience();
        let (reply, acknowledged) = match self.wait(&id, waits_ms) {
            Found::Answer(frame, reply) => {
                frames.push(frame);
                (reply, None)
            }
            Found::Acknowledged(frame, params) => {
                frames.push(frame);
                (Reply::Silence(waits_ms), Some(params))
            }
            Found::Nothing => (self.no_answer(&id, waits_ms), None),
        };
        if matches!(reply, Reply::Exited) && acknowledged.is_none() {
            self.seen.deaths.push((method, frames.clone()));
        }
        (self.probe(method, reply, frames), acknowledged, id)
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
        let until = self.keeper.now().after(ms);
        loop {
            match self.keeper.hear(until) {
                Heard::Piece(piece) => {
                    self.note(piece, None);
                }
                Heard::Stopped(signal) => {
                    self.stopped = Some(signal);
                    return;
                }
                Heard::Closed => {
                    self.end(ENDS_MS);
                    return;
                }
                Heard::Nothing => return,
            }
        }
    }

    /// How long to wait for an answer: longer for the first one of a process, and not beyond the end
    /// of all time.
    fn patience(&self) -> u64 {
        let is_first = self.child.as_ref().is_some_and(|child| child.number <= 1);
        let most = if is_first { self.start_timeout_ms } else { self.timeout_ms };
        most.min(self.until.since(self.keeper.now()))
    }

    fn no_answer(&mut self, id: &str, waited_ms: u64) -> Reply {
        self.spend(id, false);
        let is_silent = self.child.is_some() || std::mem::take(&mut self.was_cut_off);
        if is_silent { Reply::Silence(waited_ms) } else { Reply::Exited }
    }

    fn spend(&mut self, id: &str, is_answered: bool) {
        if let Some(child) = &mut self.child {
            child.spent.push((id.to_owned(), is_answered));
        }
    }

    fn wait(&mut self, id: &str, ms: u64) -> Found {
        let until = self.keeper.now().after(ms);
        loop {
            match self.keeper.hear(until) {
                Heard::Piece(piece) => match self.note(piece, Some(id)) {
                    Found::Nothing => {}
                    found @ (Found::Answer(..) | Found::Acknowledged(..)) => {
                        self.spend(id, matches!(found, Found::Answer(..)));
                        return found;
                    }
                },
                Heard::Closed => {
                    self.end(ENDS_MS);
                    return Found::Nothing;
                }
                Heard::Nothing => return Found::Nothing,
                Heard::Stopped(signal) => {
                    self.stopped = Some(signal);
                    return Found::Nothing;
                }
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
        if let Some((_, is_second)) = child.spent.iter().find(|(spent, _)| !is_open && is(spent)) {
            // A late answer is nobody's fault; a second one is.
            if *is_second {
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

/// As much of a text as fits so many bytes.
fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
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
