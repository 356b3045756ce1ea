//! Ends that the kernel delays, signals at bad moments, and answers of many megabytes.

use crate::command_line::Check;
use crate::program::{self, Run, check};
use crate::work::{SKIPPED, sleep};
use crate::{need, sys};

pub(crate) const CHECKS: &[Check] = &[
    #[cfg(target_os = "linux")]
    ("unreapable", unreapable),
    ("interrupted-soon", interrupted_soon),
    ("interrupted-at-an-end", interrupted_at_an_end),
    ("large-answers", large_answers),
];

/// A process whose end the kernel does not tell is left behind.
#[cfg(target_os = "linux")]
fn unreapable() -> Result<(), String> {
    let running = program::start("mute", false, &["--native-only"])?;
    running.wait_for_servers(1)?;
    let first = running.notes.lines("pids").first().and_then(|line| {
        let (pid, _) = line.split_once(' ')?;
        pid.parse().ok()
    });
    let is_traced = first.is_some_and(sys::trace);
    let run = running.finish();
    need!(is_traced, "{SKIPPED}the system lets nobody trace a process");
    need!(run.status == Some(2), "exit {:?}", run.status);
    need!(run.out.contains("UNREACHABLE"), "{}", run.out);
    need!(run.err.contains("does not end; leaving it"), "nothing is said of it: {}", run.err);
    Ok(())
}

/// Whatever the server does about it.
fn interrupted_soon() -> Result<(), String> {
    for (mode, servers) in [
        ("survives-term", 2),
        ("survives-eof", 1),
        ("grandchild-apart", 1),
        ("great-grandchild", 1),
    ] {
        let running = program::start(mode, false, &["--native-only"])?;
        running.wait_for_servers(servers)?;
        running.signal(sys::SIGINT);
        ends_soon(mode, &running.finish())?;
    }
    Ok(())
}

/// While a process is being ended, the last one too, for which no other is started.
fn interrupted_at_an_end() -> Result<(), String> {
    // It notes itself twice: before it takes another program's place, and after.
    for processes in [4, 1] {
        let running = program::start("survives-term", false, &["--native-only"])?;
        running.wait_for_servers(2 * processes)?;
        sleep(600); // it was asked all that there is to ask, and has 1.3 s or more to end
        running.signal(sys::SIGINT);
        ends_soon(&format!("process {processes}"), &running.finish())?;
    }
    Ok(())
}

fn ends_soon(what: &str, run: &Run) -> Result<(), String> {
    need!(run.status == Some(130), "{what}: exit {:?}", run.status);
    need!(run.out.is_empty(), "{what}: a report: {}", run.out);
    need!(run.left == 0, "{what}: {} processes were left", run.left);
    need!(run.ms < 1_500, "{what}: {} ms", run.ms);
    Ok(())
}

/// Answers of 4 MiB, and as many lines of that size at the end: none is kept.
fn large_answers() -> Result<(), String> {
    let run = check("heavy", &["--wrapped", "--format", "json", "--timeout", "9000"])?;
    run.json()?;
    need!(run.peak_kib > 0 && run.peak_kib < 48 << 10, "{} KiB", run.peak_kib);
    Ok(())
}
