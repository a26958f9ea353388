//! §45: private queries. The vectors of RFC 9497 are tested beside the code.

use crypto_bigint::{NonZero, U64};
use everbloom::EntryKind;
use everbloom::exchange::private::{Asker, Owner, outputs};
use everbloom::exchange::{Limits, Party, run};
use everbloom::secure::Secret;
use everbloom::secure::oprf::{Blinded, Mode, Ristretto, ServerKey};
use everbloom::secure::private_query::VARIANT;

fn key() -> ServerKey<Ristretto> {
    ServerKey::derive(Mode::Verified, &Secret::new([1; 32]), b"evidence").expect("a key")
}

fn words(range: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    range.map(|i| format!("word {i}").into_bytes()).collect()
}

fn power(base: u64, exponent: u64, n: u64) -> u64 {
    let n = NonZero::new(U64::from(n)).expect("not zero");
    let mut out = U64::ONE;
    for _ in 0..exponent {
        out = out.mul_mod(&U64::from(base), &n);
    }
    out.into()
}

#[test]
fn s45_blind_signatures_by_hand() {
    // The form with RSA, in numbers that fit a line: N = 253, e = 3, d = 147, H(x) = 5, ρ = 7.
    let (n, e, d, x, rho) = (253, 3, 147, 5, 7);
    assert_eq!(e * d % 220, 1, "220 = (11 − 1)·(23 − 1)");
    let b = x * power(rho, e, n) % n;
    assert_eq!((b, power(b, d, n)), (197, 87));
    let inverse = 217;
    assert_eq!(rho * inverse % n, 1);
    let s = power(b, d, n) * inverse % n;
    assert_eq!((s, power(5, 147, n), power(s, e, n)), (157, 157, x));
}

#[test]
fn s45_no_key_of_the_set_is_missed_and_others_pass_at_the_filter_s_rate() {
    let set = words(0..200);
    let filter = outputs(&key(), 200, 0.05, set.iter().map(Vec::as_slice)).expect("a filter");
    let predicted = everbloom::Filter::now(&filter).fpr.expect("a rate");
    let owner = Owner::new(key(), 1200).with_set(filter);
    let asker = Asker::<Ristretto>::new(words(0..1200)).expect("random");
    let mut asker = Party::new(asker, Limits::NETWORK);
    run(&mut Party::new(owner, Limits::NETWORK), &mut asker).expect("honest");
    let found = asker.role.found().expect("done");
    assert!(found[..200].iter().all(|found| *found));
    let passed = found[200..].iter().filter(|found| **found).count() as f64;
    let expected = 1000.0 * predicted;
    assert!((passed - expected).abs() < 5.0 * expected.sqrt(), "{passed} for {expected}");
}

#[test]
fn s45_the_server_sees_random_elements() {
    let blind = || Blinded::<Ristretto>::new(Mode::Verified, b"same key").expect("short");
    let (first, second) = (blind(), blind());
    assert!(first.element() != second.element(), "one key twice");
    let finish = |blinded: &Blinded<Ristretto>| {
        blinded.finish(b"same key", &key().evaluate(&[blinded.element()])[0])
    };
    assert!(finish(&first) == finish(&second), "and one output");
    assert_eq!((VARIANT.entry, VARIANT.kind), ("§45", EntryKind::Protocol));
}
