//! Tables of fingerprints, from which keys are removed again.

use std::hash::{BuildHasher, Hasher};

use everbloom::fingerprints::{CountingQuotient, Cuckoo, Quotient};
use everbloom::internals::filter::Filter;

use super::{Of, Rival, Subject, fold, in_batches};

/// Cuckoo filters, ours first. Rivals have the fastest hash they take.
pub const CUCKOO: &[Rival] = &[
    Rival { name: "everbloom cuckoo", make: cuckoo },
    Rival { name: "everbloom cuckoo, batch", make: cuckoo_many },
    Rival { name: "cuckoofilter + foldhash", make: cuckoofilter },
    Rival { name: "scalable_cuckoo_filter + foldhash", make: scalable },
    Rival { name: "atomic-cuckoo-filter + foldhash", make: atomic },
    Rival { name: "autoscale_cuckoo_filter + museair", make: autoscale },
];

/// Quotient filters, ours first.
pub const QUOTIENT: &[Rival] = &[
    Rival { name: "everbloom quotient", make: quotient },
    Rival { name: "everbloom quotient, batch", make: quotient_many },
    Rival { name: "everbloom counting-quotient", make: counting_quotient },
    Rival { name: "everbloom counting-quotient, batch", make: counting_quotient_many },
    Rival { name: "qfilter", make: qfilter },
    Rival { name: "qfilter + foldhash", make: qfilter_fold },
];

/// A table that takes, is asked for and gives back key by key.
fn one_by_one<F: 'static>(
    filter: F,
    insert: impl Fn(&mut F, &u64) + 'static,
    contains: impl Fn(&F, &u64) -> bool + 'static,
    remove: impl Fn(&mut F, &u64) -> bool + 'static,
    bits: impl Fn(&F) -> u64 + 'static,
) -> Box<dyn Subject> {
    Box::new(Of {
        filter,
        fill: move |filter: &mut F, keys: &[u64]| keys.iter().for_each(|key| insert(filter, key)),
        count: move |filter: &F, keys: &[u64]| {
            keys.iter().map(|key| u64::from(contains(filter, key))).sum()
        },
        remove: Some(move |filter: &mut F, keys: &[u64]| {
            keys.iter().map(|key| u64::from(remove(filter, key))).sum()
        }),
        bits,
    })
}

/// A table of ours, key by key.
macro_rules! single {
    ($($name:ident: $type:ident),*) => {$(
        fn $name(n: u64, p: f64) -> Option<Box<dyn Subject>> {
            Some(one_by_one(
                $type::with_rate(n, p).ok()?,
                |f, key| _ = f.insert(key),
                |f, key| f.contains(key),
                |f, key| f.remove(key).is_ok(),
                |f| f.memory().cells,
            ))
        }
    )*};
}

single!(cuckoo: Cuckoo, quotient: Quotient, counting_quotient: CountingQuotient);

/// A table of ours that takes and is asked for many keys at a time.
macro_rules! many {
    ($($name:ident: $type:ident),*) => {$(
        fn $name(n: u64, p: f64) -> Option<Box<dyn Subject>> {
            Some(Box::new(Of {
                filter: $type::with_rate(n, p).ok()?,
                fill: |f: &mut $type, keys: &[u64]| _ = f.insert_many(keys),
                count: |f: &$type, keys: &[u64]| {
                    in_batches(keys, |keys, answers| f.contains_many_into(keys, answers))
                },
                remove: Some(|f: &mut $type, keys: &[u64]| {
                    keys.iter().map(|key| u64::from(f.remove(key).is_ok())).sum()
                }),
                bits: |f: &$type| f.memory().cells,
            }))
        }
    )*};
}

many!(cuckoo_many: Cuckoo, quotient_many: Quotient, counting_quotient_many: CountingQuotient);

/// foldhash for crates that make their hasher themselves.
#[derive(Clone)]
pub struct Fold(foldhash::fast::FoldHasher<'static>);

impl Default for Fold {
    fn default() -> Self {
        static STATE: std::sync::LazyLock<foldhash::fast::FixedState> =
            std::sync::LazyLock::new(fold);
        Self(STATE.build_hasher())
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u64(&mut self, word: u64) {
        self.0.write_u64(word);
    }
}

/// Eight-bit fingerprints in buckets of four: about 3 %, whatever is asked for.
fn cuckoofilter(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    if p < 0.02 {
        return None;
    }
    Some(one_by_one(
        cuckoofilter::CuckooFilter::<Fold>::with_capacity(n as usize),
        |f, key| _ = f.add(key),
        |f, key| f.contains(key),
        |f, key| f.delete(key),
        |f| 8 * f.memory_usage() as u64,
    ))
}

fn scalable(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    let builder = scalable_cuckoo_filter::ScalableCuckooFilterBuilder::new();
    let builder = builder.initial_capacity(n as usize).false_positive_probability(p);
    Some(one_by_one(
        builder.hasher(Fold::default()).finish::<u64>(),
        |f, key| f.insert(key),
        |f, key| f.contains(key),
        |f, key| f.remove(key),
        |f| f.bits(),
    ))
}

fn autoscale(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        autoscale_cuckoo_filter::CuckooFilter::<u64>::new(n as usize, p),
        |f, key| f.add(key),
        |f, key| f.contains(key),
        |f, key| f.remove(key),
        |f| f.bits(),
    ))
}

fn atomic(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    // It has 4, 8, 16 and 32 bits.
    let bits = if p > 0.02 { 8 } else { 16 };
    let builder = atomic_cuckoo_filter::CuckooFilterBuilder::<Fold>::default();
    let builder = builder.capacity(n as usize).fingerprint_size(bits);
    Some(one_by_one(
        builder.build().ok()?,
        |f, key| _ = f.insert(key),
        |f, key| f.contains(key),
        |f, key| f.remove(key),
        move |f| (f.capacity() * bits) as u64,
    ))
}

fn qfilter(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        qfilter::Filter::new(n, p).ok()?,
        |f, key| _ = f.insert_duplicated(key),
        |f, key| f.contains(key),
        |f, key| f.remove(key),
        |f| 8 * f.memory_usage() as u64,
    ))
}

fn qfilter_fold(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        qfilter::Filter::new_with_hasher(n, p, fold()).ok()?,
        |f, key| _ = f.insert_duplicated(key),
        |f, key| f.contains(key),
        |f, key| f.remove(key),
        |f| 8 * f.memory_usage() as u64,
    ))
}
