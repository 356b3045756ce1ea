//! The runner of the cases: scripts, the two players, and what is checked.

pub(crate) mod case;
pub(crate) mod checks;
pub(crate) mod client_script;
pub(crate) mod conformance;
pub(crate) mod envelope;
pub(crate) mod fake_server;
pub(crate) mod framing;
pub(crate) mod json;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod pattern;
pub(crate) mod pipes;
pub(crate) mod process;
pub(crate) mod rules;
pub(crate) mod runner;
pub(crate) mod schema;
pub(crate) mod self_check;
pub(crate) mod sending;
pub(crate) mod server_script;
pub(crate) mod steps;
#[allow(dead_code)] // the process tests use the rest
pub(crate) mod sys;
pub(crate) mod transcript;
pub(crate) mod work;
