//! JSON numbers by value: exact, of any size, without floating point.
//!
//! `1`, `1.0` and `10e-1` are one number (E13), and progress has to rise (F3).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A number as its sign, its digits without outer zeros, and where the point stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    /// Empty for zero.
    digits: Box<str>,
    /// The value is 0.DIGITS times ten to the power of this.
    magnitude: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` when its exponent is beyond all reason.
    #[must_use]
    pub fn read(raw: &str) -> Option<Self> {
        if raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::from_parts(false, raw, "", 0); // most are just counts
        }
        let (mantissa, exponent) = raw.split_once(['e', 'E']).unwrap_or((raw, "0"));
        let exponent = exponent.parse().ok()?;
        let is_negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Self::from_parts(is_negative, whole, fraction, exponent)
    }

    fn from_parts(is_negative: bool, whole: &str, fraction: &str, exponent: i64) -> Option<Self> {
        let digits = match fraction {
            "" => Cow::Borrowed(whole),
            _ => Cow::Owned([whole, fraction].concat()),
        };
        let significant = digits.trim_start_matches('0');
        let leading = digits.len() - significant.len();
        let significant = significant.trim_end_matches('0');
        if significant.is_empty() {
            return Some(Decimal { is_negative: false, digits: "".into(), magnitude: 0 });
        }
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        let magnitude = exponent.checked_add(point)?;
        Some(Decimal { is_negative, digits: significant.into(), magnitude })
    }

    /// Has it no fraction?
    #[must_use]
    pub fn is_integral(&self) -> bool {
        i64::try_from(self.digits.len()).is_ok_and(|digits| digits <= self.magnitude)
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        // Digits without trailing zeros compare like the fractions that they are.
        let by_size =
            self.magnitude.cmp(&other.magnitude).then_with(|| self.digits.cmp(&other.digits));
        by_sign.then(if self.is_negative { by_size.reverse() } else { by_size })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One text for all spellings of the number.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        write!(f, "{sign}.{}e{}", self.digits, self.magnitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order() {
        let rising = [
            "-1e400",
            "-10.5",
            "-10",
            "-1",
            "-0.5",
            "-1e-9",
            "0",
            "1e-400",
            "0.05",
            "0.5",
            "0.51",
            "1",
            "1.5",
            "2",
            "9",
            "10",
            "10.01",
            "11",
            "99",
            "100",
            "123456789012345678901",
            "123456789012345678902",
            "1e400",
        ];
        for (at, a) in rising.iter().enumerate() {
            for (other, b) in rising.iter().enumerate() {
                let (a, b) = (Decimal::read(a).unwrap(), Decimal::read(b).unwrap());
                assert_eq!(a.cmp(&b), at.cmp(&other), "{a} {b}");
            }
        }
    }

    #[test]
    fn spellings() {
        for (a, b) in
            [("1", "1.0"), ("-0", "0.00"), ("100", "1E+2"), ("0.5", "5e-1"), ("-12.50", "-125e-1")]
        {
            assert_eq!(Decimal::read(a), Decimal::read(b), "{a} {b}");
        }
        assert_eq!(Decimal::read("1e99999999999999999999"), None);
    }
}
