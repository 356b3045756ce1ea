//! Writing JSON: objects member by member, and strings.

use std::borrow::Cow;

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
    is_empty: bool,
}

impl<'o, T: Text> Writer<'o, T> {
    /// Opens an object.
    pub fn new(out: &'o mut T) -> Self {
        out.push('{');
        Writer { out, is_empty: true }
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.out.push(',');
        }
        self.is_empty = false;
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
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"\\\n\u{1}é\u{2028}"), "\"a\\\"\\\\\\n\\u0001é\u{2028}\"");
    }
}
