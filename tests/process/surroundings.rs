//! Started where there is less than usual: no folder, no home, no variables, no `/proc`, nothing to
//! write on.

use std::process::{Command, Stdio};

use crate::alone::Alone;
use crate::shell_server::{around_a_shell, behind};
use crate::work::{SKIPPED, Work};

pub(crate) fn a_folder_that_is_gone() -> String {
    let work = Work::create("gone", 1.0).expect("a folder");
    let gone = work.folder.join("gone");
    std::fs::create_dir(&gone).expect("a folder in it");
    let place = gone.display().to_string();
    let command = behind(&[], "cd \"$0\" && rmdir \"$0\"", &place, &around_a_shell(&[]));
    Alone::of(work, command, |command| command).end().is_served();
    let work = Work::create("gone", 1.0).expect("a folder");
    let command = around_a_shell(&["--cwd", "/no/such/folder"]);
    let ended = Alone::of(work, command, |command| command).end();
    ended.has_failed(2, "'/no/such/folder' is not a directory");
    "our own is gone: served; --cwd is gone: status 2".to_owned()
}

pub(crate) fn no_variables() -> String {
    let work = || Work::create("bare", 1.0).expect("a folder");
    let ended = Alone::of(work(), around_a_shell(&[]), |command| command.env_remove("HOME")).end();
    ended.is_served();
    // Without PATH the system's own is searched.
    Alone::of(work(), around_a_shell(&[]), |command| command.env_clear()).end().is_served();
    "no HOME, nothing at all".to_owned()
}

/// What `unshare` must be allowed to do for the story to be played.
fn allows(preparation: &str) -> bool {
    let shell = Command::new("sh");
    let mut command = behind(&["unshare", "-m"], preparation, "/", &shell);
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn served_behind(preparation: &str) -> String {
    if !allows(preparation) {
        return format!("{SKIPPED}not allowed here: unshare -m, {preparation}");
    }
    let work = Work::create("unshared", 1.0).expect("a folder");
    let command = behind(&["unshare", "-m"], preparation, "/", &around_a_shell(&[]));
    Alone::of(work, command, |command| command).end().is_served();
    "served".to_owned()
}

/// Then a pipe cannot be opened a second time, and adopted processes are not found; all else works.
pub(crate) fn no_proc() -> String {
    served_behind("mount -t tmpfs none /proc")
}

pub(crate) fn nothing_to_write_on() -> String {
    served_behind("mount -o remount,bind,ro /")
}
