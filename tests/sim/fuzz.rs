//! Lines garbled on their way, in conversations that have got somewhere: nothing that either side
//! sends may end the bridge, stop it, or make it write what is no message (invariant 10).

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use mcp_uplift::bridge::{Effect, Event, Generation, Line, Time};

use super::json::Json;
use super::ledger::{Check, ensure};
use super::rng::Rng;

/// Pieces that parsers stumble over.
const PIECES: [&str; 28] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-0",
    "1e400",
    "1.0",
    "\\ud83d",
    "\\u0000",
    "\u{feff}",
    "\u{2028}",
    "\"id\":1,",
    "\"id\":null,",
    "\"method\":\"ping\",",
    "\"method\":\"initialize\",",
    "\"result\":{},",
    "\"error\":{\"code\":-32042},",
    "\"params\":[],",
    "\"requestState\":\"\",",
    "\"inputResponses\":{\"q1\":{}},",
    "\"progressToken\":0,",
    "99999999999999999999999999",
];

const WAKES_IN_PLACE: u64 = 8;
/// Members of what the core writes itself, in their order.
const FORMS: [&[&str]; 7] = [
    &["jsonrpc", "id", "result"],
    &["jsonrpc", "id", "error"],
    &["jsonrpc", "error"],
    &["jsonrpc", "method"],
    &["jsonrpc", "method", "params"],
    &["jsonrpc", "id", "method"],
    &["jsonrpc", "id", "method", "params"],
];

pub(crate) struct Mutator {
    source: Rng,
    rng: Rng,
    /// Lines that passed before, of both sides.
    earlier: Vec<Vec<u8>>,
    /// Percent of lines that are garbled.
    rate: u64,
}

impl Mutator {
    pub(crate) fn new(mut rng: Rng) -> Self {
        let rate = *rng.pick(&[3, 10, 30, 90]);
        Mutator { source: rng.clone(), rng, earlier: Vec::new(), rate }
    }

    pub(crate) fn garbled(&mut self, event: Event, now: u64) -> Event {
        // Whether and how a line is garbled depends on nothing but itself and its time.
        if let Event::ClientLine(line) | Event::ServerLine(_, line) = &event {
            self.rng = self.source.at(hash(&String::from_utf8_lossy(&line.bytes)) ^ now);
        }
        match event {
            Event::ClientLine(line) => Event::ClientLine(self.line(line)),
            Event::ServerLine(generation, line) => {
                Event::ServerLine(self.generation(generation), self.line(line))
            }
            other => other,
        }
    }

    fn generation(&mut self, generation: Generation) -> Generation {
        if self.rng.chance(2) { Generation(generation.0 + 1) } else { generation }
    }

    fn line(&mut self, mut line: Line) -> Line {
        if self.earlier.len() < 50 {
            self.earlier.push(line.bytes.clone());
        }
        if self.rng.chance(self.rate) {
            for _ in 0..self.rng.range(1, 4) {
                self.garble(&mut line.bytes);
            }
            line.ended = !self.rng.chance(3);
            line.bytes.retain(|byte| *byte != b'\n'); // a line is a line
        }
        line
    }

    fn garble(&mut self, bytes: &mut Vec<u8>) {
        let at = self.rng.index(bytes.len() + 1);
        let end = (at + self.rng.index(40)).min(bytes.len());
        match self.rng.below(9) {
            0 => {
                bytes.drain(at..end);
            }
            1 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            2 => bytes.truncate(at),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = self.rng.next().to_le_bytes()[0];
                }
            }
            4 => *bytes = self.rng.pick(&self.earlier).clone(),
            5 => {
                let other = self.rng.pick(&self.earlier).clone();
                let from = self.rng.index(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            6 => self.nest(bytes, at),
            _ => {
                let piece = *self.rng.pick(&PIECES);
                bytes.splice(at..at, piece.bytes());
            }
        }
    }

    /// Nests much deeper than any stack of ours should follow.
    fn nest(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let levels = *self.rng.pick(&[2, 127, 129, 20_000]);
        let (open, close) = *self.rng.pick(&[("[", "]"), ("{\"a\":", "}")]);
        let text = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        bytes.splice(at..at, text.bytes());
    }
}

/// What holds whatever the lines mean.
#[derive(Default)]
pub(crate) struct Lenient {
    exit: Option<u8>,
    generation: u32,
    wakes_in_place: u64,
    /// Lines that came in, by their hash: relayed ones go out as they came (I15).
    lines: BTreeSet<u64>,
}

impl Lenient {
    pub(crate) fn exit(&self) -> Option<u8> {
        self.exit
    }

    pub(crate) fn event(&mut self, event: &Event) {
        if let Event::ClientLine(line) | Event::ServerLine(_, line) = event {
            self.lines.insert(hash(&String::from_utf8_lossy(&line.bytes)));
        }
    }

    pub(crate) fn effect(&mut self, effect: &Effect) -> Check {
        ensure(self.exit.is_none(), "H11-nothing-after-exit", || format!("{effect:?}"))?;
        match effect {
            Effect::ToClient(frame) | Effect::ToServer(frame) => {
                self.check_frame(&frame.bytes())?;
            }
            Effect::StartServer(generation) => {
                let is_next = generation.0 == self.generation + 1;
                self.generation = generation.0;
                ensure(is_next, "H12-generations-count", || format!("{generation:?}"))?;
            }
            Effect::Exit(status) => self.exit = Some(*status),
            Effect::StopServer(_) | Effect::Say(..) => {}
        }
        Ok(())
    }

    /// One line of JSON, of one of the forms that the core writes, or as it came in.
    fn check_frame(&self, bytes: &[u8]) -> Check {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').unwrap_or_default();
        let is_line =
            !line.is_empty() && !line.contains('\n') && std::str::from_utf8(bytes).is_ok();
        ensure(is_line, "A1-one-line", || format!("{text:?}"))?;
        if is_deep(line) {
            return Ok(()); // our own parser is one that recurses
        }
        let frame = Json::parse(line);
        ensure(frame.is_ok(), "A2-messages-only", || format!("{frame:?}: {text}"))?;
        let members = frame.as_ref().ok().and_then(Json::members).unwrap_or_default();
        let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        let fits = FORMS.contains(&names.as_slice()) || self.lines.contains(&hash(line));
        ensure(fits, "A4-members", || format!("{names:?}"))
    }

    pub(crate) fn end_of_event(&mut self, event: &Event, at: Option<Time>, now: u64) -> Check {
        let is_here = at.is_some_and(|at| at.0 <= now);
        self.wakes_in_place = if is_here { self.wakes_in_place + 1 } else { 0 };
        let is_circle = self.wakes_in_place > WAKES_IN_PLACE;
        ensure(!is_circle, "I7-no-busy-loop", || format!("{at:?} after {event:?}"))
    }
}

fn is_deep(text: &str) -> bool {
    let mut depth = 0_u32;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > 400
    })
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
