//! Why the bridge says no, and how each reason and each error of the server looks to the client (L).

use super::body::Body;
use super::capabilities::Capabilities;
use super::object::Object;
use super::value::{integer, is_string, string};
use super::vocabulary::{MODERN, Method, code};
use super::writer::{Writer, quoted};

/// Every reason for which the bridge itself answers a request with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A7: not JSON, from this byte of the line on.
    ParseError(usize),
    /// A8.
    InvalidRequest,
    /// A6: what the bridge has to understand is nested too deep.
    TooDeep,
    /// A12: the line went over the limit.
    LineTooLong,
    /// A11.
    IdInUse,
    /// I3: the connection speaks this legacy version.
    LegacyConnection(String),
    /// B2-B4, F1: a reserved `_meta` member is missing or malformed.
    Envelope {
        /// The member.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// B5, B9: the version as JSON text, where one was named.
    UnsupportedVersion {
        /// The version asked for, as JSON text.
        requested: Option<String>,
    },
    /// B7, B10.
    MethodNotFound(String),
    /// B8: the capability that the server does not have.
    NotSupported(&'static str),
    /// B11.
    LogLevel,
    /// B12, E16: which parameter is wrong and what it has to be.
    Params(String),
    /// E12.
    InvalidState,
    /// E24.
    Restarted,
    /// E8.
    MissingCapability(Capabilities),
    /// E27: the server asked more often than any person would answer.
    TooManyRounds,
    /// E28: a URL had to be visited, and the person did not want to.
    Declined,
    /// F10.
    Timeout,
    /// H12: the server went away while the request ran; the words say how.
    UpstreamExited(String),
    /// H13, C3: there is no server to ask; the words say why.
    UpstreamUnavailable(String),
    /// R: too many requests, or too many bytes of them, wait.
    Overloaded(&'static str),
    /// G2.
    TooManyStreams,
    /// A18.
    InvalidResult,
    /// A16, R: the server's answer could not be read; the words say why.
    InvalidMessage(String),
}

impl Refusal {
    /// Writes `"error":{...}`.
    pub fn write(&self, out: &mut String) {
        out.push_str("\"error\":");
        let mut error = Writer::new(out);
        error.raw("code", &self.code().to_string());
        error.string("message", &self.message());
        if let Some(data) = self.data() {
            error.raw("data", &data);
        }
        error.end();
    }

    /// `"error":{...}` as a text of its own.
    #[must_use]
    #[cold]
    pub fn outcome(&self) -> String {
        let mut out = String::with_capacity(128);
        self.write(&mut out);
        out
    }

    fn code(&self) -> i64 {
        match self {
            Refusal::ParseError(_) => code::PARSE_ERROR,
            Refusal::InvalidRequest
            | Refusal::TooDeep
            | Refusal::LineTooLong
            | Refusal::IdInUse
            | Refusal::LegacyConnection(_) => code::INVALID_REQUEST,
            Refusal::MethodNotFound(_) | Refusal::NotSupported(_) => code::METHOD_NOT_FOUND,
            Refusal::Envelope { .. }
            | Refusal::LogLevel
            | Refusal::Params(_)
            | Refusal::InvalidState
            | Refusal::Restarted => code::INVALID_PARAMS,
            Refusal::UnsupportedVersion { .. } => code::UNSUPPORTED_VERSION,
            Refusal::MissingCapability(_) => code::MISSING_CAPABILITY,
            Refusal::TooManyRounds
            | Refusal::Declined
            | Refusal::Timeout
            | Refusal::UpstreamExited(_)
            | Refusal::UpstreamUnavailable(_)
            | Refusal::Overloaded(_)
            | Refusal::TooManyStreams
            | Refusal::InvalidResult
            | Refusal::InvalidMessage(_) => code::INTERNAL_ERROR,
        }
    }

    #[allow(
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "no capability has an empty name"
    )]
    fn message(&self) -> String {
        match self {
            Refusal::ParseError(at) => format!("Parse error: not JSON at byte {}", at + 1),
            Refusal::InvalidRequest => "Invalid request: expected one JSON-RPC 2.0 request or notification with a string or integer id".into(),
            Refusal::TooDeep => "Invalid request: nested more than 128 levels deep".into(),
            Refusal::LineTooLong => "Invalid request: line longer than --max-line-bytes".into(),
            Refusal::IdInUse => "Invalid request: request id already in use".into(),
            Refusal::LegacyConnection(version) => format!("Invalid request: this connection uses protocol {version}"),
            Refusal::Envelope { key: "_meta", problem } => format!("Invalid params: params._meta is {problem}"),
            Refusal::Envelope { key, problem } => format!("Invalid params: {key} in params._meta is {problem}"),
            Refusal::UnsupportedVersion { .. } => "Unsupported protocol version".into(),
            Refusal::MethodNotFound(name) => format!("Method not found: {name}"),
            Refusal::NotSupported(capability) => {
                let mut name = capability.to_string();
                name[..1].make_ascii_uppercase();
                format!("{name} not supported")
            }
            Refusal::LogLevel => "Invalid params: logLevel must be one of debug, info, notice, warning, error, critical, alert, emergency".into(),
            Refusal::Params(what) => format!("Invalid params: {what}"),
            Refusal::InvalidState | Refusal::Restarted => "Invalid or expired requestState".into(),
            Refusal::MissingCapability(_) => "The server asked for something that the client did not declare for this request".into(),
            Refusal::Declined => "A visit that the server requires was declined".into(),
            Refusal::TooManyRounds => "The server asked too many times during one request".into(),
            Refusal::Timeout => "The server did not answer in time (see --request-timeout-ms and --max-request-ms)".into(),
            Refusal::UpstreamExited(how) => format!("The server went away during the request: {how}"),
            Refusal::UpstreamUnavailable(why) => format!("The server is not available: {why}"),
            Refusal::Overloaded(flag) => format!("Too many requests are waiting (see {flag})"),
            Refusal::TooManyStreams => "Subscription limit reached (see --max-subscriptions)".into(),
            Refusal::InvalidResult => "The server answered with a result that is not an object".into(),
            Refusal::InvalidMessage(why) => format!("The server's answer could not be read: {why}"),
        }
    }

    fn data(&self) -> Option<String> {
        let reason = |reason: &str| Some(format!("{{\"reason\":\"{reason}\"}}"));
        match self {
            Refusal::Envelope { key, problem } => Some(format!(
                "{{\"envelope\":{{\"key\":\"{key}\",\"problem\":{}}}}}",
                quoted(problem)
            )),
            Refusal::UnsupportedVersion { requested } => {
                let requested =
                    requested.as_ref().map_or(String::new(), |raw| format!(",\"requested\":{raw}"));
                Some(format!("{{\"supported\":[\"{MODERN}\"]{requested}}}"))
            }
            Refusal::NotSupported(capability) => Some(format!(
                "{{\"reason\":\"Server does not support the {capability} capability\"}}"
            )),
            Refusal::MissingCapability(required) => {
                let mut out = String::from("{\"requiredCapabilities\":");
                required.write(&mut out);
                out.push('}');
                Some(out)
            }
            Refusal::InvalidState => reason("invalid_request_state"),
            Refusal::Restarted => {
                Some("{\"reason\":\"upstream_restarted\",\"restarted\":true}".into())
            }
            Refusal::TooManyRounds => reason("too_many_rounds"),
            Refusal::Declined => reason("declined"),
            Refusal::Timeout => reason("timeout"),
            Refusal::UpstreamExited(_) => reason("upstream_exited"),
            Refusal::UpstreamUnavailable(_) => reason("upstream_unavailable"),
            Refusal::Overloaded(_) | Refusal::TooManyStreams => reason("overloaded"),
            Refusal::InvalidResult => reason("invalid_upstream_result"),
            Refusal::InvalidMessage(_) => reason("invalid_upstream_message"),
            Refusal::ParseError(_)
            | Refusal::InvalidRequest
            | Refusal::TooDeep
            | Refusal::LineTooLong
            | Refusal::IdInUse
            | Refusal::LegacyConnection(_)
            | Refusal::MethodNotFound(_)
            | Refusal::LogLevel
            | Refusal::Params(_) => None,
        }
    }
}

/// The code of a server's error object, where it is an integer.
#[must_use]
pub fn error_code(error: &Body<'_>) -> Option<i64> {
    let Body::Object(error) = error else {
        return None;
    };
    error.get("code").and_then(integer)
}

/// Writes a server's error as `"error":{...}` for the client (table L, D5).
#[cold]
#[inline(never)]
pub fn write_upstream_error(out: &mut String, method: Method, error: &Body<'_>) {
    let empty = Object::default();
    let object = match error {
        Body::Object(object) => object,
        Body::Absent | Body::Null | Body::Other => &empty,
    };
    let message =
        object.get("message").filter(|raw| is_string(raw)).unwrap_or("\"Upstream error\"");
    let code = error_code(error);
    let data = object.get("data");
    out.push_str("\"error\":");
    let mut down = Writer::new(out);
    match code {
        Some(code) if is_reserved(code) => {
            down.raw("code", &code::INTERNAL_ERROR.to_string());
            down.raw("message", message);
            let mut wrapped = Writer::new(down.open("data"));
            wrapped.raw("upstreamCode", &code.to_string());
            if let Some(raw) = data {
                wrapped.raw("upstreamData", raw);
            }
            wrapped.end();
        }
        code => {
            let code = match code {
                Some(code) => mapped(code, message, data, method),
                None => code::INTERNAL_ERROR,
            };
            down.raw("code", &code.to_string());
            down.raw("message", message);
            if let Some(raw) = data {
                down.raw("data", raw);
            }
        }
    }
    down.end();
}

/// Codes that 2026-07-28 reserves: a foreign use of them must not reach the client.
fn is_reserved(code: i64) -> bool {
    (-32099..=-32020).contains(&code)
}

/// What a legacy code is called in 2026-07-28.
fn mapped(code: i64, message: &str, data: Option<&str>, method: Method) -> i64 {
    let says_so =
        |text: &str| ["Unknown resource", "Unknown prompt"].iter().any(|s| text.starts_with(s));
    let unknown_name = || string(message).is_some_and(|text| says_so(&text));
    let by_name = matches!(method, Method::ResourcesRead | Method::PromptsGet);
    match code {
        code::RESOURCE_NOT_FOUND => code::INVALID_PARAMS,
        0 if by_name && unknown_name() => code::INVALID_PARAMS,
        // The older SDK for Python has no other answer to a method that it does not know.
        code::INVALID_PARAMS
            if method == Method::Vendor
                && message == "\"Invalid request parameters\""
                && data == Some("\"\"") =>
        {
            code::METHOD_NOT_FOUND
        }
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(method: Method, error: &str) -> String {
        let mut out = String::new();
        write_upstream_error(
            &mut out,
            method,
            &Object::parse(error).map_or(Body::Other, Body::Object),
        );
        out
    }

    #[test]
    fn upstream_errors() {
        let call = Method::ToolsCall;
        for (method, error, expected) in [
            (
                call,
                r#"{"code":-32002,"message":"m","data":0}"#,
                r#""error":{"code":-32602,"message":"m","data":0}"#,
            ),
            (
                call,
                r#"{"code":-32050,"message":"m","data":null}"#,
                r#""error":{"code":-32603,"message":"m","data":{"upstreamCode":-32050,"upstreamData":null}}"#,
            ),
            (
                call,
                r#"{"code":-32099,"message":"m"}"#,
                r#""error":{"code":-32603,"message":"m","data":{"upstreamCode":-32099}}"#,
            ),
            (call, r#"{"code":-32019,"message":"m"}"#, r#""error":{"code":-32019,"message":"m"}"#),
            (
                call,
                r#"{"code":0,"message":"Unknown prompt: x"}"#,
                r#""error":{"code":0,"message":"Unknown prompt: x"}"#,
            ),
            (
                Method::PromptsGet,
                r#"{"code":0,"message":"Unknown prompt: x"}"#,
                r#""error":{"code":-32602,"message":"Unknown prompt: x"}"#,
            ),
            (
                Method::PromptsGet,
                r#"{"code":0,"message":"\u0055nknown prompt: x"}"#,
                r#""error":{"code":-32602,"message":"\u0055nknown prompt: x"}"#,
            ),
            (
                Method::ResourcesRead,
                r#"{"code":-32603,"message":"Unknown resource: x"}"#,
                r#""error":{"code":-32603,"message":"Unknown resource: x"}"#,
            ),
            (
                Method::ResourcesRead,
                r#"{"code":-32603,"message":"no memory"}"#,
                r#""error":{"code":-32603,"message":"no memory"}"#,
            ),
            (
                Method::Vendor,
                r#"{"code":-32602,"message":"Invalid request parameters","data":""}"#,
                r#""error":{"code":-32601,"message":"Invalid request parameters","data":""}"#,
            ),
            (
                Method::Vendor,
                r#"{"code":-32602,"message":"Invalid request parameters"}"#,
                r#""error":{"code":-32602,"message":"Invalid request parameters"}"#,
            ),
            (call, r#"{"code":"x","message":"m"}"#, r#""error":{"code":-32603,"message":"m"}"#),
            (
                call,
                r#"{"code":1.5,"message":5}"#,
                r#""error":{"code":-32603,"message":"Upstream error"}"#,
            ),
            (call, "7", r#""error":{"code":-32603,"message":"Upstream error"}"#),
            (call, r#"{"code":5,"message":"m","odd":1}"#, r#""error":{"code":5,"message":"m"}"#),
        ] {
            assert_eq!(down(method, error), expected, "{error}");
        }
    }

    #[test]
    fn refusals_are_json() {
        for refusal in [
            Refusal::NotSupported("prompts"),
            Refusal::MissingCapability(Capabilities::ROOTS),
            Refusal::Envelope { key: "_meta", problem: "x\"y".into() },
            Refusal::UnsupportedVersion { requested: None },
            Refusal::Restarted,
        ] {
            let text = format!("{{{}}}", refusal.outcome());
            assert!(Object::parse(&text).unwrap().object("error").is_some(), "{text}");
        }
    }
}
