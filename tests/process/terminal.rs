//! A person at a terminal: lines typed, Ctrl-D, Ctrl-C, the window closed.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use crate::alone::{Alone, Ended, two_requests};
use crate::client::PATIENCE_MS;
use crate::sys::{self, Inherited};

/// What Ctrl-D and Ctrl-C send.
const END: &[u8] = b"\x04";
const INTERRUPT: &[u8] = b"\x03";

/// The bridge at a terminal of its own, or without being in charge of it; the typing end.
fn at_a_terminal(in_charge: bool) -> (File, Alone) {
    let (outer, inner) = sys::terminal().expect("a terminal");
    let alone = Alone::start("terminal", &[], &["helper"], |command| {
        let stdin = inner.try_clone().expect("the same terminal");
        command.stdin(stdin).stdout(inner);
        if in_charge { sys::inherits(command, Inherited::Terminal) } else { command }
    });
    (outer, alone)
}

/// Types both requests and reads until the answer to the call.
fn talk(mut outer: &File) -> String {
    outer.write_all(two_requests().as_bytes()).expect("the terminal takes it");
    let mut shown = String::new();
    while !shown.contains(r#""text":"2""#) {
        assert!(sys::readable(outer.as_fd(), 30_000), "no answer in {PATIENCE_MS} ms: {shown}");
        let mut chunk = [0; 4096];
        let size = outer.read(&mut chunk).expect("what the terminal shows");
        shown.push_str(&String::from_utf8_lossy(&chunk[..size]));
    }
    shown
}

pub(crate) fn a_person_types() -> String {
    let ways: [(bool, Option<&[u8]>, i32); 5] = [
        (true, Some(END), 0),
        (true, Some(INTERRUPT), 128 + sys::SIGINT),
        (false, Some(END), 0),
        (true, None, 128 + sys::SIGHUP),
        (false, None, 0),
    ];
    for (in_charge, typed, expected) in ways {
        let (mut outer, alone) = at_a_terminal(in_charge);
        talk(&outer);
        match typed {
            Some(keys) => outer.write_all(keys).expect("the terminal takes it"),
            None => drop(outer.try_clone()),
        }
        let Ended { status, said, .. } = if typed.is_none() {
            drop(outer); // the window is closed
            alone.end()
        } else {
            alone.end()
        };
        assert_eq!((status, said.as_str()), (expected, ""), "in charge: {in_charge}, {typed:?}");
    }
    "Ctrl-D, Ctrl-C, a closed window".to_owned()
}
