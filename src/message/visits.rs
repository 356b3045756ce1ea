//! URLs that a server wants visited before it serves a request (E28).

use super::body::Body;
use super::capabilities::Capabilities;
use super::list::array;
use super::meta::down_meta;
use super::object::Object;
use super::questions::{Asked, Kind};
use super::value::{is_string, is_too_deep};
use super::writer::Writer;

/// The visits that a -32042 error demands, each with the server's name for it (E28). `None`: it
/// does not say where to.
#[must_use]
pub fn required_visits(error: &Body<'_>) -> Option<Vec<(Box<str>, Asked)>> {
    let Body::Object(error) = error else {
        return None;
    };
    let items = error.object("data")?.get("elicitations").and_then(array)?;
    let visit = |item: &str| {
        let params = Object::parse(item).filter(|_| !is_too_deep(item))?;
        let id = params.string("elicitationId")?;
        let (message, url) = (params.get("message")?, params.get("url")?);
        if !is_string(message) || !is_string(url) {
            return None;
        }
        let mut text = String::new();
        let mut kept = Writer::new(&mut text);
        kept.raw("mode", "\"url\"");
        kept.raw("url", url);
        kept.raw("message", message);
        kept.end();
        let asked = Asked { kind: Kind::Url, needs: Capabilities::URL, params: text.into() };
        Some((id.into(), asked))
    };
    let visits: Option<Vec<_>> = items.map(visit).collect();
    visits.filter(|visits| !visits.is_empty())
}

/// `"result":{...}` of a tool call whose visit was declined (E28).
#[must_use]
pub fn declined_visit(server_info: &str) -> String {
    let mut out = String::from("\"result\":");
    let mut down = Writer::new(&mut out);
    down.raw("resultType", "\"complete\"");
    down.raw("isError", "true");
    let text = "The server requires a visit to a web page for this tool, and it was declined.";
    down.raw("content", &format!("[{{\"type\":\"text\",\"text\":\"{text}\"}}]"));
    down.raw("_meta", &down_meta(None, server_info));
    down.end();
    out
}
