//! The steps of a script, as the two sides play them, and how they are read from a case.

use std::cell::RefCell;

use super::json::{Json, short};

/// A wait of a case where everything takes so many times as long.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few seconds times a small factor"
)]
pub(crate) fn scaled(scale: f64, ms: u64) -> u64 {
    (ms as f64 * scale) as u64
}

#[derive(Clone)]
pub(crate) struct Expectation {
    /// In any order; most steps have one.
    pub(crate) patterns: Vec<Json>,
    pub(crate) within_ms: u64,
    pub(crate) raw: Raw,
    /// The end of input is as good: a bridge that stops before it needed the server is judged by
    /// the client's steps.
    pub(crate) or_eof: bool,
}

/// What the line itself must contain, or not.
#[derive(Clone, Default)]
pub(crate) struct Raw {
    contains: Vec<String>,
    absent: Vec<String>,
}

impl Raw {
    pub(crate) fn check(&self, line: &str) -> Result<(), String> {
        if let Some(part) = self.contains.iter().find(|part| !line.contains(part.as_str())) {
            return Err(format!("{part:?} is not in {}", short(line, 300)));
        }
        if let Some(part) = self.absent.iter().find(|part| line.contains(part.as_str())) {
            return Err(format!("{part:?} is in {}", short(line, 300)));
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct RawText {
    pub(crate) text: String,
    pub(crate) chunk: Option<usize>,
    pub(crate) gap_ms: u64,
}

#[derive(Clone)]
pub(crate) enum ServerStep {
    Expect(Expectation),
    ExpectNone { ms: u64 },
    ExpectEof { within_ms: u64 },
    Send(Json),
    SendRaw(RawText),
    Auto { pattern: Json, reply: Json },
    Ignore(Json),
    Stderr(String),
    Sleep { ms: u64 },
    Mark(String),
    WaitMark(String),
    IgnoreEof,
    IgnoreTerm,
    CloseStdout,
    Reading(bool),
    Fork(Grandchild),
    Exit(i32),
    KillSelf,
    Note,
}

/// A process that outlives a careless bridge.
#[derive(Clone, Copy, Default)]
pub(crate) struct Grandchild {
    pub(crate) ignore_term: bool,
    pub(crate) hold_stdout: bool,
    pub(crate) hold_stdin: bool,
    /// In a session, and so a process group, of its own.
    pub(crate) setsid: bool,
    /// The same, and its parent has gone.
    pub(crate) daemon: bool,
}

#[derive(Clone)]
pub(crate) enum ClientStep {
    Send {
        message: Json,
        may_fail: bool,
    },
    SendRaw(RawText),
    Expect {
        pattern: Json,
        within_ms: u64,
        next: bool,
        raw: Raw,
    },
    Maybe(Json),
    ExpectNone {
        ms: u64,
        matching: Option<Json>,
    },
    Sleep {
        ms: u64,
    },
    Mark(String),
    WaitMark {
        name: String,
        within_ms: u64,
    },
    Differ(String, String),
    CloseStdin,
    Signal(String),
    ExpectExit {
        codes: Option<Vec<i64>>,
        within_ms: u64,
    },
    Process {
        step: ProcessStep,
        within_ms: u64,
    },
    Note,
    /// Added behind the last step: close what is open and wait for the end.
    Finish {
        codes: Option<Vec<i64>>,
    },
}

/// What only a real process can show.
#[derive(Clone)]
pub(crate) enum ProcessStep {
    Reading(bool),
    CloseStdout,
    CloseStderr,
    ExpectLiving(u64),
    ExpectNoZombies,
    NoteMemory,
    ExpectGrowth { mb: u64 },
}

/// The server's steps, each with its number in the file; a list of lists gives one script per start.
pub(crate) fn read_server(json: &Json) -> Result<Vec<Vec<(usize, ServerStep)>>, String> {
    let steps = json.items().ok_or("server is not a list")?;
    let script = |steps: &[Json]| -> Result<Vec<(usize, ServerStep)>, String> {
        let mut script = Vec::new();
        for (n, step) in (1..).zip(steps) {
            let parts = server_steps(step).map_err(|e| format!("server step {n}: {e}"))?;
            script.extend(parts.into_iter().map(|part| (n, part)));
        }
        Ok(script)
    };
    if steps.first().is_some_and(|first| first.items().is_some()) {
        return steps.iter().map(|list| script(list.items().unwrap_or_default())).collect();
    }
    Ok(vec![script(steps)?])
}

/// One step of the file; a handshake is three of ours.
fn server_steps(json: &Json) -> Result<Vec<ServerStep>, String> {
    let step = Step::new(json)?;
    if let Some(given) = step.get("handshake") {
        return step.done(handshake(given));
    }
    let first = step.first();
    let one = match first {
        "expect" | "expect_all" => ServerStep::Expect(Expectation {
            patterns: match first {
                "expect" => vec![step.take("expect")?.clone()],
                _ => step.take("expect_all")?.items().ok_or("expect_all is not a list")?.to_vec(),
            },
            within_ms: step.number_or("within_ms", 6000)?,
            raw: step.raw()?,
            or_eof: false,
        }),
        "expect_none_ms" => ServerStep::ExpectNone { ms: count(step.take(first)?)? },
        "expect_eof" => {
            step.take(first)?;
            ServerStep::ExpectEof { within_ms: step.number_or("within_ms", 6000)? }
        }
        "send" => ServerStep::Send(step.take(first)?.clone()),
        "send_raw" => ServerStep::SendRaw(step.raw_text()?),
        "auto" => ServerStep::Auto {
            pattern: step.take(first)?.clone(),
            reply: step.take("reply")?.clone(),
        },
        "ignore" => ServerStep::Ignore(step.take(first)?.clone()),
        "stderr" => ServerStep::Stderr(word(step.take(first)?)?),
        "sleep" => ServerStep::Sleep { ms: count(step.take(first)?)? },
        "mark" => ServerStep::Mark(word(step.take(first)?)?),
        "wait_mark" => ServerStep::WaitMark(word(step.take(first)?)?),
        "ignore_eof" => step.bare(first, ServerStep::IgnoreEof)?,
        "ignore_term" => step.bare(first, ServerStep::IgnoreTerm)?,
        "close_stdout" => step.bare(first, ServerStep::CloseStdout)?,
        "stop_reading" => step.bare(first, ServerStep::Reading(false))?,
        "resume_reading" => step.bare(first, ServerStep::Reading(true))?,
        "kill_self" => step.bare(first, ServerStep::KillSelf)?,
        "note" => step.bare(first, ServerStep::Note)?,
        "fork_grandchild" => ServerStep::Fork(grandchild(step.take(first)?)?),
        "exit" => {
            let code = step.take(first)?.as_i64().and_then(|code| i32::try_from(code).ok());
            ServerStep::Exit(code.ok_or("exit is not a status")?)
        }
        _ => return Err(format!("unknown step {}", json.short(160))),
    };
    step.done(vec![one])
}

fn grandchild(json: &Json) -> Result<Grandchild, String> {
    let mut options = Grandchild::default();
    for (name, value) in json.members().unwrap_or_default() {
        let option = match name.as_str() {
            "ignore_term" => &mut options.ignore_term,
            "hold_stdout" => &mut options.hold_stdout,
            "hold_stdin" => &mut options.hold_stdin,
            "setsid" => &mut options.setsid,
            "daemon" => &mut options.daemon,
            _ => return Err(format!("fork_grandchild: {name} is not known")),
        };
        *option = flag(value)?;
    }
    Ok(options)
}

/// Wait for `initialize`, answer it, wait for `notifications/initialized`.
fn handshake(given: &Json) -> Vec<ServerStep> {
    let expect = |pattern| {
        ServerStep::Expect(Expectation {
            patterns: vec![pattern],
            within_ms: 6000,
            raw: Raw::default(),
            or_eof: true,
        })
    };
    let mut result = vec![
        ("protocolVersion".to_owned(), Json::string("2025-11-25")),
        ("capabilities".to_owned(), Json::object([("tools", Json::object([]))])),
        (
            "serverInfo".to_owned(),
            Json::object([("name", Json::string("fake")), ("version", Json::string("1.2.3"))]),
        ),
    ];
    for (name, value) in given.members().unwrap_or_default() {
        if name != "expect" {
            Json::set(&mut result, name.clone(), value.clone());
        }
    }
    result.retain(|(_, value)| value.text() != Some("$absent"));
    let params = given.get("expect").cloned().unwrap_or(Json::object([]));
    vec![
        expect(Json::object([
            ("id", Json::string("$init")),
            ("method", Json::string("initialize")),
            ("params", params),
        ])),
        ServerStep::Send(Json::object([
            ("id", Json::string("$init")),
            ("result", Json::Object(result)),
        ])),
        expect(Json::object([
            ("method", Json::string("notifications/initialized")),
            ("id", Json::string("$absent")),
        ])),
    ]
}

/// The client's steps, and behind them the one that ends the case.
pub(crate) fn read_client(json: &Json, exit: Option<Vec<i64>>) -> Result<Vec<ClientStep>, String> {
    let mut steps = Vec::new();
    for (n, step) in (1..).zip(json.items().ok_or("client is not a list")?) {
        steps.push(client_step(step).map_err(|e| format!("client step {n}: {e}"))?);
    }
    steps.push(ClientStep::Finish { codes: exit });
    Ok(steps)
}

fn client_step(json: &Json) -> Result<ClientStep, String> {
    let step = Step::new(json)?;
    let first = step.first();
    let one = match first {
        "send" => ClientStep::Send {
            message: step.take(first)?.clone(),
            may_fail: step.flag("may_fail")?,
        },
        "send_raw" => ClientStep::SendRaw(step.raw_text()?),
        "expect" => ClientStep::Expect {
            pattern: step.take(first)?.clone(),
            within_ms: step.number_or("within_ms", 5000)?,
            next: step.flag("next")?,
            raw: step.raw()?,
        },
        "maybe" => ClientStep::Maybe(step.take(first)?.clone()),
        "expect_none_ms" => ClientStep::ExpectNone {
            ms: count(step.take(first)?)?,
            matching: step.get("matching").cloned(),
        },
        "sleep" => ClientStep::Sleep { ms: count(step.take(first)?)? },
        "mark" => ClientStep::Mark(word(step.take(first)?)?),
        "wait_mark" => ClientStep::WaitMark {
            name: word(step.take(first)?)?,
            within_ms: step.number_or("within_ms", 5000)?,
        },
        "differ" => match &words(Some(step.take(first)?))?[..] {
            [a, b] => ClientStep::Differ(a.clone(), b.clone()),
            _ => return Err("differ is not a pair".to_owned()),
        },
        "close_stdin" => step.bare(first, ClientStep::CloseStdin)?,
        "signal" => ClientStep::Signal(word(step.take(first)?)?),
        "expect_exit" => ClientStep::ExpectExit {
            codes: codes(step.take(first)?)?,
            within_ms: step.number_or("within_ms", 5000)?,
        },
        "note" => step.bare(first, ClientStep::Note)?,
        _ => process_step(&step, first)?
            .ok_or_else(|| format!("unknown step {}", json.short(160)))?,
    };
    step.done(one)
}

fn process_step(step: &Step, first: &str) -> Result<Option<ClientStep>, String> {
    let mut within_ms = 0;
    let one = match first {
        "close_stdout" => step.bare(first, ProcessStep::CloseStdout)?,
        "close_stderr" => step.bare(first, ProcessStep::CloseStderr)?,
        "stop_reading" => step.bare(first, ProcessStep::Reading(false))?,
        "resume_reading" => step.bare(first, ProcessStep::Reading(true))?,
        "note_memory" => step.bare(first, ProcessStep::NoteMemory)?,
        "expect_growth_mb" => ProcessStep::ExpectGrowth { mb: count(step.take(first)?)? },
        "expect_no_zombies" => {
            within_ms = 1500;
            step.bare(first, ProcessStep::ExpectNoZombies)?
        }
        "expect_living" => {
            within_ms = step.number_or("within_ms", 5000)?;
            ProcessStep::ExpectLiving(count(step.take(first)?)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(ClientStep::Process { step: one, within_ms }))
}

/// One step's members, each of which has to be asked for.
struct Step<'a> {
    members: &'a [(String, Json)],
    asked: RefCell<Vec<String>>,
}

impl<'a> Step<'a> {
    fn new(json: &'a Json) -> Result<Self, String> {
        let members = json.members().ok_or("a step is not an object")?;
        Ok(Step { members, asked: RefCell::default() })
    }

    /// What kind of step it is: the member that is no option of another one.
    fn first(&self) -> &'a str {
        let options = ["within_ms", "raw_contains", "raw_absent", "chunk", "gap_ms", "reply"];
        let more = ["next", "matching", "may_fail"];
        let kind = |name: &str| !options.contains(&name) && !more.contains(&name);
        self.members.iter().map(|(name, _)| name.as_str()).find(|name| kind(name)).unwrap_or("")
    }

    fn get(&self, name: &str) -> Option<&'a Json> {
        self.asked.borrow_mut().push(name.to_owned());
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    fn take(&self, name: &str) -> Result<&'a Json, String> {
        self.get(name).ok_or_else(|| format!("{name} is missing"))
    }

    fn bare<T>(&self, name: &str, step: T) -> Result<T, String> {
        self.take(name).map(|_| step)
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        self.get(name).map_or(Ok(false), flag)
    }

    fn number_or(&self, name: &str, default: u64) -> Result<u64, String> {
        self.get(name).map_or(Ok(default), count)
    }

    fn raw(&self) -> Result<Raw, String> {
        Ok(Raw {
            contains: words(self.get("raw_contains"))?,
            absent: words(self.get("raw_absent"))?,
        })
    }

    fn raw_text(&self) -> Result<RawText, String> {
        let chunk = self.number_or("chunk", 0)?;
        Ok(RawText {
            text: word(self.take("send_raw")?)?,
            chunk: usize::try_from(chunk).ok().filter(|chunk| *chunk > 0),
            gap_ms: self.number_or("gap_ms", 0)?,
        })
    }

    fn done<T>(&self, value: T) -> Result<T, String> {
        let asked = self.asked.borrow();
        match self.members.iter().find(|(name, _)| !asked.contains(name)) {
            Some((name, _)) => Err(format!("{name} means nothing here")),
            None => Ok(value),
        }
    }
}

pub(crate) fn required<'a>(json: &'a Json, name: &str) -> Result<&'a Json, String> {
    json.get(name).ok_or_else(|| format!("{name} is missing"))
}

pub(crate) fn word(json: &Json) -> Result<String, String> {
    json.text().map(str::to_owned).ok_or_else(|| format!("{} is no text", json.short(60)))
}

pub(crate) fn words(json: Option<&Json>) -> Result<Vec<String>, String> {
    json.and_then(Json::items).unwrap_or_default().iter().map(word).collect()
}

pub(crate) fn flag(json: &Json) -> Result<bool, String> {
    json.as_bool().ok_or_else(|| format!("{} is neither true nor false", json.short(60)))
}

pub(crate) fn count(json: &Json) -> Result<u64, String> {
    json.as_u64().ok_or_else(|| format!("{} is no count", json.short(60)))
}

/// A status, a list of them, or null for any.
pub(crate) fn codes(json: &Json) -> Result<Option<Vec<i64>>, String> {
    let code =
        |json: &Json| json.as_i64().ok_or_else(|| format!("{} is no status", json.short(60)));
    match json {
        Json::Null => Ok(None),
        Json::Array(items) => items.iter().map(code).collect::<Result<_, _>>().map(Some),
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
            Ok(Some(vec![code(json)?]))
        }
    }
}
