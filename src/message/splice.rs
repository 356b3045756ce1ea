//! A text of which large parts stay where they are: in the line they came in on (A6).
//!
//! ```text
//!   {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[...8 MiB...],"_meta":...}}
//!   └───────────────────── own ─────────────────────────────┘└── of the line ──┘└───── own ──────┘
//! ```
//! Fresh memory costs more than copying into it, and a body of megabytes would be there twice. The
//! same goes for a large text that was made for this one, or for this one and others.

use super::value::lossy;
use super::writer::Text;
use std::borrow::Cow;
use std::fmt;
use std::iter;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

/// Parts of this size are worth being left where they are.
const LARGE: usize = 16 << 10;

/// One piece of a finished line.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// Bytes of its own.
    Own(Vec<u8>),
    /// Bytes of a line that others may use as well.
    Shared(Arc<String>, Range<usize>),
    /// Bytes that were made for several lines.
    Made(Arc<Vec<u8>>, Range<usize>),
}

impl Part {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Part::Own(bytes) => bytes,
            Part::Shared(line, range) => line.as_bytes().get(range.clone()).unwrap_or_default(),
            Part::Made(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }

    /// Gives large bytes of its own into common use: what is cloned from it then is not there twice.
    fn share(&mut self) {
        if let Part::Own(bytes) = self
            && bytes.len() >= LARGE
        {
            let whole = 0..bytes.len();
            *self = Part::Made(Arc::new(mem::take(bytes)), whole);
        }
    }

    /// What is left of it behind its first bytes.
    fn skip(&self, count: usize) -> Self {
        let later = |range: &Range<usize>| (range.start + count).min(range.end)..range.end;
        match self {
            Part::Own(bytes) => Part::Own(bytes.get(count..).unwrap_or_default().to_vec()),
            Part::Shared(line, range) => Part::Shared(Arc::clone(line), later(range)),
            Part::Made(bytes, range) => Part::Made(Arc::clone(bytes), later(range)),
        }
    }
}

/// A text that is part of several lines.
pub struct Common(Part);

impl Common {
    /// Takes it; a small one is copied into each of them.
    #[must_use]
    pub fn new(text: String) -> Self {
        let mut part = Part::Own(text.into_bytes());
        part.share();
        Common(part)
    }
}

/// One whole line to write, its line feed included.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    own: Vec<u8>,
    more: Vec<Part>,
    is_reply: bool,
}

impl Frame {
    /// A line with a text in it that others have as well.
    #[must_use]
    pub fn around(head: String, common: &Common, end: &str) -> Self {
        let mut frame = Frame::from(head.into_bytes());
        match &common.0 {
            Part::Own(bytes) => frame.own.extend([bytes, end.as_bytes()].concat()),
            part @ (Part::Shared(..) | Part::Made(..)) => {
                frame.more.extend([part.clone(), Part::Own(end.as_bytes().to_vec())]);
            }
        }
        frame
    }

    /// Gives its large parts into common use, for clones and what [`Frame::behind`] makes.
    #[must_use]
    pub fn shared(self) -> Self {
        let is_reply = self.is_reply;
        let parts = self.into_parts().map(|mut part| {
            part.share();
            part
        });
        Frame { own: Vec::new(), more: parts.collect(), is_reply }
    }

    /// What follows the first `start` bytes, behind another head.
    #[must_use]
    pub fn behind(&self, head: String, start: usize) -> Self {
        let mut left = start.saturating_sub(self.own.len());
        let mut frame = Frame::from(head.into_bytes());
        frame.own.extend(self.own.get(start..).unwrap_or_default());
        for part in &self.more {
            frame.more.push(part.skip(left));
            left = left.saturating_sub(part.bytes().len());
        }
        frame
    }

    /// All of it in one piece.
    #[must_use]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        if self.more.is_empty() {
            return Cow::Borrowed(&self.own);
        }
        let more = self.more.iter().map(Part::bytes);
        Cow::Owned(iter::once(&self.own[..]).chain(more).collect::<Vec<_>>().concat())
    }

    /// The text from this byte on.
    #[must_use]
    pub fn text_from(&self, start: usize) -> String {
        let mut bytes = self.bytes().into_owned();
        bytes.drain(..start.min(bytes.len()));
        String::from_utf8(bytes).unwrap_or_else(lossy)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len() + self.more.iter().map(|part| part.bytes().len()).sum::<usize>()
    }

    /// Bytes that are not freed as long as it is there.
    #[must_use]
    pub fn weight(&self) -> usize {
        let mut last = None;
        let parts = self.more.iter().map(|part| match part {
            Part::Own(bytes) => bytes.len(),
            // Several parts of one line keep it once.
            Part::Shared(line, _) if last.replace(Arc::as_ptr(line)) == Some(Arc::as_ptr(line)) => {
                0
            }
            Part::Shared(line, _) => line.len(),
            Part::Made(bytes, _) => bytes.len(),
        });
        self.own.len() + parts.sum::<usize>()
    }

    /// Never; a line has its line feed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same, made because the other side asked: whoever asks and does not read makes it wait.
    #[must_use]
    pub fn as_reply(self) -> Self {
        Frame { is_reply: true, ..self }
    }

    /// Was it made because the other side asked?
    #[must_use]
    pub fn is_reply(&self) -> bool {
        self.is_reply
    }

    /// Its pieces in their order.
    pub fn into_parts(self) -> impl Iterator<Item = Part> {
        iter::once(Part::Own(self.own)).chain(self.more)
    }
}

impl From<Vec<u8>> for Frame {
    fn from(own: Vec<u8>) -> Self {
        Frame { own, more: Vec::new(), is_reply: false }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({})", String::from_utf8_lossy(&self.bytes()).trim_end())
    }
}

/// A large part that belongs at a place of the text.
struct Cut {
    at: usize,
    part: Part,
}

/// A text on its way.
pub struct Spliced<'s> {
    text: String,
    cuts: Vec<Cut>,
    /// Bytes that were left in the source.
    shared: usize,
    source: &'s Arc<String>,
}

impl<'s> Spliced<'s> {
    /// An empty text with room for small parts; large ones that are found in `source` stay there.
    #[must_use]
    pub fn over(source: &'s Arc<String>) -> Self {
        let text = String::with_capacity(source.len().min(LARGE) + 256);
        Spliced { text, cuts: Vec::new(), shared: 0, source }
    }

    /// Where in the source a text stands, if it does.
    fn find(&self, text: &str) -> Option<Range<usize>> {
        let start = text.as_ptr().addr().checked_sub(self.source.as_ptr().addr())?;
        let end = start.checked_add(text.len())?;
        (end <= self.source.len()).then_some(start..end)
    }

    /// Bytes so far, where nothing large was written.
    #[must_use]
    pub fn own_len(&self) -> usize {
        self.text.len()
    }

    /// The finished line. A source of which little is used is not kept for it.
    #[must_use]
    pub fn finish(self) -> Frame {
        if self.cuts.is_empty() {
            return Frame::from(self.text.into_bytes());
        }
        let text = self.text.as_bytes();
        let own = |range: Range<usize>| text.get(range).unwrap_or_default().to_vec();
        let mut frame = Frame::from(own(0..self.cuts.first().map_or(0, |cut| cut.at)));
        let mut ends = self.cuts.iter().skip(1).map(|cut| cut.at).collect::<Vec<_>>().into_iter();
        for cut in self.cuts {
            frame.more.push(cut.part);
            frame.more.push(Part::Own(own(cut.at..ends.next().unwrap_or(text.len()))));
        }
        if self.shared > 0 && self.shared < self.source.len() / 2 {
            return Frame::from(frame.bytes().into_owned());
        }
        frame
    }
}

impl Text for Spliced<'_> {
    fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn push_str(&mut self, text: &str) {
        let found = if text.len() < LARGE { None } else { self.find(text) };
        match found {
            Some(part) => {
                self.shared += part.len();
                let part = Part::Shared(Arc::clone(self.source), part);
                self.cuts.push(Cut { at: self.text.len(), part });
            }
            None => self.text.push_str(text),
        }
    }

    fn push_cow(&mut self, text: Cow<'_, str>) {
        match text {
            Cow::Owned(made) if made.len() >= LARGE => {
                let whole = 0..made.len();
                let part = Part::Shared(Arc::new(made), whole);
                self.cuts.push(Cut { at: self.text.len(), part });
            }
            Cow::Owned(_) | Cow::Borrowed(_) => self.push_str(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(frame: &Frame) -> String {
        String::from_utf8(frame.bytes().into_owned()).unwrap()
    }

    fn shared(frame: &Frame) -> usize {
        frame.more.iter().filter(|part| matches!(part, Part::Shared(..))).count()
    }

    #[test]
    fn large_parts_stay_where_they_are() {
        let source = Arc::new(format!("[{},{}]", "a".repeat(LARGE), "b".repeat(LARGE)));
        let mut out = Spliced::over(&source);
        out.push_str("head ");
        out.push('<');
        out.push_str(&source[1..=LARGE]);
        out.push_str("><");
        out.push_str(&source[LARGE + 2..2 * LARGE + 2]);
        out.push('>');
        let text = format!("<{}><{}>", "a".repeat(LARGE), "b".repeat(LARGE));
        let frame = out.finish();
        assert_eq!((frame.more.len(), shared(&frame)), (4, 2));
        assert_eq!(whole(&frame), format!("head {text}"));
        assert_eq!(frame.len(), text.len() + 5);
    }

    #[test]
    fn what_others_have_as_well_is_there_once() {
        let large = "a".repeat(LARGE);
        let source = Arc::new(large.clone());
        let mut out = Spliced::over(&source);
        out.push_str("one ");
        out.push_str(&source);
        for frame in [out.finish(), Frame::from(format!("one {large}").into_bytes())] {
            let frame = frame.shared();
            let other = frame.behind("another ".into(), 4);
            let own = |part: &Part| matches!(part, Part::Own(bytes) if bytes.len() >= LARGE);
            assert!(!frame.more.iter().chain(&other.more).any(own));
            assert_eq!(
                (whole(&frame), whole(&other)),
                (format!("one {large}"), format!("another {large}"))
            );
        }
        for common in ["small", &large] {
            let made = Frame::around("<".into(), &Common::new(common.into()), ">");
            assert_eq!(whole(&made), format!("<{common}>"));
            assert_eq!(made.own.len(), if common.len() < LARGE { 7 } else { 1 });
        }
    }

    #[test]
    fn small_ones_and_those_of_others_are_copied() {
        let source = Arc::new("a".repeat(LARGE));
        let other = "b".repeat(LARGE);
        let mut out = Spliced::over(&source);
        out.push_str(&source[1..]);
        out.push_str(&other);
        let frame = out.finish();
        assert_eq!(shared(&frame), 0);
        assert_eq!(whole(&frame), format!("{}{other}", &source[1..]));
    }

    #[test]
    fn a_line_is_not_kept_for_little() {
        let source = Arc::new("a".repeat(3 * LARGE));
        let mut out = Spliced::over(&source);
        out.push_str(&source[..LARGE]);
        assert_eq!(shared(&out.finish()), 0);
    }
}
