//! What a client should not send, and what needs no server.

use std::rc::Rc;

use super::requests::Wrote;
use super::{Ask, Client, LEVELS, MODERN, P_CAPABILITIES, P_VERSION, Said};

/// Lines that are no messages, with the code they are answered with.
const MALFORMED: [(&str, i64); 11] = [
    ("not json", -32700),
    ("{\"jsonrpc\":\"2.0\",", -32700),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}", -32700),
    ("[]", -32600),
    ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
    ("5", -32600),
    ("null", -32600),
    ("{}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}", -32600),
];

/// Lines that mean nothing to the bridge and are not answered.
const NOTES: [&str; 8] = [
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"vendor/note\",\"params\":null}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":null}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"m\"}}",
];

/// Envelopes that are refused: V stands for the version's key, C for the capabilities'.
const ENVELOPES: [(&str, i64); 12] = [
    ("", -32602),
    ("\"_meta\":null", -32602),
    ("\"_meta\":{}", -32602),
    ("\"_meta\":{V:\"2026-07-28\"}", -32602),
    ("\"_meta\":{C:{}}", -32602),
    ("\"_meta\":{V:3,C:{}}", -32602),
    ("\"_meta\":{V:\"2025-11-25\",C:{}}", -32022),
    ("\"_meta\":{V:\"\",C:{}}", -32022),
    ("\"_meta\":{V:\"2026-07-28\",C:[]}", -32602),
    ("\"_meta\":{V:\"2026-07-28\",C:{\"elicitation\":{\"form\":true}}}", -32602),
    ("\"_meta\":{V:\"2026-07-28\",C:{},\"progressToken\":1.5}", -32602),
    ("\"_meta\":{V:\"1900-01-01\",C:{\"roots\":7}}", -32602),
];

/// Methods that 2026-07-28 does not have (B7).
const REMOVED: [&str; 7] = [
    "ping",
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "tasks/list",
    "roots/list",
    "notifications/initialized",
];

/// Parameters that break B11, B12 or G1.
const ILLEGAL: [(&str, &str); 9] = [
    ("tools/call", "\"name\":5"),
    ("tools/call", "\"name\":\"t\",\"arguments\":[]"),
    ("prompts/get", "\"name\":\"p\",\"arguments\":{\"a\":1}"),
    ("resources/read", ""),
    ("tools/list", "\"cursor\":null"),
    ("completion/complete", "\"ref\":{\"type\":\"ref/x\"}"),
    ("subscriptions/listen", ""),
    ("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":1}"),
    ("subscriptions/listen", "\"notifications\":{\"resourceSubscriptions\":[1]}"),
];

impl Client {
    pub(super) fn malformed(&mut self) -> Wrote {
        self.legs += 1;
        let id = format!("\"w{}\"", self.legs);
        match self.rng.below(14) {
            0 => {
                let line = format!("{{\"jsonrpc\":\"1.0\",\"id\":{id},\"method\":\"tools/list\"}}");
                (line.into_bytes(), Said::Wrong(Some(id), -32600))
            }
            1 => {
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":5}}");
                (line.into_bytes(), Said::Wrong(Some(id), -32600))
            }
            2 => (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec(),
                Said::Wrong(None, -32700),
            ),
            _ => {
                let (line, code) = *self.rng.pick(&MALFORMED);
                (line.as_bytes().to_vec(), Said::Wrong(None, code))
            }
        }
    }

    pub(super) fn note(&mut self) -> Wrote {
        (self.rng.pick(&NOTES).as_bytes().to_vec(), Said::Nothing)
    }

    /// A request that is well-formed, and refused before any server is looked at.
    fn refused(&mut self, method: &str, params: &str, code: i64) -> Wrote {
        let (ask, _) = self.ask(method, "");
        if code == -32601 {
            self.decides(&ask);
        }
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{method}\",\"params\":{params}}}",
            ask.id
        );
        (line.into_bytes(), Said::Refused(Rc::new(ask), code))
    }

    pub(super) fn bad_envelope(&mut self) -> Wrote {
        let method = *self.rng.pick(&["tools/call", "tools/list", "server/discover", "vendor/do"]);
        if self.rng.chance(20) {
            let params = *self.rng.pick(&["null", "[]", "\"x\"", "7"]);
            return self.refused(method, params, -32602);
        }
        let (meta, code) = *self.rng.pick(&ENVELOPES);
        let meta = meta.replace("V:", &format!("\"{P_VERSION}\":"));
        let meta = meta.replace("C:", &format!("\"{P_CAPABILITIES}\":"));
        self.refused(method, &format!("{{{meta}}}"), code)
    }

    pub(super) fn removed(&mut self) -> Wrote {
        let method = *self.rng.pick(&REMOVED);
        let meta = format!("\"{P_VERSION}\":\"{MODERN}\",\"{P_CAPABILITIES}\":{{}}");
        self.refused(method, &format!("{{\"_meta\":{{{meta}}}}}"), -32601)
    }

    /// `initialize` of a client that is known to be modern (B9).
    pub(super) fn stray_initialize(&mut self) -> Wrote {
        if !self.is_pinned {
            return self.call();
        }
        self.refused("initialize", "{\"protocolVersion\":\"2025-06-18\"}", -32022)
    }

    pub(super) fn ping(&mut self) -> Wrote {
        if self.is_pinned {
            return self.refused("ping", "{}", -32602);
        }
        let (ask, _) = self.ask("ping", "");
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}", ask.id);
        (line.into_bytes(), Said::Ping(Rc::new(ask)))
    }

    pub(super) fn illegal(&mut self) -> Wrote {
        let (method, salient) = *self.rng.pick(&ILLEGAL);
        if self.rng.chance(20) {
            let (ask, capabilities) = self.ask("tools/call", "\"name\":\"t\"");
            let ask = Ask { level: Some(LEVELS.len()), is_illegal: true, ..ask };
            return self.line(ask, &capabilities, "");
        }
        let (ask, capabilities) = self.ask(method, "");
        self.line(Ask { is_illegal: true, ..ask }, &capabilities, salient)
    }

    /// A second request with the id of one that may still be in flight (A11).
    pub(super) fn duplicate(&mut self) -> Wrote {
        if self.open.is_empty() || !self.is_pinned {
            return self.call();
        }
        let id = self.rng.pick(&self.open).id.clone();
        let salient = format!("\"name\":\"d{}\"", self.legs);
        let (ask, capabilities) = self.ask("tools/call", &salient);
        self.line(Ask { id, ..ask }, &capabilities, "")
    }
}
