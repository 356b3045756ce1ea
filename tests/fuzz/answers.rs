//! Answers of a client to a server's questions (E15, E16, D18), and with them the questions.

use mcp_uplift::message::answers::{self, Answer};
use mcp_uplift::message::questions::Kind;
use mcp_uplift::message::vocabulary::Revision;

use super::json::Json;
use super::model::{compare_outcome, is_number, is_string, levels, member, whole, without};
use super::rng::Rng;
use super::tree::{is_unclear, tree};
use super::words::input;
use super::{Target, Verdict, asked, visits};

pub(crate) const TARGET: Target = Target { name: "answers", seeds: 3_000, generate, check };

/// What fits, and what judges it.
type Tried = (&'static str, fn(&mut Rng, &str) -> Verdict);

const TRIED: [Tried; 11] = [
    ("form answer", |rng, text| answer(rng, Kind::Form, text)),
    ("form answer", |rng, text| answer(rng, Kind::Url, text)),
    ("sampling answer", |rng, text| answer(rng, Kind::Sampling, text)),
    ("sampling answer", |rng, text| answer(rng, Kind::Sampling, text)),
    ("roots answer", |rng, text| answer(rng, Kind::Roots, text)),
    ("no answer", |rng, text| answer(rng, Kind::Form, text)),
    ("form question", |rng, text| asked::check(rng, "elicitation/create", text)),
    ("url question", |rng, text| asked::check(rng, "elicitation/create", text)),
    ("sampling question", |rng, text| asked::check(rng, "sampling/createMessage", text)),
    ("roots question", |rng, text| asked::check(rng, "roots/list", text)),
    ("error", |_, text| visits::check(text)),
];

fn generate(rng: &mut Rng) -> Vec<u8> {
    let (shape, _) = *rng.pick(&TRIED);
    input(rng, shape)
}

fn check(rng: &mut Rng, bytes: &[u8]) -> Verdict {
    let (_, check) = *rng.pick(&TRIED);
    check(rng, &String::from_utf8_lossy(bytes))
}

fn answer(rng: &mut Rng, kind: Kind, text: &str) -> Verdict {
    // Only the value itself, as it stands in `inputResponses`.
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let revision = *rng.pick(&Revision::NEWEST_FIRST);
    let seen = answers::answer(kind, text, revision);
    let Some(given) = tree(text).filter(|_| !is_unclear(text)) else {
        let is_legal = matches!(seen, Answer::Legal(_));
        return if is_legal { Err(format!("E16 {seen:?}")) } else { Ok(()) };
    };
    match (seen, judged(kind, &given, revision)) {
        (Answer::Missing, Judged::Missing)
        | (Answer::Illegal(_), Judged::Illegal)
        | (Answer::TooDeep, Judged::TooDeep) => Ok(()),
        (Answer::Legal(given), Judged::Legal(expected)) => {
            let is_elicited = matches!(kind, Kind::Form | Kind::Url);
            let accepts = is_elicited && whole(expected.get("action")) == Some("accept");
            if given.is_accepted != accepts {
                return Err(format!("E28 consent taken for {}", !accepts));
            }
            compare_outcome("E16", text, &given.outcome, "result", expected)
        }
        (Answer::Legal(given), Judged::Unsupported) => {
            let error = [
                ("code", Json::Number("-32602".into())),
                ("message", Json::string("unsupported sampling content")),
            ];
            compare_outcome("D18", text, &given.outcome, "error", Json::object(error))
        }
        (seen, expected) => Err(format!("E15 {seen:?}, expected {expected:?}")),
    }
}

#[derive(Debug)]
enum Judged {
    Missing,
    Illegal,
    TooDeep,
    Legal(Json),
    /// Legal, but the server's revision has no form for it.
    Unsupported,
}

fn judged(kind: Kind, given: &Json, revision: Revision) -> Judged {
    let Json::Object(members) = given else { return Judged::Missing };
    if given.has("method") || given.has("result") {
        return Judged::Missing;
    }
    if levels(given) > 128 {
        return Judged::TooDeep;
    }
    match kind {
        Kind::Form | Kind::Url => elicited(kind, given, members),
        Kind::Sampling => sampled(given, members, revision),
        Kind::Roots => {
            let is_root = |root: &Json| {
                whole(root.get("uri")).is_some_and(|uri| uri.starts_with("file://"))
                    && root.get("name").is_none_or(|name| is_string(Some(name)))
            };
            match given.get("roots") {
                Some(Json::Array(roots)) if roots.iter().all(is_root) => {
                    Judged::Legal(given.clone())
                }
                _ => Judged::Illegal,
            }
        }
    }
}

fn elicited(kind: Kind, given: &Json, members: &[(String, Json)]) -> Judged {
    let action = whole(given.get("action"));
    let fits = |value: &Json| match value {
        Json::Array(items) => items.iter().all(|item| is_string(Some(item))),
        value => is_string(Some(value)) || is_number(Some(value)) || value.as_bool().is_some(),
    };
    let content = given.get("content");
    let is_content = content.is_none_or(|content| {
        content.members().is_some_and(|members| members.iter().all(|(_, value)| fits(value)))
    });
    if !is_content || !matches!(action, Some("accept" | "decline" | "cancel")) {
        return Judged::Illegal;
    }
    let passes = kind == Kind::Form && action == Some("accept");
    Judged::Legal(Json::Object(without(members, if passes { &[] } else { &["content"] })))
}

fn sampled(given: &Json, members: &[(String, Json)], revision: Revision) -> Judged {
    let is_role = matches!(whole(given.get("role")), Some("user" | "assistant"));
    let stops = given.get("stopReason").is_none_or(|reason| is_string(Some(reason)));
    let is_block = |block: &Json| is_string(block.get("type"));
    let content = given.get("content");
    let is_content = match content {
        Some(Json::Array(blocks)) => blocks.iter().all(is_block),
        Some(block) => is_block(block),
        None => false,
    };
    if !is_role || !stops || !is_content || !is_string(given.get("model")) {
        return Judged::Illegal;
    }
    let Some(Json::Array(blocks)) = content.filter(|_| revision < Revision::R2025_11) else {
        return Judged::Legal(given.clone());
    };
    let one = match &blocks[..] {
        [] => None,
        [block] => Some(block.clone()),
        blocks => joined(blocks),
    };
    let Some(one) = one else { return Judged::Unsupported };
    let place = |(name, value): &(String, Json)| {
        member(name, if name == "content" { one.clone() } else { value.clone() })
    };
    Judged::Legal(Json::Object(members.iter().map(place).collect()))
}

/// Text blocks as one; half a surrogate pair cannot be put into a new text.
fn joined(blocks: &[Json]) -> Option<Json> {
    let text = |block: &Json| {
        let is_text = whole(block.get("type")) == Some("text");
        whole(block.get("text")).filter(|_| is_text).map(str::to_owned)
    };
    let texts = blocks.iter().map(text).collect::<Option<Vec<_>>>()?;
    Some(Json::object([("type", Json::string("text")), ("text", Json::String(texts.join("\n")))]))
}
