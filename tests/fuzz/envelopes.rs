//! What a request says about its client, and what it wants to hear (B2-B5, B11, F1, G1).

use mcp_uplift::message::capabilities::Capabilities;
use mcp_uplift::message::envelope::Envelope;
use mcp_uplift::message::notes;
use mcp_uplift::message::object::Object;
use mcp_uplift::message::refusal::Refusal;

use super::json::Json;
use super::model::{body, compare, is_string, levels, member, whole};
use super::rng::Rng;
use super::tree::{is_unclear, tree};
use super::words::input;
use super::{Target, Verdict, numbers};

pub(crate) const TARGET: Target = Target { name: "envelopes", seeds: 6_000, generate, check };

const SHAPES: [&str; 4] = [
    "envelope params",
    "envelope params",
    "listen params",
    "io.modelcontextprotocol/clientCapabilities",
];
const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

fn generate(rng: &mut Rng) -> Vec<u8> {
    let shape = rng.pick(&SHAPES);
    input(rng, shape)
}

fn check(_: &mut Rng, bytes: &[u8]) -> Verdict {
    let text = &*String::from_utf8_lossy(bytes);
    let seen = match Envelope::read(&body(text)) {
        Ok(envelope) => {
            told(envelope.capabilities, envelope.progress_token.as_deref(), envelope.log_level)
        }
        Err(Refusal::Envelope { key, problem }) => {
            format!("{key} {}", problem.split([':', ' ']).next().unwrap_or_default())
        }
        Err(Refusal::UnsupportedVersion { requested }) => format!("version {requested:?}"),
        Err(other) => format!("{other:?}"),
    };
    let capabilities = Capabilities::read(text);
    let filter = Object::parse(text).map(|params| notes::filter(&params));
    let Some(given) = tree(text).filter(|_| !is_unclear(text)) else { return Ok(()) };
    let expected = envelope(text, &given);
    if seen != expected {
        return Err(format!("B2 {seen}, expected {expected}"));
    }
    let declares = declared(&given);
    if capabilities != declares {
        return Err(format!("B3 {capabilities:?}, expected {declares:?}"));
    }
    let Some(filter) = filter else { return Ok(()) };
    let expected = granted(&given);
    match (filter, expected) {
        (Err(_), None) => Ok(()),
        (Ok(filter), Some(expected)) => {
            let mut out = String::new();
            filter.write(&mut out);
            compare("G1", text, &out, &expected)
        }
        (filter, expected) => Err(format!("G1 {filter:?}, expected {expected:?}")),
    }
}

fn told(capabilities: Capabilities, token: Option<&str>, level: Result<Option<u8>, ()>) -> String {
    format!("{capabilities:?} {token:?} {level:?}")
}

/// The checks in their order (B1).
fn envelope(text: &str, params: &Json) -> String {
    const P: &str = "io.modelcontextprotocol/";
    let name = |name: &str| format!("{P}{name}");
    let Some(meta) = params.get("_meta") else { return "_meta missing".into() };
    if meta.members().is_none() {
        return "_meta malformed".into();
    }
    let get = |of: &str| meta.get(&name(of));
    let read = ["protocolVersion", "clientCapabilities", "clientInfo", "logLevel"];
    if read.iter().filter_map(|name| get(name)).any(|value| levels(value) > 128) {
        return "TooDeep".into();
    }
    let Some(version) = get("protocolVersion") else { return name("protocolVersion missing") };
    if !is_string(Some(version)) {
        return name("protocolVersion malformed");
    }
    let Some(capabilities) = get("clientCapabilities") else {
        return name("clientCapabilities missing");
    };
    let capabilities = match declared(capabilities) {
        Ok(capabilities) => capabilities,
        Err("") => return name("clientCapabilities not"),
        Err(_) => return name("clientCapabilities malformed"),
    };
    if get("clientInfo")
        .is_some_and(|info| !is_string(info.get("name")) || !is_string(info.get("version")))
    {
        return name("clientInfo malformed");
    }
    let raw = raw_meta(text);
    let token = raw.as_ref().and_then(|meta| meta.get("progressToken"));
    let is_token = match meta.get("progressToken") {
        None | Some(Json::String(_)) => true,
        Some(Json::Number(text)) => numbers::is_integral(text),
        Some(_) => false,
    };
    if !is_token {
        return "progressToken malformed".into();
    }
    if whole(Some(version)) != Some("2026-07-28") {
        let version = raw.as_ref().and_then(|meta| meta.get(&name("protocolVersion")));
        return format!("version {version:?}");
    }
    let level = get("logLevel").map(|level| {
        let at = LEVELS.iter().position(|known| whole(Some(level)) == Some(known));
        at.and_then(|at| u8::try_from(at).ok()).ok_or(())
    });
    told(capabilities, token, level.transpose())
}

/// For texts that go out again as they came (A5): the tree has only what they say.
fn raw_meta(text: &str) -> Option<Object<'_>> {
    Object::parse(text)?.object("_meta")
}

/// B3, E7.
fn declared(given: &Json) -> Result<Capabilities, &'static str> {
    let object = |of: &Json, name: &str, path| match of.get(name) {
        None => Ok(None),
        Some(value) if value.members().is_some() => Ok(Some(value.clone())),
        Some(_) => Err(path),
    };
    if given.members().is_none() {
        return Err("");
    }
    let mut all = Capabilities::NONE;
    if let Some(elicitation) = object(given, "elicitation", "elicitation")? {
        let form = object(&elicitation, "form", "elicitation.form")?;
        let url = object(&elicitation, "url", "elicitation.url")?;
        all = all
            | if form.is_some() || url.is_none() { Capabilities::FORM } else { Capabilities::NONE };
        all = all | if url.is_some() { Capabilities::URL } else { Capabilities::NONE };
    }
    if let Some(sampling) = object(given, "sampling", "sampling")? {
        let tools = object(&sampling, "tools", "sampling.tools")?;
        let context = object(&sampling, "context", "sampling.context")?;
        all = all | Capabilities::SAMPLING;
        all = all | if tools.is_some() { Capabilities::SAMPLING_TOOLS } else { Capabilities::NONE };
        all = all
            | if context.is_some() { Capabilities::SAMPLING_CONTEXT } else { Capabilities::NONE };
    }
    if object(given, "roots", "roots")?.is_some() {
        all = all | Capabilities::ROOTS;
    }
    for open in ["experimental", "extensions"] {
        let entries = object(given, open, open)?;
        let members = entries.as_ref().and_then(Json::members).unwrap_or_default();
        if members.iter().any(|(_, value)| value.members().is_none()) {
            return Err(open);
        }
    }
    Ok(all)
}

/// A filter as its acknowledgement names it; `None` where it is wrong.
fn granted(params: &Json) -> Option<Json> {
    let wanted = params
        .get("notifications")
        .filter(|wanted| wanted.members().is_some() && levels(wanted) <= 128)?;
    let mut granted = Vec::new();
    for name in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
        match wanted.get(name) {
            None | Some(Json::Bool(false)) => {}
            Some(Json::Bool(true)) => granted.push(member(name, Json::Bool(true))),
            Some(_) => return None,
        }
    }
    let mut uris: Vec<Json> = Vec::new();
    if let Some(given) = wanted.get("resourceSubscriptions") {
        for uri in given.items()? {
            let uri = Json::string(whole(Some(uri))?);
            if !uris.contains(&uri) {
                uris.push(uri);
            }
        }
    }
    if !uris.is_empty() {
        granted.push(member("resourceSubscriptions", Json::Array(uris)));
    }
    Some(Json::Object(granted))
}
