//! Whatever stdin, stdout and stderr are: it works, or ends at once and says why.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::alone::{Alone, Ended, two_requests};
use crate::client::{Client, answered, text};
use crate::sys::{self, Inherited};

/// What changes how the bridge is started.
type Shape = Box<dyn FnOnce(&mut Command) -> &mut Command>;

fn play(shape: impl FnOnce(&mut Command) -> &mut Command) -> Ended {
    Alone::start("descriptors", &[], &["helper"], shape).end()
}

fn open(path: &str) -> File {
    OpenOptions::new().write(true).open(path).expect("a device that everybody has")
}

/// A file, nothing at all, and a FIFO.
pub(crate) fn kinds_of_stdin() -> String {
    play(|command| command).is_served();
    let shapes: [fn(&mut Command) -> &mut Command; 2] = [
        |command| command.stdin(Stdio::null()),
        |command| sys::inherits(command, Inherited::Closed(0)),
    ];
    for shape in shapes {
        let ended = play(shape);
        assert_eq!((ended.status, ended.out.as_str()), (0, ""), "{ended:#?}");
    }
    let alone = Alone::start("fifo", &[], &["helper"], |command| {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(two_requests().as_bytes()).expect("they fit into a pipe");
        command.stdin(reader)
    });
    alone.end().is_served();
    "a file, a pipe, /dev/null, closed".to_owned()
}

/// What cannot be read is no end of input.
pub(crate) fn stdin_that_cannot_be_read() -> String {
    let cases =
        [(File::open("/").expect("the root"), "directory"), (open("/dev/null"), "Bad file")];
    for (file, cause) in cases {
        let ended = play(|command| command.stdin(file));
        ended.has_failed(1, "cannot read stdin: ");
        ended.has_failed(1, cause);
        assert!(ended.out.is_empty());
    }
    "a directory, a file opened for writing: status 1".to_owned()
}

/// What takes no byte and has no reader who left.
pub(crate) fn stdout_that_cannot_be_written() -> String {
    let cases = [
        (open("/dev/full"), "No space left"),
        (File::open("/dev/null").expect("a device"), "Bad file"),
    ];
    for (file, cause) in cases {
        let ended = play(|command| command.stdout(file));
        ended.has_failed(1, "cannot write to stdout: ");
        ended.has_failed(1, cause);
    }
    for flag in ["--version", "--help"] {
        let alone =
            Alone::start("descriptors", &[flag], &[], |command| command.stdout(open("/dev/full")));
        alone.end().has_failed(1, "cannot write to stdout: No space left");
    }
    "/dev/full, a file opened for reading: status 1".to_owned()
}

pub(crate) fn stdout_that_nobody_sees() -> String {
    let shapes: [fn(&mut Command) -> &mut Command; 2] = [
        |command| command.stdout(Stdio::null()),
        |command| sys::inherits(command, Inherited::Closed(1)),
    ];
    for shape in shapes {
        let ended = play(shape);
        assert_eq!((ended.status, ended.said.as_str()), (0, ""), "{ended:#?}");
    }
    "/dev/null, closed: status 0".to_owned()
}

/// Our own lines are lost, and nothing else is.
pub(crate) fn stderr_that_takes_nothing() -> String {
    let (reader, full) = std::io::pipe().expect("a pipe");
    fill(&full);
    let shapes: [Shape; 4] = [
        Box::new(|command| sys::inherits(command, Inherited::Closed(2))),
        Box::new(|command| command.stderr(open("/dev/full"))),
        Box::new(|command| command.stderr(full)),
        Box::new(|command| command.stderr(std::io::pipe().expect("a pipe").1)),
    ];
    for shape in shapes {
        Alone::start("stderr", &["-vv"], &["helper"], shape).end().is_served();
    }
    drop(reader);
    "closed, /dev/full, full, without a reader".to_owned()
}

/// Fills a pipe to the last byte.
fn fill(pipe: &std::io::PipeWriter) {
    let mut pipe = pipe.try_clone().expect("the same pipe");
    for size in [4096, 1] {
        while sys::writable(&pipe, size) {
            pipe.write_all(&vec![b'x'; size]).expect("there is room");
        }
    }
}

/// Some hosts give one socket as both.
pub(crate) fn one_socket_as_stdin_and_stdout() -> String {
    let (ours, theirs) = UnixStream::pair().expect("two ends");
    let start = |story: &str, end: &UnixStream| {
        let both = [0, 1].map(|_| OwnedFd::from(end.try_clone().expect("the same socket")));
        Alone::start(story, &[], &["helper"], |command| {
            let [stdin, stdout] = both;
            command.stdin(stdin).stdout(stdout)
        })
    };
    theirs.set_nonblocking(true).expect("some hosts want their own end so, and it is one file");
    let alone = start("socket", &theirs);
    drop(theirs);
    let mut stream = &ours;
    stream.write_all(two_requests().as_bytes()).expect("the bridge reads");
    ours.shutdown(Shutdown::Write).expect("the end of its input");
    let mut out = String::new();
    stream.read_to_string(&mut out).expect("the answers");
    let ended = alone.end();
    assert_eq!((ended.status, out.lines().count()), (0, 2), "{out}");
    // A client that goes without a word, with an answer unread.
    let (ours, theirs) = UnixStream::pair().expect("two ends");
    let alone = start("socket-gone", &theirs);
    drop(theirs);
    (&ours).write_all(two_requests().as_bytes()).expect("the bridge reads");
    assert!(sys::readable(std::os::fd::AsFd::as_fd(&ours), 30_000), "no answer");
    drop(ours);
    let ended = alone.end();
    assert_eq!((ended.status, ended.said.as_str()), (0, ""), "a client may go");
    "served and ended, left and ended".to_owned()
}

/// A line that is not ended before the input is: taken when it is whole, else reported (A3).
pub(crate) fn half_lines_at_the_end() -> String {
    let whole = two_requests();
    let whole = whole.trim_end();
    let mut client = Client::start("half-line", &[], &[]);
    client.send_bytes(whole.as_bytes());
    client.close_stdin();
    let rest = client.rest();
    assert_eq!(rest.iter().filter_map(answered).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(text(&rest[1]), Some("2"));
    assert_eq!(client.exit(), 0);
    let client = Client::start("half-line", &[], &[]);
    client.send_bytes(&whole.as_bytes()[..whole.len() - 3]);
    let rest = client.end();
    assert_eq!(rest.iter().filter_map(answered).collect::<Vec<_>>(), [1], "{rest:?}");
    "a whole one answered, half a one not".to_owned()
}
