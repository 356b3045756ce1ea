//! Bytes to lines as the readers of the program cut them: the contract's, written a second time.

use mcp_uplift::bridge::Line;

const BOM: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Line(Line),
    Overlong,
}

pub(crate) struct Framer {
    line: Vec<u8>,
    limit: usize,
}

impl Framer {
    pub(crate) fn new(limit: usize) -> Self {
        Framer { line: Vec::new(), limit }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.line.pop();
                pieces.extend(self.take(true));
            }
        }
        pieces
    }

    /// What stood before the end of input without a line feed.
    pub(crate) fn end(&mut self) -> Option<Piece> {
        self.take(false)
    }

    /// The line without its ending and byte order mark; nothing when it is blank (A3, A12).
    fn take(&mut self, ended: bool) -> Option<Piece> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let line = line.strip_prefix(BOM).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return None;
        }
        if line.len() > self.limit {
            return Some(Piece::Overlong);
        }
        Some(Piece::Line(Line { bytes: line.to_vec(), ended }))
    }
}
