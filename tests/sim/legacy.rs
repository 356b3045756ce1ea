//! The legacy client: `initialize` first, or after a probe; then whatever 2025 allows.

use std::collections::VecDeque;
use std::rc::Rc;

use super::client::Did;
use super::json::Json;
use super::plan::{ClientHabits, ClientKind, Ending};
use super::rng::Rng;
use super::talk::{Ask, Said};
use super::turns::Turn;
use super::words::{MODERN, P_CAPABILITIES, P_VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It asks whether the server is modern.
    Probing,
    Opening,
    Greeting,
    Welcomed,
    Open,
    Refused,
}

pub(crate) struct LegacyClient {
    /// Of all its acts; `rng` is that of the present one.
    source: Rng,
    rng: Rng,
    habits: ClientHabits,
    stage: Stage,
    inbox: VecDeque<Json>,
    /// Requests of the server that are not answered.
    asked: Vec<String>,
    open: Vec<u64>,
    ids: u64,
    has_ended: bool,
}

impl LegacyClient {
    pub(crate) fn new(habits: ClientHabits, rng: Rng) -> Self {
        let is_seeking = habits.kind == ClientKind::Seeking;
        LegacyClient {
            source: rng.clone(),
            rng,
            habits,
            stage: if is_seeking { Stage::Probing } else { Stage::Opening },
            inbox: VecDeque::new(),
            asked: Vec::new(),
            open: Vec::new(),
            ids: 0,
            has_ended: false,
        }
    }

    pub(crate) fn hears(&mut self, frame: Json) {
        self.inbox.push_back(frame);
    }

    pub(crate) fn act(&mut self, turn: Turn) -> (Did, Option<u64>) {
        if self.has_ended {
            return (Did::Nothing, None);
        }
        self.rng = self.source.at(turn.number);
        while let Some(frame) = self.inbox.pop_front() {
            for message in frame.items().unwrap_or(std::slice::from_ref(&frame)) {
                self.read(message);
            }
        }
        let pause = self.habits.pace.draw(&mut self.rng);
        if !turn.is_taken {
            self.habits.moves = self.habits.moves.saturating_sub(1);
            return (Did::Nothing, Some(pause));
        }
        if self.habits.moves == 0 || self.stage == Stage::Refused {
            self.has_ended = true;
            let did = match self.habits.ending {
                Ending::Closes => Did::Closed,
                Ending::Gone => Did::Gone,
                Ending::Signal => Did::Stopped(15),
            };
            return (did, None);
        }
        self.habits.moves -= 1;
        (self.make_a_move(), Some(pause))
    }

    fn read(&mut self, frame: &Json) {
        let id = frame.get("id");
        if frame.has("method") {
            self.asked.extend(id.map(Json::to_text));
            return;
        }
        let id = id.and_then(Json::as_u64);
        self.open.retain(|open| Some(*open) != id);
        if self.stage == Stage::Greeting && id == Some(1) {
            self.stage = if frame.has("result") { Stage::Welcomed } else { Stage::Refused };
        }
    }

    fn make_a_move(&mut self) -> Did {
        match self.stage {
            Stage::Probing => {
                self.stage = Stage::Opening;
                return self.probe();
            }
            Stage::Opening => {
                if self.rng.chance(10) {
                    return self.ping();
                }
                self.stage = Stage::Greeting;
                self.ids = 1;
                let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}";
                let said = Said::Initialize("1".into());
                return Did::Wrote(line.as_bytes().to_vec(), said);
            }
            Stage::Greeting if self.rng.chance(30) => {
                let (line, said) = self.note();
                return Did::Wrote(line.into_bytes(), said);
            }
            Stage::Greeting | Stage::Refused => return Did::Nothing,
            Stage::Welcomed => {
                self.stage = Stage::Open;
                let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
                return Did::Wrote(line.as_bytes().to_vec(), Said::Legacy(Vec::new(), None));
            }
            Stage::Open => {}
        }
        let (line, said) = match self.rng.below(12) {
            0 => self.bad(),
            1 => self.batch(),
            2 | 3 => self.note(),
            4..=6 => match self.rng.take(&mut self.asked) {
                Some(id) => {
                    let line =
                        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"roots\":[]}}}}");
                    (line, Said::Legacy(Vec::new(), None))
                }
                None => self.request(),
            },
            _ => self.request(),
        };
        Did::Wrote(line.into_bytes(), said)
    }

    fn ask(&self, id: &str, method: &str) -> Rc<Ask> {
        Rc::new(Ask {
            leg: self.ids,
            id: id.to_owned(),
            method: method.to_owned(),
            salient: String::new(),
            allows: 0,
            level: None,
            token: None,
            is_illegal: false,
            filter: None,
            retry: None,
        })
    }

    fn probe(&mut self) -> Did {
        let ask = self.ask("\"probe\"", "server/discover");
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"method\":\"server/discover\",\"params\":{{\"_meta\":{{\"{P_VERSION}\":\"{MODERN}\",\"{P_CAPABILITIES}\":{{}}}}}}}}"
        );
        Did::Wrote(line.into_bytes(), Said::Request(ask))
    }

    fn ping(&mut self) -> Did {
        let ask = self.ask("\"ping\"", "ping");
        let line = "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}";
        Did::Wrote(line.as_bytes().to_vec(), Said::Ping(ask))
    }

    fn request(&mut self) -> (String, Said) {
        self.ids += 1;
        self.open.push(self.ids);
        let id = self.ids;
        let method = *self.rng.pick(&["tools/call", "tools/list", "ping", "resources/subscribe"]);
        let spaces = *self.rng.pick(&["", " ", "\t"]);
        let line = format!(
            "{{\"jsonrpc\":{spaces}\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{\"uri\":\"u\",\"_meta\":{{}}}}}}"
        );
        (line, Said::Legacy(vec![id.to_string()], None))
    }

    fn note(&mut self) -> (String, Said) {
        let id = if self.open.is_empty() { 0 } else { *self.rng.pick(&self.open) };
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}"
        );
        (line, Said::Legacy(Vec::new(), Some(id.to_string())))
    }

    fn batch(&mut self) -> (String, Said) {
        let (first, _) = self.request();
        let (second, _) = self.note();
        (format!("[{first},{second}]"), Said::Legacy(vec![self.ids.to_string()], None))
    }

    fn bad(&mut self) -> (String, Said) {
        let wrong = |id: &str, code| Said::Wrong(Some(id.to_owned()), code);
        match self.rng.below(4) {
            0 => ("not json".into(), Said::Wrong(None, -32700)),
            1 => ("{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":5}".into(), wrong("\"b\"", -32600)),
            2 => (
                "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"server/discover\"}".into(),
                wrong("\"b\"", -32601),
            ),
            _ => {
                let line = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"tools/list\",\"params\":{{\"_meta\":{{\"{P_VERSION}\":\"{MODERN}\",\"{P_CAPABILITIES}\":{{}}}}}}}}"
                );
                (line, wrong("\"b\"", -32600))
            }
        }
    }
}
