//! The wrapped server is killed again and again, with calls running, questions open and streams
//! listening (H12, E24, G14).
//!
//! Five crashes within a minute make the bridge wait for the minute to pass, and rightly so.
//! A storm of hundreds is therefore played on many bridges, several side by side, each of which
//! loses its server four times.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::{
    Client, PATIENCE_MS, Ticket, answered, cancel, error, method, subscription, text, ticket,
};
use crate::dice::Dice;
use crate::json::Json;
use crate::size;

const KILLS_EACH: u64 = 4;

/// Bridges at a time.
const SIDE_BY_SIDE: usize = 5;

/// Calls that are unanswered at a time.
const LOAD: usize = 12;

const URIS: [&str; 2] = ["file:///a", "file:///b"];

pub(crate) fn servers_are_killed_under_load() -> String {
    let bridges = size(60, 500).div_ceil(KILLS_EACH);
    let turn = AtomicU64::new(0);
    let mut sum = Figures::default();
    std::thread::scope(|scope| {
        let play = || {
            let mut sum = Figures::default();
            loop {
                let n = turn.fetch_add(1, Ordering::Relaxed);
                if n >= bridges {
                    return sum;
                }
                sum.add(&Storm::new(n).play());
            }
        };
        let players: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(play)).collect();
        for player in players {
            match player.join() {
                Ok(figures) => sum.add(&figures),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let Figures { calls, lost, refused, notices } = sum;
    assert!(lost > 0 && refused > 0, "the kills met nothing");
    format!(
        "{} kills, {bridges} bridges, {calls} calls, {lost} ended with the server, \
         {refused} states refused, {notices} change notices",
        bridges * KILLS_EACH
    )
}

#[derive(Default)]
struct Figures {
    calls: u64,
    /// Answered with `upstream_exited`.
    lost: u64,
    /// Refused because their server has gone.
    refused: u64,
    notices: u64,
}

impl Figures {
    fn add(&mut self, other: &Figures) {
        self.calls += other.calls;
        self.lost += other.lost;
        self.refused += other.refused;
        self.notices += other.notices;
    }
}

/// An unanswered request.
struct Open {
    tool: &'static str,
    tag: u64,
    is_retry: bool,
}

/// A call that was answered with a question, its own or another's.
struct Parked {
    ticket: Ticket,
    tool: &'static str,
    tag: u64,
    /// Its server was killed behind it.
    is_dead: bool,
}

struct Storm {
    client: Client,
    dice: Dice,
    lists: u64,
    uris: u64,
    open: HashMap<u64, Open>,
    /// Cancelled at the end; their answers may cross that.
    given_up: BTreeSet<u64>,
    parked: Vec<Parked>,
    /// The server was killed, and the streams have not been told yet.
    is_dead: bool,
    /// Notices that came after the last kill.
    told: Vec<String>,
    figures: Figures,
}

impl Storm {
    fn new(n: u64) -> Storm {
        // Every other bridge runs several calls at once, so that several end with the server.
        let parallel = if n.is_multiple_of(2) { "1" } else { "4" };
        let mut client = Client::start("kill-storm", &["--parallel", parallel], &["helper"]);
        let lists = client.listen(r#"{"toolsListChanged":true,"resourcesListChanged":true}"#);
        let uris = client.listen(&format!("{{\"resourceSubscriptions\":{URIS:?}}}"));
        Storm {
            client,
            dice: Dice::new(1000 + n),
            lists,
            uris,
            open: HashMap::new(),
            given_up: BTreeSet::new(),
            parked: Vec::new(),
            is_dead: false,
            told: Vec::new(),
            figures: Figures::default(),
        }
    }

    fn play(mut self) -> Figures {
        for _ in 0..KILLS_EACH {
            let (start, load) = (self.client.work.now(), self.dice.below(40));
            while self.client.work.now().since(start) <= load {
                self.load();
                self.step(1);
            }
            self.client.kill_server();
            self.is_dead = true;
            self.parked.iter_mut().for_each(|parked| parked.is_dead = true);
            self.told.clear();
            self.load(); // some of it while nobody knows yet
            self.wait_for_notices();
            self.client.no_zombies();
        }
        self.end()
    }

    /// Keeps the bridge busy.
    fn load(&mut self) {
        while self.open.len() < LOAD {
            self.figures.calls += 1;
            let tag = self.figures.calls;
            if !self.parked.is_empty() && self.dice.chance(30) {
                let at = self.dice.index(self.parked.len());
                self.retry(at);
                continue;
            }
            // Once in a while the lane is held until the next kill.
            let tool = match self.dice.below(20) {
                0 => "hang",
                1..=5 => "ask",
                6..=12 => "work",
                _ => "echo",
            };
            let id = self.client.call(tool, &arguments(tag));
            self.open.insert(id, Open { tool, tag, is_retry: false });
        }
    }

    fn retry(&mut self, at: usize) {
        let Parked { ticket, tool, tag, is_dead } = self.parked.remove(at);
        let id = self.client.retry(tool, &arguments(tag), &ticket);
        if is_dead && !self.is_dead {
            let answer = self.client.answer(id);
            // What was done before the kill is not lost by it (E18).
            if text(&answer) != Some(tag.to_string().as_str()) {
                self.refused(&answer);
            }
        } else {
            self.open.insert(id, Open { tool, tag, is_retry: true });
        }
    }

    /// E24: the state of a dead process.
    fn refused(&mut self, answer: &Json) {
        assert_eq!(error(answer), Some((-32602, "upstream_restarted")), "{}", answer.short(300));
        let data = answer.get("error").and_then(|error| error.get("data")?.get("restarted"));
        assert_eq!(data, Some(&Json::Bool(true)));
        self.figures.refused += 1;
    }

    fn step(&mut self, ms: u64) -> bool {
        let Some(message) = self.client.message_within(ms) else {
            return false;
        };
        self.take(&message);
        true
    }

    fn take(&mut self, message: &Json) {
        if let Some(stream) = subscription(message) {
            let method = method(message).expect("streams end at the end");
            let uri = message.get("params").and_then(|params| params.get("uri")?.text());
            self.told.push(format!("{stream} {method} {}", uri.unwrap_or_default()));
            self.figures.notices += 1;
            return;
        }
        if method(message) == Some("notifications/progress") {
            return;
        }
        let id = answered(message).expect("an answer");
        if self.given_up.remove(&id) {
            return;
        }
        let open = self.open.remove(&id);
        let Open { tool, tag, is_retry } = open.unwrap_or_else(|| {
            self.client.fail(&format!("not open, or answered twice: {}", message.short(200)))
        });
        match error(message) {
            None => match ticket(message) {
                Some(ticket) => self.parked.push(Parked { ticket, tool, tag, is_dead: false }),
                None => assert_eq!(text(message), Some(tag.to_string().as_str())),
            },
            Some((-32603, "upstream_exited")) => self.figures.lost += 1,
            Some((-32602, _)) if is_retry => self.refused(message),
            Some(_) => self.client.fail(&format!("refused: {}", message.short(300))),
        }
    }

    /// G14: each stream hears once of everything that it may have missed.
    fn wait_for_notices(&mut self) {
        let mut wanted = vec![
            format!("{} notifications/tools/list_changed ", self.lists),
            format!("{} notifications/resources/list_changed ", self.lists),
        ];
        wanted
            .extend(URIS.map(|uri| format!("{} notifications/resources/updated {uri}", self.uris)));
        while self.told.len() < wanted.len() {
            if !self.step(PATIENCE_MS) {
                self.client.fail(&format!("after the kill only {:?} was told", self.told));
            }
        }
        wanted.sort();
        self.told.sort();
        assert_eq!(self.told, wanted);
        self.is_dead = false;
    }

    fn end(mut self) -> Figures {
        let start = self.client.work.now();
        while !self.open.is_empty() {
            if !self.step(50) {
                self.unblock();
            }
            if self.client.work.now().since(start) > PATIENCE_MS {
                self.client.fail(&format!("unanswered: {:?}", self.open.keys()));
            }
        }
        let told = self.told.len();
        let rest = self.client.end();
        let mut ended: Vec<_> = rest.iter().filter_map(answered).collect();
        ended.retain(|id| !self.given_up.contains(id));
        ended.sort_unstable();
        assert_eq!(ended, [self.lists, self.uris], "the streams end, and nothing else comes");
        assert_eq!(told, 4, "one notice each");
        self.figures
    }

    /// Lets go what would be open for ever on the last server.
    fn unblock(&mut self) {
        let open = self.open.iter();
        let hanging: Vec<_> = open.filter(|(_, o)| o.tool == "hang").map(|(id, _)| *id).collect();
        for id in hanging {
            self.client.send(&cancel(id));
            self.open.remove(&id);
            self.given_up.insert(id);
        }
        // Of several that run, a question may be shown under one and stop another.
        while !self.parked.is_empty() {
            self.retry(0);
        }
    }
}

fn arguments(tag: u64) -> String {
    format!("\"tag\":{tag},\"ms\":2")
}

/// A server that is killed again while the bridge still shakes hands with it is one more crash,
/// no permanent loss: streams stay open (G14). A call that waits meanwhile is answered.
pub(crate) fn killed_in_the_handshake_of_a_restart() -> String {
    let mut client = Client::start("kill-handshake", &[], &["second-is-mute"]);
    let stream = client.listen(r#"{"toolsListChanged":true}"#);
    client.kill_server();
    client.until_logged("initialize", 2);
    let waiting = client.call("echo", "\"tag\":7");
    client.fence();
    client.kill_server();
    let answer = client.answer(waiting);
    let is_refused = error(&answer) == Some((-32603, "upstream_unavailable"));
    assert!(text(&answer) == Some("7") || is_refused, "{}", answer.short(300));
    let told = client.wait_for("news", |message| {
        subscription(message) == Some(stream) || answered(message) == Some(stream)
    });
    assert_eq!(method(&told), Some("notifications/tools/list_changed"), "{}", told.short(300));
    let rest = client.end();
    assert_eq!(rest.iter().filter_map(answered).collect::<Vec<_>>(), [stream]);
    "the stream outlived it".to_owned()
}

/// The fifth crash within a minute: no more starts for now, and everybody is told (H12, G13).
pub(crate) fn killed_too_often() -> String {
    let mut client = Client::start("kill-often", &[], &["helper"]);
    let stream = client.listen(r#"{"toolsListChanged":true}"#);
    for _ in 0..4 {
        client.kill_server();
        client.wait_for("a notice", |message| subscription(message) == Some(stream));
    }
    let running = client.call("hang", "\"tag\":1");
    client.until_logged("got 1", 1);
    let waiting = client.call("echo", "\"tag\":2");
    client.kill_server();
    assert_eq!(error(&client.answer(running)), Some((-32603, "upstream_exited")));
    assert_eq!(error(&client.answer(waiting)), Some((-32603, "upstream_unavailable")));
    client.answer(stream);
    let refused = client.call("echo", "\"tag\":3");
    assert_eq!(error(&client.answer(refused)), Some((-32603, "upstream_unavailable")));
    client.no_zombies();
    assert_eq!(client.work.runs(), 5);
    assert!(client.end().is_empty());
    "5 kills, 5 starts, then refusals at once".to_owned()
}
