//! The options on their way from words to [`Options`]: what each text flag does, and the end.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::check::Wishes;
use super::environment::{self, Given};
use super::{Options, Request, UsageError};
use crate::bridge::{ServerEra, Settings};
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
    pub(super) check: Wishes,
}

impl Draft {
    /// Checks what no single flag can, and completes it.
    pub(super) fn finish(mut self, rest: Rest<'_>) -> Result<Request, UsageError> {
        let launch = self.launch(rest, "mcp-uplift [OPTIONS] -- COMMAND [ARGS...]; see --help")?;
        let base = Path::new(&launch.program).file_name().unwrap_or(&launch.program);
        self.settings.command_name = base.to_string_lossy().into_owned();
        Ok(Request::Run(Box::new(Options {
            settings: self.settings,
            launch,
            verbosity: self.verbosity,
        })))
    }

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

pub(super) fn add_root(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    let path = Path::new(word);
    if !path.is_dir() {
        return Err(format!("expected an existing directory, got '{}'", path.display()));
    }
    let unreadable = |error: std::io::Error| format!("'{}': {error}", path.display());
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    // A link stays as named; only `..` cannot stand in a URI.
    let plain = !absolute.components().any(|part| part == Component::ParentDir);
    let absolute = if plain { absolute } else { path.canonicalize().map_err(unreadable)? };
    let root = absolute.to_str().ok_or("expected a path in UTF-8")?;
    draft.settings.roots.push(root.to_owned());
    Ok(())
}

pub(super) fn set_era(draft: &mut Draft, word: &OsStr) -> Result<(), String> {
    draft.settings.server_era = match word.to_str() {
        Some("auto") => ServerEra::Auto,
        Some("legacy") => ServerEra::Legacy,
        Some("2026-07-28") => ServerEra::Modern,
        _ => {
            return Err(format!("expected auto, legacy or 2026-07-28, got '{}'", word.display()));
        }
    };
    Ok(())
}

pub(super) fn say_more(draft: &mut Draft) {
    draft.verbosity = match draft.verbosity {
        Verbosity::Quiet | Verbosity::Normal => Verbosity::Lifecycle,
        Verbosity::Lifecycle | Verbosity::Frames => Verbosity::Frames,
    };
}
