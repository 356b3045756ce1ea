//! How the bridge ends: end of input, a reader that goes, signals (H10, H11).

use crate::client::{Client, answered, call, error, request, text};
use crate::json::Json;
use crate::sys;
use crate::work::sleep;

/// A busy machine may need so much longer than the bridge.
const SLACK_MS: u64 = 2_000;

/// The default of `--shutdown-grace-ms`.
const GRACE_MS: u64 = 1_500;

/// `printf ... | mcp-uplift -- cmd`: everything is answered, in order, however slow the server.
pub(crate) fn end_of_input_behind_32_requests() -> String {
    let client = Client::start("eof-pipeline", &[], &[]);
    let lines: Vec<_> = (1..=32)
        .map(|n| request(n, "tools/call", &call("work", &format!("\"tag\":{n},\"ms\":5"))))
        .collect();
    client.send(&lines.join("\n"));
    let rest = client.end();
    let ids: Vec<_> = rest.iter().filter_map(answered).collect();
    assert_eq!(ids, (1..=32).collect::<Vec<_>>());
    for (n, answer) in (1..).zip(&rest) {
        assert_eq!(text(answer), Some(n.to_string().as_str()));
    }
    "32 answers in order, status 0".to_owned()
}

pub(crate) fn end_of_input_with_everything_open() -> String {
    let mut client = Client::start("eof-open", &["--request-timeout-ms", "700"], &["helper"]);
    let stream = client.listen(r#"{"toolsListChanged":true}"#);
    let parked = client.call("ask", "\"tag\":1");
    client.ticket(parked);
    let endless = client.call("hang", "\"tag\":2");
    client.until_logged("got 2", 1);
    let behind = client.call("echo", "\"tag\":3");
    client.close_stdin();
    let rest = client.rest();
    assert_eq!(client.exit(), 0);
    client.nothing_is_left();
    let ids: Vec<_> = rest.iter().filter_map(answered).collect();
    assert_eq!(ids, [endless, behind, stream], "the stream ends last");
    assert_eq!(error(&rest[0]), Some((-32603, "timeout")));
    assert_eq!(text(&rest[1]), Some("3"));
    assert!(rest[2].get("result").is_some());
    // E14b: the silence of the running call is laid to the older, parked one first.
    let log = client.log();
    let at = |line: &str| log.iter().position(|l| l == line);
    for line in ["cancelled 1", "reply 1 cancel", "cancelled 2", "answered 3", "eof"] {
        assert!(at(line).is_some(), "no {line:?} in {log:?}");
    }
    assert!(at("cancelled 1") < at("reply 1 cancel"), "E21: {log:?}");
    "a call timed out, a parked one given up, a stream closed, status 0".to_owned()
}

/// The server has just crashed for the third time: what waits for its next start is still served.
pub(crate) fn end_of_input_while_the_next_server_is_due() -> String {
    let mut client = Client::start("eof-backoff", &[], &["helper"]);
    for kill in 1..=3 {
        let served = client.call("echo", &format!("\"tag\":{kill}"));
        client.answer(served);
        client.kill_server();
        client.until("the bridge knows", |client| {
            client.said().matches("the server").count() >= kill
        });
    }
    let waiting = client.call("echo", "\"tag\":7");
    let rest = client.end();
    let ids: Vec<_> = rest.iter().filter_map(answered).collect();
    assert_eq!(ids, [waiting]);
    assert_eq!(text(&rest[0]), Some("7"), "{}", rest[0].short(300));
    "served by the fourth server, status 0".to_owned()
}

/// What no program can prevent: its server sees its input close, and the kernel signals it.
pub(crate) fn the_bridge_itself_is_killed() -> String {
    let mut client = Client::start("bridge-killed", &[], &["stubborn"]);
    client.call("hang", "\"tag\":1");
    client.until_logged("got 1", 1);
    client.signal(sys::SIGKILL);
    assert_eq!(client.exit(), -sys::SIGKILL);
    client.until("the server has gone", |client| client.work.living().is_empty());
    "its server went, too".to_owned()
}

/// Nobody is left to answer: the end comes at once, though a call runs.
pub(crate) fn the_reader_goes_during_a_call() -> String {
    let mut client = Client::start("reader-gone", &[], &["helper"]);
    client.call("hang", "\"tag\":1");
    client.until_logged("got 1", 1);
    let start = client.work.now();
    client.close_stdout();
    let status = client.exit();
    let took = client.work.now().since(start);
    assert_eq!(status, 0);
    assert!(took < GRACE_MS + SLACK_MS, "it took {took} ms");
    client.nothing_is_left();
    format!("ended {took} ms after its reader")
}

/// What the bridge is doing when the signal comes.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Idle,
    Handshake,
    Call,
    Question,
    Backoff,
}

const SIGNALS: [i32; 7] = [
    sys::SIGTERM,
    sys::SIGINT,
    sys::SIGHUP,
    sys::SIGQUIT,
    sys::SIGUSR1,
    sys::SIGUSR2,
    sys::SIGALRM,
];

pub(crate) fn signals_in_every_state() -> String {
    let doings = [Doing::Idle, Doing::Handshake, Doing::Call, Doing::Question, Doing::Backoff];
    let mut longest = 0;
    std::thread::scope(|scope| {
        let players: Vec<_> = SIGNALS
            .into_iter()
            .map(|signal| {
                scope.spawn(move || doings.map(|doing| end_by(signal, doing)).into_iter().max())
            })
            .collect();
        for player in players {
            match player.join() {
                Ok(took) => longest = longest.max(took.unwrap_or(0)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    format!("{} endings, none longer than {longest} ms", SIGNALS.len() * doings.len())
}

/// Brings the bridge into that state and ends it; how long that took.
fn end_by(signal: i32, doing: Doing) -> u64 {
    let ways: &[&str] =
        if matches!(doing, Doing::Handshake) { &["mute", "helper"] } else { &["helper"] };
    let mut client = Client::start("signals", &[], ways);
    let stream = bring_to(&mut client, doing);
    let (start, runs) = (client.work.now(), client.work.runs());
    client.signal(signal);
    let rest = client.rest();
    let status = client.exit();
    let took = client.work.now().since(start);
    assert_eq!(status, 128 + signal, "{doing:?}");
    assert!(took < GRACE_MS + SLACK_MS, "{doing:?}: it took {took} ms");
    client.nothing_is_left();
    assert_eq!(client.work.runs(), runs, "{doing:?}: a server was started behind the signal");
    let ids: Vec<_> = rest.iter().filter_map(answered).collect();
    assert_eq!(ids, stream.into_iter().collect::<Vec<_>>(), "{doing:?}: streams end in order");
    took
}

/// The stream that is open then.
fn bring_to(client: &mut Client, doing: Doing) -> Option<u64> {
    match doing {
        Doing::Handshake => {
            client.call("echo", "\"tag\":1");
            client.until_logged("initialize", 1);
            return None;
        }
        Doing::Idle => {
            client.discover();
            return None;
        }
        Doing::Call => {}
        Doing::Question => {
            let id = client.call("ask", "\"tag\":1");
            client.ticket(id);
        }
        Doing::Backoff => {
            let stream = client.listen(r#"{"toolsListChanged":true}"#);
            for _ in 1..=3 {
                client.kill_server();
                client.wait_for("a notice", |message| message.has("method"));
            }
            client.kill_server(); // the fourth: 0.8 s until the next start
            client.until("the bridge knows", |client| {
                client.said().matches("the server").count() >= 4
            });
            return Some(stream);
        }
    }
    let stream = client.listen(r#"{"toolsListChanged":true}"#);
    client.call("hang", "\"tag\":9");
    client.until_logged("got 9", 1);
    Some(stream)
}

/// A server that ignores the end of its input and SIGTERM, and has started a process besides, is
/// killed when the grace is over.
pub(crate) fn a_signal_and_a_server_that_ignores_all() -> String {
    let options = ["--shutdown-grace-ms", "600"];
    let mut client = Client::start("stubborn", &options, &["stubborn", "helper"]);
    client.call("hang", "\"tag\":1");
    client.until_logged("got 1", 1);
    let start = client.work.now();
    client.signal(sys::SIGTERM);
    let rest: Vec<Json> = client.rest();
    let status = client.exit();
    let took = client.work.now().since(start);
    assert_eq!((status, rest.len()), (128 + sys::SIGTERM, 0));
    assert!((600..600 + SLACK_MS).contains(&took), "it took {took} ms");
    client.nothing_is_left();
    assert!(client.log().contains(&"eof".to_owned()), "its input was closed first");
    format!("killed and ended after {took} ms")
}

/// Before the handlers are there the signal does what it does by default; afterwards it is caught.
/// In between and around, nobody is left.
pub(crate) fn signals_at_the_start() -> String {
    const TRIES: u64 = 24;
    let mut caught = 0;
    for (n, signal) in (0..TRIES).zip(SIGNALS.into_iter().cycle()) {
        let mut client = Client::start("start-signal", &[], &["helper"]);
        sleep(n / 2); // which moment this hits is chance, and none may matter
        client.signal(signal);
        let status = client.exit();
        assert!([128 + signal, -signal].contains(&status), "status {status}");
        client.until("all have gone", |client| client.work.running().is_empty());
        caught += u64::from(status > 0);
    }
    format!("{TRIES} signals, {caught} of them caught")
}

/// The server is in its grace, of which the signal leaves no more than there was.
pub(crate) fn signals_while_closing() -> String {
    let options = ["--shutdown-grace-ms", "900"];
    let took = SIGNALS.map(|signal| {
        let mut client = Client::start("closing", &options, &["stubborn", "helper"]);
        client.discover();
        client.close_stdin();
        client.until_logged("eof", 1);
        let start = client.work.now();
        client.signal(signal);
        assert_eq!(client.exit(), 128 + signal);
        client.nothing_is_left();
        client.work.now().since(start)
    });
    let longest = took.into_iter().max().unwrap_or(0);
    assert!(longest < 900 + SLACK_MS, "it took {longest} ms");
    format!("{} signals, ended after {longest} ms at most", SIGNALS.len())
}

/// Ctrl-C twice: no grace is waited for.
pub(crate) fn a_second_signal_ends_the_grace() -> String {
    let options = ["--shutdown-grace-ms", "60000"];
    let mut client = Client::start("twice", &options, &["stubborn", "helper"]);
    client.discover();
    client.signal(sys::SIGINT);
    client.until_logged("eof", 1);
    sleep(250); // so long a second one counts as the first
    client.signal(sys::SIGINT);
    assert_eq!(client.exit(), 128 + sys::SIGINT);
    client.nothing_is_left();
    "killed at once".to_owned()
}
