//! Raw JSON values and keys: what kind they are, what they say, how deep they are nested.
//!
//! A value is the slice of the line that it came in on. It is decoded only where its text is needed.
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a key has its quotes, and places were just found in the text"
)]

use super::decimal::Decimal;
use crate::bounds::MAX_DEPTH;
use std::borrow::Cow;
use std::str::FromStr;
use std::string::FromUtf8Error;

/// Is this raw key (with quotes) the name?
#[must_use]
pub fn is_key(raw: &str, name: &str) -> bool {
    let inner = &raw[1..raw.len() - 1];
    // A key with escapes is longer than what it says.
    inner == name
        || (inner.len() > name.len()
            && inner.contains('\\')
            && string(raw).is_some_and(|key| key == name))
}

/// Are these raw keys the same name?
#[must_use]
pub fn same_key(a: &str, b: &str) -> bool {
    // A cut surrogate pair has no decoded form: its spelling is its name, and no other's.
    let decoded_same = || string(a).is_some_and(|a| string(b).is_some_and(|b| a == b));
    a == b || ((a.contains('\\') || b.contains('\\')) && decoded_same())
}

/// The decoded key, or its raw text where it has no decoded form (a cut surrogate pair).
#[must_use]
pub fn key_name(raw: &str) -> Cow<'_, str> {
    string(raw).unwrap_or(Cow::Borrowed(raw))
}

/// The text of a JSON string; `None` when the raw value is anything else or has no UTF-8 form.
#[must_use]
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return unescaped(inner).map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// What a string with escapes says, where that has a UTF-8 form.
fn unescaped(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut length = 1;
        out.push(match escaped.as_bytes().first()? {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (c, taken) = unescaped_unicode(escaped)?;
                length = taken;
                c
            }
            byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
            _ => return None,
        });
        rest = &escaped[length..];
    }
    out.push_str(rest);
    Some(out)
}

/// The character of `uXXXX`, or of two of them that are a surrogate pair, and the bytes it took.
fn unescaped_unicode(escaped: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u32::from_str_radix(escaped.get(at..at + 4)?, 16).ok();
    let first = unit(1)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|c| (c, 5));
    }
    let second = escaped.get(5..7).filter(|text| *text == "\\u").and_then(|_| unit(7))?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + low).map(|c| (c, 11))
}

/// What is not UTF-8 as text all the same.
#[cold]
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "what is left of the failed conversion")]
#[must_use]
pub fn lossy(error: FromUtf8Error) -> String {
    String::from_utf8_lossy(error.as_bytes()).into_owned()
}

/// The raw value is a string, whatever is in it.
#[must_use]
pub fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

/// The raw value is an object.
#[must_use]
pub fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

/// The raw value is a number.
#[must_use]
pub fn is_number(raw: &str) -> bool {
    raw.starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

/// The raw value is a number without a fraction: `1`, `-7`, `1.0`, `1e3` (A5).
#[must_use]
pub fn is_integer(raw: &str) -> bool {
    let is_plain = !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_digit());
    is_plain || is_number(raw) && Decimal::read(raw).is_some_and(|number| number.is_integral())
}

/// The number, where it is spelled as an integer, with `.0` or without.
#[must_use]
pub fn integer<N: FromStr>(raw: &str) -> Option<N> {
    let digits = raw.strip_suffix(".0").unwrap_or(raw);
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}

/// Is the value nested deeper than the bridge interprets (A6)? `text` must be valid JSON.
#[must_use]
pub fn is_too_deep(text: &str) -> bool {
    if text.len() <= MAX_DEPTH {
        return false; // each level takes a byte
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_by_value() {
        for (text, expected) in [
            ("1", true),
            ("-1", true),
            ("0", true),
            ("1.0", true),
            ("1.50", false),
            ("1.5e1", true),
            ("1e-1", false),
            ("10e-1", true),
            ("0e-5", true),
            ("0.0", true),
            ("123456789012345678901234567890", true),
            ("1e99999999999999999999", false),
            ("\"1\"", false),
            ("true", false),
        ] {
            assert_eq!(is_integer(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_ignores_brackets_in_strings() {
        let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(!is_too_deep(&nest(MAX_DEPTH)));
        assert!(is_too_deep(&nest(MAX_DEPTH + 1)));
        assert!(!is_too_deep(&format!("[\"\\\"{}\"]", "[".repeat(500))));
    }

    #[test]
    fn strings_are_decoded_as_the_library_does() {
        let parts = [
            "a",
            "é",
            "\\n",
            "\\\"",
            "\\\\",
            "\\/",
            "\\b",
            "\\u0041",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "\\u0000",
            "\\uFFFF",
            "\\uD83D\\uDE00",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let raw = format!("\"{a}{b}{c}\"");
                    let theirs = serde_json::from_str::<String>(&raw).ok();
                    assert_eq!(string(&raw).map(Cow::into_owned), theirs, "{raw}");
                }
            }
        }
    }
}
