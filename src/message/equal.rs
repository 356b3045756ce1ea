//! Are two JSON values the same value? Decides whether a retry repeats its request (E13).
//!
//! Clients serialise a retry anew: members in another order, other escapes, `1` for `1.0`. Every
//! spelling of a value therefore gets one digest, built from the leaves up without recursion. Who
//! finds two values with one digest deceives nobody but the server he may call anyway.
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "places come from the list they point into, and a walk stops at the end"
)]

use super::decimal::Decimal;
use super::list::sort_by_name;
use super::value::{is_number, string};
use super::writer::quoted;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

/// Are both texts (valid JSON) the same value?
#[must_use]
pub fn same_value(a: &str, b: &str) -> bool {
    a == b || digest(a) == digest(b)
}

/// A container whose end has not come yet.
enum Open {
    /// The digests of its items, one after the other.
    Array(Vec<u8>),
    /// Names with the places of their values, the values, and the name whose value comes next.
    Object(Vec<(Cow<'static, str>, usize)>, Vec<u64>, Option<String>),
}

fn digest(text: &str) -> u64 {
    let mut stack: Vec<Open> = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let done = match rest.as_bytes().first() {
            None => return 0,
            Some(b'[') => {
                stack.push(Open::Array(vec![b'[']));
                None
            }
            Some(b'{') => {
                stack.push(Open::Object(Vec::new(), Vec::new(), None));
                None
            }
            Some(b']' | b'}') => stack.pop().map(digest_of_container),
            Some(b',' | b':') => None,
            Some(_) => {
                let (scalar, after) = rest.split_at(scalar_end(rest));
                rest = after.trim_start();
                let scalar = canonical_scalar(scalar);
                if let Some(Open::Object(_, _, name @ None)) = stack.last_mut() {
                    *name = Some(scalar);
                    continue;
                }
                let value = digest_of(scalar.as_bytes());
                if !give(&mut stack, value) {
                    return value;
                }
                continue;
            }
        };
        rest = rest[1..].trim_start();
        if let Some(value) = done
            && !give(&mut stack, value)
        {
            return value;
        }
    }
}

/// Puts a finished value into the container around it; false when there is none.
fn give(stack: &mut [Open], value: u64) -> bool {
    match stack.last_mut() {
        None => return false,
        Some(Open::Array(items)) => items.extend_from_slice(&value.to_le_bytes()),
        Some(Open::Object(names, values, name)) => {
            if let Some(name) = name.take() {
                names.push((Cow::Owned(name), values.len()));
                values.push(value);
            }
        }
    }
    true
}

fn digest_of_container(open: Open) -> u64 {
    match open {
        Open::Array(items) => digest_of(&items),
        Open::Object(mut names, values, _) => {
            sort_by_name(&mut names);
            let is_last = |at: usize| names.get(at + 1).is_none_or(|next| next.0 != names[at].0);
            let mut members = vec![b'{'];
            for at in (0..names.len()).filter(|at| is_last(*at)) {
                members.extend_from_slice(names[at].0.as_bytes());
                members.extend_from_slice(&values[names[at].1].to_le_bytes());
            }
            digest_of(&members)
        }
    }
}

fn digest_of(bytes: &[u8]) -> u64 {
    // Its keys are fixed, so the same value has the same digest in every run.
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Length of the scalar that `text` starts with.
fn scalar_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes[0] != b'"' {
        let end = text.find([',', ']', '}', ':', ' ', '\t', '\n', '\r']);
        return end.unwrap_or(text.len());
    }
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn canonical_scalar(raw: &str) -> String {
    if is_number(raw) {
        return Decimal::read(raw).map_or_else(|| raw.to_owned(), |number| number.to_string());
    }
    // A string with a cut surrogate pair has no decoded form; its spelling stands for it.
    string(raw).map_or_else(|| raw.to_owned(), |text| quoted(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value() {
        for (a, b, same) in [
            ("1", "1.0", true),
            ("100", "1e2", true),
            ("0.5", "5E-1", true),
            ("-0", "0", true),
            ("1", "-1", false),
            ("1", "10", false),
            ("1", "\"1\"", false),
            ("true", "false", false),
            (r#""é""#, r#""\u00e9""#, true),
            (r#""\ud83d""#, r#""\ud83d""#, true),
            (r#"{"a":1,"b":[1,{"c":null}]}"#, r#"{ "b": [1.0, {"c": null}], "a": 1 }"#, true),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true),
            (r#"["a","b"]"#, r#"["b","a"]"#, false),
            (r#"{"a":[]}"#, r#"{"a":{}}"#, false),
            (r#"["a]","b"]"#, r#"["a","]b"]"#, false),
            (r#"{}"#, r#"{"a":null}"#, false),
            ("123456789012345678901", "123456789012345678902", false),
        ] {
            assert_eq!(same_value(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn depth_is_no_limit() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!same_value(&deep("1"), &deep("2")));
    }
}
