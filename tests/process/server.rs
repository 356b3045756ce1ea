//! The wrapped server of the stories: a legacy server whose tools do what a story needs.
//!
//! | tool | does |
//! |---|---|
//! | `echo` | answers at once with its `tag` |
//! | `work` | reports progress, answers after `ms` |
//! | `ask` | asks a form question, answers once that is answered |
//! | `hang` | reports progress, never answers |
//! | `big` | answers with a text of `bytes` bytes |
//! | `pester` | writes `count` pings with long ids, then answers |
//! | `exact` | answers with a line of `bytes` bytes, and a carriage return behind it if `cr` |
//! | `swarm` | asks `count` questions, logs as often, answers once the last one is answered |
//! | `attack` | writes `megabytes` of lines of a `kind`, never answers |
//! | `close` | closes its stdout, never answers |
//!
//! Behind a call whose arguments hold `"deaf":true` it reads nothing until the story sets the mark
//! `hear`.
//!
//! Everything that happens to it goes into the file `log` of the story's folder, a line each:
//! `got TAG`, `asked N TAG`, `reply N ACTION`, `answered TAG`, `cancelled TAG`, `late TAG` (cancelled when
//! it was answered already), `pong`, and the methods that are not about calls.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use mcp_uplift::bridge::Time;

use crate::attacker::attack;
use crate::echo_server;
use crate::family_server;
use crate::json::Json;
use crate::noise_server;
use crate::sys;
use crate::work::{Work, sleep};

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{}}"#;

/// `ways` say how this server behaves apart from its tools.
pub(crate) fn serve(folder: &Path, ways: &[String]) -> ExitCode {
    let has = |way: &str| ways.iter().any(|word| word == way);
    let work = Work::open(folder).expect("the folder of the story");
    if has(family_server::SLEEPER) {
        family_server::sleep_for_ever(&work);
    }
    if has(family_server::FORK) {
        family_server::fork(&work);
        return ExitCode::SUCCESS;
    }
    work.remember_pid(std::process::id());
    let run = work.next_run();
    work.append(&format!("server.{run}"), &std::process::id().to_string());
    if has("stubborn") {
        survive_sigterm();
    }
    if has("helper") {
        start_helper(&work);
    }
    if has("parent") {
        work.remember_pid(std::os::unix::process::parent_id());
    }
    if has("daemon") || has("stubborn-daemon") {
        family_server::start_daemon(&work, has("stubborn-daemon"));
    }
    if let [word, seed] = ways
        && word == "noise"
    {
        return noise_server::serve(seed.parse().unwrap_or(0));
    }
    if has(echo_server::ECHOES) {
        return echo_server::serve(&work, has("late"));
    }
    let lines = read(work.clone());
    let is_mute = has("mute") || (has("second-is-mute") && run == 2);
    let mut server = Server::new(work.clone(), is_mute, has("babbles"));
    server.run(&lines);
    server.log("eof");
    if has("leaves-daemon") {
        family_server::start_daemon(&work, true);
    }
    if has("stubborn") {
        loop {
            std::thread::park();
        }
    }
    ExitCode::SUCCESS
}

/// SIGTERM writes into a pipe that nobody reads.
fn survive_sigterm() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    sys::catch_term(writer.as_raw_fd());
    std::mem::forget((reader, writer)); // for as long as we live
}

/// A process of ours that knows nothing of the conversation and holds our stdout.
fn start_helper(work: &Work) {
    let mut helper = Command::new("sleep");
    helper.arg("600").stdin(Stdio::null()).stderr(Stdio::null());
    work.remember_pid(helper.spawn().expect("sleep is everywhere").id());
}

fn read(work: Work) -> Receiver<String> {
    let (sender, lines) = channel();
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().expect("our stdin");
    std::thread::spawn(move || {
        let mut stdin = BufReader::new(File::from(stdin));
        let mut line = String::new();
        while stdin.by_ref().read_line(&mut line).is_ok_and(|size| size > 0) {
            let falls_deaf = line.contains("\"deaf\":true");
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
            while falls_deaf && !work.has_mark("hear") {
                sleep(2);
            }
        }
    });
    lines
}

struct Call {
    id: String,
    tag: String,
    /// Its open question.
    question: Option<u64>,
    /// When it is done.
    done_at: Option<Time>,
}

struct Server {
    work: Work,
    log: File,
    stdout: File,
    is_mute: bool,
    babbles: bool,
    calls: Vec<Call>,
    /// Tags of answered calls by their ids.
    answered: HashMap<String, String>,
    last_question: u64,
}

impl Server {
    fn new(work: Work, is_mute: bool, babbles: bool) -> Server {
        let path = work.folder.join("log");
        let log = OpenOptions::new().create(true).append(true).open(path).expect("a log");
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().expect("our stdout");
        Server {
            work,
            log,
            stdout: File::from(stdout),
            is_mute,
            babbles,
            calls: Vec::new(),
            answered: HashMap::new(),
            last_question: 0,
        }
    }

    fn run(&mut self, lines: &Receiver<String>) {
        self.log("start");
        loop {
            let due = self.calls.iter().filter_map(|call| call.done_at).min();
            let wait = due.map_or(3_600_000, |at| at.since(self.work.now()));
            let wait = if self.babbles { 1 } else { wait };
            match lines.recv_timeout(Duration::from_millis(wait)) {
                Ok(line) => self.line(&line),
                Err(RecvTimeoutError::Timeout) if self.babbles => {
                    self.write(&"Loading weights, please wait... {\"step\": \n".repeat(50));
                }
                Err(RecvTimeoutError::Timeout) => self.finish_work(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// One write each, so that a kill leaves nothing behind that was not so.
    fn log(&mut self, text: &str) {
        drop(self.log.write_all(format!("{text}\n").as_bytes())); // the story may be over
    }

    fn write(&mut self, text: &str) {
        drop(self.stdout.write_all(text.as_bytes())); // our stdin tells when the bridge is gone
    }

    fn line(&mut self, line: &str) {
        match Json::parse(line) {
            Ok(Json::Array(items)) => items.iter().for_each(|item| self.message(item)),
            Ok(message) => self.message(&message),
            Err(why) => self.log(&format!("unreadable: {why}")),
        }
    }

    fn message(&mut self, message: &Json) {
        let id = message.get("id").map(Json::to_text);
        let params = message.get("params").cloned().unwrap_or(Json::Null);
        match (message.get("method").and_then(Json::text), id) {
            (Some("initialize"), Some(id)) => self.initialize(&id, &params),
            (Some("tools/call"), Some(id)) => self.call(id, &params),
            (Some("tools/list"), Some(id)) => {
                self.result(&id, r#"{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}"#);
            }
            (Some(method), Some(id)) => {
                self.log(method);
                self.result(&id, "{}");
            }
            (Some("notifications/cancelled"), None) => {
                let id = params.get("requestId").map(Json::to_text);
                self.cancelled(&id.unwrap_or_default());
            }
            (Some(method), None) => self.log(method),
            (None, Some(id)) => self.reply(&id, message),
            (None, None) => self.log("neither request nor response"),
        }
    }

    fn result(&mut self, id: &str, result: &str) {
        self.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"));
    }

    fn initialize(&mut self, id: &str, params: &Json) {
        self.log("initialize");
        if self.is_mute || self.babbles {
            return;
        }
        let asked = params.get("protocolVersion").and_then(Json::text).unwrap_or_default();
        self.result(
            id,
            &format!(
                r#"{{"protocolVersion":"{asked}","capabilities":{CAPABILITIES},"serverInfo":{{"name":"story","version":"1"}}}}"#
            ),
        );
    }

    fn call(&mut self, id: String, params: &Json) {
        let argument = |name: &str| params.get("arguments").and_then(|a| a.get(name).cloned());
        let number = |name: &str| argument(name).and_then(|n| n.as_u64()).unwrap_or(0);
        let tag = argument("tag").map(|tag| tag.to_text()).unwrap_or_default();
        self.log(&format!("got {tag}"));
        let mut call = Call { id, tag, question: None, done_at: None };
        match params.get("name").and_then(Json::text) {
            Some("echo") => return self.done(call, ""),
            Some("work") => {
                self.progress(params);
                call.done_at = Some(self.work.now().after(number("ms")));
            }
            Some("hang") => self.progress(params),
            Some("ask") => call.question = Some(self.ask(&call.tag)),
            Some("big") => {
                let size = usize::try_from(number("bytes")).unwrap_or(0);
                return self.done(call, &"x".repeat(size));
            }
            Some("exact") => return self.exact(&call, number("bytes"), argument("cr").is_some()),
            Some("swarm") => {
                for _ in 0..number("count") {
                    self.note("notifications/message", r#"{"level":"info","data":1}"#);
                    call.question = Some(self.ask(&call.tag));
                }
            }
            Some("attack") => {
                let kind = argument("kind").and_then(|kind| kind.text().map(str::to_owned));
                let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
                let token = token.map(Json::to_text).unwrap_or_default();
                let kind = kind.unwrap_or_default();
                attack(&self.work, &self.stdout, &kind, number("megabytes"), &token);
            }
            Some("close") => {
                let nothing =
                    OpenOptions::new().write(true).open("/dev/null").expect("it is there");
                sys::replace_stdout(&nothing);
                self.stdout = nothing;
            }
            Some("pester") => {
                let long = "p".repeat(1000);
                for count in 0..number("count") {
                    self.write(&format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":\"{long}{count}\",\"method\":\"ping\"}}\n"
                    ));
                }
                return self.done(call, "");
            }
            _ => self.log("no such tool"),
        }
        self.calls.push(call);
    }

    fn exact(&mut self, call: &Call, bytes: u64, carriage_return: bool) {
        let with = |pad: &str| {
            let content = format!(r#"[{{"type":"text","text":"{pad}"}}]"#);
            format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":{content}}}}}"#, call.id)
        };
        let bytes = usize::try_from(bytes).unwrap_or(0);
        let line = with(&"x".repeat(bytes.saturating_sub(with("").len())));
        let end = if carriage_return { "\r\n" } else { "\n" };
        self.write(&format!("{line}{end}"));
    }

    /// Tells the client that its call runs.
    fn progress(&mut self, params: &Json) {
        if let Some(token) = params.get("_meta").and_then(|meta| meta.get("progressToken")) {
            let params = format!(r#"{{"progressToken":{},"progress":1}}"#, token.to_text());
            self.note("notifications/progress", &params);
        }
    }

    fn note(&mut self, method: &str, params: &str) {
        self.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}\n"
        ));
    }

    fn ask(&mut self, tag: &str) -> u64 {
        self.last_question += 1;
        let question = self.last_question;
        self.log(&format!("asked {question} {tag}"));
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":"q{question}","method":"elicitation/create","params":{{"message":"Sure?","requestedSchema":{{"type":"object","properties":{{"sure":{{"type":"boolean"}}}}}}}}}}{}"#,
            "\n"
        ));
        question
    }

    /// An answer to a question of ours, or to a ping.
    fn reply(&mut self, id: &str, message: &Json) {
        let Some(number) = id.strip_prefix("\"q").and_then(|id| id.strip_suffix('"')) else {
            return self.log("pong");
        };
        let action = message.get("result").and_then(|result| result.get("action")?.text());
        self.log(&format!("reply {number} {}", action.unwrap_or("error")));
        let asked = |call: &Call| call.question.is_some_and(|q| number == q.to_string());
        if let Some(at) = self.calls.iter().position(asked) {
            let call = self.calls.remove(at);
            self.done(call, "");
        }
    }

    fn finish_work(&mut self) {
        let now = self.work.now();
        while let Some(at) = self.calls.iter().position(|c| c.done_at.is_some_and(|at| at <= now)) {
            let call = self.calls.remove(at);
            self.done(call, "");
        }
    }

    fn done(&mut self, call: Call, text: &str) {
        self.log(&format!("answered {}", call.tag));
        let text = if text.is_empty() { &call.tag } else { text };
        let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
        self.result(&call.id, &result);
        self.answered.insert(call.id, call.tag);
    }

    fn cancelled(&mut self, id: &str) {
        if let Some(at) = self.calls.iter().position(|call| call.id == id) {
            let call = self.calls.remove(at);
            self.log(&format!("cancelled {}", call.tag));
        } else {
            let tag = self.answered.get(id).cloned().unwrap_or_default();
            self.log(&format!("late {tag}"));
        }
    }
}
