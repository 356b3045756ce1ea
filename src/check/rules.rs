//! The rules: one table.

use Kind::{Plumbing, Server};

/// How bad a finding of a rule is at worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Clients of 2026-07-28 will not work with it.
    Error,
    /// It works, but should be otherwise.
    Warning,
}

impl Level {
    /// Its name in JSON and SARIF.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// Whose matter a rule is, as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Normally the SDK's job.
    Plumbing,
    /// The author's choice.
    Server,
}

impl Kind {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Plumbing => "plumbing",
            Server => "server",
        }
    }
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// `MCPnnn` as in the public tool, `RDYnnn` of our own.
    pub id: &'static str,
    /// What is wrong when it finds something, in a few words.
    pub title: &'static str,
    /// How bad that is.
    pub level: Level,
    /// Whose matter.
    pub kind: Kind,
    /// What a server of 2026-07-28 does.
    pub expected: &'static str,
    /// What to do where there is no SDK to upgrade.
    pub by_hand: &'static str,
    /// Path of the section below [`SPEC`].
    pub spec: &'static str,
}

/// Where all paths of [`Rule::spec`] are.
pub const SPEC: &str = "https://modelcontextprotocol.io/specification/2026-07-28/";

/// The rules that concern HTTP only, by id and title: listed, never run.
pub const HTTP_ONLY: [(&str, &str); 4] = [
    ("MCP003", "the Mcp-Session-Id header is still used"),
    ("MCP010", "the GET stream endpoint is still served"),
    ("MCP014", "the Mcp-Method and Mcp-Name headers are rejected"),
    ("MCP016", "the deprecated HTTP+SSE transport is in use"),
];

/// All rules for stdio, in the order of their ids.
#[must_use]
pub fn all() -> &'static [Rule] {
    &RULES
}

/// The rule of this id, in capitals.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

const fn error(
    kind: Kind,
    id: &'static str,
    title: &'static str,
    expected: &'static str,
    by_hand: &'static str,
    spec: &'static str,
) -> Rule {
    Rule { id, title, level: Level::Error, kind, expected, by_hand, spec }
}

const fn warning(
    kind: Kind,
    id: &'static str,
    title: &'static str,
    expected: &'static str,
    by_hand: &'static str,
    spec: &'static str,
) -> Rule {
    Rule { level: Level::Warning, ..error(kind, id, title, expected, by_hand, spec) }
}

#[rustfmt::skip]
static RULES: [Rule; 26] = [
    error(Plumbing, "MCP001", "server/discover does not work",
        "a DiscoverResult that lists 2026-07-28",
        "answer server/discover with supportedVersions, capabilities and the cache fields",
        "server/discover"),
    error(Plumbing, "MCP002", "requests do not stand alone",
        "every request works as the first one; initialize is refused with a version the server speaks, or works beside that",
        "drop the check for a handshake; read version and capabilities from the _meta of each request",
        "basic/versioning#backward-compatibility-with-initialization-based-versions"),
    error(Plumbing, "MCP004", "results lack a valid resultType",
        "every result has resultType \"complete\" or \"input_required\"",
        "add resultType \"complete\" to every result",
        "basic/index#resulttype"),
    error(Plumbing, "MCP005", "cacheable results lack valid ttlMs / cacheScope",
        "discover and lists have an integer ttlMs of 0 or more and cacheScope \"public\" or \"private\"",
        "add ttlMs 0 and cacheScope \"private\"; raise them later where results may be kept",
        "server/utilities/caching"),
    error(Plumbing, "MCP006", "ping still answers",
        "ping is unknown: error -32601",
        "delete the handler of ping",
        "basic/index#error-codes"),
    error(Plumbing, "MCP007", "logging/setLevel still answers",
        "logging/setLevel is unknown: error -32601",
        "delete the handler of logging/setLevel; the level comes with each request",
        "server/utilities/logging"),
    error(Plumbing, "MCP008", "resources/subscribe still answers",
        "resources/subscribe and resources/unsubscribe are unknown: error -32601",
        "delete both handlers; subscriptions/listen took their place",
        "basic/patterns/subscriptions"),
    error(Plumbing, "MCP009", "subscriptions/listen is not acknowledged",
        "the first message for it is notifications/subscriptions/acknowledged, with its id as subscriptionId",
        "acknowledge it and keep the request open, or stop advertising listChanged and subscribe",
        "basic/patterns/subscriptions"),
    error(Plumbing, "MCP011", "an absent resource is not -32602",
        "reading a resource that is not there is error -32602",
        "answer error -32602 instead of another code or empty contents",
        "server/resources#error-handling"),
    error(Plumbing, "MCP012", "an unsupported version has the old code",
        "a version the server does not speak is error -32022, no longer -32004",
        "answer error -32022 with supported and requested in data",
        "basic/index#error-codes"),
    error(Server, "MCP013", "the _meta envelope is rejected",
        "requests with _meta work like those without",
        "accept _meta in params, and members of it that you do not know",
        "basic/index#_meta"),
    warning(Server, "MCP015", "deprecated Logging, Roots or Sampling in use",
        "none of the three",
        "log to stderr; take paths as parameters instead of roots; call a model API instead of sampling",
        "deprecated"),
    warning(Server, "MCP017", "list order is not deterministic",
        "the same list has the same order, in every process",
        "sort lists before you send them",
        "server/tools#listing-tools"),
    warning(Plumbing, "MCP018", "results do not name the server",
        "the _meta of results has serverInfo with name and version",
        "add io.modelcontextprotocol/serverInfo to the _meta of every result",
        "basic/index#_meta"),
    error(Server, "RDY101", "stdout has lines that are no messages",
        "every line on stdout is one JSON-RPC object",
        "print everything else to stderr",
        "basic/transports/stdio"),
    error(Plumbing, "RDY102", "answers do not match their requests",
        "one answer for each request, with its id, equal in value and type",
        "echo the id untouched, once",
        "basic/index#responses"),
    error(Server, "RDY103", "an advertised list does not work",
        "every advertised capability answers its list",
        "serve what you advertise, or stop advertising it",
        "server/index"),
    error(Plumbing, "RDY104", "unsupported versions are not refused",
        "a version the server does not speak is error -32022 with data.supported",
        "answer error -32022 with supported and requested in data",
        "basic/versioning#protocol-version-negotiation"),
    warning(Plumbing, "RDY105", "an incomplete envelope is accepted",
        "a request without version or capabilities in _meta is error -32602",
        "answer error -32602 when a required member of _meta is missing",
        "basic/index#_meta"),
    error(Plumbing, "RDY106", "the server sends requests",
        "no request from the server; questions go out as input_required",
        "return a result with resultType \"input_required\" instead of asking",
        "basic/transports/stdio"),
    error(Plumbing, "RDY107", "notifications come unasked",
        "no log message or change notice that was not asked for",
        "log only for requests that carry a logLevel; tell changes only on a subscription",
        "server/utilities/logging"),
    error(Plumbing, "RDY108", "unknown methods are not refused",
        "a method the server does not know is error -32601",
        "answer error -32601, always",
        "basic/index#error-codes"),
    error(Plumbing, "RDY109", "a request ends the process",
        "the process lives on, whatever it is sent",
        "answer with an error instead of exiting",
        "basic/transports/stdio#unexpected-termination"),
    warning(Server, "RDY110", "end of input does not end the server",
        "the process exits soon after its stdin was closed",
        "leave the read loop at end of input",
        "basic/transports/stdio#shutdown"),
    warning(Server, "RDY111", "core tasks of 2025-11-25 in use",
        "no tasks in the core capabilities, no taskSupport on tools",
        "move to the tasks extension",
        "changelog"),
    error(Server, "RDY112", "the called tool has no valid result",
        "a complete result, or input_required with questions the client can answer, or -32021 with what is missing",
        "return one of these; the page on multi round-trip requests has the shapes",
        "basic/patterns/mrtr"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract's ids, levels (E, W), kinds (P, S) and pages.
    const CONTRACT: &str = "\
MCP001 E P server/discover
MCP002 E P basic/versioning#backward-compatibility-with-initialization-based-versions
MCP004 E P basic/index#resulttype
MCP005 E P server/utilities/caching
MCP006 E P basic/index#error-codes
MCP007 E P server/utilities/logging
MCP008 E P basic/patterns/subscriptions
MCP009 E P basic/patterns/subscriptions
MCP011 E P server/resources#error-handling
MCP012 E P basic/index#error-codes
MCP013 E S basic/index#_meta
MCP015 W S deprecated
MCP017 W S server/tools#listing-tools
MCP018 W P basic/index#_meta
RDY101 E S basic/transports/stdio
RDY102 E P basic/index#responses
RDY103 E S server/index
RDY104 E P basic/versioning#protocol-version-negotiation
RDY105 W P basic/index#_meta
RDY106 E P basic/transports/stdio
RDY107 E P server/utilities/logging
RDY108 E P basic/index#error-codes
RDY109 E P basic/transports/stdio#unexpected-termination
RDY110 W S basic/transports/stdio#shutdown
RDY111 W S changelog
RDY112 E S basic/patterns/mrtr
";

    #[test]
    fn complete_and_in_order() {
        let line = |rule: &Rule| {
            let level = if rule.level == Level::Error { 'E' } else { 'W' };
            let kind = if rule.kind == Plumbing { 'P' } else { 'S' };
            format!("{} {level} {kind} {}\n", rule.id, rule.spec)
        };
        assert_eq!(all().iter().map(line).collect::<String>(), CONTRACT);
        assert!(all().is_sorted_by(|one, next| one.id < next.id));
    }

    #[test]
    fn titles_are_short_and_unique() {
        let mut titles: Vec<_> = all().iter().map(|rule| rule.title).collect();
        titles.extend(HTTP_ONLY.map(|(_, title)| title));
        assert!(titles.iter().all(|title| title.len() <= 48), "{titles:?}");
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), 30);
    }

    #[test]
    fn texts_are_complete_small_and_ascii() {
        let texts = |rule: &Rule| [rule.title, rule.expected, rule.by_hand, rule.spec];
        let bytes: usize = all().iter().flat_map(texts).map(str::len).sum();
        assert!(all().iter().flat_map(texts).all(|text| !text.is_empty() && text.is_ascii()));
        assert!(bytes < 9_000, "{bytes}");
    }

    #[test]
    fn found_by_exact_id() {
        assert!(all().iter().all(|rule| find(rule.id).is_some_and(|found| found.id == rule.id)));
        assert!(HTTP_ONLY.iter().all(|(id, _)| find(id).is_none()));
        assert!(["mcp001", "MCP0011", "", "MCP"].iter().all(|id| find(id).is_none()));
    }
}
