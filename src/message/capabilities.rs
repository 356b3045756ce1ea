//! What a client declares for one request, and what a question needs of it (B3, E7, E8).

use super::object::Object;
use super::value::is_object;
use super::writer::Writer;
use std::ops::{BitAnd, BitOr, Not};

/// A set of client capabilities that questions can need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// None of them.
    pub const NONE: Self = Capabilities(0);
    /// `elicitation.form`, also meant by a bare `elicitation: {}` (E7).
    pub const FORM: Self = Capabilities(1);
    /// `elicitation.url`.
    pub const URL: Self = Capabilities(2);
    /// `sampling`.
    pub const SAMPLING: Self = Capabilities(4);
    /// `sampling.tools`.
    pub const SAMPLING_TOOLS: Self = Capabilities(8);
    /// `sampling.context`.
    pub const SAMPLING_CONTEXT: Self = Capabilities(16);
    /// `roots`.
    pub const ROOTS: Self = Capabilities(32);

    /// Are all of `needed` in this set?
    #[must_use]
    pub fn covers(self, needed: Self) -> bool {
        self & needed == needed
    }

    /// Is the set empty?
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Reads `clientCapabilities`; `Err` names the member with an illegal shape (B3).
    ///
    /// # Errors
    /// The name of the member, as a path below `clientCapabilities`; "" for the value itself.
    pub fn read(raw: &str) -> Result<Self, &'static str> {
        let all = Object::parse(raw).ok_or("")?;
        let mut found = Self::NONE;
        if let Some(elicitation) = member(&all, "elicitation", "elicitation")? {
            let form = member(&elicitation, "form", "elicitation.form")?.is_some();
            let url = member(&elicitation, "url", "elicitation.url")?.is_some();
            if form || !url {
                found = found | Self::FORM;
            }
            if url {
                found = found | Self::URL;
            }
        }
        if let Some(sampling) = member(&all, "sampling", "sampling")? {
            found = found | Self::SAMPLING;
            if member(&sampling, "tools", "sampling.tools")?.is_some() {
                found = found | Self::SAMPLING_TOOLS;
            }
            if member(&sampling, "context", "sampling.context")?.is_some() {
                found = found | Self::SAMPLING_CONTEXT;
            }
        }
        if member(&all, "roots", "roots")?.is_some() {
            found = found | Self::ROOTS;
        }
        for open in ["experimental", "extensions"] {
            if let Some(entries) = member(&all, open, open)?
                && !entries.iter().all(|(_, value)| is_object(value))
            {
                return Err(open);
            }
        }
        Ok(found)
    }

    /// Writes the set in the shape of `ClientCapabilities` (E8).
    pub fn write(self, out: &mut String) {
        let mut all = Writer::new(out);
        if self.0 & (Self::FORM.0 | Self::URL.0) != 0 {
            let mut modes = Writer::new(all.open("elicitation"));
            for (mode, name) in [(Self::FORM, "form"), (Self::URL, "url")] {
                if self.covers(mode) {
                    modes.raw(name, "{}");
                }
            }
            modes.end();
        }
        if self.0 & (Self::SAMPLING.0 | Self::SAMPLING_TOOLS.0) != 0 {
            let tools = self.covers(Self::SAMPLING_TOOLS);
            all.raw("sampling", if tools { "{\"tools\":{}}" } else { "{}" });
        }
        if self.covers(Self::ROOTS) {
            all.raw("roots", "{}");
        }
        all.end();
    }
}

/// A member that has to be an object where it is present.
fn member<'a>(
    object: &Object<'a>,
    name: &str,
    path: &'static str,
) -> Result<Option<Object<'a>>, &'static str> {
    object.get(name).map(|raw| Object::parse(raw).ok_or(path)).transpose()
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Capabilities(self.0 | other.0)
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Capabilities(self.0 & other.0)
    }
}

impl Not for Capabilities {
    type Output = Self;
    fn not(self) -> Self {
        Capabilities(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let form_and_roots = Capabilities::FORM | Capabilities::ROOTS;
        for (raw, expected) in [
            ("{}", Ok(Capabilities::NONE)),
            (r#"{"elicitation":{}}"#, Ok(Capabilities::FORM)),
            (r#"{"elicitation":{"url":{}}}"#, Ok(Capabilities::URL)),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, Ok(Capabilities::FORM | Capabilities::URL)),
            (
                r#"{"elicitation":{"x":1},"roots":{"listChanged":true},"tasks":3}"#,
                Ok(form_and_roots),
            ),
            (
                r#"{"sampling":{"tools":{}}}"#,
                Ok(Capabilities::SAMPLING | Capabilities::SAMPLING_TOOLS),
            ),
            ("[]", Err("")),
            (r#"{"roots":true}"#, Err("roots")),
            (r#"{"elicitation":{"form":null}}"#, Err("elicitation.form")),
            (r#"{"experimental":{"a":1}}"#, Err("experimental")),
            (r#"{"extensions":{"a":{}}}"#, Ok(Capabilities::NONE)),
        ] {
            assert_eq!(Capabilities::read(raw), expected, "{raw}");
        }
    }

    #[test]
    fn written_as_the_smallest_object() {
        let all = Capabilities::URL | Capabilities::SAMPLING_TOOLS | Capabilities::ROOTS;
        let mut out = String::new();
        all.write(&mut out);
        assert_eq!(out, r#"{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}}"#);
    }
}
