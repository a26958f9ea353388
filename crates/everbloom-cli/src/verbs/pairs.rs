//! How `everbloom add` puts a key with its value: in the place of the value that it has.

use std::collections::HashMap;

use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::{Error, Kind};

use crate::report::unable::cannot;

/// The pairs of a table that can be listed, once some key was found that its own cells do not tell.
#[derive(Default)]
pub struct Pairs {
    listed: Option<HashMap<Vec<u8>, Vec<u8>>>,
}

impl Pairs {
    /// Adds a record. A key that seems to be there gets the new value where values can be set: a second one would hide
    /// the first.
    pub fn put(&mut self, filter: &mut dyn Filter, record: Record<'_>) -> everbloom::Result<()> {
        let value = match record.value {
            Some(Value::Label(value) | Value::Bytes(value)) => Some(value),
            _ => None,
        };
        if filter.as_insert().is_none() {
            let slug = filter.facts().slug;
            let assign = filter.as_assign();
            let assign = assign.ok_or_else(|| cannot(slug, "take more keys: build it again"))?;
            let value = value
                .ok_or_else(|| Error::new(Kind::BadRecord, "no value: write key<TAB>value"))?;
            return assign.set(record.key, value);
        }
        let there = match filter.as_assign() {
            Some(_) => filter.query(Record::key(record.key))?.verdict,
            None => Verdict::Absent,
        };
        match (there, value) {
            (Verdict::Absent, _) | (_, None) => insert(filter, record)?,
            (Verdict::Undecided, Some(_)) if filter.as_list().is_some() => {
                self.replace(filter, record)?;
            }
            (_, Some(value)) => {
                filter.as_assign().map_or(Ok(()), |assign| assign.set(record.key, value))?;
            }
        }
        if let (Some(listed), Some(value)) = (&mut self.listed, value) {
            listed.insert(record.key.to_vec(), value.to_vec());
        }
        Ok(())
    }

    /// Takes the pair of a key out, if there is one, and inserts the new one.
    fn replace(&mut self, filter: &mut dyn Filter, record: Record<'_>) -> everbloom::Result<()> {
        let listed = match &mut self.listed {
            Some(listed) => listed,
            none => none.insert(pairs_of(filter)?),
        };
        if let (Some(held), Some(remove)) = (listed.get(record.key), filter.as_remove()) {
            remove.remove(Record::key(record.key).with(Value::Bytes(held)))?;
        }
        insert(filter, record)
    }
}

fn insert(filter: &mut dyn Filter, record: Record<'_>) -> everbloom::Result<()> {
    filter.as_insert().map_or(Ok(()), |insert| insert.insert(record).map(drop))
}

/// The pairs that are in a table.
fn pairs_of(filter: &dyn Filter) -> everbloom::Result<HashMap<Vec<u8>, Vec<u8>>> {
    let mut pairs = HashMap::new();
    filter.as_list().map_or(Ok(()), |list| {
        list.list(&mut |key, answer| {
            if let (Verdict::Present, Detail::Value(value)) = (answer.verdict, answer.detail) {
                pairs.insert(key.to_vec(), value);
            }
        })
    })?;
    Ok(pairs)
}
