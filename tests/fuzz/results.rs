//! A result on its way down (D2-D4, D10-D12, C4, K2).

use mcp_uplift::message::object::Object;
use mcp_uplift::message::results::{Stamp, write_complete};
use mcp_uplift::message::vocabulary::Method;

use super::edits::Edit;
use super::json::Json;
use super::model::{Members, SERVER_INFO, compare_outcome, is_string, member, meta_down, pick};
use super::rng::Rng;
use super::tree::{has_equal_members, tree};
use super::{Verdict, numbers, tools};

pub(crate) const EDIT: Edit = Edit { shape: |rng| pick(rng, &RESULTS).1, check };

const RESULTS: [(Method, &str); 9] = [
    (Method::ToolsCall, "call result"),
    (Method::PromptsGet, "prompt result"),
    (Method::ResourcesRead, "read result"),
    (Method::ToolsList, "tools result"),
    (Method::PromptsList, "prompts result"),
    (Method::ResourcesList, "resources result"),
    (Method::TemplatesList, "templates result"),
    (Method::Complete, "completion result"),
    (Method::Vendor, "vendor result"),
];

fn check(rng: &mut Rng, text: &str) -> Verdict {
    let (method, _) = pick(rng, &RESULTS);
    let Some(result) = Object::parse(text) else { return Ok(()) };
    let stamp = Stamp { server_info: "{\"name\":\"n\",\"version\":\"v\"}", cache_ttl_ms: 7 };
    let (mut out, mut found) = (String::new(), Vec::new());
    write_complete(&mut out, method, &result, stamp, &mut found);
    // A schema that begins with its type is not looked through for a second one: no library prints
    // a name twice, and the look would cost a walk over every schema.
    if method == Method::ToolsList && has_equal_members(text) {
        return Ok(());
    }
    let Some(Json::Object(members)) = tree(text) else { return Ok(()) };
    compare_outcome("D2", text, &out, "result", Json::Object(expected(method, &members)))?;
    let most = members.iter().find(|(name, _)| name == "tools").and_then(|(_, list)| list.items());
    if found.len() > most.map_or(0, <[Json]>::len) {
        return Err(format!("D10 more warnings than tools: {found:?}"));
    }
    Ok(())
}

/// The array that a result is about (D12).
fn array_of(method: Method) -> Option<&'static str> {
    match method {
        Method::ToolsCall => Some("content"),
        Method::PromptsGet => Some("messages"),
        Method::ResourcesRead => Some("contents"),
        Method::ToolsList => Some("tools"),
        Method::PromptsList => Some("prompts"),
        Method::ResourcesList => Some("resources"),
        Method::TemplatesList => Some("resourceTemplates"),
        Method::Complete | Method::Discover | Method::Listen | Method::Removed | Method::Vendor => {
            None
        }
    }
}

fn expected(method: Method, members: &[(String, Json)]) -> Members {
    let result = Json::Object(members.to_vec());
    let array = array_of(method);
    let mut down = vec![member("resultType", Json::string("complete"))];
    for (name, value) in members {
        let is_null = *value == Json::Null;
        match name.as_str() {
            name if Some(name) == array => down.push(member(name, list(method, value))),
            "_meta" => down.push(member("_meta", meta(Some(value)))),
            "completion" if method == Method::Complete => {
                down.push(member(name, completion(Some(value))));
            }
            "resultType" => {}
            "ttlMs" | "cacheScope" if method != Method::Vendor => {}
            "isError" | "description" | "nextCursor" if is_null && method != Method::Vendor => {}
            _ => down.push(member(name, value.clone())),
        }
    }
    let is_prompt =
        members.iter().all(|(name, _)| ["description", "_meta", "resultType"].contains(&&**name));
    if let Some(array) =
        array.filter(|array| !result.has(array) && (method != Method::PromptsGet || is_prompt))
    {
        down.push(member(array, Json::Array(Vec::new())));
    }
    if method == Method::Complete && !result.has("completion") {
        down.push(member("completion", completion(None)));
    }
    let is_list = !matches!(
        method,
        Method::ToolsCall | Method::PromptsGet | Method::Complete | Method::Vendor
    );
    if is_list {
        let is_ttl = |ttl: &&Json| matches!(ttl, Json::Number(text) if !text.starts_with('-') && numbers::is_integral(text));
        let ttl = result.get("ttlMs").filter(is_ttl).cloned();
        down.push(member("ttlMs", ttl.unwrap_or(Json::Number("7".into()))));
        let scope = result
            .get("cacheScope")
            .filter(|scope| matches!(scope.text(), Some("public" | "private")))
            .cloned();
        down.push(member("cacheScope", scope.unwrap_or(Json::string("private"))));
    }
    if !result.has("_meta") {
        down.push(member("_meta", meta(None)));
    }
    down
}

/// K2, C4: a server's own identity may stay.
fn meta(given: Option<&Json>) -> Json {
    let own = given.and_then(|meta| meta.get(SERVER_INFO));
    let own =
        own.filter(|info| is_string(info.get("name")) && is_string(info.get("version"))).cloned();
    let ours = Json::object([("name", Json::string("n")), ("version", Json::string("v"))]);
    let mut members = meta_down(given);
    members.push(member(SERVER_INFO, own.unwrap_or(ours)));
    Json::Object(members)
}

/// D11, D12.
fn completion(given: Option<&Json>) -> Json {
    let Some(members) = given.and_then(Json::members) else {
        return Json::object([("values", Json::Array(Vec::new()))]);
    };
    let whole = Json::Object(members.to_vec());
    match whole.get("values") {
        Some(Json::Array(values)) if values.len() > 100 => {
            let mut kept = super::model::without(members, &["values", "hasMore"]);
            kept.push(member("values", Json::Array(values[..100].to_vec())));
            kept.push(member("hasMore", Json::Bool(true)));
            Json::Object(kept)
        }
        None | Some(Json::Null) => {
            let mut kept = super::model::without(members, &["values"]);
            kept.push(member("values", Json::Array(Vec::new())));
            Json::Object(kept)
        }
        Some(_) => whole,
    }
}

/// D10, D12: nulls go where clients would reject them, and nowhere else.
fn list(method: Method, value: &Json) -> Json {
    let Json::Array(items) = value else {
        return if *value == Json::Null { Json::Array(Vec::new()) } else { value.clone() };
    };
    let items = items.iter().filter(|item| **item != Json::Null);
    if method == Method::ToolsList {
        return tools::sorted(items.map(tools::repaired).collect());
    }
    Json::Array(
        items
            .map(|item| match method {
                Method::ToolsCall => block(item),
                Method::PromptsGet => changed(item, "content", blocks),
                Method::PromptsList => {
                    changed(item, "arguments", |arguments| each(arguments, without_nulls))
                }
                _ => without_nulls(item),
            })
            .collect(),
    )
}

fn blocks(value: &Json) -> Json {
    if value.items().is_some() { each(value, block) } else { block(value) }
}

fn block(value: &Json) -> Json {
    changed(value, "resource", without_nulls)
}

fn each(value: &Json, change: fn(&Json) -> Json) -> Json {
    match value {
        Json::Array(items) => {
            Json::Array(items.iter().filter(|item| **item != Json::Null).map(change).collect())
        }
        other => other.clone(),
    }
}

pub(crate) fn without_nulls(value: &Json) -> Json {
    match value {
        Json::Object(members) => Json::Object(
            members.iter().filter(|(_, value)| *value != Json::Null).cloned().collect(),
        ),
        other => other.clone(),
    }
}

/// Without its nulls, and one member changed.
fn changed(value: &Json, name: &str, change: impl Fn(&Json) -> Json) -> Json {
    let mut value = without_nulls(value);
    if let Json::Object(members) = &mut value {
        for (_, value) in members.iter_mut().filter(|(known, _)| known == name) {
            *value = change(value);
        }
    }
    value
}
