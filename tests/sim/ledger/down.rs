//! What goes down to a modern client: the shape of each frame, then its place in the books.

use std::rc::Rc;

use super::super::json::Json;
use super::super::talk::Ask;
use super::super::words::{self, P_SERVER, RESERVED};
use super::{Check, Ledger, Mode, broken, ensure};

const NOTIFICATIONS: [&str; 7] = [
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

/// Reads a frame: one line of JSON, an object (A1).
pub(super) fn read(bytes: &[u8]) -> Result<Json, super::Fault> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.strip_suffix('\n').unwrap_or_default();
    if line.is_empty() || line.contains(['\n', '\r']) || text.contains('\u{fffd}') {
        return broken("A1-one-line", text.into_owned());
    }
    match Json::parse(line) {
        Ok(frame) if frame.members().is_some() => Ok(frame),
        Ok(_) | Err(_) => broken("A1-one-object", text.into_owned()),
    }
}

/// Exactly the members of one JSON-RPC form (A4), ids strings or integers (A5).
pub(super) fn check_members(frame: &Json) -> Check {
    let names: Vec<_> =
        frame.members().unwrap_or_default().iter().map(|(n, _)| n.as_str()).collect();
    let fits = matches!(
        names.as_slice(),
        ["jsonrpc", "id", "result" | "error" | "method"]
            | ["jsonrpc", "id", "method", "params"]
            | ["jsonrpc", "error" | "method"]
            | ["jsonrpc", "method", "params"]
    );
    ensure(fits, "A4-members", || format!("{names:?}"))?;
    let version = frame.get("jsonrpc").and_then(Json::text);
    ensure(version == Some("2.0"), "A4-version", || frame.short(100))?;
    let is_id = |id: &Json| id.text().is_some() || id.is_integer();
    ensure(frame.get("id").is_none_or(is_id), "A5-ids", || frame.short(100))?;
    if let Some(error) = frame.get("error") {
        let code = error.get("code").is_some_and(Json::is_integer);
        let message = error.get("message").is_some_and(|m| m.text().is_some());
        let names = error.members().unwrap_or_default();
        let known = names.iter().all(|(n, _)| matches!(n.as_str(), "code" | "message" | "data"));
        ensure(code && message && known, "A4-error-members", || error.short(200))?;
    }
    if let Some(params) = frame.get("params") {
        ensure(params.members().is_some(), "A4-params", || frame.short(200))?;
    }
    Ok(())
}

impl Ledger {
    pub(super) fn down(&mut self, bytes: &[u8]) -> Check {
        if self.mode == Mode::Relayed {
            return self.relay_down(bytes);
        }
        let frame = read(bytes)?;
        if self.mode == Mode::Passed {
            return self.pass_down(&frame);
        }
        check_members(&frame)?;
        let id = frame.get("id").map(Json::to_text);
        let Some(method) = frame.get("method").and_then(Json::text) else {
            if let Some(error) = frame.get("error") {
                check_code(error)?;
            }
            return self.pay(id.as_deref(), &frame);
        };
        ensure(id.is_none(), "E2-no-requests-down", || frame.short(200))?;
        ensure(NOTIFICATIONS.contains(&method), "A2-notifications", || method.to_owned())?;
        let params = frame.get("params").cloned().unwrap_or(Json::Null);
        match method {
            "notifications/progress" => self.progress_down(&params),
            "notifications/message" => self.log_down(&params),
            "notifications/subscriptions/acknowledged" => self.acknowledged(&params),
            _ => self.change_down(method, &params),
        }
    }

    /// The shape of a result (D2-D4, D12, C, E3).
    pub(super) fn check_result(ask: &Rc<Ask>, result: &Json) -> Check {
        let text = || result.short(300);
        let method = ask.method.as_str();
        let kind = result.get("resultType").and_then(Json::text).unwrap_or_default();
        ensure(matches!(kind, "complete" | "input_required"), "D2-result-type", text)?;
        check_meta(result)?;
        let has_hints = result.has("ttlMs") || result.has("cacheScope");
        if kind == "input_required" {
            ensure(!has_hints, "E3-no-cache-hints", text)?;
            return Self::check_input_required(result);
        }
        if words::is_cacheable(method) {
            let ttl = result.get("ttlMs").filter(|t| t.is_integer()).and_then(Json::as_u64);
            let scope = result.get("cacheScope").and_then(Json::text);
            ensure(ttl.is_some(), "D2-cache-hints", text)?;
            ensure(matches!(scope, Some("public" | "private")), "D2-cache-hints", text)?;
        } else if method != "vendor/do" {
            ensure(!has_hints, "D2-no-cache-hints", text)?;
        }
        if let Some(member) = words::array_member(method) {
            let is_array = result.get(member).is_some_and(|m| m.items().is_some());
            ensure(is_array, "D12-required-array", text)?;
        }
        match method {
            "tools/list" => {
                let tools = result.get("tools").and_then(Json::items).unwrap_or_default();
                let names = tools.iter().filter_map(|tool| tool.get("name").and_then(Json::text));
                ensure(names.is_sorted(), "D9-by-name", text)?;
                ensure(!matches!(result.get("nextCursor"), Some(Json::Null)), "D10-nulls", text)
            }
            "completion/complete" => {
                let values = result.get("completion").and_then(|c| c.get("values"));
                ensure(values.is_some_and(|v| v.items().is_some()), "D12-required-array", text)
            }
            "server/discover" => {
                let versions = result.get("supportedVersions").and_then(Json::items);
                let is_one = versions.is_some_and(|v| v == [Json::string(words::MODERN)]);
                ensure(is_one, "B6-modern-versions-only", text)?;
                let capabilities = result.get("capabilities");
                let fits = capabilities.is_some_and(|c| c.members().is_some() && !c.has("tasks"));
                ensure(fits && !result.has("serverInfo"), "C2-discover-members", text)
            }
            "vendor/do" => Ok(()),
            _ => ensure(!matches!(result.get("nextCursor"), Some(Json::Null)), "D10-nulls", text),
        }
    }

    fn check_input_required(result: &Json) -> Check {
        let text = || result.short(300);
        let known = ["resultType", "inputRequests", "requestState", "_meta"];
        let names = result.members().unwrap_or_default();
        ensure(names.iter().all(|(n, _)| known.contains(&n.as_str())), "E3-members", text)?;
        let state = result.get("requestState").and_then(Json::text).unwrap_or_default();
        ensure(state.len() >= 32, "E12-state", text)?;
        for (_, request) in result.get("inputRequests").and_then(Json::members).unwrap_or_default()
        {
            let names = request.members().unwrap_or_default();
            let fits = names.iter().all(|(n, _)| matches!(n.as_str(), "method" | "params"));
            ensure(fits && !names.is_empty(), "E3-request-members", || request.short(200))?;
            let params = request.get("params").cloned().unwrap_or(Json::Null);
            let meta = params.get("_meta");
            let leaks = params.has("elicitationId")
                || params.has("task")
                || meta.is_some_and(|meta| meta.has("progressToken"))
                || request.to_text().contains("\"execution\"");
            ensure(!leaks, "E11-nothing-leaks", || request.short(300))?;
        }
        Ok(())
    }
}

/// Every result says whose it is, and nothing reserved comes through (C4, K2).
fn check_meta(result: &Json) -> Check {
    let text = || result.short(300);
    let meta = result.get("_meta");
    let info = meta.and_then(|meta| meta.get(P_SERVER));
    let has = |name: &str| info.and_then(|i| i.get(name)).is_some_and(|n| n.text().is_some());
    // Before any handshake there is nothing to say.
    let is_empty = info.and_then(Json::members).is_some_and(<[_]>::is_empty);
    ensure(is_empty || (has("name") && has("version")), "C4-server-info", text)?;
    let members = meta.and_then(Json::members).unwrap_or_default();
    let reserved = members.iter().filter(|(name, _)| name.starts_with(RESERVED));
    let stray = reserved.filter(|(name, _)| name != P_SERVER && name != words::P_STREAM).count();
    ensure(stray == 0, "D4-reserved-meta", text)
}

/// Codes that 2026-07-28 reserves are used as it defines them, or not at all (L).
fn check_code(error: &Json) -> Check {
    let code = error.get("code").and_then(Json::as_i64).unwrap_or(0);
    let is_reserved = (-32099..=-32020).contains(&code) || code == -32002;
    ensure(!is_reserved || matches!(code, -32021 | -32022), "L-reserved-codes", || error.short(200))
}
