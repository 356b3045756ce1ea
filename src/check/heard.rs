//! What a line of the child means: an answer that somebody waits for, a question, a notification, or
//! no message at all.

use super::model::{Feature, Frame, Gone};
use super::seen::Reply;
use super::talk::{Found, Talk};
use crate::message::body::Body;
use crate::message::equal::same_value;
use crate::message::object::Object;
use crate::message::questions;
use crate::message::value::is_object;
use crate::message::vocabulary::key;
use crate::message::wire::{self, FromServer};
use crate::shell::lines::Piece;

/// Bytes of answers that may wait for a child that does not read.
const MOST_QUEUED: usize = 1 << 20;

/// Frames of one kind that are kept as evidence.
const MOST_EVIDENCE: usize = 20;

impl Talk<'_> {
    /// Takes note of a line; what of it answers the open request with this id.
    pub(super) fn note(&mut self, piece: Piece, open: Option<&str>) -> Found {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Overlong => {
                self.note_overlong();
                self.was_cut_off = true;
                // Its answer may be among what is still heard.
                if let Some(open) = open {
                    self.spend(open, "", false);
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
        if let Some(child) = &mut self.child {
            child.has_written = true;
        }
        self.seen.marks.note_line(&text);
        if !is_object(text.trim_start()) {
            keep(&mut self.seen.junk, Some(frame.clone()));
            if text.trim_start().starts_with('[') {
                self.note_feature(Gone::Batches, &frame);
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

    pub(super) fn note_overlong(&mut self) {
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
        if let Some(spent) = child.spent.iter_mut().find(|spent| !is_open && is(&spent.id)) {
            // A late answer is nobody's fault; a second one is.
            if std::mem::replace(&mut spent.is_answered, true) {
                keep(&mut self.seen.wrong_ids, Some(frame.clone()));
            } else if spent.id == "1" {
                self.seen.was_answered_late = true; // ids are counted from there
            } else {
                self.seen.slow.push(spent.method);
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
            "ping" => Some(Gone::ServerPing),
            "roots/list" => Some(Gone::Roots),
            "sampling/createMessage" => Some(Gone::Sampling),
            "elicitation/create" => Some(Gone::Elicitation),
            _ => None,
        };
        if let Some(feature) = feature {
            self.note_feature(feature, frame);
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
            "notifications/message" => self.note_feature(Gone::Logging, frame),
            "notifications/progress" => self.note_feature(Gone::Progress, frame),
            _ if method.ends_with("/list_changed") && stream.is_none() => {
                self.note_feature(Gone::ListChanged, frame);
            }
            _ => {}
        }
        if !is_legacy && stream.is_none() {
            keep(&mut self.seen.told, Some(frame.clone()));
        }
        Found::Nothing
    }

    /// Takes note of a feature, once.
    fn note_feature(&mut self, what: Gone, frame: &Frame) {
        if self.seen.features.iter().all(|feature| feature.what != what) {
            let (child, frame) = (frame.child, Some(frame.clone()));
            self.seen.features.push(Feature { what, is_observed: true, child, frame });
        }
    }

    /// How it words an error may tell the SDK.
    pub(super) fn note_mark(&mut self, method: &str, reply: &Reply) {
        let Reply::Error(raw) = reply else { return };
        let error = Object::parse(raw).unwrap_or_default();
        let Some(code) = error.get("code").and_then(|code| code.parse().ok()) else { return };
        let is_before_handshake = self.child.as_ref().is_some_and(|child| !child.is_legacy);
        let (message, data) = (error.get("message"), error.get("data"));
        self.seen.marks.note_error(code, message, data, method, is_before_handshake);
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
