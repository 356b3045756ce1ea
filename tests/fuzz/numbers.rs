//! JSON numbers by value, worked out in another way than the program does it: as whole numbers of
//! equal scale, written in full.

use std::cmp::Ordering;

/// Zeros that are written to bring two numbers to one scale; beyond it they are not compared.
const MOST_ZEROS: i64 = 3000;

/// Sign, digits, and the power of ten that they are multiplied by.
struct Scaled {
    is_negative: bool,
    digits: String,
    power: i64,
}

impl Scaled {
    /// `None`: its exponent is beyond all reason, which the program leaves alone as well (E13).
    fn read(raw: &str) -> Option<Self> {
        let (is_negative, plain) = raw.strip_prefix('-').map_or((false, raw), |rest| (true, rest));
        let (mantissa, exponent) = match plain.find(['e', 'E']) {
            Some(at) => (&plain[..at], plain[at + 1..].parse::<i64>().ok()?),
            None => (plain, 0),
        };
        let fraction = mantissa.find('.').map_or(0, |at| mantissa.len() - at - 1);
        let digits = mantissa.replace('.', "");
        let power = exponent.checked_sub(i64::try_from(fraction).ok()?)?;
        Some(Scaled { is_negative, digits, power })
    }

    /// The digits without zeros in front, at a smaller power.
    fn at(&self, power: i64) -> Option<String> {
        let zeros = self.power.checked_sub(power).filter(|zeros| *zeros <= MOST_ZEROS)?;
        let all = format!("{}{}", self.digits, "0".repeat(usize::try_from(zeros).ok()?));
        Some(all.trim_start_matches('0').to_owned())
    }
}

/// Which is larger; `None` where that would take too many zeros.
pub(crate) fn compared(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Scaled::read(a)?, Scaled::read(b)?);
    let power = a.power.min(b.power);
    let (x, y) = (a.at(power)?, b.at(power)?);
    let size = x.len().cmp(&y.len()).then_with(|| x.cmp(&y));
    Some(match (a.is_negative && !x.is_empty(), b.is_negative && !y.is_empty()) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    })
}

/// Has it no fraction? A number with an exponent beyond all reason counts as none (A5).
pub(crate) fn is_integral(raw: &str) -> bool {
    Scaled::read(raw).is_some_and(|number| {
        let kept = number.digits.trim_end_matches('0');
        let zeros = i64::try_from(number.digits.len() - kept.len()).unwrap_or(0);
        kept.is_empty() || number.power.saturating_add(zeros) >= 0
    })
}

/// One text for all spellings of a number.
pub(crate) fn canonical(raw: &str) -> String {
    let Some(number) = Scaled::read(raw) else { return raw.to_owned() };
    let significant = number.digits.trim_start_matches('0');
    let kept = significant.trim_end_matches('0');
    if kept.is_empty() {
        return "0".into();
    }
    let zeros = i64::try_from(significant.len() - kept.len()).unwrap_or(0);
    let sign = if number.is_negative { "-" } else { "" };
    format!("{sign}{kept}e{}", i128::from(number.power) + i128::from(zeros))
}
