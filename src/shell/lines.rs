//! Bytes to lines, the same for both sides (A1, A3, A12, A16).
//!
//! The reader appends what it has read to [`Lines::buffer`] and calls [`Lines::split`]. A line
//! over the limit is thrown away up to its end and leaves only the word that it was there, so
//! the buffer never holds more than the limit and one read.

use crate::bridge::Line;
use crate::sys;

/// Lines from this size on leave in the buffer they were read into; shorter ones are copied out.
const LARGE: usize = 32 << 10;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the input was cut into.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A line, without its ending; never blank.
    Line(Line),
    /// A line that went over the limit.
    Overlong,
}

/// One input on its way from bytes to lines.
pub(crate) struct Lines {
    limit: usize,
    /// Read and not yet handed on; its first `seen` bytes hold no line feed.
    buffer: Vec<u8>,
    seen: usize,
    /// The current line went over the limit; its bytes are dropped as they come.
    discarding: bool,
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Self {
        Lines {
            limit,
            buffer: Vec::new(),
            seen: 0,
            discarding: false,
        }
    }

    /// Where to append what was read.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Moves all complete lines into `out`.
    pub(crate) fn split(&mut self, out: &mut Vec<Piece>) {
        let mut start = 0;
        while let Some(found) = sys::find_byte(b'\n', &self.buffer[self.seen..]) {
            let end = self.seen + found;
            self.seen = end + 1;
            if std::mem::take(&mut self.discarding) {
                out.push(Piece::Overlong);
            } else if start == 0 && end >= LARGE && end > self.buffer.len() / 2 {
                out.extend(self.take_buffer(end));
                continue; // the buffer begins anew behind this line
            } else {
                let line = self.buffer[start..end].to_vec();
                out.extend(finished(line, true, self.limit));
            }
            start = self.seen;
        }
        self.buffer.drain(..start);
        // The carriage return and the mark at the start do not count, but are not known yet.
        if self.discarding || self.buffer.len() > self.limit.saturating_add(BOM.len() + 1) {
            self.discarding = true;
            self.buffer = Vec::new();
        }
        self.seen = self.buffer.len();
    }

    /// The input is at its end: what stands there without a line feed (A3).
    pub(crate) fn finish(&mut self, out: &mut Vec<Piece>) {
        let rest = std::mem::take(&mut self.buffer);
        self.seen = 0;
        if std::mem::take(&mut self.discarding) {
            out.push(Piece::Overlong);
        } else {
            out.extend(finished(rest, false, self.limit));
        }
    }

    /// Gives the buffer away as the line that ends at `end`; what follows moves to a new one.
    fn take_buffer(&mut self, end: usize) -> Option<Piece> {
        let rest = self.buffer[end + 1..].to_vec();
        let mut line = std::mem::replace(&mut self.buffer, rest);
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
    if bytes
        .iter()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
    {
        return None;
    }
    if bytes.len() > limit {
        return Some(Piece::Overlong);
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
            lines.buffer().extend_from_slice(part);
            lines.split(&mut out);
            assert!(
                lines.buffer.len() <= limit + 4,
                "the buffer keeps to the limit"
            );
        }
        lines.finish(&mut out);
        let shown: Vec<String> = out
            .iter()
            .map(|piece| match piece {
                Piece::Overlong => "overlong".to_owned(),
                Piece::Line(line) => {
                    let end = if line.ended { "" } else { "…" };
                    format!("{}{end}", String::from_utf8_lossy(&line.bytes))
                }
            })
            .collect();
        assert_eq!(
            shown,
            expected,
            "{:?} by {chunk}",
            String::from_utf8_lossy(input)
        );
    }

    #[test]
    fn lines_are_cut_alike_whatever_the_chunks() {
        let table: [(&[u8], usize, &[&str]); 15] = [
            (b"", 8, &[]),
            (b"a\nb\n", 8, &["a", "b"]),
            (b"a\nb", 8, &["a", "b…"]),
            (b"a\r\nb\r", 8, &["a", "b…"]),
            (b"\n\r\n \t\n\n", 8, &[]),
            (b"  ", 8, &[]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf\n", 8, &["a"]),
            (b"\xef\xbb\xbfa\xef\xbb\xbf\n", 8, &["a\u{feff}"]),
            (
                b"12345678\n123456789\nx\n",
                8,
                &["12345678", "overlong", "x"],
            ),
            (b"12345678\r\n", 8, &["12345678"]),
            (b"\xef\xbb\xbf12345678\r\n", 8, &["12345678"]),
            (b"1234567890123\nx", 8, &["overlong", "x…"]),
            (b"1234567890123", 8, &["overlong"]),
            (b"12345678", 8, &["12345678…"]),
            (
                b"1234567890123\n1234567890123\n\ny\n",
                8,
                &["overlong", "overlong", "y"],
            ),
        ];
        for (input, limit, expected) in table {
            for chunk in 1..=input.len().max(1) {
                check(input, limit, chunk, expected);
            }
        }
    }

    #[test]
    fn large_lines_leave_in_their_own_buffer() {
        let mut input = vec![b'x'; 3 * LARGE];
        input.extend_from_slice(b"\r\nsmall\n");
        input.extend_from_slice(&vec![b'y'; 2 * LARGE]);
        input.extend_from_slice(b"\nrest");
        for chunk in [1000, 4096, 65536, input.len()] {
            let mut lines = Lines::new(1 << 20);
            let mut out = Vec::new();
            for part in input.chunks(chunk) {
                lines.buffer().extend_from_slice(part);
                lines.split(&mut out);
            }
            lines.finish(&mut out);
            let sizes: Vec<usize> = out
                .iter()
                .map(|piece| match piece {
                    Piece::Line(line) => line.bytes.len(),
                    Piece::Overlong => 0,
                })
                .collect();
            assert_eq!(sizes, [3 * LARGE, 5, 2 * LARGE, 4]);
        }
    }
}
