//! What the command line decides for the core. Bounds without a flag stand in
//! [`crate::bounds`].

use crate::bounds::LEAST_KEPT;

/// Every limit that a flag sets (R). Times in milliseconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `--max-line-bytes`: the longest line taken from either side.
    pub line_bytes: usize,
    /// `--max-buffer-bytes`: bytes of all that waits: for a slow reader on either side, for the
    /// lane, for a client that comes back, and lists that are remembered.
    pub buffer_bytes: usize,
    /// `--max-in-flight`: accepted, unanswered client requests.
    pub in_flight: usize,
    /// `--max-subscriptions`: open listen streams (G2).
    pub subscriptions: usize,
    /// `--max-subscription-uris`: resource URIs a stream may name (G2).
    pub subscription_uris: usize,
    /// `--mrtr-ttl-ms`: lifetime of a requestState (E13).
    pub mrtr_ttl_ms: u64,
    /// `--request-timeout-ms`: idle limit of an upstream request (D7).
    pub request_timeout_ms: u64,
    /// `--max-request-ms`: absolute limit of an upstream request (D7).
    pub request_max_ms: u64,
    /// `--initialize-timeout-ms` (H6).
    pub initialize_timeout_ms: u64,
    /// `--shutdown-grace-ms` (H10); the shell's, kept here so that all limits stand together.
    pub shutdown_grace_ms: u64,
    /// `--cache-ttl-ms`: the hint on lists and reads (C6).
    pub cache_ttl_ms: u64,
    /// `--parallel`: forwarded requests that run at once (D6).
    pub parallel: usize,
}

impl Limits {
    /// Of `--max-buffer-bytes`, what may be kept for one purpose that is not a queue: parked
    /// chains, open questions, remembered lists. A single one of them may be larger.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        (self.buffer_bytes / 4).max(LEAST_KEPT)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            line_bytes: 16 << 20,
            buffer_bytes: 64 << 20,
            in_flight: 32,
            subscriptions: 16,
            subscription_uris: 256,
            mrtr_ttl_ms: 300_000,
            request_timeout_ms: 120_000,
            request_max_ms: 3_600_000,
            initialize_timeout_ms: 60_000,
            shutdown_grace_ms: 1_500,
            cache_ttl_ms: 0,
            parallel: 1,
        }
    }
}

/// `--protocol-version`: which era the wrapped server is taken for (I4b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerEra {
    /// `initialize` first; a server that refuses it as a modern one would is probed.
    #[default]
    Auto,
    /// `initialize` only, never a probe.
    Legacy,
    /// `server/discover` only, never `initialize`.
    Modern,
}

/// Everything the core is told once, at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The numbers.
    pub limits: Limits,
    /// `--hold-lane`: a parked chain keeps the lane (D6).
    pub hold_lane: bool,
    /// `--protocol-version`.
    pub server_era: ServerEra,
    /// `--root`: absolute paths, answered to `roots/list` by the bridge itself (E20).
    pub roots: Vec<String>,
    /// The command's base name; identity of a server that names none (C5).
    pub command_name: String,
}
