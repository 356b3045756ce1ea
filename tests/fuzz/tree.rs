//! JSON as a tree, read by the usual library and by nothing of ours.
//!
//! Numbers keep their text and members their order. Of equal members the last counts and stands
//! at its own place (A6). Halves of surrogate pairs stand in a private plane.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::json::Json;

/// Deeper trees are not built: whoever walks one recurses.
const MOST_LEVELS: usize = 160;

/// Does the library take it for JSON?
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The tree, `None` where the text is not JSON or too deep.
pub(crate) fn tree(text: &str) -> Option<Json> {
    if depth(text) > MOST_LEVELS { None } else { below(text) }
}

/// The members of an object in their order, raw, equal ones included.
pub(crate) fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    serde_json::from_str::<Members>(text).ok().map(|members| members.0)
}

/// The items of an array, raw.
pub(crate) fn items(text: &str) -> Option<Vec<&str>> {
    serde_json::from_str::<Vec<&RawValue>>(text)
        .ok()
        .map(|items| items.into_iter().map(RawValue::get).collect())
}

/// What a string says, with halves of surrogate pairs in their private plane.
pub(crate) fn text_of(raw: &str) -> Option<String> {
    serde_json::from_str::<Wtf8>(raw).ok().map(|text| text.0)
}

/// Has any object in it two members of one name? Of what is too deep it is taken for granted.
pub(crate) fn has_equal_members(text: &str) -> bool {
    depth(text) > MOST_LEVELS || repeats(text)
}

/// May it be too deep only for what does not count, the first of equal members? The program looks
/// at the text, and refuses it.
pub(crate) fn is_unclear(text: &str) -> bool {
    depth(text) > 128 && has_equal_members(text)
}

fn repeats(text: &str) -> bool {
    if let Some(members) = members(text) {
        let mut names: Vec<_> = members.iter().map(|(name, _)| text_of(name)).collect();
        names.sort();
        return names.windows(2).any(|pair| pair[0] == pair[1])
            || members.iter().any(|(_, value)| repeats(value));
    }
    items(text).is_some_and(|items| items.into_iter().any(repeats))
}

/// How deep brackets outside strings nest.
pub(crate) fn depth(text: &str) -> usize {
    let (mut depth, mut most, mut rest) = (0_usize, 0, text);
    while let Some(at) = rest.find(['"', '[', '{', ']', '}']) {
        let after = &rest[at + 1..];
        match rest.as_bytes()[at] {
            b'"' => {
                // The string ends at the first quote that an even number of backslashes precedes.
                let is_end = |(at, _): &(usize, &str)| {
                    after[..*at].bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 0
                };
                let end =
                    after.match_indices('"').find(is_end).map_or(after.len(), |(at, _)| at + 1);
                rest = &after[end..];
                continue;
            }
            b'[' | b'{' => depth += 1,
            _ => depth = depth.saturating_sub(1),
        }
        most = most.max(depth);
        rest = after;
    }
    most
}

fn below(text: &str) -> Option<Json> {
    Some(match text.trim_start().bytes().next()? {
        b'{' => {
            let mut kept: Vec<(String, Json)> = Vec::new();
            for (name, value) in members(text)? {
                let name = text_of(name)?;
                kept.retain(|(known, _)| *known != name);
                kept.push((name, below(value)?));
            }
            Json::Object(kept)
        }
        b'[' => Json::Array(items(text)?.into_iter().map(below).collect::<Option<_>>()?),
        b'"' => Json::String(text_of(text)?),
        b't' | b'f' => Json::Bool(serde_json::from_str(text).ok()?),
        b'n' => serde_json::from_str::<()>(text).map(|()| Json::Null).ok()?,
        _ => Json::Number(serde_json::from_str::<&RawValue>(text).ok()?.get().to_owned()),
    })
}

struct Members<'t>(Vec<(&'t str, &'t str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push((name.get(), value.get()));
        }
        Ok(Members(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(serde::de::Error::custom("an array"))
    }
}

/// A string with its halves of surrogate pairs, which the library gives as bytes only.
struct Wtf8(String);

impl<'de> Deserialize<'de> for Wtf8 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(Wtf8Visitor)
    }
}

struct Wtf8Visitor;

impl Visitor<'_> for Wtf8Visitor {
    type Value = Wtf8;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Wtf8, E> {
        let mut text = String::new();
        let mut rest = bytes;
        loop {
            match std::str::from_utf8(rest) {
                Ok(plain) => {
                    text.push_str(plain);
                    return Ok(Wtf8(text));
                }
                Err(error) => {
                    let (plain, half) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(plain));
                    let [0xed, high, low, after @ ..] = half else {
                        return Err(E::custom("neither UTF-8 nor a half of a pair"));
                    };
                    let code = 0xd000 | (u32::from(high & 0x3f) << 6) | u32::from(low & 0x3f);
                    text.extend(char::from_u32(0x10_0000 + code));
                    rest = after;
                }
            }
        }
    }
}
