//! What a client says to a question, judged and brought into the form that the server knows (E16,
//! D18), and the folders that the bridge names itself (E20).

use super::list::{Items, array};
use super::object::Object;
use super::questions::Kind;
use super::value::{is_key, is_number, is_object, is_string, is_too_deep};
use super::vocabulary::Revision;
use super::writer::Writer;
use std::borrow::Cow;

/// What one member of `inputResponses` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not an answer at all: counts as missing (E15.4).
    Missing,
    /// An object that is illegal for its question; what is wrong with it (E15.5).
    Illegal(&'static str),
    /// Nested deeper than is looked at (A6).
    TooDeep,
    /// An answer to the question.
    Legal(Given),
}

/// An answer that fits its question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// What goes up: `"result":{...}`, or an `"error":{...}` where the server's revision has no
    /// form for it (D18).
    pub outcome: String,
    /// The person consents to what an elicitation asked for (E28).
    pub is_accepted: bool,
}

/// Judges an answer (E16) and brings it into the form that the server's revision knows.
#[must_use]
pub fn answer(kind: Kind, raw: &str, revision: Revision) -> Answer {
    let Some(answer) = Object::parse(raw) else {
        return Answer::Missing;
    };
    if answer.get("method").is_some() || answer.get("result").is_some() {
        return Answer::Missing;
    }
    if is_too_deep(raw) {
        return Answer::TooDeep;
    }
    let plain = |outcome| Given { outcome, is_accepted: false };
    let judged = match kind {
        Kind::Form | Kind::Url => elicited(kind, &answer),
        Kind::Sampling => sampled(&answer, raw, revision).map(plain),
        Kind::Roots => rooted(&answer, raw).map(plain),
    };
    judged.map_or_else(Answer::Illegal, Answer::Legal)
}

fn elicited(kind: Kind, answer: &Object<'_>) -> Result<Given, &'static str> {
    let action = answer.string("action").unwrap_or_default();
    if !matches!(&*action, "accept" | "decline" | "cancel") {
        return Err("action must be accept, decline or cancel");
    }
    let content = answer.get("content");
    if let Some(raw) = content {
        let content = Object::parse(raw).ok_or("content must be an object")?;
        let scalar =
            |raw: &str| is_string(raw) || is_number(raw) || matches!(raw, "true" | "false");
        let texts = |raw: &str| array(raw).is_some_and(|mut items| items.all(is_string));
        if !content.iter().all(|(_, value)| scalar(value) || texts(value)) {
            return Err("content values must be strings, numbers, booleans or arrays of strings");
        }
    }
    let is_accepted = action == "accept";
    let passes_content = kind == Kind::Form && is_accepted;
    let mut out = String::from("\"result\":");
    let mut up = Writer::new(&mut out);
    for (name, value) in answer.iter() {
        if passes_content || !is_key(name, "content") {
            up.copy(name, value);
        }
    }
    up.end();
    Ok(Given { outcome: out, is_accepted })
}

fn sampled(answer: &Object<'_>, raw: &str, revision: Revision) -> Result<String, &'static str> {
    if !matches!(answer.string("role").as_deref(), Some("user" | "assistant")) {
        return Err("role must be user or assistant");
    }
    if !answer.get("model").is_some_and(is_string) {
        return Err("model must be a string");
    }
    if !answer.get("stopReason").is_none_or(is_string) {
        return Err("stopReason must be a string");
    }
    let content = answer.get("content").ok_or("content is missing")?;
    let is_block = |raw: &str| {
        is_object(raw)
            && Object::parse(raw).is_some_and(|block| block.get("type").is_some_and(is_string))
    };
    let Some(blocks) = array(content) else {
        return if is_block(content) {
            Ok(format!("\"result\":{raw}"))
        } else {
            Err("content must be a content block or an array of them")
        };
    };
    if !blocks.clone().all(is_block) {
        return Err("content must be a content block or an array of them");
    }
    if revision >= Revision::R2025_11 {
        return Ok(format!("\"result\":{raw}"));
    }
    let Some(block) = one_block(blocks) else {
        return Ok(
            "\"error\":{\"code\":-32602,\"message\":\"unsupported sampling content\"}".into()
        );
    };
    let mut out = String::from("\"result\":");
    let mut up = Writer::new(&mut out);
    for (name, value) in answer.iter() {
        up.copy(name, if is_key(name, "content") { &block } else { value });
    }
    up.end();
    Ok(out)
}

/// Several blocks as the one that revisions before 2025-11-25 know (D18).
fn one_block(mut blocks: Items<'_>) -> Option<Cow<'_, str>> {
    let all = blocks.clone();
    let first = blocks.next()?;
    if blocks.next().is_none() {
        return Some(Cow::Borrowed(first));
    }
    let mut joined = String::new();
    for (at, block) in all.enumerate() {
        let block =
            Object::parse(block).filter(|b| b.string("type").is_some_and(|t| t == "text"))?;
        if at > 0 {
            joined.push('\n');
        }
        joined.push_str(&block.string("text")?);
    }
    let mut out = String::new();
    let mut text = Writer::new(&mut out);
    text.string("type", "text");
    text.string("text", &joined);
    text.end();
    Some(Cow::Owned(out))
}

fn rooted(answer: &Object<'_>, raw: &str) -> Result<String, &'static str> {
    let mut roots = answer.get("roots").and_then(array).ok_or("roots must be an array")?;
    let is_root = |raw: &str| {
        Object::parse(raw).is_some_and(|root| {
            root.string("uri").is_some_and(|uri| uri.starts_with("file://"))
                && root.get("name").is_none_or(is_string)
        })
    };
    if !roots.all(is_root) {
        return Err("each root needs a uri that starts with file://, its name must be a string");
    }
    Ok(format!("\"result\":{raw}"))
}

/// `"result":{"roots":[...]}` for folders named with `--root` (E20).
#[must_use]
pub fn roots_result(paths: &[String]) -> String {
    let mut out = String::from("\"result\":{\"roots\":[");
    for (at, path) in paths.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let mut root = Writer::new(&mut out);
        root.string("uri", &file_uri(path));
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        if !name.is_empty() {
            root.string("name", name);
        }
        root.end();
    }
    out.push_str("]}");
    out
}

/// The `file://` URI of an absolute path.
#[allow(clippy::indexing_slicing, reason = "half a byte; there are sixteen digits")]
fn file_uri(path: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            const HEX: &[u8; 16] = b"0123456789ABCDEF";
            uri.push('%');
            uri.push(char::from(HEX[usize::from(byte >> 4)]));
            uri.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let old = Revision::R2025_06;
        for (kind, raw, expected) in [
            (Kind::Form, "5", None),
            (Kind::Form, r#"{"result":{}}"#, None),
            (Kind::Form, r#"{"action":"accept","content":{"a":[1]}}"#, Some("")),
            (Kind::Form, r#"{"action":"maybe"}"#, Some("")),
            (
                Kind::Form,
                r#"{"action":"decline","content":{}}"#,
                Some(r#""result":{"action":"decline"}"#),
            ),
            (
                Kind::Url,
                r#"{"action":"accept","content":{}}"#,
                Some(r#""result":{"action":"accept"}"#),
            ),
            (
                Kind::Sampling,
                r#"{"role":"user","model":"m","content":{"type":"text","text":"a"}}"#,
                Some(
                    r#""result":{"role":"user","model":"m","content":{"type":"text","text":"a"}}"#,
                ),
            ),
            (
                Kind::Sampling,
                r#"{"role":"user","model":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                Some(
                    r#""result":{"role":"user","model":"m","content":{"type":"text","text":"a\nb"}}"#,
                ),
            ),
            (
                Kind::Sampling,
                r#"{"role":"us\u0065r","model":"m","content":[{"type":"t\u0065xt","text":"a"},{"type":"text","text":"b"}]}"#,
                Some(
                    r#""result":{"role":"us\u0065r","model":"m","content":{"type":"text","text":"a\nb"}}"#,
                ),
            ),
            (
                Kind::Sampling,
                r#"{"role":"user","model":"m","content":[{"type":"image"},{"type":"text","text":"b"}]}"#,
                Some(r#""error":{"code":-32602,"message":"unsupported sampling content"}"#),
            ),
            (Kind::Sampling, r#"{"role":"user","model":"m","content":"x"}"#, Some("")),
            (Kind::Roots, r#"{"roots":[{"uri":"http://x"}]}"#, Some("")),
            (Kind::Roots, r#"{"roots":[]}"#, Some(r#""result":{"roots":[]}"#)),
        ] {
            match (answer(kind, raw, old), expected) {
                (Answer::Missing, None) | (Answer::Illegal(_), Some("")) => {}
                (Answer::Legal(given), Some(expected)) => assert_eq!(given.outcome, expected),
                (other, _) => panic!("{raw}: {other:?}"),
            }
        }
    }

    #[test]
    fn consent() {
        for (kind, raw, expected) in [
            (Kind::Url, r#"{"action":"accept"}"#, true),
            (Kind::Form, r#"{"action":"acc\u0065pt"}"#, true),
            (Kind::Url, r#"{"action":"decline"}"#, false),
            (Kind::Roots, r#"{"roots":[],"action":"accept"}"#, false),
        ] {
            let Answer::Legal(given) = answer(kind, raw, Revision::R2025_11) else {
                unreachable!("{raw}")
            };
            assert_eq!(given.is_accepted, expected, "{raw}");
        }
    }

    #[test]
    fn roots_from_paths() {
        assert_eq!(
            roots_result(&["/a b/ü".into(), "/".into()]),
            r#""result":{"roots":[{"uri":"file:///a%20b/%C3%BC","name":"ü"},{"uri":"file:///"}]}"#
        );
    }
}
