//! Servers that are not one process: launchers in front of them, daemons behind them.
//!
//! What the bridge promises (H10), and how it can:
//!
//! | the bridge ends | the command itself | its group | what left the group |
//! |---|---|---|---|
//! | of itself, or by a signal it catches | ladder | SIGTERM, SIGKILL | adopted, then the same (Linux with `/proc`) |
//! | by SIGKILL | the kernel kills it (Linux) | sees the end of its stdin | nothing |
//!
//! So a grandchild that ignores the end of its input outlives a SIGKILL of the bridge. Only another
//! process that watches could change that.

use crate::client::{Client, bridge, error, story_server, text};
use crate::sys;
use crate::work::Work;

/// Launchers that run what follows as a child of theirs and wait for it.
const LAUNCHERS: [&[&str]; 4] = [
    &[],
    &["sh", "-c", "\"$@\"; exit $?", "sh"],
    &["sh", "-c", "exec 3<&0; \"$@\" <&3 3<&- & wait $!", "npx"],
    &["sh", "-c", "sh -c '\"$@\"; exit $?' node \"$@\"; exit $?", "npx"],
];

fn start(launcher: &[&str], options: &[&str], ways: &[&str]) -> Client {
    let work = Work::create("family", 1.0).expect("a folder for the story");
    let words = launcher.iter().map(|word| (*word).to_owned());
    let command: Vec<String> = words.chain(story_server(&work, ways)).collect();
    let command = bridge(options, &command);
    let mut client = Client::of(work, command);
    let id = client.call("echo", "\"tag\":1");
    let answer = client.answer(id);
    assert_eq!(text(&answer), Some("1"), "{launcher:?}: {}", answer.short(300));
    client
}

/// No process has the story's folder among its words, which all but the bare launchers' have.
fn all_gone(client: &Client) {
    assert_eq!(client.work.running(), [] as [u32; 0], "left running");
    client.nothing_is_left();
}

#[derive(Clone, Copy, Debug)]
enum End {
    Input,
    Reader,
    Signal,
}

fn end(client: &mut Client, end: End) {
    let status = match end {
        End::Input => {
            client.close_stdin();
            0
        }
        End::Reader => {
            client.close_stdout();
            0
        }
        End::Signal => {
            client.signal(sys::SIGTERM);
            128 + sys::SIGTERM
        }
    };
    assert_eq!(client.exit(), status, "{end:?}");
    all_gone(client);
}

pub(crate) fn nobody_outlives_the_bridge() -> String {
    const GRACE: [&str; 2] = ["--shutdown-grace-ms", "600"];
    let mut endings = 0;
    for (launcher, how) in LAUNCHERS.iter().zip([End::Input, End::Reader, End::Signal, End::Input])
    {
        let ways: [&[&str]; 3] =
            [&["helper", "daemon"], &["stubborn", "helper"], &["stubborn-daemon"]];
        for ways in ways {
            let mut client = start(launcher, &GRACE, ways);
            end(&mut client, how);
            endings += 1;
        }
    }
    for how in [End::Input, End::Signal] {
        let mut client = start(&[], &[], &["leaves-daemon"]);
        end(&mut client, how);
        endings += 1;
    }
    format!("{endings} families ended")
}

/// Whoever reads the pipe that only the bridge wrote to, and who the kernel was told to kill.
pub(crate) fn the_bridge_is_killed_before_a_launcher() -> String {
    for launcher in LAUNCHERS {
        let mut client = start(launcher, &[], &["parent"]);
        client.signal(sys::SIGKILL);
        assert_eq!(client.exit(), -sys::SIGKILL);
        client.until("all have gone", |client| client.work.running().is_empty());
        // The launcher has, too, of which the server has written down the number.
        client.until("the launcher has gone", |client| {
            let mut living = client.work.living();
            living.retain(|pid| *pid != std::process::id() && *pid != client.pid());
            living.is_empty()
        });
    }
    format!("{} launchers", LAUNCHERS.len())
}

/// What a crashed server leaves is ended beside the next one.
pub(crate) fn a_crash_leaves_a_daemon() -> String {
    let mut client = start(&[], &["--shutdown-grace-ms", "600"], &["stubborn-daemon", "helper"]);
    let left = client.work.living();
    client.kill_server();
    client.until("the bridge knows", |client| client.said().contains("the server"));
    let id = client.call("echo", "\"tag\":2");
    assert_eq!(text(&client.answer(id)), Some("2"));
    client.until("the old ones are gone", |client| {
        client.work.living().iter().all(|pid| !left.contains(pid))
    });
    client.no_zombies();
    let id = client.call("echo", "\"tag\":3");
    assert_eq!(text(&client.answer(id)), Some("3"));
    end(&mut client, End::Input);
    format!("{} processes of the first ended beside the second", left.len())
}

/// It closes its stdout and lives on, whatever it is told; the next one serves (H12).
pub(crate) fn a_server_that_closes_its_stdout() -> String {
    let mut client = start(&[], &["--shutdown-grace-ms", "600"], &["stubborn"]);
    let id = client.call("close", "\"tag\":2");
    let answer = client.answer(id);
    assert_eq!(error(&answer), Some((-32603, "upstream_exited")));
    let id = client.call("echo", "\"tag\":3");
    assert_eq!(text(&client.answer(id)), Some("3"));
    assert_eq!(client.work.runs(), 2);
    end(&mut client, End::Input);
    "killed, the next one served".to_owned()
}
