//! The report in its four forms, the list of rules, and the line that tells what goes on.

pub(super) mod json;
pub(super) mod lines;
pub mod list;
pub(super) mod markdown;
pub(super) mod progress;
pub(super) mod sarif;
pub(super) mod text;
pub(super) mod words;
