//! The groups a filter tells apart: their labels, numbered in the order they came, and what filters of groups
//! share because of them.

use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Detail, Record};
use crate::parts::labels::{MAX_LABEL_BYTES, label_of};
use crate::state::{Decoder, Encoder, State};

/// Groups that a filter may tell apart.
pub(crate) const MAX_GROUPS: u64 = 1 << 16;

/// A dictionary of labels that grows: few enough for a sorted list of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    labels: Vec<Vec<u8>>,
    /// The numbers of the labels, in the order of the labels.
    sorted: Vec<u32>,
    bytes: usize,
}

impl Groups {
    pub(crate) fn len(&self) -> u64 {
        self.labels.len() as u64
    }

    /// The labels, in order of their numbers.
    pub(crate) fn labels(&self) -> &[Vec<u8>] {
        &self.labels
    }

    fn place(&self, label: &[u8]) -> std::result::Result<usize, usize> {
        self.sorted.binary_search_by(|&i| self.labels[i as usize].as_slice().cmp(label))
    }

    /// The number of a label.
    pub(crate) fn find(&self, label: &[u8]) -> Option<u64> {
        self.place(label).ok().map(|at| self.sorted[at].into())
    }

    /// The number of a label, a new one if there is room: at most `most` groups.
    pub(crate) fn intern(&mut self, label: &[u8], most: u64) -> Result<u64> {
        let at = match self.place(label) {
            Ok(at) => return Ok(self.sorted[at].into()),
            Err(at) => at,
        };
        let bytes = self.bytes + label.len();
        if self.len() >= most.min(MAX_GROUPS) || bytes > MAX_LABEL_BYTES {
            return Err(Error::new(
                Kind::CapacityExceeded,
                format!(
                    "another group, but the filter already has {}: it distinguishes at most {}, with \
                    {MAX_LABEL_BYTES} bytes of labels; rebuild it for more",
                    self.len(),
                    most.min(MAX_GROUPS)
                ),
            ));
        }
        let number = self.labels.len() as u32;
        self.labels.push(label.to_vec());
        self.sorted.insert(at, number);
        self.bytes = bytes;
        Ok(number.into())
    }

    /// Takes a label out; those that came after it move up by one.
    pub(crate) fn remove(&mut self, label: &[u8]) -> Option<u64> {
        let at = self.place(label).ok()?;
        let number = self.sorted.remove(at);
        self.bytes -= self.labels.remove(number as usize).len();
        self.sorted.iter_mut().filter(|i| **i > number).for_each(|i| *i -= 1);
        Some(number.into())
    }

    /// The numbers of another filter's groups here, after taking in those that are new. Refused, with
    /// nothing changed, where they are too many.
    pub(crate) fn join(&mut self, other: &Groups, most: u64) -> Result<Vec<u64>> {
        let mut joined = self.clone();
        let numbers = other.labels.iter().map(|label| joined.intern(label, most)).collect();
        if Result::is_ok(&numbers) {
            *self = joined;
        }
        numbers
    }

    /// The labels of the groups that a key may be in, as `has` tells of each.
    pub(crate) fn those(&self, has: impl Fn(u64) -> bool) -> Vec<&[u8]> {
        let found = (0..).zip(&self.labels).filter(|(g, _)| has(*g));
        found.map(|(_, label)| label.as_slice()).collect()
    }

    /// The answer to a query, where `has` tells of each group whether the key may be in it.
    pub(crate) fn query(&self, record: &Record<'_>, has: impl Fn(u64) -> bool) -> Result<Answer> {
        Ok(match asked(record)? {
            Some(label) => Answer::of(self.find(label).is_some_and(has)),
            None => self.answer((0..self.len()).filter(|g| has(*g))),
        })
    }

    /// The answer that names these groups, by number.
    pub(crate) fn answer(&self, numbers: impl IntoIterator<Item = u64>) -> Answer {
        let label = |i: u64| self.labels[i as usize].clone();
        let labels: Vec<Vec<u8>> = numbers.into_iter().map(label).collect();
        Answer::of(!labels.is_empty()).with(Detail::Labels(labels))
    }
}

/// The group that a query names, if it does.
pub(crate) fn asked<'a>(record: &Record<'a>) -> Result<Option<&'a [u8]>> {
    record.value.map(|_| label_of(record)).transpose()
}

/// `labeled!(Omass);`: insertion of a key with the label beside it, by the type's own `insert(key, label)`.
macro_rules! labeled {
    ($type:ident) => {
        impl $crate::filter::Insert for $type {
            fn insert(
                &mut self,
                record: $crate::filter::Record<'_>,
            ) -> $crate::error::Result<$crate::filter::Seen> {
                $type::insert(self, record.key, $crate::parts::labels::label_of(&record)?)
            }
        }
    };
}
pub(crate) use labeled;

impl State for Groups {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.list(name, &self.labels);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let labels: Vec<Vec<u8>> = src.list(name)?;
        let mut groups = Self::default();
        for label in &labels {
            let new = groups.len();
            let number = groups.intern(label, MAX_GROUPS);
            if !number.is_ok_and(|number| number == new) {
                return Err(src.corrupt(format!("{name}: a label twice, or too many of them")));
            }
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Value;

    #[test]
    fn labels_keep_their_numbers_until_one_is_removed() {
        let mut groups = Groups::default();
        for (i, label) in (0..).zip(["pear", "apple", "", "fig"]) {
            assert_eq!(groups.intern(label.as_bytes(), 4).expect("room"), i);
        }
        assert_eq!(groups.intern(b"apple", 4).expect("known"), 1);
        let before = groups.clone();
        let error = groups.intern(b"plum", 4).expect_err("no room");
        assert_eq!((error.kind(), &groups), (Kind::CapacityExceeded, &before));
        assert_eq!(groups.remove(b"apple"), Some(1));
        let numbers = [b"pear".as_slice(), b"", b"fig", b"apple"].map(|l| groups.find(l));
        assert_eq!(numbers, [Some(0), Some(1), Some(2), None]);
        let mut other = Groups::default();
        [b"fig", b"new"].iter().for_each(|label| {
            other.intern(*label, 4).expect("room");
        });
        assert_eq!(groups.join(&other, 4).expect("room"), [2, 3]);
        assert!(groups.join(&before, 4).is_err());
        assert_eq!((groups.len(), groups.labels()[3].as_slice()), (4, b"new".as_slice()));
    }

    #[test]
    fn queries_name_one_group_or_get_all() {
        let mut groups = Groups::default();
        for label in [b"pear".as_slice(), b"apple", b"fig"] {
            groups.intern(label, 4).expect("room");
        }
        let ask = |label: Option<&'static [u8]>| {
            let record = Record::key(b"key").with(label.map(Value::Label));
            groups.query(&record, |g| g != 1).expect("a label")
        };
        let absent = [b"apple".as_slice(), b"plum"].map(|label| ask(Some(label)));
        assert_eq!(absent, [Answer::of(false), Answer::of(false)]);
        assert_eq!(ask(Some(b"fig")), Answer::of(true));
        let both = Detail::Labels(vec![b"pear".to_vec(), b"fig".to_vec()]);
        assert_eq!(ask(None), Answer::of(true).with(both));
        assert_eq!(groups.those(|g| g != 1), [b"pear".as_slice(), b"fig"]);
    }
}
