//! What a line from the server causes: by purpose for a reply, by method for the rest.

use super::Bridge;
use super::event::{Level, Line};
use super::ids::ServerId;
use super::listen::Topic;
use super::upstream::Purpose;
use crate::bounds::{NOISE_SHOWN, SHOWN};
use crate::message::body::Body;
use crate::message::object::Object;
use crate::message::questions;
use crate::message::refusal::Refusal;
use crate::message::scan::is_json;
use crate::message::value::{is_object, lossy};
use crate::message::vocabulary::Method;
use crate::message::wire::{self, FromServer, Id};
use std::sync::Arc;

impl Bridge {
    pub(super) fn server_line(&mut self, line: Line) {
        // Latin-1 servers exist (A16).
        let text = String::from_utf8(line.bytes).unwrap_or_else(lossy);
        if self.relay.is_some() {
            return self.relay_server_line(text, line.ended);
        }
        let text = Arc::new(text);
        if self.modern.is_some() {
            return self.modern_server_line(&text, line.ended);
        }
        self.line = Some(Arc::clone(&text));
        wire::from_server(&text, &mut |message| match message {
            FromServer::Response(id, outcome) => self.server_replied(id, outcome),
            FromServer::Request(id, method, params) => self.server_asked(&id, &method, &params),
            FromServer::Notification(method, params) => self.server_noted(&method, &params),
            // Half a line of a process that ended is no message and no noise (H12).
            FromServer::Noise if !line.ended => {}
            FromServer::Noise => self.server_noise(&text),
        });
        self.line = None;
    }

    fn server_replied(&mut self, id: Option<&str>, outcome: Result<Body<'_>, Body<'_>>) {
        let Some(id) = id.and_then(wire::own_number).map(ServerId) else {
            return self
                .say(Level::Info, "the server answered a request that was never sent; ignored");
        };
        match self.upstream.take(id) {
            Some(Purpose::Probe) => self.probe_answered(outcome),
            Some(Purpose::Level(chain)) => self.level_set(chain),
            Some(Purpose::Subscribe) => self.subscribed(id, &outcome),
            Some(Purpose::Courtesy | Purpose::Passed) => {}
            Some(Purpose::Handshake) => self.handshake_answered(outcome),
            Some(Purpose::Tools) => self.tools_listed(&outcome),
            Some(Purpose::Call(chain)) => self.finish(chain, outcome),
            None => self.say(Level::Info, "a late or unknown answer of the server was dropped"),
        }
    }

    /// A request of the server (H7): a ping, a question, or nothing we know.
    fn server_asked(&mut self, id: &Id, method: &str, params: &Body<'_>) {
        if method == "ping" {
            return self.answer_server(id, "\"result\":{}"); // E26
        }
        match questions::read(method, params) {
            Some(Ok(asked)) => self.question(id.clone(), asked),
            Some(Err(refusal)) => self.answer_server(id, &refusal),
            None => self.refuse_server(id),
        }
    }

    /// A request of the server that nobody here knows, or may ask (H7, E2).
    #[cold]
    pub(super) fn refuse_server(&mut self, id: &Id) {
        let refusal = "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}";
        self.answer_server(id, refusal);
    }

    /// A notification of the server (H9).
    fn server_noted(&mut self, method: &str, params: &Body<'_>) {
        let empty = Object::default();
        let members = match params {
            Body::Object(members) => members,
            Body::Absent | Body::Null | Body::Other => &empty,
        };
        match method {
            "notifications/cancelled" => {
                if let Some(id) = members.get("requestId").and_then(Id::read) {
                    self.withdraw(&id);
                }
            }
            "notifications/progress" => self.progressed(members),
            "notifications/message" => self.logged(members),
            "notifications/elicitation/complete" => {
                if let Some(id) = members.string("elicitationId") {
                    self.visited(&id);
                }
            }
            "notifications/resources/updated" => {
                if let Some(uri) = members.string("uri") {
                    self.changed(&Topic::Updated(uri.into_owned()), params);
                }
            }
            _ => {
                let Some((topic, lists)) = list_changed(method) else {
                    return;
                };
                self.memory.forget(lists);
                self.changed(&topic, params);
            }
        }
    }

    /// A line that is no message: a banner, a log line, or a broken answer (A16).
    #[cold]
    #[inline(never)]
    fn server_noise(&mut self, text: &str) {
        if let Some(call) = wire::broken_answer(text).map(ServerId)
            && let Some(Purpose::Call(_)) = self.upstream.purpose(call)
            && !is_json(text)
        {
            self.say(Level::Warning, format!("the server's answer is not JSON: {}", shown(text)));
            return self.fail_call(call, "it is not valid JSON");
        }
        self.say_noise(text);
    }

    /// Shows a line that is no message, the first few of each process; a server that writes
    /// nothing else must not drown everything.
    pub(super) fn say_noise(&mut self, text: &str) {
        self.upstream.noise = self.upstream.noise.saturating_add(1);
        if self.upstream.noise > NOISE_SHOWN {
            if self.upstream.noise == NOISE_SHOWN + 1 {
                self.say(Level::Warning, "more such lines of the server are skipped and not shown");
            }
            return;
        }
        let what = if is_object(text) { "not a JSON-RPC message" } else { "not a message" };
        self.say(Level::Warning, format!("server output that is {what}, skipped: {}", shown(text)));
    }

    /// A line over the limit (R). It may have been the answer to what runs, and nobody can tell:
    /// what runs is failed, so that nothing waits for an answer that was thrown away.
    #[cold]
    #[inline(never)]
    pub(super) fn server_overlong(&mut self) {
        self.say(Level::Warning, "a line of the server was longer than --max-line-bytes; dropped");
        let refusal = Refusal::InvalidMessage("it is longer than --max-line-bytes".into());
        self.fail_relayed(&refusal);
        self.refuse_passed(&refusal);
        let calls: Vec<_> = self
            .lane
            .running()
            .filter_map(|id| self.chains.all.get(&id).and_then(|chain| chain.call))
            .collect();
        for call in calls {
            self.fail_call(call, "it is longer than --max-line-bytes");
        }
    }
}

/// The stream topic and the remembered lists that a change notification concerns (D6, G8).
fn list_changed(notification: &str) -> Option<(Topic, &'static [Method])> {
    match notification {
        "notifications/tools/list_changed" => Some((Topic::Tools, &[Method::ToolsList])),
        "notifications/prompts/list_changed" => Some((Topic::Prompts, &[Method::PromptsList])),
        "notifications/resources/list_changed" => {
            Some((Topic::Resources, &[Method::ResourcesList, Method::TemplatesList]))
        }
        _ => None,
    }
}

/// The start of a text; whoever writes it to a terminal escapes it.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
