//! A JSON object as a list of raw slices: get, list, write.
//!
//! Values are never decoded unless asked for one by one, so a body may be megabytes long or nested
//! a hundred thousand levels deep (A6). Of duplicate members the last one counts.
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "places come from the scan of this very text, or from the list they point into"
)]

use super::decimal::Decimal;
use super::list::{self, Tool, sort_by_name};
use super::scan::{NotJson, Scanner};
use crate::bounds::MAX_DEPTH;
use std::borrow::Cow;

/// Up to this many members, looking through all of them beats an index.
const FEW: usize = 24;

/// The members of one JSON object, each a slice of the text it was parsed from.
#[derive(Clone, Debug, Default)]
pub struct Object<'a> {
    /// Key with its quotes, value as written.
    members: Vec<(&'a str, &'a str)>,
    /// The entries of its member `tools`, see [`Body::scan_result`].
    tools: Option<Vec<Tool<'a>>>,
    had_duplicates: bool,
    /// There is a `null` somewhere in it, however deep.
    has_nulls: bool,
    /// Some key may have an escape, so that it says what it does not spell.
    has_escapes: bool,
    /// The object in its member `arguments` had members that do not count, see
    /// [`Body::scan_params`].
    has_double_arguments: bool,
}

impl<'a> Object<'a> {
    /// The members of `text`, `None` when it is not an object.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(text);
        let object = Self::scan(&mut scanner).ok()?;
        scanner.end().ok().map(|()| object)
    }

    fn scan(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        Self::walk(scanner, |_, scanner, _| scanner.value())
    }

    /// Lists the members of the object that comes next; `each` takes the value of one.
    fn walk(
        scanner: &mut Scanner<'a>,
        mut each: impl FnMut(&mut Self, &mut Scanner<'a>, &'a str) -> Result<&'a str, NotJson>,
    ) -> Result<Self, NotJson> {
        let mut object = Object { members: Vec::with_capacity(8), ..Object::default() };
        let before = (scanner.nulls(), scanner.escaped_keys());
        scanner.members(|scanner, key| {
            let value = each(&mut object, scanner, key)?;
            object.members.push((key, value));
            Ok(())
        })?;
        object.has_nulls = scanner.nulls() > before.0;
        object.has_escapes = scanner.escaped_keys() > before.1;
        Ok(object.without_duplicates())
    }

    /// The raw value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let is_it = |key: &str| {
            let is_spelled =
                key.len() == name.len() + 2 && key.as_bytes()[1..].starts_with(name.as_bytes());
            is_spelled || (self.has_escapes && is_key(key, name))
        };
        self.members.iter().find(|(key, _)| is_it(key)).map(|(_, value)| *value)
    }

    /// The decoded value of a string member; `None` when it is absent or anything else.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }

    /// The members of an object member; `None` when it is absent or anything else.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Object<'a>> {
        self.get(name).and_then(Object::parse)
    }

    /// Is the member there and `true`?
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// All members in their order: key with quotes, raw value.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        self.members.iter().copied()
    }

    /// Did the text hold members that do not count?
    #[must_use]
    pub fn had_duplicates(&self) -> bool {
        self.had_duplicates
    }

    /// The entries of its member `tools`. Known after [`Body::scan_result`] only, where it is an array
    /// of not too many.
    #[must_use]
    pub fn tools(&self) -> Option<&[Tool<'a>]> {
        self.tools.as_deref()
    }

    /// Is there a `null` in it, at whatever depth?
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        self.has_nulls
    }

    /// Did its `arguments` hold members that do not count? Known after [`Body::scan_params`] only.
    #[must_use]
    pub fn has_double_arguments(&self) -> bool {
        self.has_double_arguments
    }

    /// Writes the object out again, without the members that do not count.
    pub fn write(&self, out: &mut impl Text) {
        let mut whole = Writer::new(out);
        for (key, value) in self.iter() {
            whole.copy(key, value);
        }
        whole.end();
    }

    /// Are there no members?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Keeps the last of each set of equal keys, at its own place.
    fn without_duplicates(mut self) -> Self {
        let members = &mut self.members;
        let before = members.len();
        if members.len() <= FEW {
            let mut at = 0;
            while at < members.len() {
                let (key, _) = members[at];
                let is_same = |later: &str| {
                    if self.has_escapes { same_key(key, later) } else { key == later }
                };
                if members[at + 1..].iter().any(|(later, _)| is_same(later)) {
                    members.remove(at);
                } else {
                    at += 1;
                }
            }
            self.had_duplicates = members.len() < before;
            return self;
        }
        let mut names: Vec<_> = members.iter().map(|(key, _)| key_name(key)).zip(0..).collect();
        sort_by_name(&mut names);
        let mut counts = vec![true; members.len()];
        let is_pair =
            |pair: &&[(Cow<'_, str>, usize)]| same_key(members[pair[0].1].0, members[pair[1].1].0);
        for pair in names.windows(2).filter(is_pair) {
            counts[pair[0].1] = false;
            self.had_duplicates = true;
        }
        drop(names);
        let mut counts = counts.into_iter();
        members.retain(|_| counts.next().unwrap_or(true));
        self
    }
}

/// An object's members as places in a text, for keeping them beside the text they point into.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    places: Vec<[usize; 4]>,
    has_escapes: bool,
    has_double_arguments: bool,
}

impl Spans {
    /// The places of `object`'s members in `text`, which it was parsed from.
    #[must_use]
    pub fn of(object: &Object<'_>, text: &str) -> Self {
        let start = text.as_ptr().addr();
        let place = |part: &str| {
            let from = part.as_ptr().addr() - start;
            (from, from + part.len())
        };
        let places = object.iter().map(|(key, value)| {
            let ((a, b), (c, d)) = (place(key), place(value));
            [a, b, c, d]
        });
        Spans {
            places: places.collect(),
            has_escapes: object.has_escapes,
            has_double_arguments: object.has_double_arguments,
        }
    }

    /// The object again; `text` is the one it was parsed from.
    #[must_use]
    pub fn read<'a>(&self, text: &'a str) -> Object<'a> {
        let place = |[a, b, c, d]: &[usize; 4]| (&text[*a..*b], &text[*c..*d]);
        Object {
            members: self.places.iter().map(place).collect(),
            tools: None,
            had_duplicates: false,
            has_nulls: true, // it may have
            has_escapes: self.has_escapes,
            has_double_arguments: self.has_double_arguments,
        }
    }
}

/// What stands where an object is expected.
#[derive(Clone, Debug, Default)]
pub enum Body<'a> {
    /// The member is not there.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// An object.
    Object(Object<'a>),
    /// An array or another scalar.
    Other,
}

impl<'a> Body<'a> {
    /// The object, if it is one.
    #[must_use]
    pub fn object(self) -> Option<Object<'a>> {
        match self {
            Body::Object(object) => Some(object),
            Body::Absent | Body::Null | Body::Other => None,
        }
    }

    /// The value that comes next, with its members listed in the same walk.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn scan(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        match scanner.peek() {
            Some(b'{') => Object::scan(scanner).map(Body::Object),
            _ => Ok(if scanner.value()? == "null" { Body::Null } else { Body::Other }),
        }
    }

    /// The same for the parameters of a request, whose `arguments` may be most of the line: what is
    /// to be known of those is found in the same walk.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn scan_params(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        if scanner.peek() != Some(b'{') {
            return Self::scan(scanner);
        }
        let params = Object::walk(scanner, |params, scanner, key| {
            if scanner.plain(key) != "\"arguments\"" {
                return scanner.value();
            }
            scanner.peek();
            let start = scanner.at();
            let arguments = Self::scan(scanner)?.object();
            params.has_double_arguments |= arguments.is_some_and(|a| a.had_duplicates);
            Ok(scanner.since(start))
        })?;
        Ok(Body::Object(params))
    }

    /// The same for a result, which may be a long list of tools.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn scan_result(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        if scanner.peek() != Some(b'{') {
            return Self::scan(scanner);
        }
        let result = Object::walk(scanner, |result, scanner, key| {
            if scanner.plain(key) != "\"tools\"" {
                return scanner.value();
            }
            result.tools = None;
            if scanner.peek() != Some(b'[') {
                return scanner.value();
            }
            let start = scanner.at();
            result.tools = list::scan_tools(scanner)?;
            Ok(scanner.since(start))
        })?;
        Ok(Body::Object(result))
    }

    /// Is the member there at all?
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self, Body::Absent)
    }
}

/// Is this raw key (with quotes) the name?
pub fn is_key(raw: &str, name: &str) -> bool {
    let inner = &raw[1..raw.len() - 1];
    // A key with escapes is longer than what it says.
    inner == name
        || (inner.len() > name.len()
            && inner.contains('\\')
            && string(raw).is_some_and(|key| key == name))
}

fn same_key(a: &str, b: &str) -> bool {
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

/// What JSON is written to.
pub trait Text {
    /// Appends a character.
    fn push(&mut self, c: char);
    /// Appends a text.
    fn push_str(&mut self, text: &str);
    /// Appends a text that nobody else needs, if it is not borrowed.
    fn push_cow(&mut self, text: Cow<'_, str>) {
        self.push_str(&text);
    }
}

impl Text for String {
    #[inline(never)]
    fn push(&mut self, c: char) {
        String::push(self, c);
    }

    #[inline(never)]
    fn push_str(&mut self, text: &str) {
        String::push_str(self, text);
    }
}

/// Writes one JSON object, member by member, to the end of a text.
pub struct Writer<'o, T = String> {
    out: &'o mut T,
    empty: bool,
}

impl<'o, T: Text> Writer<'o, T> {
    /// Opens an object.
    pub fn new(out: &'o mut T) -> Self {
        out.push('{');
        Writer { out, empty: true }
    }

    fn separate(&mut self) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
    }

    /// A member whose key and value are JSON text already, the key with its quotes.
    pub fn copy(&mut self, key: &str, value: &str) {
        self.separate();
        self.out.push_str(key);
        self.out.push(':');
        self.out.push_str(value);
    }

    /// The same with a value that may have been made for it.
    pub fn give(&mut self, key: &str, value: Cow<'_, str>) {
        self.copy(key, "");
        self.out.push_cow(value);
    }

    /// A member of ours (a plain name) with a value that is JSON text.
    pub fn raw(&mut self, name: &str, value: &str) {
        self.open(name).push_str(value);
    }

    /// A member of ours with a string value.
    pub fn string(&mut self, name: &str, value: &str) {
        push_string(self.open(name), value);
    }

    /// Starts a member of ours; the caller writes its value.
    pub fn open(&mut self, name: &str) -> &mut T {
        self.separate();
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    /// Has nothing been written?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push('}');
    }
}

/// Appends a text as a JSON string.
pub fn push_string(out: &mut impl Text, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_members_counts() {
        for (text, name, expected) in [
            (r#"{"a":1,"b":2,"a":3}"#, "a", Some("3")),
            (r#"{"a":1,"\u0061":2}"#, "a", Some("2")),
            (r#"{"\u0061":1}"#, "a", Some("1")),
            (r#"{"a":1}"#, "b", None),
            (r#"{"\ud83d":1,"a":2}"#, "a", Some("2")),
            (r#"{"\"\\ud83d\"":1,"\ud83d":2}"#, r#""\ud83d""#, Some("1")),
        ] {
            assert_eq!(Object::parse(text).unwrap().get(name), expected, "{text}");
        }
        let many: String = (0..100).map(|n| format!("\"k{}\":{n},", n % 50)).collect();
        let text = format!("{{{}}}", many.trim_end_matches(','));
        let object = Object::parse(&text).unwrap();
        assert_eq!(object.iter().count(), 50);
        assert_eq!(object.get("k7"), Some("57"));
    }

    #[test]
    fn only_objects_are_objects() {
        for text in ["[]", "1", "null", "\"x\"", "", "{", "{\"a\":}", "{} x", "1e400"] {
            assert!(Object::parse(text).is_none(), "{text}");
        }
        assert!(Object::parse(" { } ").unwrap().is_empty());
    }

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
    fn deep_values_do_not_recurse() {
        let text = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(Object::parse(&text).unwrap().get("b"), Some("1"));
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

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}é\u{2028}"), "\"a\\\"\\\\\\n\\u0001é\u{2028}\"");
    }
}
