//! `make install` and `make uninstall`, wherever a path leads.
#![allow(clippy::unwrap_used, reason = "what is unwrapped is made here")]

#[path = "support/in_time.rs"]
mod in_time;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// Runs a target of make on what stands in this folder.
fn make(target: &str, folder: &Path) {
    let mut command = Command::new("make");
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", folder.join("a target"));
    command.arg(target).arg(format!("DESTDIR={}", folder.join("a place").display()));
    command.arg("PREFIX=/o'clock at home").env_remove("MAKEFLAGS");
    let done = in_time::output(&mut command).unwrap();
    assert!(done.status.success(), "make {target}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn paths_may_have_spaces() {
    let name = format!("mcp-uplift install {}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let built = folder.join("a target/release/mcp-uplift");
    fs::create_dir_all(built.parent().unwrap()).unwrap();
    fs::write(&built, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&built, fs::Permissions::from_mode(0o755)).unwrap();
    make("install", &folder);
    let place = folder.join("a place");
    assert!(place.join("o'clock at home/bin/mcp-uplift").is_file());
    assert_eq!(files(&place).len(), 5, "the program, its page, three completions");
    make("uninstall", &folder);
    assert_eq!(files(&place), Vec::<PathBuf>::new());
    fs::remove_dir_all(&folder).unwrap();
}
