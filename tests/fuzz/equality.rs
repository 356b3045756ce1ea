//! Is it the same value? The same text, spelled anew or changed in one place (E13).

use mcp_uplift::message::equal::same_value;

use super::json::Json;
use super::rng::Rng;
use super::tree::tree;
use super::words::{likely, number, spelled, string};
use super::{Verdict, numbers};

/// Compares the text with another that says the same, mostly.
pub(crate) fn check(rng: &mut Rng, text: &str) -> Verdict {
    if !same_value(text, text) || !same_value(text, &format!(" {text}\t")) {
        return Err("E13 a value is not its own equal".into());
    }
    let Some(value) = tree(text) else { return Ok(()) };
    let mut other = value.clone();
    if rng.chance(60) {
        changed(rng, &mut other);
    }
    let other_text = respelled(rng, &other);
    let Some(other) = tree(&other_text) else {
        return Err(format!("model: not JSON any more: {other_text}"));
    };
    // Half a surrogate pair has no decoded form, so that its spelling counts.
    if has_halves(&value) || has_halves(&other) {
        return Ok(());
    }
    let expected = canonical(&value) == canonical(&other);
    if same_value(text, &other_text) == expected {
        Ok(())
    } else {
        Err(format!("E13 expected {expected}, with {other_text}"))
    }
}

/// Changes one place.
fn changed(rng: &mut Rng, value: &mut Json) {
    match value {
        Json::Array(items) if !items.is_empty() && rng.chance(85) => {
            let at = rng.index(items.len());
            match rng.below(6) {
                0 => drop(items.remove(at)),
                1 => items.swap(0, at),
                _ => changed(rng, &mut items[at]),
            }
        }
        Json::Object(members) if !members.is_empty() && rng.chance(85) => {
            let at = rng.index(members.len());
            match rng.below(6) {
                0 => drop(members.remove(at)),
                1 => members[at].0.push('a'),
                _ => changed(rng, &mut members[at].1),
            }
        }
        Json::Number(text) => {
            let is_longer = text.contains(['.', 'e', 'E']) && rng.chance(50);
            *text = if is_longer { format!("{text}0") } else { number(rng) };
        }
        _ => {
            let text = if rng.chance(50) { likely(rng, "any", 5) } else { string(rng) };
            *value = tree(&text).unwrap_or(Json::Null);
        }
    }
}

/// The same value, its members in another order, its strings and numbers spelled differently.
fn respelled(rng: &mut Rng, value: &Json) -> String {
    match value {
        Json::Null | Json::Bool(_) => value.to_text(),
        Json::Number(text) => respelled_number(rng, text),
        Json::String(text) => spelled(rng, text),
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| respelled(rng, item)).collect();
            format!("[ {}]", items.join(" ,"))
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", spelled(rng, name), respelled(rng, value)))
                .collect();
            for at in (1..members.len()).rev() {
                members.swap(at, rng.index(at + 1));
            }
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn respelled_number(rng: &mut Rng, text: &str) -> String {
    match rng.below(4) {
        0 if text.contains('.') && !text.contains(['e', 'E']) => format!("{text}00"),
        0 if !text.contains(['.', 'e', 'E']) => format!("{text}.0"),
        1 if !text.contains(['e', 'E']) => format!("{text}E+0"),
        2 if !text.contains(['.', 'e', 'E', '-']) && !text.starts_with('0') => {
            format!("{text}00e-2")
        }
        _ => text.to_owned(),
    }
}

fn has_halves(value: &Json) -> bool {
    let is_half = |text: &str| text.chars().any(|c| (0x10_d800..0x10_e000).contains(&u32::from(c)));
    match value {
        Json::String(text) => is_half(text),
        Json::Array(items) => items.iter().any(has_halves),
        Json::Object(members) => {
            members.iter().any(|(name, value)| is_half(name) || has_halves(value))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn canonical(value: &Json) -> Json {
    match value {
        Json::Number(text) => Json::Number(numbers::canonical(text)),
        Json::Array(items) => Json::Array(items.iter().map(canonical).collect()),
        Json::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(name, value)| (name.clone(), canonical(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(members)
        }
        Json::Null | Json::Bool(_) | Json::String(_) => value.clone(),
    }
}
