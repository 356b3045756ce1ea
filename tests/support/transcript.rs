//! What happened in one run of a case: the trace for a person, and all that is checked at the end.

use mcp_uplift::bridge::Time;

use super::framing::{Framer, Piece};
use super::json::{Json, short};

/// Which way a line went, seen from the bridge's client or from its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToBridge,
    FromBridge,
}

/// One line that passed, parsed; `Null` when it was no JSON.
#[derive(Clone)]
pub(crate) struct Passed {
    pub(crate) way: Way,
    pub(crate) message: Json,
}

pub(crate) struct Transcript {
    rows: Vec<(u64, String, String)>,
    /// What the client has begun to write.
    from_client: Framer,
    /// Every line between client and bridge, in the order of its passing.
    pub(crate) client: Vec<Passed>,
    /// The same for the server, one list per process start.
    pub(crate) server: Vec<Vec<Passed>>,
    /// What was wrong with the text of a line the bridge wrote to its client.
    pub(crate) malformed: Vec<String>,
    /// What the scripted server went through: start, eof, sigterm, exit.
    pub(crate) events: Vec<String>,
    pub(crate) stderr: Vec<u8>,
}

impl Default for Transcript {
    fn default() -> Self {
        Transcript {
            rows: Vec::new(),
            from_client: Framer::new(usize::MAX),
            client: Vec::new(),
            server: Vec::new(),
            malformed: Vec::new(),
            events: Vec::new(),
            stderr: Vec::new(),
        }
    }
}

impl Transcript {
    pub(crate) fn trace(&mut self, now: Time, kind: &str, text: &str) {
        self.rows.push((now.0, kind.to_owned(), short(text, 500)));
    }

    /// Bytes the client writes; the lines among them that are JSON are remembered.
    pub(crate) fn client_wrote(&mut self, now: Time, bytes: &[u8]) {
        self.trace(now, "C>", String::from_utf8_lossy(bytes).trim_end());
        let pieces = self.from_client.push(bytes);
        self.client_lines(pieces);
    }

    /// The client writes no more: what it wrote last needs no line feed.
    pub(crate) fn client_closed(&mut self) {
        let rest = self.from_client.end();
        self.client_lines(rest.into_iter().collect());
    }

    fn client_lines(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            if let Piece::Line(line) = piece
                && let Ok(message) = parse_line(&line.bytes)
            {
                self.client.push(Passed { way: Way::ToBridge, message });
            }
        }
    }

    /// A line the bridge wrote to its client, without its line feed.
    pub(crate) fn client_read(&mut self, now: Time, line: &[u8], ended: bool) -> (Json, String) {
        let text = String::from_utf8_lossy(line).into_owned();
        self.trace(now, "C<", &if ended { text.clone() } else { text.clone() + " (no newline)" });
        let parsed = match ended {
            true => parse_line(line),
            false => Err("without a line feed".to_owned()),
        };
        let message = parsed.unwrap_or_else(|why| {
            self.malformed.push(format!("a stdout line is {why}: {}", short(&text, 160)));
            Json::Null
        });
        self.client.push(Passed { way: Way::FromBridge, message: message.clone() });
        (message, text)
    }

    /// Another process of the server runs.
    pub(crate) fn server_started(&mut self) {
        self.server.push(Vec::new());
    }

    /// A line between bridge and server.
    pub(crate) fn server_passed(&mut self, way: Way, line: &[u8]) {
        let message = parse_line(line).unwrap_or(Json::Null);
        if let Some(process) = self.server.last_mut() {
            process.push(Passed { way, message });
        }
    }

    /// All rows in the order of time.
    pub(crate) fn print(&self) -> String {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|(at, ..)| *at);
        let mut out = String::new();
        for (at, kind, text) in rows {
            out.push_str(&format!("    {at:7} {kind} {text}\n"));
        }
        let said = String::from_utf8_lossy(&self.stderr);
        if !said.trim().is_empty() {
            out.push_str(&format!("    stderr: {}\n", short(said.trim(), 600)));
        }
        out
    }
}

pub(crate) fn parse_line(line: &[u8]) -> Result<Json, String> {
    str::from_utf8(line).map_err(|e| e.to_string()).and_then(Json::parse)
}
