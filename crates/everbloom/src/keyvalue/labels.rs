//! Labels as values: numbers where they are numbers, else places in a dictionary.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::parts::labels::{MAX_LABEL_BYTES, number};

/// Reads labels as numbers as long as all of them are, in their one canonical spelling; from the first
/// that is not, all are numbered in a dictionary.
#[derive(Default)]
pub(super) struct Labels {
    numbered: Option<BTreeMap<Vec<u8>, u64>>,
    bytes: usize,
}

impl Labels {
    /// The value of a label, after those that gave the values `so_far`.
    pub(super) fn value<'a>(
        &mut self,
        label: &[u8],
        so_far: impl Iterator<Item = &'a mut u64>,
    ) -> Result<u64> {
        if self.numbered.is_none() {
            if let Some(number) = number(label) {
                return Ok(number);
            }
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
                 keep long values elsewhere, and their numbers here"
            )));
        }
        let value = numbered.len() as u64;
        numbered.insert(label.to_vec(), value);
        Ok(value)
    }

    /// The labels in order, if they are not numbers; `values` become places among them.
    pub(super) fn sorted<'a>(
        self,
        values: impl Iterator<Item = &'a mut u64>,
    ) -> Option<Vec<Vec<u8>>> {
        let numbered = self.numbered?;
        let mut place = vec![0; numbered.len()];
        for (rank, &value) in (0..).zip(numbered.values()) {
            place[value as usize] = rank;
        }
        values.for_each(|value| *value = place[*value as usize]);
        Some(numbered.into_keys().collect())
    }
}
