//! The transcript of a run: a hash always, lines only when somebody is going to read them.

use std::fmt::Write as _;

use mcp_uplift::bridge::{Effect, Event};

/// Characters of a line that are shown.
const SHOWN: usize = 700;

pub(crate) struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    text: String,
}

impl Trace {
    pub(crate) fn new(is_kept: bool) -> Self {
        Trace { hash: 0xcbf2_9ce4_8422_2325, lines: is_kept.then(Vec::new), text: String::new() }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }

    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(text());
        }
    }

    pub(crate) fn event(&mut self, now: u64, event: &Event) {
        self.mix(&now.to_le_bytes());
        match event {
            Event::ClientLine(line) => self.mix(&line.bytes),
            Event::ServerLine(_, line) => self.mix(&line.bytes),
            _ => self.mix(&[1]),
        }
        if self.lines.is_some() {
            let text = match event {
                Event::ClientLine(line) => format!("C> {}", String::from_utf8_lossy(&line.bytes)),
                Event::ServerLine(generation, line) => {
                    format!("S>{} {}", generation.0, String::from_utf8_lossy(&line.bytes))
                }
                other => format!("** {other:?}"),
            };
            self.keep(now, &text);
        }
    }

    pub(crate) fn effect(&mut self, now: u64, effect: &Effect) {
        match effect {
            Effect::ToClient(frame) | Effect::ToServer(frame) => self.mix(&frame.bytes()),
            other => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                let _ = write!(text, "{other:?}");
                self.mix(text.as_bytes());
                self.text = text;
            }
        }
        if self.lines.is_some() {
            let text = match effect {
                Effect::ToClient(frame) => format!("    >C {}", lossy(&frame.bytes())),
                Effect::ToServer(frame) => format!("    >S {}", lossy(&frame.bytes())),
                other => format!("    {other:?}"),
            };
            self.keep(now, &text);
        }
    }

    fn keep(&mut self, now: u64, text: &str) {
        if let Some(lines) = &mut self.lines {
            let mut line = format!("{now:>8} ");
            line.extend(text.chars().take(SHOWN));
            lines.push(line);
        }
    }

    fn mix(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.hash = (self.hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3);
            self.hash ^= self.hash >> 29;
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
