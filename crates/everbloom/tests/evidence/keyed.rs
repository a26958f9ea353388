//! §46: keyed hashing against pollution and all-one attacks. The attack is code here: it succeeds against the
//! default hash, as the formulas say, and fails against a key.

use everbloom::internals::probe::Probe;
use everbloom::internals::theory::{bloom as theory, generalized::Hashes};
use everbloom::prelude::Face as _;
use everbloom::secure::keyed::{
    VARIANT, aimed_fill, aimed_fpr, keys_to_saturate, most_fill, trials_per_aimed_key,
};
use everbloom::{Bloom, EntryKind, Flat, Hasher, Kind, Limits, Opener, SecretKey, to_bytes};

const FLAT: Flat = Flat { m: 100_000, k: 7 };

fn keyed(byte: u8) -> Hasher {
    Hasher::keyed(SecretKey::new([byte; 16]))
}

fn empty(hasher: &Hasher) -> Bloom {
    Bloom::with_shape(FLAT.m, FLAT.k, hasher.clone()).expect("a filter")
}

/// The attacker: knows the hash, looks for keys whose k cells are all zero, until `n` are found. Returns them, and
/// how many keys were tried.
fn aimed_keys(n: usize, hasher: &Hasher) -> (Vec<u64>, u64) {
    let hasher = empty(hasher).head().hasher.clone();
    let (probe, mut taken) = (Probe::over(FLAT.m, FLAT.k), vec![false; FLAT.m as usize]);
    let (mut keys, mut tried) = (Vec::new(), 0);
    while keys.len() < n {
        let mut cells = Vec::new();
        probe.each(hasher.digest(&tried), |cell| cells.push(cell as usize));
        cells.sort_unstable();
        cells.dedup();
        if cells.len() == FLAT.k as usize && cells.iter().all(|cell| !taken[*cell]) {
            cells.iter().for_each(|cell| taken[*cell] = true);
            keys.push(tried);
        }
        tried += 1;
    }
    (keys, tried)
}

fn filled(hasher: &Hasher, keys: &[u64]) -> Bloom {
    let mut filter = empty(hasher);
    filter.insert_many(keys);
    filter
}

/// Share of keys that nobody inserted that pass.
fn measured(filter: &Bloom) -> f64 {
    const QUERIES: u64 = 100_000;
    let passed = (0..QUERIES).filter(|i| filter.contains(&(i + (1 << 40)))).count();
    passed as f64 / QUERIES as f64
}

#[test]
fn s46_formulas_of_pollution() {
    let at = |k: u32| Flat { m: (10_000.0 * f64::from(k) / core::f64::consts::LN_2) as u64, k };
    for (k, aimed, honest, times) in [(7, 0.0769, 0.0078, 9.84), (10, 0.0256, 0.00098, 26.2)] {
        let flat = at(k);
        assert!((aimed_fpr(flat, 10_000) - aimed).abs() < 5e-5, "k = {k}");
        let usual = theory::fpr_asymptotic(flat.m as f64, 10_000.0, k.into());
        assert!((usual - honest).abs() < 5e-5, "k = {k}");
        assert!((aimed_fpr(flat, 10_000) / usual - times).abs() < 0.05, "k = {k}");
    }
    let trials = trials_per_aimed_key(core::f64::consts::LN_2, 7);
    assert!((trials - 3900.0).abs() < 50.0, "{trials}");
    assert_eq!(keys_to_saturate(Flat { m: 700, k: 7 }), 100);
    assert_eq!(aimed_fill(Flat { m: 700, k: 7 }, 200), 1.0);
}

#[test]
fn s46_the_attack_succeeds_without_a_key_and_fails_against_one() {
    // nk/m = 0.5.
    let n = 7142;
    let (keys, tried) = aimed_keys(n, &Hasher::default());
    let expected: f64 = (0..n as u64).map(|i| trials_per_aimed_key(aimed_fill(FLAT, i), 7)).sum();
    assert!((tried as f64 / expected - 1.0).abs() < 0.1, "{tried} tried, {expected} expected");
    let polluted = filled(&Hasher::default(), &keys);
    assert!((polluted.bits().fill() - aimed_fill(FLAT, n as u64)).abs() < 1e-9);
    let rate = measured(&polluted);
    assert!((rate / aimed_fpr(FLAT, n as u64) - 1.0).abs() < 0.15, "{rate}");
    let (m, k) = (FLAT.m as f64, f64::from(FLAT.k));
    let honest_fill = theory::fill(m, n as f64 * k);
    let honest_rate = theory::fpr_classic(m, n as f64, k);
    assert!(rate > 4.0 * honest_rate, "{rate} instead of {honest_rate}");
    // The same keys in a filter whose key the attacker does not have are keys like any others.
    let guarded = filled(&keyed(1), &keys);
    assert!((guarded.bits().fill() - honest_fill).abs() <= 0.01);
    let rate = measured(&guarded);
    assert!((rate / honest_rate - 1.0).abs() < 0.35, "{rate} for {honest_rate}");
}

#[test]
fn s46_keys_aimed_at_one_key_are_ordinary_under_another() {
    // The attacker stole key A: as full as can be there, and 1 − e^{−nk/m} under B.
    let n = 8183;
    let (keys, _) = aimed_keys(n, &keyed(0xA));
    let load = aimed_fill(FLAT, n as u64);
    assert!((load - 0.5728).abs() < 1e-4);
    assert!((filled(&keyed(0xA), &keys).bits().fill() - load).abs() < 1e-9);
    let other = filled(&keyed(0xB), &keys).bits().fill();
    assert!((1.0 - (-load).exp() - 0.4361).abs() < 1e-4);
    assert!((other - 0.4361).abs() <= 0.01, "{other}");
}

#[test]
fn s46_a_false_positive_passes_again_until_the_key_changes() {
    let keys: Vec<u64> = (0..10_000).collect();
    let (filter, rebuilt) = (filled(&keyed(1), &keys), filled(&keyed(2), &keys));
    let found: Vec<u64> = (1 << 40..(1 << 40) + 50_000).filter(|i| filter.contains(i)).collect();
    assert!(found.len() > 100);
    assert!(found.iter().all(|i| filter.contains(i)), "a key does not help against repetition");
    let again = found.iter().filter(|i| rebuilt.contains(*i)).count();
    assert!(again * 20 < found.len(), "{again} of {}", found.len());
}

#[test]
fn s46_received_filters_are_held_against_their_items() {
    let open = |filter: &Bloom, limits| Opener::new().limits(limits).decode(&to_bytes(filter));
    let refused = |filter: &Bloom| open(filter, Limits::NETWORK).expect_err("too full").kind();
    let honest = filled(&Hasher::default(), &(0..9000).collect::<Vec<u64>>());
    assert!(honest.bits().fill() < most_fill(FLAT, 9000));
    assert!(open(&honest, Limits::NETWORK).is_ok());
    // Polluted: as many items as it says, and fuller than they explain.
    let polluted = filled(&Hasher::default(), &aimed_keys(7142, &Hasher::default()).0);
    assert!(polluted.bits().fill() > most_fill(FLAT, 7142));
    assert_eq!(refused(&polluted), Kind::LimitExceeded { what: "fill" });
    assert!(open(&polluted, Limits::LOCAL).is_ok(), "one's own files are one's own business");
    // All ones: everything passes, whatever number of items is claimed.
    let ones = filled(&Hasher::default(), &(0..400_000).collect::<Vec<u64>>());
    assert_eq!((ones.bits().zeros(), measured(&ones)), (0, 1.0));
    assert_eq!(refused(&ones), Kind::LimitExceeded { what: "fill" });
}

#[test]
fn s46_bounds_whatever_the_bits_are() {
    for (k0, k1, bound) in
        [(2.0, 2.0, 0.0625), (3.0, 3.0, 0.0156), (4.0, 4.0, 0.0039), (2.0, 3.0, 0.03456)]
    {
        let hashes = Hashes { k0, k1 };
        assert!((hashes.max_fpr() - bound).abs() < 5e-5, "({k0}, {k1})");
    }
    for (k0, k1, bits, bound) in
        [(2.0, 2.0, 128.0, 0.0601), (2.0, 3.0, 256.0, 0.0456), (2.0, 3.0, 512.0, 0.0231)]
    {
        let fnr = Hashes { k0, k1 }.max_fnr(bits);
        assert!((fnr - bound).abs() < 5e-5, "({k0}, {k1}) at {bits}: {fnr}");
    }
}

#[test]
fn s46_filters_under_two_keys_do_not_mix() {
    let mut a = empty(&keyed(1));
    let error = everbloom::prelude::Merge::merge(&mut a, &empty(&keyed(2))).expect_err("two keys");
    assert_eq!(error.kind(), Kind::Incompatible { what: "key" });
    let bytes = to_bytes(&a);
    let kind = |key: Option<SecretKey>| Opener::new().key(key).decode(&bytes).map_err(|e| e.kind());
    assert!(matches!(kind(None), Err(Kind::KeyMissing)));
    assert!(matches!(kind(Some(SecretKey::new([2; 16]))), Err(Kind::KeyMissing)));
    assert!(kind(Some(SecretKey::new([1; 16]))).is_ok());
    let inside = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
    assert!(!inside(&[1; 16]), "the key is not in the file");
    assert_eq!((VARIANT.entry, VARIANT.kind), ("§46", EntryKind::Technique));
}
