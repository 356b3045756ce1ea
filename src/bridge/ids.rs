//! Numbers by which the parts know each other's things without knowing each other.

/// A chain; grows with the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChainId(pub(super) u64);

/// One question of the server for its whole life, whoever carries it at the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QuestionId(pub(super) u64);

/// A request of ours to the server. Never used twice, restarts included, so a late reply cannot
/// meet the wrong request (A17, A19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServerId(pub(super) u64);
