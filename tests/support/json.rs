//! A JSON tree for the tests: numbers keep their text, members their order.
//!
//! It shares nothing with the program's own reading of JSON, so a fault there cannot hide here.
//! Runs of 50 and more nested empty arrays are folded into the string `$deep:N` before parsing,
//! because nothing that walks a tree should have to walk those.

/// How deep a tree may get; what the cases nest deeper are only the arrays that are folded.
const DEPTH_MAX: usize = 500;

/// Lone surrogates have no place in a `String`; they are kept up here, in a private plane.
const LONE_SURROGATE: u32 = 0x10_0000;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// The digits as they stood in the text.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn parse(text: &str) -> Result<Json, String> {
        let folded = fold_deep(text);
        let mut parser = Parser { text: folded.as_bytes(), at: 0, depth: 0 };
        let value = parser.value()?;
        parser.blank();
        if parser.at < parser.text.len() {
            return Err(parser.wrong("the end of the text"));
        }
        Ok(value)
    }

    pub(crate) fn string(text: &str) -> Json {
        Json::String(text.to_owned())
    }

    pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The member of that name; `None` when this is no object.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.members()?.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn members(&self) -> Option<&[(String, Json)]> {
        if let Json::Object(members) = self { Some(members) } else { None }
    }

    pub(crate) fn items(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Json::Number(text) = self { text.parse().ok() } else { None }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        if let Json::Number(text) = self { text.parse().ok() } else { None }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        if let Json::Number(text) = self { text.parse().ok() } else { None }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// Written without fraction and exponent.
    pub(crate) fn is_integer(&self) -> bool {
        if let Json::Number(text) = self { !text.contains(['.', 'e', 'E']) } else { false }
    }

    /// Sets a member, in its old place when there is one.
    pub(crate) fn set(members: &mut Vec<(String, Json)>, name: String, value: Json) {
        match members.iter_mut().find(|(key, _)| *key == name) {
            Some((_, old)) => *old = value,
            None => members.push((name, value)),
        }
    }

    /// Deep equality that keeps 1, 1.0, true and "1" apart, whatever the order of the members.
    pub(crate) fn same(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Number(a), Json::Number(b)) => same_number(a, b),
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y))
            }
            (Json::Object(a), Json::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(name, x)| other.get(name).is_some_and(|y| x.same(y)))
            }
            (a, b) => a == b,
        }
    }

    /// Compact JSON; the string `$deep:N` stands for N nested empty arrays.
    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => match text.strip_prefix("$deep:").and_then(|n| n.parse().ok()) {
                Some(levels) => out.push_str(&nested_arrays(levels)),
                None => write_string(text, out),
            },
            Json::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (n, (name, value)) in members.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The text for a message to a person, cut to `limit` characters.
    pub(crate) fn short(&self, limit: usize) -> String {
        short(&self.to_text(), limit)
    }
}

pub(crate) fn short(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(3)).chain("...".chars()).collect()
}

pub(crate) fn nested_arrays(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

/// Integers by their digits, so that no size of them is rounded; fractions as floats.
fn same_number(a: &str, b: &str) -> bool {
    let integer = |text: &str| !text.contains(['.', 'e', 'E']);
    match (integer(a), integer(b)) {
        (true, true) => a == b || matches!((a, b), ("-0", "0") | ("0", "-0")),
        (false, false) => a == b || a.parse::<f64>().ok() == b.parse::<f64>().ok(),
        (true, false) | (false, true) => false,
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if is_lone_surrogate(c) => {
                out.push_str(&format!("\\u{:04x}", u32::from(c) - LONE_SURROGATE));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn is_lone_surrogate(c: char) -> bool {
    (0xD800..0xE000).contains(&u32::from(c).wrapping_sub(LONE_SURROGATE))
}

/// From 50 levels on, N opening brackets and N closing ones behind them read `"$deep:N"`.
fn fold_deep(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let opening = rest.bytes().take_while(|b| *b == b'[').count();
        let closing = rest.bytes().skip(opening).take_while(|b| *b == b']').count();
        if opening >= 50 && opening == closing {
            out.push_str(&format!("\"$deep:{opening}\""));
        } else {
            out.push_str(&rest[..opening + closing]);
        }
        rest = &rest[opening + closing..];
    }
    out.push_str(rest);
    out
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Json, String> {
        self.blank();
        match self.text.get(self.at) {
            Some(b'{') => self.nested(Parser::object),
            Some(b'[') => self.nested(Parser::array),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.wrong("a value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, String>) -> Result<Json, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut members = Vec::new();
        if self.next_is(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.blank();
            let name = self.string()?;
            if !self.next_is(b':') {
                return Err(self.wrong("a colon"));
            }
            let value = self.value()?;
            Json::set(&mut members, name, value); // a key given twice: the last one counts
            if self.next_is(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.next_is(b',') {
                return Err(self.wrong("a comma"));
            }
        }
    }

    fn array(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        if self.next_is(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.next_is(b']') {
                return Ok(Json::Array(items));
            }
            if !self.next_is(b',') {
                return Err(self.wrong("a comma"));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(self.wrong("a string"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.text.get(self.at).is_some_and(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            // The text was UTF-8 and is cut only beside ASCII.
            out.push_str(&String::from_utf8_lossy(&self.text[start..self.at]));
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.wrong("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let letter = self.text.get(self.at + 1).copied();
        self.at += 2;
        Ok(match letter {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'u') => {
                let first = self.hex()?;
                self.surrogates(first)?
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    /// The character that a `\u` stands for, with the other half of a pair when one follows.
    fn surrogates(&mut self, first: u32) -> Result<char, String> {
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(code).ok_or_else(|| self.wrong("a character"));
            }
            self.at = back;
        }
        let code = if (0xD800..0xE000).contains(&first) { first + LONE_SURROGATE } else { first };
        char::from_u32(code).ok_or_else(|| self.wrong("a character"))
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let digits = str::from_utf8(digits).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(self.wrong("four hex digits"));
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|e| e.to_string())
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        self.skip(|b| b == b'-', 1);
        let leading_zero = self.text.get(self.at) == Some(&b'0');
        let mut complete = match self.skip(|b| b.is_ascii_digit(), usize::MAX) {
            0 => false,
            digits => digits == 1 || !leading_zero,
        };
        if self.skip(|b| b == b'.', 1) == 1 {
            complete &= self.skip(|b| b.is_ascii_digit(), usize::MAX) > 0;
        }
        if self.skip(|b| matches!(b, b'e' | b'E'), 1) == 1 {
            self.skip(|b| matches!(b, b'+' | b'-'), 1);
            complete &= self.skip(|b| b.is_ascii_digit(), usize::MAX) > 0;
        }
        if !complete {
            return Err(self.wrong("a number"));
        }
        Ok(Json::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn skip(&mut self, wanted: fn(u8) -> bool, limit: usize) -> usize {
        let count = self.text[self.at..].iter().take(limit).take_while(|b| wanted(**b)).count();
        self.at += count;
        count
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            return Err(self.wrong("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn next_is(&mut self, wanted: u8) -> bool {
        self.blank();
        let found = self.text.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn blank(&mut self) {
        self.skip(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'), usize::MAX);
    }

    fn wrong(&self, wanted: &str) -> String {
        format!("not JSON at byte {}: {wanted} expected", self.at)
    }
}
