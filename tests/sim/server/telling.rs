//! What a server says of its own accord: questions, progress, logs, changes, noise.

use std::rc::Rc;

use super::{Kind, LEVELS, Out, QUESTION, Question, Server, Told, Topic, line, words};

impl Server {
    /// Something before the handshake is over: pings are allowed, the rest happens.
    pub(super) fn early(&mut self, out: &mut Vec<Out>) {
        match self.rng.below(4) {
            0 | 1 => self.ping(out),
            2 => self.noise(out),
            _ => self.ask(out, 1),
        }
    }

    /// Questions, for a call where one can be had.
    pub(super) fn ask(&mut self, out: &mut Vec<Out>, many: u64) {
        let limit = self.habits.questions;
        let is_first_only = self.habits.serial;
        let calls = self.calls.iter().enumerate();
        let able: Vec<_> = calls
            .filter(|(at, call)| call.asked < limit && !(is_first_only && *at > 0))
            .map(|(at, _)| at)
            .collect();
        let call = (!able.is_empty() && self.rng.chance(85)).then(|| *self.rng.pick(&able));
        if call.is_none() && self.rng.chance(60) {
            return self.answer(out);
        }
        for _ in 0..many {
            let (question, text) = self.question();
            if let Some(at) = call {
                self.calls[at].asked += 1;
                self.calls[at].waits.push(question.mark);
            }
            let id = call.map(|at| self.calls[at].id);
            self.questions.push((Rc::clone(&question), id));
            out.push(line(text, Told::Asked(question)));
        }
    }

    fn question(&mut self) -> (Rc<Question>, String) {
        let mark = self.mark();
        self.ids += 1;
        // Ids collide with ours, and with each other but for the type (A19, E4).
        let id = match self.rng.below(3) {
            0 => format!("\"{}\"", self.ids),
            1 => format!("\"q-{}\"", self.ids),
            _ => self.ids.to_string(),
        };
        let meta = format!("\"_meta\":{{\"{QUESTION}\":{mark},\"progressToken\":1}}");
        let kind = *self.rng.pick(&[
            Kind::Form,
            Kind::Form,
            Kind::Url,
            Kind::Sampling,
            Kind::Sampling,
            Kind::Roots,
            Kind::Roots,
        ]);
        let has_tools = kind == Kind::Sampling && self.rng.chance(25);
        let (method, params, needs) = match kind {
            Kind::Form => (
                "elicitation/create",
                "\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}},\"task\":{},".to_owned(),
                words::FORM,
            ),
            Kind::Url => (
                "elicitation/create",
                "\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://x\",\"elicitationId\":\"e\",".to_owned(),
                words::URL,
            ),
            Kind::Sampling if has_tools => (
                "sampling/createMessage",
                "\"messages\":[],\"maxTokens\":5,\"tools\":[{\"name\":\"t\",\"execution\":{}}],".to_owned(),
                words::SAMPLING | words::SAMPLING_TOOLS,
            ),
            Kind::Sampling => (
                "sampling/createMessage",
                "\"messages\":[],\"maxTokens\":5,\"includeContext\":\"none\",".to_owned(),
                words::SAMPLING,
            ),
            Kind::Roots => ("roots/list", String::new(), words::ROOTS),
        };
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}{meta}}}}}"
        );
        (Rc::new(Question { id, mark, kind, needs }), text)
    }

    pub(super) fn withdraw(&mut self, out: &mut Vec<Out>) {
        let Some((question, _)) = self.rng.take(&mut self.questions) else { return };
        for call in &mut self.calls {
            call.waits.retain(|mark| *mark != question.mark);
        }
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{}}}}}",
            question.id
        );
        out.push(line(text, Told::Withdrawn(question.id.clone())));
    }

    pub(super) fn progress(&mut self, out: &mut Vec<Out>) {
        if self.calls.is_empty() {
            return;
        }
        let at = self.rng.index(self.calls.len());
        let burst = *self.rng.pick(&[1, 1, 1, 1, 40, 90]);
        for _ in 0..burst {
            let step = *self.rng.pick(&[1.0, 1.0, 0.5, 0.0, -2.0]);
            let call = &mut self.calls[at];
            call.progress += step;
            let (token, value) = (call.id, call.progress);
            let text = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":{value},\"total\":\"x\",\"message\":\"call-{token}\"}}}}"
            );
            out.push(line(text, Told::Progress { token, value }));
        }
    }

    /// Progress that says nothing to anybody (F2, F3).
    pub(super) fn wrong_progress(&mut self, out: &mut Vec<Out>) {
        let token = self.calls.first().map_or(1, |call| call.id);
        let params = match self.rng.below(4) {
            0 => "\"progressToken\":999999,\"progress\":1,\"message\":\"call-0\"".to_owned(),
            1 => format!("\"progressToken\":\"{token}\",\"progress\":50,\"message\":\"call-0\""),
            2 => "\"progress\":5".to_owned(),
            _ => "\"progressToken\":null,\"progress\":\"much\"".to_owned(),
        };
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{{params}}}}}"
        );
        out.push(line(text, Told::Noise));
    }

    pub(super) fn log(&mut self, out: &mut Vec<Out>) {
        if self.rng.chance(10) {
            let text = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"loud\",\"data\":0}}";
            out.push(line(text.to_owned(), Told::Noise));
            return;
        }
        let number = self.mark();
        let level = self.rng.index(LEVELS.len());
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"{}\",\"logger\":7,\"data\":{number}}}}}",
            LEVELS[level]
        );
        out.push(line(text, Told::Log { level, number }));
    }

    pub(super) fn change(&mut self, out: &mut Vec<Out>) {
        if self.stream_note(out) {
            return;
        }
        let topic = match self.rng.below(5) {
            0 => Topic::Tools,
            1 => Topic::Prompts,
            2 => Topic::Resources,
            _ => {
                let uri = if self.subscribed.is_empty() || self.rng.chance(20) {
                    (*self.rng.pick(&["file:///a", "mem://x", "file:///z"])).to_owned()
                } else {
                    self.rng.pick(&self.subscribed).clone()
                };
                let tail = *self.rng.pick(&["", "", "/sub", "x"]);
                Topic::Updated(format!("{uri}{tail}"))
            }
        };
        let params = match &topic {
            Topic::Updated(uri) => format!(",\"params\":{{\"uri\":\"{uri}\"}}"),
            Topic::Tools | Topic::Prompts | Topic::Resources => (*self.rng.pick(&[
                "",
                ",\"params\":null",
                ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":4}}",
            ]))
            .to_owned(),
        };
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"{params}}}", topic.method());
        out.push(line(text, Told::Changed(topic)));
    }

    pub(super) fn ping(&mut self, out: &mut Vec<Out>) {
        self.ids += 1;
        let id = format!("\"p{}\"", self.ids);
        out.push(line(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}"),
            Told::Ping(id),
        ));
    }

    /// A request that can only be refused (H7, E16).
    pub(super) fn hopeless(&mut self, out: &mut Vec<Out>) {
        self.ids += 1;
        let id = format!("\"h{}\"", self.ids);
        let (body, code) = *self.rng.pick(&[
            ("\"method\":\"tasks/get\",\"params\":{}", -32601),
            ("\"method\":\"vendor/ask\"", -32601),
            ("\"method\":\"elicitation/create\",\"params\":{}", -32602),
            ("\"method\":\"elicitation/create\",\"params\":{\"mode\":\"voice\",\"message\":\"m\"}", -32602),
            ("\"method\":\"sampling/createMessage\"", -32602),
        ]);
        out.push(line(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}"),
            Told::Hopeless(id, code),
        ));
    }

    pub(super) fn noise(&mut self, out: &mut Vec<Out>) {
        let text = *self.rng.pick(&[
            "Server listening on stdio",
            "",
            "{\"level\":30,\"msg\":\"x\"}",
            "[1,2]",
            "[]",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}",
            "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"none\"}}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{}}",
        ]);
        out.push(line(text.to_owned(), Told::Noise));
    }

    pub(super) fn visited(&mut self, out: &mut Vec<Out>) {
        let known: Vec<_> = self.visits.values().flatten().copied().collect();
        if known.is_empty() {
            return;
        }
        let mark = *self.rng.pick(&known);
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{{\"elicitationId\":\"v{mark}\"}}}}"
        );
        out.push(line(text, Told::Visited(mark)));
    }

    /// Several messages in one line (A14).
    pub(super) fn batch(&mut self, out: &mut Vec<Out>) {
        let mut parts = Vec::new();
        for _ in 0..self.rng.range(1, 3) {
            match self.rng.below(4) {
                0 => self.answer(&mut parts),
                1 => self.ask(&mut parts, 1),
                2 => self.ping(&mut parts),
                _ => self.log(&mut parts),
            }
        }
        let mut texts = Vec::new();
        let mut told = Vec::new();
        for part in parts {
            if let Out::Line(bytes, meaning) = part {
                texts.push(String::from_utf8_lossy(&bytes).into_owned());
                told.extend(meaning);
            }
        }
        if !texts.is_empty() {
            out.push(Out::Line(format!("[{}]", texts.join(",")).into_bytes(), told));
        }
    }
}
