//! Questions: a legacy server's requests to its client, and what becomes of them (E3, E7-E11, E16,
//! E21, D18).

use super::body::Body;
use super::capabilities::Capabilities;
use super::list::{Items, array, push_array};
use super::object::Object;
use super::results::{down_meta, kept_meta};
use super::value::{is_key, is_number, is_object, is_string, is_too_deep};
use super::vocabulary::{Revision, key};
use super::writer::Writer;
use std::borrow::Cow;

/// What a server may ask in the middle of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `elicitation/create` with a form.
    Form,
    /// `elicitation/create` with a URL to visit.
    Url,
    /// `sampling/createMessage`.
    Sampling,
    /// `roots/list`.
    Roots,
}

/// A question as asked, its parameters raw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What is asked.
    pub kind: Kind,
    /// What the client must have declared for it (E7).
    pub needs: Capabilities,
    /// The parameters, as JSON text; "" where there are none.
    pub params: Box<str>,
}

impl Kind {
    /// The method in an `inputRequests` value.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Kind::Form | Kind::Url => "elicitation/create",
            Kind::Sampling => "sampling/createMessage",
            Kind::Roots => "roots/list",
        }
    }

    /// How a question is refused upward: abandoned, expired, undeclared (E21).
    #[must_use]
    pub fn refusal(self) -> &'static str {
        match self {
            Kind::Form | Kind::Url => "\"result\":{\"action\":\"cancel\"}",
            Kind::Sampling => {
                "\"error\":{\"code\":-1,\"message\":\"User rejected sampling request\"}"
            }
            Kind::Roots => "\"error\":{\"code\":-32601,\"message\":\"Roots not supported\"}",
        }
    }

    /// How an undeclared question is refused upward (E9, E21): a mode nobody has is an error.
    #[must_use]
    pub fn undeclared(self) -> &'static str {
        match self {
            Kind::Url => "\"error\":{\"code\":-32602,\"message\":\"URL mode not supported\"}",
            Kind::Form | Kind::Sampling | Kind::Roots => self.refusal(),
        }
    }
}

/// Reads a request of the server. `None`: it is no question.
///
/// # Errors
/// The `"error":{...}` with which a malformed question is answered upward.
#[must_use]
pub fn read(method: &str, params: &Body<'_>) -> Option<Result<Asked, String>> {
    let kind = match method {
        "elicitation/create" => match mode(params) {
            Some(kind) => kind,
            None => return Some(Err(invalid("mode must be \\\"form\\\" or \\\"url\\\""))),
        },
        "sampling/createMessage" => Kind::Sampling,
        "roots/list" => Kind::Roots,
        _ => return None,
    };
    let empty = Object::default();
    let params = match params {
        Body::Object(params) => params,
        Body::Absent | Body::Null | Body::Other if kind == Kind::Roots => &empty,
        Body::Absent | Body::Null | Body::Other => {
            return Some(Err(invalid("params must be an object")));
        }
    };
    if params.iter().any(|(_, value)| is_too_deep(value)) {
        return Some(Err("\"error\":{\"code\":-32600,\"message\":\"Nested too deep\"}".into()));
    }
    if let Err(what) = check(kind, params) {
        return Some(Err(invalid(what)));
    }
    let mut text = String::new();
    write_kept(&mut text, kind, params);
    Some(Ok(Asked { kind, needs: needs(kind, params), params: text.into() }))
}

fn mode(params: &Body<'_>) -> Option<Kind> {
    let Body::Object(params) = params else {
        return Some(Kind::Form);
    };
    if matches!(params.get("mode"), None | Some("null")) {
        return Some(Kind::Form);
    }
    match params.string("mode").as_deref() {
        Some("form") => Some(Kind::Form),
        Some("url") => Some(Kind::Url),
        _ => None,
    }
}

/// What every client rejects, so that the person would never see the question.
fn check(kind: Kind, params: &Object<'_>) -> Result<(), &'static str> {
    let text = |name| params.get(name).is_some_and(is_string);
    match kind {
        Kind::Form | Kind::Url if !text("message") => Err("message must be a string"),
        Kind::Url if !text("url") => Err("url must be a string"),
        Kind::Sampling if !params.get("messages").is_some_and(|raw| raw.starts_with('[')) => {
            Err("messages must be an array")
        }
        Kind::Form | Kind::Url | Kind::Sampling | Kind::Roots => Ok(()),
    }
}

fn needs(kind: Kind, params: &Object<'_>) -> Capabilities {
    let has = |name| params.get(name).is_some_and(|raw| raw != "null");
    match kind {
        Kind::Form => Capabilities::FORM,
        Kind::Url => Capabilities::URL,
        Kind::Roots => Capabilities::ROOTS,
        Kind::Sampling if has("tools") || has("toolChoice") => {
            Capabilities::SAMPLING | Capabilities::SAMPLING_TOOLS
        }
        Kind::Sampling => Capabilities::SAMPLING,
    }
}

fn invalid(what: &str) -> String {
    format!("\"error\":{{\"code\":-32602,\"message\":\"Invalid params: {what}\"}}")
}

/// Writes the parameters as the client may see them: without ids, tasks and reserved `_meta`.
fn write_kept(out: &mut String, kind: Kind, params: &Object<'_>) {
    let mut kept = Writer::new(out);
    let dropped: &[&str] = match kind {
        Kind::Form => &["_meta", "task", "elicitationId", "requestedSchema"],
        Kind::Url => &["_meta", "task", "elicitationId"],
        Kind::Sampling | Kind::Roots => &["_meta", "task"],
    };
    for (name, value) in params.iter() {
        if dropped.iter().any(|known| is_key(name, known))
            || kind == Kind::Form && value == "null" && is_key(name, "mode")
        {
            continue;
        }
        if kind == Kind::Sampling && is_key(name, "tools") {
            kept.copy(name, &without_execution(value));
        } else {
            kept.copy(name, value);
        }
    }
    if kind == Kind::Form {
        kept.raw("requestedSchema", &form(params.get("requestedSchema")));
    }
    let meta = params.object("_meta").unwrap_or_default();
    let meta: Vec<_> = kept_meta(&meta)
        .into_iter()
        .filter(|(name, _)| !is_key(name, key::PROGRESS_TOKEN))
        .collect();
    if !meta.is_empty() {
        let mut members = Writer::new(kept.open("_meta"));
        for (name, value) in meta {
            members.copy(name, value);
        }
        members.end();
    }
    kept.end();
}

/// A form schema with the two members that every client insists on.
fn form(raw: Option<&str>) -> Cow<'_, str> {
    const EMPTY: &str = "{\"type\":\"object\",\"properties\":{}}";
    let Some(raw) = raw.filter(|raw| *raw != "null") else {
        return Cow::Borrowed(EMPTY);
    };
    let Some(schema) = Object::parse(raw) else {
        return Cow::Borrowed(raw);
    };
    let lacks = |name| schema.get(name).is_none_or(|value| value == "null");
    let added =
        [("type", "\"object\""), ("properties", "{}")].into_iter().filter(|(n, _)| lacks(n));
    let added: Vec<_> = added.collect();
    if added.is_empty() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len() + 40);
    let mut whole = Writer::new(&mut out);
    for (name, value) in &added {
        whole.raw(name, value);
    }
    for (name, value) in schema.iter() {
        if !added.iter().any(|(added, _)| is_key(name, added)) {
            whole.copy(name, value);
        }
    }
    whole.end();
    Cow::Owned(out)
}

fn without_execution(raw: &str) -> Cow<'_, str> {
    let Some(tools) = array(raw) else {
        return Cow::Borrowed(raw);
    };
    let tools = tools.map(|tool| match Object::parse(tool) {
        Some(tool) => {
            let mut out = String::new();
            let mut kept = Writer::new(&mut out);
            for (name, value) in tool.iter().filter(|(n, _)| !is_key(n, "execution")) {
                kept.copy(name, value);
            }
            kept.end();
            out
        }
        None => tool.to_owned(),
    });
    let mut out = String::with_capacity(raw.len());
    push_array(&mut out, &mut tools.map(Cow::Owned));
    Cow::Owned(out)
}

impl Asked {
    /// Writes the value in `inputRequests` for a client with these capabilities (E3, E10).
    pub fn write_request(&self, out: &mut String, capabilities: Capabilities) {
        out.reserve(self.params.len() + 64);
        let mut request = Writer::new(out);
        request.string("method", self.kind.method());
        let drop_context =
            self.kind == Kind::Sampling && !capabilities.covers(Capabilities::SAMPLING_CONTEXT);
        match Object::parse(&self.params) {
            Some(params) if self.kind == Kind::Roots && params.is_empty() => {}
            Some(params) if drop_context && params.get("includeContext").is_some() => {
                let mut kept = Writer::new(request.open("params"));
                for (name, value) in params.iter() {
                    if !is_key(name, "includeContext") {
                        kept.copy(name, value);
                    }
                }
                kept.end();
            }
            Some(_) => request.raw("params", &self.params),
            None => {}
        }
        request.end();
    }
}

/// What one member of `inputResponses` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Not an answer at all: counts as missing (E15.4).
    Missing,
    /// An object that is illegal for its question; what is wrong with it (E15.5).
    Illegal(&'static str),
    /// Nested deeper than is looked at (A6).
    TooDeep,
    /// What goes up: `"result":{...}`, or an `"error":{...}` where the server's revision has no
    /// form for it (D18).
    Legal(String),
}

/// Is it an answer that consents?
#[must_use]
pub fn is_accepted(answer: &str) -> bool {
    answer
        .strip_prefix("\"result\":")
        .and_then(Object::parse)
        .is_some_and(|answer| answer.string("action").is_some_and(|action| action == "accept"))
}

/// The visits that a -32042 error demands, each with the server's name for it (E28). `None`: it
/// does not say where to.
#[must_use]
pub fn required_visits(error: &Body<'_>) -> Option<Vec<(Box<str>, Asked)>> {
    let Body::Object(error) = error else {
        return None;
    };
    let items = error.object("data")?.get("elicitations").and_then(array)?;
    let visit = |item: &str| {
        let params = Object::parse(item).filter(|_| !is_too_deep(item))?;
        let id = params.string("elicitationId")?;
        let (message, url) = (params.get("message")?, params.get("url")?);
        if !is_string(message) || !is_string(url) {
            return None;
        }
        let mut text = String::new();
        let mut kept = Writer::new(&mut text);
        kept.raw("mode", "\"url\"");
        kept.raw("url", url);
        kept.raw("message", message);
        kept.end();
        let asked = Asked { kind: Kind::Url, needs: Capabilities::URL, params: text.into() };
        Some((id.into(), asked))
    };
    let visits: Option<Vec<_>> = items.map(visit).collect();
    visits.filter(|visits| !visits.is_empty())
}

/// `"result":{...}` of a tool call whose visit was declined (E28).
#[must_use]
pub fn declined_visit(server_info: &str) -> String {
    let mut out = String::from("\"result\":");
    let mut down = Writer::new(&mut out);
    down.raw("resultType", "\"complete\"");
    down.raw("isError", "true");
    let text = "The server requires a visit to a web page for this tool, and it was declined.";
    down.raw("content", &format!("[{{\"type\":\"text\",\"text\":\"{text}\"}}]"));
    down.raw("_meta", &down_meta(None, server_info));
    down.end();
    out
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
    let judged = match kind {
        Kind::Form | Kind::Url => elicited(kind, &answer),
        Kind::Sampling => sampled(&answer, raw, revision),
        Kind::Roots => rooted(&answer, raw),
    };
    judged.map_or_else(Answer::Illegal, Answer::Legal)
}

fn elicited(kind: Kind, answer: &Object<'_>) -> Result<String, &'static str> {
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
    let passes_content = kind == Kind::Form && action == "accept";
    let mut out = String::from("\"result\":");
    let mut up = Writer::new(&mut out);
    for (name, value) in answer.iter() {
        if passes_content || !is_key(name, "content") {
            up.copy(name, value);
        }
    }
    up.end();
    Ok(out)
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

    fn asked(method: &str, params: &str) -> Asked {
        let body = Object::parse(params).map_or(Body::Absent, Body::Object);
        read(method, &body).unwrap().unwrap()
    }

    #[test]
    fn conversions() {
        for (method, params, expected) in [
            (
                "elicitation/create",
                r#"{"message":"m","mode":null,"requestedSchema":{"type":"object","properties":{"a":1}}}"#,
                r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":1}}}}"#,
            ),
            (
                "elicitation/create",
                r#"{"message":"m","requestedSchema":{"$schema":"x","properties":null}}"#,
                r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{},"$schema":"x"}}}"#,
            ),
            (
                "elicitation/create",
                r#"{"mode":"url","message":"m","url":"u","elicitationId":"e","task":{},"_meta":{"progressToken":1,"k":2}}"#,
                r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"u","_meta":{"k":2}}}"#,
            ),
            (
                "sampling/createMessage",
                r#"{"messages":[],"includeContext":"none","tools":[{"name":"t","execution":{}}]}"#,
                r#"{"method":"sampling/createMessage","params":{"messages":[],"tools":[{"name":"t"}]}}"#,
            ),
            (
                "elicitation/create",
                r#"{"mode":"ur\u006c","message":"m","url":"u","elicitation\u0049d":"e","t\u0061sk":{},"\u005fmeta":{"progressToken":1}}"#,
                r#"{"method":"elicitation/create","params":{"mode":"ur\u006c","message":"m","url":"u"}}"#,
            ),
            (
                "sampling/createMessage",
                r#"{"messages":[],"t\u006fols":[{"name":"t","\u0065xecution":{}}],"mode":null}"#,
                r#"{"method":"sampling/createMessage","params":{"messages":[],"t\u006fols":[{"name":"t"}],"mode":null}}"#,
            ),
            ("roots/list", "", r#"{"method":"roots/list"}"#),
        ] {
            let mut request = String::new();
            asked(method, params).write_request(&mut request, Capabilities::NONE);
            assert_eq!(request, expected, "{params}");
        }
    }

    #[test]
    fn malformed_questions_are_refused() {
        for (method, params) in [
            ("elicitation/create", "{}"),
            ("elicitation/create", r#"{"message":"m","mode":"voice"}"#),
            ("elicitation/create", r#"{"message":"m","mode":"url"}"#),
            ("sampling/createMessage", ""),
            ("sampling/createMessage", r#"{"messages":{}}"#),
        ] {
            let body = Object::parse(params).map_or(Body::Absent, Body::Object);
            let refused = read(method, &body).unwrap().unwrap_err();
            assert!(Object::parse(&format!("{{{refused}}}")).is_some(), "{refused}");
        }
        assert!(read("ping", &Body::Absent).is_none());
    }

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
                (Answer::Legal(text), Some(expected)) => assert_eq!(text, expected),
                (other, _) => panic!("{raw}: {other:?}"),
            }
        }
    }

    #[test]
    fn consent() {
        for (answer, expected) in [
            (r#""result":{"action":"accept"}"#, true),
            (r#""result":{"action":"acc\u0065pt"}"#, true),
            (r#""result":{"action":"decline"}"#, false),
            (r#""error":{"action":"accept"}"#, false),
        ] {
            assert_eq!(is_accepted(answer), expected, "{answer}");
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
