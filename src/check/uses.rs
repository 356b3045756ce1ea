//! What the server uses that is gone, and what changes for clients when it is wrapped.

use super::changes::Changed;
use super::model::{Change, Feature, Gone};
use super::seen::{Probe, Reply, Seen};
use crate::message::object::Object;
use crate::message::vocabulary::code;

/// Tools that were listed and called in neither column.
pub(super) fn uncalled_tools(seen: &Seen, wrapped: Option<&Seen>) -> usize {
    let calls: Vec<_> =
        [Some(seen), wrapped].into_iter().flatten().flat_map(|s| &s.calls).collect();
    let names = seen.tools().and_then(|list| list.names.as_ref());
    let is_called = |name: &&String| calls.iter().any(|call| call.name == **name);
    names.map_or(0, |names| names.iter().filter(|name| !is_called(name)).count())
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
    let mut declare = |what: Gone, is_declared: bool| {
        if is_declared && !features.iter().any(|feature| feature.what == what) {
            let frame = probe.frames.last().cloned();
            features.push(Feature { what, is_observed: false, child, frame });
        }
    };
    declare(Gone::Logging, has("logging"));
    declare(Gone::Subscribe, subscribes && probe.method == "initialize");
    declare(Gone::Tasks, has("tasks"));
    declare(Gone::Completions, is_oldest && !has("completions"));
    let experimental = capabilities.object("experimental").is_some_and(|all| !all.is_empty());
    declare(Gone::Experimental, experimental);
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
    let observed = |what| seen.features.iter().any(|f| f.what == what && f.is_observed);
    let asked = observed(Gone::Elicitation) || observed(Gone::Sampling);
    let subscribes = capabilities
        .object("resources")
        .is_some_and(|resources: Object<'_>| resources.is_true("subscribe"));
    let mut changes = Vec::new();
    let mut add = |change: Changed, is_so: bool, because: &str| {
        if is_so {
            let (id, text) = change.words();
            changes.push(Change { id, text, because: because.to_owned() });
        }
    };
    add(Changed::SerialCalls, has("tools"), "tools are advertised");
    let questions = if asked { "a question was seen" } else { "not observed" };
    add(Changed::QuestionsAsInput, has("tools"), questions);
    let is_ambient = asked || observed(Gone::Roots);
    add(Changed::AmbientQuestionRefused, is_ambient, "a question came outside a call");
    add(Changed::RootsFrozen, observed(Gone::Roots), "roots/list was asked");
    add(Changed::LogPerRequest, has("logging") || observed(Gone::Logging), "logging is in use");
    add(Changed::SubscribeViaListen, subscribes, "resources.subscribe is advertised");
    add(Changed::TasksDriven, has("tasks"), "the capability 'tasks' is advertised");
    add(Changed::CacheDefaults, true, "the server gives no hints");
    let other_code = code_of(seen.read.as_ref()).map(|code| code.to_string());
    let other_code = "resources/read gave ".to_owned() + other_code.as_deref().unwrap_or_default();
    let is_mapped =
        code_of(seen.read.as_ref()).is_some() && code_of(wrapped.read.as_ref()).is_none();
    add(Changed::ErrorCodesMapped, is_mapped, &other_code);
    let local = local_method(seen);
    let is_local = local.unwrap_or_default().to_owned() + " is answered otherwise";
    add(Changed::MethodsLocal, local.is_some(), &is_local);
    add(Changed::StdoutFiltered, !seen.junk.is_empty(), "lines that are no messages were seen");
    add(Changed::SharedSession, true, "always");
    add(Changed::RestartOnExit, !seen.deaths.is_empty(), "a process ended on a request");
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
