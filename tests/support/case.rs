//! A case: one scripted conversation, what the server does and what the client must see.
//!
//! Everything about a step's shape is decided here, once, so that a misspelt step or member is a
//! fault of the case and never a step that passes silently.

use std::path::{Path, PathBuf};

use super::json::Json;
use super::steps::{
    ClientStep, ProcessStep, ServerStep, codes, count, flag, read_client, read_server, required,
    word, words,
};

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) rules: Vec<String>,
    pub(crate) bridge_args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// The server's command instead of the scripted server, `$PY`, `$FAKE`, `$SCRIPT` and `$WORK`
    /// standing for its parts.
    pub(crate) child: Option<Vec<String>>,
    pub(crate) child_args: Vec<String>,
    /// One script per process start; the last repeats.
    pub(crate) server: Vec<Vec<(usize, ServerStep)>>,
    pub(crate) client: Vec<ClientStep>,
    pub(crate) also: Also,
    /// Why this case's frames are not held against the schemas: what a broken server said, passed
    /// on by contract.
    pub(crate) schema_loose: Option<String>,
}

/// What must hold at the end.
#[derive(Clone, Default)]
pub(crate) struct Also {
    pub(crate) no_orphans: bool,
    pub(crate) stdout_is_jsonrpc: bool,
    pub(crate) server_done: bool,
    pub(crate) allow_extra: bool,
    pub(crate) legacy: bool,
    pub(crate) stderr_contains: Option<String>,
    pub(crate) server_events: Vec<String>,
    pub(crate) server_events_absent: Vec<String>,
    pub(crate) starts: Option<u64>,
    pub(crate) max_starts: Option<u64>,
    pub(crate) exit: Option<Vec<i64>>,
}

impl Case {
    pub(crate) fn load(path: &Path) -> Result<Case, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let read = || -> Result<Case, String> {
            let json = Json::parse(&text)?;
            let id = word(required(&json, "id")?)?;
            let also = read_also(json.get("also"))?;
            Ok(Case {
                path: path.to_owned(),
                rules: words(json.get("rules"))?,
                bridge_args: words(json.get("bridge_args"))?,
                env: read_env(json.get("env"))?,
                child: json.get("child").map(|x| words(Some(x))).transpose()?,
                child_args: words(json.get("child_args"))?,
                server: read_server(required(&json, "server")?)?,
                client: read_client(required(&json, "client")?, also.exit.clone())?,
                schema_loose: read_schema(&json)?,
                also,
                id,
            })
        };
        let case = read().map_err(|e| format!("{}: {e}", path.display()))?;
        if path.file_stem().and_then(|stem| stem.to_str()) != Some(&case.id) {
            return Err(format!("{}: its id is {}", path.display(), case.id));
        }
        Ok(case)
    }

    /// A case without steps, for checks that need one.
    pub(crate) fn bare() -> Case {
        Case {
            id: String::new(),
            path: PathBuf::new(),
            rules: Vec::new(),
            bridge_args: Vec::new(),
            env: Vec::new(),
            child: None,
            child_args: Vec::new(),
            server: Vec::new(),
            client: Vec::new(),
            also: Also { stdout_is_jsonrpc: true, ..Also::default() },
            schema_loose: None,
        }
    }

    /// The script of the n-th start, counted from 1.
    pub(crate) fn server_script(&self, start: usize) -> &[(usize, ServerStep)] {
        let n = start.min(self.server.len()).saturating_sub(1);
        self.server.get(n).map_or(&[], Vec::as_slice)
    }

    /// Why this case says nothing about the core alone; `None` when it runs in memory too.
    pub(crate) fn process_only(&self) -> Option<&'static str> {
        let shell_flags = ["--cwd", "--env", "--inherit-env"];
        let forks = |step: &ServerStep| matches!(step, ServerStep::Fork(_));
        let stalls = |step: &ServerStep| matches!(step, ServerStep::Reading(_));
        let server = || self.server.iter().flatten().map(|(_, step)| step);
        if self.child.is_some() || !self.child_args.is_empty() {
            return Some("the server's command line");
        }
        if !self.env.is_empty()
            || self.bridge_args.iter().any(|x| shell_flags.contains(&x.as_str()))
        {
            return Some("the server's environment");
        }
        if server().any(forks) {
            return Some("grandchildren");
        }
        if server().any(stalls) {
            return Some("full pipes");
        }
        self.client.iter().find_map(|step| {
            let ClientStep::Process { step, .. } = step else {
                return None;
            };
            Some(match step {
                ProcessStep::Reading(_) | ProcessStep::CloseStdout | ProcessStep::CloseStderr => {
                    "full or closed pipes"
                }
                ProcessStep::ExpectLiving(_) | ProcessStep::ExpectNoZombies => "processes",
                ProcessStep::NoteMemory | ProcessStep::ExpectGrowth { .. } => "memory",
            })
        })
    }
}

fn read_schema(json: &Json) -> Result<Option<String>, String> {
    match json.get("schema").map(Json::text) {
        None => Ok(None),
        Some(Some("loose")) => word(required(json, "schema_reason")?).map(Some),
        Some(_) => Err("schema: only \"loose\" is known".to_owned()),
    }
}

fn read_env(json: Option<&Json>) -> Result<Vec<(String, String)>, String> {
    let members = json.and_then(Json::members).unwrap_or_default();
    members.iter().map(|(name, value)| Ok((name.clone(), word(value)?))).collect()
}

fn read_also(json: Option<&Json>) -> Result<Also, String> {
    let mut also =
        Also { no_orphans: true, stdout_is_jsonrpc: true, server_done: true, ..Also::default() };
    for (name, value) in json.and_then(Json::members).unwrap_or_default() {
        match name.as_str() {
            "no_orphans" => also.no_orphans = flag(value)?,
            "stdout_is_jsonrpc" => also.stdout_is_jsonrpc = flag(value)?,
            "server_done" => also.server_done = flag(value)?,
            "allow_extra" => also.allow_extra = flag(value)?,
            "legacy" => also.legacy = flag(value)?,
            "stderr_contains" => also.stderr_contains = Some(word(value)?),
            "server_events" => also.server_events = words(Some(value))?,
            "server_events_absent" => also.server_events_absent = words(Some(value))?,
            "starts" => also.starts = Some(count(value)?),
            "max_starts" => also.max_starts = Some(count(value)?),
            "exit" => also.exit = codes(value)?,
            _ => return Err(format!("also: {name} is not known")),
        }
    }
    Ok(also)
}
