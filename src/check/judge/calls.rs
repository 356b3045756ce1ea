//! Tools that were called (RDY112).

use super::{LEGACY, NOT_ASKED, of, outcome, pass, said, skip, unclear};
use crate::check::model::{Outcome, Verdict};
use crate::check::seen::{CallSeen, Seen};
use crate::message::object::Object;
use crate::message::value::is_string;
use crate::message::vocabulary::code;

pub(super) fn calls(seen: &Seen) -> Outcome {
    if seen.calls.is_empty() && !seen.lacks_call && seen.absent_tools.is_none() {
        let why = if seen.era.is_modern() { "no --call was given" } else { LEGACY };
        return skip(why);
    }
    let judged: Vec<_> = seen.calls.iter().map(call).collect();
    let worst =
        |verdict: Verdict| judged.iter().find(|outcome| outcome.verdict == verdict).cloned();
    let lacks_one = seen.lacks_call.then(|| unclear(seen, NOT_ASKED));
    let absent = seen.absent_tools.as_ref().map(|told| outcome(Verdict::Inconclusive, told));
    worst(Verdict::Fail)
        .or(absent)
        .or_else(|| worst(Verdict::Inconclusive))
        .or(lacks_one)
        .unwrap_or_else(pass)
}

fn call(call: &CallSeen) -> Outcome {
    let (last, second) = (call.last(), &call.second);
    if call.was_asked {
        return of(last, Verdict::Fail, "the question came as a request of the server");
    }
    if let Some(result) = last.result() {
        let requests = result.object("inputRequests").unwrap_or_default();
        let has_requests = !requests.is_empty();
        let are_questions = requests.iter().all(|(_, question)| is_question(question));
        let is_content = result.get("content").is_some_and(|raw| raw.starts_with('['));
        return match result.string("resultType").as_deref() {
            Some("complete") if is_content => pass(),
            Some("input_required") if has_requests && !are_questions => {
                of(last, Verdict::Fail, "inputRequests that are no questions")
            }
            Some("input_required") if has_requests && second.is_some() => pass(),
            Some("input_required") if has_requests => {
                of(last, Verdict::Fail, "questions although no capability was declared")
            }
            Some("input_required") if result.get("requestState").is_some_and(is_string) => pass(),
            _ => of(last, Verdict::Fail, "a result that is neither complete nor input_required"),
        };
    }
    match last.code() {
        Some(code::MISSING_CAPABILITY) if second.is_some() => {
            of(last, Verdict::Fail, "error -32021 although the capabilities were declared")
        }
        Some(code::MISSING_CAPABILITY) => {
            of(last, Verdict::Fail, "error -32021 without data.requiredCapabilities")
        }
        Some(-32003 | code::URL_REQUIRED) => said(last, Verdict::Fail, ""),
        _ => said(last, Verdict::Inconclusive, ""),
    }
}

/// Is it an entry of `inputRequests`?
fn is_question(raw: &str) -> bool {
    let method = Object::parse(raw).and_then(|question| question.string("method"));
    let known = ["elicitation/create", "sampling/createMessage", "roots/list"];
    method.is_some_and(|method| known.contains(&&*method))
}
