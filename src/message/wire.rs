//! Lines to messages and messages to lines: JSON-RPC 2.0 validity both ways (A4-A19).

use super::body::Body;
use super::list;
use super::scan::Scanner;
use super::value::{integer, is_integer, is_string, string};
use super::writer::{Text, push_string};
use crate::bounds::LONGEST_ID;
use std::borrow::Cow;
use std::fmt;

/// A request id exactly as its sender wrote it: compared and echoed by its text (A5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(Box<str>);

impl Id {
    /// The id, where the raw value is a string or an integral number (A5), and not so long that
    /// keeping it would be a burden.
    #[must_use]
    pub fn read(raw: &str) -> Option<Self> {
        let is_legal = raw.len() <= LONGEST_ID && (is_string(raw) || is_integer(raw));
        is_legal.then(|| Id(raw.into()))
    }

    /// The JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One JSON object that claims to be JSON-RPC, its members not judged yet.
#[derive(Debug, Default)]
struct Parts<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Body<'a>,
    result: Body<'a>,
    error: Body<'a>,
}

impl Parts<'_> {
    fn is_version_2(&self) -> bool {
        self.jsonrpc.is_some_and(|raw| raw == "\"2.0\"" || string(raw).is_some_and(|v| v == "2.0"))
    }
}

/// Why a line is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoMessage {
    /// Not JSON, from this byte on.
    NotJson(usize),
    /// JSON, but not one object.
    NotAnObject,
}

/// Reads the envelope and lists the members of its body in one walk over the line. They are written
/// where they are wanted: they are many, and would be moved twice.
fn read<'a>(text: &'a str, parts: &mut Parts<'a>) -> Result<(), NoMessage> {
    let mut scanner = Scanner::new(text);
    if scanner.peek() != Some(b'{') {
        let is_json = scanner.value().is_ok() && scanner.end().is_ok();
        return Err(if is_json {
            NoMessage::NotAnObject
        } else {
            NoMessage::NotJson(scanner.at())
        });
    }
    let walked = scanner.members(|scanner, key| {
        match &*scanner.plain(key) {
            "\"jsonrpc\"" => parts.jsonrpc = Some(scanner.value()?),
            "\"id\"" => parts.id = Some(scanner.value()?),
            "\"method\"" => parts.method = Some(scanner.value()?),
            "\"params\"" => parts.params = Body::scan_params(scanner)?,
            "\"result\"" => parts.result = Body::scan_result(scanner)?,
            "\"error\"" => parts.error = Body::scan(scanner)?,
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    });
    walked.and_then(|()| scanner.end()).map_err(|_| NoMessage::NotJson(scanner.at()))
}

/// What a line from the client is.
#[derive(Debug)]
pub enum FromClient<'a> {
    /// A request, which is owed one answer.
    Request(Id, Cow<'a, str>, Body<'a>),
    /// A notification; never answered (A10).
    Notification(Cow<'a, str>, Body<'a>),
    /// A response; modern clients have nothing to respond to (A9).
    Response,
    /// Not JSON, from this byte on (A7).
    NotJson(usize),
    /// JSON, but no message; with the id where it was readable and legal (A8).
    Invalid(Option<Id>),
}

/// Reads a line from the client.
#[must_use]
pub fn from_client(text: &str) -> FromClient<'_> {
    let mut parts = Parts::default();
    match read(text, &mut parts) {
        Ok(()) => {}
        Err(NoMessage::NotJson(at)) => return FromClient::NotJson(at),
        Err(NoMessage::NotAnObject) => return FromClient::Invalid(None),
    }
    let id = parts.id.and_then(Id::read);
    if parts.method.is_none() && (parts.result.is_present() || parts.error.is_present()) {
        return FromClient::Response;
    }
    let version = parts.is_version_2();
    match (parts.method.and_then(string), parts.id) {
        (Some(method), None) if version => FromClient::Notification(method, parts.params),
        (Some(method), Some(_)) if version => match id {
            Some(id) => FromClient::Request(id, method, parts.params),
            None => FromClient::Invalid(None),
        },
        _ => FromClient::Invalid(id),
    }
}

/// What a line from the server, or one element of its batch, is.
#[derive(Debug)]
pub enum FromServer<'a> {
    /// A request: a ping, a question, or something we do not know (H7).
    Request(Id, Cow<'a, str>, Body<'a>),
    /// A notification (H9).
    Notification(Cow<'a, str>, Body<'a>),
    /// An answer, with its id as JSON text; `Err` holds the error object (A18).
    Response(Option<&'a str>, Result<Body<'a>, Body<'a>>),
    /// Nothing that could be relayed: a banner, a log line, a foreign object (A16).
    Noise,
}

/// Reads a line from the server: one message, or several where it is a batch (A14, A15). Gives each
/// away at once: a message is much to move about.
pub fn from_server<'a>(text: &'a str, each: &mut dyn FnMut(FromServer<'a>)) {
    let mut parts = Parts::default();
    match read(text, &mut parts) {
        Ok(()) => each(server_message(parts)),
        Err(NoMessage::NotJson(_)) => each(FromServer::Noise),
        Err(NoMessage::NotAnObject) => match list::array(text) {
            Some(items) => items.map(one_of_many).for_each(each),
            None => each(FromServer::Noise),
        },
    }
}

/// One element of a batch.
fn one_of_many(text: &str) -> FromServer<'_> {
    let mut parts = Parts::default();
    read(text, &mut parts).map_or(FromServer::Noise, |()| server_message(parts))
}

fn server_message(parts: Parts<'_>) -> FromServer<'_> {
    if !parts.is_version_2() {
        return FromServer::Noise;
    }
    match (parts.method, parts.id) {
        (Some(method), id) => match (string(method), id.map(Id::read)) {
            (Some(method), None) => FromServer::Notification(method, parts.params),
            (Some(method), Some(Some(id))) => FromServer::Request(id, method, parts.params),
            _ => FromServer::Noise,
        },
        (None, id) if parts.error.is_present() && !matches!(parts.error, Body::Null) => {
            FromServer::Response(id, Err(parts.error))
        }
        (None, id) if parts.result.is_present() => FromServer::Response(id, Ok(parts.result)),
        (None, _) => FromServer::Noise,
    }
}

/// The id as one of our own numbers: a JSON number of that value, never a string (A17).
#[must_use]
pub fn own_number(raw: &str) -> Option<u64> {
    integer(raw)
}

/// A line that no JSON parser takes, from which the number of a running request can still be
/// read: the broken answer to it (A16). It starts as an object and names no method.
#[must_use]
#[allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the place was just found in this text"
)]
pub fn broken_answer(text: &str) -> Option<u64> {
    if !text.trim_start().starts_with('{') || text.contains("\"method\"") {
        return None;
    }
    let mut rest = text;
    while let Some(at) = rest.find("\"id\"") {
        rest = &rest[at + 4..];
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        let digits = value.map_or("", |v| {
            let end = v.find(|c: char| !c.is_ascii_digit()).unwrap_or(v.len());
            &v[..end]
        });
        if let Ok(number) = digits.parse() {
            return Some(number);
        }
    }
    None
}

/// The start of every line we write.
pub const HEAD: &str = "{\"jsonrpc\":\"2.0\"";

/// The end of every line we write.
pub const END: &str = "}\n";

/// A response line: `outcome` is `"result":...` or `"error":...` (A4).
#[must_use]
pub fn response(id: Option<&str>, outcome: &str) -> Vec<u8> {
    let mut out = String::with_capacity(outcome.len() + 64);
    response_head(&mut out, id);
    out.push_str(outcome);
    out.push_str(END);
    out.into_bytes()
}

/// Starts a response line; the caller writes the outcome and [`END`].
pub fn response_head(out: &mut impl Text, id: Option<&str>) {
    out.push_str(HEAD);
    out.push(',');
    if let Some(id) = id {
        out.push_str("\"id\":");
        out.push_str(id);
        out.push(',');
    }
}

/// Starts a request line of ours up to its parameters; the caller writes an object and [`END`].
pub fn request_head(out: &mut impl Text, id: u64, method: &str) {
    out.push_str(HEAD);
    out.push_str(",\"id\":");
    out.push_str(&id.to_string());
    out.push_str(",\"method\":");
    push_string(out, method);
    out.push_str(",\"params\":");
}

/// A request line of ours. `params` is an object.
#[must_use]
pub fn request(id: u64, method: &str, params: &str) -> Vec<u8> {
    let mut out = String::with_capacity(params.len() + method.len() + 64);
    request_head(&mut out, id, method);
    out.push_str(params);
    out.push_str(END);
    out.into_bytes()
}

/// Starts a notification line of ours up to its parameters; the caller writes an object and [`END`].
pub fn notification_head(out: &mut impl Text, method: &str) {
    out.push_str(HEAD);
    out.push_str(",\"method\":");
    push_string(out, method);
    out.push_str(",\"params\":");
}

/// A notification line of ours. `params` is an object, "" leaves it out.
#[must_use]
pub fn notification(method: &str, params: &str) -> Vec<u8> {
    let mut out = String::with_capacity(params.len() + method.len() + 64);
    if params.is_empty() {
        out.push_str(HEAD);
        out.push_str(",\"method\":");
        push_string(&mut out, method);
    } else {
        notification_head(&mut out, method);
        out.push_str(params);
    }
    out.push_str(END);
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_lines() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1 a"),
            (r#"{"jsonrpc":"2.0","id":"","method":"a","params":{}}"#, "request \"\" a"),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"a"}"#, "request 1.0 a"),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, "notification a"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":"\ud83d"}"#, "request 1 a"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":1e400}"#, "request 1 a"),
            (r#"{"id":1,"method":"a"}"#, "invalid 1"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "invalid -"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "invalid -"),
            (r#"{"jsonrpc":"2.0","id":7,"method":7}"#, "invalid 7"),
            (r#"{"jsonrpc":"2.0","id":7}"#, "invalid 7"),
            ("[]", "invalid -"),
            ("42", "invalid -"),
            ("1e400", "invalid -"),
            ("nonsense", "not json"),
            ("", "not json"),
        ] {
            let seen = match from_client(text) {
                FromClient::Request(id, method, _) => format!("request {id} {method}"),
                FromClient::Notification(method, _) => format!("notification {method}"),
                FromClient::Response => "response".into(),
                FromClient::NotJson(_) => "not json".into(),
                FromClient::Invalid(id) => {
                    format!("invalid {}", id.map_or("-".into(), |id| id.to_string()))
                }
            };
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn server_ids_match_by_type_and_value() {
        for (raw, expected) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("\"7\"", None),
            ("+7", None),
            ("-7", None),
            ("null", None),
        ] {
            assert_eq!(own_number(raw), expected, "{raw}");
        }
    }

    #[test]
    fn batches_are_taken_apart() {
        let text = r#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":3,"result":{}},5]"#;
        let mut messages = Vec::new();
        from_server(text, &mut |message| messages.push(message));
        assert!(matches!(messages[0], FromServer::Notification(..)));
        assert!(matches!(messages[1], FromServer::Response(Some("3"), Ok(_))));
        assert!(matches!(messages[2], FromServer::Noise));
    }

    #[test]
    fn broken_answers_name_their_request() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":12,"result":{"a":"he said "no""}}"#, Some(12)),
            (r#"{"jsonrpc":"2.0","id" : 12,"result":"#, Some(12)),
            (r#"{"id":12,"method":"x","#, None),
            (r#"starting {"id":12}"#, None),
            (r#"{"id":"12","#, None),
        ] {
            assert_eq!(broken_answer(text), expected, "{text}");
        }
    }
}
