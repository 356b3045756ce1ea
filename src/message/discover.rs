//! `server/discover` from an `InitializeResult` (C), and what else the handshake tells.

use super::body::Body;
use super::list::array;
use super::meta::kept_meta;
use super::object::Object;
use super::refusal::error_code;
use super::value::{is_key, is_object, is_string, string};
use super::vocabulary::{MODERN, Revision, code, key};
use super::writer::Writer;
use crate::bounds::MOST_VERSIONS;
use std::borrow::Cow;

/// The server as its handshake showed it. A new process's handshake replaces it whole (C7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The revision it settled on.
    pub revision: Revision,
    /// Capabilities that gate requests and streams.
    pub offers: Offers,
    /// `"result":{...}` of `server/discover`.
    pub discover: String,
    /// Name, version and title: what rides on every result (C4).
    pub identity: String,
}

/// The capabilities that the bridge acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a list of independent yes or no facts")]
pub struct Offers {
    /// `tools`.
    pub tools: bool,
    /// `prompts`.
    pub prompts: bool,
    /// `resources`.
    pub resources: bool,
    /// `completions`, or a revision that has no such capability (D11).
    pub completions: bool,
    /// `logging` (F15, F16).
    pub logging: bool,
    /// `tools.listChanged` (G3).
    pub tools_changed: bool,
    /// `prompts.listChanged`.
    pub prompts_changed: bool,
    /// `resources.listChanged`.
    pub resources_changed: bool,
    /// `resources.subscribe`.
    pub subscribe: bool,
    /// Something that no revision defines: methods of its own may exist (B10).
    pub vendor: bool,
    /// It declared nothing at all: it is asked for its tools once (B8).
    pub nothing: bool,
}

impl Offers {
    /// Has the server the capability of that name (B8)?
    #[must_use]
    pub fn has(self, capability: &str) -> bool {
        match capability {
            "tools" => self.tools,
            "prompts" => self.prompts,
            "resources" => self.resources,
            "completions" => self.completions,
            _ => false,
        }
    }
}

/// Capability keys that a legacy revision defines.
const KNOWN: [&str; 6] = ["tools", "prompts", "resources", "completions", "logging", "tasks"];

/// Reads the capabilities of an `InitializeResult`.
#[must_use]
pub fn offers(result: &Object<'_>, revision: Revision) -> Offers {
    let all = result.object("capabilities").unwrap_or_default();
    let has = |name: &str| all.get(name).is_some_and(|raw| !matches!(raw, "null" | "false"));
    let flag = |name: &str, flag: &str| all.object(name).is_some_and(|c| c.is_true(flag));
    let filled = |name: &str| all.object(name).is_some_and(|entries| !entries.is_empty());
    let foreign = all.iter().any(|(name, _)| {
        !KNOWN.iter().chain(&["experimental", "extensions"]).any(|known| is_key(name, known))
    });
    Offers {
        tools: has("tools"),
        prompts: has("prompts"),
        resources: has("resources"),
        completions: has("completions") || revision == Revision::R2024_11,
        logging: has("logging"),
        tools_changed: flag("tools", "listChanged"),
        prompts_changed: flag("prompts", "listChanged"),
        resources_changed: flag("resources", "listChanged"),
        subscribe: flag("resources", "subscribe"),
        vendor: filled("experimental") || filled("extensions") || foreign,
        nothing: all.is_empty(),
    }
}

/// The server as this `InitializeResult` shows it. `command` names a server that does not name
/// itself (C5).
#[must_use]
pub fn profile(result: &Object<'_>, revision: Revision, offers: Offers, command: &str) -> Profile {
    let info = result.object("serverInfo").unwrap_or_default();
    let mut identity = String::new();
    write_identity(&mut identity, &info, command, |name| is_key(name, "title"));
    let mut whole_identity = String::new();
    write_identity(&mut whole_identity, &info, command, |_| true);

    let mut discover = String::from("\"result\":");
    let mut down = Writer::new(&mut discover);
    down.raw("resultType", "\"complete\"");
    down.raw("supportedVersions", &format!("[\"{MODERN}\"]"));
    let all = result.object("capabilities").unwrap_or_default();
    write_capabilities(down.open("capabilities"), &all, revision, offers);
    let instructions = result.get("instructions").filter(|raw| is_string(raw) && *raw != "\"\"");
    if let Some(raw) = instructions {
        down.raw("instructions", raw);
    }
    down.raw("ttlMs", "0");
    down.raw("cacheScope", "\"private\"");
    let meta = result.object("_meta").unwrap_or_default();
    let mut members = Writer::new(down.open("_meta"));
    for (name, value) in kept_meta(&meta) {
        members.copy(name, value);
    }
    members.raw(key::SERVER_INFO, &whole_identity);
    members.end();
    down.end();
    Profile { revision, offers, discover, identity }
}

/// `serverInfo` with a name and a version in any case (C5), and the members that `more` takes.
fn write_identity(out: &mut String, info: &Object<'_>, command: &str, more: impl Fn(&str) -> bool) {
    let mut identity = Writer::new(out);
    let text = |name: &str| info.get(name).filter(|raw| is_string(raw));
    match text("name") {
        Some(raw) => identity.raw("name", raw),
        None => identity.string("name", command),
    }
    identity.raw("version", text("version").unwrap_or("\"0.0.0\""));
    for (name, value) in info.iter() {
        let required = ["name", "version"].iter().any(|known| is_key(name, known));
        if !required && value != "null" && more(name) {
            identity.copy(name, value);
        }
    }
    identity.end();
}

#[allow(clippy::indexing_slicing, clippy::string_slice, reason = "a key has its quotes")]
fn write_capabilities(out: &mut String, all: &Object<'_>, revision: Revision, offers: Offers) {
    let mut down = Writer::new(out);
    for (name, value) in all.iter() {
        let known = KNOWN.iter().find(|known| is_key(name, known)).copied();
        match known {
            Some("tasks") => {}
            Some(_) if matches!(value, "null" | "false") => {}
            Some(known) => write_flags(down.open(known), value),
            None if is_key(name, "experimental") || is_key(name, "extensions") => {
                if let Some(entries) = Object::parse(value) {
                    write_entries(down.open(&name[1..name.len() - 1]), &entries);
                }
            }
            None => down.copy(name, value),
        }
    }
    if offers.tools && all.get("tools").is_none() {
        down.raw("tools", "{}");
    }
    let completes = revision == Revision::R2024_11 && (offers.prompts || offers.resources);
    if completes && all.get("completions").is_none() {
        down.raw("completions", "{}");
    }
    down.end();
}

/// A capability object; its flags only where they are booleans.
fn write_flags(out: &mut String, raw: &str) {
    let members = Object::parse(raw).unwrap_or_default();
    let mut down = Writer::new(out);
    for (name, value) in members.iter() {
        let is_flag = is_key(name, "listChanged") || is_key(name, "subscribe");
        if !is_flag || matches!(value, "true" | "false") {
            down.copy(name, value);
        }
    }
    down.end();
}

/// Entries whose value is an object, the tasks extension apart: the bridge does not offer it.
fn write_entries(out: &mut String, entries: &Object<'_>) {
    let mut down = Writer::new(out);
    for (name, value) in entries.iter() {
        if is_object(value) && !is_key(name, key::TASKS) {
            down.copy(name, value);
        }
    }
    down.end();
}

/// The revisions that an error of `initialize` names as supported, as far as they are strings:
/// `data.supported`, or `data.supportedVersions` (H4, I4b).
#[must_use]
pub fn supported_versions(error: &Object<'_>) -> Vec<String> {
    let data = error.object("data").unwrap_or_default();
    ["supported", "supportedVersions"]
        .iter()
        .filter_map(|name| data.get(name).and_then(array))
        .flatten()
        .take(MOST_VERSIONS)
        .filter_map(|raw| string(raw).map(Cow::into_owned))
        .collect()
}

/// Is this the refusal of `initialize` by a server that knows only 2026-07-28 (I4b)?
#[must_use]
pub fn is_modern_refusal(error: &Body<'_>) -> bool {
    let code = error_code(error);
    let Body::Object(error) = error else { return false };
    code == Some(code::UNSUPPORTED_VERSION)
        || code == Some(code::METHOD_NOT_FOUND)
        || supported_versions(error).iter().any(|version| version == MODERN)
        || error.string("message").is_some_and(|message| message.contains(MODERN))
}

/// Is it a `DiscoverResult` of a server that serves this version (I5)?
#[must_use]
pub fn serves(result: &Object<'_>, version: &str) -> bool {
    let versions = result.get("supportedVersions").and_then(array);
    versions.into_iter().flatten().filter_map(string).any(|known| known == version)
}

/// Was the tool list probe answered with tools (B8)?
#[must_use]
pub fn has_tools(result: &Object<'_>) -> bool {
    result.get("tools").is_some_and(|raw| raw.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discovered(result: &str, revision: Revision) -> String {
        let result = Object::parse(result).unwrap();
        profile(&result, revision, offers(&result, revision), "cmd").discover
    }

    #[test]
    fn capabilities() {
        for (capabilities, expected) in [
            ("{}", "{}"),
            (r#"{"tools":{"listChanged":"yes"},"tasks":{},"x":1}"#, r#"{"tools":{},"x":1}"#),
            (
                r#"{"prompts":null,"resources":{"subscribe":true}}"#,
                r#"{"resources":{"subscribe":true}}"#,
            ),
            (
                r#"{"experimental":{"a":1,"b":{}},"logging":{}}"#,
                r#"{"experimental":{"b":{}},"logging":{}}"#,
            ),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"v":{}}}"#,
                r#"{"extensions":{"v":{}}}"#,
            ),
        ] {
            let text =
                discovered(&format!("{{\"capabilities\":{capabilities}}}"), Revision::R2025_11);
            let whole = format!("{{{text}}}");
            let result = Object::parse(&whole).unwrap().object("result").unwrap();
            assert_eq!(result.get("capabilities"), Some(expected), "{capabilities}");
        }
    }

    #[test]
    fn completions_of_2024() {
        let text = discovered(r#"{"capabilities":{"prompts":{}}}"#, Revision::R2024_11);
        assert!(text.contains(r#""completions":{}"#));
        let text = discovered(r#"{"capabilities":{"tools":{}}}"#, Revision::R2024_11);
        assert!(!text.contains("completions"));
    }

    #[test]
    fn identity() {
        let result = Object::parse(r#"{"serverInfo":{"title":"T","icons":[1],"name":5}}"#).unwrap();
        let profile = profile(&result, Revision::R2025_11, Offers::default(), "cmd");
        assert_eq!(profile.identity, r#"{"name":"cmd","version":"0.0.0","title":"T"}"#);
        assert!(profile.discover.contains(r#""icons":[1]"#));
    }

    #[test]
    fn an_empty_experimental_object_says_nothing() {
        for (capabilities, vendor) in [
            (r#"{"tools":{},"experimental":{}}"#, false),
            (r#"{"experimental":{"a":{}}}"#, true),
            (r#"{"triggers":{}}"#, true),
            (r#"{"tasks":{}}"#, false),
        ] {
            let text = format!("{{\"capabilities\":{capabilities}}}");
            let seen = offers(&Object::parse(&text).unwrap(), Revision::R2025_11);
            assert_eq!(seen.vendor, vendor, "{capabilities}");
        }
    }
}
