//! Makes a failing input smaller by leaving parts out, as long as it fails in the same way.

use super::Verdict;

/// Attempts, after which the smallest so far has to do.
const MOST: usize = 20_000;
/// Bytes of all attempts together.
const MOST_BYTES: usize = 200 << 20;

/// The smallest input found that breaks the same rule.
pub(crate) fn shrunk(input: &[u8], fault: &str, judge: impl Fn(&[u8]) -> Verdict) -> Vec<u8> {
    let rule = rule(fault);
    let mut smallest = input.to_vec();
    let (mut attempts, mut bytes) = (0, 0);
    let mut size = smallest.len() / 2;
    while size > 0 && attempts < MOST && bytes < MOST_BYTES {
        let (mut at, before) = (0, smallest.len());
        while at + size <= smallest.len() && attempts < MOST && bytes < MOST_BYTES {
            let shorter = [&smallest[..at], &smallest[at + size..]].concat();
            attempts += 1;
            bytes += shorter.len();
            if judge(&shorter).is_err_and(|fault| self::rule(&fault) == rule) {
                smallest = shorter;
            } else {
                at += if size > 64 { size / 2 } else { 1 };
            }
        }
        // What has become possible by leaving this out is tried at the same size again.
        if smallest.len() == before {
            size = if size > 16 { size / 2 } else { size - 1 };
        } else {
            size = size.min(smallest.len());
        }
    }
    smallest
}

/// The first word of a fault.
fn rule(fault: &str) -> &str {
    fault.split(' ').next().unwrap_or_default()
}
