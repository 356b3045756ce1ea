//! Ten thousand things at once: each is answered, and answered once.

use std::collections::BTreeSet;

use crate::client::{Client, answered, call, error, request, text};

const MANY: u64 = 10_000;

/// All in one write, of which no more than `--max-in-flight` are taken.
pub(crate) fn requests_of_the_client() -> String {
    let mut client = Client::start("pending", &[], &[]);
    client.discover();
    let calls = 1001..=1000 + MANY;
    let lines: Vec<_> = calls
        .clone()
        .map(|id| request(id, "tools/call", &call("work", &format!("\"tag\":{id},\"ms\":1"))))
        .collect();
    client.begin(&lines.join("\n"));
    client.finish(1);
    client.close_stdin();
    let rest = client.rest();
    assert_eq!(client.exit(), 0);
    client.nothing_is_left();
    let (mut served, mut ids) = (0, BTreeSet::new());
    for answer in &rest {
        let id = answered(answer).expect("an answer");
        assert!(ids.insert(id), "{id} was answered twice");
        match error(answer) {
            None => {
                assert_eq!(text(answer), Some(id.to_string().as_str()));
                served += 1;
            }
            Some(refusal) => assert_eq!(refusal, (-32603, "overloaded")),
        }
    }
    assert_eq!(ids, calls.collect());
    assert!(served >= 32, "{served} served");
    format!("{MANY} requests, {served} served, the rest refused")
}

/// Questions and log messages; the questions belong to a call, and all wait for one retry.
pub(crate) fn questions_of_the_server() -> String {
    let mut client = Client::start("swarm", &[], &[]);
    let arguments = format!("\"tag\":1,\"count\":{MANY}");
    let mut id = client.call("swarm", &arguments);
    let mut rounds = 0;
    let answer = loop {
        let answer = client.answer(id);
        let Some(ticket) = crate::client::ticket(&answer) else { break answer };
        id = client.retry("swarm", &arguments, &ticket);
        rounds += 1;
    };
    assert_eq!(text(&answer), Some("1"), "{}", answer.short(300));
    let log = client.log();
    let replies: Vec<_> = log.iter().filter_map(|line| line.strip_prefix("reply ")).collect();
    let accepted = replies.iter().filter(|reply| reply.ends_with("accept")).count();
    let numbers: BTreeSet<_> = replies.iter().filter_map(|reply| reply.split(' ').next()).collect();
    assert_eq!((replies.len() as u64, numbers.len() as u64), (MANY, MANY), "each one once");
    assert!(client.end().is_empty());
    format!("{MANY} questions in {rounds} rounds, {accepted} accepted")
}
