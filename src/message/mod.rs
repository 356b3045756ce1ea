//! Text without state: pure functions over JSON-RPC lines.
//!
//! Nothing here decodes what it does not need. A body is a list of raw slices of the line it came
//! in on, and an edit writes those slices into a new line: key order, number text, unknown members
//! and odd escapes survive because nobody encodes them again (A6).
#![forbid(unsafe_code)]

pub mod answers;
pub mod body;
pub mod capabilities;
pub mod decimal;
pub mod discover;
pub mod envelope;
pub mod equal;
pub mod list;
pub mod meta;
pub mod notes;
pub mod object;
pub mod params;
pub mod questions;
pub mod refusal;
pub mod repair;
pub mod results;
pub mod scan;
pub mod splice;
pub mod value;
pub mod visits;
pub mod vocabulary;
pub mod wire;
pub mod writer;
