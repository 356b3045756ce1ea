//! The bridge as a process, and its client's end of the conversation.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::envelope::envelope_problem;
use crate::json::{Json, short};
use crate::pipes::{Reading, Writer, keep};
use crate::sys;
use crate::work::{Work, cpu_ticks, memory_kb, sleep, zombies_of};

/// The word that makes this binary the wrapped server.
pub(crate) const SERVE: &str = "serve-a-story";

/// Longer than anything takes on a busy machine.
pub(crate) const PATIENCE_MS: u64 = 30_000;

/// How long nothing moves on a side that stands still, and how long anything may move before that.
const STILL_MS: u64 = 500;
const MOST_MOVING_MS: u64 = 4 * PATIENCE_MS;

/// The envelope of a client that can be asked for forms.
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;

/// What answers a form question.
const ACCEPT: &str = r#"{"action":"accept","content":{"sure":true}}"#;

/// Where a call stopped to ask, and what answers all that it asked.
#[derive(Default)]
pub(crate) struct Ticket {
    state: String,
    responses: String,
}

pub(crate) struct Client {
    pub(crate) work: Work,
    program: Child,
    writer: Option<Writer>,
    stdout: Reading,
    stderr: Reading,
    lines: Receiver<Vec<u8>>,
    /// Read while something else was waited for.
    backlog: VecDeque<Json>,
    said: Arc<Mutex<Vec<u8>>>,
    last_id: u64,
    /// What comes down is the server's, not the bridge's.
    is_legacy: bool,
}

impl Client {
    /// The bridge around the story server, which is told its ways.
    pub(crate) fn start(story: &str, options: &[&str], ways: &[&str]) -> Client {
        let work = Work::create(story, 1.0).expect("a folder for the story");
        let command = bridge(options, &story_server(&work, ways));
        Client::of(work, command)
    }

    /// The bridge around any command.
    pub(crate) fn around(work: Work, options: &[&str], command: &[&str]) -> Client {
        Client::of(work, bridge(options, command))
    }

    /// A bridge with pipes to us.
    pub(crate) fn of(work: Work, mut start: Command) -> Client {
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        start.process_group(0);
        let mut program = start.spawn().expect("the bridge starts");
        let stdin = program.stdin.take().expect("a pipe");
        let stdout = program.stdout.take().expect("a pipe");
        let stderr = program.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        Client {
            work,
            program,
            writer: Some(Writer::start(stdin)),
            stdout: Reading::start(stdout, split_lines(sender)),
            stderr: Reading::start(stderr, keep(Arc::clone(&said))),
            lines,
            backlog: VecDeque::new(),
            said,
            last_id: 0,
            is_legacy: false,
        }
    }

    /// From now on this is a client of an older revision.
    pub(crate) fn is_legacy(&mut self) {
        self.is_legacy = true;
    }

    // ---- to the bridge

    /// Writes these lines, and waits until the pipe has them.
    pub(crate) fn send(&self, lines: &str) {
        self.send_bytes(format!("{lines}\n").as_bytes());
    }

    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        let writer = self.writer.as_ref().expect("stdin is open");
        match writer.write(bytes, Duration::from_millis(PATIENCE_MS)) {
            Some(true) => {}
            Some(false) => self.fail("the bridge has closed its stdin"),
            None => self.fail("the bridge does not read its stdin"),
        }
    }

    /// Begins to write, whether the bridge reads or not.
    pub(crate) fn begin(&self, lines: &str) {
        self.writer.as_ref().expect("stdin is open").begin(format!("{lines}\n").as_bytes());
    }

    /// Whether the next begun write is through; a write that is counts no more.
    pub(crate) fn is_written(&self) -> bool {
        let writer = self.writer.as_ref().expect("stdin is open");
        writer.finish(Duration::from_millis(200)) == Some(true)
    }

    /// Waits until so many begun writes are through.
    pub(crate) fn finish(&self, begun: usize) {
        let writer = self.writer.as_ref().expect("stdin is open");
        for _ in 0..begun {
            if writer.finish(Duration::from_millis(PATIENCE_MS)) != Some(true) {
                self.fail("the bridge does not take what was written");
            }
        }
    }

    /// Waits until nothing moves any more: neither this, which grows, nor the memory of the bridge.
    pub(crate) fn stand_still(&self, progress: impl Fn(&Client) -> u64) {
        let began = self.work.now();
        let (mut before, mut since) = (u64::MAX, began);
        while self.work.now().since(since) < STILL_MS {
            let reached = progress(self).wrapping_add(self.resident_kb());
            if reached != before {
                (before, since) = (reached, self.work.now());
            }
            if self.work.now().since(began) > MOST_MOVING_MS {
                self.fail("it never comes to a stand");
            }
            sleep(20);
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends a request; its id.
    pub(crate) fn request(&mut self, method: &str, members: &str) -> u64 {
        let id = self.next_id();
        self.send(&request(id, method, members));
        id
    }

    /// Calls one of the story server's tools.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> u64 {
        self.request("tools/call", &call(tool, arguments))
    }

    /// Comes back to a parked call with the answer to its question.
    pub(crate) fn retry(&mut self, tool: &str, arguments: &str, ticket: &Ticket) -> u64 {
        self.request("tools/call", &retry(tool, arguments, ticket))
    }

    /// Opens a stream; the id under which its notices come, which was acknowledged.
    pub(crate) fn listen(&mut self, filter: &str) -> u64 {
        let id = self.request("subscriptions/listen", &format!("\"notifications\":{filter}"));
        let ack = self.wait_for("the acknowledgement", |message| subscription(message) == Some(id));
        assert_eq!(method(&ack), Some("notifications/subscriptions/acknowledged"));
        id
    }

    pub(crate) fn close_stdin(&mut self) {
        self.writer = None;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.id()
    }

    pub(crate) fn signal(&self, number: i32) {
        sys::kill(self.program.id(), number);
    }

    // ---- from the bridge

    /// The next message, if one comes in that time.
    pub(crate) fn message_within(&mut self, ms: u64) -> Option<Json> {
        if let Some(message) = self.backlog.pop_front() {
            return Some(message);
        }
        let line = self.lines.recv_timeout(Duration::from_millis(ms)).ok()?;
        Some(self.judge(&line))
    }

    /// The message with the shape that everything must have which goes to a client.
    fn judge(&self, line: &[u8]) -> Json {
        let text = String::from_utf8_lossy(line);
        let complete = text.strip_suffix('\n').filter(|_| str::from_utf8(line).is_ok());
        let message = complete.ok_or_else(|| "no line of UTF-8".to_owned()).and_then(Json::parse);
        let message = match message {
            Ok(message) => message,
            Err(why) => self.fail(&format!("{why}: {}", short(&text, 300))),
        };
        if let Some(problem) = envelope_problem(&message, self.is_legacy) {
            self.fail(&format!("{problem}: {}", short(&text, 300)));
        }
        message
    }

    /// The next message that fits; what comes before it is kept.
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&Json) -> bool) -> Json {
        if let Some(at) = self.backlog.iter().position(&fits) {
            return self.backlog.remove(at).expect("it is there");
        }
        loop {
            match self.lines.recv_timeout(Duration::from_millis(PATIENCE_MS)) {
                Ok(line) => {
                    let message = self.judge(&line);
                    if fits(&message) {
                        return message;
                    }
                    self.backlog.push_back(message);
                }
                Err(_) => self.fail(&format!("{what} does not come")),
            }
        }
    }

    pub(crate) fn answer(&mut self, id: u64) -> Json {
        self.wait_for(&format!("the answer to {id}"), |message| answered(message) == Some(id))
    }

    pub(crate) fn discover(&mut self) -> Json {
        let id = self.request("server/discover", "");
        self.answer(id)
    }

    /// Comes back once the bridge has taken all we wrote, whatever its server does.
    pub(crate) fn fence(&mut self) {
        let id = self.request("ping", ""); // a method that was removed: refused without a look
        self.answer(id);
    }

    /// The ticket of a call whose answer must be a question.
    pub(crate) fn ticket(&mut self, id: u64) -> Ticket {
        let answer = self.answer(id);
        ticket(&answer).unwrap_or_else(|| self.fail(&format!("no question: {}", answer.short(300))))
    }

    /// What has come beside what was waited for; it stays.
    pub(crate) fn kept(&self) -> Vec<Json> {
        self.backlog.iter().cloned().collect()
    }

    /// Has this request's answer come beside what was waited for?
    pub(crate) fn has_kept(&self, id: u64) -> bool {
        self.backlog.iter().any(|message| answered(message) == Some(id))
    }

    /// Everything but progress until the bridge closes its stdout, once it is about to end.
    pub(crate) fn rest(&mut self) -> Vec<Json> {
        let mut rest: Vec<Json> = self.backlog.drain(..).collect();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(PATIENCE_MS)) {
            rest.push(self.judge(&line));
        }
        rest.retain(|message| method(message) != Some("notifications/progress"));
        rest
    }

    pub(crate) fn stop_reading(&self) {
        self.stdout.reading.store(false, Ordering::SeqCst);
    }

    pub(crate) fn read_on(&self) {
        self.stdout.reading.store(true, Ordering::SeqCst);
    }

    pub(crate) fn close_stdout(&mut self) {
        self.stdout.stop();
    }

    // ---- about the bridge

    pub(crate) fn fail(&self, why: &str) -> ! {
        let (said, log) = (self.said(), self.log());
        let said: Vec<_> = said.lines().rev().take(8).collect();
        let log: Vec<_> = log.iter().rev().take(8).collect();
        panic!("{why}\nthe bridge, latest first: {said:#?}\nthe server, latest first: {log:?}")
    }

    /// What stands on the bridge's stderr so far.
    pub(crate) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }

    pub(crate) fn cpu_ticks(&self) -> u64 {
        cpu_ticks(self.program.id())
    }

    pub(crate) fn resident_kb(&self) -> u64 {
        memory_kb(self.program.id(), "VmRSS")
    }

    pub(crate) fn peak_kb(&self) -> u64 {
        memory_kb(self.program.id(), "VmHWM")
    }

    /// Polls until it holds.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Client) -> bool) {
        let start = self.work.now();
        while !holds(self) {
            if self.work.now().since(start) > PATIENCE_MS {
                self.fail(&format!("not in time: {what}"));
            }
            sleep(2);
        }
    }

    /// Waits until the server has written this line into its log so often.
    pub(crate) fn until_logged(&self, line: &str, times: usize) {
        let count = |client: &Client| client.log().iter().filter(|l| *l == line).count();
        self.until(&format!("{times} times {line:?} in the log"), |client| count(client) >= times);
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.work.lines("log")
    }

    /// Kills the server that runs now, and nothing else; its number among the starts.
    pub(crate) fn kill_server(&self) -> usize {
        let run = self.work.runs();
        let pid =
            self.work.lines(&format!("server.{run}")).first().and_then(|pid| pid.parse().ok());
        let pid: u32 = pid.expect("the server has written down its number");
        assert!(self.work.living().contains(&pid), "the server ended by itself");
        sys::kill(pid, sys::SIGKILL);
        run
    }

    /// Waits for the bridge's end; its status, or the signal that ended it as a negative number.
    pub(crate) fn exit(&mut self) -> i32 {
        self.exit_within(PATIENCE_MS)
    }

    pub(crate) fn exit_within(&mut self, ms: u64) -> i32 {
        let start = self.work.now();
        loop {
            if let Some(status) = self.program.try_wait().expect("the bridge is our child") {
                let signal = status.signal().map(|signal| -signal);
                return status.code().or(signal).expect("one of them");
            }
            if self.work.now().since(start) > ms {
                self.fail("the bridge does not end");
            }
            sleep(2);
        }
    }

    /// None of the bridge's own is left as a zombie, and nothing the server started is there.
    pub(crate) fn no_zombies(&self) {
        self.until("no zombies", |client| zombies_of(client.program.id()) == 0);
    }

    /// What runs of all that the server's processes have started.
    pub(crate) fn nothing_is_left(&self) {
        let left = self.work.living();
        assert!(left.is_empty(), "left running: {left:?}");
    }

    /// Ends the conversation: the rest of the output, with a clean exit and nothing left behind.
    pub(crate) fn end(mut self) -> Vec<Json> {
        self.close_stdin();
        let rest = self.rest();
        let status = self.exit();
        if status != 0 {
            self.fail(&format!("exit status {status}"));
        }
        self.nothing_is_left();
        rest
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.writer = None;
        drop(self.program.kill()); // it may have ended by itself
        drop(self.program.wait());
        for pid in self.work.living() {
            sys::kill(pid, sys::SIGKILL);
        }
        self.stdout.stop();
        self.stderr.stop();
        self.work.remove();
    }
}

/// The bridge's command line.
pub(crate) fn bridge(options: &[&str], command: &[impl AsRef<OsStr>]) -> Command {
    let bridge = std::env::var_os("BRIDGE").map(PathBuf::from);
    let bridge = bridge.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_mcp-uplift")));
    let mut start = Command::new(bridge);
    start.args(options).arg("--").args(command);
    start
}

/// The command line of the story server.
pub(crate) fn story_server(work: &Work, ways: &[&str]) -> Vec<String> {
    let program = std::env::current_exe().expect("the name of this binary");
    let start =
        [program.display().to_string(), SERVE.to_owned(), work.folder.display().to_string()];
    start.into_iter().chain(ways.iter().map(|way| (*way).to_owned())).collect()
}

/// Whole lines, and what stands at the end without a line feed.
fn split_lines(lines: Sender<Vec<u8>>) -> impl FnMut(&[u8]) + Send + 'static {
    let mut line = Vec::new();
    move |bytes| {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                drop(lines.send(std::mem::take(&mut line)));
            }
        }
        if bytes.is_empty() && !line.is_empty() {
            drop(lines.send(std::mem::take(&mut line)));
        }
    }
}

// ---- messages

/// A request with the envelope; `members` are the other members of `params`.
pub(crate) fn request(id: u64, method: &str, members: &str) -> String {
    raw_request(&id.to_string(), method, members)
}

pub(crate) fn raw_request(id: &str, method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{comma}"_meta":{{"progressToken":{id},{META}}}}}}}"#
    )
}

/// `params` of a call, without the envelope.
pub(crate) fn call(tool: &str, arguments: &str) -> String {
    format!(r#""name":"{tool}","arguments":{{{arguments}}}"#)
}

pub(crate) fn retry(tool: &str, arguments: &str, ticket: &Ticket) -> String {
    let (call, Ticket { state, responses }) = (call(tool, arguments), ticket);
    format!(r#"{call},"inputResponses":{{{responses}}},"requestState":"{state}""#)
}

pub(crate) fn cancel(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"story"}}}}"#
    )
}

pub(crate) fn method(message: &Json) -> Option<&str> {
    message.get("method")?.text()
}

/// The id of the request that this message answers.
pub(crate) fn answered(message: &Json) -> Option<u64> {
    if method(message).is_some() {
        return None;
    }
    message.get("id")?.as_u64()
}

/// The stream that a notification belongs to.
pub(crate) fn subscription(message: &Json) -> Option<u64> {
    message.get("params")?.get("_meta")?.get("io.modelcontextprotocol/subscriptionId")?.as_u64()
}

/// The ticket, where the answer is a question.
pub(crate) fn ticket(answer: &Json) -> Option<Ticket> {
    let result = answer.get("result")?;
    let state = result.get("requestState")?.text()?.to_owned();
    let questions = result.get("inputRequests")?.members()?.iter();
    let responses: Vec<_> = questions.map(|(key, _)| format!("\"{key}\":{ACCEPT}")).collect();
    Some(Ticket { state, responses: responses.join(",") })
}

/// The text of a finished call.
pub(crate) fn text(answer: &Json) -> Option<&str> {
    answer.get("result")?.get("content")?.items()?.first()?.get("text")?.text()
}

/// An error's code and `data.reason`.
pub(crate) fn error(answer: &Json) -> Option<(i64, &str)> {
    let error = answer.get("error")?;
    let reason = error.get("data").and_then(|data| data.get("reason")?.text());
    Some((error.get("code")?.as_i64()?, reason.unwrap_or_default()))
}
