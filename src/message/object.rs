//! A JSON object as a list of raw slices: get, list, write out again.
//!
//! Values are never decoded unless asked for one by one, so a body may be megabytes long or nested
//! a hundred thousand levels deep (A6). Of duplicate members the last one counts.
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "places come from the scan of this very text, or from the list they point into"
)]

use super::list::{Tool, sort_by_name};
use super::scan::{NotJson, Scanner};
use super::value::{is_key, key_name, same_key, string};
use super::writer::{Text, Writer};
use std::borrow::Cow;

/// Up to this many members, looking through all of them beats an index.
const FEW: usize = 24;

/// The members of one JSON object, each a slice of the text it was parsed from.
#[derive(Clone, Debug, Default)]
pub struct Object<'a> {
    /// Key with its quotes, value as written.
    members: Vec<(&'a str, &'a str)>,
    /// The entries of its member `tools`, see [`super::body::Body::scan_result`].
    pub(super) tools: Option<Vec<Tool<'a>>>,
    had_duplicates: bool,
    /// There is a `null` somewhere in it, however deep.
    has_nulls: bool,
    /// Some key may have an escape, so that it says what it does not spell.
    has_escapes: bool,
    /// The object in its member `arguments` had members that do not count, see
    /// [`super::body::Body::scan_params`].
    pub(super) has_double_arguments: bool,
}

impl<'a> Object<'a> {
    /// The members of `text`, `None` when it is not an object.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut scanner = Scanner::new(text);
        let object = Self::scan(&mut scanner).ok()?;
        scanner.end().ok().map(|()| object)
    }

    pub(super) fn scan(scanner: &mut Scanner<'a>) -> Result<Self, NotJson> {
        Self::walk(scanner, |_, scanner, _| scanner.value())
    }

    /// Lists the members of the object that comes next; `each` takes the value of one.
    pub(super) fn walk(
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

    /// The entries of its member `tools`. Known after [`super::body::Body::scan_result`] only, where it is an array
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

    /// Did its `arguments` hold members that do not count? Known after [`super::body::Body::scan_params`] only.
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

    /// Bytes that the places take.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of_val(self.places.as_slice())
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
    fn deep_values_do_not_recurse() {
        let text = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(Object::parse(&text).unwrap().get("b"), Some("1"));
    }
}
