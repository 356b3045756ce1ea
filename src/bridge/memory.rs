//! The lists last seen, for requests that are stuck behind a long call (D6).
//!
//! Bounded by count and bytes; the list remembered longest ago is evicted first.

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
    /// `"result":{...}` as it went down.
    outcome: String,
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    lists: VecDeque<Remembered>,
    bytes: usize,
}

impl Memory {
    /// Keeps a list, where all of them together stay within `most` bytes.
    pub(super) fn remember(&mut self, method: Method, cursor: &str, outcome: String, most: usize) {
        self.drop_where(|list| list.method == method && &*list.cursor == cursor);
        if outcome.len() > most {
            return;
        }
        self.bytes += outcome.len();
        self.lists.push_back(Remembered { method, cursor: cursor.into(), outcome });
        while self.lists.len() > MOST_LISTS || self.bytes > most {
            if let Some(oldest) = self.lists.pop_front() {
                self.bytes -= oldest.outcome.len();
            }
        }
    }

    pub(super) fn recall(&self, method: Method, cursor: &str) -> Option<&str> {
        let list = self.lists.iter().find(|l| l.method == method && &*l.cursor == cursor)?;
        Some(&list.outcome)
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
                *bytes -= list.outcome.len();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_and_exact() {
        let mut memory = Memory::default();
        memory.remember(Method::ToolsList, "", "a".into(), 99);
        memory.remember(Method::ToolsList, "\"\"", "b".into(), 99);
        memory.remember(Method::ToolsList, "", "c".into(), 99);
        assert_eq!(memory.recall(Method::ToolsList, ""), Some("c"));
        assert_eq!(memory.recall(Method::ToolsList, "\"\""), Some("b"));
        assert_eq!(memory.recall(Method::PromptsList, ""), None);
        memory.forget(&[Method::ToolsList]);
        assert_eq!((memory.lists.len(), memory.bytes), (0, 0));
        for n in 0..200 {
            memory.remember(Method::ToolsList, &n.to_string(), "x".into(), 99);
        }
        assert_eq!(memory.lists.len(), MOST_LISTS);
        assert_eq!(memory.recall(Method::ToolsList, "199"), Some("x"));
        memory.remember(Method::ToolsList, "", "long".into(), 5);
        assert_eq!((memory.lists.len(), memory.bytes()), (2, 5));
        memory.remember(Method::ToolsList, "", "longer".into(), 5);
        assert_eq!(memory.recall(Method::ToolsList, ""), None, "it would be all there is");
    }
}
