//! mcp-uplift: serves a legacy stdio MCP server to MCP 2026-07-28 clients.

pub mod args;
pub mod bridge;
pub mod message;
pub mod shell;
#[allow(unsafe_code)] // nowhere else
pub(crate) mod sys;
