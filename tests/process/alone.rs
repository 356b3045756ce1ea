//! The bridge without a client that talks: what it reads stands in a file, what it says goes into
//! others, or wherever the story wants it.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use crate::client::{PATIENCE_MS, bridge, call, request, story_server};
use crate::sys;
use crate::work::{Work, sleep};

/// A discovery and a call: what the bridge reads unless a story has something else.
pub(crate) fn two_requests() -> String {
    let call = request(2, "tools/call", &call("echo", "\"tag\":2"));
    format!("{}\n{call}\n", request(1, "server/discover", ""))
}

/// A running bridge.
pub(crate) struct Alone {
    pub(crate) work: Work,
    program: Child,
}

/// What was left of it.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit status, or the signal that ended it as a negative number.
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) said: String,
}

impl Alone {
    /// Around the story server; `shape` may change all that the bridge is started with.
    pub(crate) fn start(
        story: &str,
        options: &[&str],
        ways: &[&str],
        shape: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Alone {
        let work = Work::create(story, 1.0).expect("a folder for the story");
        let command = bridge(options, &story_server(&work, ways));
        Alone::of(work, command, shape)
    }

    pub(crate) fn of(
        work: Work,
        mut command: Command,
        shape: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Alone {
        let path = |name: &str| work.folder.join(name);
        std::fs::write(path("in"), two_requests()).expect("a file");
        command.stdin(File::open(path("in")).expect("the same file"));
        command.stdout(File::create(path("out")).expect("a file"));
        command.stderr(File::create(path("said")).expect("a file"));
        shape(&mut command);
        let program = command.spawn().expect("the bridge starts");
        Alone { work, program }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.work.bytes(name)).into_owned()
    }

    /// Waits for its end, after which nothing may be left.
    pub(crate) fn end(mut self) -> Ended {
        let start = self.work.now();
        let status = loop {
            if let Some(status) = self.program.try_wait().expect("the bridge is our child") {
                break status;
            }
            if self.work.now().since(start) > PATIENCE_MS {
                panic!("the bridge does not end; it said {:?}", self.file("said"));
            }
            sleep(2);
        };
        let left = self.work.living();
        assert!(left.is_empty(), "left running: {left:?}");
        let status = status.code().or(status.signal().map(|signal| -signal)).expect("one of them");
        let (out, said) = (self.file("out"), self.file("said"));
        // Rust gives up like this where a thread finds no room for its signal stack.
        let has_no_room = said.contains("failed to allocate an alternative stack");
        assert!(has_no_room || !said.contains("panicked"), "{said}");
        Ended { status, out, said }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        drop(self.program.kill()); // it may have ended by itself
        drop(self.program.wait());
        for pid in self.work.living() {
            sys::kill(pid, sys::SIGKILL);
        }
        self.work.remove();
    }
}

impl Ended {
    /// Everything was answered, and nothing went wrong.
    pub(crate) fn is_served(&self) {
        assert_eq!((self.status, self.out.lines().count()), (0, 2), "{self:#?}");
        assert!(self.out.contains(r#""text":"2""#), "{self:#?}");
    }

    /// It failed with this status, and a line of its own that holds these words.
    pub(crate) fn has_failed(&self, status: i32, words: &str) {
        assert_eq!(self.status, status, "{self:#?}");
        let tells = |line: &str| line.starts_with("mcp-uplift: ") && line.contains(words);
        assert!(self.said.lines().any(tells), "no word of {words:?}: {self:#?}");
    }
}
