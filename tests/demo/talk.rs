//! The client's side of the conversation: asks, shows, checks, counts.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::screen;
use crate::session::Session;

/// A conversation and its tally.
pub(crate) struct Talk {
    session: Session,
    last_id: u64,
    scenes: usize,
    checks: usize,
    wrong: usize,
}

/// One request with all that came of it.
pub(crate) struct Exchange {
    /// The response.
    pub(crate) answer: Value,
    /// Notifications that came before it.
    pub(crate) notices: Vec<Value>,
    /// What the wrapped server heard and said.
    pub(crate) heard: Vec<Value>,
    pub(crate) said: Vec<Value>,
}

impl Exchange {
    /// The first text of a tool's result.
    pub(crate) fn text(&self) -> &Value {
        &self.answer["result"]["content"][0]["text"]
    }

    /// The questions of an `input_required` result.
    pub(crate) fn questions(&self) -> Vec<(String, Value)> {
        let questions = self.answer["result"]["inputRequests"].as_object();
        questions.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Talk {
    pub(crate) fn new(session: Session) -> Self {
        Talk { session, last_id: 0, scenes: 0, checks: 0, wrong: 0 }
    }

    /// Opens a scene: a title, and what to look at.
    pub(crate) fn scene(&mut self, title: &str, about: &str) {
        self.scenes += 1;
        show(&format!("\n{}. {title}\n{about}\n\n", self.scenes));
    }

    /// Sends a request of a client with these capabilities and waits for its answer.
    pub(crate) fn request(
        &mut self,
        method: &str,
        mut params: Value,
        capabilities: &Value,
    ) -> Result<Exchange, String> {
        self.last_id += 1;
        let id = self.last_id;
        let meta = params["_meta"].take();
        params["_meta"] = envelope(meta, capabilities);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        show(&screen::message("client > ", &request, 4, id == 1));
        self.session.send(&request)?;
        let mut notices = Vec::new();
        let answer = loop {
            let message = self.session.receive().map_err(|why| format!("{method}: {why}"))?;
            if message["id"] == id {
                break message;
            }
            notices.push(message);
        };
        let (heard, said) = self.show_server_side();
        for message in notices.iter().chain([&answer]) {
            show(&screen::message("client < ", message, 4, false));
        }
        Ok(Exchange { answer, notices, heard, said })
    }

    /// Calls a tool.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        capabilities: &Value,
    ) -> Result<Exchange, String> {
        let mut params = json!({"name": tool});
        params["arguments"] = arguments;
        self.request("tools/call", params, capabilities)
    }

    fn show_server_side(&mut self) -> (Vec<Value>, Vec<Value>) {
        let (mut heard, mut said) = (Vec::new(), Vec::new());
        for (mark, line) in self.session.server_side() {
            let Ok(message) = serde_json::from_str(&line) else {
                continue;
            };
            let label = format!("    server {mark} ");
            show(&screen::message(&label, &message, 2, false));
            let side = if mark == '<' { &mut heard } else { &mut said };
            side.push(message);
        }
        (heard, said)
    }

    /// Compares what came with what should.
    pub(crate) fn same(&mut self, what: &str, got: &Value, wanted: &Value) {
        let shown = if got == wanted { String::new() } else { format!(": {got}, not {wanted}") };
        self.holds(&format!("{what}{shown}"), got == wanted);
    }

    /// Records whether something is as it should be.
    pub(crate) fn holds(&mut self, what: &str, true_indeed: bool) {
        self.checks += 1;
        self.wrong += usize::from(!true_indeed);
        let verdict = if true_indeed { "ok   " } else { "WRONG" };
        show(&format!("  {verdict}  {what}\n"));
    }

    /// Hangs up, sums up; gives the number of failed checks.
    pub(crate) fn finish(mut self) -> Result<usize, String> {
        let status = self.session.close()?;
        self.same("the bridge ends with status 0", &json!(status), &json!(0));
        let server_side = self.session.server_side();
        let closed = server_side.iter().any(|(mark, _)| *mark == '#');
        self.holds("the server saw the end of its input and could end in peace", closed);
        show(&format!("\n{} passed, {} failed\n", self.checks - self.wrong, self.wrong));
        Ok(self.wrong)
    }
}

/// What every request of a 2026-07-28 client carries in `_meta`.
fn envelope(meta: Value, capabilities: &Value) -> Value {
    let mut meta = if meta.is_object() { meta } else { json!({}) };
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "demo", "version": "1"});
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    meta
}

/// Prints; a reader that is gone (`make demo | head`) does not matter.
pub(crate) fn show(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
