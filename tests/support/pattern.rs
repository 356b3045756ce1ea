//! Patterns and placeholders: what a case expects, and how what it sends is filled in.
//!
//! A pattern is JSON compared as a subset: every member it names must match, others are free.
//! Strings that start with `$` are special:
//!   `$any` (present, any value)  `$absent` (member must be missing)
//!   `$string` `$int` `$number` `$object` `$array` `$bool` (kinds)
//!   `$name`  first use captures the value, later uses must be equal to it
//!   `{"$exact": v}` deep equality      `{"$oneof": [p, ...]}` any of the patterns
//!   `{"$not": p}` must not match       `{"$has": [p, ...]}` array holding one item per p
//!   `{"$all": [p, ...]}` every pattern `{"$regex": "..."}` string search
//!   `{"$ne": "$name"}` differs from a captured value
//!   `{"$entries": [["$k", p], ...]}` an object with exactly these entries, keys captured
//! A pattern array must have the same length as the value. A key prefix `P:` stands for
//! `io.modelcontextprotocol/`.

use std::collections::BTreeMap;

use regex_lite::Regex;

use super::json::{Json, nested_arrays};

const PREFIX: &str = "io.modelcontextprotocol/";
const MODERN: &str = "2026-07-28";

/// What a script has captured, by `$name`.
pub(crate) type Names = BTreeMap<String, Json>;

/// `Err` is a sentence about the first difference. On success `names` has the new captures.
pub(crate) fn matches(pattern: &Json, value: &Json, names: &mut Names) -> Result<(), String> {
    let mut trial = names.clone();
    compare(pattern, value, &mut trial, "")?;
    *names = trial;
    Ok(())
}

/// Like [`matches()`], for a caller who wants to know and not to capture.
pub(crate) fn would_match(pattern: &Json, value: &Json, names: &Names) -> bool {
    compare(pattern, value, &mut names.clone(), "").is_ok()
}

fn compare(pattern: &Json, value: &Json, names: &mut Names, path: &str) -> Result<(), String> {
    let at = if path.is_empty() { "message" } else { path };
    if let Some(word) = special(pattern) {
        return compare_word(word, value, names, at);
    }
    if let Some(members) = pattern.members() {
        if let Some((operator, operand)) = members.iter().find(|(name, _)| is_operator(name)) {
            return operate(operator, operand, value, names, path);
        }
        return compare_members(members, value, names, path);
    }
    if let Some(wanted) = pattern.items() {
        let Some(items) = value.items() else {
            return Err(format!("{at}: {} is not an array", value.short(160)));
        };
        if wanted.len() != items.len() {
            let (found, wanted) = (items.len(), wanted.len());
            return Err(format!("{at}: {found} items instead of {wanted}: {}", value.short(160)));
        }
        for (n, (sub, item)) in wanted.iter().zip(items).enumerate() {
            compare(sub, item, names, &format!("{path}[{n}]"))?;
        }
        return Ok(());
    }
    if pattern.same(value) {
        return Ok(());
    }
    Err(format!("{at}: {} is not {}", value.short(160), pattern.short(160)))
}

fn special(pattern: &Json) -> Option<&str> {
    pattern.text().filter(|text| text.starts_with('$') && text.len() > 1)
}

fn compare_word(word: &str, value: &Json, names: &mut Names, at: &str) -> Result<(), String> {
    let is_kind = match word {
        "$any" => true,
        "$absent" => return Err(format!("{at}: should be absent, is {}", value.short(160))),
        "$string" => value.text().is_some(),
        "$int" => value.is_integer(),
        "$number" => matches!(value, Json::Number(_)),
        "$object" => value.members().is_some(),
        "$array" => value.items().is_some(),
        "$bool" => value.as_bool().is_some(),
        name => {
            let Some(captured) = names.get(name) else {
                names.insert(name.to_owned(), value.clone());
                return Ok(());
            };
            if captured.same(value) {
                return Ok(());
            }
            let (value, captured) = (value.short(160), captured.short(160));
            return Err(format!("{at}: {value} is not the captured {captured}"));
        }
    };
    if is_kind { Ok(()) } else { Err(format!("{at}: {} is not {}", value.short(160), &word[1..])) }
}

fn is_operator(name: &str) -> bool {
    matches!(name, "$exact" | "$oneof" | "$not" | "$ne" | "$regex" | "$all" | "$entries" | "$has")
}

fn operate(
    operator: &str,
    operand: &Json,
    value: &Json,
    names: &mut Names,
    path: &str,
) -> Result<(), String> {
    let at = if path.is_empty() { "message" } else { path };
    let shown = || value.short(160);
    let operands = operand.items().unwrap_or_default();
    match operator {
        "$exact" => {
            let wanted = expand(operand, names)?;
            if wanted.same(value) {
                return Ok(());
            }
            Err(format!("{at}: {} is not exactly {}", shown(), wanted.short(160)))
        }
        "$oneof" => {
            let mut reasons = Vec::new();
            for option in operands {
                let mut trial = names.clone();
                match compare(option, value, &mut trial, path) {
                    Ok(()) => {
                        *names = trial;
                        return Ok(());
                    }
                    Err(reason) => reasons.push(reason),
                }
            }
            Err(reasons.join(" / "))
        }
        "$not" if would_match(operand, value, names) => {
            Err(format!("{at}: must not be {}", shown()))
        }
        "$ne" if operand.text().and_then(|name| names.get(name)).is_some_and(|x| x.same(value)) => {
            Err(format!("{at}: must differ from {}", shown()))
        }
        "$regex" => {
            let expression = operand.text().unwrap_or_default();
            let regex = Regex::new(expression).map_err(|e| e.to_string())?;
            if value.text().is_some_and(|text| regex.is_match(text)) {
                return Ok(());
            }
            Err(format!("{at}: {} does not match /{expression}/", shown()))
        }
        "$all" => operands.iter().try_for_each(|option| compare(option, value, names, path)),
        "$entries" => {
            let Some(entries) = value.members() else {
                return Err(format!("{at}: {} is not an object", shown()));
            };
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| (key.as_str(), value)).collect();
            compare_entries(operands, &entries, names, at)
        }
        "$has" => compare_some(operands, value, names, at),
        _ => Ok(()), // `$not` and `$ne` that hold
    }
}

fn compare_members(
    members: &[(String, Json)],
    value: &Json,
    names: &mut Names,
    path: &str,
) -> Result<(), String> {
    if value.members().is_none() {
        let at = if path.is_empty() { "message" } else { path };
        return Err(format!("{at}: {} is not an object", value.short(160)));
    }
    for (name, sub) in members {
        let name = key(name);
        let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value.get(&name) {
            Some(found) => compare(sub, found, names, &at)?,
            None if may_be_absent(sub) => {}
            None => return Err(format!("{at}: missing")),
        }
    }
    Ok(())
}

fn may_be_absent(sub: &Json) -> bool {
    let absent = |p: &Json| p.text() == Some("$absent");
    let options = sub.get("$oneof").and_then(Json::items).unwrap_or_default();
    absent(sub) || sub.has("$not") || options.iter().any(absent)
}

/// Every assignment of the first wanted entry is tried, then the rest with what is left.
fn compare_entries(
    wanted: &[Json],
    entries: &[(&str, &Json)],
    names: &mut Names,
    at: &str,
) -> Result<(), String> {
    if entries.len() != wanted.len() {
        return Err(format!("{at}: {} entries instead of {}", entries.len(), wanted.len()));
    }
    let Some((first, others)) = wanted.split_first() else {
        return Ok(());
    };
    let Some([name, pattern]) = first.items() else {
        return Err("an item of $entries is not a pair".to_owned());
    };
    let mut reason = String::new();
    for (n, (key, value)) in entries.iter().enumerate() {
        let mut trial = names.clone();
        let mut rest = entries.to_vec();
        rest.remove(n);
        let verdict = compare(name, &Json::string(key), &mut trial, &format!("{at} key"))
            .and_then(|()| compare(pattern, value, &mut trial, &format!("{at}.{key}")))
            .and_then(|()| compare_entries(others, &rest, &mut trial, at));
        match verdict {
            Ok(()) => {
                *names = trial;
                return Ok(());
            }
            Err(why) => reason = why,
        }
    }
    Err(reason)
}

fn compare_some(wanted: &[Json], value: &Json, names: &mut Names, at: &str) -> Result<(), String> {
    let Some(items) = value.items() else {
        return Err(format!("{at}: {} is not an array", value.short(160)));
    };
    for pattern in wanted {
        if !items.iter().any(|item| matches(pattern, item, names).is_ok()) {
            let (pattern, value) = (pattern.short(160), value.short(160));
            return Err(format!("{at}: no item like {pattern} in {value}"));
        }
    }
    Ok(())
}

fn key(name: &str) -> String {
    match name.strip_prefix("P:") {
        Some(rest) => format!("{PREFIX}{rest}"),
        None => name.to_owned(),
    }
}

/// The envelope of a modern request with these capabilities.
fn envelope(capabilities: Json) -> Vec<(String, Json)> {
    vec![
        (format!("{PREFIX}protocolVersion"), Json::string(MODERN)),
        (format!("{PREFIX}clientCapabilities"), capabilities),
    ]
}

/// Fills a message to send: captures, envelopes, padding, environment.
pub(crate) fn expand(node: &Json, names: &Names) -> Result<Json, String> {
    match node {
        Json::String(text) => expand_text(text, names),
        Json::Array(items) => {
            Ok(Json::Array(items.iter().map(|item| expand(item, names)).collect::<Result<_, _>>()?))
        }
        Json::Object(members) => {
            let mut out = Vec::with_capacity(members.len());
            for (name, value) in members {
                let value = expand(value, names)?;
                if name == "$caps" {
                    for (name, value) in envelope(value) {
                        Json::set(&mut out, name, value);
                    }
                } else if let Some(captured) = names.get(name).and_then(Json::text) {
                    Json::set(&mut out, captured.to_owned(), value);
                } else {
                    Json::set(&mut out, key(name), value);
                }
            }
            Ok(Json::Object(out))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(node.clone()),
    }
}

fn expand_text(text: &str, names: &Names) -> Result<Json, String> {
    if text == "$META" {
        return Ok(Json::Object(envelope(Json::object([]))));
    }
    if let Some(escaped) = text.strip_prefix('$').filter(|rest| rest.starts_with('$')) {
        return Ok(Json::string(escaped));
    }
    if let Some(count) = text.strip_prefix("$pad:") {
        return Ok(Json::String("x".repeat(count.parse().map_err(|_| wrong_count(text))?)));
    }
    if text.starts_with("$deep:") || !text.starts_with('$') || text.len() == 1 {
        return Ok(Json::string(text)); // the writer knows what `$deep:` stands for
    }
    if let Some(name) = text.strip_prefix("$env:") {
        return Ok(std::env::var(name).map_or(Json::Null, Json::String));
    }
    // "$state~x" is the captured text plus "x".
    let (name, suffix) = text.split_once('~').unwrap_or((text, ""));
    let captured = names.get(name).ok_or_else(|| not_captured(name))?;
    match captured.text() {
        Some(text) if !suffix.is_empty() => Ok(Json::String(format!("{text}{suffix}"))),
        _ => Ok(captured.clone()),
    }
}

fn not_captured(name: &str) -> String {
    format!("the case itself is wrong: {name} was never captured")
}

fn wrong_count(text: &str) -> String {
    format!("the case itself is wrong: no number in {text}")
}

/// The line of a message; `jsonrpc` is added where the message has none.
pub(crate) fn line_of(message: &Json, names: &Names) -> Result<Vec<u8>, String> {
    let mut body = vec![("jsonrpc".to_owned(), Json::string("2.0"))];
    for (name, value) in expand(message, names)?.members().unwrap_or_default() {
        Json::set(&mut body, name.clone(), value.clone());
    }
    Ok((Json::Object(body).to_text() + "\n").into_bytes())
}

/// The bytes of a `send_raw`: UTF-8 text where `\xNN` is a byte, `${name}` the JSON of a capture,
/// `${pad:N}` N letters, `${deep:N}` N nested arrays, `${META}` the plain envelope.
pub(crate) fn raw_bytes(text: &str, names: &Names) -> Result<Vec<u8>, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        filled.push_str(&rest[..start]);
        filled.push_str(&placeholder(&rest[start + 2..start + length], names)?);
        rest = &rest[start + length + 1..];
    }
    filled.push_str(rest);
    Ok(unescape_bytes(&filled))
}

fn placeholder(what: &str, names: &Names) -> Result<String, String> {
    let count = |digits: &str| digits.parse().map_err(|_| wrong_count(what));
    if let Some(digits) = what.strip_prefix("pad:") {
        return Ok("x".repeat(count(digits)?));
    }
    if let Some(digits) = what.strip_prefix("deep:") {
        return Ok(nested_arrays(count(digits)?));
    }
    if what == "META" {
        return Ok(Json::Object(envelope(Json::object([]))).to_text());
    }
    let name = format!("${what}");
    names.get(&name).map(Json::to_text).ok_or_else(|| not_captured(&name))
}

fn unescape_bytes(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes[at..].strip_prefix(b"\\x").and_then(|rest| rest.get(..2));
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}
