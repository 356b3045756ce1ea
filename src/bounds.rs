//! Every bound of the core that has no flag, in one place. Those with a flag are
//! [`crate::bridge::Limits`]; those of a reader, a queue or the check stand beside their only user.
//! `tests/bounds.rs` fills each of them and shows what happens then.
#![forbid(unsafe_code)]

/// Levels of nesting in what the bridge itself reads (A6): one more is -32600.
pub const MAX_DEPTH: usize = 128;

/// Bytes of a JSON-RPC id: a longer one is no id (-32600 from the client, noise from the server).
pub const LONGEST_ID: usize = 16 << 10;

/// Bytes of a progress token: nothing is told under a longer one.
pub const LONGEST_TOKEN: usize = 1 << 10;

/// Requests that wait for the handshake although they do not count against `--max-in-flight`
/// (server/discover, subscriptions/listen): one more is refused as overload.
pub const MOST_HELD: usize = 1024;

/// Bytes of such a request that is taken although the budget of waiting bytes is spent.
pub const SMALL: usize = 4 << 10;

/// Parked chains: one more abandons the oldest (E14).
pub const MOST_PARKED: usize = 32;

/// Rounds of questions in one chain: one more ends it with an error (E27).
pub const MOST_ROUNDS: u32 = 50;

/// Open questions of the server: one more has the oldest refused.
pub const MOST_QUESTIONS: usize = 256;

/// Requests of ours that the server has not answered: beyond, the oldest that no client waits for
/// is forgotten.
pub const MOST_PENDING: usize = 8192;

/// Progress tokens of one chain whose last value is kept (F4); a chain has no more legs than this.
pub const MOST_TOKENS: usize = 64;

/// Lists that are remembered (D6): one more evicts the oldest.
pub const MOST_LISTS: usize = 64;

/// Revisions that are read of an error that names the supported ones (H4).
pub const MOST_VERSIONS: usize = 64;

/// Tools of one list that are repaired and put in order (D9, D10); a longer list goes down as it
/// was sent.
pub const MOST_TOOLS: usize = 64 << 10;

/// Repairs of one list that are told one by one (D10).
pub const MOST_FINDINGS: usize = 50;

/// Bytes of the URIs that one stream may name: more is -32602.
pub const MOST_URI_BYTES: usize = 128 << 10;

/// Bytes of changes that one stream keeps while they may not go down. Above it, changes below a
/// watched URI become one of that URI, and foreign members are left out (G10).
pub const MOST_KEPT: usize = 256 << 10;

/// Bytes of parked chains, of open questions, and of remembered lists that are kept even where
/// `--max-buffer-bytes` is tiny; else a quarter of it for each.
pub const LEAST_KEPT: usize = 1 << 20;

/// Ends of the server within a minute: after the last it is not started again for now (H12).
pub const MOST_CRASHES: usize = 5;

/// Lines of one process that are no messages and are shown to the person (A16).
pub const NOISE_SHOWN: u32 = 50;

/// Characters of such a line that are shown.
pub const SHOWN: usize = 200;

/// Values in one completion result (D11); the rest is left out.
pub const MOST_COMPLETIONS: usize = 100;
