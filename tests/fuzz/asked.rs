//! A server's questions, and how the client sees them (E3, E7, E10, E11).

use mcp_uplift::message::body::Body;
use mcp_uplift::message::capabilities::Capabilities;
use mcp_uplift::message::questions::{self, Kind};

use super::Verdict;
use super::json::Json;
use super::model::{Members, body, compare, is_string, levels, member, meta_down, without};
use super::rng::Rng;
use super::tree::{is_unclear, tree};

pub(crate) fn check(rng: &mut Rng, method: &'static str, text: &str) -> Verdict {
    let params = if rng.chance(3) { Body::Absent } else { body(text) };
    let has_context = rng.chance(50);
    let capabilities =
        if has_context { Capabilities::SAMPLING_CONTEXT } else { Capabilities::NONE };
    let seen = questions::read(method, &params);
    let given = match params {
        Body::Absent | Body::Null | Body::Other => Some(Json::Null),
        Body::Object(_) => tree(text).filter(|_| !is_unclear(text)),
    };
    let Some(given) = given else { return Ok(()) };
    match (seen, question(method, &given)) {
        (Some(Ok(asked)), Some((kind, needs, params))) => {
            if (asked.kind, asked.needs) != (kind, needs) {
                return Err(format!("E7 {asked:?}, expected {kind:?} {needs:?}"));
            }
            let expected = request(method, kind, params, has_context);
            let mut request = String::new();
            asked.write_request(&mut request, capabilities);
            compare("E3", text, &request, &expected)
        }
        (Some(Err(error)), None) => match tree(&format!("{{{error}}}")) {
            Some(error) if error.get("error").is_some_and(|error| error.has("code")) => Ok(()),
            _ => Err(format!("E21 {error}")),
        },
        (seen, expected) => Err(format!("E3 {seen:?}, expected {expected:?}")),
    }
}

/// What is asked, what it needs, and what of its parameters the client sees; `None` where every
/// client would reject it.
fn question(method: &str, given: &Json) -> Option<(Kind, Capabilities, Members)> {
    let kind = match method {
        "sampling/createMessage" => Kind::Sampling,
        "roots/list" => Kind::Roots,
        _ => match given.get("mode") {
            None | Some(Json::Null) => Kind::Form,
            Some(mode) if mode.text() == Some("form") => Kind::Form,
            Some(mode) if mode.text() == Some("url") => Kind::Url,
            Some(_) => return None,
        },
    };
    let members = match given {
        Json::Object(members) => members.as_slice(),
        _ if kind == Kind::Roots => &[],
        _ => return None,
    };
    if members.iter().any(|(_, value)| levels(value) > 128) {
        return None;
    }
    let is_whole = match kind {
        Kind::Form => is_string(given.get("message")),
        Kind::Url => is_string(given.get("message")) && is_string(given.get("url")),
        Kind::Sampling => given.get("messages").is_some_and(|messages| messages.items().is_some()),
        Kind::Roots => true,
    };
    let has = |name| given.get(name).is_some_and(|value| *value != Json::Null);
    let needs = match kind {
        Kind::Form => Capabilities::FORM,
        Kind::Url => Capabilities::URL,
        Kind::Roots => Capabilities::ROOTS,
        Kind::Sampling if has("tools") || has("toolChoice") => {
            Capabilities::SAMPLING | Capabilities::SAMPLING_TOOLS
        }
        Kind::Sampling => Capabilities::SAMPLING,
    };
    is_whole.then(|| (kind, needs, kept(kind, given, members)))
}

fn kept(kind: Kind, given: &Json, members: &[(String, Json)]) -> Members {
    let is_elicitation = matches!(kind, Kind::Form | Kind::Url);
    let dropped: &[&str] = match kind {
        Kind::Form => &["_meta", "task", "elicitationId", "requestedSchema"],
        Kind::Url => &["_meta", "task", "elicitationId"],
        Kind::Sampling | Kind::Roots => &["_meta", "task"],
    };
    let mut kept = without(members, dropped);
    if is_elicitation {
        kept.retain(|(name, value)| name != "mode" || *value != Json::Null);
    }
    for (name, value) in &mut kept {
        if kind == Kind::Sampling
            && name == "tools"
            && let Json::Array(tools) = value
        {
            tools.iter_mut().for_each(without_execution);
        }
    }
    if kind == Kind::Form {
        kept.push(member("requestedSchema", form(given.get("requestedSchema"))));
    }
    let meta = without(&meta_down(given.get("_meta")), &["progressToken"]);
    if !meta.is_empty() {
        kept.push(member("_meta", Json::Object(meta)));
    }
    kept
}

fn without_execution(tool: &mut Json) {
    if let Json::Object(members) = tool {
        members.retain(|(name, _)| name != "execution");
    }
}

/// A form has a type and properties, in front where they were missing.
fn form(given: Option<&Json>) -> Json {
    let given = match given {
        None | Some(Json::Null) => &Json::Object(Vec::new()),
        Some(given) => given,
    };
    let Json::Object(members) = given else { return given.clone() };
    let mut whole = Members::new();
    let mut rest = members.clone();
    for (name, value) in
        [("type", Json::string("object")), ("properties", Json::Object(Vec::new()))]
    {
        if matches!(given.get(name), None | Some(Json::Null)) {
            rest.retain(|(known, _)| known != name);
            whole.push(member(name, value));
        }
    }
    whole.extend(rest);
    Json::Object(whole)
}

fn request(method: &str, kind: Kind, mut params: Members, has_context: bool) -> Json {
    if kind == Kind::Sampling && !has_context {
        params.retain(|(name, _)| name != "includeContext");
    }
    let mut request = vec![member("method", Json::string(method))];
    if kind != Kind::Roots || !params.is_empty() {
        request.push(member("params", Json::Object(params)));
    }
    Json::Object(request)
}
