//! What a server says of itself comes into our own messages without its control characters: a
//! terminal obeys none of it. (Its stderr is its own and passes as it is, A20.)

use crate::client::{Client, bridge};
use crate::work::Work;

/// Clears the screen, renames the window, rings, goes back to the start of the line.
const TRICKS: &str = "\x1b[2J\x1b]0;owned\x07\r\u{9b}31m\u{202e}\u{2028}\u{2066}";

/// A server of a few words in shell; `$T` stands for the tricks, JSON-escaped, `$R` for them raw.
const SERVERS: [(&str, &str); 8] = [
    (
        "version",
        r#"say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"$T","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}'"#,
    ),
    (
        "name",
        r#"say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"$T":{},"tools":{}},"serverInfo":{"name":"$T","version":"$T"}}}'"#,
    ),
    (
        "error",
        r#"say '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"$T","data":"$T"}}'"#,
    ),
    ("method", r#"say '{"jsonrpc":"2.0","id":"$T","method":"$T","params":{"$T":"$T"}}'"#),
    ("notification", r#"say '{"jsonrpc":"2.0","method":"$T"}'"#),
    ("banner", r#"say 'raw $R banner'"#),
    ("half", r#"printf 'no end $R'"#),
    ("answer", r#"say '{"jsonrpc":"2.0","id":"$T","result":"$T"}'"#),
];

fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

pub(crate) fn no_control_characters() -> String {
    let mut lines = 0;
    for (what, words) in SERVERS {
        for command in ["sh", TRICKS] {
            let words = words.replace("$T", &escaped(TRICKS)).replace("$R", TRICKS);
            let script =
                format!("say() {{ printf '%s\\n' \"$1\"; }}; read -r line; {words}; exit 3");
            let work = Work::create("plain", 1.0).expect("a folder");
            let options = ["-vv", "--initialize-timeout-ms", "2000"];
            let command = bridge(&options, &[command, "-c", script.as_str()]);
            let mut client = Client::of(work, command);
            client.request("server/discover", "");
            client.send(&format!("not JSON {TRICKS}"));
            client.close_stdin();
            client.rest();
            client.exit();
            for line in client.said().lines() {
                let raw = line
                    .chars()
                    .find(|c| c.is_control() || "\u{2028}\u{202e}\u{2066}".contains(*c));
                assert_eq!(raw, None, "{what}: {line:?}");
                assert!(line.starts_with("mcp-uplift: "), "{what}: {line:?}");
                lines += 1;
            }
        }
    }
    format!("{lines} lines on stderr, all plain")
}
