//! How a server answers what the bridge asks on its own account: the handshake above all.

use std::rc::Rc;

use super::{
    Exit, MODERN, Minor, Offers, Out, REVISIONS, Reply, Server, ServerKind, Stage, Told, line,
};

impl Server {
    /// Answers one request of the bridge's own, if there is one.
    pub(super) fn settle(&mut self, out: &mut Vec<Out>) {
        if self.minor.is_empty() {
            if self.stage == Stage::Initialized {
                self.answer(out);
            }
            return;
        }
        let at = self.rng.index(self.minor.len());
        let (id, minor) = self.minor.remove(at);
        let is_bad = self.rng.chance(self.habits.sloppy / 2);
        match minor {
            Minor::Initialize(version) => self.shake_hands(id, &version, out),
            Minor::Discover => self.discovered(id, out),
            Minor::Tools => {
                if let Some(has_tools) = self.offers.undeclared_tools {
                    let result = if has_tools { "{\"tools\":[]}" } else { "{}" };
                    out.push(result_line(id, result, Reply::Result { failed: !has_tools }));
                }
            }
            _ if is_bad && self.rng.chance(50) => {}
            _ if is_bad => out.push(error_line(id, -32603, "no", "")),
            Minor::Level => out.push(result_line(id, "{}", Reply::Result { failed: false })),
            Minor::Subscribe(uri) => {
                self.subscribed.push(uri);
                out.push(result_line(id, "{}", Reply::Result { failed: false }));
            }
            Minor::Unsubscribe(uri) => {
                self.subscribed.retain(|known| *known != uri);
                out.push(result_line(id, "{}", Reply::Result { failed: false }));
            }
        }
    }

    fn shake_hands(&mut self, id: u64, version: &str, out: &mut Vec<Out>) {
        match self.habits.kind {
            ServerKind::Modern => {
                let (code, message, data) = *self.rng.pick(&[
                    (-32022, "Unsupported protocol version", "{\"supported\":[\"2026-07-28\"]}"),
                    (-32601, "Method not found", ""),
                    (-32602, "this server speaks 2026-07-28", ""),
                ]);
                out.push(error_line(id, code, message, data));
            }
            ServerKind::Legacy if self.rng.chance(100 - self.habits.clumsy) => {
                self.welcome(id, version, out);
            }
            ServerKind::Legacy if self.rng.chance(70) => self.refuse_hands(id, out),
            ServerKind::Legacy | ServerKind::Broken | ServerKind::Missing => self.spoil(id, out),
        }
    }

    /// An error after which an older revision may be tried (H4).
    fn refuse_hands(&mut self, id: u64, out: &mut Vec<Out>) {
        let supported = format!("{{\"supported\":[\"{}\"]}}", self.rng.pick(&REVISIONS));
        let (code, data) = match self.rng.below(3) {
            0 => (-32602, supported.as_str()),
            1 => (-32603, ""),
            _ => (-32601, ""),
        };
        out.push(error_line(id, code, "cannot", data));
        if self.rng.chance(20) {
            out.push(Out::Exit(Exit::Code(1)));
        }
    }

    /// A handshake that cannot be completed.
    fn spoil(&mut self, id: u64, out: &mut Vec<Out>) {
        match self.rng.below(5) {
            0 => {} // silence
            1 => out.push(Out::Exit(Exit::Code(3))),
            2 => {
                let result = "{\"protocolVersion\":\"1999-01-01\",\"capabilities\":{}}";
                out.push(result_line(id, result, Reply::Result { failed: false }));
            }
            3 => out.push(result_line(id, "null", Reply::NotAnObject)),
            _ => self.refuse_hands(id, out),
        }
    }

    fn welcome(&mut self, id: u64, version: &str, out: &mut Vec<Out>) {
        let asked = REVISIONS.iter().position(|known| *known == version).unwrap_or(0);
        let revision = if self.rng.chance(70) { asked } else { self.rng.index(REVISIONS.len()) };
        let (offers, capabilities) = self.offers(revision);
        self.offers = Rc::new(offers);
        self.stage = Stage::Welcomed;
        let result = format!(
            "{{\"protocolVersion\":\"{}\",\"capabilities\":{capabilities},\"serverInfo\":{{\"name\":\"sim\",\"version\":\"1\",\"icons\":[]}},\"instructions\":\"use it\"}}",
            REVISIONS[revision]
        );
        out.push(result_line(id, &result, Reply::Welcome(Rc::clone(&self.offers))));
    }

    fn offers(&mut self, revision: usize) -> (Offers, String) {
        let able = self.habits.able;
        let mut offers = Offers { revision, ..Offers::default() };
        let mut members = Vec::new();
        for capability in ["tools", "prompts", "resources", "completions", "logging"] {
            if !self.rng.chance(able) {
                continue;
            }
            let changes = self.rng.chance(70);
            let subscribes = self.rng.chance(80) && capability == "resources";
            let flags = match capability {
                "tools" => {
                    offers.tools_changed = changes;
                    format!("{{\"listChanged\":{changes}}}")
                }
                "prompts" => {
                    offers.prompts_changed = changes;
                    format!("{{\"listChanged\":{changes}}}")
                }
                "resources" => {
                    offers.resources_changed = changes;
                    offers.subscribe = subscribes;
                    format!("{{\"listChanged\":{changes},\"subscribe\":{subscribes}}}")
                }
                _ => "{}".into(),
            };
            offers.capabilities.push(capability);
            members.push(format!("\"{capability}\":{flags}"));
        }
        if self.rng.chance(able / 2) {
            offers.vendor = true;
            members.push("\"experimental\":{\"x\":{}}".into());
        }
        if members.is_empty() {
            offers.undeclared_tools = Some(self.rng.chance(50));
        }
        if REVISIONS[revision] == "2024-11-05" && !offers.has("completions") {
            offers.capabilities.push("completions");
        }
        (offers, format!("{{{}}}", members.join(",")))
    }

    fn discovered(&mut self, id: u64, out: &mut Vec<Out>) {
        if self.habits.kind == ServerKind::Modern {
            self.stage = Stage::Initialized;
            let result = format!(
                "{{\"resultType\":\"complete\",\"supportedVersions\":[\"{MODERN}\"],\"capabilities\":{{\"tools\":{{}}}},\"ttlMs\":0,\"cacheScope\":\"private\"}}"
            );
            out.push(result_line(id, &result, Reply::Discovered));
        } else if self.rng.chance(60) {
            out.push(error_line(id, -32601, "Method not found", ""));
        } else if self.rng.chance(30) {
            out.push(Out::Exit(Exit::Code(2)));
        }
    }
}

pub(super) fn result_line(id: u64, result: &str, reply: Reply) -> Out {
    line(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"), Told::Reply(id, reply))
}

pub(super) fn error_line(id: u64, code: i64, message: &str, data: &str) -> Out {
    let data = if data.is_empty() { String::new() } else { format!(",\"data\":{data}") };
    line(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":\"{message}\"{data}}}}}"
        ),
        Told::Reply(id, Reply::Error { code: Some(code) }),
    )
}
