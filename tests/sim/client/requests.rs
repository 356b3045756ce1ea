//! Requests that deserve an answer of substance, and coming back with answers.

use std::rc::Rc;

use super::{
    ANSWER, Ask, Client, Filter, Given, Kind, LEG, LEVELS, MODERN, P_CAPABILITIES, P_LEVEL,
    P_VERSION, Parked, Retry, Said, words,
};

pub(super) type Wrote = (Vec<u8>, Said);

const URIS: [&str; 6] =
    ["file:///a", "file:///a/b", "file:///ab", "mem://x", "file:///c", "file:///d"];

impl Client {
    /// An id that is not in use, as JSON text.
    pub(super) fn id(&mut self) -> String {
        if self.rng.chance(30)
            && let Some(id) = self.rng.take(&mut self.free_ids)
            && !self.open.iter().any(|ask| ask.id == id)
        {
            return id;
        }
        let n = self.legs;
        match self.rng.below(10) {
            0 => format!("\"{n}\""),
            1 => format!("\"s-{n}\""),
            2 => format!("-{}", n + 1),
            3 => format!("1844674407370955{n}"),
            _ => n.to_string(),
        }
    }

    /// A fresh request; what its leg may be asked and wants to be told is drawn anew.
    pub(super) fn ask(&mut self, method: &str, salient: &str) -> (Ask, String) {
        let id = self.id();
        self.legs += 1;
        let (capabilities, allows) = words::capabilities(&mut self.rng, self.habits.generous);
        let level = self.rng.chance(self.habits.curious).then(|| self.rng.index(LEVELS.len()));
        let token = self.rng.chance(self.habits.curious).then(|| self.token(&id));
        let ask = Ask {
            leg: self.legs,
            id,
            method: method.to_owned(),
            salient: salient.to_owned(),
            allows,
            level,
            token,
            is_illegal: false,
            filter: None,
            retry: None,
        };
        (ask, capabilities)
    }

    fn token(&mut self, id: &str) -> String {
        if self.rng.chance(30) && !self.tokens.is_empty() {
            return self.rng.pick(&self.tokens).clone();
        }
        let token = if self.rng.chance(50) { id.to_owned() } else { format!("\"t{}\"", self.legs) };
        self.tokens.push(token.clone());
        token
    }

    /// A request with a good envelope decides the era, but for probes and ids in use (I1).
    pub(super) fn decides(&mut self, ask: &Ask) {
        let is_in_use = self.open.iter().any(|open| open.id == ask.id);
        self.is_pinned |= ask.method != "server/discover" && !is_in_use;
    }

    /// The line of a request, `more` standing before its `_meta`.
    pub(super) fn line(&mut self, ask: Ask, capabilities: &str, more: &str) -> Wrote {
        let mut meta = format!(
            "\"{P_VERSION}\":\"{MODERN}\",\"{P_CAPABILITIES}\":{capabilities},\"{LEG}\":{}",
            ask.leg
        );
        if let Some(level) = ask.level {
            let level = LEVELS.get(level).unwrap_or(&"loud");
            meta += &format!(",\"{P_LEVEL}\":\"{level}\"");
        }
        if let Some(token) = &ask.token {
            meta += &format!(",\"progressToken\":{token}");
        }
        if self.rng.chance(10) {
            meta += ",\"traceparent\":\"00-1\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}";
        }
        let comma = |text: &str| if text.is_empty() { "" } else { "," };
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{}\",\"params\":{{{}{}{more}{}\"_meta\":{{{meta}}}}}}}",
            ask.id,
            ask.method,
            ask.salient,
            comma(&ask.salient),
            comma(more),
        );
        self.decides(&ask);
        let ask = Rc::new(ask);
        self.open.push(Rc::clone(&ask));
        (line.into_bytes(), Said::Request(ask))
    }

    pub(super) fn request(&mut self, method: &str, salient: &str) -> Wrote {
        let (ask, capabilities) = self.ask(method, salient);
        self.line(ask, &capabilities, "")
    }

    pub(super) fn call(&mut self) -> Wrote {
        let n = self.legs;
        match self.rng.below(4) {
            0 => self.request("prompts/get", &format!("\"name\":\"p{n}\"")),
            1 => self.request("resources/read", &format!("\"uri\":\"file:///r{n}\"")),
            // Agents do send the same call twice (E14).
            2 => {
                self.request("tools/call", "\"name\":\"same\",\"arguments\":{\"b\":1.50,\"a\":[]}")
            }
            _ => {
                let salient = format!("\"name\":\"t{n}\",\"arguments\":{{\"n\":{n},\"x\":1e400}}");
                self.request("tools/call", &salient)
            }
        }
    }

    pub(super) fn list(&mut self) -> Wrote {
        let method = *self.rng.pick(&[
            "tools/list",
            "tools/list",
            "prompts/list",
            "resources/list",
            "resources/templates/list",
        ]);
        let cursor = *self.rng.pick(&["", "", "\"cursor\":\"\"", "\"cursor\":\"c1\""]);
        self.request(method, cursor)
    }

    pub(super) fn complete(&mut self) -> Wrote {
        self.request(
            "completion/complete",
            "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
        )
    }

    pub(super) fn vendor(&mut self) -> Wrote {
        self.request("vendor/do", "\"x\":{\"y\":null}")
    }

    pub(super) fn listen(&mut self) -> Wrote {
        let (mut ask, capabilities) = self.ask("subscriptions/listen", "");
        let mut filter = Filter {
            tools: self.rng.chance(50),
            prompts: self.rng.chance(50),
            resources: self.rng.chance(50),
            uris: Vec::new(),
        };
        for _ in 0..*self.rng.pick(&[0, 1, 2, 5]) {
            filter.uris.push((*self.rng.pick(&URIS)).to_owned());
        }
        let uris: Vec<_> = filter.uris.iter().map(|uri| format!("\"{uri}\"")).collect();
        let more = format!(
            "\"notifications\":{{\"toolsListChanged\":{},\"promptsListChanged\":{},\"resourcesListChanged\":{},\"resourceSubscriptions\":[{}]}}",
            filter.tools,
            filter.prompts,
            filter.resources,
            uris.join(",")
        );
        let mut seen = Vec::new();
        filter.uris.retain(|uri| {
            let is_new = !seen.contains(uri);
            seen.push(uri.clone());
            is_new
        });
        ask.filter = Some(filter);
        self.line(ask, &capabilities, &more)
    }

    pub(super) fn cancel(&mut self) -> Wrote {
        let id = match self.rng.below(10) {
            0..=6 => self.rng.take(&mut self.open).map(|ask| ask.id.clone()),
            7..=8 => self.rng.take(&mut self.parked).map(|parked| {
                self.stale.push(parked.clone());
                parked.ask.id.clone()
            }),
            _ => Some((*self.rng.pick(&["99999", "\"nobody\"", "0", "1"])).to_owned()),
        };
        let Some(id) = id else { return self.note() };
        self.open.retain(|ask| ask.id != id);
        self.free_ids.push(id.clone());
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id},\"reason\":\"r\"}}}}"
        );
        (line.into_bytes(), Said::Cancel(id))
    }

    /// Comes back to a call that was answered with questions; `None` when there is none.
    pub(super) fn retry(&mut self) -> Option<Wrote> {
        let is_sloppy = self.rng.chance(self.habits.sloppy);
        if is_sloppy && self.rng.chance(15) {
            let parked = self.rng.take(&mut self.stale)?;
            return Some(self.come_back(&parked, Some(parked.state.clone()), 0));
        }
        let parked = self.rng.take(&mut self.parked)?;
        if !is_sloppy {
            let state = Some(parked.state.clone());
            self.stale.push(parked.clone());
            // The same numbers may be spelt otherwise (E13).
            let spelling = *self.rng.pick(&["1.50", "15e-1"]);
            let salient = parked.ask.salient.replace("1.50", spelling);
            let ask = Rc::new(Ask { salient, ..copy(&parked.ask) });
            return Some(self.come_back(&Parked { ask, ..parked }, state, 0));
        }
        let mut changed = parked.clone();
        Some(match self.rng.below(7) {
            0 => {
                let state = self.forged(&parked.state);
                self.parked.push(parked);
                self.come_back(&changed, state, 0)
            }
            1 => {
                changed.ask = Rc::new(Ask {
                    salient: "\"name\":\"other\",\"uri\":\"file:///other\"".into(),
                    ..copy(&parked.ask)
                });
                self.parked.push(parked);
                self.come_back(&changed, Some(changed.state.clone()), 0)
            }
            2 => {
                let method = *self.rng.pick(&["tools/call", "prompts/get", "tools/list"]);
                let has = |name: &str| parked.ask.salient.contains(name);
                let is_illegal = match method {
                    "tools/call" => !has("\"name\""),
                    "prompts/get" => !has("\"name\"") || has("\"arguments\""),
                    _ => false,
                };
                changed.ask =
                    Rc::new(Ask { method: method.into(), is_illegal, ..copy(&parked.ask) });
                self.parked.push(parked);
                self.come_back(&changed, Some(changed.state.clone()), 0)
            }
            // Illegal or missing answers; it may come back better.
            _ => {
                self.parked.push(parked);
                self.come_back(&changed, Some(changed.state.clone()), 40)
            }
        })
    }

    /// A state that was never issued; `None` for one that is no string.
    fn forged(&mut self, state: &str) -> Option<String> {
        Some(match self.rng.below(6) {
            0 => return None,
            1 => String::new(),
            2 => "0123456789abcdef.0123456789abcdef0123456789abcdef".into(),
            3 => format!("{state}0"),
            4 => state.to_uppercase(),
            _ => state.chars().rev().collect(),
        })
    }

    /// `bad`: percent of the answers that are not what they should be.
    fn come_back(&mut self, parked: &Parked, state: Option<String>, bad: u64) -> Wrote {
        let (mut ask, mut capabilities) = self.ask(&parked.ask.method, &parked.ask.salient);
        ask.is_illegal = parked.ask.is_illegal;
        if self.rng.chance(60) {
            (capabilities, ask.allows) = generous();
        }
        if self.rng.chance(40) {
            ask.token.clone_from(&parked.ask.token);
        }
        let mut given = Vec::new();
        let mut members = Vec::new();
        for (key, kind) in &parked.wanted {
            let (answer, text) = self.answer(*kind, bad);
            if let Some(text) = text {
                members.push(format!("\"{key}\":{text}"));
            }
            given.push((key.clone(), answer));
        }
        if self.rng.chance(10) {
            members.push("\"q777\":{\"action\":\"accept\"}".into());
        }
        let state_text = state.as_ref().map_or("17".into(), |state| format!("\"{state}\""));
        let more = if members.is_empty() && self.rng.chance(50) {
            format!("\"requestState\":{state_text}")
        } else {
            format!("\"inputResponses\":{{{}}},\"requestState\":{state_text}", members.join(","))
        };
        ask.retry = Some(Retry { state, given });
        self.line(ask, &capabilities, &more)
    }

    /// An answer and its text; no text when the key is left out.
    fn answer(&mut self, kind: Kind, bad: u64) -> (Given, Option<String>) {
        if self.rng.chance(bad) {
            return self.bad_answer(kind);
        }
        self.answers += 1;
        let number = self.answers;
        let legal = |consents| Given::Legal { number, consents };
        let mark = format!("\"{ANSWER}\":{number}");
        match kind {
            Kind::Form | Kind::Url if self.rng.chance(self.habits.declines) => {
                let action = *self.rng.pick(&["decline", "cancel"]);
                (legal(false), Some(format!("{{\"action\":\"{action}\",{mark}}}")))
            }
            Kind::Form => {
                let text = format!(
                    "{{\"action\":\"accept\",\"content\":{{\"a\":{number},\"b\":[\"x\"]}},{mark}}}"
                );
                (legal(true), Some(text))
            }
            Kind::Url => (legal(true), Some(format!("{{\"action\":\"accept\",{mark}}}"))),
            Kind::Sampling => {
                let block = format!("{{\"type\":\"text\",\"text\":\"s{number}\"}}");
                let content = if self.rng.chance(30) { format!("[{block}]") } else { block };
                let text = format!(
                    "{{\"role\":\"assistant\",\"model\":\"m\",\"content\":{content},{mark}}}"
                );
                (legal(true), Some(text))
            }
            Kind::Roots => {
                let text = format!("{{\"roots\":[{{\"uri\":\"file:///{number}\"}}],{mark}}}");
                (legal(true), Some(text))
            }
        }
    }

    fn bad_answer(&mut self, kind: Kind) -> (Given, Option<String>) {
        let missing = |text: &str| (Given::Missing, Some(text.to_owned()));
        match self.rng.below(6) {
            0 => (Given::Missing, None),
            1 => missing("5"),
            2 => missing("{\"method\":\"x\",\"action\":\"accept\"}"),
            3 => missing("{\"result\":{\"action\":\"accept\"}}"),
            _ => {
                let text = match kind {
                    Kind::Form => "{\"action\":\"accept\",\"content\":{\"a\":{}}}",
                    Kind::Url => "{\"action\":\"maybe\"}",
                    Kind::Sampling => "{\"role\":\"assistant\",\"model\":\"m\",\"content\":\"x\"}",
                    Kind::Roots => "{\"roots\":[{\"uri\":\"http://x\"}]}",
                };
                (Given::Illegal, Some(text.to_owned()))
            }
        }
    }
}

/// Everything that can be asked for.
fn generous() -> (String, u8) {
    let text = "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{},\"context\":{}},\"roots\":{}}";
    (text.to_owned(), u8::MAX)
}

fn copy(ask: &Ask) -> Ask {
    Ask {
        leg: ask.leg,
        id: ask.id.clone(),
        method: ask.method.clone(),
        salient: ask.salient.clone(),
        allows: ask.allows,
        level: ask.level,
        token: ask.token.clone(),
        is_illegal: false,
        filter: None,
        retry: None,
    }
}
