//! What may be shown of a text that is not ours: no value that was given with `--env`, nothing that a
//! terminal obeys, and not too much.

use std::ops::Range;

use crate::bounds::SHOWN;
use crate::message::writer::quoted;
use crate::shell::is_unsafe;

/// Values shorter than this are not looked for: they would hide half of every text.
const LEAST_SECRET: usize = 4;

/// All spellings of values that must not be shown.
pub(super) fn spellings(values: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // The longest first: one may be the beginning of another.
    let mut add = |text: &str| {
        let at = all.iter().position(|other| other.len() < text.len());
        all.insert(at.unwrap_or(all.len()), text.to_owned());
    };
    // A value of several lines may come line by line.
    let lines = values.iter().flat_map(|value| value.lines().chain([&**value]));
    for value in lines.filter(|value| value.len() >= LEAST_SECRET) {
        add(value);
        // As JSON writers spell it: ours, those that escape slashes, those that keep to ASCII.
        let quoted = quoted(value);
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        let ascii = ascii_json(inner);
        for spelling in [inner, &ascii] {
            add(spelling);
            add(&spelling.split('/').collect::<Vec<_>>().join("\\/"));
        }
    }
    all
}

/// The inside of a JSON string, with nothing but ASCII in it.
fn ascii_json(inner: &str) -> String {
    let mut out = String::new();
    for c in inner.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// A text in which none of these values stands.
pub(super) fn masked(text: &str, secrets: &[String]) -> String {
    masked_start(text, text.len(), secrets)
}

/// The beginning of a text, as much of it as these bytes hold: none of these values stands in it, nor
/// the beginning of one.
pub(super) fn masked_start(text: &str, bytes: usize, secrets: &[String]) -> String {
    let longest = secrets.first().map_or(0, String::len);
    let seen = start_of(text, bytes.saturating_add(longest));
    let end = start_of(text, bytes).len();
    let mut out = String::new();
    let mut at = 0;
    for place in places(seen, secrets) {
        if place.start >= end {
            break;
        }
        out.push_str(seen.get(at..place.start).unwrap_or_default());
        out.push_str("***");
        at = place.end;
    }
    out.push_str(seen.get(at..end).unwrap_or_default());
    out
}

/// Where these values stand in a text, in order; those that overlap are one place.
fn places(text: &str, secrets: &[String]) -> Vec<Range<usize>> {
    let of = |secret: &String| {
        let length = secret.len();
        text.match_indices(&**secret).map(|(at, _)| at..at + length).collect::<Vec<_>>()
    };
    let mut all: Vec<Range<usize>> = secrets.iter().flat_map(of).collect();
    all.sort_by_key(|place| place.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for place in all {
        match apart.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => apart.push(place),
        }
    }
    apart
}

/// As much of a text as fits so many bytes.
fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Server text that may be shown: without control and direction characters, of
/// [`SHOWN`] characters at most.
pub(super) fn clean(text: &str) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_unsafe(*c))
        .take(SHOWN)
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_in_all_spellings() {
        let secrets = spellings(&[
            "abcd".into(),
            "abcdef/\"\u{e9}".into(),
            "xyz".into(),
            "one11\ntwo22".into(),
        ]);
        for (text, expected) in [
            ("abcd abcdef/\"\u{e9}", "*** ***"),
            ("\"abcdef/\\\"\u{e9}\"", "\"***\""),
            ("\"abcdef\\/\\\"\\u00e9\"", "\"***\""),
            ("xyz", "xyz"),
            ("one11", "***"),
            ("one11\ntwo22", "***"),
            ("abc", "abc"),
        ] {
            assert_eq!(masked(text, &secrets), expected, "{text}");
        }
    }

    #[test]
    fn a_value_across_a_cut_is_hidden() {
        let secrets = spellings(&["0123456789".into(), "89ab".into()]);
        for (text, bytes, expected) in [
            ("x0123456789y0123456789", 3, "x***"),
            ("x0123456789y0123456789", 12, "x***y"),
            ("x0123456789y0123456789", 13, "x***y***"),
            ("x0123456789y", 0, ""),
            ("x0123456789abz", 20, "x***z"),
            ("01234\u{e9}", 6, "01234"),
        ] {
            assert_eq!(masked_start(text, bytes, &secrets), expected, "{text} {bytes}");
        }
    }

    #[test]
    fn server_text_is_clean_and_short() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\nd"), "a[31mbc d");
        let long = "x".repeat(SHOWN + 1);
        assert_eq!(clean(&long).len(), SHOWN + 3);
    }
}
