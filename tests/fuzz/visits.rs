//! A server's error that sends the client to a page first (E28).

use mcp_uplift::message::questions::Kind;
use mcp_uplift::message::visits::required_visits;

use super::Verdict;
use super::json::Json;
use super::model::{body, compare, is_string, levels, whole};
use super::tree::{is_unclear, tree};

pub(crate) fn check(text: &str) -> Verdict {
    let seen = required_visits(&body(text));
    let Some(given) = tree(text).filter(|_| !is_unclear(text)) else { return Ok(()) };
    let items = given.get("data").and_then(|data| data.get("elicitations")).and_then(Json::items);
    let expected = items.unwrap_or_default().iter().map(visit).collect::<Option<Vec<_>>>();
    let expected = expected.filter(|visits| !visits.is_empty());
    let (Some(seen), Some(expected)) = (&seen, &expected) else {
        let agree = seen.is_none() && expected.is_none();
        return if agree { Ok(()) } else { Err(format!("E28 {seen:?}, expected {expected:?}")) };
    };
    if seen.len() != expected.len() {
        return Err(format!("E28 {seen:?}, expected {expected:?}"));
    }
    for ((id, asked), (name, params)) in seen.iter().zip(expected) {
        if asked.kind != Kind::Url || **id != **name {
            return Err(format!("E28 {id} {asked:?}, expected {name}"));
        }
        compare("E28", text, &asked.params, params)?;
    }
    Ok(())
}

fn visit(item: &Json) -> Option<(String, Json)> {
    let (message, url) = (item.get("message"), item.get("url"));
    let fits = is_string(message) && is_string(url) && levels(item) <= 128;
    let name = whole(item.get("elicitationId")).filter(|_| fits)?;
    let params =
        [("mode", Json::string("url")), ("url", url?.clone()), ("message", message?.clone())];
    Some((name.to_owned(), Json::object(params)))
}
