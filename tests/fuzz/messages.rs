//! JSON-RPC lines, both ways: what each is (A5, A8-A10, A14-A18).

use mcp_uplift::message::body::Body;
use mcp_uplift::message::wire::{self, FromClient, FromServer};

use super::tree::{items, members, text_of};
use super::{Verdict, numbers};

pub(crate) fn check(text: &str) -> Verdict {
    let seen = match wire::from_client(text) {
        FromClient::Request(id, method, params) => {
            format!("request {id} {method:?} {}", body(&params))
        }
        FromClient::Notification(method, params) => {
            format!("notification {method:?} {}", body(&params))
        }
        FromClient::Response => "response".into(),
        FromClient::NotJson(at) if at > text.len() => {
            return Err(format!("A7 not JSON from byte {at}"));
        }
        FromClient::NotJson(_) => "not json".into(),
        FromClient::Invalid(id) => {
            format!("invalid {}", id.map_or("-".into(), |id| id.to_string()))
        }
    };
    let expected = from_client(text);
    if seen != expected {
        return Err(format!("A8 {seen}, expected {expected}"));
    }
    let mut seen: Vec<String> = Vec::new();
    wire::from_server(text, &mut |message| seen.push(shown(&message)));
    let expected = from_server(text);
    if seen != expected {
        return Err(format!("A16 {seen:?}, expected {expected:?}"));
    }
    let broken = wire::broken_answer(text);
    let fits = broken.is_none_or(|number| {
        !text.contains("\"method\"")
            && text.trim_start().starts_with('{')
            && text.contains(&number.to_string())
    });
    if fits { Ok(()) } else { Err(format!("A16 broken answer {broken:?}")) }
}

fn shown(message: &FromServer<'_>) -> String {
    match message {
        FromServer::Request(id, method, params) => {
            format!("request {id} {method:?} {}", body(params))
        }
        FromServer::Notification(method, params) => {
            format!("notification {method:?} {}", body(params))
        }
        FromServer::Response(id, Ok(result)) => format!("response {id:?} result {}", body(result)),
        FromServer::Response(id, Err(error)) => format!("response {id:?} error {}", body(error)),
        FromServer::Noise => "noise".into(),
    }
}

fn body(body: &Body<'_>) -> String {
    match body {
        Body::Absent => "absent".into(),
        Body::Null => "null".into(),
        Body::Object(object) => format!("{:?}", object.iter().collect::<Vec<_>>()),
        Body::Other => "other".into(),
    }
}

/// The members of an object, the last of equal ones.
pub(crate) fn counting(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut kept: Vec<(Option<String>, (&str, &str))> = Vec::new();
    let all = members(text)?;
    for member in all {
        let name = text_of(member.0);
        kept.retain(|(known, _)| *known != name);
        kept.push((name, member));
    }
    Some(kept.into_iter().map(|(_, member)| member).collect())
}

/// A member, raw.
fn get<'a>(members: &[(&'a str, &'a str)], name: &str) -> Option<&'a str> {
    members
        .iter()
        .find(|(key, _)| text_of(key).is_some_and(|key| key == name))
        .map(|(_, value)| *value)
}

/// A string that has a UTF-8 form.
pub(crate) fn whole_text(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

fn is_version_2(members: &[(&str, &str)]) -> bool {
    get(members, "jsonrpc").and_then(text_of).is_some_and(|version| version == "2.0")
}

fn is_id(raw: &str) -> bool {
    raw.starts_with('"')
        || (raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && numbers::is_integral(raw))
}

fn expected_body(raw: Option<&str>) -> String {
    match raw {
        None => "absent".into(),
        Some("null") => "null".into(),
        Some(raw) => counting(raw).map_or("other".into(), |members| format!("{members:?}")),
    }
}

fn from_client(text: &str) -> String {
    if !super::tree::is_json(text) {
        return "not json".into();
    }
    let Some(all) = counting(text) else { return "invalid -".into() };
    let (id, method) = (get(&all, "id"), get(&all, "method"));
    if method.is_none() && (get(&all, "result").is_some() || get(&all, "error").is_some()) {
        return "response".into();
    }
    let params = || expected_body(get(&all, "params"));
    match (method.and_then(whole_text).filter(|_| is_version_2(&all)), id) {
        (Some(method), None) => format!("notification {method:?} {}", params()),
        (Some(method), Some(id)) if is_id(id) => format!("request {id} {method:?} {}", params()),
        _ => format!("invalid {}", id.filter(|id| is_id(id)).unwrap_or("-")),
    }
}

fn from_server(text: &str) -> Vec<String> {
    match items(text) {
        Some(items) => items.into_iter().map(server_message).collect(),
        None => vec![server_message(text)],
    }
}

fn server_message(text: &str) -> String {
    let Some(all) = counting(text).filter(|all| is_version_2(all)) else { return "noise".into() };
    let id = get(&all, "id");
    if let Some(method) = get(&all, "method") {
        let params = expected_body(get(&all, "params"));
        return match (whole_text(method), id) {
            (Some(method), None) => format!("notification {method:?} {params}"),
            (Some(method), Some(id)) if is_id(id) => format!("request {id} {method:?} {params}"),
            _ => "noise".into(),
        };
    }
    if let Some(error) = get(&all, "error").filter(|error| *error != "null") {
        return format!("response {id:?} error {}", expected_body(Some(error)));
    }
    match get(&all, "result") {
        Some(result) => format!("response {id:?} result {}", expected_body(Some(result))),
        None => "noise".into(),
    }
}
