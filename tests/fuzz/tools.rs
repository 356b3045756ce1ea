//! A list of tools on its way down (D9, D10).

use super::json::Json;
use super::model::{member, whole};
use super::results::without_nulls;

/// By name, in code points; a tool without a name that can be compared stays at the end.
pub(crate) fn sorted(mut tools: Vec<Json>) -> Json {
    tools.sort_by(|a, b| {
        let (a, b) = (whole(a.get("name")), whole(b.get("name")));
        (a.is_none(), a).cmp(&(b.is_none(), b))
    });
    Json::Array(tools)
}

/// Without nulls, and with a schema of an object.
pub(crate) fn repaired(tool: &Json) -> Json {
    let Json::Object(given) = tool else { return tool.clone() };
    let mut members = Vec::new();
    for (name, value) in given {
        if name == "inputSchema" {
            members.push(member(name, schema(value)));
        } else if *value != Json::Null {
            members.push(member(name, value.clone()));
        }
    }
    if !tool.has("inputSchema") {
        members.push(member("inputSchema", schema(&Json::Null)));
    }
    without_nulls(&Json::Object(members))
}

fn schema(given: &Json) -> Json {
    let object = Json::string("object");
    let Json::Object(members) = given else { return Json::object([("type", object)]) };
    let mut kept = Vec::new();
    if !given.has("type") {
        kept.push(member("type", object.clone()));
    }
    for (name, value) in members {
        let is_null = *value == Json::Null;
        match name.as_str() {
            "type" => kept.push(member("type", object.clone())),
            "required" | "properties" if is_null => {}
            _ => kept.push(member(name, value.clone())),
        }
    }
    Json::Object(kept)
}
