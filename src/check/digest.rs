//! SHA-256, for the fingerprints of findings: a few hundred bytes once in a run.
#![allow(clippy::indexing_slicing, reason = "all places are below the fixed lengths of the arrays")]

const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];
const START: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// The SHA-256 of a text, in hex.
#[must_use]
pub(super) fn sha256(text: &str) -> String {
    let mut message = text.as_bytes().to_vec();
    message.push(0x80);
    message.resize((message.len() + 8).next_multiple_of(64) - 8, 0);
    message.extend((text.len() as u64 * 8).to_be_bytes());
    let mut state = START;
    for block in message.chunks_exact(64) {
        take(&mut state, block);
    }
    let digit = |at: u32| char::from_digit(state[at as usize / 8] >> (28 - at % 8 * 4) & 15, 16);
    (0..64).filter_map(digit).collect()
}

/// Mixes one block of 64 bytes in.
fn take(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let turned = |w: u32, a, b, c| w.rotate_right(a) ^ w.rotate_right(b) ^ w.rotate_right(c);
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[at] =
            early.wrapping_add(late).wrapping_add(words[at - 16]).wrapping_add(words[at - 7]);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.into_iter().zip(ROUNDS) {
        let first = h.wrapping_add(turned(e, 6, 11, 25)).wrapping_add(e & f ^ !e & g);
        let first = first.wrapping_add(round).wrapping_add(word);
        let second = turned(a, 2, 13, 22).wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (sum, mixed) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(mixed);
    }
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn known_digests() {
        let long = "a".repeat(1_000_000);
        for (text, expected) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (&long, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            assert_eq!(sha256(text), expected, "{} bytes", text.len());
        }
    }

    /// Around the ends of blocks, where the length has to fit in.
    #[test]
    fn every_length_has_its_own() {
        for (length, expected) in LENGTHS {
            assert_eq!(sha256(&"x".repeat(length)).get(..16), Some(expected), "{length}");
        }
    }

    const LENGTHS: [(usize, &str); 7] = [
        (55, "d5e285683cd4efc0"),
        (56, "04c26261370ee754"),
        (57, "ae14a2563ccf969d"),
        (63, "75220b47218278e6"),
        (64, "7ce100971f64e700"),
        (119, "000b48d4edf0fa7b"),
        (120, "13f05a0b594787f5"),
    ];
}
