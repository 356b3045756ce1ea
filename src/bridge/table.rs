//! A small sorted map: the few dozen things that are open at one time, in one order always.
//!
//! Lookups are binary searches. A tree would be faster only far above the limits of R, and costs
//! ten times the code for every type that is kept in one.
#![allow(clippy::indexing_slicing, reason = "a place is where the search just found the row")]

#[derive(Debug)]
pub(super) struct Table<K, V> {
    rows: Vec<(K, V)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Table { rows: Vec::new() }
    }
}

impl<K: Ord, V> Table<K, V> {
    fn place(&self, key: &K) -> Result<usize, usize> {
        self.rows.binary_search_by(|(known, _)| known.cmp(key))
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|at| &self.rows[at].1)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.place(key).ok().map(|at| &mut self.rows[at].1)
    }

    pub(super) fn contains_key(&self, key: &K) -> bool {
        self.place(key).is_ok()
    }

    /// Adds a row, or gives the one with this key a new value.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(at) => self.rows[at].1 = value,
            Err(at) => self.rows.insert(at, (key, value)),
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.place(key).ok().map(|at| self.rows.remove(at).1)
    }

    pub(super) fn pop_first(&mut self) -> Option<(K, V)> {
        if self.rows.is_empty() { None } else { Some(self.rows.remove(0)) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.iter().map(|(key, value)| (key, value))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.rows.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.iter().map(|(key, _)| key)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.rows.iter().map(|(_, value)| value)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.rows.iter_mut().map(|(_, value)| value)
    }

    /// Takes out the rows that do not fit, in order.
    pub(super) fn take_unless(&mut self, fits: impl Fn(&K, &V) -> bool) -> Vec<(K, V)> {
        let (kept, taken) = self.take().into_iter().partition(|(key, value)| fits(key, value));
        self.rows = kept;
        taken
    }

    /// All rows, in order; none stays.
    pub(super) fn take(&mut self) -> Vec<(K, V)> {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_in_order() {
        let mut table = Table::default();
        for key in [3, 1, 2, 1] {
            table.insert(key, key * 10);
        }
        assert_eq!(table.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(table.get(&2), Some(&20));
        assert_eq!(table.remove(&2), Some(20));
        assert_eq!(table.remove(&2), None);
        assert_eq!(table.pop_first(), Some((1, 10)));
        assert_eq!(table.take(), [(3, 30)]);
        assert!(table.is_empty());
    }
}
