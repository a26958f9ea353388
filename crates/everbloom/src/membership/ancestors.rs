//! Ancestor checking in tries (Ju and Lim 2014; catalogue R5; S3 §IV-B).
//!
//! A filter that holds the nodes of a trie, such as prefixes, domain names or paths, knows more than one query
//! tells: a node is there only if its parent is, and its parent's parent. So a "yes" can be checked by
//! looking up the ancestors in the same filter:
//!
//! ```text
//!   insert /usr/lib/x   ─▶  /usr, /usr/lib, /usr/lib/x
//!
//!   /usr/bin/y ?  yes          /usr/bin ?  no   ─▶  no: the first yes is proved wrong
//! ```
//!
//! If the deepest ancestor that is really there lies d levels above a node, and up to a ancestors are
//! looked up, the node passes with f^min(d, a+1): every level between them has to be a false positive.
//!
//! **Use it** if the filter contains all nodes anyway, as in longest-prefix matching and name lookup: fewer errors
//! at no cost in bits. **Don't** for keys that merely look like paths: inserting all ancestors adds that many keys.
//! Nor does it help with the siblings of members, whose parents are members (d = 1).
//!
//! There are no false negatives as long as *every* ancestor was inserted, so a wrapped filter is fed by
//! [`Ancestors::insert`] or [`Nodes`], never directly. The root is not stored: it is always in.

use crate::variant::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;

/// What the parent of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// `10110` → `1011`: all but the last byte.
    Prefixes,
    /// `www.example.org` → `example.org`: all after the first dot.
    Names,
    /// `/usr/lib/x` → `/usr/lib`: all before the last slash.
    Paths,
    /// `a:b:c` → `a:b`: all before the last byte of this value.
    Separated(u8),
}

impl Hierarchy {
    /// What files call it.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Hierarchy::Prefixes => "prefixes".into(),
            Hierarchy::Names => "names".into(),
            Hierarchy::Paths => "paths".into(),
            Hierarchy::Separated(byte) => format!("separated-{byte:02x}").into(),
        }
    }

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Self> {
        let separated = (0..=u8::MAX).map(Hierarchy::Separated);
        let mut all =
            [Hierarchy::Prefixes, Hierarchy::Names, Hierarchy::Paths].into_iter().chain(separated);
        all.find(|one| one.name() == name)
    }

    /// The one in which this byte separates a node from its parent: in names of domains what stands behind the dot,
    /// else what stands before the byte. Without one every prefix is a node.
    pub fn by(separator: Option<u8>) -> Self {
        match separator {
            None => Hierarchy::Prefixes,
            Some(b'.') => Hierarchy::Names,
            Some(b'/') => Hierarchy::Paths,
            Some(byte) => Hierarchy::Separated(byte),
        }
    }

    /// The node above this one; none above it but the root.
    pub fn parent(self, node: &[u8]) -> Option<&[u8]> {
        let parent = match self {
            Hierarchy::Prefixes => node.split_last().map(|(_, parent)| parent),
            Hierarchy::Names => node.iter().position(|b| *b == b'.').map(|dot| &node[dot + 1..]),
            Hierarchy::Paths => before_last(node, b'/'),
            Hierarchy::Separated(byte) => before_last(node, byte),
        };
        parent.filter(|parent| !parent.is_empty())
    }

    /// The nodes above this one, parent first, without the root.
    pub fn ancestors(self, node: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::successors(self.parent(node), move |node| self.parent(node))
    }

    /// Looks up a node in a filter, and after a "yes" up to `ancestors` nodes above it, parent
    /// first. One that is absent proves the node absent; else the answer is the node's own.
    pub fn query(self, filter: &dyn Filter, record: Record<'_>, ancestors: u32) -> Result<Answer> {
        if record.key.is_empty() {
            return Ok(Answer::of(true));
        }
        let answer = filter.query(record)?;
        if answer.verdict == Verdict::Absent {
            return Ok(answer);
        }
        for key in self.ancestors(record.key).take(ancestors as usize) {
            // What stands beside a key is not said of its ancestors, which other keys may share.
            if filter.query(Record { key, value: None, ..record })?.verdict == Verdict::Absent {
                return Ok(Answer::of(false));
            }
        }
        Ok(answer)
    }
}

fn before_last(node: &[u8], byte: u8) -> Option<&[u8]> {
    node.iter().rposition(|b| *b == byte).map(|at| &node[..at])
}

/// P(a node passes) if its deepest real ancestor is `d` ≥ 1 levels above it and `a` ancestors are looked up:
/// f^min(d, a+1).
pub fn fpr(f: f64, d: u32, a: u32) -> f64 {
    libm::pow(f, f64::from(d.min(a.saturating_add(1))))
}

/// A filter of the nodes of a trie.
///
/// ```
/// use everbloom::membership::ancestors::{Ancestors, Hierarchy};
/// use everbloom::Bloom;
///
/// let mut tree = Ancestors::new(Bloom::with_rate(1000, 0.01)?, Hierarchy::Paths, 2);
/// tree.insert(b"/usr/lib/locale")?;
/// assert!(tree.contains(b"/usr/lib")?);
/// assert!(!tree.contains(b"/opt/lib")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ancestors<F> {
    filter: F,
    hierarchy: Hierarchy,
    ancestors: u32,
}

impl<F: Filter> Ancestors<F> {
    /// Wears a filter that is empty, or holds all ancestors of what it holds. Up to `ancestors` of them
    /// are looked up; 0 is the plain filter.
    pub fn new(filter: F, hierarchy: Hierarchy, ancestors: u32) -> Self {
        Self { filter, hierarchy, ancestors }
    }

    /// Whether the node may be in the trie.
    pub fn contains(&self, node: &[u8]) -> Result<bool> {
        Ok(self.query(Record::key(node))?.verdict != Verdict::Absent)
    }

    /// What the filter says of the node and its ancestors.
    pub fn query(&self, record: Record<'_>) -> Result<Answer> {
        self.hierarchy.query(&self.filter, record, self.ancestors)
    }

    /// The filter of the nodes.
    pub fn filter(&self) -> &F {
        &self.filter
    }

    /// The filter alone, for saving.
    pub fn into_filter(self) -> F {
        self.filter
    }
}

impl<F: Filter + Insert> Ancestors<F> {
    /// Inserts a key and every ancestor, from the root down: if one is refused, everything in the filter still has
    /// all its ancestors.
    pub fn insert(&mut self, key: &[u8]) -> Result<Seen> {
        let mut nodes: Vec<&[u8]> = self.hierarchy.ancestors(key).collect();
        for node in nodes.drain(..).rev() {
            self.filter.insert(Record::key(node))?;
        }
        if key.is_empty() { Ok(Seen::Maybe) } else { self.filter.insert(Record::key(key)) }
    }
}

impl<F: Filter + Insert + Remove> Ancestors<F> {
    /// Removes a key that was inserted, and with it one insertion of every ancestor, from the bottom
    /// up. Other keys keep theirs in a filter that counts, if its counters are wide enough: an ancestor
    /// of more keys than they can count stays for good. If one node cannot be removed, all stay.
    pub fn remove(&mut self, key: &[u8]) -> Result<()> {
        let above = self.hierarchy.ancestors(key);
        let line = std::iter::once(key).chain(above).filter(|node| !node.is_empty());
        let nodes: Vec<Record<'_>> = line.map(Record::key).collect();
        for (i, node) in nodes.iter().enumerate() {
            if let Err(e) = self.filter.remove(*node) {
                // What was taken away is put back: cells that a removal left alone are not changed by that.
                nodes[..i].iter().rev().try_for_each(|node| self.filter.insert(*node).map(drop))?;
                return Err(e);
            }
        }
        Ok(())
    }
}

/// The records of another source with all their ancestors, every node once, ancestors first: what a
/// filter of any variant is built from to be queried by [`Hierarchy::query`].
pub struct Nodes<'a> {
    records: &'a mut dyn Source,
    hierarchy: Hierarchy,
}

impl<'a> Nodes<'a> {
    /// The nodes of the trie of `records`.
    pub fn new(records: &'a mut dyn Source, hierarchy: Hierarchy) -> Self {
        Self { records, hierarchy }
    }

    /// How many nodes there are, to plan for.
    pub fn count(&mut self) -> Result<u64> {
        let mut count = 0;
        self.batches(&mut |batch| {
            count += batch.len() as u64;
            Ok(())
        })?;
        Ok(count)
    }
}

impl Source for Nodes<'_> {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        // Digests instead of keys: half the memory, and two nodes share one with probability 2⁻¹²⁸.
        let hasher = Hasher::default();
        let mut seen: HashSet<Digest> = HashSet::new();
        let hierarchy = self.hierarchy;
        self.records.batches(&mut |batch| {
            let mut nodes = Vec::new();
            for record in batch {
                let start = nodes.len();
                let line = std::iter::once(record.key).chain(hierarchy.ancestors(record.key));
                for (i, key) in line.filter(|key| !key.is_empty()).enumerate() {
                    let new = seen.insert(hasher.digest(key));
                    // A key that came as an ancestor before, with the weight of another, has one of its own.
                    if new || i == 0 && matches!(record.value, Some(Value::Weight(_))) {
                        nodes.push(Record { key, ..*record });
                    }
                    // Above a node that is in, all are.
                    if !new {
                        break;
                    }
                }
                nodes[start..].reverse();
            }
            f(&nodes)
        })
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 16,
    slug: "ancestors",
    entry: "R5",
    question: "Is this name, path or prefix in the set, when its ancestors are members, too?",
    name: "Ancestor checking in tries",
    paper: "H. M. Ju, H. Lim, On reducing false positives of a Bloom filter in trie-based algorithms, ANCS 2014",
    family: "membership",
    needs: &["membership", "accurate", "prefixes"],
    meaning: "a way of querying a filter that holds all nodes of a trie: items are nodes, and a node whose \
              deepest real ancestor is d levels above it passes with f^min(d, a+1)",
    ..Facts::TECHNIQUE
});
