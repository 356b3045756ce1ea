//! How little the bridge holds, and how little it leaves to what it starts.

use std::fs;

use crate::alone::Alone;
use crate::client::{Client, bridge};
use crate::shell_server::SERVER;
use crate::work::{SKIPPED, Work};

/// The state of `no_new_privs` as the kernel tells it of a process.
const FLAG: &str = "NoNewPrivs:";

pub(crate) fn no_new_privileges() -> String {
    let Some(ours) = flag(&fs::read_to_string("/proc/self/status").unwrap_or_default()) else {
        return format!("{SKIPPED}this system does not tell");
    };
    let script = format!("grep {FLAG} /proc/self/status >&2\n{SERVER}");
    let seen = |options: &[&str]| {
        let work = Work::create("privileges", 1.0).expect("a folder");
        let ended = Alone::of(work, bridge(options, &["sh", "-c", &script]), |c| c).end();
        ended.is_served();
        flag(&ended.said)
    };
    assert_eq!(seen(&[]), Some(ours.clone()));
    assert_eq!(seen(&["--no-new-privs"]), Some("1".to_owned()));
    format!("without {ours}, with 1")
}

fn flag(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(FLAG))?;
    Some(line.trim().to_owned())
}

/// After a conversation it has nothing open but pipes: no file, no connection.
pub(crate) fn nothing_but_pipes() -> String {
    let mut client = Client::start("holds", &[], &[]);
    let call = client.call("echo", "\"tag\":1");
    client.answer(call);
    let Ok(open) = fs::read_dir(format!("/proc/{}/fd", client.pid())) else {
        return format!("{SKIPPED}this system does not tell");
    };
    let mut pipes = 0;
    for entry in open {
        let number = entry.expect("a descriptor").file_name();
        let target = |process: &str| {
            let link = format!("/proc/{process}/fd/{}", number.display());
            fs::read_link(link).map_or(String::new(), |name| name.display().to_string())
        };
        let name = target(&client.pid().to_string());
        // What we were given ourselves and gave on without knowing is not the bridge's.
        let is_inherited = name == target("self");
        assert!(name.starts_with("pipe:[") || is_inherited, "{number:?} is {name}");
        pipes += usize::from(name.starts_with("pipe:["));
    }
    assert!(pipes >= 5, "{pipes}");
    client.close_stdin();
    format!("{pipes} pipes")
}
