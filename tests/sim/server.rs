//! The model of a wrapped server, one process of it: it answers, asks, tells, errs and dies as its
//! habits have it.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use mcp_uplift::bridge::Exit;

use super::json::Json;
use super::plan::{ServerHabits, ServerKind};
use super::rng::Rng;
use super::talk::{Kind, Offers, Question, Reply, Told, Topic};
use super::turns::Turn;
use super::words::{self, CALL, LEG, LEVELS, MODERN, P_STREAM, QUESTION, REVISIONS};

mod answers;
mod handshake;
mod modern;
mod telling;

/// What a server does next, and how often in proportion.
pub(crate) const ACTS: [(Act, u64); 18] = [
    (Act::Answer, 24),
    (Act::Settle, 30),
    (Act::Ask, 10),
    (Act::AskMany, 3),
    (Act::Progress, 8),
    (Act::WrongProgress, 2),
    (Act::Log, 5),
    (Act::Withdraw, 2),
    (Act::Change, 4),
    (Act::Ping, 2),
    (Act::Hopeless, 2),
    (Act::Noise, 2),
    (Act::Late, 3),
    (Act::Broken, 1),
    (Act::Overlong, 1),
    (Act::Visited, 3),
    (Act::Batch, 2),
    (Act::CloseOutput, 1),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A call of the client's.
    Answer,
    /// Something the bridge asked on its own account.
    Settle,
    Ask,
    AskMany,
    Progress,
    WrongProgress,
    Log,
    Withdraw,
    Change,
    Ping,
    Hopeless,
    Noise,
    /// An answer to a call that was cancelled.
    Late,
    /// A line that is not JSON in place of an answer.
    Broken,
    Overlong,
    Visited,
    Batch,
    CloseOutput,
}

/// What comes out of the process.
#[derive(Debug)]
pub(crate) enum Out {
    Line(Vec<u8>, Vec<Told>),
    Overlong,
    CloseOutput,
    Exit(Exit),
}

/// A request of the client that is being worked on.
#[derive(Debug)]
struct Call {
    id: u64,
    method: String,
    /// Its parameters: what makes it the same request when it is sent again.
    key: String,
    asked: u64,
    /// Questions it waits for.
    waits: Vec<u64>,
    is_silent: bool,
    is_patient: bool,
    progress: f64,
}

/// A request of the bridge's own.
#[derive(Debug)]
enum Minor {
    Initialize(String),
    Discover,
    Tools,
    Level,
    Subscribe(String),
    Unsubscribe(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Fresh,
    /// `initialize` was answered well.
    Welcomed,
    Initialized,
}

pub(crate) struct Server {
    /// Of all its acts; `rng` is that of the present one.
    source: Rng,
    rng: Rng,
    habits: ServerHabits,
    stage: Stage,
    offers: Rc<Offers>,
    inbox: VecDeque<Json>,
    calls: Vec<Call>,
    zombies: Vec<Call>,
    minor: Vec<(u64, Minor)>,
    /// Questions that were not answered, with the call they were asked for.
    questions: Vec<(Rc<Question>, Option<u64>)>,
    subscribed: Vec<String>,
    /// Visits that a request was told to make, by its parameters (E28).
    visits: BTreeMap<String, Vec<u64>>,
    /// Counts questions, visits and log messages over all processes of a run.
    pub(crate) marks: u64,
    ids: u64,
}

impl Server {
    pub(crate) fn new(habits: ServerHabits, rng: Rng, marks: u64) -> Self {
        Server {
            source: rng.clone(),
            rng,
            habits,
            stage: Stage::Fresh,
            offers: Rc::default(),
            inbox: VecDeque::new(),
            calls: Vec::new(),
            zombies: Vec::new(),
            minor: Vec::new(),
            questions: Vec::new(),
            subscribed: Vec::new(),
            visits: BTreeMap::new(),
            marks,
            ids: 0,
        }
    }

    /// A frame arrives; it is read at some later act.
    pub(crate) fn hears(&mut self, frame: Json) {
        self.inbox.push_back(frame);
    }

    /// One act, and the time to the next; `None`: nothing until it hears something.
    pub(crate) fn act(&mut self, turn: Turn) -> (Vec<Out>, Option<u64>) {
        self.rng = self.source.at(turn.number);
        let pause = self.habits.pace.draw(&mut self.rng);
        let mut read = self.inbox.len();
        if self.rng.chance(15) {
            read = self.rng.index(read + 1);
        }
        for _ in 0..read {
            if let Some(frame) = self.inbox.pop_front() {
                self.read(&frame);
            }
        }
        let mut out = Vec::new();
        if !turn.is_taken {
            self.habits.spontaneous = self.habits.spontaneous.saturating_sub(1);
            return (out, Some(pause));
        }
        self.do_something(&mut out);
        if self.rng.below(1000) < self.habits.mortal {
            if self.rng.chance(20) {
                out.push(Out::Line(b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec(), vec![Told::Noise]));
            }
            let exit = *self.rng.pick(&[Exit::Code(0), Exit::Code(1), Exit::Signal(9)]);
            out.push(Out::Exit(exit));
            return (out, None);
        }
        let has_work = !self.inbox.is_empty() || !self.minor.is_empty() || self.can_answer();
        let goes_on = has_work || self.habits.spontaneous > 0;
        (out, goes_on.then_some(pause))
    }

    fn do_something(&mut self, out: &mut Vec<Out>) {
        if self.stage != Stage::Initialized {
            if self.rng.chance(5) {
                self.early(out);
            } else {
                self.settle(out);
            }
            return;
        }
        let act = ACTS[self.rng.weighted(&self.habits.weights)].0;
        match act {
            Act::Answer => self.answer(out),
            Act::Settle => self.settle(out),
            Act::Late => self.answer_late(out),
            Act::Broken => self.answer_broken(out),
            _ if self.habits.spontaneous == 0 => self.answer(out),
            _ => {
                self.habits.spontaneous -= 1;
                self.of_its_own_accord(act, out);
            }
        }
    }

    fn of_its_own_accord(&mut self, act: Act, out: &mut Vec<Out>) {
        match act {
            Act::Progress => self.progress(out),
            Act::Ask => self.ask(out, 1),
            Act::AskMany => {
                let many = self.rng.range(2, 4);
                self.ask(out, many);
            }
            Act::WrongProgress => self.wrong_progress(out),
            Act::Log => self.log(out),
            Act::Withdraw => self.withdraw(out),
            Act::Change => self.change(out),
            Act::Ping => self.ping(out),
            Act::Hopeless => self.hopeless(out),
            Act::Noise => self.noise(out),
            Act::Overlong => out.push(Out::Overlong),
            Act::Visited => self.visited(out),
            Act::Batch => self.batch(out),
            Act::CloseOutput => out.push(Out::CloseOutput),
            Act::Answer | Act::Settle | Act::Late | Act::Broken => {}
        }
    }

    fn read(&mut self, frame: &Json) {
        let id = frame.get("id");
        let Some(method) = frame.get("method").and_then(Json::text) else {
            return self.read_answer(id);
        };
        let params = frame.get("params");
        let Some(id) = id.and_then(Json::as_u64) else {
            return self.read_note(method, params);
        };
        let text = |name: &str| {
            params.and_then(|p| p.get(name)).and_then(Json::text).unwrap_or_default().to_owned()
        };
        let leg = params.and_then(|p| p.get("_meta")).is_some_and(|meta| meta.has(LEG));
        let minor = match method {
            "initialize" => Minor::Initialize(text("protocolVersion")),
            "server/discover" if !leg => Minor::Discover,
            "tools/list" if !leg => Minor::Tools,
            "logging/setLevel" => Minor::Level,
            "resources/subscribe" => Minor::Subscribe(text("uri")),
            "resources/unsubscribe" => Minor::Unsubscribe(text("uri")),
            _ => return self.read_call(id, method, params),
        };
        self.minor.push((id, minor));
    }

    fn read_call(&mut self, id: u64, method: &str, params: Option<&Json>) {
        let members = params.and_then(Json::members).unwrap_or_default().iter();
        let key: Vec<_> = members.filter(|(name, _)| name != "_meta").cloned().collect();
        self.calls.push(Call {
            id,
            method: method.to_owned(),
            key: Json::Object(key).to_text(),
            asked: 0,
            waits: Vec::new(),
            is_silent: self.rng.chance(self.habits.silent),
            is_patient: self.rng.chance(self.habits.patient),
            progress: 0.0,
        });
    }

    fn read_answer(&mut self, id: Option<&Json>) {
        let Some(id) = id.map(Json::to_text) else { return };
        let Some(at) = self.questions.iter().position(|(question, _)| question.id == id) else {
            return;
        };
        let (question, _) = self.questions.remove(at);
        for call in &mut self.calls {
            call.waits.retain(|mark| *mark != question.mark);
        }
    }

    fn read_note(&mut self, method: &str, params: Option<&Json>) {
        match method {
            "notifications/initialized" => self.stage = Stage::Initialized,
            "notifications/cancelled" => {
                let id = params.and_then(|p| p.get("requestId")).and_then(Json::as_u64);
                if let Some(at) = self.calls.iter().position(|call| Some(call.id) == id) {
                    let call = self.calls.remove(at);
                    self.zombies.push(call);
                }
            }
            _ => {}
        }
    }
}

/// A line of a server, its line feed not included.
fn line(text: String, told: Told) -> Out {
    Out::Line(text.into_bytes(), vec![told])
}
