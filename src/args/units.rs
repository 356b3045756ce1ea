//! Numbers with units: `16MiB`, `500ms`, `2m`.

use std::ffi::OsStr;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Millis,
    Count,
}

/// Sizes up to 1 TiB, times up to 34 years, so that sums of a few never overflow.
const MOST: u64 = 1 << 40;
const MOST_COUNT: u64 = 1_000_000;

/// Largest first, the way they are shown.
const BYTES: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];
const MILLIS: &[(&str, u64)] = &[("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Unit {
    /// How `--help` calls the value.
    pub(super) const fn value_name(self) -> &'static str {
        match self {
            Unit::Bytes => "SIZE",
            Unit::Millis => "TIME",
            Unit::Count => "N",
        }
    }

    const fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Unit::Bytes => BYTES,
            Unit::Millis => MILLIS,
            Unit::Count => &[],
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Unit::Bytes => "a size such as 65536, 64KiB or 16MiB",
            Unit::Millis => "a time such as 500 (milliseconds), 500ms, 30s or 2m",
            Unit::Count => "a whole number",
        }
    }

    /// Reads a number of at least `least`. The error says what was expected.
    pub(super) fn parse(self, word: &OsStr, least: u64) -> Result<u64, String> {
        let wrong = || format!("expected {}, got '{}'", self.expected(), word.display());
        let text = word.to_str().ok_or_else(wrong)?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, suffix) = text.split_at(digits);
        let known = self.suffixes().iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix));
        let factor = match known {
            _ if digits.is_empty() => return Err(wrong()),
            _ if suffix.is_empty() => 1,
            Some((_, factor)) => *factor,
            None => return Err(wrong()),
        };
        let most = if self == Unit::Count { MOST_COUNT } else { MOST };
        // More digits than fit mean the same as too many.
        let value = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        match value.filter(|value| *value <= most) {
            None => Err(format!("'{text}' is too large, the most is {}", self.show(most))),
            Some(value) if value < least => Err(format!("expected at least {least}, got '{text}'")),
            Some(value) => Ok(value),
        }
    }

    /// The shortest way to write it without a fraction.
    pub(super) fn show(self, value: u64) -> String {
        let fits = |(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(*factor);
        match self.suffixes().iter().find(fits) {
            Some((name, factor)) => format!("{}{name}", value / factor),
            None => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        for (unit, word, expected) in [
            (Unit::Bytes, "1", Some(1)),
            (Unit::Bytes, "16MiB", Some(16 << 20)),
            (Unit::Bytes, "64kib", Some(65536)),
            (Unit::Bytes, "1GiB", Some(1 << 30)),
            (Unit::Bytes, "2MB", Some(2_000_000)),
            (Unit::Bytes, "3kb", Some(3000)),
            (Unit::Bytes, "7b", Some(7)),
            (Unit::Bytes, "1024GiB", Some(1 << 40)),
            (Unit::Bytes, "1025GiB", None),
            (Unit::Bytes, "18446744073709551615", None),
            (Unit::Bytes, "99999999999999999999999", None),
            (Unit::Bytes, "18446744073709551615GiB", None),
            (Unit::Bytes, "0", None),
            (Unit::Bytes, "0MiB", None),
            (Unit::Bytes, "-1", None),
            (Unit::Bytes, "+1", None),
            (Unit::Bytes, "1.5MiB", None),
            (Unit::Bytes, "1 MiB", None),
            (Unit::Bytes, "1M", None),
            (Unit::Bytes, "MiB", None),
            (Unit::Bytes, "", None),
            (Unit::Bytes, "1s", None),
            (Unit::Bytes, "٣", None),
            (Unit::Millis, "1500", Some(1500)),
            (Unit::Millis, "500ms", Some(500)),
            (Unit::Millis, "30s", Some(30_000)),
            (Unit::Millis, "2m", Some(120_000)),
            (Unit::Millis, "1h", Some(3_600_000)),
            (Unit::Millis, "1MiB", None),
            (Unit::Count, "32", Some(32)),
            (Unit::Count, "32s", None),
            (Unit::Count, "1000001", None),
        ] {
            assert_eq!(unit.parse(OsStr::new(word), 1).ok(), expected, "{word}");
        }
        assert_eq!(Unit::Millis.parse(OsStr::new("0"), 0), Ok(0));
    }

    #[test]
    fn shown_as_one_would_type_it() {
        for (unit, value, expected) in [
            (Unit::Bytes, 16 << 20, "16MiB"),
            (Unit::Bytes, 1 << 40, "1024GiB"),
            (Unit::Bytes, 1001, "1001B"),
            (Unit::Millis, 0, "0"),
            (Unit::Millis, 1500, "1500ms"),
            (Unit::Millis, 300_000, "5m"),
            (Unit::Millis, 3_600_000, "1h"),
            (Unit::Count, 32, "32"),
        ] {
            assert_eq!(unit.show(value), expected);
        }
    }
}
