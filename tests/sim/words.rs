//! What the simulation knows of the protocol, written down anew: tables of the core would hide its
//! own mistakes.

use super::json::Json;
use super::rng::Rng;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(crate) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
pub(crate) const P_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const P_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const P_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const P_STREAM: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const P_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// `_meta` keys with this beginning never pass the bridge, but for two that it writes itself.
pub(crate) const RESERVED: &str = "io.modelcontextprotocol/";

/// The `_meta` key by which the simulation finds a client's request again on the other side.
pub(crate) const LEG: &str = "sim/leg";
/// The `_meta` key of a server's question.
pub(crate) const QUESTION: &str = "sim/q";
/// The member of a result that names the call it answers.
pub(crate) const CALL: &str = "sim/call";
/// The member of a client's answer to a question.
pub(crate) const ANSWER: &str = "sim/a";

pub(crate) fn is_mrtr(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

pub(crate) fn is_list(method: &str) -> bool {
    matches!(method, "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list")
}

/// Does its result carry cache hints (D2)?
pub(crate) fn is_cacheable(method: &str) -> bool {
    is_list(method) || matches!(method, "resources/read" | "server/discover")
}

/// The server capability that a method needs (B8).
pub(crate) fn capability(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "tools/list" => Some("tools"),
        "prompts/get" | "prompts/list" => Some("prompts"),
        "resources/read" | "resources/list" | "resources/templates/list" => Some("resources"),
        "completion/complete" => Some("completions"),
        _ => None,
    }
}

/// The array that a complete result must have (D12).
pub(crate) fn array_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" => Some("content"),
        "prompts/get" => Some("messages"),
        "resources/read" => Some("contents"),
        "tools/list" => Some("tools"),
        "prompts/list" => Some("prompts"),
        "resources/list" => Some("resources"),
        "resources/templates/list" => Some("resourceTemplates"),
        _ => None,
    }
}

pub(crate) const FORM: u8 = 1;
pub(crate) const URL: u8 = 2;
pub(crate) const SAMPLING: u8 = 4;
pub(crate) const SAMPLING_TOOLS: u8 = 8;
pub(crate) const ROOTS: u8 = 16;

/// Random `clientCapabilities`: the text, and what they allow to ask (E7).
pub(crate) fn capabilities(rng: &mut Rng, generous: u64) -> (String, u8) {
    let mut members = Vec::new();
    let mut bits = 0;
    if rng.chance(generous) {
        let (text, allows) = *rng.pick(&[
            ("{}", FORM),
            ("{\"form\":{}}", FORM),
            ("{\"url\":{}}", URL),
            ("{\"form\":{},\"url\":{}}", FORM | URL),
            ("{\"url\":{},\"form\":{}}", FORM | URL),
        ]);
        members.push(format!("\"elicitation\":{text}"));
        bits |= allows;
    }
    if rng.chance(generous) {
        let (text, allows) = *rng.pick(&[
            ("{}", SAMPLING),
            ("{\"tools\":{}}", SAMPLING | SAMPLING_TOOLS),
            ("{\"context\":{}}", SAMPLING),
        ]);
        members.push(format!("\"sampling\":{text}"));
        bits |= allows;
    }
    if rng.chance(generous) {
        members.push("\"roots\":{}".into());
        bits |= ROOTS;
    }
    if rng.chance(10) {
        members.push("\"experimental\":{\"x\":{}}".into());
    }
    (format!("{{{}}}", members.join(",")), bits)
}

/// What `requiredCapabilities` names; `None` when it is not of their shape (E8).
pub(crate) fn required(raw: &Json) -> Option<u8> {
    let mut bits = 0;
    for (name, value) in raw.members()? {
        let inner = value.members()?;
        bits |= match name.as_str() {
            "roots" if inner.is_empty() => ROOTS,
            "sampling" if inner.is_empty() => SAMPLING,
            "sampling" if inner.len() == 1 && value.has("tools") => SAMPLING_TOOLS,
            "elicitation" if !inner.is_empty() => {
                let mode = |name: &str, bit| if value.has(name) { bit } else { 0 };
                mode("form", FORM) | mode("url", URL)
            }
            _ => return None,
        };
    }
    Some(bits)
}
