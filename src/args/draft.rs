//! The options on their way from words to a request.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::UsageError;
use super::environment::{self, Given};
use crate::bridge::Settings;
use crate::check::options::Wishes;
use crate::shell::{Launch, Verbosity};

/// What stands after the options, and our environment.
pub(super) struct Rest<'a> {
    pub(super) program: Option<OsString>,
    pub(super) args: Vec<OsString>,
    pub(super) variables: &'a [(OsString, OsString)],
}

/// Options on their way: as typed, not yet checked against each other.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) settings: Settings,
    env: Vec<Given>,
    pub(super) inherit_env: bool,
    cwd: Option<PathBuf>,
    pub(super) no_new_privs: bool,
    pub(super) verbosity: Verbosity,
    pub(super) wishes: Wishes,
    pub(super) is_always_wrapped: bool,
    pub(super) is_native_only: bool,
    pub(super) lists_rules: bool,
}

impl Draft {
    /// The command and what it finds around it; without one the error says what is usual.
    pub(super) fn launch(&mut self, rest: Rest<'_>, usage: &str) -> Result<Launch, UsageError> {
        let Some(program) = rest.program.filter(|program| !program.is_empty()) else {
            return Err(UsageError(["expected a command: ", usage].concat()));
        };
        let (all, given) = (self.inherit_env, &self.env);
        let env = environment::for_child(rest.variables, all, given).map_err(|name| {
            let name = name.display();
            UsageError(format!(
                "--env: '{name}' is not set here; set it or write --env {name}=VALUE"
            ))
        })?;
        let (cwd, no_new_privs) = (self.cwd.take(), self.no_new_privs);
        Ok(Launch { program, args: rest.args, env, cwd, no_new_privs })
    }

    /// The values of the variables that were named, as the command has them.
    pub(super) fn secrets(&self, launch: &Launch) -> Vec<String> {
        environment::values(&launch.env, &self.env)
    }
}

pub(super) fn set_env(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.env.push(Given::parse(word).ok_or("expected NAME or NAME=VALUE")?);
    Ok(())
}

pub(super) fn set_cwd(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    if word.is_empty() {
        return Err("expected a directory".to_owned());
    }
    draft.cwd = Some(word.into());
    Ok(())
}
