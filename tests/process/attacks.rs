//! One side does its worst, the client reads nothing, and the bridge keeps to its memory (R).

use crate::client::{Client, call, request};
use crate::size;
use crate::work::sleep;

/// The whole bridge beside what `--max-buffer-bytes` allows, its program's pages among it.
const BESIDE_KB: u64 = 16 << 10;

/// How much an attacker writes whom nobody holds up: more than is allowed in any way.
fn megabytes() -> u64 {
    size(40, 400)
}

/// Short lines, so that few of them are in the hands of readers.
const SMALL: (&[&str], u64) =
    (&["--max-buffer-bytes", "4MiB", "--max-line-bytes", "512KiB"], 4 << 10);

pub(crate) const DEFAULT: (&[&str], u64) = (&[], 64 << 10);

/// The peak, which must not be above what these options allow.
pub(crate) fn judge(client: &Client, what: &str, allowed_kb: u64) -> u64 {
    let peak = client.peak_kb();
    if peak == 0 || peak > allowed_kb + BESIDE_KB {
        client.fail(&format!("{what}: {peak} KB at the peak, {allowed_kb} KB may be queued"));
    }
    peak
}

/// What a hostile client writes, again and again.
fn clients_attack(kind: &str, n: u64) -> String {
    let id = 1000 + n;
    match kind {
        "requests" => request(id, "server/discover", ""),
        "nonsense" => "{".to_owned(),
        "long" => "x".repeat(400 << 10),
        "overlong" => "x".repeat(900 << 10),
        "calls" => request(id, "tools/call", &call("big", "\"tag\":1,\"bytes\":100000")),
        "large" => request(id, "tools/call", &call("big", "\"tag\":1,\"bytes\":1000000")),
        "parked" => {
            let pad = "p".repeat(200 << 10);
            request(id, "tools/call", &call("ask", &format!("\"tag\":1,\"pad\":\"{pad}\"")))
        }
        "listens" => {
            let uri = "u".repeat(2_000);
            let uris: Vec<_> = (0..200).map(|m| format!("\"x:{m}{uri}\"")).collect();
            let filter = format!("{{\"resourceSubscriptions\":[{}]}}", uris.join(","));
            request(id, "subscriptions/listen", &format!("\"notifications\":{filter}"))
        }
        _ => panic!("no such attack: {kind}"),
    }
}

fn attacked_by_the_client((options, allowed): (&[&str], u64), kind: &str) -> u64 {
    let mut client = Client::start("attack", options, &[]);
    client.discover();
    client.stop_reading();
    // Written piece by piece, so that one that waits shows how far the bridge has come.
    let mut written = 0;
    for n in 0.. {
        let lines: Vec<_> = (0..64).map(|m| clients_attack(kind, 64 * n + m)).collect();
        let lines = lines.join("\n");
        written += lines.len() as u64;
        client.begin(&lines);
        while !client.is_written() {
            let reached = |client: &Client| client.cpu_ticks() + client.log().len() as u64;
            let before = reached(&client);
            sleep(300);
            if reached(&client) == before && !client.is_written() {
                return judge(&client, kind, allowed); // it is held up
            }
        }
        if written > megabytes() << 20 {
            break;
        }
    }
    client.stand_still(|_| 0);
    judge(&client, kind, allowed)
}

fn attacked_by_the_server((options, allowed): (&[&str], u64), kind: &str) -> u64 {
    let mut client = Client::start("attack", options, &[]);
    client.discover();
    client.listen(r#"{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}"#);
    client.stop_reading();
    // What has to be answered is worst from a server that reads no answers.
    let deaf = matches!(kind, "pings" | "questions");
    let much = megabytes();
    let arguments = format!("\"tag\":1,\"kind\":\"{kind}\",\"megabytes\":{much},\"deaf\":{deaf}");
    let attack = call("attack", &arguments);
    client.begin(&request(999, "tools/call", &attack));
    client.until_logged("got 1", 1);
    let written = |client: &Client| client.work.lines("written").len() as u64;
    client.stand_still(written);
    judge(&client, kind, allowed)
}

pub(crate) fn hostile_clients() -> String {
    let kinds = ["requests", "nonsense", "long", "overlong", "calls", "parked", "listens"];
    let peaks = kinds.map(|kind| format!("{kind} {}", attacked_by_the_client(SMALL, kind)));
    let large = attacked_by_the_client(DEFAULT, "large");
    format!("peaks in KB, 4 MiB allowed: {}; by default {large}", peaks.join(", "))
}

pub(crate) fn hostile_servers() -> String {
    let kinds = [
        "progress",
        "logs",
        "changes",
        "updates",
        "questions",
        "pings",
        "long",
        "overlong",
        "stderr",
    ];
    let peaks = kinds.map(|kind| format!("{kind} {}", attacked_by_the_server(SMALL, kind)));
    format!("peaks in KB, 4 MiB allowed: {}", peaks.join(", "))
}
