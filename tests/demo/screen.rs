//! Messages made short enough to read: the envelope left out, long texts and lists cut, lines of
//! 80 columns.

use serde_json::{Map, Value};

const WIDTH: usize = 80;
const TEXT: usize = 44;
const ENTRIES: usize = 3;

/// `message` with `label` in front of it, on at most so many lines.
pub(crate) fn message(label: &str, message: &Value, lines: usize, envelope: bool) -> String {
    let mut text = String::new();
    write_value(&mut text, message, envelope);
    wrap(label, &text, lines)
}

fn write_value(out: &mut String, value: &Value, envelope: bool) {
    match value {
        Value::Object(members) => write_object(out, members, envelope),
        Value::Array(entries) => {
            out.push('[');
            for (place, entry) in entries.iter().take(ENTRIES).enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                write_value(out, entry, envelope);
            }
            if entries.len() > ENTRIES {
                out.push_str(&format!(", {} more", entries.len() - ENTRIES));
            }
            out.push(']');
        }
        Value::String(text) if text.chars().count() > TEXT => {
            let start: String = text.chars().take(TEXT - 3).collect();
            out.push_str(&Value::from(start + "...").to_string());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn write_object(out: &mut String, members: &Map<String, Value>, envelope: bool) {
    let rank = |name: &str| match name {
        "id" => 0,
        "method" => 1,
        "name" | "type" => 2,
        "_meta" => 4,
        _ => 3,
    };
    let shown = |(name, value): &(&String, &Value)| match name.as_str() {
        "jsonrpc" => false,
        "_meta" => {
            envelope || value.as_object().is_some_and(|meta| !meta.keys().all(|key| reserved(key)))
        }
        _ => envelope || !reserved(name),
    };
    let mut members: Vec<_> = members.iter().filter(shown).collect();
    members.sort_by_key(|(name, _)| rank(name));
    out.push('{');
    for (place, (name, value)) in members.into_iter().enumerate() {
        out.push_str(if place > 0 { "," } else { "" });
        out.push_str(&format!("\"{name}\":"));
        match name.as_str() {
            // The shape of arguments says nothing new here.
            "inputSchema" => out.push_str("{..}"),
            _ => write_value(out, value, envelope),
        }
    }
    out.push('}');
}

/// Names of the envelope.
fn reserved(name: &str) -> bool {
    name.starts_with("io.modelcontextprotocol/")
}

/// Breaks between members where it can, and cuts what does not fit.
fn wrap(label: &str, text: &str, lines: usize) -> String {
    let width = WIDTH - label.len();
    let mut out = String::from(label);
    let mut rest = text;
    for left in (0..lines).rev() {
        let Some(end) = nth(rest, width) else {
            out.push_str(rest);
            break;
        };
        if left == 0 {
            out.push_str(&rest[..nth(rest, width - 4).unwrap_or(end)]);
            out.push_str(" ...");
            break;
        }
        let breaks = [",", " ", "{\""].map(|mark| rest[..end].rfind(mark));
        let end = match breaks.into_iter().flatten().max() {
            Some(place) if place > width / 2 => place + 1,
            _ => end,
        };
        out.push_str(rest[..end].trim_end());
        out.push('\n');
        out.push_str(&" ".repeat(label.len()));
        rest = rest[end..].trim_start();
    }
    out.push('\n');
    out
}

/// Where the character of this number begins.
fn nth(text: &str, number: usize) -> Option<usize> {
    text.char_indices().nth(number).map(|(place, _)| place)
}
