//! A server's error on its way down (table L, D5), and errors of ours.

use mcp_uplift::message::refusal::{self, Refusal};
use mcp_uplift::message::vocabulary::Method;

use super::Verdict;
use super::edits::Edit;
use super::json::Json;
use super::model::{body, compare_outcome, is_string, member};
use super::rng::Rng;
use super::tree::tree;

pub(crate) const EDIT: Edit = Edit { shape: |_| "error", check };

const METHODS: [Method; 4] =
    [Method::ToolsCall, Method::ResourcesRead, Method::PromptsGet, Method::Vendor];

fn check(rng: &mut Rng, text: &str) -> Verdict {
    let method = *rng.pick(&METHODS);
    let error = body(text);
    let mut out = String::new();
    refusal::write_upstream_error(&mut out, method, &error);
    ours(text)?;
    let Some(given) = tree(text) else { return Ok(()) };
    let code = code(&given);
    if refusal::error_code(&error) != code {
        return Err(format!("L code {:?}, expected {code:?}", refusal::error_code(&error)));
    }
    let message = given.get("message").filter(|message| is_string(Some(message))).cloned();
    let message = message.unwrap_or(Json::string("Upstream error"));
    let data = given.get("data").cloned();
    let number = |code: i64| Json::Number(code.to_string());
    let (code, data) = match code {
        Some(code @ -32099..=-32020) => {
            let mut wrapped = vec![member("upstreamCode", number(code))];
            wrapped.extend(data.map(|data| member("upstreamData", data)));
            (-32603, Some(Json::Object(wrapped)))
        }
        Some(-32002) => (-32602, data),
        Some(0) if is_unknown_name(method, &message) => (-32602, data),
        Some(-32602) if is_unknown_method(method, &message, data.as_ref()) => (-32601, data),
        code => (code.unwrap_or(-32603), data),
    };
    let mut down = vec![member("code", number(code)), member("message", message)];
    down.extend(data.map(|data| member("data", data)));
    compare_outcome("L", text, &out, "error", Json::Object(down))
}

/// As the older SDK for Python has it.
fn is_unknown_method(method: Method, message: &Json, data: Option<&Json>) -> bool {
    method == Method::Vendor
        && message.text() == Some("Invalid request parameters")
        && data.and_then(Json::text) == Some("")
}

fn is_unknown_name(method: Method, message: &Json) -> bool {
    let text = message.text().unwrap_or_default();
    matches!(method, Method::ResourcesRead | Method::PromptsGet)
        && (text.starts_with("Unknown resource") || text.starts_with("Unknown prompt"))
}

/// Plain digits, or with the `.0` of languages that know floats only; no server writes a code with
/// an exponent, and one that did would be a code all the same: -32603.
fn code(error: &Json) -> Option<i64> {
    let Some(Json::Number(text)) = error.get("code") else { return None };
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// Texts of the client or the server in an error of ours stay texts.
fn ours(text: &str) -> Verdict {
    let text = text.to_owned();
    for (refusal, code) in [
        (Refusal::MethodNotFound(text.clone()), -32601),
        (Refusal::Params(text.clone()), -32602),
        (Refusal::Envelope { key: "_meta", problem: text.clone() }, -32602),
        (Refusal::UpstreamExited(text.clone()), -32603),
        (Refusal::LegacyConnection(text.clone()), -32600),
    ] {
        let outcome = tree(&format!("{{{}}}", refusal.outcome()));
        let error = outcome.as_ref().and_then(|outcome| outcome.get("error"));
        let says = error.and_then(|error| error.get("message")).and_then(Json::text);
        let fits = says.is_some_and(|says| says.contains(&text));
        if !fits || error.and_then(|error| error.get("code")).and_then(Json::as_i64) != Some(code) {
            return Err(format!("L {}", refusal.outcome()));
        }
    }
    Ok(())
}
