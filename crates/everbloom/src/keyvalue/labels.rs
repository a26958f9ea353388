//! Labels as values: numbers where they are numbers, else places in a dictionary.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::parts::labels::{MAX_LABEL_BYTES, number, shown};
use crate::state::state;

/// Bits that hold `value`, at least 1.
pub(super) fn bits_of(value: u64) -> u32 {
    (u64::BITS - value.leading_zeros()).max(1)
}

/// Reads labels as numbers as long as all of them are, in their one canonical spelling; from the first
/// that is not, all are numbered in a dictionary.
#[derive(Default)]
pub(super) struct Labels {
    numbered: Option<BTreeMap<Vec<u8>, u64>>,
    bytes: usize,
}

impl Labels {
    /// The value of a label that is a number.
    pub(super) fn of_number(&mut self, number: u64) -> Result<u64> {
        if self.numbered.is_none() {
            return Ok(number);
        }
        self.intern(number.to_string().as_bytes())
    }

    /// The value of a label that is none, after those that gave the values `so_far`.
    pub(super) fn of_label<'a>(
        &mut self,
        label: &[u8],
        so_far: impl Iterator<Item = &'a mut u64>,
    ) -> Result<u64> {
        if self.numbered.is_none() {
            self.numbered = Some(BTreeMap::new());
            for value in so_far {
                *value = self.intern(value.to_string().as_bytes())?;
            }
        }
        self.intern(label)
    }

    fn intern(&mut self, label: &[u8]) -> Result<u64> {
        let numbered = self.numbered.get_or_insert_default();
        if let Some(&value) = numbered.get(label) {
            return Ok(value);
        }
        self.bytes += label.len();
        if self.bytes > MAX_LABEL_BYTES {
            return Err(Error::record(format!(
                "the labels take more than {MAX_LABEL_BYTES} bytes: \
                 store long values elsewhere, and only their numbers here"
            )));
        }
        let value = numbered.len() as u64;
        numbered.insert(label.to_vec(), value);
        Ok(value)
    }

    /// The labels in order, if they are not numbers; `values` become places among them.
    pub(super) fn sorted<'a>(self, values: impl Iterator<Item = &'a mut u64>) -> Dictionary {
        let Some(numbered) = self.numbered else { return Dictionary::default() };
        let mut place = vec![0; numbered.len()];
        for (rank, &value) in (0..).zip(numbered.values()) {
            place[value as usize] = rank;
        }
        values.for_each(|value| *value = place[*value as usize]);
        Dictionary { labels: Some(numbered.into_keys().collect()) }
    }
}

/// What values stand for: labels, if not themselves as numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dictionary {
    labels: Option<Vec<Vec<u8>>>,
}

state!(plain inline Dictionary { labels });

impl Dictionary {
    /// The number of labels; none where values are numbers.
    pub(super) fn len(&self) -> Option<u128> {
        self.labels.as_ref().map(|labels| labels.len() as u128)
    }

    /// Whether a value stands for anything.
    pub(super) fn means(&self, value: u64) -> bool {
        self.len().is_none_or(|len| u128::from(value) < len)
    }

    /// The label of a value: a number is its own label.
    pub(super) fn label(&self, value: u64) -> Option<Vec<u8>> {
        match &self.labels {
            Some(labels) => labels.get(usize::try_from(value).ok()?).cloned(),
            None => Some(value.to_string().into_bytes()),
        }
    }

    /// From now on values stand for labels.
    pub(super) fn name(&mut self) {
        self.labels.get_or_insert_default();
    }

    /// Whether a label has a number already; where values are numbers, all that are numbers have.
    pub(super) fn has(&self, label: &[u8]) -> bool {
        self.labels.as_ref().is_none_or(|labels| labels.iter().any(|known| known == label))
    }

    /// The value of a label; one that is new joins the others while its number fits `bits` bits.
    pub(super) fn number(&mut self, label: &[u8], bits: u32) -> Result<u64> {
        let Some(labels) = &mut self.labels else {
            return number(label).ok_or_else(|| {
                Error::record(format!("{} is not a number, but the other labels are", shown(label)))
            });
        };
        // Labels are classes, few enough to look through.
        if let Some(known) = labels.iter().position(|known| known == label) {
            return Ok(known as u64);
        }
        let number = labels.len() as u64;
        if bits_of(number) > bits {
            return Err(Error::record(format!(
                "{} would be label {number}, more than {bits} bits can distinguish: build with wider {{value-bits}}",
                shown(label)
            )));
        }
        let bytes: usize = labels.iter().map(Vec::len).sum();
        if bytes + label.len() > MAX_LABEL_BYTES {
            return Err(Error::record(format!(
                "the labels would take more than {MAX_LABEL_BYTES} bytes"
            )));
        }
        labels.push(label.to_vec());
        Ok(number)
    }
}
