//! Parameters on their way up: what is checked (B12), and what goes (D1, K1).

use mcp_uplift::message::body::Body;
use mcp_uplift::message::object::Object;
use mcp_uplift::message::params;
use mcp_uplift::message::scan::{Scanner, is_json};
use mcp_uplift::message::vocabulary::Method;

use super::Verdict;
use super::edits::Edit;
use super::json::Json;
use super::model::{compare, is_string, member, pick, whole, without};
use super::rng::Rng;
use super::tree::{has_equal_members, tree};

pub(crate) const EDIT: Edit = Edit { shape: |rng| pick(rng, &PARAMS).1, check };

const PARAMS: [(Method, &str); 9] = [
    (Method::ToolsCall, "call params"),
    (Method::PromptsGet, "prompt params"),
    (Method::ResourcesRead, "read params"),
    (Method::ToolsList, "list params"),
    (Method::PromptsList, "list params"),
    (Method::TemplatesList, "list params"),
    (Method::Complete, "completion params"),
    (Method::Complete, "completion params"),
    (Method::Vendor, "call params"),
];
const NOT_UP: [&str; 8] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/serverInfo",
    "io.modelcontextprotocol/related-task",
];

fn check(rng: &mut Rng, text: &str) -> Verdict {
    let (method, _) = pick(rng, &PARAMS);
    let params = Body::scan_params(&mut Scanner::new(text));
    let Some(params) = params.ok().and_then(Body::object).filter(|_| is_json(text)) else {
        return Ok(());
    };
    let token = rng.chance(50).then(|| rng.next());
    let mut out = String::new();
    params::write_upward(&mut out, &params, &params.object("_meta").unwrap_or_default(), token);
    let fits = params::check(method, &params).is_ok();
    let Some(Json::Object(given)) = tree(text) else { return Ok(()) };
    let whole = Json::Object(given.clone());
    if fits != is_right(method, &whole) {
        return Err(format!("B12 {method:?} checked as {fits}"));
    }
    let mut up = without(&given, &["_meta", "inputResponses", "requestState", "task"]);
    let mut meta = without(whole.get("_meta").and_then(Json::members).unwrap_or_default(), &NOT_UP);
    meta.extend(token.map(|token| member("progressToken", Json::Number(token.to_string()))));
    if !meta.is_empty() {
        up.push(member("_meta", Json::Object(meta)));
    }
    compare("D1", text, &out, &Json::Object(up))?;
    // Not every parser takes the last of two, so only that goes up.
    let arguments = Object::parse(&out)
        .and_then(|up| up.object("arguments"))
        .is_some_and(|object| object.had_duplicates());
    if arguments && has_equal_members(&out) {
        Err(format!("A6 arguments with a name twice: {out}"))
    } else {
        Ok(())
    }
}

fn is_right(method: Method, params: &Json) -> bool {
    let get = |name| params.get(name);
    let is_object = |value: Option<&Json>| value.is_none_or(|value| value.members().is_some());
    let of_strings = |value: Option<&Json>| {
        value.is_none_or(|value| {
            value.members().is_some_and(|all| all.iter().all(|(_, value)| is_string(Some(value))))
        })
    };
    let is_mrtr = is_object(get("inputResponses"));
    match method {
        Method::ToolsCall => is_string(get("name")) && is_object(get("arguments")) && is_mrtr,
        Method::PromptsGet => is_string(get("name")) && of_strings(get("arguments")) && is_mrtr,
        Method::ResourcesRead => is_string(get("uri")) && is_mrtr,
        Method::Complete => {
            let target = match whole(get("ref").and_then(|to| to.get("type"))) {
                Some("ref/prompt") => "name",
                Some("ref/resource") => "uri",
                _ => return false,
            };
            let of_argument = |name| get("argument").and_then(|argument| argument.get(name));
            is_string(get("ref").and_then(|to| to.get(target)))
                && is_string(of_argument("name"))
                && is_string(of_argument("value"))
                && is_object(get("context"))
                && of_strings(get("context").and_then(|context| context.get("arguments")))
        }
        Method::Vendor => true,
        _ => get("cursor").is_none_or(|cursor| is_string(Some(cursor))),
    }
}
