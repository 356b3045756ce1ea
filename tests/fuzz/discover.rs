//! The handshake as `server/discover` shows it (C).

use mcp_uplift::message::discover::{self, Offers};
use mcp_uplift::message::object::Object;
use mcp_uplift::message::vocabulary::Revision;

use super::Verdict;
use super::edits::Edit;
use super::json::Json;
use super::model::{Members, SERVER_INFO, compare, compare_outcome, is_string, member, meta_down};
use super::rng::Rng;
use super::tree::tree;

pub(crate) const EDIT: Edit = Edit { shape: |_| "initialize result", check };

const KNOWN: [&str; 8] = [
    "tools",
    "prompts",
    "resources",
    "completions",
    "logging",
    "tasks",
    "experimental",
    "extensions",
];

fn check(rng: &mut Rng, text: &str) -> Verdict {
    let revision = *rng.pick(&Revision::NEWEST_FIRST);
    let Some(result) = Object::parse(text) else { return Ok(()) };
    let mut offers = discover::offers(&result, revision);
    let _ = (
        discover::supported_versions(&result),
        discover::serves(&result, "x"),
        discover::has_tools(&result),
    );
    let is_probed = offers.nothing && rng.chance(50);
    offers.tools |= is_probed; // the tool list probe was answered (B8)
    let profile = discover::profile(&result, revision, offers, "cmd");
    let Some(given) = tree(text) else { return Ok(()) };
    let empty = Json::object([]);
    let all = given.get("capabilities").filter(|all| all.members().is_some()).unwrap_or(&empty);
    let expected =
        Offers { tools: is_probed || has(all, "tools"), ..expected_offers(all, revision) };
    if offers != expected {
        return Err(format!("B8 {offers:?}, expected {expected:?}"));
    }
    let info = given.get("serverInfo").filter(|info| info.members().is_some()).unwrap_or(&empty);
    compare("C4", text, &profile.identity, &identity(info, |name| name == "title"))?;
    let mut down = vec![
        member("resultType", Json::string("complete")),
        member("supportedVersions", Json::Array(vec![Json::string("2026-07-28")])),
        member("capabilities", Json::Object(capabilities(all, revision, offers))),
    ];
    let instructions =
        given.get("instructions").filter(|text| is_string(Some(text)) && text.text() != Some(""));
    down.extend(instructions.map(|text| member("instructions", text.clone())));
    down.push(member("ttlMs", Json::Number("0".into())));
    down.push(member("cacheScope", Json::string("private")));
    let mut meta = meta_down(given.get("_meta"));
    meta.push(member(SERVER_INFO, identity(info, |_| true)));
    down.push(member("_meta", Json::Object(meta)));
    compare_outcome("C1", text, &profile.discover, "result", Json::Object(down))
}

fn has(all: &Json, name: &str) -> bool {
    !matches!(all.get(name), None | Some(Json::Null | Json::Bool(false)))
}

fn expected_offers(all: &Json, revision: Revision) -> Offers {
    let flag = |name: &str, flag| {
        all.get(name).and_then(|capability| capability.get(flag)) == Some(&Json::Bool(true))
    };
    let filled =
        |name| all.get(name).and_then(Json::members).is_some_and(|entries| !entries.is_empty());
    let members = all.members().unwrap_or_default();
    Offers {
        tools: has(all, "tools"),
        prompts: has(all, "prompts"),
        resources: has(all, "resources"),
        completions: has(all, "completions") || revision == Revision::R2024_11,
        logging: has(all, "logging"),
        tools_changed: flag("tools", "listChanged"),
        prompts_changed: flag("prompts", "listChanged"),
        resources_changed: flag("resources", "listChanged"),
        subscribe: flag("resources", "subscribe"),
        vendor: filled("experimental")
            || filled("extensions")
            || members.iter().any(|(name, _)| !KNOWN.contains(&&**name)),
        nothing: members.is_empty(),
    }
}

fn capabilities(all: &Json, revision: Revision, offers: Offers) -> Members {
    let mut down = Members::new();
    for (name, value) in all.members().unwrap_or_default() {
        match name.as_str() {
            "tasks" => {}
            "experimental" | "extensions" => {
                let is_kept = |(name, value): &&(String, Json)| {
                    value.members().is_some() && name != "io.modelcontextprotocol/tasks"
                };
                let entries = value
                    .members()
                    .map(|entries| entries.iter().filter(is_kept).cloned().collect());
                down.extend(entries.map(|entries| member(name, Json::Object(entries))));
            }
            known if KNOWN.contains(&known) => {
                let is_flag = |name: &str| name == "listChanged" || name == "subscribe";
                let is_kept =
                    |(name, value): &&(String, Json)| !is_flag(name) || value.as_bool().is_some();
                let members = value.members().unwrap_or_default();
                if has(all, known) {
                    down.push(member(
                        known,
                        Json::Object(members.iter().filter(is_kept).cloned().collect()),
                    ));
                }
            }
            _ => down.push(member(name, value.clone())),
        }
    }
    if offers.tools && !all.has("tools") {
        down.push(member("tools", Json::object([])));
    }
    let completes = revision == Revision::R2024_11 && (offers.prompts || offers.resources);
    if completes && !all.has("completions") {
        down.push(member("completions", Json::object([])));
    }
    down
}

/// C5.
fn identity(info: &Json, more: fn(&str) -> bool) -> Json {
    let text = |name| info.get(name).filter(|value| is_string(Some(value))).cloned();
    let mut members = vec![
        member("name", text("name").unwrap_or(Json::string("cmd"))),
        member("version", text("version").unwrap_or(Json::string("0.0.0"))),
    ];
    for (name, value) in info.members().unwrap_or_default() {
        if !["name", "version"].contains(&&**name) && *value != Json::Null && more(name) {
            members.push(member(name, value.clone()));
        }
    }
    Json::Object(members)
}
