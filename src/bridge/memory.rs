//! The lists last seen, for requests that are stuck behind a long call (D6).
//!
//! Bounded by count and bytes; the list remembered longest ago is evicted first.

use super::event::Frame;
use crate::bounds::MOST_LISTS;
use crate::message::vocabulary::Method;
use std::collections::VecDeque;

/// A list that has waited this long for a busy lane is answered from here (D6).
pub(super) const LIST_WAITS_MS: u64 = 1000;

#[derive(Debug)]
struct Remembered {
    method: Method,
    /// JSON text of the cursor; "" for the first page.
    cursor: Box<str>,
    /// The answer as it went down, and where in it `"result":{...}` begins.
    answer: Frame,
    head: usize,
    /// Bytes that it keeps from being freed.
    weight: usize,
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    lists: VecDeque<Remembered>,
    bytes: usize,
}

impl Memory {
    /// Keeps a list, where all of them together stay within `most` bytes. What follows the first
    /// `head` bytes of its answer is the same for whoever asks.
    pub(super) fn remember(
        &mut self,
        method: Method,
        cursor: &str,
        (answer, head): (Frame, usize),
        most: usize,
    ) {
        self.drop_where(|list| list.method == method && &*list.cursor == cursor);
        let weight = answer.weight() + cursor.len();
        if weight > most {
            return;
        }
        self.bytes += weight;
        self.lists.push_back(Remembered { method, cursor: cursor.into(), answer, head, weight });
        while self.lists.len() > MOST_LISTS || self.bytes > most {
            if let Some(oldest) = self.lists.pop_front() {
                self.bytes -= oldest.weight;
            }
        }
    }

    pub(super) fn knows(&self, method: Method, cursor: &str) -> bool {
        self.find(method, cursor).is_some()
    }

    /// The answer as it went down, behind the head of another. It is not copied: many may wait for it
    /// at once.
    pub(super) fn recall(&self, method: Method, cursor: &str, head: String) -> Option<Frame> {
        self.find(method, cursor).map(|list| list.answer.behind(head, list.head))
    }

    fn find(&self, method: Method, cursor: &str) -> Option<&Remembered> {
        self.lists.iter().find(|list| list.method == method && &*list.cursor == cursor)
    }

    /// Bytes of all lists.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The server said that these lists have changed.
    pub(super) fn forget(&mut self, methods: &[Method]) {
        self.drop_where(|list| methods.contains(&list.method));
    }

    pub(super) fn clear(&mut self) {
        *self = Memory::default();
    }

    fn drop_where(&mut self, goes: impl Fn(&Remembered) -> bool) {
        let bytes = &mut self.bytes;
        self.lists.retain(|list| {
            let stays = !goes(list);
            if !stays {
                *bytes -= list.weight;
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recall(memory: &Memory, cursor: &str) -> Option<String> {
        let frame = memory.recall(Method::ToolsList, cursor, "new:".into())?;
        Some(frame.text_from(0))
    }

    /// Five bytes that differ for each asker, the outcome, and the end of a line.
    fn answer(outcome: &str) -> (Frame, usize) {
        (format!("head:{outcome}}}\n").into_bytes().into(), 5)
    }

    #[test]
    fn bounded_and_exact() {
        let mut memory = Memory::default();
        memory.remember(Method::ToolsList, "", answer("a"), 99);
        memory.remember(Method::ToolsList, "\"\"", answer("b"), 99);
        memory.remember(Method::ToolsList, "", answer("c"), 99);
        assert_eq!(recall(&memory, "").as_deref(), Some("new:c}\n"));
        assert_eq!(recall(&memory, "\"\"").as_deref(), Some("new:b}\n"));
        assert!(!memory.knows(Method::PromptsList, ""));
        memory.forget(&[Method::ToolsList]);
        assert_eq!((memory.lists.len(), memory.bytes), (0, 0));
        for n in 0..200 {
            memory.remember(Method::ToolsList, &n.to_string(), answer("x"), 9999);
        }
        assert_eq!(memory.lists.len(), MOST_LISTS);
        assert_eq!(recall(&memory, "199").as_deref(), Some("new:x}\n"));
        memory.remember(Method::ToolsList, "", answer("long"), 22);
        assert_eq!((memory.lists.len(), memory.bytes()), (2, 22));
        memory.remember(Method::ToolsList, "", answer("nearly twice as long"), 22);
        assert!(!memory.knows(Method::ToolsList, ""), "it would be all there is");
    }

    /// A cursor may be as long as a line.
    #[test]
    fn cursors_count() {
        let mut memory = Memory::default();
        for cursor in ["a", "b", "c"] {
            memory.remember(Method::ToolsList, &cursor.repeat(30), answer("x"), 99);
        }
        assert_eq!((memory.lists.len(), memory.bytes()), (2, 76));
    }
}
