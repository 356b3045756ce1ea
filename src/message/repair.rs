//! Repairs of a server's results that strict clients would reject whole (D9, D10, D12).
//!
//! Each function takes the raw array and gives the repaired one, or nothing when it may go down
//! as it is. Everything that is not named here stays as it was sent.

use super::list::{Items, Tool, array, push_array, sort_by_name};
use super::object::Object;
use super::value::{is_key, is_object, string};
use super::vocabulary::Method;
use super::writer::Writer;
use crate::bounds::{MOST_COMPLETIONS, MOST_FINDINGS};
use std::borrow::Cow;
use std::cmp::Ordering;

/// What a repair found; one line for the person each (D10).
pub type Findings = Vec<String>;

/// The repaired value of a result's array member, for any list but that of tools.
#[must_use]
pub fn items(method: Method, raw: &str) -> Cow<'_, str> {
    each(raw, &|entry| item(method, entry))
}

fn item(method: Method, entry: &str) -> Cow<'_, str> {
    match method {
        Method::PromptsList => edit(entry, &|name, value| {
            is_key(name, "arguments").then(|| each(value, &without_nulls))
        }),
        Method::ToolsCall => block(entry),
        Method::PromptsGet => edit(entry, &|name, value| {
            let is_list = value.starts_with('[');
            is_key(name, "content")
                .then(|| if is_list { each(value, &block) } else { block(value) })
        }),
        Method::ToolsList
        | Method::ResourcesList
        | Method::TemplatesList
        | Method::ResourcesRead
        | Method::Complete
        | Method::Discover
        | Method::Listen
        | Method::Removed
        | Method::Vendor => without_nulls(entry),
    }
}

/// A content block: its own nulls, and those of the resource in it.
fn block(entry: &str) -> Cow<'_, str> {
    edit(entry, &|name, value| is_key(name, "resource").then(|| without_nulls(value)))
}

fn without_nulls(entry: &str) -> Cow<'_, str> {
    edit(entry, &|_, _| None)
}

/// An array whose null entries are gone and whose other entries went through `repair`.
fn each<'a>(raw: &'a str, repair: &dyn Fn(&'a str) -> Cow<'a, str>) -> Cow<'a, str> {
    let Some(entries) = array(raw) else {
        return Cow::Borrowed(raw);
    };
    let mut out = String::with_capacity(raw.len());
    push_array(&mut out, &mut entries.filter(|entry| *entry != "null").map(repair));
    Cow::Owned(out)
}

/// An object without its null members; `change` may give others a new value.
fn edit<'a>(
    entry: &'a str,
    change: &dyn Fn(&str, &'a str) -> Option<Cow<'a, str>>,
) -> Cow<'a, str> {
    if !entry.contains("null") {
        return Cow::Borrowed(entry);
    }
    let Some(object) = Object::parse(entry) else {
        return Cow::Borrowed(entry);
    };
    let mut out = String::with_capacity(entry.len());
    let mut writer = Writer::new(&mut out);
    for (name, value) in object.iter().filter(|(_, value)| *value != "null") {
        writer.copy(name, change(name, value).as_deref().unwrap_or(value));
    }
    writer.end();
    Cow::Owned(out)
}

/// The list of tools in `raw`: each repaired, all in the order of their names (D9, D10). `tools`:
/// its entries.
#[must_use]
#[allow(
    clippy::indexing_slicing,
    reason = "places of the list they point into; it was just seen to be longer"
)]
pub fn tools<'a>(raw: &'a str, tools: &[Tool<'a>], found: &mut Findings) -> Cow<'a, str> {
    let mut is_as_sent = true;
    let mut texts = Vec::with_capacity(tools.len());
    let mut named: Vec<(Cow<'_, str>, usize)> = Vec::with_capacity(tools.len());
    let mut nameless = Vec::new();
    for tool in tools {
        if tool.text == "null" {
            is_as_sent = false;
            continue;
        }
        match tool.name.and_then(string) {
            Some(name) => {
                let is_behind = named.last().is_none_or(|(last, _)| *last <= name);
                is_as_sent &= is_behind && nameless.is_empty();
                named.push((name, texts.len()));
            }
            None => nameless.push(texts.len()),
        }
        let text = repaired_tool(tool, found);
        is_as_sent &= matches!(text, Cow::Borrowed(_));
        texts.push(text);
    }
    if is_as_sent {
        return Cow::Borrowed(raw);
    }
    sort_by_name(&mut named);
    let order = named.iter().map(|(_, at)| *at).chain(nameless);
    let mut out = String::with_capacity(raw.len() + 64);
    push_array(&mut out, &mut order.map(|at| Cow::Borrowed(texts[at].as_ref())));
    Cow::Owned(out)
}

const PLAIN_SCHEMA: &str = "{\"type\":\"object\"}";

/// A tool without its nulls, with an `inputSchema` that says `"type":"object"`; anything that is
/// no object stays as it is.
fn repaired_tool<'a>(entry: &Tool<'a>, found: &mut Findings) -> Cow<'a, str> {
    let &Tool { text, schema: given, has_nulls, .. } = entry;
    let schema = given.map_or(Cow::Borrowed(PLAIN_SCHEMA), |raw| schema(raw, has_nulls));
    let is_whole = given.is_some_and(|raw| *raw == *schema);
    if is_whole && !has_nulls {
        return Cow::Borrowed(text);
    }
    let Some(tool) = Object::parse(text) else { return Cow::Borrowed(text) };
    if is_whole && !tool.iter().any(|(_, value)| value == "null") {
        return Cow::Borrowed(text);
    }
    if !is_whole {
        match found.len().cmp(&MOST_FINDINGS) {
            Ordering::Less => {
                let name = tool.string("name").unwrap_or(Cow::Borrowed("without a name"));
                found.push(format!(
                    "tool {name}: inputSchema repaired, clients would reject the whole list"
                ));
            }
            Ordering::Equal => found.push("more tools were repaired and are not named".into()),
            Ordering::Greater => {}
        }
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut writer = Writer::new(&mut out);
    for (name, value) in tool.iter() {
        if is_key(name, "inputSchema") {
            writer.copy(name, &schema);
        } else if value != "null" {
            writer.copy(name, value);
        }
    }
    if given.is_none() {
        writer.raw("inputSchema", &schema);
    }
    writer.end();
    Cow::Owned(out)
}

fn schema(raw: &str, nulls: bool) -> Cow<'_, str> {
    // Nearly every schema starts like this, and then there is nothing to look for.
    let is_plain = raw.starts_with("{\"type\":\"object\"");
    if is_plain && !(nulls && raw.contains("null")) {
        return Cow::Borrowed(raw);
    }
    let Some(object) = Object::parse(raw) else { return Cow::Borrowed(PLAIN_SCHEMA) };
    let is_dropped = |name: &str, value: &str| {
        value == "null" && (is_key(name, "required") || is_key(name, "properties"))
    };
    let given = object.get("type");
    if given == Some("\"object\"") && !object.iter().any(|(name, value)| is_dropped(name, value)) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len() + 20);
    let mut writer = Writer::new(&mut out);
    if given.is_none() {
        writer.raw("type", "\"object\"");
    }
    for (name, value) in object.iter().filter(|(name, value)| !is_dropped(name, value)) {
        writer.copy(name, if is_key(name, "type") { "\"object\"" } else { value });
    }
    writer.end();
    Cow::Owned(out)
}

/// `completion` with its `values` an array of at most 100 (D11, D12).
#[must_use]
pub fn completion(raw: Option<&str>) -> Cow<'_, str> {
    let Some(raw) = raw.filter(|raw| is_object(raw)) else {
        return Cow::Borrowed("{\"values\":[]}");
    };
    let Some(object) = Object::parse(raw) else {
        return Cow::Borrowed(raw);
    };
    let values = object.get("values").filter(|raw| *raw != "null");
    let is_long = |items: &Items<'_>| items.clone().nth(MOST_COMPLETIONS).is_some();
    let many = values.and_then(array).filter(is_long);
    if values.is_some() && many.is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut writer = Writer::new(&mut out);
    for (name, value) in object.iter() {
        let is_dropped = is_key(name, "values") || many.is_some() && is_key(name, "hasMore");
        if !is_dropped {
            writer.copy(name, value);
        }
    }
    match many {
        Some(items) => {
            let kept = &mut items.take(MOST_COMPLETIONS).map(Cow::Borrowed);
            push_array(writer.open("values"), kept);
            writer.raw("hasMore", "true");
        }
        None => writer.raw("values", "[]"),
    }
    writer.end();
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::super::list::scan_tools;
    use super::super::scan::Scanner;
    use super::*;

    fn check(method: Method, raw: &str, expected: &str) {
        assert_eq!(items(method, raw), expected, "{raw}");
    }

    fn ordered(raw: &str, found: &mut Findings) -> String {
        let list = scan_tools(&mut Scanner::new(raw)).unwrap().unwrap();
        super::tools(raw, &list, found).into_owned()
    }

    #[test]
    fn tools() {
        for (raw, expected) in [
            (
                r#"[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]"#,
                r#"[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]"#,
            ),
            (r#"[{"x":1}]"#, r#"[{"x":1,"inputSchema":{"type":"object"}}]"#),
            (
                r#"[{"name":"a","inputSchema":{"properties":{}}}]"#,
                r#"[{"name":"a","inputSchema":{"type":"object","properties":{}}}]"#,
            ),
            (
                r#"[{"name":"a","inputSchema":{"a":1e400,"type":["object","null"]}}]"#,
                r#"[{"name":"a","inputSchema":{"a":1e400,"type":"object"}}]"#,
            ),
            (
                r#"[{"name":"a","inputSchema":[]}]"#,
                r#"[{"name":"a","inputSchema":{"type":"object"}}]"#,
            ),
            (
                r#"[{"name":"a","inputSchema":{"type":"object","title":null,"required":null}}]"#,
                r#"[{"name":"a","inputSchema":{"type":"object","title":null}}]"#,
            ),
            (
                r#"[{"title":"x","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]"#,
                r#"[{"name":"a","inputSchema":{"type":"object"}},{"title":"x","inputSchema":{"type":"object"}}]"#,
            ),
            ("[3]", "[3]"),
        ] {
            assert_eq!(ordered(raw, &mut Vec::new()), expected, "{raw}");
        }
    }

    #[test]
    fn a_repair_is_told_once_a_tool() {
        let mut found = Vec::new();
        let raw = r#"[{"name":"a"},{"name":"b","inputSchema":{"type":"object"}},{"title":"c"}]"#;
        ordered(raw, &mut found);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn nulls_only_where_they_hurt() {
        check(
            Method::ToolsCall,
            r#"[null,{"type":"text","text":"null","annotations":null}]"#,
            r#"[{"type":"text","text":"null"}]"#,
        );
        check(
            Method::PromptsGet,
            r#"[{"role":"user","content":{"type":"resource","resource":{"uri":"u","mimeType":null}}}]"#,
            r#"[{"role":"user","content":{"type":"resource","resource":{"uri":"u"}}}]"#,
        );
        check(
            Method::PromptsGet,
            r#"[{"cont\u0065nt":[{"type":"resource","r\u0065source":{"uri":"u","text":null}}]}]"#,
            r#"[{"cont\u0065nt":[{"type":"resource","r\u0065source":{"uri":"u"}}]}]"#,
        );
        check(
            Method::PromptsList,
            r#"[{"name":"p","arguments":[{"name":"x","required":null},null]}]"#,
            r#"[{"name":"p","arguments":[{"name":"x"}]}]"#,
        );
        check(
            Method::ResourcesRead,
            r#"[{"uri":"u","text":"t","_meta":{"a":null}}]"#,
            r#"[{"uri":"u","text":"t","_meta":{"a":null}}]"#,
        );
    }

    #[test]
    fn completions() {
        let many = format!("[{}]", vec!["\"v\""; 101].join(","));
        let cut = format!(
            r#"{{"total":101,"values":[{}],"hasMore":true}}"#,
            vec!["\"v\""; 100].join(",")
        );
        for (raw, expected) in [
            (Some(r#"{"values":["a"]}"#), r#"{"values":["a"]}"#),
            (Some(r#"{"values":null,"total":3}"#), r#"{"total":3,"values":[]}"#),
            (Some(r#"{"valu\u0065s":null,"total":3}"#), r#"{"total":3,"values":[]}"#),
            (None, r#"{"values":[]}"#),
            (Some(&*format!(r#"{{"values":{many},"hasMore":false,"total":101}}"#)), cut.as_str()),
        ] {
            assert_eq!(completion(raw), expected);
        }
    }
}
