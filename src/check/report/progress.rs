//! The line that says on a terminal what is going on, while it goes on.

use super::lines::ascii;

/// Back to the first column, and away with what stands there.
pub(crate) const ERASE: &str = "\r\x1b[K";

/// Says what is being probed, in place of what was said before.
#[must_use]
pub(crate) fn line(what: &str, width: usize) -> String {
    // A full line would make some terminals go on to the next one.
    let room = width.saturating_sub(1);
    let mut text = String::from("mcp-uplift: ");
    text.push_str(&ascii(what));
    if text.len() > room {
        text.truncate(room.saturating_sub(3));
        text.push_str("...");
        text.truncate(room);
    }
    text.insert_str(0, ERASE);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_never_reaches_the_last_column() {
        for (what, width, expected) in [
            ("A ping", 80, "\r\x1b[Kmcp-uplift: A ping"),
            ("A ping", 19, "\r\x1b[Kmcp-uplift: A ping"),
            ("A ping", 18, "\r\x1b[Kmcp-uplift: A ..."),
            ("A \u{1b}é", 80, "\r\x1b[Kmcp-uplift: A \\u001b\\u00e9"),
            ("A ping", 3, "\r\x1b[K.."),
            ("A ping", 0, "\r\x1b[K"),
        ] {
            assert_eq!(line(what, width), expected, "{what} {width}");
        }
    }
}
