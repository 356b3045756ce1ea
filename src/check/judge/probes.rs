//! What is asked one thing at a time: methods that are gone, streams, absent resources, versions,
//! envelopes that lack something.

use super::{NOT_ASKED, late, not_modern, of, pass, said, skip, unclear};
use crate::check::model::{Era, Outcome, Verdict};
use crate::check::seen::{Probe, Reply, Seen};
use crate::message::list;
use crate::message::vocabulary::code;

/// A method that is gone: -32601 is right, a result wrong, anything else a warning.
fn removed(seen: &Seen, probe: Option<&Probe>) -> Outcome {
    let Some(probe) = probe else { return unclear(seen, NOT_ASKED) };
    match &probe.reply {
        Reply::Result(_) => said(probe, Verdict::Fail, "answered with "),
        Reply::Error(_) if probe.code() == Some(code::METHOD_NOT_FOUND) => pass(),
        Reply::Error(_) => said(probe, Verdict::Warn, ""),
        Reply::Silence(_) | Reply::Exited => said(probe, Verdict::Inconclusive, ""),
    }
}

pub(super) fn ping(seen: &Seen) -> Outcome {
    removed(seen, seen.ping.as_ref())
}

pub(super) fn set_level(seen: &Seen) -> Outcome {
    removed(seen, seen.set_level.as_ref())
}

pub(super) fn subscribe(seen: &Seen) -> Outcome {
    let first = removed(seen, seen.subscribe.as_ref());
    let second = removed(seen, seen.unsubscribe.as_ref());
    let rank = |outcome: &Outcome| match outcome.verdict {
        Verdict::Fail => 0,
        Verdict::Warn => 1,
        Verdict::Inconclusive => 2,
        Verdict::Pass | Verdict::Skip => 3,
    };
    if rank(&second) < rank(&first) { second } else { first }
}

pub(super) fn listen(seen: &Seen) -> Outcome {
    let capabilities = seen.capabilities();
    let offers =
        |name: &str, flag: &str| capabilities.object(name).is_some_and(|offer| offer.is_true(flag));
    let is_offered =
        ["tools", "prompts", "resources"].iter().any(|name| offers(name, "listChanged"))
            || offers("resources", "subscribe");
    if !is_offered {
        return skip("no changes are advertised");
    }
    let Some(listen) = &seen.listen else { return unclear(seen, NOT_ASKED) };
    match &listen.fault {
        None => pass(),
        Some(fault) => of(&listen.probe, Verdict::Fail, fault),
    }
}

pub(super) fn absent_resource(seen: &Seen) -> Outcome {
    if seen.capabilities().get("resources").is_none() {
        return skip("no resources are advertised");
    }
    let Some(probe) = &seen.read else { return unclear(seen, NOT_ASKED) };
    match &probe.reply {
        Reply::Error(_) if probe.code() == Some(code::INVALID_PARAMS) => pass(),
        // What a server says in its own way is passed on: it may mean anything.
        Reply::Error(_) if seen.is_wrapped && probe.code() != Some(code::RESOURCE_NOT_FOUND) => {
            said(probe, Verdict::Warn, "the server's own answer, passed on: ")
        }
        Reply::Error(_) => said(probe, Verdict::Fail, ""),
        Reply::Result(_) => {
            let result = probe.result().unwrap_or_default();
            let is_empty =
                result.get("contents").and_then(list::array).is_none_or(|mut c| c.next().is_none());
            if is_empty {
                return of(probe, Verdict::Fail, "a result with empty contents");
            }
            of(probe, Verdict::Inconclusive, "a resource that nobody serves was read")
        }
        Reply::Silence(_) | Reply::Exited => said(probe, Verdict::Inconclusive, ""),
    }
}

/// The code by which 2026-07-28 drafts refused a version.
const OLD_VERSION_CODE: i64 = -32004;

pub(super) fn version_code(seen: &Seen) -> Outcome {
    if let Some(why) = not_modern(seen) {
        return why;
    }
    let Some(probe) = &seen.version else { return unclear(seen, NOT_ASKED) };
    match probe.code() {
        Some(code::UNSUPPORTED_VERSION) => pass(),
        Some(OLD_VERSION_CODE) => said(probe, Verdict::Fail, ""),
        _ => skip("RDY104 tells what became of an unknown version"),
    }
}

pub(super) fn version_refused(seen: &Seen) -> Outcome {
    if let Some(why) = not_modern(seen) {
        return why;
    }
    let Some(probe) = &seen.version else { return unclear(seen, NOT_ASKED) };
    let error = probe.error().unwrap_or_default();
    match probe.code() {
        Some(OLD_VERSION_CODE) => skip("MCP012 tells that the code is an old one"),
        Some(code::UNSUPPORTED_VERSION) => {
            let data = error.object("data").unwrap_or_default();
            if data.get("supported").and_then(list::array).is_some() {
                return pass();
            }
            of(probe, Verdict::Fail, "error -32022 without data.supported")
        }
        _ => late(seen, probe, said(probe, Verdict::Fail, "version 1999-01-01: ")),
    }
}

pub(super) fn missing_meta(seen: &Seen) -> Outcome {
    if let Some(why) = not_modern(seen) {
        return why;
    }
    let probes = [&seen.without_meta, &seen.version_only];
    let is_right = |probe: &Probe| match probe.code() {
        Some(code::INVALID_PARAMS) => true,
        // What comes without an envelope may be taken for the other era.
        Some(code::INVALID_REQUEST) => seen.era == Era::Dual,
        _ => false,
    };
    if probes.iter().any(|probe| probe.is_none()) {
        return unclear(seen, NOT_ASKED);
    }
    match probes.into_iter().flatten().find(|probe| !is_right(probe)) {
        None => pass(),
        Some(probe) => said(probe, Verdict::Warn, "without its _meta: "),
    }
}

pub(super) fn unknown_method(seen: &Seen) -> Outcome {
    if let Some(why) = not_modern(seen) {
        return why;
    }
    let Some(probe) = &seen.unknown else { return unclear(seen, NOT_ASKED) };
    if probe.code() == Some(code::METHOD_NOT_FOUND) {
        return pass();
    }
    said(probe, Verdict::Fail, "")
}
