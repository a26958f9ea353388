//! What is measured: a filter of ours or of a rival behind one small face. Loops over keys are on the far
//! side of it, so that no call per key is dynamic.

mod foreign;
pub mod sketches;
pub mod tables;

use everbloom::compact::{BinaryFuse, Ribbon};
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::membership::{AtomicBlocked, BlockedBloom, Bloom, SplitBlock};

/// A filter with the keys it is built from.
pub trait Subject {
    /// Inserts the keys, or builds from them.
    fn fill(&mut self, keys: &[u64]);
    /// How many of the keys may be members.
    fn count(&self, keys: &[u64]) -> u64;
    /// Bits in use.
    fn bits(&self) -> u64;
    /// Whether it takes the same keys again without becoming another: a table of fingerprints fills up.
    fn refills(&self) -> bool {
        true
    }
    /// Removes the keys, if that can be: how many it had.
    fn remove(&mut self, _: &[u64]) -> Option<u64> {
        None
    }
}

/// A filter, and how it is filled and asked, and emptied again if that can be.
pub struct Of<F, I, C, R, B> {
    filter: F,
    fill: I,
    count: C,
    remove: Option<R>,
    bits: B,
}

impl<F, I, C, R, B> Subject for Of<F, I, C, R, B>
where
    I: Fn(&mut F, &[u64]),
    C: Fn(&F, &[u64]) -> u64,
    R: Fn(&mut F, &[u64]) -> u64,
    B: Fn(&F) -> u64,
{
    fn fill(&mut self, keys: &[u64]) {
        (self.fill)(&mut self.filter, keys);
    }

    fn count(&self, keys: &[u64]) -> u64 {
        (self.count)(&self.filter, keys)
    }

    fn bits(&self) -> u64 {
        (self.bits)(&self.filter)
    }

    fn refills(&self) -> bool {
        self.remove.is_none()
    }

    fn remove(&mut self, keys: &[u64]) -> Option<u64> {
        self.remove.as_ref().map(|remove| remove(&mut self.filter, keys))
    }
}

fn of<F: 'static>(
    filter: F,
    fill: impl Fn(&mut F, &[u64]) + 'static,
    count: impl Fn(&F, &[u64]) -> u64 + 'static,
    bits: impl Fn(&F) -> u64 + 'static,
) -> Box<dyn Subject> {
    let remove = None::<fn(&mut F, &[u64]) -> u64>;
    Box::new(Of { filter, fill, count, remove, bits })
}

/// A filter that takes and is asked key by key.
fn one_by_one<F: 'static>(
    filter: F,
    insert: impl Fn(&mut F, &u64) + 'static,
    contains: impl Fn(&F, &u64) -> bool + 'static,
    bits: impl Fn(&F) -> u64 + 'static,
) -> Box<dyn Subject> {
    of(
        filter,
        move |filter, keys| keys.iter().for_each(|key| insert(filter, key)),
        move |filter, keys| keys.iter().map(|key| u64::from(contains(filter, key))).sum(),
        bits,
    )
}

/// How many of the keys may be members, queried in batches whose answers stay in the L1 cache.
fn in_batches(keys: &[u64], contains: impl Fn(&[u64], &mut [bool])) -> u64 {
    let mut answers = [false; 4096];
    let count = |keys: &[u64]| {
        let answers = &mut answers[..keys.len()];
        contains(keys, answers);
        answers.iter().map(|found| u64::from(*found)).sum::<u64>()
    };
    keys.chunks(4096).map(count).sum()
}

/// A rival: its name, and how to make an empty one for so many keys at a rate.
#[derive(Clone, Copy)]
pub struct Rival {
    pub name: &'static str,
    pub make: fn(u64, f64) -> Option<Box<dyn Subject>>,
}

/// Everything that is compared, ours first.
pub const RIVALS: &[Rival] = &[
    Rival { name: "everbloom blocked", make: blocked },
    Rival { name: "everbloom blocked, batch", make: blocked_many },
    Rival { name: "everbloom blocked, iterator", make: blocked_iter },
    Rival { name: "everbloom blocked, concurrent", make: blocked_atomic },
    Rival { name: "everbloom bloom", make: bloom },
    Rival { name: "everbloom bloom, batch", make: bloom_many },
    Rival { name: "everbloom split-block", make: split_block },
    Rival { name: "everbloom split-block, batch", make: split_block_many },
    Rival { name: "everbloom binary-fuse", make: binary_fuse },
    Rival { name: "everbloom ribbon", make: ribbon },
    Rival { name: "Boost fast_multiblock32<8>", make: foreign::boost_apart },
    Rival { name: "Boost fast_multiblock32<8>, stride 1", make: foreign::boost_dense },
    Rival { name: "Boost classic", make: foreign::boost_classic },
    Rival { name: "Boost fast_multiblock32<8>, stride 1, native", make: foreign::boost_native },
    Rival { name: "RocksDB FastLocalBloom", make: foreign::rocksdb },
    Rival { name: "RocksDB FastLocalBloom, native", make: foreign::rocksdb_native },
    Rival { name: "fastbloom", make: fastbloom_default },
    Rival { name: "fastbloom + foldhash", make: fastbloom_fold },
    Rival { name: "fastbloom atomic + foldhash", make: fastbloom_atomic },
    Rival { name: "sbbf-rs-safe + foldhash", make: sbbf },
    Rival { name: "parquet Sbbf", make: parquet },
    Rival { name: "xorf BinaryFuse8/16", make: xorf },
    Rival { name: "ribbon-filter", make: ribbon_rival },
    Rival { name: "bloomfilter", make: bloomfilter },
];

/// The rival of that name.
pub fn rival(name: &str) -> Rival {
    *RIVALS.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no rival {name}"))
}

fn blocked(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        BlockedBloom::with_rate(n, p).ok()?,
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| f.m(),
    ))
}

fn blocked_many(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    let filter = BlockedBloom::with_rate(n, p).ok()?;
    Some(of(
        filter,
        |f, keys| f.insert_many(keys),
        |f, keys| in_batches(keys, |keys, answers| f.contains_many_into(keys, answers)),
        |f| f.m(),
    ))
}

fn blocked_iter(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(of(
        BlockedBloom::with_rate(n, p).ok()?,
        |f, keys| f.extend(keys),
        |f, keys| f.contains_iter(keys).map(u64::from).sum(),
        |f| f.m(),
    ))
}

fn blocked_atomic(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    let (filter, bits) = (BlockedBloom::with_rate(n, p).ok()?, BlockedBloom::m);
    let m = bits(&filter);
    Some(one_by_one(
        filter.into_atomic().ok()?,
        |f: &mut AtomicBlocked, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        move |_| m,
    ))
}

fn bloom(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        Bloom::with_rate(n, p).ok()?,
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| f.m(),
    ))
}

fn bloom_many(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(of(
        Bloom::with_rate(n, p).ok()?,
        |f, keys| f.insert_many(keys),
        |f, keys| in_batches(keys, |keys, answers| f.contains_many_into(keys, answers)),
        |f| f.m(),
    ))
}

fn split_block(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        SplitBlock::with_rate(n, p).ok()?,
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| 256 * f.blocks(),
    ))
}

fn split_block_many(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(of(
        SplitBlock::with_rate(n, p).ok()?,
        |f, keys| f.insert_many(keys),
        |f, keys| in_batches(keys, |keys, answers| f.contains_many_into(keys, answers)),
        |f| 256 * f.blocks(),
    ))
}

/// Fingerprint bits for a rate: xorf has 8 and 16, and we take the same.
fn fuse_bits(p: f64) -> u32 {
    if p >= 1.0 / 256.0 { 8 } else { 16 }
}

/// A hash of the kind that planned ones have, too.
fn hasher(id: HashId) -> Hasher {
    Hasher::with_id(id, 0).expect("an unkeyed hash")
}

fn binary_fuse(_: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(of(
        None,
        move |f, keys| *f = BinaryFuse::with_bits(keys, fuse_bits(p), hasher(HashId::Quick64)).ok(),
        |f, keys| {
            let Some(f) = f else { return 0 };
            keys.iter().map(|key| u64::from(f.contains(key))).sum()
        },
        |f| {
            f.as_ref()
                .map_or(0, |f: &BinaryFuse| everbloom::internals::filter::Filter::memory(f).cells)
        },
    ))
}

fn ribbon(_: u64, p: f64) -> Option<Box<dyn Subject>> {
    let r = (-p.log2()).ceil() as u32;
    Some(of(
        None,
        move |f, keys| *f = Ribbon::with_bits(keys, r, hasher(HashId::Fold64)).ok(),
        |f, keys| {
            let Some(f) = f else { return 0 };
            keys.iter().map(|key| u64::from(f.contains(key))).sum()
        },
        |f| {
            f.as_ref()
                .map_or(0, |f: &Ribbon| everbloom::internals::filter::Filter::memory(f).total())
        },
    ))
}

fn fastbloom_default(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        fastbloom::BloomFilter::with_false_pos(p).seed(&1).expected_items(n as usize),
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| f.num_bits() as u64,
    ))
}

fn fold() -> foldhash::fast::FixedState {
    foldhash::fast::FixedState::with_seed(1)
}

fn fastbloom_fold(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        fastbloom::BloomFilter::with_false_pos(p).hasher(fold()).expected_items(n as usize),
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| f.num_bits() as u64,
    ))
}

fn fastbloom_atomic(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        fastbloom::AtomicBloomFilter::with_false_pos(p).hasher(fold()).expected_items(n as usize),
        |f, key| {
            f.insert(key);
        },
        |f, key| f.contains(key),
        |f| f.num_bits() as u64,
    ))
}

/// Whole bits per key that reach the rate, by the exact formula of split blocks.
pub fn sbbf_bits(n: u64, p: f64) -> usize {
    let reaches = |c: &u64| everbloom::membership::split_block::fpr(n * c / 256 + 1, 8, 32, n) <= p;
    (6u64..64).find(reaches).unwrap_or(64) as usize
}

fn sbbf(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    use std::hash::BuildHasher;
    let (hasher, other) = (fold(), fold());
    let filter = sbbf_rs_safe::Filter::new(sbbf_bits(n, p), n as usize);
    Some(one_by_one(
        filter,
        move |f, key| {
            f.insert_hash(hasher.hash_one(key));
        },
        move |f, key| f.contains_hash(other.hash_one(key)),
        |f| 8 * f.as_bytes().len() as u64,
    ))
}

fn parquet(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    // As many bytes as ours; its own sizing takes the next power of two.
    let bytes = SplitBlock::with_rate(n, p).ok()?.blocks() as usize * 32;
    Some(one_by_one(
        parquet::bloom_filter::Sbbf::new(&vec![0; bytes]),
        |f, key| f.insert(&(*key as i64)),
        |f, key| f.check(&(*key as i64)),
        |f| 256 * f.num_blocks() as u64,
    ))
}

fn xorf(_: u64, p: f64) -> Option<Box<dyn Subject>> {
    use xorf::{BinaryFuse8, BinaryFuse16, Filter};
    enum Fuse {
        Empty,
        Eight(BinaryFuse8),
        Sixteen(BinaryFuse16),
    }
    Some(of(
        Fuse::Empty,
        move |f, keys| {
            *f = match fuse_bits(p) {
                8 => BinaryFuse8::try_from(keys).map_or(Fuse::Empty, Fuse::Eight),
                _ => BinaryFuse16::try_from(keys).map_or(Fuse::Empty, Fuse::Sixteen),
            }
        },
        |f, keys| match f {
            Fuse::Empty => 0,
            Fuse::Eight(f) => keys.iter().map(|key| u64::from(f.contains(key))).sum(),
            Fuse::Sixteen(f) => keys.iter().map(|key| u64::from(f.contains(key))).sum(),
        },
        |f| match f {
            Fuse::Empty => 0,
            Fuse::Eight(f) => 8 * f.len() as u64,
            Fuse::Sixteen(f) => 16 * f.len() as u64,
        },
    ))
}

fn ribbon_rival(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    use ribbon_filter::{Mode, Params, RibbonBuilder, RibbonFilter};
    let r = Params::r_from_fpr(p).ok()?;
    // Room enough that one seed mostly does, as its documentation advises, and a few more tries.
    let params = Params::from_expected_items(n as usize, 0.15, 64, r, Mode::Standard).ok()?;
    let params = params.with_retry_policy(16, 4).ok()?;
    Some(of(
        None,
        move |f, keys| {
            *f = RibbonBuilder::new(params, fold())
                .ok()
                .and_then(|builder| builder.build(keys).ok());
        },
        |f, keys| {
            let Some(f) = f else { return 0 };
            let mut scratch = RibbonFilter::new_scratch(f);
            keys.iter().map(|key| u64::from(f.contains_in(key, &mut scratch))).sum()
        },
        |f| {
            let params = f.as_ref().map(RibbonFilter::params);
            params.map_or(0, |params: Params| (params.m * params.r) as u64)
        },
    ))
}

fn bloomfilter(n: u64, p: f64) -> Option<Box<dyn Subject>> {
    Some(one_by_one(
        bloomfilter::Bloom::<u64>::new_for_fp_rate_with_seed(n as usize, p, &[7; 32]).ok()?,
        |f, key| f.set(key),
        |f, key| f.check(key),
        |f| f.len(),
    ))
}
