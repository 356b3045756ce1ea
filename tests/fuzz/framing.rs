//! Bytes to lines: whatever the chunks, the lines are those of the whole input (A1, A3, A12).

use mcp_uplift::bridge::Line;
use mcp_uplift::shell::lines::{Lines, Piece};

use super::rng::Rng;
use super::{Target, Verdict};

pub(crate) const TARGET: Target = Target { name: "framing", seeds: 8_000, generate, check };

const BOM: &[u8] = b"\xef\xbb\xbf";
/// Small ones, and some about the size at which a line gets a buffer of its own.
const LIMITS: [usize; 10] = [1, 2, 3, 8, 9, 20, 100, 32_767, 40_000, 70_000];
const PIECES: [&[u8]; 20] = [
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\r\r\n",
    BOM,
    b"\xef\xbb",
    b"\xbf",
    b"\xef",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b"\xc3",
    b"a",
    b"{}",
    "é".as_bytes(),
    b"{\"jsonrpc\":\"2.0\"}\n",
    b"\n\n",
];

fn limit(rng: &mut Rng) -> usize {
    if rng.chance(97) { *rng.pick(&LIMITS[..7]) } else { *rng.pick(&LIMITS) }
}

fn generate(rng: &mut Rng) -> Vec<u8> {
    let limit = limit(rng);
    if rng.chance(10) {
        return (0..rng.below(60)).map(|_| rng.next().to_le_bytes()[0] & 0x1f).collect();
    }
    let mut bytes = Vec::new();
    for _ in 0..rng.below(16) {
        match rng.below(4) {
            0 => {
                // About as long as a line may be.
                let length = (limit + rng.index(8)).saturating_sub(rng.index(6));
                let byte = *rng.pick(b"x \r");
                bytes.resize(bytes.len() + length, byte);
            }
            _ => bytes.extend_from_slice(rng.pick::<&[u8]>(&PIECES)),
        }
    }
    bytes
}

fn check(rng: &mut Rng, input: &[u8]) -> Verdict {
    let limit = limit(rng);
    let expected = model(input, limit);
    for most in [1, rng.range(2, 6), 64, 50_000, 1 << 20] {
        let seen = cut(rng, input, limit, most)?;
        if seen != expected {
            return Err(format!(
                "A3 limit {limit}, chunks up to {most}: {seen:?}, expected {expected:?}"
            ));
        }
    }
    Ok(())
}

fn cut(rng: &mut Rng, input: &[u8], limit: usize, most: u64) -> Result<Vec<Piece>, String> {
    let mut lines = Lines::new(limit);
    let (mut out, mut rest) = (Vec::new(), input);
    while !rest.is_empty() {
        let length = usize::try_from(rng.range(1, most)).unwrap_or(1).min(rest.len());
        let (part, after) = rest.split_at(length);
        let room = lines.room(length);
        if room.capacity() - room.len() < length {
            return Err("A1 there is no room for what is read".into());
        }
        room.extend_from_slice(part);
        lines.split(&mut out);
        rest = after;
    }
    lines.finish(&mut out);
    Ok(out.into_iter().flat_map(|cut| cut.pieces(limit)).collect())
}

/// The whole input, cut at its line feeds.
fn model(input: &[u8], limit: usize) -> Vec<Piece> {
    let parts: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let last = parts.len() - 1;
    let line = |(at, part): (usize, &&[u8])| {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        let part = part.strip_prefix(BOM).unwrap_or(part);
        if part.len() > limit {
            return Some(Piece::Overlong);
        }
        let is_blank = part.iter().all(|byte| b" \t\r".contains(byte));
        (!is_blank).then(|| Piece::Line(Line { bytes: part.to_vec(), ended: at < last }))
    };
    parts.iter().enumerate().filter_map(line).collect()
}
