//! The outer shape of what the bridge writes to its client (A4, A5, E2).

use super::json::Json;

const DOWNWARD: [&str; 8] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/progress",
    "notifications/message",
    "notifications/tasks",
    "notifications/subscriptions/acknowledged",
];

/// What is wrong with the outer shape of a line the bridge wrote to its client.
pub(crate) fn envelope_problem(message: &Json, legacy: bool) -> Option<&'static str> {
    let Some(members) = message.members() else {
        let batch = legacy && message.items().is_some();
        return (!batch).then_some("not a JSON object");
    };
    if message.get("jsonrpc").and_then(Json::text) != Some("2.0") {
        return Some("jsonrpc is not \"2.0\"");
    }
    if legacy {
        return None;
    }
    let id = message.get("id");
    if !id.is_none_or(is_id) {
        return Some("id is neither string nor integer");
    }
    let only = |allowed: &[&str]| members.iter().all(|(name, _)| allowed.contains(&name.as_str()));
    if let Some(method) = message.get("method") {
        if id.is_some() {
            return Some("a request was sent to a modern client");
        }
        if !only(&["jsonrpc", "method", "params"]) {
            return Some("extra member in a notification");
        }
        let known = method.text().is_some_and(|method| DOWNWARD.contains(&method));
        return (!known).then_some("a notification that modern clients do not know");
    }
    if let Some(error) = message.get("error") {
        if !only(&["jsonrpc", "id", "error"]) {
            return Some("extra member in an error response");
        }
        return error_problem(error);
    }
    if !only(&["jsonrpc", "id", "result"]) || id.is_none() {
        return Some("neither result, error nor notification, or an extra member");
    }
    let stamped = message.get("result").and_then(|result| result.get("resultType")?.text());
    stamped.is_none().then_some("result without resultType")
}

fn error_problem(error: &Json) -> Option<&'static str> {
    let sound = error.get("code").is_some_and(Json::is_integer)
        && error.get("message").is_some_and(|message| message.text().is_some());
    if !sound {
        return Some("malformed error object");
    }
    let known = |name: &str| matches!(name, "code" | "message" | "data");
    let members = error.members().unwrap_or_default();
    (!members.iter().all(|(name, _)| known(name))).then_some("extra member in the error object")
}

/// A string or an integral number; what is too large for a float has no fraction.
fn is_id(id: &Json) -> bool {
    let is_integral = |value: f64| value.is_infinite() || value.fract() == 0.0;
    id.text().is_some() || id.is_integer() || id.as_f64().is_some_and(is_integral)
}
