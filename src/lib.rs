//! mcp-uplift: serves a legacy stdio MCP server to MCP 2026-07-28 clients.

pub mod bridge;
pub mod message;
