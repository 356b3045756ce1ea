//! What the models share: the reserved names, and edits of a tree.

use mcp_uplift::message::body::Body;
use mcp_uplift::message::object::Object;
use mcp_uplift::message::vocabulary::Method;

use super::Verdict;
use super::json::Json;
use super::rng::Rng;
use super::tree::{has_equal_members, tree};

pub(crate) type Members = Vec<(String, Json)>;

pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// K2, apart from `serverInfo`.
const NOT_DOWN: [&str; 8] = [
    SERVER_INFO,
    SUBSCRIPTION_ID,
    "io.modelcontextprotocol/related-task",
    "io.modelcontextprotocol/model-immediate-response",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

/// The members without those names.
pub(crate) fn without(members: &[(String, Json)], names: &[&str]) -> Members {
    members.iter().filter(|(name, _)| !names.contains(&&**name)).cloned().collect()
}

/// What of the server's `_meta` may come down (K2); nothing of what is no object.
pub(crate) fn meta_down(meta: Option<&Json>) -> Members {
    without(meta.and_then(Json::members).unwrap_or_default(), &NOT_DOWN)
}

pub(crate) fn member(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

pub(crate) fn is_string(value: Option<&Json>) -> bool {
    matches!(value, Some(Json::String(_)))
}

/// A string with a UTF-8 form; half a surrogate pair has none.
pub(crate) fn whole(value: Option<&Json>) -> Option<&str> {
    let is_half = |c: char| (0x10_d800..0x10_e000).contains(&u32::from(c));
    value.and_then(Json::text).filter(|text| !text.contains(is_half))
}

pub(crate) fn is_number(value: Option<&Json>) -> bool {
    matches!(value, Some(Json::Number(_)))
}

pub(crate) fn levels(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Json::Object(members) => {
            1 + members.iter().map(|(_, value)| levels(value)).max().unwrap_or(0)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

pub(crate) fn body(text: &str) -> Body<'_> {
    match Object::parse(text) {
        Some(object) => Body::Object(object),
        None if text == "null" => Body::Null,
        None => Body::Other,
    }
}

/// A method of these, with the name of what fits it.
pub(crate) fn pick(rng: &mut Rng, among: &[(Method, &'static str)]) -> (Method, &'static str) {
    *rng.pick(among)
}

/// Holds what was written against the expected tree. What says no name twice must come out so.
pub(crate) fn compare(rule: &str, input: &str, seen: &str, expected: &Json) -> Verdict {
    let Some(value) = tree(seen) else { return Err(format!("{rule} not JSON: {seen}")) };
    if value != *expected {
        return Err(format!("{rule} {seen}\nexpected {}", expected.to_text()));
    }
    if has_equal_members(seen) && !has_equal_members(input) {
        return Err(format!("{rule}-twice a name stands twice in {seen}"));
    }
    Ok(())
}

/// The same for an outcome, `"result":{...}` or `"error":{...}`.
pub(crate) fn compare_outcome(
    rule: &str,
    input: &str,
    seen: &str,
    name: &str,
    expected: Json,
) -> Verdict {
    compare(rule, input, &format!("{{{seen}}}"), &Json::object([(name, expected)]))
}
