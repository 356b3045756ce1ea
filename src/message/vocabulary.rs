//! The words of the protocol: revisions, methods, `_meta` keys, error codes. Tables, no decisions.

/// The revision served to the client.
pub const MODERN: &str = "2026-07-28";

/// `_meta` keys that the core revisions reserve.
pub mod key {
    /// The revision of one request (B2).
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// Who sends the request (B4).
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// What the client can do for this request (B2, B3).
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// From which severity on the request wants log messages (B11).
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The stream that a notification belongs to (G4).
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Whose result it is (C4).
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Legacy task vocabulary (D1, D4).
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// Legacy task vocabulary (D4).
    pub const IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
    /// The tasks extension (C, J8).
    pub const TASKS: &str = "io.modelcontextprotocol/tasks";
    /// Opts a request in to progress (F1).
    pub const PROGRESS_TOKEN: &str = "progressToken";
}

/// Reserved keys that never go up (D1).
pub const NOT_UPWARD: [&str; 7] = [
    key::PROTOCOL_VERSION,
    key::CLIENT_INFO,
    key::CLIENT_CAPABILITIES,
    key::LOG_LEVEL,
    key::SUBSCRIPTION_ID,
    key::SERVER_INFO,
    key::RELATED_TASK,
];

/// Reserved keys that never come down from the server; `serverInfo` is looked at apart (K2).
pub const NOT_DOWNWARD: [&str; 7] = [
    key::SUBSCRIPTION_ID,
    key::RELATED_TASK,
    key::IMMEDIATE_RESPONSE,
    key::PROTOCOL_VERSION,
    key::CLIENT_INFO,
    key::CLIENT_CAPABILITIES,
    key::LOG_LEVEL,
];

/// Error codes with a meaning of their own.
pub mod code {
    /// Not JSON (A7).
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but no request (A8).
    pub const INVALID_REQUEST: i64 = -32600;
    /// Unknown or removed method, or its capability is missing (B7, B8).
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Envelope, parameters, state or answers are wrong.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Everything that went wrong behind the bridge.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Legacy: resource not found (L).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The client lacks a capability that the request needs (E8).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The envelope names a revision that is not served (B5).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// Legacy: a URL must be visited first (E28).
    pub const URL_REQUIRED: i64 = -32042;
}

/// A revision that a wrapped server may speak, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05, and 2024-10-07 taken for it (H3).
    R2024_11,
    /// 2025-03-26: the one with batches.
    R2025_03,
    /// 2025-06-18.
    R2025_06,
    /// 2025-11-25: URL questions, tools in sampling, tasks.
    R2025_11,
}

impl Revision {
    /// All of them, newest first: the order in which they are offered (H4).
    pub const NEWEST_FIRST: [Revision; 4] =
        [Revision::R2025_11, Revision::R2025_06, Revision::R2025_03, Revision::R2024_11];

    /// As written on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Revision::R2024_11 => "2024-11-05",
            Revision::R2025_03 => "2025-03-26",
            Revision::R2025_06 => "2025-06-18",
            Revision::R2025_11 => "2025-11-25",
        }
    }

    /// The revision of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NEWEST_FIRST.into_iter().find(|revision| revision.name() == name)
    }
}

/// What the bridge knows about a request's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `server/discover` (C).
    Discover,
    /// `subscriptions/listen` (G).
    Listen,
    /// `tools/call`.
    ToolsCall,
    /// `prompts/get`.
    PromptsGet,
    /// `resources/read`.
    ResourcesRead,
    /// `tools/list`.
    ToolsList,
    /// `prompts/list`.
    PromptsList,
    /// `resources/list`.
    ResourcesList,
    /// `resources/templates/list`.
    TemplatesList,
    /// `completion/complete`.
    Complete,
    /// Not part of 2026-07-28 any more, or never a request: -32601, never forwarded (B7).
    Removed,
    /// A name no revision defines (B10).
    Vendor,
}

/// Names on the wire of the methods with a row of their own.
const METHODS: [(&str, Method); 10] = [
    ("tools/call", Method::ToolsCall),
    ("tools/list", Method::ToolsList),
    ("resources/read", Method::ResourcesRead),
    ("resources/list", Method::ResourcesList),
    ("resources/templates/list", Method::TemplatesList),
    ("prompts/get", Method::PromptsGet),
    ("prompts/list", Method::PromptsList),
    ("completion/complete", Method::Complete),
    ("server/discover", Method::Discover),
    ("subscriptions/listen", Method::Listen),
];

/// Legacy requests that 2026-07-28 removed or turned around (B7).
const REMOVED: [&str; 8] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "elicitation/create",
    "sampling/createMessage",
    "roots/list",
];

/// Prefixes of names that are never a request to forward: tasks need the extension (J), and a
/// notification with an id is no notification.
const REMOVED_PREFIXES: [&str; 2] = ["tasks/", "notifications/"];

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        if let Some((_, method)) = METHODS.into_iter().find(|(known, _)| *known == name) {
            return method;
        }
        if REMOVED.contains(&name) || REMOVED_PREFIXES.iter().any(|p| name.starts_with(p)) {
            return Method::Removed;
        }
        Method::Vendor
    }

    /// May it be answered with questions (E1)?
    #[must_use]
    pub fn is_mrtr(self) -> bool {
        matches!(self, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
    }

    /// Is it exempt from `--max-in-flight` (R)? Those two never wait for a call.
    #[must_use]
    pub fn is_exempt(self) -> bool {
        matches!(self, Method::Discover | Method::Listen)
    }

    /// Is it one of the list methods, which may be answered from memory (D6)?
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Method::ToolsList | Method::PromptsList | Method::ResourcesList | Method::TemplatesList
        )
    }

    /// Does its result carry cache hints (D2)?
    #[must_use]
    pub fn is_cacheable(self) -> bool {
        self.is_list() || self == Method::ResourcesRead
    }

    /// The server capability it needs (B8).
    #[must_use]
    pub fn capability(self) -> Option<&'static str> {
        match self {
            Method::ToolsCall | Method::ToolsList => Some("tools"),
            Method::PromptsGet | Method::PromptsList => Some("prompts"),
            Method::ResourcesRead | Method::ResourcesList | Method::TemplatesList => {
                Some("resources")
            }
            Method::Complete => Some("completions"),
            Method::Discover | Method::Listen | Method::Removed | Method::Vendor => None,
        }
    }

    /// The array that its result must have (D12), and that a list is a list of.
    #[must_use]
    pub fn array_member(self) -> Option<&'static str> {
        match self {
            Method::ToolsCall => Some("content"),
            Method::PromptsGet => Some("messages"),
            Method::ResourcesRead => Some("contents"),
            Method::ToolsList => Some("tools"),
            Method::PromptsList => Some("prompts"),
            Method::ResourcesList => Some("resources"),
            Method::TemplatesList => Some("resourceTemplates"),
            Method::Complete
            | Method::Discover
            | Method::Listen
            | Method::Removed
            | Method::Vendor => None,
        }
    }
}

/// Severities of log messages, mildest first (F14).
pub const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_by_name() {
        for (name, expected) in [
            ("tools/call", Method::ToolsCall),
            ("server/discover", Method::Discover),
            ("initialize", Method::Removed),
            ("tasks/get", Method::Removed),
            ("notifications/initialized", Method::Removed),
            ("vendor/x", Method::Vendor),
            ("tools/CALL", Method::Vendor),
            ("", Method::Vendor),
        ] {
            assert_eq!(Method::named(name), expected, "{name}");
        }
    }

    #[test]
    fn revisions_sort_by_age() {
        assert!(Revision::R2024_11 < Revision::R2025_11);
        assert_eq!(Revision::named("2025-03-26"), Some(Revision::R2025_03));
        assert_eq!(Revision::named(MODERN), None);
    }
}
