//! Requests as lines, and what they say about themselves.

use crate::message::vocabulary::{MODERN, key};
use crate::message::wire;
use crate::message::writer::Writer;

/// Who asks.
pub(super) const CLIENT_INFO: &str =
    concat!(r#"{"name":"mcp-uplift-check","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// What a request says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Envelope<'a> {
    /// Nothing, as before 2026-07-28.
    None,
    /// All that it must.
    Whole,
    /// With these client capabilities.
    With(&'a str),
    /// With this version.
    Version(&'a str),
    /// The version and nothing else.
    VersionOnly,
}

/// A request: its id and the members of its parameters are JSON text.
pub(super) fn line(id: &str, method: &str, members: &str, envelope: Envelope<'_>) -> Vec<u8> {
    let meta = envelope_text(envelope);
    let comma = if meta.is_empty() || members.is_empty() { "" } else { "," };
    let rest = ["\"params\":{", members, comma, &meta, "}"].concat();
    [wire::HEAD, ",\"id\":", id, ",\"method\":\"", method, "\",", &rest, wire::END]
        .concat()
        .into_bytes()
}

/// `"_meta":{...}`, or nothing.
fn envelope_text(envelope: Envelope<'_>) -> String {
    let mut text = String::new();
    let (version, capabilities) = match envelope {
        Envelope::None => return text,
        Envelope::Whole => (MODERN, Some("{}")),
        Envelope::With(capabilities) => (MODERN, Some(capabilities)),
        Envelope::Version(version) => (version, Some("{}")),
        Envelope::VersionOnly => (MODERN, None),
    };
    text.push_str("\"_meta\":");
    let mut meta = Writer::new(&mut text);
    meta.string(key::PROTOCOL_VERSION, version);
    if let Some(capabilities) = capabilities {
        meta.raw(key::CLIENT_CAPABILITIES, capabilities);
        meta.raw(key::CLIENT_INFO, CLIENT_INFO);
    }
    meta.end();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines() {
        for (members, envelope, params) in [
            ("", Envelope::None, "{}".to_owned()),
            ("\"a\":1", Envelope::None, "{\"a\":1}".to_owned()),
            (
                "",
                Envelope::VersionOnly,
                format!("{{\"_meta\":{{\"{}\":\"{MODERN}\"}}}}", key::PROTOCOL_VERSION),
            ),
            (
                "\"a\":1",
                Envelope::Version("1"),
                format!(
                    "{{\"a\":1,\"_meta\":{{\"{}\":\"1\",\"{}\":{{}},\"{}\":{CLIENT_INFO}}}}}",
                    key::PROTOCOL_VERSION,
                    key::CLIENT_CAPABILITIES,
                    key::CLIENT_INFO
                ),
            ),
        ] {
            let expected = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x/y\",\"params\":{params}}}\n"
            );
            let line = line("7", "x/y", members, envelope);
            assert_eq!(String::from_utf8_lossy(&line), expected);
        }
    }
}
