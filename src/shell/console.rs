//! What we tell the person, on stderr, a line each (A2).
//!
//! Stderr may be closed, full, or read by nobody: then a line is lost, and nothing else happens.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IoSlice, IsTerminal};
use std::os::fd::AsFd;

use super::sink::Sink;
use crate::bridge::{Effect, Event, Level};

/// No line is longer, so that a pipe takes it whole or not at all.
const LINE: usize = 4000;

/// How much of a frame `-vv` shows.
const SHOWN: usize = 200;

/// How much we tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// `-q`: errors.
    Quiet,
    /// Errors and warnings.
    #[default]
    Normal,
    /// `-v`: lifecycle, too.
    Lifecycle,
    /// `-vv`: each frame, too.
    Frames,
}

/// Our stderr.
pub struct Console {
    sink: Option<Sink>,
    colour: bool,
    verbosity: Verbosity,
}

impl Console {
    /// Speaks to stderr.
    #[must_use]
    pub fn new(verbosity: Verbosity) -> Self {
        let stderr = io::stderr();
        Console {
            colour: stderr.is_terminal() && may_colour(),
            sink: Sink::shared(stderr.as_fd()).ok(),
            verbosity,
        }
    }

    /// The same, without colour unless it is wanted.
    #[must_use]
    pub fn with_colour(self, is_wanted: bool) -> Self {
        Console { colour: self.colour && is_wanted, ..self }
    }

    /// Says one line, if it is to be heard.
    pub fn say(&self, level: Level, text: &str) {
        let (least, colour) = match level {
            Level::Error => (Verbosity::Quiet, "\x1b[31m"),
            Level::Warning => (Verbosity::Normal, "\x1b[33m"),
            Level::Info => (Verbosity::Lifecycle, ""),
        };
        if self.verbosity < least {
            return;
        }
        let (on, off) =
            if self.colour && !colour.is_empty() { (colour, "\x1b[0m") } else { ("", "") };
        let mut line = format!("{on}mcp-uplift:{off} ");
        push_escaped(&mut line, text, LINE);
        self.write(line);
    }

    /// Whether frames are shown.
    pub(crate) fn shows_frames(&self) -> bool {
        self.verbosity >= Verbosity::Frames
    }

    /// Shows what comes in.
    pub(crate) fn show_event(&self, event: &Event) {
        if let Event::ClientLine(line) = event {
            self.show("client > ", &line.bytes);
        } else if let Event::ServerLine(_, line) = event {
            self.show("server > ", &line.bytes);
        } else {
            self.say(Level::Info, &format!("event: {event}"));
        }
    }

    /// Shows what is done about it.
    pub(crate) fn show_effect(&self, effect: &Effect) {
        match effect {
            Effect::ToClient(frame) => self.show("client < ", &frame.bytes()),
            Effect::ToServer(frame) => self.show("server < ", &frame.bytes()),
            Effect::Say(..) => {}
            Effect::StartServer(server) => {
                self.say(Level::Info, &format!("effect: start server {}", server.0));
            }
            Effect::StopServer(server) => {
                self.say(Level::Info, &format!("effect: stop server {}", server.0));
            }
            Effect::Exit(status) => self.say(Level::Info, &format!("effect: exit {status}")),
        }
    }

    #[allow(clippy::indexing_slicing, reason = "no more than there is")]
    fn show(&self, side: &str, bytes: &[u8]) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // A cut character at the end becomes a replacement mark; four bytes make one at most.
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN * 4)]);
        let mut line = format!("mcp-uplift: {side}");
        push_escaped(&mut line, &start, SHOWN);
        if start.len() < bytes.len() && !line.ends_with('…') {
            line.push('…');
        }
        self.write(line);
    }

    fn write(&self, mut line: String) {
        line.push('\n');
        if let Some(sink) = &self.sink {
            // Full or closed: the line is lost, the bridge goes on.
            let _ = sink.write(&[IoSlice::new(line.as_bytes())]);
        }
    }
}

/// Whether a terminal of ours may be written to in colour.
pub(crate) fn may_colour() -> bool {
    !is_dumb_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A terminal that knows no escape codes.
pub(crate) fn is_dumb_terminal() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Characters that a terminal obeys instead of showing them: controls, line separators, marks that
/// turn text around, and what has no width, behind which text can hide.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// Adds `text` on one line, without control characters, cut after `most` characters.
fn push_escaped(line: &mut String, text: &str, most: usize) {
    let room = line.len() + LINE.min(most * 4);
    for (index, character) in text.chars().enumerate() {
        if index == most || line.len() >= room {
            line.push('…');
            return;
        }
        if is_unsafe(character) {
            let _ = write!(line, "{}", character.escape_default());
        } else {
            line.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_one_line_and_short() {
        for (text, most, expected) in [
            ("plain", 10, "plain"),
            ("tab\there\n\u{1b}[2J\r", 100, "tab\\there\\n\\u{1b}[2J\\r"),
            ("äöü", 2, "äö…"),
            ("ab", 2, "ab"),
            ("\u{85}", 2, "\\u{85}"),
            ("\u{202e}", 2, "\\u{202e}"),
            ("a\u{200b}", 2, "a\\u{200b}"),
        ] {
            let mut line = String::new();
            push_escaped(&mut line, text, most);
            assert_eq!(line, expected);
        }
        let mut line = "mcp-uplift: ".to_owned();
        push_escaped(&mut line, &"\u{1}é🦀".repeat(LINE), LINE);
        assert!(line.len() < 4090);
    }
}
