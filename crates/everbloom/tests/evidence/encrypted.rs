//! §44: encrypted filters.

use everbloom::secure::Secret;
use everbloom::secure::encrypted::{
    CipherKey, Document, Field, Modp2048, Ratio, Salted, Toy, VARIANT, written,
};
use everbloom::{EntryKind, Flat};

const FLAT: Flat = Flat { m: 1000, k: 7 };

fn key<F: Field>(byte: u8) -> CipherKey<F> {
    CipherKey::derive(&Secret::new([byte; 32])).expect("a key")
}

/// The setup: what T has in the end.
fn ratio<F: Field>(alice: &CipherKey<F>, bob: &CipherKey<F>) -> Ratio<F> {
    let mask = CipherKey::random().expect("a mask");
    let part = alice.divide(&bob.masked(&mask)).expect("an exponent");
    Ratio::new(&part, &mask.reveal()).expect("a ratio")
}

#[test]
fn s44_the_ratio_by_hand() {
    // p = 23, A = 3, B = 7: A⁻¹ = 15 mod 22, r = 17; W = 5: 5³ = 10, 10¹⁷ = 17 = 5⁷.
    type F = Toy<23>;
    assert_eq!(F::inverse(&3), Some(15));
    assert_eq!(F::product(&7, &15), 17);
    assert_eq!((F::power(&5, &3), F::power(&10, &17), F::power(&5, &7)), (10, 17, 17));
    assert_eq!((F::inverse(&2), F::inverse(&11)), (None, None));
}

fn commutes<F: Field>() {
    let (alice, bob) = (key::<F>(1), key::<F>(2));
    let ratio = ratio(&alice, &bob);
    for word in [&b"fig"[..], b"", &[0xFF; 1000]] {
        assert!(ratio.apply(&alice.encrypt(word)) == bob.encrypt(word));
        // Words are squares, so the Legendre symbol is the same for all of them.
        assert!(F::read_square(&written::<F>(&alice.encrypt(word))).is_some());
    }
    assert!(alice.encrypt(b"fig") != bob.encrypt(b"fig"));
    assert!(alice.encrypt(b"fig") == alice.encrypt(b"fig"), "deterministic: T sees repetitions");
}

#[test]
fn s44_a_word_under_one_key_becomes_one_under_the_other() {
    commutes::<Modp2048>();
    commutes::<Toy<2_147_483_579>>();
}

#[test]
fn s44_words_are_found_through_three_parties_and_others_at_the_rate_of_a_filter() {
    type F = Toy<2_147_483_579>;
    let (alice, bob, secret) = (key::<F>(1), key::<F>(2), Secret::new([1; 32]));
    let ratio = ratio(&alice, &bob);
    let mut document = Document::new(b"doc", FLAT).expect("a filter");
    let word = |i: u32| format!("word {i}").into_bytes();
    (0..100).for_each(|i| document.insert(&bob, &word(i)));
    let ask = |i: u32| {
        let under_bob = ratio.apply(&alice.encrypt(&word(i)));
        let salted = Salted::new::<F>(FLAT, &under_bob, 20, (&secret, &word(i))).expect("cells");
        assert!(salted.cells.len() > 7 && salted.cells.is_sorted());
        salted.matches(&document.bits(&salted.cells).expect("cells that are there"))
    };
    assert!((0..100).all(ask), "no false negatives");
    let passed = (100..20_100).filter(|i| ask(*i)).count() as f64;
    // One filter of 1000 bits scatters by a tenth around 0.0082.
    assert!((passed / 20_000.0 / 0.008194 - 1.0).abs() < 0.4, "{passed}");
    assert_eq!((VARIANT.entry, VARIANT.kind), ("§44", EntryKind::Protocol));
}

#[test]
fn s44_a_word_has_the_same_dummies_each_time() {
    let (bob, secret) = (key::<Modp2048>(2), Secret::new([1; 32]));
    let ask = |word: &[u8]| {
        Salted::new::<Modp2048>(FLAT, &bob.encrypt(word), 30, (&secret, word)).expect("cells").cells
    };
    assert_eq!(ask(b"fig"), ask(b"fig"));
    assert_ne!(ask(b"fig"), ask(b"oak"));
}
