//! The report in its four forms, the list of rules, and the line that tells what goes on.

pub mod json;
pub(super) mod lines;
pub mod list;
pub mod markdown;
pub mod progress;
pub mod sarif;
pub mod text;
pub(super) mod words;
