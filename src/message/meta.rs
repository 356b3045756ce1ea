//! What of a server's `_meta` comes down, and whose result it is (C4, K2).

use super::object::Object;
use super::value::{is_key, is_string};
use super::vocabulary::{NOT_DOWNWARD, key};
use super::writer::Writer;

/// The server's `_meta` without reserved keys, and whose result it is (C4, K2), as JSON text.
#[must_use]
pub fn down_meta(meta: Option<&str>, server_info: &str) -> String {
    let meta = meta.and_then(Object::parse).unwrap_or_default();
    let own_info = meta.get(key::SERVER_INFO).filter(|raw| is_identity(raw));
    let mut out = String::with_capacity(server_info.len() + 64);
    let mut members = Writer::new(&mut out);
    for (name, value) in kept_meta(&meta) {
        members.copy(name, value);
    }
    members.raw(key::SERVER_INFO, own_info.unwrap_or(server_info));
    members.end();
    out
}

/// Members of a server's `_meta` that may come down (K2).
#[must_use]
pub fn kept_meta<'a>(meta: &Object<'a>) -> Vec<(&'a str, &'a str)> {
    meta.iter()
        .filter(|(name, _)| {
            !is_key(name, key::SERVER_INFO) && !NOT_DOWNWARD.iter().any(|k| is_key(name, k))
        })
        .collect()
}

/// Does it name somebody (B4, K2)?
#[must_use]
pub fn is_identity(raw: &str) -> bool {
    Object::parse(raw).is_some_and(|info| {
        ["name", "version"].iter().all(|name| info.get(name).is_some_and(is_string))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_result_it_is() {
        for (meta, expected) in [
            (r#"{"a":1}"#, r#"{"a":1,"io.modelcontextprotocol/serverInfo":{}}"#),
            (
                r#"{"io.modelcontextprotocol/related-task":1}"#,
                r#"{"io.modelcontextprotocol/serverInfo":{}}"#,
            ),
            (
                r#"{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}}"#,
                r#"{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}}"#,
            ),
            (
                r#"{"io.modelcontextprotocol/serverInfo":{"name":1}}"#,
                r#"{"io.modelcontextprotocol/serverInfo":{}}"#,
            ),
            ("3", r#"{"io.modelcontextprotocol/serverInfo":{}}"#),
        ] {
            assert_eq!(down_meta(Some(meta), "{}"), expected, "{meta}");
        }
    }
}
