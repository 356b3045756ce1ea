//! What was seen becomes outcomes: one small function for each rule, by the contract's tables.

mod calls;
mod probes;

use super::model::{Era, Frame, Gone, Outcome, Verdict};
use super::secrets::clean;
use super::seen::{CallSeen, Listing, Probe, Reply, Seen};
use crate::message::list;
use crate::message::object::Object;
use crate::message::value::{is_integer, is_object, is_string, string};
use crate::message::vocabulary::{MODERN, Revision, key};
use calls::calls;
use probes::{
    absent_resource, listen, missing_meta, ping, set_level, subscribe, unknown_method,
    version_code, version_refused,
};

/// How a rule is judged.
type Judge = fn(&Seen) -> Outcome;

/// All rules, in the order of their ids.
pub(super) const JUDGES: [(&str, Judge); 26] = [
    ("MCP001", discover),
    ("MCP002", stands_alone),
    ("MCP004", result_type),
    ("MCP005", cache_hints),
    ("MCP006", ping),
    ("MCP007", set_level),
    ("MCP008", subscribe),
    ("MCP009", listen),
    ("MCP011", absent_resource),
    ("MCP012", version_code),
    ("MCP013", envelope),
    ("MCP015", deprecated),
    ("MCP017", order),
    ("MCP018", identity),
    ("RDY101", junk),
    ("RDY102", ids),
    ("RDY103", advertised_lists),
    ("RDY104", version_refused),
    ("RDY105", missing_meta),
    ("RDY106", questions),
    ("RDY107", unasked),
    ("RDY108", unknown_method),
    ("RDY109", deaths),
    ("RDY110", end_of_input),
    ("RDY111", core_tasks),
    ("RDY112", calls),
];

// ---- outcomes ----

/// Small functions, and never copied into their many callers: the program is to stay small.
#[inline(never)]
fn outcome(verdict: Verdict, found: &str) -> Outcome {
    Outcome { verdict, found: found.to_owned(), method: "", evidence: Vec::new(), late: None }
}

fn pass() -> Outcome {
    outcome(Verdict::Pass, "")
}

fn skip(why: &str) -> Outcome {
    outcome(Verdict::Skip, why)
}

fn unclear(seen: &Seen, why: &str) -> Outcome {
    outcome(Verdict::Inconclusive, seen.gave_up.unwrap_or(why))
}

/// An outcome that one probe shows.
#[inline(never)]
fn of(probe: &Probe, verdict: Verdict, found: &str) -> Outcome {
    let mut outcome = shown(&probe.frames, verdict, found);
    outcome.method = probe.method;
    outcome
}

/// The same in the server's own words.
#[inline(never)]
fn said(probe: &Probe, verdict: Verdict, before: &str) -> Outcome {
    let mut found = before.to_owned();
    found.push_str(&probe.words);
    of(probe, verdict, &found)
}

/// The outcome of a first request, marked where the process had not started by then.
fn late(seen: &Seen, probe: &Probe, outcome: Outcome) -> Outcome {
    Outcome { late: seen.lateness(probe), ..outcome }
}

/// An outcome that some lines show.
#[inline(never)]
fn shown(frames: &[Frame], verdict: Verdict, found: &str) -> Outcome {
    let mut outcome = outcome(verdict, found);
    outcome.evidence = frames.to_vec();
    outcome
}

/// The exchange in which the server told its capabilities.
#[inline(never)]
fn opening(seen: &Seen) -> Option<&Probe> {
    [&seen.discover, &seen.initialize].into_iter().flatten().find(|probe| probe.is_result())
}

/// Why a rule that is for modern servers is not judged.
#[inline(never)]
fn not_modern(seen: &Seen) -> Option<Outcome> {
    match seen.era {
        Era::Modern | Era::Dual => None,
        Era::Legacy => Some(skip(LEGACY)),
        Era::Unknown => Some(unclear(seen, "no era could be made out")),
    }
}

const LEGACY: &str = "the server is a legacy one";
const NOT_ASKED: &str = "it was not asked";

// ---- the opening ----

fn discover(seen: &Seen) -> Outcome {
    let Some(probe) = &seen.discover else { return unclear(seen, NOT_ASKED) };
    let Some(result) = probe.result() else {
        return late(seen, probe, said(probe, Verdict::Fail, ""));
    };
    let versions = result.get("supportedVersions").and_then(list::array);
    let is_listed = |mut versions: list::Items<'_>| {
        versions.any(|version| string(version).is_some_and(|version| version == MODERN))
    };
    if !versions.is_some_and(is_listed) {
        return of(probe, Verdict::Fail, "a result whose supportedVersions lacks 2026-07-28");
    }
    if !result.get("capabilities").is_some_and(is_object) {
        return of(probe, Verdict::Fail, "a result without an object 'capabilities'");
    }
    pass()
}

fn stands_alone(seen: &Seen) -> Outcome {
    let alone = seen.alone.as_ref();
    let lists_alone = alone.is_some_and(Listing::works);
    let evidence = |found: &str| match alone {
        Some(list) => of(&list.probe, Verdict::Fail, found),
        None => outcome(Verdict::Fail, found),
    };
    if let Some(fault) = negotiated(seen) {
        return fault;
    }
    if !lists_alone {
        if let Some(list) = alone.filter(|list| seen.lateness(&list.probe).is_some()) {
            return late(seen, &list.probe, said(&list.probe, Verdict::Fail, ""));
        }
        if works(seen.plain.as_ref()) || works(seen.enveloped.as_ref()) {
            return evidence("lists only after initialize");
        }
        if seen.lists_at_once() && alone.is_some() {
            return evidence("lists only after server/discover");
        }
        if seen.era == Era::Legacy {
            return evidence("initialize is needed first");
        }
        return unclear(seen, "no list was ever answered");
    }
    let Some(probe) = &seen.initialize else { return unclear(seen, "initialize was not tried") };
    match seen.era {
        Era::Legacy => {
            of(probe, Verdict::Fail, "initialize is accepted by a server that is not modern")
        }
        Era::Dual => outcome(Verdict::Pass, "dual-era: initialize works, too"),
        Era::Modern | Era::Unknown => match &probe.reply {
            Reply::Error(raw) if raw.contains(MODERN) => pass(),
            Reply::Error(_) => {
                said(probe, Verdict::Warn, "initialize is refused without naming a version: ")
            }
            Reply::Result(_) | Reply::Silence(_) | Reply::Exited => {
                said(probe, Verdict::Inconclusive, "initialize: ")
            }
        },
    }
}

/// A version that no handshake may settle on.
fn negotiated(seen: &Seen) -> Option<Outcome> {
    let probe = seen.initialize.as_ref()?;
    let version = probe.result()?.string("protocolVersion")?;
    if Revision::named(&version).is_some() {
        return None;
    }
    let mut found = "initialize settles on ".to_owned();
    found.push_str(&seen.shown(&version));
    Some(of(probe, Verdict::Fail, &found))
}

fn works(listing: Option<&Listing>) -> bool {
    listing.is_some_and(Listing::works)
}

/// Looks at each result of discover and the lists: one finding for those that are at fault.
fn each_result(
    seen: &Seen,
    verdict: Verdict,
    fault: &dyn Fn(&Object<'_>) -> Option<String>,
    and_calls: bool,
) -> Outcome {
    let lists = seen.usable_lists();
    let discover = seen.discover.iter().filter(|probe| probe.is_result());
    let calls = seen.calls.iter().map(CallSeen::last);
    let calls = calls.filter(|probe| and_calls && probe.is_result());
    let mut probes: Vec<&Probe> = discover.collect();
    probes.extend(lists.iter().map(|list| &list.probe).filter(|probe| probe.is_result()));
    probes.extend(calls);
    if probes.is_empty() {
        return unclear(seen, "there was no result to look at");
    }
    let mut found = outcome(Verdict::Pass, "");
    for probe in probes {
        let Some(what) = fault(&probe.result().unwrap_or_default()) else { continue };
        if found.verdict == Verdict::Pass {
            found = of(probe, verdict, "");
        } else {
            found.evidence.extend_from_slice(&probe.frames);
            found.found.push_str(", ");
        }
        found.found.push_str(probe.method);
        found.found.push_str(": ");
        found.found.push_str(&what);
    }
    found
}

fn result_type(seen: &Seen) -> Outcome {
    let fault = |result: &Object<'_>| match result.get("resultType") {
        Some("\"complete\"" | "\"input_required\"") => None,
        Some(other) => Some("resultType ".to_owned() + &seen.shown(other)),
        None => Some("no resultType".to_owned()),
    };
    each_result(seen, Verdict::Fail, &fault, true)
}

fn cache_hints(seen: &Seen) -> Outcome {
    let fault = |result: &Object<'_>| {
        let is_ttl = |raw: &str| is_integer(raw) && !raw.starts_with('-');
        let has_ttl = result.get("ttlMs").is_some_and(is_ttl);
        let scope = result.string("cacheScope");
        let has_scope = matches!(scope.as_deref(), Some("public" | "private"));
        let what = match (has_ttl, has_scope) {
            (true, true) => return None,
            (false, true) => "no valid ttlMs",
            (true, false) => "no valid cacheScope",
            (false, false) => "no valid ttlMs and cacheScope",
        };
        Some(what.to_owned())
    };
    each_result(seen, Verdict::Fail, &fault, false)
}

fn identity(seen: &Seen) -> Outcome {
    let fault = |result: &Object<'_>| {
        let info = result.object("_meta").and_then(|meta| meta.object(key::SERVER_INFO));
        let is_named = |info: Object<'_>| {
            ["name", "version"].iter().all(|name| info.get(name).is_some_and(is_string))
        };
        (!info.is_some_and(is_named)).then(|| "no serverInfo".to_owned())
    };
    each_result(seen, Verdict::Warn, &fault, false)
}

fn envelope(seen: &Seen) -> Outcome {
    if seen.lists_at_once() || works(seen.alone.as_ref()) || works(seen.enveloped.as_ref()) {
        return pass();
    }
    match (&seen.plain, &seen.enveloped) {
        (Some(plain), Some(enveloped)) if plain.works() => {
            said(&enveloped.probe, Verdict::Fail, "")
        }
        _ => unclear(seen, "no list was ever answered"),
    }
}

fn deprecated(seen: &Seen) -> Outcome {
    let mut told = Vec::new();
    let mut evidence = Vec::new();
    if seen.capabilities().get("logging").is_some() {
        told.push("logging is advertised");
        evidence.extend_from_slice(opening(seen).map_or(&[], |probe| &probe.frames));
    }
    for (what, text) in
        [(Gone::Roots, "roots/list was asked"), (Gone::Sampling, "sampling was asked")]
    {
        let used = seen.features.iter().find(|feature| feature.what == what && feature.is_observed);
        if let Some(feature) = used {
            told.push(text);
            evidence.extend_from_slice(feature.frame.as_slice());
        }
    }
    let in_calls = |call: &&CallSeen| match &call.last().reply {
        Reply::Result(raw) => {
            ["\"roots/list\"", "\"sampling/createMessage\""].iter().any(|m| raw.contains(m))
        }
        Reply::Error(_) | Reply::Silence(_) | Reply::Exited => false,
    };
    if let Some(call) = seen.calls.iter().find(in_calls) {
        told.push("a tool asks for roots or sampling");
        evidence.extend_from_slice(&call.last().frames);
    }
    if told.is_empty() { pass() } else { shown(&evidence, Verdict::Warn, &told.join(", ")) }
}

fn order(seen: &Seen) -> Outcome {
    let first = seen.lists.first();
    // Behind this program a legacy client is passed through, and gets the server's own order.
    let [plain, enveloped] =
        [&seen.plain, &seen.enveloped].map(|list| list.as_ref().filter(|_| !seen.is_wrapped));
    let listings = [first, seen.again.as_ref(), seen.alone.as_ref(), plain, enveloped];
    let named: Vec<_> = listings
        .into_iter()
        .flatten()
        .filter_map(|list| list.names.as_ref().map(|names| (list, names)))
        .collect();
    let Some((_, names)) = named.first() else { return skip("no list was answered") };
    if names.len() < 2 {
        return skip("fewer than two items");
    }
    match named.iter().find(|(_, others)| others != names) {
        None => pass(),
        Some((list, others)) => {
            let same = names.len() == others.len() && names.iter().all(|n| others.contains(n));
            let found = if same { "another order each time" } else { "other items each time" };
            of(&list.probe, Verdict::Warn, found)
        }
    }
}

fn advertised_lists(seen: &Seen) -> Outcome {
    if !seen.era.is_modern() {
        return skip(LEGACY);
    }
    match seen.lists.iter().find(|list| !list.works()) {
        None if seen.lacks_list => unclear(seen, NOT_ASKED),
        None => pass(),
        Some(list) => {
            let what = if list.probe.is_result() { " without its array: " } else { ": " };
            said(&list.probe, Verdict::Fail, &(list.probe.method.to_owned() + what))
        }
    }
}

fn core_tasks(seen: &Seen) -> Outcome {
    if seen.capabilities().get("tasks").is_some() {
        let frames = opening(seen).map_or(&[][..], |probe| &probe.frames);
        return shown(frames, Verdict::Warn, "the capability 'tasks' is advertised");
    }
    match seen.usable_lists().into_iter().find(|list| list.has_tasks) {
        Some(list) => of(&list.probe, Verdict::Warn, "a tool has execution.taskSupport"),
        None => pass(),
    }
}

// ---- all along ----

fn junk(seen: &Seen) -> Outcome {
    if seen.junk.is_empty() {
        return pass();
    }
    let mut found = "a line that is no message: ".to_owned();
    found.push_str(&seen.junk.first().map(|frame| clean(&frame.text)).unwrap_or_default());
    shown(&seen.junk, Verdict::Fail, &found)
}

fn ids(seen: &Seen) -> Outcome {
    if seen.wrong_ids.is_empty() {
        return pass();
    }
    shown(&seen.wrong_ids, Verdict::Fail, "an answer under another id, or a second one")
}

fn questions(seen: &Seen) -> Outcome {
    if !seen.era.is_modern() {
        return skip(LEGACY);
    }
    if seen.asked.is_empty() {
        return pass();
    }
    shown(&seen.asked, Verdict::Fail, "the server sent a request")
}

fn unasked(seen: &Seen) -> Outcome {
    if !seen.era.is_modern() {
        return skip(LEGACY);
    }
    if seen.told.is_empty() {
        return pass();
    }
    shown(&seen.told, Verdict::Fail, "a notification without a subscriptionId")
}

fn deaths(seen: &Seen) -> Outcome {
    let Some((_, frames)) = seen.deaths.first() else { return pass() };
    let mut methods: Vec<_> = seen.deaths.iter().map(|(method, _)| *method).collect();
    methods.dedup();
    let verdict = if seen.era.is_modern() { Verdict::Fail } else { Verdict::Warn };
    shown(frames, verdict, &("the process ended on ".to_owned() + &methods.join(", ")))
}

fn end_of_input(seen: &Seen) -> Outcome {
    if !seen.was_ended {
        return unclear(seen, "no main process lived to its end");
    }
    if seen.outlives_input {
        return outcome(Verdict::Warn, "still running 2 s after its stdin was closed");
    }
    pass()
}
