//! Bytes to lines, the same for both sides (A1, A3, A12, A16).
//!
//! The reader appends what it has read to [`Lines::room`] and calls [`Lines::split`].
//!
//! ```text
//!  read ──▶ landing ──▶ short lines, copied out together
//!              └─ a long one begins ──▶ a buffer of its own, grown and given away as the line
//! ```
//!
//! The landing stays where it is, so that what the last long line leaves free can be grown into
//! by the next. A line over the limit is thrown away up to its end and leaves only the word that
//! it was there, so that no buffer holds more than the limit and one read.
#![allow(
    clippy::indexing_slicing,
    reason = "offsets are places of line feeds that were just found in this buffer"
)]

use std::mem;

use crate::bridge::Line;
use crate::sys;

/// A line that is not at its end by this size gets its own buffer.
const LONG: usize = 32 << 10;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the input was cut into.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A line, without its ending; never blank.
    Line(Line),
    /// A line that went over the limit.
    Overlong,
}

/// What one read completed, on its way from the reader to the loop.
#[derive(Debug)]
pub enum Cut {
    /// Several short lines with their line feeds. Each gets memory of its own only where it is used
    /// and freed: what one thread takes and another gives back costs more than the rest of it.
    Short(Vec<u8>),
    /// One alone.
    One(Piece),
}

impl Cut {
    /// What is in it, for the `limit` that it was read with.
    #[must_use]
    pub fn pieces(self, limit: usize) -> Pieces {
        let (lines, one) = match self {
            Cut::Short(lines) => (lines, None),
            Cut::One(piece) => (Vec::new(), Some(piece)),
        };
        Pieces { lines, at: 0, one, limit }
    }
}

/// The pieces of one cut.
#[derive(Debug)]
pub struct Pieces {
    lines: Vec<u8>,
    /// Bytes of `lines` that were given out.
    at: usize,
    one: Option<Piece>,
    limit: usize,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        while let Some(length) = sys::find_byte(b'\n', &self.lines[self.at..]) {
            let line = self.lines[self.at..self.at + length].to_vec();
            self.at += length + 1;
            if let Some(piece) = finished(line, true, self.limit) {
                return Some(piece);
            }
        }
        self.one.take()
    }
}

/// One input on its way from bytes to lines.
pub struct Lines {
    limit: usize,
    /// Read and not yet handed on; its first `seen` bytes hold no line feed.
    buffer: Vec<u8>,
    seen: usize,
    /// Set aside while `buffer` is a long line's own.
    landing: Option<Vec<u8>>,
    /// The current line went over the limit; its bytes are dropped as they come.
    discarding: bool,
}

impl Lines {
    /// Nothing has been read yet; `limit` is the longest line in bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Lines { limit, buffer: Vec::new(), seen: 0, landing: None, discarding: false }
    }

    /// Where to append up to `most` bytes.
    pub fn room(&mut self, most: usize) -> &mut Vec<u8> {
        if self.landing.is_none() && self.buffer.len() > LONG {
            let mut long = Vec::with_capacity(2 * (LONG + most));
            long.append(&mut self.buffer);
            self.landing = Some(mem::replace(&mut self.buffer, long));
        }
        self.buffer.reserve(most);
        &mut self.buffer
    }

    /// Moves all complete lines into `out`.
    pub fn split(&mut self, out: &mut Vec<Cut>) {
        let mut start = 0;
        // What came in parts ends with the first line feed, if it does.
        if let Some(found) = sys::find_byte(b'\n', &self.buffer[self.seen..]) {
            let end = self.seen + found;
            if mem::take(&mut self.discarding) {
                out.push(Cut::One(Piece::Overlong));
                start = end + 1;
            } else if let Some(landing) = self.landing.take() {
                out.extend(self.give_away(end, landing).map(Cut::One));
            }
            let last = sys::find_last_byte(b'\n', &self.buffer);
            if let Some(last) = last.filter(|last| *last >= start) {
                let lines = &self.buffer[start..=last];
                let is_alone = sys::find_byte(b'\n', lines) == Some(lines.len() - 1);
                if is_alone {
                    let line = lines[..lines.len() - 1].to_vec();
                    out.extend(finished(line, true, self.limit).map(Cut::One));
                } else {
                    out.push(Cut::Short(lines.to_vec()));
                }
                start = last + 1;
            }
        }
        self.buffer.drain(..start);
        // The carriage return and the mark at the start do not count, but are not known yet.
        let most = self.limit.saturating_add(BOM.len() + 1);
        if self.discarding || self.buffer.len() > most {
            self.discarding = true;
            self.buffer = self.landing.take().unwrap_or_default();
            self.buffer.clear();
        }
        self.seen = self.buffer.len();
    }

    /// The input is at its end: what stands there without a line feed (A3).
    pub fn finish(&mut self, out: &mut Vec<Cut>) {
        let rest = mem::take(&mut self.buffer);
        self.seen = 0;
        if mem::take(&mut self.discarding) {
            out.push(Cut::One(Piece::Overlong));
        } else {
            out.extend(finished(rest, false, self.limit).map(Cut::One));
        }
    }

    /// Gives the long line's buffer away, which ends at `end`; what follows goes to the landing.
    fn give_away(&mut self, end: usize, mut landing: Vec<u8>) -> Option<Piece> {
        landing.extend_from_slice(&self.buffer[end + 1..]);
        let mut line = mem::replace(&mut self.buffer, landing);
        self.seen = 0;
        line.truncate(end);
        finished(line, true, self.limit)
    }
}

/// What becomes of a line: nothing when it is blank.
fn finished(mut bytes: Vec<u8>, ended: bool, limit: usize) -> Option<Piece> {
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    if bytes.starts_with(BOM) {
        bytes.drain(..BOM.len());
    }
    // Before it is looked at: of a long one that came in parts nothing is left to look at.
    if bytes.len() > limit {
        return Some(Piece::Overlong);
    }
    if bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return None;
    }
    Some(Piece::Line(Line { bytes, ended }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in chunks of `chunk` bytes and shows the pieces as text.
    fn check(input: &[u8], limit: usize, chunk: usize, expected: &[&str]) {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for part in input.chunks(chunk) {
            lines.room(part.len()).extend_from_slice(part);
            lines.split(&mut out);
            assert!(lines.buffer.len() <= limit + 4, "the buffer keeps to the limit");
        }
        lines.finish(&mut out);
        let shown: Vec<String> = out
            .into_iter()
            .flat_map(|cut| cut.pieces(limit))
            .map(|piece| match piece {
                Piece::Overlong => "overlong".to_owned(),
                Piece::Line(line) => {
                    let end = if line.ended { "" } else { "…" };
                    format!("{}{end}", String::from_utf8_lossy(&line.bytes))
                }
            })
            .collect();
        assert_eq!(shown, expected, "{:?} by {chunk}", String::from_utf8_lossy(input));
    }

    #[test]
    fn lines_are_cut_alike_whatever_the_chunks() {
        let table: [(&[u8], usize, &[&str]); 16] = [
            (b"", 8, &[]),
            (b"a\nb\n", 8, &["a", "b"]),
            (b"a\nb", 8, &["a", "b…"]),
            (b"a\r\nb\r", 8, &["a", "b…"]),
            (b"\n\r\n \t\n\n", 8, &[]),
            (b"  ", 8, &[]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf\n", 8, &["a"]),
            (b"\xef\xbb\xbfa\xef\xbb\xbf\n", 8, &["a\u{feff}"]),
            (b"12345678\n123456789\nx\n", 8, &["12345678", "overlong", "x"]),
            (b"12345678\r\n", 8, &["12345678"]),
            (b"\xef\xbb\xbf12345678\r\n", 8, &["12345678"]),
            (b"1234567890123\nx", 8, &["overlong", "x…"]),
            (b"1234567890123", 8, &["overlong"]),
            (b"             \n", 8, &["overlong"]),
            (b"12345678", 8, &["12345678…"]),
            (b"1234567890123\n1234567890123\n\ny\n", 8, &["overlong", "overlong", "y"]),
        ];
        for (input, limit, expected) in table {
            for chunk in 1..=input.len().max(1) {
                check(input, limit, chunk, expected);
            }
        }
    }

    #[test]
    fn large_lines_leave_in_their_own_buffer() {
        let mut input = vec![b'x'; 3 * LONG];
        input.extend_from_slice(b"\r\nsmall\n");
        input.extend_from_slice(&vec![b'y'; 2 * LONG]);
        input.extend_from_slice(b"\nrest");
        for chunk in [1000, 4096, 65536, input.len()] {
            let mut lines = Lines::new(1 << 20);
            let mut out = Vec::new();
            for part in input.chunks(chunk) {
                lines.room(part.len()).extend_from_slice(part);
                lines.split(&mut out);
            }
            lines.finish(&mut out);
            let sizes: Vec<usize> = out
                .into_iter()
                .flat_map(|cut| cut.pieces(1 << 20))
                .map(|piece| match piece {
                    Piece::Line(line) => line.bytes.len(),
                    Piece::Overlong => 0,
                })
                .collect();
            assert_eq!(sizes, [3 * LONG, 5, 2 * LONG, 4]);
        }
    }
}
