//! Answers to calls: good ones, errors, wrong shapes, late ones, and visits to be made first.

use super::handshake::result_line;
use super::{CALL, Call, Out, Reply, Server, Told, line, words};

/// Codes of a server's errors; `None` stands for one that is no integer.
const CODES: [Option<i64>; 15] = [
    Some(-32603),
    Some(-32602),
    Some(-32601),
    Some(-32600),
    Some(-32000),
    Some(-32002),
    Some(-32020),
    Some(-32021),
    Some(-32022),
    Some(-32042),
    Some(-32050),
    Some(-32099),
    Some(0),
    Some(7),
    None,
];

/// Tools in the order of whoever wrote the server (D9).
const UNSORTED: &str = ",\"tools\":[{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}}]";

impl Server {
    /// A call that may be answered now.
    fn ready_call(&mut self) -> Option<Call> {
        let ready = self.ready_calls();
        if ready.is_empty() {
            return None;
        }
        let at = *self.rng.pick(&ready);
        Some(self.calls.remove(at))
    }

    /// Places of the calls that may be answered now; a serial server sees the first only.
    fn ready_calls(&self) -> Vec<usize> {
        let insists = |call: &Call| {
            self.habits.insists
                && words::is_mrtr(&call.method)
                && call.asked < self.habits.questions
        };
        let may = |call: &Call| {
            !call.is_silent && !insists(call) && (call.waits.is_empty() || !call.is_patient)
        };
        let seen = if self.habits.serial { 1 } else { usize::MAX };
        let calls = self.calls.iter().enumerate().take(seen);
        calls.filter(|(_, call)| may(call)).map(|(at, _)| at).collect()
    }

    pub(super) fn can_answer(&self) -> bool {
        !self.ready_calls().is_empty()
    }

    pub(super) fn answer(&mut self, out: &mut Vec<Out>) {
        if let Some(call) = self.ready_call() {
            let answer = self.answer_to(&call);
            out.push(answer);
        }
    }

    pub(super) fn answer_late(&mut self, out: &mut Vec<Out>) {
        if let Some(call) = self.rng.take(&mut self.zombies) {
            let answer = self.answer_to(&call);
            out.push(answer);
        }
    }

    pub(super) fn answer_broken(&mut self, out: &mut Vec<Out>) {
        if let Some(call) = self.ready_call() {
            let text =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[", call.id);
            out.push(line(text, Told::Reply(call.id, Reply::Broken)));
        }
    }

    fn answer_to(&mut self, call: &Call) -> Out {
        let demands = match self.visits.contains_key(&call.key) {
            _ if self.habits.nags => 100,
            true => 40,
            false => 10,
        };
        if words::is_mrtr(&call.method) && self.rng.chance(demands) {
            return self.demand_visits(call);
        }
        if !self.rng.chance(self.habits.sloppy) {
            return self.good_answer(call);
        }
        if self.rng.chance(60) {
            return self.error(call);
        }
        let text = *self.rng.pick(&["null", "[]", "5", "\"x\"", "true"]);
        result_line(call.id, text, Reply::NotAnObject)
    }

    fn good_answer(&mut self, call: &Call) -> Out {
        let failed = call.method == "tools/call" && self.rng.chance(20);
        let mut members = format!("\"{CALL}\":{},\"isError\":{failed}", call.id);
        match words::array_member(&call.method) {
            Some("tools") if self.rng.chance(50) => members += UNSORTED,
            Some(member) if self.rng.chance(80) => members += &format!(",\"{member}\":[]"),
            Some(member) if self.rng.chance(50) => members += &format!(",\"{member}\":null"),
            // A prompt without messages but with foreign members is left as it is (D12).
            Some(member) if call.method == "prompts/get" => {
                members += &format!(",\"{member}\":[]");
            }
            _ => {}
        }
        if self.rng.chance(10) {
            members +=
                ",\"resultType\":\"foreign\",\"ttlMs\":-1,\"cacheScope\":\"x\",\"nextCursor\":null";
        }
        if self.rng.chance(10) {
            members += ",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1,\"io.modelcontextprotocol/related-task\":{},\"io.modelcontextprotocol/serverInfo\":5,\"keep\":1}";
        }
        let answer = result_line(call.id, &format!("{{{members}}}"), Reply::Result { failed });
        match answer {
            // The same number (A5).
            Out::Line(bytes, told) if self.rng.chance(10) => {
                let (id, text) = (call.id, String::from_utf8_lossy(&bytes));
                let text = text.replacen(&format!("\"id\":{id},"), &format!("\"id\":{id}.0,"), 1);
                Out::Line(text.into_bytes(), told)
            }
            answer => answer,
        }
    }

    fn error(&mut self, call: &Call) -> Out {
        let code = *self.rng.pick(&CODES);
        let text = code.map_or("\"x\"".to_owned(), |code| code.to_string());
        let data = *self.rng.pick(&["", ",\"data\":null", ",\"data\":{\"reason\":\"own\"}"]);
        line(
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{0},\"error\":{{\"code\":{text},\"message\":\"sim {0}\"{data}}}}}",
                call.id
            ),
            Told::Reply(call.id, Reply::Error { code }),
        )
    }

    /// The error that names URLs (E28); the same ones again when they may not be done yet.
    fn demand_visits(&mut self, call: &Call) -> Out {
        let is_known =
            !self.habits.nags && self.visits.contains_key(&call.key) && self.rng.chance(70);
        if !is_known {
            let many = self.rng.range(1, 2);
            let marks = (0..many).map(|_| self.mark()).collect();
            self.visits.insert(call.key.clone(), marks);
        }
        let visits = self.visits.get(&call.key).cloned().unwrap_or_default();
        let items: Vec<_> = visits
            .iter()
            .map(|mark| {
                format!(
                    "{{\"mode\":\"url\",\"elicitationId\":\"v{mark}\",\"url\":\"https://x/{mark}\",\"message\":\"v{mark}\"}}"
                )
            })
            .collect();
        line(
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{0},\"error\":{{\"code\":-32042,\"message\":\"sim {0}\",\"data\":{{\"elicitations\":[{1}]}}}}}}",
                call.id,
                items.join(",")
            ),
            Told::Reply(call.id, Reply::Visits(visits)),
        )
    }

    pub(super) fn mark(&mut self) -> u64 {
        self.marks += 1;
        self.marks
    }
}
