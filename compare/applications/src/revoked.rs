//! Revoked serials (A29): a cascade beside a clubcard, and the least that any code can take.

use clubcard::builder::{ApproximateRibbon, ClubcardBuilder, ExactRibbon};
use clubcard::{ApproximateSizeOf, AsQuery, Equation, Filterable, Queryable};
use everbloom::Hasher;
use everbloom::internals::hash::Digest;
use everbloom_tools::revoked::{Revocations, Status};

use crate::medians;

/// A serial for the crate `clubcard`, all in one part.
#[derive(Clone)]
struct Serial {
    bytes: Vec<u8>,
    digest: Digest,
    revoked: bool,
}

impl AsQuery<4> for Serial {
    fn block(&self) -> &[u8] {
        &[]
    }

    fn as_query(&self, m: usize) -> Equation<4> {
        let mut a = [0, 1, 2, 3].map(|i| self.digest.word(i));
        a[0] |= 1;
        let s = (u128::from(self.digest.word(4)) * m.max(1) as u128 >> 64) as usize;
        Equation::homogeneous(s, a)
    }

    fn discriminant(&self) -> &[u8] {
        &self.bytes
    }
}

impl Filterable<4> for Serial {
    fn included(&self) -> bool {
        self.revoked
    }
}

impl Queryable<4> for Serial {
    type UniverseMetadata = ();
    type PartitionMetadata = ();

    fn in_universe(&self, _: &()) -> bool {
        true
    }
}

pub fn compare() {
    for (revoked, valid) in [(10_000u64, 1_000_000u64), (50_000, 1_000_000)] {
        let serial = |kind: &str, i: u64| format!("{kind}{i:016x}").into_bytes();
        let out: Vec<Vec<u8>> = (0..revoked).map(|i| serial("r", i)).collect();
        let fine: Vec<Vec<u8>> = (0..valid).map(|i| serial("v", i)).collect();
        println!("{revoked} serials revoked, {valid} valid");
        let mut bytes = 0;
        let [seconds] = medians(3, [&mut || bytes = ours(&out, &fine)]);
        println!("  everbloom, cascade   {bytes:8} bytes, built in {seconds:.2} s");
        let [seconds] = medians(3, [&mut || bytes = card(&out, &fine)]);
        println!("  clubcard             {bytes:8} bytes, built in {seconds:.2} s");
        println!("  no code takes fewer  {:8} bytes", least(revoked, valid));
    }
}

/// The cascade alone; a filter of the valid ones, which tells what is neither, comes on top.
fn ours(revoked: &Vec<Vec<u8>>, valid: &Vec<Vec<u8>>) -> u64 {
    let made = Revocations::cascade(revoked, valid, 0.5).expect("two sets");
    assert!(revoked.iter().all(|s| made.status(s).is_ok_and(|s| s == Status::Revoked)));
    assert!(valid.iter().all(|s| made.status(s).is_ok_and(|s| s == Status::Valid)));
    let Revocations::Cascade { layers, .. } = made else { unreachable!("a cascade was asked for") };
    layers.bits().div_ceil(8)
}

fn card(revoked: &[Vec<u8>], valid: &[Vec<u8>]) -> u64 {
    let hasher = Hasher::default();
    let serials = |list: &[Vec<u8>], revoked| -> Vec<Serial> {
        let serial = |bytes: &Vec<u8>| Serial {
            bytes: bytes.clone(),
            digest: hasher.digest(bytes.as_slice()),
            revoked,
        };
        list.iter().map(serial).collect()
    };
    let (revoked, valid) = (serials(revoked, true), serials(valid, false));
    let mut builder = ClubcardBuilder::new();
    let mut approximate = builder.new_approx_builder(&[]);
    revoked.iter().for_each(|serial| approximate.insert(serial.clone()));
    approximate.set_universe_size(revoked.len() + valid.len());
    builder.collect_approx_ribbons(vec![ApproximateRibbon::from(approximate)]);
    let mut exact = builder.new_exact_builder(&[]);
    revoked.iter().chain(&valid).for_each(|serial| exact.insert(serial.clone()));
    let exact = ExactRibbon::from(exact);
    builder.collect_exact_ribbons(vec![exact]);
    let card = builder.build::<Serial>((), ());
    assert!(revoked.iter().all(|serial| card.unchecked_contains(serial)));
    assert!(!valid.iter().any(|serial| card.unchecked_contains(serial)));
    card.approximate_size_of() as u64
}

/// lg C(r + v, r) bits, as bytes.
fn least(r: u64, v: u64) -> u64 {
    let bits: f64 = (1..=r).map(|i| ((v + i) as f64 / i as f64).log2()).sum();
    (bits / 8.0).ceil() as u64
}
