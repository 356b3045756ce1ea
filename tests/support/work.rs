//! The folder in which the runner and the scripted server of one case meet.
//!
//! The server is a grandchild of the runner, with the bridge between them, and may be started more
//! than once: files are the way around the bridge.
//!   `clock`   when the case began, and the factor for its waiting limits
//!   `run.N`   the n-th start; `frames.N` every line it read (`<`) and wrote (`>`)
//!   `trace` `events` `pids` `fail`   one thing a line
//!   `mark.NAME`   a mark that has been set

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_uplift::bridge::Time;

/// How a test says that this system does not let it be played; why stands behind it.
#[allow(dead_code, reason = "the cases are played everywhere")]
pub(crate) const SKIPPED: &str = "SKIPPED: ";

#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) folder: PathBuf,
    began: Duration,
    pub(crate) scale: f64,
}

impl Work {
    /// A new folder for this case. Its name shows the case, for `$WORK` in patterns.
    pub(crate) fn create(case: &str, scale: f64) -> Result<Work, String> {
        let began = since_epoch();
        let name = format!("case-{case}-{}-{}", std::process::id(), began.subsec_nanos());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let work = Work { folder, began, scale };
        work.append("clock", &format!("{} {scale}", began.as_millis()));
        Ok(work)
    }

    /// The folder that the runner has made.
    pub(crate) fn open(folder: &Path) -> Result<Work, String> {
        let mut work = Work { folder: folder.to_owned(), began: Duration::ZERO, scale: 1.0 };
        let clock = work.lines("clock").pop().ok_or("no clock in the work folder")?;
        let (began, scale) = clock.split_once(' ').ok_or("half a clock in the work folder")?;
        work.began = Duration::from_millis(began.parse().map_err(|_| "a clock that is no number")?);
        work.scale = scale.parse().map_err(|_| "a scale that is no number")?;
        Ok(work)
    }

    /// What cannot be removed is left to the system's own clearing of its temporary files.
    pub(crate) fn remove(&self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }

    pub(crate) fn now(&self) -> Time {
        let elapsed = since_epoch().saturating_sub(self.began);
        Time(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let file = OpenOptions::new().create(true).append(true).open(self.folder.join(name));
        if let Ok(mut file) = file {
            // One write, so that lines of several processes do not mix. The folder goes when the
            // case is over, and a server that outlives it has nobody left to tell.
            drop(file.write_all((text.replace('\n', " ") + "\n").as_bytes()));
        }
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap_or_default()
    }

    /// Claims the next start's number, from 1.
    pub(crate) fn next_run(&self) -> usize {
        let claim = |n: &usize| {
            let path = self.folder.join(format!("run.{n}"));
            OpenOptions::new().write(true).create_new(true).open(path).is_ok()
        };
        (1..10_000).find(claim).unwrap_or(1)
    }

    pub(crate) fn runs(&self) -> usize {
        let exists = |n: &usize| self.folder.join(format!("run.{n}")).exists();
        (1..10_000).take_while(exists).count()
    }

    pub(crate) fn set_mark(&self, name: &str) {
        drop(File::create(self.folder.join(format!("mark.{name}"))));
    }

    pub(crate) fn has_mark(&self, name: &str) -> bool {
        self.folder.join(format!("mark.{name}")).exists()
    }

    pub(crate) fn trace(&self, kind: &str, text: &str) {
        let text = super::json::short(text, 500).replace('\n', " ");
        self.append("trace", &format!("{} {kind} {text}", self.now().0));
    }

    pub(crate) fn remember_pid(&self, pid: u32) {
        if let Some(stat) = Stat::of(pid) {
            self.append("pids", &format!("{pid} {}", stat.start));
        }
    }

    /// All processes that have this folder in their command line; the bridge is one of them.
    #[allow(dead_code)] // the process tests need it
    pub(crate) fn running(&self) -> Vec<u32> {
        let folder = self.folder.display().to_string();
        processes().filter(|pid| has_words(*pid, &folder)).collect()
    }

    /// The processes of this case that are alive: servers and what they started.
    pub(crate) fn living(&self) -> Vec<u32> {
        let lines = self.lines("pids");
        let pids = lines.iter().filter_map(|line| {
            let (pid, start) = line.split_once(' ')?;
            let pid = pid.parse().ok()?;
            let stat = Stat::of(pid)?;
            (stat.start == start && stat.state != "Z").then_some(pid)
        });
        pids.collect()
    }
}

/// Whether this process was started with these words in its command line.
fn has_words(pid: u32, words: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(words)
}

#[expect(clippy::disallowed_methods, reason = "a test on the wall clock, read by two processes")]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "a test on the wall clock")]
pub(crate) fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// What /proc says of a process. The start time tells it from a later one with the same number.
struct Stat {
    state: String,
    parent: u32,
    start: String,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Stat {
            state: (*fields.first()?).to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            start: (*fields.get(19)?).to_owned(),
        })
    }
}

/// A figure of `/proc/PID/status` in KB, such as `VmRSS` or `VmHWM`; 0 for a process that has gone.
pub(crate) fn memory_kb(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let figure = lines.find(|(key, _)| *key == name).map(|(_, value)| value);
    figure.and_then(|figure| figure.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The processor time that this process has used, in the system's ticks.
#[allow(dead_code)] // the process tests need it
pub(crate) fn cpu_ticks(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields =
        text.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The letter for what this process does, such as `T` for stopped.
#[allow(dead_code)] // the process tests need it
pub(crate) fn state_of(pid: u32) -> Option<String> {
    Stat::of(pid).map(|stat| stat.state)
}

/// Children of this process that have ended and were not reaped.
pub(crate) fn zombies_of(parent: u32) -> usize {
    let stats = processes().filter_map(Stat::of);
    stats.filter(|stat| stat.state == "Z" && stat.parent == parent).count()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
