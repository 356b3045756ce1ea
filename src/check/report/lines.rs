//! Words on lines: plain ASCII, broken where there is no more room, quoted for a shell.

/// What we call ourselves.
pub(super) const PROGRAM: &str = "mcp-uplift";

/// A space at which no line ends. Texts of servers have none: `clean` makes it a plain one.
pub(super) const HOLD: char = '\u{a0}';

/// `push_str` that stays a call. A report is made of hundreds of them, and time is no matter here:
/// each one would take three times as much room where it stands.
pub(super) trait Append {
    /// Adds `text` to the end.
    fn append(&mut self, text: &str);
}

impl Append for String {
    #[inline(never)]
    fn append(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// A text on one line that every terminal can show: everything else is spelled as in JSON.
#[must_use]
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else if matches!(c, '\n' | '\r' | '\t' | HOLD) {
            out.append(" ");
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.append("\\u");
                for shift in [12, 8, 4, 0] {
                    out.extend(char::from_digit(u32::from(*unit) >> shift & 15, 16));
                }
            }
        }
    }
    out
}

/// Cuts a text between its words into lines of `room` columns. Only a URL may be longer; it stands
/// alone.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut gap = 0;
    for word in text.split([' ', '\n', '\r', '\t']) {
        // Of several spaces in a row all count, but none at the end of a line.
        if !word.is_empty() {
            add_word(&mut lines, &mut line, gap, &ascii(word), room);
            gap = 0;
        }
        gap += 1;
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Adds a word to the line, or ends that first.
pub(super) fn add_word(
    lines: &mut Vec<String>,
    line: &mut String,
    gap: usize,
    word: &str,
    room: usize,
) {
    let is_url = is_url(word);
    let fits = line.len() + gap + word.len() <= room;
    // No line would hold a long word, so it begins on this one.
    let is_long = word.len() > room && line.len() + gap < room;
    if !line.is_empty() {
        if is_url || !(fits || is_long) {
            lines.push(std::mem::take(line));
        } else {
            push_spaces(line, gap);
        }
    }
    if is_url {
        lines.push(String::from(word));
        return;
    }
    for c in word.chars() {
        if line.len() >= room {
            lines.push(std::mem::take(line));
        }
        line.push(c);
    }
}

/// A command as it is typed into a shell.
pub(super) fn command(words: &[String]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.append(" ");
        }
        text.append(&shell_word(word));
    }
    text
}

/// One word for a shell, quoted if it has to be.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    let mut text = String::new();
    if !word.is_empty() && word.bytes().all(is_plain) {
        text.append(word);
    } else if word.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'') {
        text.append("'");
        text.append(word);
        text.append("'");
    } else {
        push_escaped_word(&mut text, 0, word, usize::MAX);
    }
    text
}

/// Appends a word as `$'...'`, in pieces that a shell puts together again, none of which goes
/// beyond `width`; gives the column at the end.
pub(super) fn push_escaped_word(
    text: &mut String,
    column: usize,
    word: &str,
    width: usize,
) -> usize {
    let mut column = column + 2;
    text.append("$'");
    for byte in word.bytes() {
        let length = match byte {
            b'\'' | b'\\' => 2,
            b' '..=b'~' => 1,
            _ => 4,
        };
        // A quote and a backslash follow the last byte of a piece.
        if column + length + 2 > width {
            text.append("'\\\n$'");
            column = 2;
        }
        column += length;
        if length == 4 {
            text.append("\\");
            for shift in [6, 3, 0] {
                text.push(char::from(b'0' + (byte >> shift & 7)));
            }
        } else {
            if length == 2 {
                text.append("\\");
            }
            text.push(char::from(byte));
        }
    }
    text.append("'");
    column + 1
}

/// Appends the command that wraps this one, in lines that a shell takes as they are; the first
/// one begins at the column of the others.
pub(super) fn push_command_lines(text: &mut String, words: &[String], width: usize) {
    const INDENT: usize = 12;
    text.append(PROGRAM);
    text.append(" --");
    let mut column = INDENT + PROGRAM.len() + 3;
    for raw in words {
        let word = shell_word(raw);
        // A space and a backslash may have to follow.
        if column + word.len() + 3 > width {
            text.append(" \\\n");
            push_spaces(text, INDENT);
            column = INDENT;
        } else {
            text.append(" ");
            column += 1;
        }
        if column + word.len() + 2 > width {
            column = push_escaped_word(text, column, raw, width);
        } else {
            text.append(&word);
            column += word.len();
        }
    }
    text.append("\n");
}

pub(super) fn push_spaces(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

/// Does a line of its own belong to this?
pub(super) fn is_url(text: &str) -> bool {
    text.starts_with("https://")
}
