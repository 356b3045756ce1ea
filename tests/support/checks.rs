//! What holds at the end of every case, unless its `also` says otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Also, Case};
use super::client_script::Waiting;
use super::conformance;
use super::json::{Json, short};
use super::transcript::{Passed, Transcript, Way};

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

pub(crate) fn check_end(
    case: &Case,
    transcript: &Transcript,
    left_over: &[&Waiting],
) -> Result<(), String> {
    let also = &case.also;
    if let Some(extra) = left_over.first()
        && !also.allow_extra
    {
        return Err(format!("unexpected output: {}", short(&extra.text, 300)));
    }
    if also.stdout_is_jsonrpc {
        if let Some(problem) = transcript.malformed.first() {
            return Err(problem.clone());
        }
        for passed in transcript
            .client
            .iter()
            .filter(|passed| passed.way == Way::FromBridge)
        {
            if let Some(problem) = envelope_problem(&passed.message, also.legacy) {
                return Err(format!("{problem}: {}", passed.message.short(300)));
            }
        }
    }
    if !also.legacy {
        check_progress(&transcript.client)?;
    }
    check_server(also, transcript)?;
    if also.legacy || case.schema_loose.is_some() {
        return Ok(()); // a relay passes on what it gets
    }
    conformance::check(transcript)
}

fn check_server(also: &Also, transcript: &Transcript) -> Result<(), String> {
    let events = &transcript.events;
    let happened = |name: &str| events.iter().any(|event| event == name);
    if happened("unfinished") && also.server_done {
        return Err(
            "the server was stopped while its script still waited for something".to_owned(),
        );
    }
    if let Some(wanted) = &also.stderr_contains {
        let said = String::from_utf8_lossy(&transcript.stderr);
        if !said.contains(wanted) {
            return Err(format!(
                "{wanted:?} is not on stderr: {}",
                short(&said, 300)
            ));
        }
    }
    let mut rest = events.iter();
    for name in &also.server_events {
        if !rest.any(|event| event == name) {
            return Err(format!(
                "server events {events:?} lack {name:?} (in that order)"
            ));
        }
    }
    if let Some(name) = also.server_events_absent.iter().find(|name| happened(name)) {
        return Err(format!("server event {name:?} happened: {events:?}"));
    }
    let starts = transcript.server.len() as u64;
    if also.max_starts.is_some_and(|most| starts > most) {
        return Err(format!("the server was started {starts} times"));
    }
    if let Some(wanted) = also.starts.filter(|wanted| *wanted != starts) {
        return Err(format!(
            "the server was started {starts} times instead of {wanted}"
        ));
    }
    Ok(())
}

/// What is wrong with the outer shape of a line the bridge wrote to its client (A4, A5, E2).
fn envelope_problem(message: &Json, legacy: bool) -> Option<&'static str> {
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
    let only = |allowed: &[&str]| {
        members
            .iter()
            .all(|(name, _)| allowed.contains(&name.as_str()))
    };
    if let Some(method) = message.get("method") {
        if id.is_some() {
            return Some("a request was sent to a modern client");
        }
        if !only(&["jsonrpc", "method", "params"]) {
            return Some("extra member in a notification");
        }
        let known = method
            .text()
            .is_some_and(|method| DOWNWARD.contains(&method));
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
    let stamped = message
        .get("result")
        .and_then(|result| result.get("resultType")?.text());
    stamped.is_none().then_some("result without resultType")
}

fn error_problem(error: &Json) -> Option<&'static str> {
    let sound = error.get("code").is_some_and(Json::is_integer)
        && error
            .get("message")
            .is_some_and(|message| message.text().is_some());
    if !sound {
        return Some("malformed error object");
    }
    let known = |name: &str| matches!(name, "code" | "message" | "data");
    let members = error.members().unwrap_or_default();
    (!members.iter().all(|(name, _)| known(name))).then_some("extra member in the error object")
}

fn is_id(id: &Json) -> bool {
    id.text().is_some() || id.is_integer() || id.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// Progress is for a request that is open, and rises (F2, F3, F6). Cancelled requests are left out:
/// their last progress may cross the cancellation.
fn check_progress(lines: &[Passed]) -> Result<(), String> {
    let mut open: BTreeMap<String, Vec<String>> = BTreeMap::new(); // ids of the open requests, by token
    let mut highest: BTreeMap<String, f64> = BTreeMap::new();
    let mut cancelled = BTreeSet::new();
    for Passed { way, message } in lines {
        let member = |name: &str| message.get("params").and_then(|params| params.get(name));
        let method = message.get("method").and_then(Json::text);
        let token = member("_meta")
            .and_then(|meta| meta.get("progressToken"))
            .map(Json::to_text);
        match (way, method, message.get("id").map(Json::to_text)) {
            (Way::ToBridge, _, Some(id)) => {
                if let Some(token) = token {
                    highest.remove(&token);
                    open.entry(token).or_default().push(id);
                }
            }
            (Way::ToBridge, Some("notifications/cancelled"), None) => {
                let id = member("requestId").map(Json::to_text).unwrap_or_default();
                let named = open.iter().filter(|(_, ids)| ids.contains(&id));
                cancelled.extend(named.map(|(token, _)| token.clone()));
            }
            (Way::FromBridge, None, Some(id)) => {
                for ids in open.values_mut() {
                    if let Some(n) = ids.iter().position(|open| *open == id) {
                        ids.remove(n);
                    }
                }
            }
            (Way::FromBridge, Some("notifications/progress"), None) => {
                let token = member("progressToken")
                    .map(Json::to_text)
                    .unwrap_or_default();
                if cancelled.contains(&token) {
                    continue;
                }
                let value = member("progress")
                    .and_then(Json::as_f64)
                    .unwrap_or(f64::NAN);
                let requests = open.get(&token).map_or(0, Vec::len);
                if requests == 0 {
                    let line = message.short(160);
                    return Err(format!("progress for a request that is not open: {line}"));
                }
                let rises = highest.get(&token).is_none_or(|before| value > *before);
                if requests == 1 && !rises {
                    return Err(format!("progress does not rise: {}", message.short(160)));
                }
                highest.insert(token, value);
            }
            (Way::ToBridge | Way::FromBridge, _, _) => {}
        }
    }
    Ok(())
}
