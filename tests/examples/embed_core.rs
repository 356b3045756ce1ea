//! The core without the shell: the transport is yours. Here it is a queue of events, with a legacy
//! server in a function.
//!
//! ```text
//!   events ──▶ Bridge ──▶ effects ──▶ the client's answers
//!      ▲                     └──────▶ legacy_server ──┐
//!      └──────────────────────────────────────────────┘
//! ```
#![allow(clippy::print_stdout, clippy::expect_used, reason = "it shows what passes")]

use std::collections::VecDeque;

use mcp_uplift::bridge::{Bridge, Effect, Event, Exit, Generation, Line, Settings, Time};
use serde_json::{Value, json};

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"greet","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// A server of 2025-11-25 with one tool: what it answers to a line, if anything.
fn legacy_server(message: &Value) -> Option<String> {
    let result = match message["method"].as_str()? {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "greeter", "version": "1.0.0"}}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}

fn line(text: impl Into<Vec<u8>>) -> Line {
    Line { bytes: text.into(), ended: true }
}

/// Serves these lines of a client to the end of its input; the answers and the exit status.
fn serve(client: &[&str]) -> (Vec<Value>, u8) {
    let random = |bytes: &mut [u8]| getrandom::fill(bytes).expect("the system has random bytes");
    let mut bridge = Bridge::new(Settings::default(), Box::new(random));
    let mut events: VecDeque<_> = client.iter().map(|&l| Event::ClientLine(line(l))).collect();
    events.push_back(Event::ClientClosed);
    let (mut server, mut now, mut answers) = (Generation(0), Time(0), Vec::new());
    loop {
        while let Some(effect) = bridge.next_effect() {
            match effect {
                Effect::StartServer(generation) => {
                    server = generation;
                    events.push_back(Event::ServerStarted(server));
                }
                Effect::ToServer(frame) => {
                    print!("server < {}", frame.text_from(0));
                    let message = serde_json::from_slice(&frame.bytes()).expect("it is JSON");
                    let answer = legacy_server(&message);
                    events.extend(answer.map(|answer| Event::ServerLine(server, line(answer))));
                }
                Effect::ToClient(frame) => {
                    print!("client < {}", frame.text_from(0));
                    answers.push(serde_json::from_slice(&frame.bytes()).expect("it is JSON"));
                }
                Effect::StopServer(generation) => {
                    events.push_back(Event::ServerExited(generation, Exit::Code(0)));
                }
                Effect::Say(level, text) => println!("{level:?}: {text}"),
                Effect::Exit(status) => return (answers, status),
            }
        }
        // With nothing to tell, time goes on to the next moment that the core waits for.
        let event = events.pop_front().unwrap_or_else(|| {
            now = bridge.deadline().expect("something is waited for");
            Event::Wake
        });
        bridge.handle(event, now);
    }
}

fn main() {
    println!("client > {CALL}");
    let (answers, status) = serve(&[CALL]);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[0]["result"]["resultType"], "complete");
    assert_eq!(answers[0]["result"]["content"][0]["text"], "hello");
    assert_eq!(status, 0);
    println!("one answer, exit status {status}");
}
