//! What a result of the server looks like to the client (D2-D4, D12, C4, K2).

use super::capabilities::Capabilities;
use super::list::{Tool, scan_tools};
use super::meta::down_meta;
use super::object::Object;
use super::questions::Asked;
use super::repair::{self, Findings};
use super::scan::Scanner;
use super::value::{is_integer, is_key};
use super::vocabulary::Method;
use super::writer::{Text, Writer};
use crate::bounds::MOST_TOOLS;

/// What every result carries besides its own members.
#[derive(Clone, Copy, Debug)]
pub struct Stamp<'a> {
    /// The server's identity, as JSON text (C4).
    pub server_info: &'a str,
    /// Milliseconds for which lists and reads may be kept (C6).
    pub cache_ttl_ms: u64,
}

/// Writes `"result":{...}`: the server's members, repaired, and ours.
pub fn write_complete(
    out: &mut impl Text,
    method: Method,
    result: &Object<'_>,
    stamp: Stamp<'_>,
    found: &mut Findings,
) {
    out.push_str("\"result\":");
    let mut down = Writer::new(out);
    down.raw("resultType", "\"complete\"");
    let required = method.array_member();
    let is_required = |name: &str| required.is_some_and(|member| is_key(name, member));
    let (mut has_required, mut has_meta, mut has_completion) = (false, false, false);
    for (name, value) in result.iter() {
        if is_required(name) {
            has_required = true;
            write_array(&mut down, method, (name, value), result, found);
        } else if is_key(name, "_meta") {
            has_meta = true;
            down.raw("_meta", &down_meta(Some(value), stamp.server_info));
        } else if method == Method::Complete && is_key(name, "completion") {
            has_completion = true;
            down.raw("completion", &repair::completion(Some(value)));
        } else if !is_ours(method, name) && (value != "null" || !is_dropped_null(method, name)) {
            down.copy(name, value);
        }
    }
    if let Some(member) = required.filter(|_| !has_required && is_left_out(method, result)) {
        down.raw(member, "[]");
    }
    if method == Method::Complete && !has_completion {
        down.raw("completion", &repair::completion(None));
    }
    if method.is_cacheable() {
        write_cache_hints(&mut down, result, stamp);
    }
    if !has_meta {
        down.raw("_meta", &down_meta(None, stamp.server_info));
    }
    down.end();
}

fn write_array(
    down: &mut Writer<'_, impl Text>,
    method: Method,
    (name, value): (&str, &str),
    result: &Object<'_>,
    found: &mut Findings,
) {
    if value == "null" {
        down.copy(name, "[]");
    } else if method == Method::ToolsList {
        let seen_late = result.tools().is_none().then(|| tools_of(value)).flatten();
        match result.tools().or(seen_late.as_deref()) {
            Some(tools) => down.give(name, repair::tools(value, tools, found)),
            None => {
                if value.starts_with('[') {
                    found.push(format!(
                        "a list of over {MOST_TOOLS} tools goes down as it was sent"
                    ));
                }
                down.copy(name, value);
            }
        }
    } else if result.has_nulls() {
        down.give(name, repair::items(method, value));
    } else {
        down.copy(name, value);
    }
}

/// The entries of a list that was not taken apart while its line was read.
fn tools_of(value: &str) -> Option<Vec<Tool<'_>>> {
    scan_tools(&mut Scanner::new(value)).ok().flatten()
}

/// Is the absent array one that a server leaves out when it is empty (D12)? A prompt without
/// messages but with members that no prompt has is something else, and nothing is made of it.
fn is_left_out(method: Method, result: &Object<'_>) -> bool {
    const PROMPT: [&str; 3] = ["description", "_meta", "resultType"];
    method != Method::PromptsGet
        || result.iter().all(|(name, _)| PROMPT.iter().any(|member| is_key(name, member)))
}

/// Members that are written apart, whatever the server said.
fn is_ours(method: Method, name: &str) -> bool {
    const CACHE: [&str; 2] = ["ttlMs", "cacheScope"];
    is_key(name, "resultType")
        || (method != Method::Vendor && CACHE.iter().any(|member| is_key(name, member)))
}

/// Optional members for which clients take absence but not null (D10).
fn is_dropped_null(method: Method, name: &str) -> bool {
    method != Method::Vendor
        && ["isError", "description", "nextCursor"].iter().any(|member| is_key(name, member))
}

/// The server's own hints only where they are valid, else the option's (D2, D3).
fn write_cache_hints(down: &mut Writer<'_, impl Text>, result: &Object<'_>, stamp: Stamp<'_>) {
    let ttl = result.get("ttlMs").filter(|raw| is_integer(raw) && !raw.starts_with('-'));
    match ttl {
        Some(raw) => down.raw("ttlMs", raw),
        None => down.raw("ttlMs", &stamp.cache_ttl_ms.to_string()),
    }
    let scope = match result.string("cacheScope").as_deref() {
        Some("public") => "\"public\"",
        _ => "\"private\"",
    };
    down.raw("cacheScope", scope);
}

/// Did the server say that the tool failed?
#[must_use]
pub fn is_tool_error(result: &Object<'_>) -> bool {
    result.is_true("isError")
}

/// Writes `"result":{...}` of an `input_required` answer (E3): `requests` are keys and questions,
/// for a client with these capabilities.
pub fn write_input_required<'q>(
    out: &mut String,
    requests: impl Iterator<Item = (String, &'q Asked)>,
    capabilities: Capabilities,
    state: &str,
    server_info: &str,
) {
    out.push_str("\"result\":");
    let mut down = Writer::new(out);
    down.raw("resultType", "\"input_required\"");
    let mut questions = Writer::new(down.open("inputRequests"));
    for (name, request) in requests {
        request.write_request(questions.open(&name), capabilities);
    }
    questions.end();
    down.string("requestState", state);
    down.raw("_meta", &down_meta(None, server_info));
    down.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(method: Method, result: &str) -> String {
        let mut out = String::new();
        let stamp = Stamp { server_info: "{}", cache_ttl_ms: 7 };
        write_complete(&mut out, method, &Object::parse(result).unwrap(), stamp, &mut Vec::new());
        out.strip_prefix("\"result\":{\"resultType\":\"complete\"")
            .and_then(|rest| {
                rest.strip_suffix(",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{}}}")
            })
            .unwrap_or(&out)
            .to_owned()
    }

    #[test]
    fn members() {
        for (method, result, expected) in [
            (Method::ToolsCall, "{}", r#","content":[]"#),
            (
                Method::ToolsCall,
                r#"{"content":null,"structuredContent":null,"ttlMs":3,"isError":null}"#,
                r#","content":[],"structuredContent":null"#,
            ),
            (
                Method::ResourcesRead,
                r#"{"contents":[],"ttlMs":-1,"cacheScope":"public"}"#,
                r#","contents":[],"ttlMs":7,"cacheScope":"public""#,
            ),
            (
                Method::ResourcesRead,
                r#"{"contents":[],"cacheScope":"publi\u0063"}"#,
                r#","contents":[],"ttlMs":7,"cacheScope":"public""#,
            ),
            (
                Method::ToolsList,
                r#"{"nextCursor":null,"tools":null,"ttlMs":1.5}"#,
                r#","tools":[],"ttlMs":7,"cacheScope":"private""#,
            ),
            (Method::PromptsGet, r#"{"description":null,"messages":[]}"#, r#","messages":[]"#),
            (Method::PromptsGet, r#"{"description":"d"}"#, r#","description":"d","messages":[]"#),
            (Method::PromptsGet, r#"{"prompt":{}}"#, r#","prompt":{}"#),
            (Method::Complete, r#"{"completion":{"values":[]}}"#, r#","completion":{"values":[]}"#),
            (Method::Vendor, r#"{"ttlMs":1,"nextCursor":null}"#, r#","ttlMs":1,"nextCursor":null"#),
        ] {
            assert_eq!(complete(method, result), expected, "{result}");
        }
    }
}
