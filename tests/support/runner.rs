//! Which cases are played, by which player, and the report about them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::Case;
use super::rules::Rules;
use super::transcript::Transcript;
use super::{memory, options, process, self_check};

/// Flags of the standard test runner that change nothing here.
const TOLERATED: [&str; 10] = [
    "--nocapture",
    "--no-capture",
    "--show-output",
    "--quiet",
    "-q",
    "--exact",
    "--ignored",
    "--include-ignored",
    "--test",
    "--bench",
];

#[derive(Default)]
pub(crate) struct Options {
    /// Ids, or beginnings of ids; none: all.
    only: Vec<String>,
    memory: bool,
    process: bool,
    verbose: bool,
    list: bool,
    scale: f64,
    jobs: usize,
    bridge: Option<PathBuf>,
}

impl Options {
    /// Our own options, and those of the standard test runner, so that `cargo test -- --nocapture`
    /// does not trip over this one.
    pub(crate) fn parse(args: &[String]) -> Result<Options, String> {
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        // Limits are exact on the virtual clock; against real processes a busy machine gets time.
        let mut options = Options { scale: 3.0, jobs: 3 * cpus, ..Options::default() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} has no value"));
            match arg.as_str() {
                "--only" => options.only.push(value()?.clone()),
                "--bridge" => options.bridge = Some(PathBuf::from(value()?)),
                "--memory" => options.memory = true,
                "--process" => options.process = true,
                "--verbose" => options.verbose = true,
                "--scale" => options.scale = number(arg, value()?)?,
                "--jobs" | "--test-threads" => options.jobs = number(arg, value()?)?,
                "--list" => options.list = true,
                "--color" | "--format" | "--skip" | "--logfile" | "-Z" => drop(value()?),
                flag if TOLERATED.contains(&flag) => {}
                flag if flag.starts_with('-') => return Err(format!("{flag} is not known")),
                name => options.only.push(name.to_owned()),
            }
        }
        if !options.memory && !options.process {
            (options.memory, options.process) = (true, true);
        }
        Ok(options)
    }

    fn wants(&self, case: &Case) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| case.id.starts_with(name.as_str()))
    }
}

fn number<T: FromStr>(flag: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{flag} {text}: no number"))
}

#[derive(Clone, Copy)]
enum Player {
    Memory,
    Process,
}

/// Plays and reports; whether everything passed.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let all = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"))?;
    let cases: Vec<&Case> = all.iter().filter(|case| options.wants(case)).collect();
    if options.list {
        cases.iter().for_each(|case| println!("{}: test", case.id));
        return Ok(true);
    }
    let built = Path::new(env!("CARGO_BIN_EXE_mcp-uplift"));
    let bridge = options.bridge.as_deref().unwrap_or(built);
    let rules = Rules::load()?;
    let report = Report {
        passed: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
        later: AtomicUsize::new(0),
        options,
        bridge,
        rules: &rules,
    };
    let mut turns = Vec::new();
    for case in &cases {
        match case.process_only() {
            Some(reason) if options.memory => println!("SKIP memory  {} ({reason})", case.id),
            None if options.memory => turns.push((Player::Memory, *case)),
            _ => {}
        }
    }
    if options.process {
        turns.extend(cases.iter().map(|case| (Player::Process, *case)));
    }
    let turns = Mutex::new(turns.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some((player, case)) = next(&turns) {
                    report.play(player, case);
                }
            });
        }
    });
    if options.only.is_empty() {
        report.tell("rules   all", false, rules.check(&all));
        report.tell("checks  all", false, self_check::run());
    }
    let later = report.later.into_inner();
    if later > 0 {
        println!("{later} of tests/later.txt fail, as they may");
    }
    let (passed, failed) = (report.passed.into_inner(), report.failed.into_inner());
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

fn next<T>(turns: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    turns.lock().ok()?.next()
}

fn load(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| Case::load(path)).collect()
}

/// What is said of a case that is expected to fail and does not.
const DELIVERED: &str = "passes now: take it off tests/later.txt";

struct Report<'a> {
    passed: AtomicUsize,
    failed: AtomicUsize,
    later: AtomicUsize,
    options: &'a Options,
    bridge: &'a Path,
    rules: &'a Rules,
}

impl Report<'_> {
    fn play(&self, player: Player, case: &Case) {
        let (name, (verdict, transcript)) = match player {
            Player::Memory => ("memory ", play_in_memory(case)),
            Player::Process => ("process", process::play(case, self.bridge, self.options.scale)),
        };
        let title = format!("{name} {} [{}]", case.id, case.rules.join(","));
        let verdict = match verdict {
            Ok(()) => Ok(String::new()),
            Err(why) if self.options.verbose => Err(format!("{why}\n{}", transcript.print())),
            Err(why) => Err(why),
        };
        self.tell(&title, self.rules.is_later(case), verdict);
    }

    fn tell(&self, title: &str, later: bool, verdict: Result<String, String>) {
        let (word, text, count) = match verdict {
            Ok(_) if later => ("PASS", DELIVERED.to_owned(), &self.passed),
            Ok(text) => ("PASS", text, &self.passed),
            Err(why) if later => ("LATER", why, &self.later),
            Err(why) => ("FAIL", why, &self.failed),
        };
        count.fetch_add(1, Ordering::Relaxed);
        println!("{word} {title} {}", text.trim_end());
    }
}

fn play_in_memory(case: &Case) -> (Result<(), String>, Transcript) {
    match options::settings(case) {
        Ok(settings) => memory::play(case, settings),
        Err(why) => (Err(why), Transcript::default()),
    }
}
