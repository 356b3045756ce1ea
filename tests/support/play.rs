//! A bridge in memory, whose sides and clock a test plays by hand.

use mcp_uplift::bridge::{Bridge, Effect, Event, Frame, Generation, Line, Settings, Time};
use mcp_uplift::message::splice::Part;
use serde_json::{Value, json};

pub(crate) const G: Generation = Generation(1);

/// A bridge, a moment, and what both sides were told since the last look.
pub(crate) struct Play {
    pub(crate) bridge: Bridge,
    pub(crate) now: u64,
    pub(crate) up: Vec<Value>,
    /// How many of those only the server can be blamed for.
    pub(crate) replies: usize,
    pub(crate) down: Vec<Value>,
    /// Bytes that were made for one line alone.
    pub(crate) own_bytes: usize,
    pub(crate) said: Vec<String>,
}

impl Play {
    pub(crate) fn new(settings: Settings) -> Self {
        let mut seed = 0_u8;
        let entropy = Box::new(move |bytes: &mut [u8]| {
            bytes.fill_with(|| {
                seed = seed.wrapping_mul(5).wrapping_add(17);
                seed
            });
        });
        let mut play = Play {
            bridge: Bridge::new(settings, entropy),
            now: 0,
            up: Vec::new(),
            replies: 0,
            down: Vec::new(),
            own_bytes: 0,
            said: Vec::new(),
        };
        play.drain();
        play
    }

    /// A server that offers everything has shaken hands, and one request was answered.
    pub(crate) fn ready(settings: Settings) -> Self {
        let mut play = Play::new(settings);
        play.tell(Event::ServerStarted(G));
        play.client(&request(json!("first"), "server/discover", json!({}), &json!({})));
        let hello = play.up.remove(0);
        play.server(&json!({"id": hello["id"], "result": {
            "protocolVersion": "2025-06-18",
            "serverInfo": {"name": "s", "version": "1"},
            "capabilities": {
                "tools": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "completions": {},
            },
        }}));
        assert_eq!(play.down.remove(0)["id"], "first");
        play.up.clear();
        play.said.clear();
        play
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.bridge.handle(event, Time(self.now));
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(effect) = self.bridge.next_effect() {
            match effect {
                Effect::ToServer(frame) => {
                    self.replies += usize::from(frame.is_reply());
                    self.up.push(serde_json::from_slice(&frame.bytes()).unwrap());
                    self.own_bytes += own_bytes(frame);
                }
                Effect::ToClient(frame) => {
                    self.down.push(serde_json::from_slice(&frame.bytes()).unwrap());
                    self.own_bytes += own_bytes(frame);
                }
                Effect::Say(_, text) => self.said.push(text),
                Effect::StartServer(_) | Effect::StopServer(_) | Effect::Exit(_) => {}
            }
        }
    }

    pub(crate) fn client(&mut self, message: &Value) {
        self.tell(Event::ClientLine(line(message)));
    }

    pub(crate) fn server(&mut self, message: &Value) {
        self.tell(Event::ServerLine(G, line(message)));
    }

    /// Time passes; whatever is due happens at its moment.
    pub(crate) fn wait(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(due) = self.bridge.deadline().filter(|due| due.0 <= end) {
            self.now = self.now.max(due.0);
            self.tell(Event::Wake);
        }
        self.now = end;
    }

    /// Calls a tool for which the server asks something, so that the call is parked. The id of the
    /// call upward.
    pub(crate) fn park(&mut self, id: usize, argument: &str) -> Value {
        self.up.clear();
        self.client(&call(id, &json!({ "a": argument })));
        let sent = self.up.pop().unwrap();
        self.server(&question(&format!("q{id}"), "m"));
        self.wait(60);
        assert_eq!(self.down.pop().unwrap()["result"]["resultType"], "input_required");
        sent["id"].clone()
    }

    pub(crate) fn last_error(&self) -> (i64, String) {
        let error = &self.down.last().unwrap()["error"];
        let reason = error["data"]["reason"].as_str().unwrap_or_default();
        (error["code"].as_i64().unwrap(), reason.to_owned())
    }
}

fn own_bytes(frame: Frame) -> usize {
    let own = |part| if let Part::Own(bytes) = part { bytes.len() } else { 0 };
    frame.into_parts().map(own).sum()
}

pub(crate) fn line(message: &Value) -> Line {
    let mut message = message.clone();
    message["jsonrpc"] = "2.0".into();
    Line { bytes: message.to_string().into_bytes(), ended: true }
}

pub(crate) fn request(
    id: impl Into<Value>,
    method: &str,
    mut params: Value,
    meta: &Value,
) -> Value {
    params["_meta"] = meta.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    if meta.get("io.modelcontextprotocol/clientCapabilities").is_none() {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    }
    json!({"id": id.into(), "method": method, "params": params})
}

pub(crate) fn call(id: usize, arguments: &Value) -> Value {
    request(id, "tools/call", json!({"name": "t", "arguments": arguments}), &json!({}))
}

pub(crate) fn question(id: &str, message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"message": message, "requestedSchema": schema});
    json!({"id": id, "method": "elicitation/create", "params": params})
}

pub(crate) fn listen(id: usize, uris: &[String]) -> Value {
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    request(id, "subscriptions/listen", filter, &json!({}))
}

pub(crate) fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}
