//! A validating JSON scanner: finds where values begin and end, and decodes nothing.
//!
//! It accepts exactly what the grammar of RFC 8259 allows (a test holds it against the library's
//! parser), does not recurse, and reads strings, which is what large bodies consist of,
//! a block at a time. UTF-8 is no matter of its own here: the text is a `str` already.
#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "every offset is one that the scan over this very text has reached, and stands at an ASCII byte"
)]

use super::value::key_name;
use crate::blocks::{BLOCK, special_bytes};
use std::borrow::Cow;

/// The text is not JSON where the scanner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson;

/// Walks over one text.
///
/// Its smallest steps are inlined by force: a build for size leaves them calls, and a short line is
/// mostly such steps (a tenth of the whole cost of a progress update).
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// What the value that is being skipped has opened.
    open: Open,
    nulls: usize,
    escaped_keys: usize,
    /// The string that was just read has an escape.
    is_escaped: bool,
}

/// Open containers: an object is a 1, an array a 0, the innermost the lowest bit. Only a value
/// that is deeper than one word can tell needs memory.
#[derive(Clone, Debug, Default)]
struct Open {
    word: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.word);
        }
        self.word = self.word << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.word = if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.pop().unwrap_or_default()
        } else {
            self.word >> 1
        };
    }

    /// Is the innermost one an object?
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.word & 1 == 1)
    }
}

impl<'a> Scanner<'a> {
    /// Stands at the beginning of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Scanner { text, at: 0, open: Open::default(), nulls: 0, escaped_keys: 0, is_escaped: false }
    }

    /// Where it stands; after an error, where the text stopped being JSON, or the string began
    /// that does.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many times it has read `null`.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// The key that was just read, spelled as it is meant: as a rule it is already.
    #[must_use]
    #[inline(always)]
    pub fn plain(&self, key: &'a str) -> Cow<'a, str> {
        if self.is_escaped { Cow::Owned(respelled(key)) } else { Cow::Borrowed(key) }
    }

    /// How many keys it has read that have an escape.
    #[must_use]
    pub fn escaped_keys(&self) -> usize {
        self.escaped_keys
    }

    /// The first byte of what comes next, white space apart.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Nothing may follow but white space.
    ///
    /// # Errors
    /// Something follows.
    pub fn end(&mut self) -> Result<(), NotJson> {
        if self.peek().is_none() { Ok(()) } else { Err(NotJson) }
    }

    /// Skips the next value, however large or deep, and gives its text.
    ///
    /// # Errors
    /// What comes next is not a value.
    pub fn value(&mut self) -> Result<&'a str, NotJson> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'{' | b'[') => self.container()?,
            _ => self.scalar(first)?,
        }
        Ok(self.since(start))
    }

    /// A value that holds no others; stands at its first byte.
    #[inline(always)]
    fn scalar(&mut self, first: Option<u8>) -> Result<(), NotJson> {
        match first {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => {
                self.nulls += 1;
                self.word("null")
            }
            _ => Err(NotJson),
        }
    }

    /// An object or an array; stands at its bracket.
    fn container(&mut self) -> Result<(), NotJson> {
        self.open.depth = 0;
        loop {
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    let is_object = open == b'{';
                    self.at += 1;
                    self.open.push(is_object);
                    if !self.takes(closing(is_object)) {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                    self.open.pop();
                }
                first => self.scalar(first)?,
            }
            // A value has ended, and perhaps the containers around it.
            while let Some(is_object) = self.open.innermost() {
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.peek();
                            self.key()?;
                        }
                        break;
                    }
                    Some(close) if close == closing(is_object) => {
                        self.at += 1;
                        self.open.pop();
                    }
                    _ => return Err(NotJson),
                }
            }
            if self.open.depth == 0 {
                return Ok(());
            }
        }
    }

    /// Walks over the object that comes next: gives `each` the key of a member, with its quotes,
    /// and `each` takes the value.
    ///
    /// # Errors
    /// What comes next is not an object.
    pub fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &'a str) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.expect(b'{')?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.peek();
            let key = self.key()?;
            each(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Walks over the array that comes next: `each` takes an item.
    ///
    /// # Errors
    /// What comes next is not an array.
    pub fn items(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.peek();
            each(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Goes past this byte if it comes next.
    #[inline(always)]
    pub fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// The text from an earlier place to this one.
    #[must_use]
    #[inline(always)]
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.takes(byte) { Ok(()) } else { Err(NotJson) }
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<&'a str, NotJson> {
        let start = self.at;
        if self.byte() != Some(b'"') {
            return Err(NotJson);
        }
        self.is_escaped = false;
        self.string()?;
        self.escaped_keys += usize::from(self.is_escaped);
        let key = &self.text[start..self.at];
        self.expect(b':')?;
        Ok(key)
    }

    /// A string; stands at its first quote.
    #[inline]
    fn string(&mut self) -> Result<(), NotJson> {
        let start = self.at + 1;
        // Most strings are short and end within the first block.
        if let Some(block) = self.text.as_bytes().get(start..).and_then(<[u8]>::first_chunk) {
            let end = special_bytes(block).trailing_zeros() as usize;
            if block.get(end) == Some(&b'"') {
                self.at = start + end + 1;
                return Ok(());
            }
        }
        self.long_string(start)
    }

    /// The rest of a string, after its first quote.
    fn long_string(&mut self, mut at: usize) -> Result<(), NotJson> {
        let bytes = self.text.as_bytes();
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let mut special = special_bytes(block);
            let mut next = at + BLOCK;
            while special != 0 {
                let found = at + special.trailing_zeros() as usize;
                if bytes[found] == b'"' {
                    self.at = found + 1;
                    return Ok(());
                }
                let after = found + self.escape(found)? - at;
                if after >= BLOCK {
                    next = at + after;
                    break;
                }
                special &= !0 << after;
            }
            at = next;
        }
        // Less than a block is left of the text.
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => at += self.escape(at)?,
                Some(0..=0x1f) | None => return Err(NotJson),
                Some(_) => at += 1,
            }
        }
    }

    /// The bytes that an escape takes; anything else that stands here does not belong in a string.
    fn escape(&mut self, at: usize) -> Result<usize, NotJson> {
        self.is_escaped = true;
        let bytes = self.text.as_bytes();
        if bytes[at] != b'\\' {
            return Err(NotJson);
        }
        match bytes.get(at + 1) {
            // A look-up, not a choice of eight: which one it is cannot be foreseen.
            Some(&escape) if SHORT_ESCAPES[usize::from(escape)] => Ok(2),
            Some(b'u') => match bytes.get(at + 2..at + 6) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(6),
                _ => Err(NotJson),
            },
            _ => Err(NotJson),
        }
    }

    /// A number; stands at its first byte.
    fn number(&mut self) -> Result<(), NotJson> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(NotJson) }
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }
}

fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

/// Which bytes may follow a backslash and need nothing after them.
static SHORT_ESCAPES: [bool; 256] = {
    let mut table = [false; 256];
    let known = *b"\"\\/bfnrt";
    let mut at = 0;
    while at < known.len() {
        table[known[at] as usize] = true;
        at += 1;
    }
    table
};

/// Is the text one JSON value?
#[must_use]
pub fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().is_ok() && scanner.end().is_ok()
}

/// A key with escapes, spelled without.
#[cold]
#[inline(never)]
fn respelled(key: &str) -> String {
    format!("\"{}\"", key_name(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of which random texts are made: everything the grammar knows, and what it refuses.
    const WORDS: [&str; 48] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"b\":",
        "\"\\\"\"",
        "\"\\u00e9\"",
        "\"\\ud83d\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\\",
        " ",
        "\n",
        "\t",
        "0",
        "-0",
        "1",
        "-1",
        "01",
        "1.5",
        "1.",
        ".5",
        "1e5",
        "1E+5",
        "1e",
        "-",
        "+1",
        "true",
        "false",
        "null",
        "tru",
        "nul",
        "{}",
        "[]",
        "[1,2]",
        "{\"a\":{\"b\":[null,{}]}}",
        "\u{7f}",
        "é",
        "\u{2028}",
        "\u{1}",
        "\"long plain text that spans more than one block\"",
        "\"seven77\"",
        "\"é8 bytes\"",
        "\0",
    ];

    #[test]
    fn agrees_with_the_library_on_random_texts() {
        let mut seed = 1u64;
        let mut random = move |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let mut accepted = 0;
        for _ in 0..200_000 {
            let text: String = (0..1 + random(9)).map(|_| WORDS[random(WORDS.len())]).collect();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(is_json(&text), theirs, "{text:?}");
            accepted += usize::from(theirs);
        }
        assert!(accepted > 5_000, "only {accepted} texts were JSON");
    }

    #[test]
    fn every_place_of_a_special_byte_is_found() {
        for length in 0..40 {
            for at in 0..length {
                for (special, fits) in [("\\n", true), ("\u{1}", false), ("é", true), ("\\", false)]
                {
                    let text =
                        format!("\"{}{special}{}\"", "x".repeat(at), "y".repeat(length - at));
                    let theirs = serde_json::from_str::<String>(&text).is_ok();
                    assert_eq!(is_json(&text), theirs, "{text:?} {fits}");
                }
            }
        }
    }

    #[test]
    fn depth_is_no_limit() {
        let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
        assert!(is_json(&deep));
        assert!(!is_json(&deep[1..]));
    }
}
