//! Sixteen bytes at a time: the second and last place of `unsafe`, for one instruction set that
//! every x86-64 processor has. Other processors look at each byte.

/// Bytes that are looked at together.
pub(crate) const BLOCK: usize = 16;

/// Which bytes of the block are a quote, a backslash or a control character; the first byte is
/// the lowest bit.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn special_bytes(block: &[u8; BLOCK]) -> u32 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { with_sse2(block) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn with_sse2(block: &[u8; BLOCK]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: sixteen bytes are there, and this load asks for no alignment.
    let bytes = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
    let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x22));
    let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x5c));
    let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    let special = _mm_or_si128(_mm_or_si128(quote, backslash), control);
    _mm_movemask_epi8(special).cast_unsigned()
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use one_by_one as special_bytes;

/// The same for every processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub(crate) fn one_by_one(block: &[u8; BLOCK]) -> u32 {
    let is_special = |byte: u8| matches!(byte, 0..=0x1f | b'"' | b'\\');
    block.iter().rev().fold(0, |mask, byte| mask << 1 | u32::from(is_special(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_see_the_same() {
        for at in 0..BLOCK {
            for byte in 0..=u8::MAX {
                for other in [b'a', b'"', 0, 0x20, 0x7f, 0xff] {
                    let mut block = [other; BLOCK];
                    block[at] = byte;
                    assert_eq!(special_bytes(&block), one_by_one(&block), "{block:?}");
                }
            }
        }
    }
}
