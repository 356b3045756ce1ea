//! Questions: a legacy server's requests to its client, and how they look to it (E3, E7-E11, E21).

use super::body::Body;
use super::capabilities::Capabilities;
use super::list::{array, push_array};
use super::meta::kept_meta;
use super::object::Object;
use super::value::{is_key, is_string, is_too_deep};
use super::vocabulary::key;
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
}
