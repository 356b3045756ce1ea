//! Every frame the bridge wrote, held against the schema of the revision it was written for.

use std::collections::BTreeMap;

use super::json::Json;
use super::schema::Schema;
use super::transcript::{Passed, Transcript, Way};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const PREFIX: &str = "io.modelcontextprotocol/";
const MRTR_METHODS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Method, its request, its result. A `-` where no revision defines one.
const METHODS: [(&str, &str, &str); 20] = [
    ("initialize", "InitializeRequest", "InitializeResult"),
    ("ping", "PingRequest", "EmptyResult"),
    ("server/discover", "DiscoverRequest", "DiscoverResult"),
    ("subscriptions/listen", "SubscriptionsListenRequest", "SubscriptionsListenResult"),
    ("tools/list", "ListToolsRequest", "ListToolsResult"),
    ("tools/call", "CallToolRequest", "CallToolResult"),
    ("prompts/list", "ListPromptsRequest", "ListPromptsResult"),
    ("prompts/get", "GetPromptRequest", "GetPromptResult"),
    ("resources/list", "ListResourcesRequest", "ListResourcesResult"),
    ("resources/templates/list", "ListResourceTemplatesRequest", "ListResourceTemplatesResult"),
    ("resources/read", "ReadResourceRequest", "ReadResourceResult"),
    ("resources/subscribe", "SubscribeRequest", "EmptyResult"),
    ("resources/unsubscribe", "UnsubscribeRequest", "EmptyResult"),
    ("completion/complete", "CompleteRequest", "CompleteResult"),
    ("logging/setLevel", "SetLevelRequest", "EmptyResult"),
    ("elicitation/create", "ElicitRequest", "ElicitResult"),
    ("sampling/createMessage", "CreateMessageRequest", "CreateMessageResult"),
    ("roots/list", "ListRootsRequest", "ListRootsResult"),
    ("tasks/get", "GetTaskRequest", "GetTaskResult"),
    ("tasks/cancel", "CancelTaskRequest", "CancelTaskResult"),
];

const NOTIFICATIONS: [(&str, &str); 10] = [
    ("notifications/initialized", "InitializedNotification"),
    ("notifications/cancelled", "CancelledNotification"),
    ("notifications/progress", "ProgressNotification"),
    ("notifications/message", "LoggingMessageNotification"),
    ("notifications/tools/list_changed", "ToolListChangedNotification"),
    ("notifications/prompts/list_changed", "PromptListChangedNotification"),
    ("notifications/resources/list_changed", "ResourceListChangedNotification"),
    ("notifications/resources/updated", "ResourceUpdatedNotification"),
    ("notifications/roots/list_changed", "RootsListChangedNotification"),
    ("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
];

/// What is wrong with the first frame that should not have been written so.
pub(crate) fn check(transcript: &Transcript) -> Result<(), String> {
    let mut client = Side::new(MODERN);
    for Passed { way, message } in &transcript.client {
        match way {
            Way::ToBridge => client.peer_said(message),
            Way::FromBridge => {
                client.down(message).map_err(|why| complaint("down", &why, message))?;
            }
        }
    }
    for process in &transcript.server {
        let mut server = Side::new(LEGACY);
        for Passed { way, message } in process {
            match way {
                Way::ToBridge => server.server_said(message),
                Way::FromBridge => {
                    server.up(message).map_err(|why| complaint("up", &why, message))?;
                }
            }
        }
    }
    Ok(())
}

fn complaint(direction: &str, why: &str, message: &Json) -> String {
    format!("schema, {direction}: {why} in {}", message.short(300))
}

/// One side of the bridge, and what its peer has asked.
struct Side {
    revision: String,
    /// The peer's open requests: the text of the id, and the method, which may be no method at all.
    /// The same id twice is a fault of the peer; both are answered (A11).
    asked: Vec<(String, String)>,
    /// Every id the bridge has used for a request of its own, and the method.
    used: BTreeMap<String, String>,
    listens: Vec<String>,
}

impl Side {
    fn new(revision: &str) -> Self {
        Side {
            revision: revision.to_owned(),
            asked: Vec::new(),
            used: BTreeMap::new(),
            listens: Vec::new(),
        }
    }

    fn peer_said(&mut self, message: &Json) {
        for message in message.items().unwrap_or(std::slice::from_ref(message)) {
            let response = message.has("result") || message.has("error");
            if let Some(id) = message.get("id").filter(|_| !response) {
                let method = method_of(message).unwrap_or_default();
                self.asked.push((id.to_text(), method.to_owned()));
                if method == "subscriptions/listen" {
                    self.listens.push(id.to_text());
                }
            }
        }
    }

    /// The method of the request that this answers. Of two with one id the younger is refused.
    fn answered(&mut self, id: &Json, message: &Json) -> Result<String, String> {
        let id = id.to_text();
        let code = message.get("error").and_then(|error| error.get("code")?.as_i64());
        let younger = || self.asked.iter().rposition(|(open, _)| *open == id);
        let older = || self.asked.iter().position(|(open, _)| *open == id);
        let found = if code == Some(-32600) { younger() } else { older() };
        let found = found.ok_or("answers a request that is not open")?;
        Ok(self.asked.remove(found).1)
    }

    /// What [`Self::peer_said`] does, and the revision that the server's answer to `initialize` fixes.
    fn server_said(&mut self, message: &Json) {
        self.peer_said(message);
        let answered = message.get("id").and_then(|id| self.used.get(&id.to_text()));
        if answered.is_some_and(|method| method == "initialize")
            && let Some(revision) =
                message.get("result").and_then(|r| r.get("protocolVersion")?.text())
            && Schema::of(revision).is_some()
        {
            revision.clone_into(&mut self.revision);
        }
    }

    /// A line to a modern client.
    fn down(&mut self, message: &Json) -> Result<(), String> {
        if let Some(method) = method_of(message) {
            self.notification(method, message)?;
            let subscription = meta(message, "subscriptionId").map(Json::to_text);
            return match subscription.filter(|id| !self.listens.contains(id)) {
                Some(id) => Err(format!("{id} is no subscription")),
                None => Ok(()),
            };
        }
        let method = match message.get("id") {
            None => None,
            Some(id) => Some(self.answered(id, message)?),
        };
        if let Some(error) = message.get("error") {
            let code = error.get("code").and_then(Json::as_i64).unwrap_or(0);
            if code == -32002 || code == -32042 || (-32099..=-32023).contains(&code) {
                return Err(format!("{code} does not exist in {MODERN}"));
            }
            if code == -32021 {
                return self.check("MissingRequiredClientCapabilityError", message);
            }
            return self.check("JSONRPCErrorResponse", message);
        }
        let result = message.get("result").unwrap_or(&Json::Null);
        self.modern_result(method.as_deref().unwrap_or_default(), result)
    }

    fn modern_result(&self, method: &str, result: &Json) -> Result<(), String> {
        let kind = result.get("resultType").and_then(Json::text).unwrap_or_default();
        if kind == "input_required" {
            if !MRTR_METHODS.contains(&method) {
                return Err(format!("input_required answers {method}"));
            }
            let questions = result.get("inputRequests").and_then(Json::members).unwrap_or_default();
            for (key, question) in questions {
                let params = question.get("params");
                let left = ["elicitationId", "task"]
                    .iter()
                    .any(|name| params.is_some_and(|p| p.has(name)));
                let bare = question.members().is_some_and(|members| {
                    members.iter().all(|(name, _)| name == "method" || name == "params")
                });
                if left || !bare {
                    return Err(format!("question {key} carries legacy members"));
                }
            }
            return self.check("InputRequiredResult", result);
        }
        if result.get("capabilities").is_some_and(|capabilities| capabilities.has("tasks")) {
            return Err("capabilities.tasks was copied".to_owned());
        }
        match METHODS.iter().find(|(name, ..)| *name == method) {
            Some(_) if kind != "complete" && kind != "task" => Err(format!("resultType {kind}")),
            Some((.., definition)) if kind == "complete" => self.check(definition, result),
            Some(_) | None => Ok(()),
        }
    }

    /// A line to the server, which is a legacy one unless the envelope says otherwise.
    fn up(&mut self, message: &Json) -> Result<(), String> {
        let Some(method) = method_of(message) else {
            return self.answer_up(message);
        };
        let modern = meta(message, "protocolVersion").and_then(Json::text) == Some(MODERN);
        if modern {
            MODERN.clone_into(&mut self.revision);
        } else if method == "initialize" {
            LEGACY.clone_into(&mut self.revision); // until its answer says which
        }
        let params = message.get("params");
        let leaked = ["inputResponses", "requestState", "task"];
        if !modern
            && let Some(name) = leaked.iter().find(|name| params.is_some_and(|p| p.has(name)))
        {
            return Err(format!("{name} leaked"));
        }
        for key in ["clientInfo", "clientCapabilities", "logLevel", "subscriptionId", "serverInfo"]
        {
            if !modern && meta(message, key).is_some() {
                return Err(format!("{PREFIX}{key} leaked"));
            }
        }
        let Some(id) = message.get("id") else {
            return self.notification(method, message);
        };
        if self.used.insert(id.to_text(), method.to_owned()).is_some() {
            return Err("uses an id twice".to_owned());
        }
        match METHODS.iter().find(|(name, ..)| *name == method) {
            Some((_, definition, _)) => self.check(definition, message),
            None => self.check("JSONRPCRequest", message),
        }
    }

    fn answer_up(&mut self, message: &Json) -> Result<(), String> {
        let id = message.get("id").unwrap_or(&Json::Null);
        let method = self.answered(id, message)?;
        if message.has("error") {
            let name =
                ["JSONRPCErrorResponse", "JSONRPCError"].into_iter().find(|name| self.knows(name));
            return self.check(name.unwrap_or_default(), message);
        }
        let result = message.get("result").unwrap_or(&Json::Null);
        match METHODS.iter().find(|(name, ..)| *name == method) {
            // A server may ask for what its revision does not define; then no definition says more.
            Some((.., definition)) if self.knows(definition) => self.check(definition, result),
            Some(_) | None => Ok(()),
        }
    }

    fn notification(&self, method: &str, message: &Json) -> Result<(), String> {
        match NOTIFICATIONS.iter().find(|(name, _)| *name == method) {
            Some((_, definition)) => self.check(definition, message),
            None => Err(format!("{method} is unknown")),
        }
    }

    fn knows(&self, definition: &str) -> bool {
        Schema::of(&self.revision).is_some_and(|schema| schema.knows(definition))
    }

    fn check(&self, definition: &str, value: &Json) -> Result<(), String> {
        let schema = Schema::of(&self.revision).ok_or_else(|| format!("no {}", self.revision))?;
        schema.check(definition, value).map_err(|why| format!("{}: {why}", self.revision))
    }
}

fn method_of(message: &Json) -> Option<&str> {
    message.get("method")?.text()
}

/// A reserved member of the message's `_meta`.
fn meta<'a>(message: &'a Json, key: &str) -> Option<&'a Json> {
    message.get("params")?.get("_meta")?.get(&format!("{PREFIX}{key}"))
}
