//! Arrays: items one by one, the tools of a list, and their order (D9).
//!
//! A line of megabytes may be an array of millions of items, so none of them is kept unless it is
//! a tool, and of those only so many.

use super::scan::{NotJson, Scanner};
use crate::bounds::MOST_TOOLS;
use std::borrow::Cow;

/// The items of an array, raw.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    scanner: Scanner<'a>,
    is_first: bool,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let follows = std::mem::take(&mut self.is_first) || self.scanner.takes(b',');
        if follows { self.scanner.value().ok() } else { None }
    }
}

/// The items of an array; `None` when the value is anything else. `raw` is JSON, else they end
/// where it is not.
#[must_use]
pub fn array(raw: &str) -> Option<Items<'_>> {
    let mut scanner = Scanner::new(raw);
    scanner.takes(b'[').then_some(Items { scanner, is_first: true })
}

/// Writes an array of raw items. One function for all kinds of them: it would stand in the program
/// six times.
pub fn push_array<'i>(out: &mut String, items: &mut dyn Iterator<Item = Cow<'i, str>>) {
    let mut before = "[";
    for item in items {
        out.push_str(before);
        out.push_str(&item);
        before = ",";
    }
    out.push_str(if before == "[" { "[]" } else { "]" });
}

/// An entry of a list of tools: what must be known of each of them, found by the walk that reads
/// the line.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// All of it.
    pub text: &'a str,
    /// The raw value of `name`.
    pub name: Option<&'a str>,
    /// The raw value of `inputSchema`.
    pub schema: Option<&'a str>,
    /// There is a `null` in it, at whatever depth.
    pub has_nulls: bool,
}

/// The entries of the array that comes next; `None` where they are more than the bridge puts in
/// order.
///
/// # Errors
/// It is not JSON.
pub fn scan_tools<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Vec<Tool<'a>>>, NotJson> {
    let mut tools = Vec::new();
    let mut count = 0;
    scanner.items(|scanner| {
        let (start, nulls) = (scanner.at(), scanner.nulls());
        let (mut name, mut schema) = (None, None);
        if scanner.peek() == Some(b'{') {
            scanner.members(|scanner, key| {
                let place = match &*scanner.plain(key) {
                    "\"name\"" => Some(&mut name),
                    "\"inputSchema\"" => Some(&mut schema),
                    _ => None,
                };
                let value = scanner.value()?;
                if let Some(place) = place {
                    *place = Some(value);
                }
                Ok(())
            })?;
        } else {
            scanner.value()?;
        }
        count += 1;
        if count <= MOST_TOOLS {
            let has_nulls = scanner.nulls() > nulls;
            tools.push(Tool { text: scanner.since(start), name, schema, has_nulls });
        }
        Ok(())
    })?;
    Ok((count <= MOST_TOOLS).then_some(tools))
}

/// Sorts names, each with its place of origin, by code points; equal ones keep their order.
///
/// A heap sort: the places make all rows differ, so that order is kept, and the library's sorts
/// are twenty times the code for the one list that is ever sorted.
pub fn sort_by_name(names: &mut [(Cow<'_, str>, usize)]) {
    for start in (0..names.len() / 2).rev() {
        sink(names, start);
    }
    for end in (1..names.len()).rev() {
        names.swap(0, end);
        let (heap, _) = names.split_at_mut(end);
        sink(heap, 0);
    }
}

/// Moves a row of a heap down to its place below larger ones.
#[allow(clippy::indexing_slicing, reason = "children are looked for below the length")]
fn sink(heap: &mut [(Cow<'_, str>, usize)], mut at: usize) {
    loop {
        let children = (2 * at + 1..heap.len()).take(2);
        match children.max_by(|a, b| heap[*a].cmp(&heap[*b])) {
            Some(child) if heap[child] > heap[at] => {
                heap.swap(at, child);
                at = child;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_arrays() {
        for (raw, expected) in [
            ("[]", Some(vec![])),
            (
                " [ 1 , \"a,b\" ,[2,3], {\"x\":[4]} ] ",
                Some(vec!["1", "\"a,b\"", "[2,3]", "{\"x\":[4]}"]),
            ),
            ("[[]]", Some(vec!["[]"])),
            ("{}", None),
            ("\"[]\"", None),
            ("", None),
            ("[1,2", Some(vec!["1", "2"])),
            ("[1 2]", Some(vec!["1"])),
        ] {
            assert_eq!(array(raw).map(Iterator::collect::<Vec<_>>), expected, "{raw}");
        }
    }

    #[test]
    fn tools_of_a_list() {
        let raw =
            r#"[{"name":"x","n\u0061me":"a","inputSchema":{"default":null}},null,{"name":3},[]]"#;
        let tools = scan_tools(&mut Scanner::new(raw)).unwrap().unwrap();
        let seen: Vec<_> =
            tools.iter().map(|tool| (tool.name, tool.schema, tool.has_nulls)).collect();
        let expected = [
            (Some("\"a\""), Some("{\"default\":null}"), true),
            (None, None, true),
            (Some("3"), None, false),
            (None, None, false),
        ];
        assert_eq!(seen, expected);
        assert_eq!(tools[1].text, "null");
        assert!(scan_tools(&mut Scanner::new("[{\"a\":}]")).is_err());
        let many = format!("[{}{{}}]", "{},".repeat(MOST_TOOLS));
        assert!(scan_tools(&mut Scanner::new(&many)).unwrap().is_none());
    }

    #[test]
    fn names_are_sorted_as_the_library_does() {
        let mut seed = 7u64;
        for length in 0..200 {
            let mut names: Vec<(Cow<'_, str>, usize)> = (0..length)
                .map(|at| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (Cow::Owned(format!("{}", (seed >> 33) % 50)), at)
                })
                .collect();
            let mut expected = names.clone();
            expected.sort();
            sort_by_name(&mut names);
            assert_eq!(names, expected);
        }
    }
}
