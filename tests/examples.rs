//! The examples of the library do what they show.
#![allow(clippy::unwrap_used, reason = "a panic is a failed test")]

#[path = "support/in_time.rs"]
mod in_time;

use std::io::Write;
use std::process::{Command, Stdio};

use in_time::{example, finish, output};
use serde_json::Value;

#[test]
fn core_over_a_transport_of_its_own() {
    let output = output(&mut Command::new(example("embed-core"))).unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    let begins = |line: &str| shown.lines().filter(|shown| shown.starts_with(line)).count();
    assert_eq!((begins("client > "), begins("server < "), begins("client < ")), (1, 3, 1));
    assert!(shown.ends_with("one answer, exit status 0\n"), "{shown}");
}

#[test]
fn whole_bridge_in_a_program_of_its_own() {
    let mut bridge = Command::new(example("embed-bridge"))
        .arg(example("legacy-server"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    writeln!(bridge.stdin.take().unwrap(), "{request}").unwrap();
    let output = finish(bridge).unwrap();
    assert!(output.status.success(), "{output:?}");
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), 1, "{answers}");
    let answer: Value = serde_json::from_str(&answers).unwrap();
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["resultType"], "complete", "{answers}");
    assert_eq!(answer["result"]["content"][0]["text"], "hello", "{answers}");
}

/// Without a command it says how it is used.
#[test]
fn usage_of_the_embedded_bridge() {
    let output = output(&mut Command::new(example("embed-bridge"))).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("usage: embed-bridge "));
}
