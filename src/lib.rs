//! mcp-uplift: serves a legacy stdio MCP server to MCP 2026-07-28 clients.
//!
//! The story of one message:
//!
//! ```text
//! client stdin                                                            client stdout
//!    │ bytes                                                                    ▲ bytes
//!  shell   lines, bounded                                     shell   writes, never blocks
//!    │ Event::ClientLine                                   Effect::ToClient     │
//!    ▼                                                                          │
//!  bridge/from_client   envelope (B) ─▶ lane (D6) ─▶ chain   ─▶  results, refusal (D, L)
//!    │ Effect::ToServer                                   Event::ServerLine     ▲
//!    ▼                                                                          │
//!  shell ─▶ child stdin                                    child stdout ─▶ shell
//! ```
//!
//! A question of the server takes the right-hand side up to `chain`, leaves as `input_required`,
//! and its answer comes in on the left like any request.
//!
//! Three kinds of code: [`message`] is text without state, [`bridge`] is state without the world,
//! `shell` is the world without decisions; every `unsafe` is in `sys` and `blocks`. Around them, [`args`]
//! reads the command line, and [`check`] asks a server what it can, with the messages and processes of
//! the bridge. Arrows of `use` go only in that direction. Rule names (A1, D6, E5 ...) are those of the
//! translation contract; a rule stands where its decision is taken.

// Nothing that either side sends may end the bridge: what can panic needs a reason at its place.
#![cfg_attr(
    not(test),
    warn(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable
    )
)]

pub mod args;
#[allow(unsafe_code)] // one instruction set
pub(crate) mod blocks;
pub mod bounds;
pub mod bridge;
pub mod check;
pub mod message;
pub mod shell;
#[allow(unsafe_code)] // the calls of the system
pub(crate) mod sys;
