//! A server's notifications on their way down: progress, log messages, changes (F3, F14, G8).

use super::decimal::Decimal;
use super::envelope;
use super::list;
use super::meta::kept_meta;
use super::object::Object;
use super::refusal::Refusal;
use super::value::{is_key, is_number, is_string, is_too_deep, string};
use super::vocabulary::key;
use super::writer::{Writer, quoted};
use std::borrow::Cow;

/// How far a progress update says the work is; `None` when that is no number (F3).
#[must_use]
pub fn progress_value(params: &Object<'_>) -> Option<Decimal> {
    params.get("progress").filter(|raw| is_number(raw)).and_then(Decimal::read)
}

/// The parameters of a progress notification under the client's own token (F1).
#[must_use]
pub fn progress(token: &str, params: &Object<'_>) -> String {
    let mut text = String::with_capacity(160);
    let mut members = Writer::new(&mut text);
    members.raw(key::PROGRESS_TOKEN, token);
    for name in ["progress", "total"] {
        if let Some(number) = params.get(name).filter(|raw| is_number(raw)) {
            members.raw(name, number);
        }
    }
    if let Some(message) = params.get("message").filter(|raw| is_string(raw)) {
        members.raw("message", message);
    }
    write_meta(&mut members, params);
    members.end();
    text
}

/// A log message: its severity, and its parameters for the client (F14). `None`: no known level.
#[must_use]
pub fn log_message(params: &Object<'_>) -> Option<(u8, String)> {
    let level = params.get("level")?;
    let severity = envelope::log_level(level)?;
    let mut out = String::new();
    let mut down = Writer::new(&mut out);
    down.raw("level", level);
    if let Some(logger) = params.get("logger").filter(|raw| is_string(raw)) {
        down.raw("logger", logger);
    }
    down.raw("data", params.get("data").unwrap_or("null"));
    write_meta(&mut down, params);
    down.end();
    Some((severity, out))
}

/// The parameters of a change notification for one stream (G8, G15).
#[must_use]
pub fn change(params: Option<&Object<'_>>, stream: &str) -> String {
    change_for_all(params) + stream + CHANGE_END
}

/// The end of such parameters, behind the stream.
pub const CHANGE_END: &str = "}}";

/// The same for whatever stream: what stands before it.
#[must_use]
pub fn change_for_all(params: Option<&Object<'_>>) -> String {
    let empty = Object::default();
    let params = params.unwrap_or(&empty);
    let mut out = String::new();
    let mut down = Writer::new(&mut out);
    for (name, value) in params.iter().filter(|(name, _)| !is_key(name, "_meta")) {
        down.copy(name, value);
    }
    let meta = params.object("_meta").unwrap_or_default();
    let mut members = Writer::new(down.open("_meta"));
    for (name, value) in kept_meta(&meta) {
        members.copy(name, value);
    }
    members.open(key::SUBSCRIPTION_ID);
    out
}

fn write_meta(down: &mut Writer<'_>, params: &Object<'_>) {
    let meta = params.object("_meta").unwrap_or_default();
    let kept = kept_meta(&meta);
    if kept.is_empty() {
        return;
    }
    let mut members = Writer::new(down.open("_meta"));
    for (name, value) in kept {
        members.copy(name, value);
    }
    members.end();
}

/// What a client wants to hear on a stream (G1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// `toolsListChanged`.
    pub tools: bool,
    /// `promptsListChanged`.
    pub prompts: bool,
    /// `resourcesListChanged`.
    pub resources: bool,
    /// `resourceSubscriptions`, each once, in their order (G3).
    pub uris: Vec<String>,
}

/// Reads the filter of a `subscriptions/listen`.
///
/// # Errors
/// -32600 where it is nested too deep (A6), else -32602 with what is wrong.
pub fn filter(params: &Object<'_>) -> Result<Filter, Refusal> {
    match params.get("notifications") {
        Some(raw) if is_too_deep(raw) => Err(Refusal::TooDeep),
        raw => read_filter(raw).map_err(Refusal::Params),
    }
}

fn read_filter(raw: Option<&str>) -> Result<Filter, String> {
    const REQUIRED: &str = "'notifications' is required and must be a valid SubscriptionFilter";
    let raw = raw.ok_or(REQUIRED)?;
    let wanted = Object::parse(raw).ok_or(REQUIRED)?;
    let flag = |name: &str| match wanted.get(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(format!("notifications.{name} must be true or false")),
    };
    let mut filter = Filter {
        tools: flag("toolsListChanged")?,
        prompts: flag("promptsListChanged")?,
        resources: flag("resourcesListChanged")?,
        uris: Vec::new(),
    };
    if let Some(raw) = wanted.get("resourceSubscriptions") {
        let wrong = "notifications.resourceSubscriptions must be an array of strings";
        let uris = list::array(raw).ok_or(wrong)?.map(string).collect::<Option<Vec<_>>>();
        filter.uris = each_once(&uris.ok_or(wrong)?);
    }
    Ok(filter)
}

/// Leaves out what came before. A line has room for a million of them, so they are not compared each
/// with each.
fn each_once(uris: &[Cow<'_, str>]) -> Vec<String> {
    let mut names: Vec<_> = uris.iter().map(|uri| Cow::Borrowed(&**uri)).zip(0..).collect();
    list::sort_by_name(&mut names);
    let mut is_new = vec![true; names.len()];
    for pair in names.windows(2) {
        if let [(first, _), (second, at)] = pair
            && first == second
            && let Some(is_new) = is_new.get_mut(*at)
        {
            *is_new = false;
        }
    }
    let is_new = uris.iter().zip(is_new).filter(|(_, is_new)| *is_new);
    is_new.map(|(uri, _)| uri.to_string()).collect()
}

impl Filter {
    /// Gives up what `other` does not have (G14).
    pub fn narrow(&mut self, other: &Filter) {
        self.tools &= other.tools;
        self.prompts &= other.prompts;
        self.resources &= other.resources;
        self.uris.retain(|uri| other.uris.contains(uri));
    }

    /// Writes the filter as an acknowledgement names it: without what is not granted (G3).
    pub fn write(&self, out: &mut String) {
        let mut granted = Writer::new(out);
        for (name, flag) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if flag {
                granted.raw(name, "true");
            }
        }
        if !self.uris.is_empty() {
            let mut uris = self.uris.iter().map(|uri| Cow::Owned(quoted(uri)));
            list::push_array(granted.open("resourceSubscriptions"), &mut uris);
        }
        granted.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates() {
        for (params, expected) in [
            (r#"{"progressToken":1,"progress":1}"#, Some(r#"{"progressToken":"p","progress":1}"#)),
            (
                r#"{"progress":2.50,"total":"x","message":7}"#,
                Some(r#"{"progressToken":"p","progress":2.50}"#),
            ),
            (
                r#"{"progress":1,"total":4,"message":"m","_meta":{"k":1}}"#,
                Some(
                    r#"{"progressToken":"p","progress":1,"total":4,"message":"m","_meta":{"k":1}}"#,
                ),
            ),
            (r#"{"progress":"3"}"#, None),
            (r#"{"progress":1e99999999999999999999}"#, None),
            ("{}", None),
        ] {
            let params = Object::parse(params).unwrap();
            let seen = progress_value(&params).map(|_| progress("\"p\"", &params));
            assert_eq!(seen.as_deref(), expected, "{params:?}");
        }
    }

    #[test]
    fn log_messages() {
        let read = |text: &str| log_message(&Object::parse(text).unwrap());
        assert_eq!(read(r#"{"level":"loud","data":1}"#), None);
        assert_eq!(
            read(r#"{"level":"error"}"#),
            Some((4, r#"{"level":"error","data":null}"#.into()))
        );
    }

    #[test]
    fn filters() {
        let read = |text: &str| filter(&Object::parse(text).unwrap());
        for bad in [
            "{}",
            r#"{"notifications":null}"#,
            r#"{"notifications":{"toolsListChanged":1}}"#,
            r#"{"notifications":{"resourceSubscriptions":[1]}}"#,
            r#"{"notifications":{"resourceSubscriptions":null}}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let filter = read(r#"{"notifications":{"promptsListChanged":true,"toolsListChanged":false,"x":1,"resourceSubscriptions":["a","b","a"]}}"#).unwrap();
        let mut out = String::new();
        filter.write(&mut out);
        assert_eq!(out, r#"{"promptsListChanged":true,"resourceSubscriptions":["a","b"]}"#);
    }

    /// Nobody else is served meanwhile: half a million must not take half an hour.
    #[test]
    fn many_uris_are_read_in_time() {
        let many: Vec<_> = (0..500_000).map(|n| format!("\"{}\"", n % 400_000)).collect();
        let text =
            format!(r#"{{"notifications":{{"resourceSubscriptions":[{}]}}}}"#, many.join(","));
        let (told, read) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let filter = filter(&Object::parse(&text).unwrap()).unwrap();
            told.send((filter.uris.len(), filter.uris[399_999].clone()))
        });
        let uris = read.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(uris, Ok((400_000, "399999".to_owned())));
    }
}
