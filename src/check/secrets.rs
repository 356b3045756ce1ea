//! What may be shown of a text that is not ours: no value that was given with `--env`, nothing that a
//! terminal obeys, and not too much.

use std::ops::Range;

use crate::bounds::SHOWN;
use crate::shell::is_unsafe;

/// Values shorter than this are not looked for: they would hide half of every text.
const LEAST_SECRET: usize = 4;

/// Backslashes in a row that may stand for one: JSON in JSON in JSON has seven.
const MOST_BACKSLASHES: usize = 8;

/// Bytes that one of a value may be in a text: `\\u0026` in JSON that stands in JSON, and one more.
const LONGEST_SPELLING: usize = 8;

/// The values that must not be shown, and the lines of each: they may come one by one. The longest
/// is the first.
pub(super) fn hidden(values: &[String]) -> Vec<String> {
    let lines = values.iter().flat_map(|value| value.lines().chain([&**value]));
    let mut all: Vec<_> =
        lines.filter(|value| value.len() >= LEAST_SECRET).map(str::to_owned).collect();
    all.sort_by_key(|value| std::cmp::Reverse(value.len()));
    all
}

/// Bytes that the longest of these values may be in a text.
pub(super) fn longest(secrets: &[String]) -> usize {
    secrets.first().map_or(0, |value| value.len().saturating_mul(LONGEST_SPELLING))
}

/// How many bytes a value takes at the start of a text, as it is or however a JSON writer spells it.
fn spelled(text: &str, value: &str) -> Option<usize> {
    let mut rest = text;
    let mut last = ' ';
    for c in value.chars() {
        rest = match behind(rest, c) {
            Some(behind) => behind,
            // Escaped, one may be two or four: how many there are does not count.
            None if c == '\\' && last == c => rest,
            None => return None,
        };
        last = c;
    }
    Some(text.len() - rest.len())
}

/// What follows a character at the start of a text.
fn behind(text: &str, c: char) -> Option<&str> {
    let escaped = without_backslashes(text);
    if escaped.len() == text.len() {
        return text.strip_prefix(c);
    }
    let letter = match c {
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        _ => c,
    };
    let by_number = || behind_units(escaped, c);
    match c {
        '\\' => by_number().or(Some(escaped)),
        _ if letter != c || !c.is_alphanumeric() => escaped.strip_prefix(letter).or_else(by_number),
        _ => by_number(),
    }
}

/// From the first on that is no backslash, or not one of those.
fn without_backslashes(text: &str) -> &str {
    (0..MOST_BACKSLASHES).fold(text, |text, _| text.strip_prefix('\\').unwrap_or(text))
}

/// The same where it is spelled by its number in UTF-16.
fn behind_units(text: &str, c: char) -> Option<&str> {
    let mut rest = text;
    for unit in c.encode_utf16(&mut [0; 2]) {
        let (digits, after) = without_backslashes(rest).strip_prefix('u')?.split_at_checked(4)?;
        if u16::from_str_radix(digits, 16) != Ok(*unit) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

/// A text in which none of these values stands.
pub(super) fn masked(text: &str, secrets: &[String]) -> String {
    masked_start(text, text.len(), secrets)
}

/// The beginning of a text, as much of it as these bytes hold: none of these values stands in it, nor
/// the beginning of one.
pub(super) fn masked_start(text: &str, bytes: usize, secrets: &[String]) -> String {
    let seen = start_of(text, bytes.saturating_add(longest(secrets)));
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
    let mut apart: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.char_indices().filter(|_| !secrets.is_empty()) {
        let rest = text.get(at..).unwrap_or_default();
        let lengths = secrets.iter().filter_map(|secret| spelled(rest, secret));
        let Some(length) = lengths.max() else { continue };
        let end = at + length;
        match apart.last_mut() {
            Some(last) if at < last.end => last.end = last.end.max(end),
            _ => apart.push(at..end),
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
        let secrets = hidden(&[
            "abcd".into(),
            "abcdef/\"\u{e9}".into(),
            "xyz".into(),
            "one11\ntwo22".into(),
            "\\\\srv\\k&\u{1f600}".into(),
        ]);
        for (text, expected) in [
            ("abcd abcdef/\"\u{e9}", "*** ***"),
            ("\"abcdef/\\\"\u{e9}\"", "\"***\""),
            ("\"abcdef\\/\\\"\\u00e9\"", "\"***\""),
            ("xyz", "xyz"),
            ("one11", "***"),
            ("one11\ntwo22", "***"),
            ("abc", "abc"),
            // .NET, Go and PHP escape more than they must; and what quotes JSON quotes it again.
            ("\"\\u0061bc\\u0064ef\\u002F\\u0022\\u00E9\"", "\"***\""),
            ("{\\\"a\\\":\\\"abcdef/\\\\\\\"\\\\u00e9\\\"}", "{\\\"a\\\":\\\"***\\\"}"),
            ("k=\\\\\\\\srv\\\\k\\u0026\\ud83d\\uDE00", "k=***"),
            ("k=\\\\srv\\k&\u{1f600}", "k=***"),
            ("k=\\u005c\\u005Csrv\\u005ck&\u{1f600}", "k=***"),
            ("one11\\r\\ntwo22", "***\\r\\n***"),
            ("abcdabcdab", "******ab"),
        ] {
            assert_eq!(masked(text, &secrets), expected, "{text}");
        }
    }

    /// Whatever there is to look through, it does not take for ever.
    #[test]
    fn much_text_takes_little_time() {
        let secrets = hidden(&["\\\\\\\\x".into(), "aaaaaaab".into()]);
        for text in ["\\".repeat(1 << 15), "a".repeat(1 << 15)] {
            assert_eq!(masked(&text, &secrets).len(), text.len());
        }
    }

    #[test]
    fn a_value_across_a_cut_is_hidden() {
        let secrets = hidden(&["0123456789".into(), "89ab".into()]);
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
