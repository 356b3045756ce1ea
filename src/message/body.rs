//! What a message carries: an object, or what stands in its place.

use super::list;
use super::object::Object;
use super::scan::{NotJson, Scanner};

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
            params.has_double_arguments |= arguments.is_some_and(|a| a.had_duplicates());
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
