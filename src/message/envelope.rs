//! The modern request envelope: the reserved members of `params._meta` (B2-B5, B11, F1).

use super::body::Body;
use super::capabilities::Capabilities;
use super::meta::is_identity;
use super::object::Object;
use super::refusal::Refusal;
use super::value::{is_integer, is_string, is_too_deep, string};
use super::vocabulary::{LOG_LEVELS, MODERN, key};
use crate::bounds::LONGEST_TOKEN;

/// What one request says about its client. Nothing of it outlives the request (B13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What the client can be asked during this request.
    pub capabilities: Capabilities,
    /// The token under which it wants progress, as JSON text (F1).
    pub progress_token: Option<Box<str>>,
    /// Index into [`LOG_LEVELS`] from which on it wants log messages; `Err` for an unknown level,
    /// which is judged after the method (B1, B11).
    pub log_level: Result<Option<u8>, ()>,
}

/// Members that are looked into, and therefore have a bound (A6).
const READ: [&str; 4] =
    [key::PROTOCOL_VERSION, key::CLIENT_CAPABILITIES, key::CLIENT_INFO, key::LOG_LEVEL];

impl Envelope {
    /// Checks required members, shapes and version, in this order (B1 steps 4 and 5).
    ///
    /// # Errors
    /// -32602 naming the key, -32600 for members nested too deep (A6), -32022 for the version.
    pub fn read(params: &Body<'_>) -> Result<Self, Refusal> {
        let Body::Object(params) = params else {
            return Err(missing("_meta"));
        };
        let meta = match params.get("_meta") {
            None => return Err(missing("_meta")),
            Some(raw) => Object::parse(raw).ok_or_else(|| malformed("_meta"))?,
        };
        if READ.iter().filter_map(|name| meta.get(name)).any(is_too_deep) {
            return Err(Refusal::TooDeep);
        }
        let version =
            meta.get(key::PROTOCOL_VERSION).ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
        if !is_string(version) {
            return Err(malformed(key::PROTOCOL_VERSION));
        }
        let capabilities =
            meta.get(key::CLIENT_CAPABILITIES).ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
        let capabilities =
            Capabilities::read(capabilities).map_err(|member| Refusal::Envelope {
                key: key::CLIENT_CAPABILITIES,
                problem: if member.is_empty() {
                    "not an object".into()
                } else {
                    format!("malformed: {member} has an illegal shape")
                },
            })?;
        check_client_info(&meta)?;
        let progress_token = match meta.get(key::PROGRESS_TOKEN) {
            Some(raw) if is_string(raw) || is_integer(raw) => {
                (raw.len() <= LONGEST_TOKEN).then(|| raw.into())
            }
            Some(_) => return Err(malformed(key::PROGRESS_TOKEN)),
            None => None,
        };
        if string(version).is_none_or(|v| v != MODERN) {
            return Err(Refusal::UnsupportedVersion { requested: Some(version.into()) });
        }
        let log_level = match meta.get(key::LOG_LEVEL) {
            Some(raw) => log_level(raw).map(Some).ok_or(()),
            None => Ok(None),
        };
        Ok(Envelope { capabilities, progress_token, log_level })
    }
}

/// Does the request claim to be modern (I3)?
#[must_use]
pub fn has_claim(params: &Body<'_>) -> bool {
    let Body::Object(params) = params else { return false };
    params.object("_meta").is_some_and(|meta| meta.get(key::PROTOCOL_VERSION).is_some())
}

/// The version that a claim-less `initialize` names, as JSON text (B9).
#[must_use]
pub fn requested_version(params: &Body<'_>) -> Option<String> {
    let Body::Object(params) = params else { return None };
    params.get("protocolVersion").filter(|raw| is_string(raw)).map(str::to_owned)
}

/// Absent is fine; present it needs a name and a version (B4).
fn check_client_info(meta: &Object<'_>) -> Result<(), Refusal> {
    let fits = meta.get(key::CLIENT_INFO).is_none_or(is_identity);
    if fits { Ok(()) } else { Err(malformed(key::CLIENT_INFO)) }
}

/// The index of a severity in [`LOG_LEVELS`].
#[must_use]
pub fn log_level(raw: &str) -> Option<u8> {
    let name = string(raw)?;
    let at = LOG_LEVELS.iter().position(|level| *level == name)?;
    u8::try_from(at).ok()
}

fn missing(key: &'static str) -> Refusal {
    Refusal::Envelope { key, problem: "missing".into() }
}

fn malformed(key: &'static str) -> Refusal {
    Refusal::Envelope { key, problem: "malformed".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(meta: &str) -> Result<Envelope, Refusal> {
        let text = format!("{{\"_meta\":{meta}}}");
        Envelope::read(&Object::parse(&text).map_or(Body::Other, Body::Object))
    }

    fn with(more: &str) -> String {
        format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{more}}}"#
        )
    }

    #[test]
    fn a_plain_envelope() {
        let envelope = read(&with("")).unwrap();
        assert_eq!(envelope.capabilities, Capabilities::NONE);
        assert_eq!(envelope.log_level, Ok(None));
        assert_eq!(envelope.progress_token, None);
    }

    #[test]
    fn optional_members() {
        let level = r#","io.modelcontextprotocol/logLevel":"#;
        assert_eq!(read(&with(&format!("{level}\"notice\""))).unwrap().log_level, Ok(Some(2)));
        assert_eq!(read(&with(&format!("{level}\"loud\""))).unwrap().log_level, Err(()));
        assert_eq!(read(&with(&format!("{level}3"))).unwrap().log_level, Err(()));
        let token = read(&with(r#","progressToken":0"#)).unwrap().progress_token;
        assert_eq!(token.as_deref(), Some("0"));
        for bad in [
            r#","progressToken":1.5"#,
            r#","progressToken":null"#,
            r#","io.modelcontextprotocol/clientInfo":{"name":"x"}"#,
            r#","io.modelcontextprotocol/clientInfo":7"#,
        ] {
            assert!(matches!(read(&with(bad)), Err(Refusal::Envelope { .. })), "{bad}");
        }
    }

    #[test]
    fn shapes_are_judged_before_the_version() {
        let old = r#"{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":X}"#;
        assert!(matches!(
            read(&old.replace('X', "{}")),
            Err(Refusal::UnsupportedVersion { requested: Some(_) })
        ));
        assert!(matches!(read(&old.replace('X', "[]")), Err(Refusal::Envelope { .. })));
    }

    #[test]
    fn nested_too_deep() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let meta =
            with("").replace("{}", &format!("{{\"experimental\":{{\"a\":{{\"b\":{deep}}}}}}}"));
        assert_eq!(read(&meta), Err(Refusal::TooDeep));
        let escaped = meta.replace("io.model", "io\\u002emodel");
        assert_eq!(read(&escaped), Err(Refusal::TooDeep));
        for foreign in ["vendor", "io.modelcontextprotocol/vendor"] {
            assert!(read(&with(&format!(",\"{foreign}\":{deep}"))).is_ok(), "{foreign}");
        }
    }
}
