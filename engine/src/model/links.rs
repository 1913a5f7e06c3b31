//! Hard-link groups: which paths of a tree share one inode.

use std::collections::HashMap;

use super::codec::{DecodeError, Decoder, Encoder};
use super::path::RelPath;

/// The hard-link groups of a tree, as a partition of paths: inode numbers do not survive a restore, groups do.
///
/// Every group has at least two paths; groups and paths are sorted, so that equal partitions have equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkGroups(Vec<Vec<RelPath>>);

impl LinkGroups {
    /// Groups of paths; groups of fewer than two paths are dropped.
    #[must_use]
    pub fn new(groups: impl IntoIterator<Item = Vec<RelPath>>) -> Self {
        let mut groups: Vec<_> = groups
            .into_iter()
            .filter(|g| g.len() > 1)
            .map(|mut g| {
                g.sort();
                g
            })
            .collect();
        groups.sort();
        Self(groups)
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &[Vec<RelPath>] {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For every grouped path the index of its group.
    #[must_use]
    pub fn by_path(&self) -> HashMap<&RelPath, usize> {
        self.0.iter().enumerate().flat_map(|(i, g)| g.iter().map(move |p| (p, i))).collect()
    }

    /// The bytes as stored.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::default();
        e.varint(self.0.len() as u64);
        for group in &self.0 {
            e.varint(group.len() as u64);
            for path in group {
                e.bytes(path.as_bytes());
            }
        }
        e.into_bytes()
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// [`DecodeError`] when they were not written by [`LinkGroups::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes);
        let count = d.count()?;
        let mut groups = Vec::new();
        for _ in 0..count {
            let members = d.count()?;
            let mut group = Vec::new();
            for _ in 0..members {
                group.push(RelPath::parse(d.bytes()?).map_err(|_| DecodeError::Invalid)?);
            }
            if group.len() < 2 || !group.is_sorted_by(|a, b| a < b) {
                return Err(DecodeError::Invalid);
            }
            groups.push(group);
        }
        d.end()?;
        if !groups.is_sorted() {
            return Err(DecodeError::Invalid);
        }
        Ok(Self(groups))
    }
}
