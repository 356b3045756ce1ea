//! What the server uses that is gone, and what changes for clients when it is wrapped.

use super::changes;
use super::model::{Change, Feature};
use super::seen::{Probe, Reply, Seen};
use crate::message::object::Object;
use crate::message::vocabulary::code;

/// Tools that were listed.
pub(super) fn tools(seen: &Seen) -> usize {
    let lists = seen.usable_lists();
    let of_tools = lists.iter().find(|list| list.probe.method == "tools/list");
    of_tools.and_then(|list| list.names.as_ref()).map_or(0, Vec::len)
}

/// Observed ones first as they came, then those that are declared only.
pub(super) fn features(seen: &Seen) -> Vec<Feature> {
    let mut features = seen.features.clone();
    let probe = seen.initialize.iter().chain(&seen.discover).find(|probe| probe.is_result());
    let Some(probe) = probe else { return features };
    let result = probe.result().unwrap_or_default();
    let capabilities = result.object("capabilities").unwrap_or_default();
    let child = probe.frames.first().map_or('C', |frame| frame.child);
    let subscribes =
        capabilities.object("resources").is_some_and(|resources| resources.is_true("subscribe"));
    let is_oldest = result.string("protocolVersion").as_deref() == Some("2024-11-05");
    let has = |name: &str| capabilities.get(name).is_some();
    let mut declare = |name: &'static str, is_declared: bool| {
        if is_declared && !features.iter().any(|feature| feature.name == name) {
            let frame = probe.frames.last().cloned();
            features.push(Feature { name, is_observed: false, child, frame });
        }
    };
    declare("logging", has("logging"));
    declare("resources.subscribe", subscribes && probe.method == "initialize");
    declare("tasks", has("tasks"));
    declare("completions without capability", is_oldest && !has("completions"));
    let experimental = capabilities.object("experimental").is_some_and(|all| !all.is_empty());
    declare("experimental", experimental);
    features
}

/// What is different when wrapped, as far as it concerns this server.
pub(super) fn changes(seen: &Seen, wrapped: Option<&Seen>) -> Vec<Change> {
    let Some(wrapped) = wrapped else { return Vec::new() };
    if seen.initialize.as_ref().is_none_or(|probe| !probe.is_result()) {
        return Vec::new();
    }
    let capabilities = seen.capabilities();
    let has = |name: &str| capabilities.get(name).is_some();
    let observed = |name: &str| seen.features.iter().any(|f| f.name == name && f.is_observed);
    let asked = observed("elicitation") || observed("sampling");
    let subscribes = capabilities
        .object("resources")
        .is_some_and(|resources: Object<'_>| resources.is_true("subscribe"));
    let mut changes = Vec::new();
    let mut add = |id: &str, is_so: bool, because: &str| {
        if let Some(change) = changes::find(id).filter(|_| is_so) {
            changes.push(Change { id: change.id, text: change.text, because: because.to_owned() });
        }
    };
    add("serial-calls", has("tools"), "tools are advertised");
    let questions = if asked { "a question was seen" } else { "not observed" };
    add("questions-as-input", has("tools"), questions);
    let is_ambient = asked || observed("roots/list");
    add("ambient-question-refused", is_ambient, "a question came outside a call");
    add("roots-frozen", observed("roots/list"), "roots/list was asked");
    add("log-per-request", has("logging") || observed("logging"), "logging is in use");
    add("subscribe-via-listen", subscribes, "resources.subscribe is advertised");
    add("tasks-driven", has("tasks"), "the capability 'tasks' is advertised");
    add("cache-defaults", true, "the server gives no hints");
    let other_code = code_of(seen.read.as_ref()).map(|code| code.to_string());
    let other_code = "resources/read gave ".to_owned() + other_code.as_deref().unwrap_or_default();
    let is_mapped =
        code_of(seen.read.as_ref()).is_some() && code_of(wrapped.read.as_ref()).is_none();
    add("error-codes-mapped", is_mapped, &other_code);
    let local = local_method(seen);
    let is_local = local.unwrap_or_default().to_owned() + " is answered otherwise";
    add("methods-local", local.is_some(), &is_local);
    add("stdout-filtered", !seen.junk.is_empty(), "lines that are no messages were seen");
    add("shared-session", true, "always");
    add("restart-on-exit", !seen.deaths.is_empty(), "a process ended on a request");
    changes
}

/// A code of reading what is not there that 2026-07-28 does not have.
fn code_of(probe: Option<&Probe>) -> Option<i64> {
    probe?.code().filter(|seen| *seen != code::INVALID_PARAMS)
}

/// A method that is gone and that the server answers all the same, or not at all.
fn local_method(seen: &Seen) -> Option<&'static str> {
    let probes = [&seen.ping, &seen.set_level, &seen.subscribe, &seen.unsubscribe, &seen.unknown];
    let is_other = |probe: &&Probe| {
        !matches!(probe.reply, Reply::Error(_)) || probe.code() != Some(code::METHOD_NOT_FOUND)
    };
    probes.into_iter().flatten().find(is_other).map(|probe| probe.method)
}
