//! What holds at the end of every case, unless its `also` says otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{Also, Case};
use super::client_script::Waiting;
use super::conformance;
use super::envelope::envelope_problem;
use super::json::{Json, short};
use super::transcript::{Passed, Transcript, Way};

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
        for passed in transcript.client.iter().filter(|passed| passed.way == Way::FromBridge) {
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
        return Err("the server was stopped while its script still waited for something".to_owned());
    }
    if let Some(wanted) = &also.stderr_contains {
        let said = String::from_utf8_lossy(&transcript.stderr);
        if !said.contains(wanted) {
            return Err(format!("{wanted:?} is not on stderr: {}", short(&said, 300)));
        }
    }
    let mut rest = events.iter();
    for name in &also.server_events {
        if !rest.any(|event| event == name) {
            return Err(format!("server events {events:?} lack {name:?} (in that order)"));
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
        return Err(format!("the server was started {starts} times instead of {wanted}"));
    }
    Ok(())
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
        let token = member("_meta").and_then(|meta| meta.get("progressToken")).map(Json::to_text);
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
                let token = member("progressToken").map(Json::to_text).unwrap_or_default();
                if cancelled.contains(&token) {
                    continue;
                }
                let value = member("progress").and_then(Json::as_f64).unwrap_or(f64::NAN);
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
