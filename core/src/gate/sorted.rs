/// A map in one run of memory, sorted by its keys.
///
/// What the gate keeps while it waits is little, and comes nearly in the order of its keys. A tree would be faster from some
/// thousands on, and takes ten times the code, which counts in a module that browsers download (W11).
#[derive(Debug)]
pub(super) struct Sorted<K, V>(Vec<(K, V)>);

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord, V> Sorted<K, V> {
    fn find(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |&(one, _)| one)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        self.find(key).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Puts `value` in; what was there under this key is gone.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.find(key) {
            Ok(at) => {
                if let Some(place) = self.0.get_mut(at) {
                    *place = (key, value);
                }
            }
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    pub(super) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    pub(super) fn first(&self) -> Option<&(K, V)> {
        self.0.first()
    }

    pub(super) fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}
