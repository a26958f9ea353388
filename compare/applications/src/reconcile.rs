//! What two sets of 100,000 numbers do not share: bytes and seconds.

use std::collections::HashSet;

use everbloom::exchange::rateless::{Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party, run};
use everbloom::internals::hash::Generator;

use crate::medians;

const KEYS: usize = 100_000;

/// A number for the crate `riblt`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Number(u64);

impl riblt::Symbol for Number {
    const BYTE_ARRAY_LENGTH: usize = 8;

    fn encode_to_bytes(&self) -> Vec<u8> {
        self.0.to_le_bytes().to_vec()
    }

    fn decode_from_bytes(bytes: &Vec<u8>) -> Self {
        Self(u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")))
    }
}

/// Eight bytes each of the sum, the hash and the count.
const RIBLT_CELL: u64 = 24;

pub fn compare() {
    for d in [10, 100, 1000] {
        let mut random = Generator::new(d as u64);
        let all: Vec<u64> = (0..KEYS + d / 2).map(|_| random.next_u64() | 1).collect();
        let (a, b) = (&all[..KEYS], &all[d / 2..]);
        println!("sets of {KEYS} numbers of 64 bits that differ in {d}");
        let mut sent = 0;
        let [seconds] = medians(3, [&mut || sent = ours(a, b, d)]);
        println!("  everbloom, session   {sent:7} bytes, {seconds:.3} s");
        let [seconds] = medians(3, [&mut || sent = rateless(a, b, d)]);
        println!("  riblt, cells alone   {sent:7} bytes, {seconds:.3} s");
        #[cfg(feature = "minisketch")]
        {
            let [seconds] = medians(3, [&mut || sent = minisketch(a, b, d)]);
            println!("  minisketch, d known  {sent:7} bytes, {seconds:.3} s");
        }
    }
}

/// A whole session: greeting, cells under grants, and the keys that are asked for.
fn ours(a: &[u64], b: &[u64], d: usize) -> u64 {
    let set = |keys: &[u64]| keys.iter().fold(Set::new(), |set, key| set.with(&key.to_le_bytes()));
    let mut seeker = Party::new(Seeker::new(set(a)), Limits::NETWORK);
    let mut holder = Party::new(Holder::new(set(b)), Limits::NETWORK);
    let traffic = run(&mut seeker, &mut holder).expect("honest parties");
    let found = seeker.role.found().expect("done");
    assert_eq!(found.ours.len() + found.theirs.len(), d);
    traffic.total()
}

/// As many cells as it takes, found by trying after every tenth more.
fn rateless(a: &[u64], b: &[u64], d: usize) -> u64 {
    let numbers = |keys: &[u64]| keys.iter().map(|key| Number(*key)).collect::<HashSet<_>>();
    let mut a = riblt::RatelessIBLT::new(numbers(a));
    let mut b = riblt::RatelessIBLT::new(numbers(b));
    let mut received = riblt::UnmanagedRatelessIBLT::new();
    let mut cells = 0;
    loop {
        for _ in 0..(cells / 10).max(1) {
            received.add_coded_symbol(&b.get_coded_symbol(cells));
            cells += 1;
        }
        let mut difference = a.collapse(&received);
        let found = difference.peel_all_symbols();
        if difference.is_empty() {
            assert_eq!(found.len(), d);
            return cells as u64 * RIBLT_CELL;
        }
    }
}

/// A sketch of exactly the capacity that is needed, which has to be known before.
#[cfg(feature = "minisketch")]
fn minisketch(a: &[u64], b: &[u64], d: usize) -> u64 {
    use minisketch_rs::Minisketch;
    let sketch = |keys: &[u64]| {
        let mut sketch = Minisketch::try_new(64, 0, d).expect("a sketch");
        keys.iter().for_each(|key| sketch.add(*key));
        sketch
    };
    let (mut ours, theirs) = (sketch(a), sketch(b));
    ours.merge(&theirs).expect("alike");
    let mut found = vec![0; d];
    assert_eq!(ours.decode(&mut found).expect("enough capacity"), d);
    theirs.serialized_size() as u64
}
