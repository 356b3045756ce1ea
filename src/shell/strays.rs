//! What dead servers left running: the rest of their groups, and (Linux) descendants that left
//! the group and came to us because we adopt orphans. None may outlive the bridge (H10).
//!
//! ```text
//!  the server has ended ──▶ SIGTERM ── the grace ──▶ SIGKILL ──▶ reaped
//! ```

use std::fs;

use super::child::Server;
use crate::bridge::Time;
use crate::sys;

/// How often to look whether they are gone.
const LOOK_MS: u64 = 10;

/// How long the kernel may take to end what was killed; a process stuck in a device has longer.
pub(super) const BURIAL_MS: u64 = 1_000;

/// All that is left of one server, or adopted by the time we end.
struct Family {
    /// Its process group, while somebody is in it.
    group: Option<i32>,
    /// Children of ours that are not reaped, so that the numbers are theirs.
    adopted: Vec<i32>,
    kill_at: Time,
    killed: bool,
}

/// The leftovers of all servers so far.
#[derive(Default)]
pub(crate) struct Strays {
    families: Vec<Family>,
    /// Children of ours that do not end, whatever is sent to them.
    abandoned: Vec<i32>,
    look_at: Option<Time>,
}

impl Strays {
    /// Takes over from a server whose end was seen: reaps it and begins to end what it left.
    pub(crate) fn inherit(&mut self, server: Server, now: Time, kill_at: Time) {
        let group = server.pid;
        let _ = sys::signal_group(group, sys::SIGTERM); // the unreaped server keeps the number
        server.reap();
        self.add_family(Some(group), now, kill_at);
    }

    /// Leaves a child alone that the kernel does not end.
    pub(crate) fn abandon(&mut self, pid: i32) {
        self.abandoned.push(pid);
    }

    /// Begins to end those who came to us since; no server runs.
    pub(crate) fn inherit_orphans(&mut self, now: Time, kill_at: Time) {
        self.add_family(None, now, kill_at);
    }

    fn add_family(&mut self, group: Option<i32>, now: Time, kill_at: Time) {
        let known: Vec<i32> = self.families.iter().flat_map(|f| f.adopted.clone()).collect();
        let mut adopted = children();
        adopted.retain(|pid| !known.contains(pid) && !self.abandoned.contains(pid));
        for pid in &adopted {
            let _ = sys::signal_process(*pid, sys::SIGTERM);
        }
        self.families.push(Family { group, adopted, kill_at, killed: false });
        self.look(now);
    }

    /// Reaps adopted processes that have ended. The server's own end is not ours to take.
    pub(crate) fn reap(&mut self, server: Option<i32>) {
        while let Ok(Some(pid)) = sys::any_ended()
            && Some(pid) != server
        {
            sys::reap(pid);
            self.forget(pid);
        }
    }

    fn forget(&mut self, pid: i32) {
        for family in &mut self.families {
            family.adopted.retain(|adopted| *adopted != pid);
        }
        self.abandoned.retain(|abandoned| *abandoned != pid);
    }

    /// When to look again.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.look_at
    }

    /// Kills whose time is over, forgets who is gone.
    pub(crate) fn look(&mut self, now: Time) {
        for family in &mut self.families {
            family.adopted.retain(|pid| !sys::reap(*pid));
            let lives = |group: &i32| sys::signal_group(*group, 0).is_ok();
            family.group = family.group.filter(lives);
            if family.kill_at <= now && !family.killed {
                family.killed = true;
                for pid in &family.adopted {
                    let _ = sys::signal_process(*pid, sys::SIGKILL);
                }
                if let Some(group) = family.group {
                    let _ = sys::signal_group(group, sys::SIGKILL);
                }
            }
        }
        let abandoned = &mut self.abandoned;
        self.families.retain_mut(|family| {
            let gone = family.group.is_none() && family.adopted.is_empty();
            let is_looked_after = !gone && now < family.kill_at.after(BURIAL_MS);
            if !is_looked_after {
                abandoned.append(&mut family.adopted);
            }
            is_looked_after
        });
        self.look_at = (!self.families.is_empty()).then(|| now.after(LOOK_MS));
    }

    /// Kills them at `kill_at` at the latest.
    pub(crate) fn hurry(&mut self, now: Time, kill_at: Time) {
        for family in &mut self.families {
            family.kill_at = family.kill_at.min(kill_at);
        }
        self.look(now);
    }

    /// Whether nobody is left.
    pub(crate) fn are_gone(&self) -> bool {
        self.families.is_empty()
    }
}

/// All children of ours, of whichever thread; empty where `/proc` does not tell.
fn children() -> Vec<i32> {
    if sys::any_ended().is_err() {
        return Vec::new(); // we have none, the usual case
    }
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<i32> {
    list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}
