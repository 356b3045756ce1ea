//! Request parameters: what must hold before anything goes up (B12), and how they go up (D1).

use super::object::Object;
use super::refusal::Refusal;
use super::value::{is_key, is_object, is_string};
use super::vocabulary::{Method, NOT_UPWARD, key};
use super::writer::{Text, Writer};

/// Checks the parameters of a method that is about to be forwarded (B12).
///
/// # Errors
/// [`Refusal::Params`] naming the member and what it has to be.
pub fn check(method: Method, params: &Object<'_>) -> Result<(), Refusal> {
    match method {
        Method::ToolsCall => {
            needs_string(params, "name")?;
            optional(params, "arguments", "an object", is_object)?;
        }
        Method::PromptsGet => {
            needs_string(params, "name")?;
            optional(params, "arguments", "an object of strings", is_object_of_strings)?;
        }
        Method::ResourcesRead => needs_string(params, "uri")?,
        Method::ToolsList | Method::PromptsList | Method::ResourcesList | Method::TemplatesList => {
            optional(params, "cursor", "a string", is_string)?;
        }
        Method::Complete => check_completion(params)?,
        Method::Discover | Method::Listen | Method::Removed | Method::Vendor => {}
    }
    if method.is_mrtr() {
        optional(params, "inputResponses", "an object", is_object)?;
    }
    Ok(())
}

fn check_completion(params: &Object<'_>) -> Result<(), Refusal> {
    let reference = params.object("ref").ok_or_else(|| wrong("ref", "an object"))?;
    let target = match reference.string("type").as_deref() {
        Some("ref/prompt") => "name",
        Some("ref/resource") => "uri",
        _ => return Err(wrong("ref.type", "\"ref/prompt\" or \"ref/resource\"")),
    };
    if !reference.get(target).is_some_and(is_string) {
        return Err(Refusal::Params(format!("ref.{target} must be a string")));
    }
    let argument = params.object("argument").ok_or_else(|| wrong("argument", "an object"))?;
    for member in ["name", "value"] {
        if !argument.get(member).is_some_and(is_string) {
            return Err(Refusal::Params(format!("argument.{member} must be a string")));
        }
    }
    if let Some(raw) = params.get("context") {
        let context = Object::parse(raw).ok_or_else(|| wrong("context", "an object"))?;
        optional(&context, "arguments", "an object of strings", is_object_of_strings)?;
    }
    Ok(())
}

fn is_object_of_strings(raw: &str) -> bool {
    Object::parse(raw).is_some_and(|object| object.iter().all(|(_, value)| is_string(value)))
}

fn needs_string(params: &Object<'_>, name: &'static str) -> Result<(), Refusal> {
    match params.get(name) {
        Some(raw) if is_string(raw) => Ok(()),
        _ => Err(wrong(name, "a string")),
    }
}

fn optional(
    params: &Object<'_>,
    name: &'static str,
    what: &'static str,
    fits: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    if params.get(name).is_none_or(fits) { Ok(()) } else { Err(wrong(name, what)) }
}

fn wrong(name: &str, what: &str) -> Refusal {
    Refusal::Params(format!("{name} must be {what}"))
}

/// Members of `params` that only this side of the bridge knows (D1).
const LOCAL: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];

/// Is it one of the members that the server sees, `_meta` apart? Those make a request the same
/// request on a retry (E13).
#[must_use]
pub fn is_salient(raw_key: &str) -> bool {
    !LOCAL.iter().any(|local| is_key(raw_key, local))
}

/// Writes the parameters as they go up (D1, K1): without the modern members, with `token` in
/// place of the client's progress token (F1). `meta` is the `_meta` of the leg whose keys travel,
/// which for a request sent again is the retry's (K4).
pub fn write_upward(
    out: &mut impl Text,
    params: &Object<'_>,
    meta: &Object<'_>,
    token: Option<u64>,
) {
    let mut up = Writer::new(out);
    for (name, value) in params.iter().filter(|(name, _)| is_salient(name)) {
        // Only what counts goes up: not every parser takes the last of two (A6).
        let is_double = params.has_double_arguments() && is_key(name, "arguments");
        match is_double.then(|| Object::parse(value)).flatten() {
            Some(arguments) => arguments.write(up.open("arguments")),
            None => up.copy(name, value),
        }
    }
    let mut kept = meta
        .iter()
        .filter(|(name, _)| {
            !is_key(name, key::PROGRESS_TOKEN) && !NOT_UPWARD.iter().any(|k| is_key(name, k))
        })
        .peekable();
    if kept.peek().is_some() || token.is_some() {
        let mut members = Writer::new(up.open("_meta"));
        for (name, value) in kept {
            members.copy(name, value);
        }
        if let Some(token) = token {
            members.raw(key::PROGRESS_TOKEN, &token.to_string());
        }
        members.end();
    }
    up.end();
}

#[cfg(test)]
mod tests {
    use super::super::body::Body;
    use super::super::scan::Scanner;
    use super::*;

    #[test]
    fn checks() {
        for (method, params, fits) in [
            (Method::ToolsCall, r#"{"name":"a"}"#, true),
            (Method::ToolsCall, r#"{"name":"a","arguments":null}"#, false),
            (Method::ToolsCall, r#"{"name":"a","inputResponses":[]}"#, false),
            (Method::PromptsGet, r#"{"name":"a","arguments":{"x":"y"}}"#, true),
            (Method::PromptsGet, r#"{"name":"a","arguments":{"x":null}}"#, false),
            (Method::ResourcesRead, r#"{"uri":1}"#, false),
            (Method::ToolsList, r#"{"cursor":""}"#, true),
            (Method::ToolsList, r#"{"cursor":null}"#, false),
            (Method::ToolsList, r#"{"inputResponses":[]}"#, true),
            (
                Method::Complete,
                r#"{"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"a","value":""}}"#,
                true,
            ),
            (
                Method::Complete,
                r#"{"ref":{"type":"ref/prompt","uri":"u"},"argument":{"name":"a","value":""}}"#,
                false,
            ),
            (
                Method::Complete,
                r#"{"ref":{"type":"ref/prompt","name":"u"},"argument":{"name":"a","value":""},"context":{"arguments":{"k":1}}}"#,
                false,
            ),
        ] {
            assert_eq!(check(method, &Object::parse(params).unwrap()).is_ok(), fits, "{params}");
        }
    }

    #[test]
    fn upward() {
        let up = |params: &str, token| {
            let params = Body::scan_params(&mut Scanner::new(params)).unwrap().object().unwrap();
            let mut out = String::new();
            write_upward(&mut out, &params, &params.object("_meta").unwrap_or_default(), token);
            out
        };
        assert_eq!(
            up(
                r#"{"name":"a","task":{},"requestState":"s","_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#,
                None
            ),
            r#"{"name":"a"}"#
        );
        assert_eq!(
            up(r#"{"_meta":{"progressToken":"p","traceparent":"t"},"x":1e400}"#, Some(4)),
            r#"{"x":1e400,"_meta":{"traceparent":"t","progressToken":4}}"#
        );
    }
}
