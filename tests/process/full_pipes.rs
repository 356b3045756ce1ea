//! Sides that do not read: memory stays bounded, nothing is lost, nobody waits for ever (R).

use crate::client::{Client, answered, call, cancel, error, request, text};
use crate::sys;
use crate::work::sleep;

const MB: u64 = 1 << 20;

const BUFFER: [&str; 2] = ["--max-buffer-bytes", "1MiB"];

/// What a bridge with that buffer may take at most: both queues, and lines in each of its hands.
const BOUND_KB: u64 = 10 * 1024;

/// A request that is as long as a pipe is deep.
fn long_call(id: u64) -> String {
    let pad = "p".repeat(64 * 1024);
    request(id, "tools/call", &call("echo", &format!("\"tag\":{id},\"pad\":\"{pad}\"")))
}

/// 64 MiB of results are due, 1 MiB may be queued.
pub(crate) fn the_client_stops_reading() -> String {
    let options = [&BUFFER[..], &["--max-in-flight", "64"]].concat();
    let mut client = Client::start("slow-client", &options, &[]);
    client.discover();
    let before = client.resident_kb();
    client.stop_reading();
    let big = |n| call("big", &format!("\"tag\":{n},\"bytes\":{MB}"));
    let lines: Vec<_> = (101..=164).map(|n| request(n, "tools/call", &big(n))).collect();
    client.begin(&lines.join("\n"));
    client.until_logged("got 101", 1);
    client.stand_still(|client| client.log().len() as u64);
    let done = client.log().iter().filter(|line| line.starts_with("answered")).count();
    assert!(done < 16, "the server got rid of {done} results that nobody read");
    client.read_on();
    client.finish(1);
    for n in 101..=164 {
        let answer = client.wait_for("the next result", |_| true);
        assert_eq!(answered(&answer), Some(n), "the order of one lane");
        assert!(
            text(&answer)
                .is_some_and(|text| text.len() as u64 == MB && text.bytes().all(|b| b == b'x'))
        );
    }
    let grown = client.peak_kb() - before;
    assert!(grown < BOUND_KB, "memory grew by {grown} KB");
    assert!(client.end().is_empty());
    format!("64 results of 1 MiB in order; {done} taken unread, memory grew by {grown} KB")
}

/// The client floods a server that does not read: what there is no room for is refused, and all
/// that needs no server goes on.
pub(crate) fn the_server_stops_reading() -> String {
    let mut client = Client::start("deaf-server", &BUFFER, &[]);
    client.discover();
    let before = client.resident_kb();
    let deaf = client.call("echo", "\"tag\":1,\"deaf\":true");
    client.answer(deaf);
    let ids: Vec<_> = (101..=200).collect();
    for id in &ids {
        client.begin(&long_call(*id));
    }
    client.finish(ids.len());
    client.discover();
    let mut refused: Vec<u64> = client.kept().iter().filter_map(answered).collect();
    refused.sort_unstable();
    let kept: Vec<_> = ids.iter().copied().filter(|id| !refused.contains(id)).collect();
    assert!((8..=32).contains(&kept.len()), "{} calls were taken for 1 MiB", kept.len());
    for id in &refused {
        let answer = client.answer(*id);
        assert_eq!(error(&answer), Some((-32603, "overloaded")), "{}", answer.short(200));
    }
    // The last one waits: cancelled, it makes room for another.
    let (last, another) = (kept[kept.len() - 1], 300);
    client.send(&cancel(last));
    client.send(&long_call(another));
    client.discover();
    assert!(client.kept().is_empty(), "refused though there was room");
    let grown = client.peak_kb() - before;
    assert!(grown < BOUND_KB, "memory grew by {grown} KB");
    client.work.set_mark("hear");
    for id in kept.iter().filter(|id| **id != last).chain([&another]) {
        assert_eq!(text(&client.answer(*id)), Some(id.to_string().as_str()));
    }
    assert!(!client.log().contains(&format!("got {last}")), "cancelled while it waited");
    assert!(client.end().is_empty());
    format!("{} of 100 calls of 64 KiB taken, memory grew by {grown} KB", kept.len())
}

/// Each call goes up, is cancelled, and lets the next one up: the one way to make the bridge write
/// without end to a server that does not read.
pub(crate) fn calls_to_a_deaf_server_are_cancelled() -> String {
    const CALLS: u64 = 300;
    let mut client = Client::start("deaf-cancelled", &BUFFER, &[]);
    client.discover();
    let before = client.resident_kb();
    let deaf = client.call("echo", "\"tag\":1,\"deaf\":true");
    client.answer(deaf);
    for id in 101..=100 + CALLS {
        client.begin(&format!("{}\n{}", long_call(id), cancel(id)));
    }
    client.stand_still(|client| client.log().len() as u64);
    let grown = client.peak_kb() - before;
    assert!(grown < BOUND_KB, "memory grew by {grown} KB");
    client.work.set_mark("hear");
    client.finish(usize::try_from(CALLS).expect("a small number"));
    client.discover();
    // Its own answers may have crossed the cancellations, nothing else.
    for message in client.kept() {
        assert!(text(&message).is_some(), "{}", message.short(200));
    }
    client.until("all is settled", |client| {
        let log = client.log();
        let told =
            log.iter().filter(|line| line.starts_with("cancelled") || line.starts_with("late"));
        let got = log.iter().filter(|line| line.starts_with("got"));
        told.count() + 1 >= got.count()
    });
    client.end();
    format!("{CALLS} calls of 64 KiB cancelled, memory grew by {grown} KB")
}

/// A server that writes without end and makes us answer, while it does not read.
pub(crate) fn the_server_pesters() -> String {
    const PINGS: u64 = 8_000;
    let mut client = Client::start("pester", &BUFFER, &[]);
    client.discover();
    let before = client.resident_kb();
    let pester = client.call("pester", &format!("\"tag\":1,\"count\":{PINGS},\"deaf\":true"));
    client.until_logged("got 1", 1);
    client.stand_still(|client| client.log().len() as u64);
    let grown = client.peak_kb() - before;
    assert!(grown < BOUND_KB, "memory grew by {grown} KB");
    assert!(!client.log().contains(&"answered 1".to_owned()), "8 MB of answers found room");
    client.work.set_mark("hear");
    assert_eq!(text(&client.answer(pester)), Some("1"));
    client.until_logged("pong", usize::try_from(PINGS).expect("a small number"));
    assert!(client.end().is_empty());
    format!("{PINGS} pings of 1 KB answered, memory grew by {grown} KB")
}

/// Results wait for the client, requests for the server, and neither reads; then they do, in
/// either order.
pub(crate) fn nobody_reads() -> String {
    let mut most = 0;
    for client_first in [true, false] {
        let options = [&BUFFER[..], &["--max-in-flight", "80", "--parallel", "80"]].concat();
        let mut client = Client::start("both-full", &options, &[]);
        client.discover();
        let before = client.resident_kb();
        client.stop_reading();
        let big = |n| call("big", &format!("\"tag\":{n},\"bytes\":{MB}"));
        let mut lines: Vec<_> = (101..=124).map(|n| request(n, "tools/call", &big(n))).collect();
        lines.push(request(125, "tools/call", &call("echo", "\"tag\":125,\"deaf\":true")));
        client.begin(&lines.join("\n"));
        client.until_logged("got 101", 1);
        let long = 126..=165;
        long.clone().for_each(|id| client.begin(&long_call(id)));
        client.stand_still(|client| client.log().len() as u64);
        let heard = client.log().iter().filter(|line| line.starts_with("got")).count();
        assert!(heard < 24, "{heard} calls were read by a server that has to wait");
        let resume: [&dyn Fn(&Client); 2] =
            [&Client::read_on, &|client| client.work.set_mark("hear")];
        resume[usize::from(!client_first)](&client);
        client.stand_still(|client| client.log().len() as u64);
        resume[usize::from(client_first)](&client);
        client.finish(1 + long.count());
        for id in 101..=165 {
            let answer = client.answer(id);
            assert!(text(&answer).is_some(), "{}", answer.short(200));
        }
        let grown = client.peak_kb() - before;
        // Calls that run are kept whole, 2.5 MiB of them here, and 24 MiB of results are not.
        assert!(grown < 2 * BOUND_KB, "memory grew by {grown} KB");
        most = most.max(grown);
        assert!(client.end().is_empty());
    }
    format!("both ways full, resumed in either order, memory grew by {most} KB")
}

/// Longer than a stalled client is waited for (5 s), the time limits of these stories, and the grace.
const END_MS: u64 = 15_000;

const SHORT_LIMITS: [&str; 4] = ["--request-timeout-ms", "500", "--shutdown-grace-ms", "600"];

/// A bridge whose client has stopped reading, with more waiting for it than may.
fn full_towards_the_client(story: &str) -> Client {
    let mut client = Client::start(story, &[&BUFFER[..], &SHORT_LIMITS].concat(), &["helper"]);
    client.discover();
    client.stop_reading();
    for n in 101..=110 {
        let big = call("big", &format!("\"tag\":{n},\"bytes\":{MB}"));
        client.begin(&request(n, "tools/call", &big));
    }
    client.until_logged("got 101", 1);
    client.stand_still(|client| client.log().len() as u64);
    client
}

/// A bridge whose server has stopped reading, with more waiting for it than half of the bound, which
/// holds the client up. All that the client wrote has found room, in pipes and in readers' hands.
fn full_towards_the_server(story: &str) -> Client {
    let options = [&BUFFER[..], &SHORT_LIMITS].concat();
    let mut client = Client::start(story, &options, &["helper", "stubborn"]);
    client.discover();
    let deaf = client.call("echo", "\"tag\":1,\"deaf\":true");
    client.answer(deaf);
    let pad = "p".repeat(8 * 1024);
    for id in 101..=176 {
        let call = call("echo", &format!("\"tag\":{id},\"pad\":\"{pad}\""));
        client.send(&format!("{}\n{}", request(id, "tools/call", &call), cancel(id)));
    }
    client.stand_still(|client| client.log().len() as u64);
    client
}

/// Both ends of input come to nothing if the bridge waits for a side that never reads again: each
/// wait has a deadline (invariant 7, H11).
fn ends_with_its_input(mut client: Client) -> String {
    let start = client.work.now();
    client.close_stdin();
    assert_eq!(client.exit_within(END_MS), 0);
    client.nothing_is_left();
    format!("ended {} ms after its input", client.work.now().since(start))
}

/// It is waited for, but not for ever, and not in silence.
pub(crate) fn end_of_input_of_a_client_that_does_not_read() -> String {
    let mut client = full_towards_the_client("slow-client-ends");
    let start = client.work.now();
    client.close_stdin();
    assert_eq!(client.exit_within(2 * END_MS), 1);
    assert!(client.said().contains("the client does not read;"), "{}", client.said());
    client.nothing_is_left();
    format!("ended {} ms after its input", client.work.now().since(start))
}

/// A reader that pauses loses nothing, although the input has ended and the pause is long.
pub(crate) fn a_reader_that_pauses_at_the_end() -> String {
    let mut client = Client::start("pauses-at-end", &[], &[]);
    client.discover();
    client.stop_reading();
    let big = |tag| format!("\"tag\":{tag},\"bytes\":{MB}");
    let ids: Vec<_> = (0..3).map(|tag| client.call("big", &big(tag))).collect();
    client.close_stdin();
    sleep(7_000); // longer than such a program is usually patient
    client.read_on();
    for id in ids {
        assert_eq!(text(&client.answer(id)).map(str::len), Some(1 << 20));
    }
    assert_eq!(client.exit_within(END_MS), 0);
    assert!(!client.said().contains("does not end"), "a false alarm: {}", client.said());
    client.nothing_is_left();
    "7 s".to_owned()
}

/// While a client does not read, the time of its calls stands still: their answers may lie in a
/// pipe that is not read either.
pub(crate) fn a_reader_that_pauses_for_longer_than_calls_may_take() -> String {
    const TIMEOUT_MS: u64 = 1_000;
    let timeout = format!("{TIMEOUT_MS}ms");
    let options = [&BUFFER[..], &["--request-timeout-ms", &timeout]].concat();
    let mut client = Client::start("pauses", &options, &[]);
    client.discover();
    client.stop_reading();
    let big = |tag| format!("\"tag\":{tag},\"bytes\":{}", 2 * MB);
    let ids: Vec<_> = (0..6).map(|tag| client.call("big", &big(tag))).collect();
    client.until_logged("got 0", 1);
    client.stand_still(|client| client.log().len() as u64);
    sleep(3 * TIMEOUT_MS);
    client.read_on();
    for id in ids {
        let answer = client.answer(id);
        let size = text(&answer).map(|text| text.len() as u64);
        assert_eq!(size, Some(2 * MB), "{}", answer.short(200));
    }
    assert!(client.end().is_empty());
    format!("paused {} ms beyond the timeout", 2 * TIMEOUT_MS)
}

pub(crate) fn end_of_input_before_a_deaf_server() -> String {
    ends_with_its_input(full_towards_the_server("deaf-server-ends"))
}

/// Full pipes hold up no signal.
pub(crate) fn signals_while_pipes_are_full() -> String {
    let sides = [full_towards_the_client, full_towards_the_server];
    let took = sides.map(|full| {
        let mut client = full("full-signal");
        let start = client.work.now();
        client.signal(sys::SIGTERM);
        assert_eq!(client.exit_within(END_MS), 128 + sys::SIGTERM);
        client.nothing_is_left();
        client.work.now().since(start)
    });
    assert!(took.iter().all(|ms| *ms < 600 + 2_000), "it took {took:?} ms");
    format!("ended after {took:?} ms")
}
