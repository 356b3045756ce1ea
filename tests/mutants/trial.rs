//! Builds the copy and plays its checks, each with a limit of time and memory.

use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::tree::Tree;

/// Seeds of each part of the simulation, where `SIM_SEEDS` says nothing else.
const SEEDS: &str = "2500";
/// A fault may make a loop that never ends, one that eats memory, or a wait for nothing.
const CPU_SECONDS: &str = "180";
const KILOBYTES: &str = "4000000";
const LIMIT: Duration = Duration::from_secs(1800);
const SIGXCPU: i32 = 24;

/// What the checks say of the copy as it is.
pub(crate) enum Verdict {
    Passes,
    /// What was broken, and where.
    Fails(String),
    Hangs,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passes => f.write_str("passes"),
            Verdict::Fails(what) => f.write_str(what),
            Verdict::Hangs => write!(f, "hangs"),
        }
    }
}

pub(crate) fn simulation(tree: &Tree) -> Result<Verdict, String> {
    let program = build(tree, "sim")?;
    for test in ["every_rule_holds", "garbled_lines_do_no_harm"] {
        let mut command = limited(&program);
        command.args([test, "--exact"]).env("SIM_BRIEF", "1");
        if std::env::var_os("SIM_SEEDS").is_none() {
            command.env("SIM_SEEDS", SEEDS);
        }
        let verdict = play(command, |output| {
            let (_, told) = output.split_once(" seeds fail; seed ")?;
            let (seed, rule) = told.lines().next()?.split_once(" breaks ")?;
            Some(format!("{rule}, seed {seed}"))
        })?;
        if !matches!(verdict, Verdict::Passes) {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Passes)
}

pub(crate) fn cases(tree: &Tree) -> Result<Verdict, String> {
    let mut command = limited(&build(tree, "cases")?);
    command.arg("--memory");
    play(command, |output| {
        let failed: Vec<_> =
            output.lines().filter_map(|line| line.strip_prefix("FAIL memory ")).collect();
        let first = failed.first()?.split_whitespace().next()?;
        Some(format!("{first}, {} in all", failed.len()))
    })
}

/// Builds one test program of the copy.
fn build(tree: &Tree, test: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--locked", "--quiet", "--no-run", "--message-format=json", "--test", test])
        .current_dir(&tree.root)
        .env("CARGO_TARGET_DIR", &tree.target)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "-A warnings")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    if !output.status.success() {
        let texts = messages.filter_map(|m| Some(m["message"]["rendered"].as_str()?.to_owned()));
        let texts: String = texts.collect();
        return Err(format!(
            "it does not compile: {texts}{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let built = messages.filter(|message| message["target"]["name"] == test);
    let mut programs = built.filter_map(|m| Some(PathBuf::from(m["executable"].as_str()?)));
    programs.next().ok_or_else(|| format!("cargo built no {test}"))
}

fn limited(program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    let limits = "ulimit -v $0; ulimit -S -t $1; shift; exec \"$@\" 2>&1";
    command.args(["-c", limits, KILOBYTES, CPU_SECONDS]).arg(program);
    command
}

/// Plays it to its end or its limit; `told` reads the first fault out of what it printed.
fn play(mut command: Command, told: fn(&str) -> Option<String>) -> Result<Verdict, String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| format!("{command:?}: {e}"))?;
    let Some(mut pipe) = child.stdout.take() else { return Err("no pipe".into()) };
    let (sender, ended) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read to its end is judged by its beginning.
        drop(pipe.read_to_end(&mut bytes));
        let _ = sender.send(());
        bytes
    });
    let is_late = ended.recv_timeout(LIMIT).is_err();
    if is_late {
        child.kill().map_err(|e| format!("kill: {e}"))?;
    }
    let status = child.wait().map_err(|e| format!("wait: {e}"))?;
    let output = reader.join().unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    Ok(match told(&output) {
        Some(what) => Verdict::Fails(what),
        None if is_late || status.signal() == Some(SIGXCPU) => Verdict::Hangs,
        None if status.success() => Verdict::Passes,
        None => Verdict::Fails(format!("{status}: {}", output.trim().lines().last().unwrap_or(""))),
    })
}
