//! Programs that must end, and the examples among them.
#![expect(clippy::disallowed_methods, reason = "a test on the wall clock")]

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a program writes and how it ends.
#[allow(dead_code)] // each target uses its part
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().map_err(|why| format!("{command:?} does not start: {why}"))?)
}

/// The same of one that runs, with pipes to us. What does not end in time is killed.
pub(crate) fn finish(mut child: Child) -> Result<Output, String> {
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let text = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
                return Ok(Output { status, stdout: text(stdout), stderr: text(stderr) });
            }
            Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                drop(child.kill());
                drop(child.wait());
                return Err(format!("no end in {} s", PATIENCE.as_secs()));
            }
        }
    }
}

/// Reads to the end, beside us.
fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            drop(pipe.read_to_end(&mut bytes));
        }
        bytes
    })
}

/// The built example of this name. Cargo builds examples beside all tests, but not beside one of them,
/// and one of yesterday would be judged as today's.
#[allow(dead_code)] // each target uses its part
pub(crate) fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("the name of this binary");
    let profile = own.parent().and_then(|deps| deps.parent()).expect("the folder of a profile");
    let path = profile.join("examples").join(name);
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--locked", "--example", name]);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        build.arg("--target-dir").arg(profile.parent().expect("the target folder"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        // It may have to wait for another cargo, and says so.
        let status = build.status();
        assert!(status.is_ok_and(|status| status.success()), "run: cargo build --example {name}");
    }
    assert!(path.exists(), "{} is missing; run: cargo build --examples", path.display());
    path
}
