//! Too few files, processes, bytes: it works, or ends at once and says what is missing.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::alone::{Alone, Ended};
use crate::shell_server::around_a_shell;
use crate::sys::{self, Inherited, Limit};
use crate::work::{SKIPPED, Work};

/// A user whom no other process belongs to, even where these stories run twice at a time.
fn nobody_else() -> u32 {
    60_000 + std::process::id() % 5_000
}

fn play(limit: Limit, most: u64, shape: impl FnOnce(&mut Command) -> &mut Command) -> Ended {
    let work = Work::create("limits", 1.0).expect("a folder");
    let alone = Alone::of(work, around_a_shell(&[]), |command| {
        command.env_remove("RUST_BACKTRACE"); // a failed allocation prints one, a person has none
        shape(sys::inherits(command, Inherited::Limit(limit, most)))
    });
    alone.end()
}

/// The first limit that is enough; below it, a failure that names its cause.
fn enough(limit: Limit, from: u64, to: u64, shape: impl Fn(&mut Command) -> &mut Command) -> u64 {
    for most in from..=to {
        let ended = play(limit, most, &shape);
        if ended.status == 0 {
            ended.is_served();
            return most;
        }
        ended.has_failed(2, "cannot ");
        let causes = ["Too many open files", "emporarily unavailable", "too many open files"];
        assert!(causes.iter().any(|cause| ended.said.contains(cause)), "{ended:#?}");
    }
    panic!("{limit:?}: {to} are not enough");
}

pub(crate) fn few_files() -> String {
    // With fewer, the program itself cannot be loaded where it is linked dynamically.
    format!("{} open files are enough", enough(Limit::Files, 5, 20, |command| command))
}

pub(crate) fn few_processes() -> String {
    if !sys::is_root() {
        return format!("{SKIPPED}to become a user without other processes takes root");
    }
    // The program may stand where only we can go.
    let mut program = around_a_shell(&[]);
    program.uid(nobody_else()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(why) = program.status() {
        return format!("{SKIPPED}another user cannot start the program: {why}");
    }
    let least = enough(Limit::Processes, 1, 10, |command| command.uid(nobody_else()));
    format!("{least} processes and threads are enough")
}

/// An allocation that fails ends a program in Rust, with a line of its own; there is no other way.
pub(crate) fn little_memory() -> String {
    for limit in [Limit::Memory, Limit::Data] {
        play(limit, 32 << 20, |command| command).is_served();
        for megabytes in 4..16 {
            let ended = play(limit, megabytes << 20, |command| command);
            let told = ["cannot ", "memory allocation", "failed to allocate"];
            let told = told.iter().any(|words| ended.said.contains(words));
            let unloaded = ended.status == 127; // the dynamic linker failed
            assert!(ended.status == 0 || told || unloaded, "{megabytes} MiB: {ended:#?}");
        }
    }
    "32 MiB are enough, with less it ends at once".to_owned()
}
