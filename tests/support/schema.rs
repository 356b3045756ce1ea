//! JSON Schema, as much of it as the five published schemas of the protocol use.
//!
//! These use 16 keywords; a validator crate that knows them all brings some seventy others along.
//! A keyword that is not known here is an error when a schema is read, so a new schema cannot be
//! half checked in silence. Numbers are judged by their text, at any size.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use super::json::Json;

/// Keywords that constrain nothing.
const SILENT: [&str; 5] = ["$schema", "$defs", "definitions", "description", "default"];

const CHECKED: [&str; 14] = [
    "$ref",
    "type",
    "const",
    "enum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "maxItems",
    "minimum",
    "maximum",
    "format",
    "anyOf",
    "allOf",
];

/// One revision's schema.
pub(crate) struct Schema {
    definitions: BTreeMap<String, Json>,
    /// Up to draft 7 a `$ref` hides what stands beside it.
    ref_hides: bool,
}

impl Schema {
    /// The schema of that revision, read once; `None` when there is none.
    pub(crate) fn of(revision: &str) -> Option<&'static Schema> {
        static ALL: OnceLock<BTreeMap<String, Schema>> = OnceLock::new();
        ALL.get_or_init(|| match read_all() {
            Ok(all) => all,
            Err(why) => panic!("{why}"),
        })
        .get(revision)
    }

    pub(crate) fn knows(&self, definition: &str) -> bool {
        self.definitions.contains_key(definition)
    }

    /// How the value breaks the definition.
    pub(crate) fn check(&self, definition: &str, value: &Json) -> Result<(), String> {
        let node = self.definitions.get(definition).ok_or_else(|| format!("no {definition}"))?;
        self.node(node, value, "").map_err(|why| format!("{definition}: {why}"))
    }

    fn node(&self, node: &Json, value: &Json, at: &str) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{at}: {} {what}", value.short(120)));
        if let Some(reference) = node.get("$ref").and_then(Json::text) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let target = self.definitions.get(name).ok_or_else(|| format!("no {reference}"))?;
            self.node(target, value, at)?;
            if self.ref_hides {
                return Ok(());
            }
        }
        if let Some(kind) = node.get("type")
            && !alternatives(kind).iter().any(|kind| is_of_kind(value, kind.text().unwrap_or("")))
        {
            return wrong(&format!("is not of type {}", kind.to_text()));
        }
        if node.get("const").is_some_and(|wanted| !wanted.same(value)) {
            return wrong("is not the constant");
        }
        let among = |values: &Json| alternatives(values).iter().any(|allowed| allowed.same(value));
        if node.get("enum").is_some_and(|values| !among(values)) {
            return wrong("is not one of the values");
        }
        if let Some(number) = value.as_f64() {
            let bound = |name| node.get(name).and_then(Json::as_f64);
            if bound("minimum").is_some_and(|least| number < least)
                || bound("maximum").is_some_and(|most| number > most)
            {
                return wrong("is out of bounds");
            }
        }
        if let (Some(format), Some(text)) = (node.get("format").and_then(Json::text), value.text())
            && !has_format(text, format)
        {
            return wrong(&format!("is no {format}"));
        }
        self.members(node, value, at)?;
        self.items(node, value, at)?;
        for part in node.get("allOf").map(alternatives).unwrap_or_default() {
            self.node(part, value, at)?;
        }
        if let Some(options) = node.get("anyOf").map(alternatives) {
            let verdicts = options.iter().map(|option| self.node(option, value, at));
            let reasons: Vec<String> = verdicts.filter_map(Result::err).collect();
            if reasons.len() == options.len() {
                return Err(reasons.join(" / "));
            }
        }
        Ok(())
    }

    fn members(&self, node: &Json, value: &Json, at: &str) -> Result<(), String> {
        let Some(members) = value.members() else {
            return Ok(());
        };
        for name in node.get("required").map(alternatives).unwrap_or_default() {
            let name = name.text().unwrap_or_default();
            if !value.has(name) {
                return Err(format!("{at}: {name} is missing"));
            }
        }
        for (name, member) in members {
            let declared = node.get("properties").and_then(|declared| declared.get(name));
            if let Some(sub) = declared.or_else(|| node.get("additionalProperties")) {
                if sub.as_bool() == Some(false) {
                    return Err(format!("{at}: {name} is not allowed"));
                }
                self.node(sub, member, &format!("{at}/{name}"))?;
            }
        }
        Ok(())
    }

    fn items(&self, node: &Json, value: &Json, at: &str) -> Result<(), String> {
        let Some(items) = value.items() else {
            return Ok(());
        };
        if node.get("maxItems").and_then(Json::as_u64).is_some_and(|most| items.len() as u64 > most)
        {
            return Err(format!("{at}: {} items", items.len()));
        }
        if let Some(sub) = node.get("items") {
            for (n, item) in items.iter().enumerate() {
                self.node(sub, item, &format!("{at}/{n}"))?;
            }
        }
        Ok(())
    }
}

/// The list, or the one value as a list.
fn alternatives(json: &Json) -> &[Json] {
    json.items().unwrap_or(std::slice::from_ref(json))
}

fn is_of_kind(value: &Json, kind: &str) -> bool {
    match kind {
        "null" => *value == Json::Null,
        "boolean" => value.as_bool().is_some(),
        "string" => value.text().is_some(),
        "object" => value.members().is_some(),
        "array" => value.items().is_some(),
        "number" => value.as_f64().is_some(),
        "integer" => value.is_integer() || value.as_f64().is_some_and(|x| x.fract() == 0.0),
        _ => false,
    }
}

fn has_format(text: &str, format: &str) -> bool {
    match format {
        "uri" => text.split_once(':').is_some_and(|(scheme, _)| {
            let scheme_byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-');
            scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(scheme_byte)
        }),
        "byte" => {
            let body = text.trim_end_matches('=');
            let digit = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
            text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(digit)
        }
        _ => true, // uri-template: anything
    }
}

fn read_all() -> Result<BTreeMap<String, Schema>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema");
    let mut all = BTreeMap::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let path = folder.join(format!("{revision}.json"));
        let read = || -> Result<Schema, String> {
            let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let document = Json::parse(&text)?;
            refuse_unknown_keywords(&document)?;
            let definitions = document.get("$defs").or(document.get("definitions"));
            let definitions = definitions.and_then(Json::members).ok_or("no definitions")?;
            let mut definitions: BTreeMap<_, _> = definitions.iter().cloned().collect();
            // X13: the generator wrote integer where the protocol says number.
            if let Some(result) = definitions.get_mut("ElicitResult") {
                *result = Json::parse(&result.to_text().replace("\"integer\"", "\"number\""))?;
            }
            Ok(Schema { definitions, ref_hides: !document.has("$defs") })
        };
        let schema = read().map_err(|why| format!("{}: {why}", path.display()))?;
        all.insert(revision.to_owned(), schema);
    }
    Ok(all)
}

fn refuse_unknown_keywords(node: &Json) -> Result<(), String> {
    for (keyword, operand) in node.members().unwrap_or_default() {
        match keyword.as_str() {
            "properties" | "$defs" | "definitions" => {
                for (_, sub) in operand.members().unwrap_or_default() {
                    refuse_unknown_keywords(sub)?;
                }
            }
            "items" | "additionalProperties" => refuse_unknown_keywords(operand)?,
            "anyOf" | "allOf" => {
                for sub in alternatives(operand) {
                    refuse_unknown_keywords(sub)?;
                }
            }
            known if CHECKED.contains(&known) || SILENT.contains(&known) => {}
            unknown => return Err(format!("{unknown} is a keyword that is not checked here")),
        }
    }
    Ok(())
}
