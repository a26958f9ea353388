//! Deterministic records of every input kind: for tests, benches, tables and demonstrations.
//!
//! Record i is a pure function of i, and different i have different keys, so members and non-members
//! are simply disjoint ranges.

use std::ops::Range;

use crate::error::Result;
use crate::filter::{Filter, Input, KeyKind, Negatives, Record, Value, ValueKind};
use crate::hash::{Generator, mix64};
use crate::plan::Goal;
use crate::variant::Inputs;
use crate::variant::Variant;

/// What the keys look like, where the input kind leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Eight random bytes.
    Random,
    /// The integers in order, eight little-endian bytes each.
    Sequential,
    /// The integers in order, as short text.
    Short,
    /// Words one can pronounce.
    Words,
}

/// Records held in memory.
#[derive(Clone, Debug)]
pub struct Sample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    values: Vec<OwnedValue>,
}

#[derive(Clone, Debug)]
enum OwnedValue {
    None,
    Label(Vec<u8>),
    Weight(f64),
    Count(u64),
    Bytes(Vec<u8>),
}

impl Sample {
    /// The records numbered `range` of an input kind.
    pub fn new(input: &Input, style: Style, range: Range<u64>) -> Self {
        let mut sample = Self { bytes: Vec::new(), ends: Vec::new(), values: Vec::new() };
        for i in range {
            match input.sample {
                Some(example) => sample.bytes.extend((example.key)(i)),
                None => push_key(&mut sample.bytes, input.key, style, i),
            }
            sample.ends.push(sample.bytes.len());
            sample.values.push(match input.sample.and_then(|example| example.label) {
                Some(label) => OwnedValue::Label(label(i)),
                None => value(input.value, i),
            });
        }
        sample
    }

    /// The records.
    pub fn records(&self) -> Vec<Record<'_>> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let keys = starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start..end]);
        keys.zip(&self.values).map(|(key, value)| Record::key(key).with(value.borrow())).collect()
    }
}

/// Builds a filter from records, giving it known non-members where its variant makes use of them.
///
/// Those are as many as the records and far from every range in use, so that measured rates are those
/// of non-members that the build did not know.
pub fn build(
    variant: &'static Variant,
    goal: &Goal,
    mut records: &[Record<'_>],
) -> Result<Box<dyn Filter>> {
    const FAR: u64 = 1 << 40;
    let known = match variant.input.negatives {
        Negatives::Required | Negatives::Optional => {
            Sample::new(&variant.input, Style::Short, FAR..FAR + records.len() as u64)
        }
        Negatives::No => return variant.build_from(goal, records),
    };
    let known = known.records();
    let mut known = known.as_slice();
    let built =
        variant.build(goal, &mut Inputs { records: &mut records, negatives: Some(&mut known) });
    match built {
        // Some forms of such a variant make no use of them, and say so.
        Err(_) if variant.input.negatives == Negatives::Optional => {
            variant.build_from(goal, records)
        }
        built => built,
    }
}

impl OwnedValue {
    fn borrow(&self) -> Option<Value<'_>> {
        match self {
            OwnedValue::None => None,
            OwnedValue::Label(v) => Some(Value::Label(v)),
            OwnedValue::Weight(v) => Some(Value::Weight(*v)),
            OwnedValue::Count(v) => Some(Value::Count(*v)),
            OwnedValue::Bytes(v) => Some(Value::Bytes(v)),
        }
    }
}

fn push_key(out: &mut Vec<u8>, kind: KeyKind, style: Style, i: u64) {
    match kind {
        // 256 fair coins: two such vectors are half their length apart.
        KeyKind::Vector => {
            let mut coins = Generator::new(mix64(i));
            for _ in 0..4 {
                let word = coins.next_u64();
                out.extend((0..64).map(|bit| b'0' + (word >> bit & 1) as u8));
            }
        }
        KeyKind::Integer => out.extend_from_slice(&i.to_le_bytes()),
        KeyKind::Sequence => {
            let mut bases = Generator::new(mix64(i));
            out.extend((0..64).map(|_| b"ACGT"[bases.below(4) as usize]));
        }
        KeyKind::Point => {
            let (x, y) = (i % 3600, i / 3600);
            out.extend_from_slice(
                format!("{}.{},{}.{}", x / 10, x % 10, y / 10, y % 10).as_bytes(),
            );
        }
        KeyKind::Attributes => out.extend_from_slice(format!("{}\t{}", i % 97, i).as_bytes()),
        KeyKind::Range => out.extend_from_slice(format!("{}..{}", 10 * i, 10 * i + 10).as_bytes()),
        KeyKind::Bytes => match style {
            // mix64 is a bijection, so different i stay different.
            Style::Random => out.extend_from_slice(&mix64(i).to_le_bytes()),
            Style::Sequential => out.extend_from_slice(&i.to_le_bytes()),
            Style::Short => out.extend_from_slice(i.to_string().as_bytes()),
            Style::Words => push_word(out, i),
        },
    }
}

/// The number i written in syllables; a bijective numeration, so no two are alike.
fn push_word(out: &mut Vec<u8>, i: u64) {
    const ONSETS: [&str; 16] =
        ["b", "br", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "tr", "v", "z"];
    const VOWELS: [&str; 6] = ["a", "e", "i", "o", "u", "ai"];
    let mut rest = i + 1;
    while rest > 0 {
        rest -= 1;
        let syllable = rest % 96;
        out.extend_from_slice(ONSETS[(syllable % 16) as usize].as_bytes());
        out.extend_from_slice(VOWELS[(syllable / 16) as usize].as_bytes());
        rest /= 96;
    }
}

fn value(kind: ValueKind, i: u64) -> OwnedValue {
    let r = mix64(i ^ 0xABCD);
    match kind {
        ValueKind::None => OwnedValue::None,
        ValueKind::Label => OwnedValue::Label((r % 16).to_string().into_bytes()),
        ValueKind::Weight => OwnedValue::Weight((r % 1000) as f64 / 1000.0),
        ValueKind::Count => OwnedValue::Count(1 + r % 8),
        ValueKind::Bytes => OwnedValue::Bytes((r % 100_000).to_string().into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn samples_of_a_variant_of_its_own_are_distinct_keys() {
        let own = crate::catalog::VARIANTS.iter().filter(|v| v.input.sample.is_some());
        for variant in own {
            let sample = Sample::new(&variant.input, Style::Short, 0..20_000);
            let keys: HashSet<_> = sample.records().iter().map(|r| r.key.to_vec()).collect();
            assert_eq!(keys.len(), 20_000, "{}", variant.slug);
        }
    }

    #[test]
    fn every_kind_and_style_gives_distinct_keys() {
        let kinds = [
            KeyKind::Bytes,
            KeyKind::Integer,
            KeyKind::Vector,
            KeyKind::Sequence,
            KeyKind::Point,
            KeyKind::Attributes,
            KeyKind::Range,
        ];
        for key in kinds {
            for style in [Style::Random, Style::Sequential, Style::Short, Style::Words] {
                let input = Input::of(key);
                let sample = Sample::new(&input, style, 0..20_000);
                let keys: HashSet<_> = sample.records().iter().map(|r| r.key.to_vec()).collect();
                assert_eq!(keys.len(), 20_000, "{key:?} {style:?}");
            }
        }
    }
}
