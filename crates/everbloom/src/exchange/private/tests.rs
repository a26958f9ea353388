//! Both sides in one process, honest and not.

use super::super::{Limits, Party, Session, run};
use super::*;
use crate::hash::Generator;
use crate::secure::oprf::{Ristretto, Toy};

fn key<G: Group>(seed: u8) -> ServerKey<G> {
    ServerKey::derive(Mode::Verified, &Secret::new([seed; 32]), b"test").expect("a key")
}

fn word(i: usize) -> Vec<u8> {
    format!("word {i}").into_bytes()
}

fn set<G: Group>(seed: u8) -> Bloom {
    let words: Vec<Vec<u8>> = (0..40).map(word).collect();
    outputs(&key::<G>(seed), 40, 1e-6, words.iter().map(Vec::as_slice)).expect("a filter")
}

fn owner<G: Group>(seed: u8) -> Party<Owner<G>> {
    Party::new(Owner::new(key(seed), 5000).with_set(set::<G>(seed)), Limits::NETWORK)
}

fn asker<G: Group>(count: usize) -> Party<Asker<G>> {
    let words = (30..30 + count).map(word).collect();
    Party::new(Asker::new(words).expect("random"), Limits::NETWORK)
}

/// What the owner sends first, what this asker asks then, and what the owner answers.
fn transcript<G: Group>(asker: &mut Party<Asker<G>>, seed: u8) -> [Vec<u8>; 3] {
    let mut owner = owner::<G>(seed);
    let setup = owner.receive(&[]).expect("the set").send;
    let asked = asker.receive(&setup).expect("queries").send;
    let answers = owner.receive(&asked).expect("answers");
    assert!(answers.done);
    [setup, asked, answers.send]
}

fn exact<G: Group>(count: usize) {
    let (mut owner, mut asker) = (owner::<G>(1), asker::<G>(count));
    run(&mut owner, &mut asker).expect("honest");
    let found = asker.role.found().expect("done");
    let expected: Vec<bool> = (30..30 + count).map(|i| i < 40).collect();
    assert_eq!(found, expected);
}

#[test]
fn members_are_found_and_others_are_not() {
    exact::<Ristretto>(20);
    for count in [0, 1, BATCH, BATCH + 1, 3000] {
        exact::<Toy>(count);
    }
}

#[test]
fn queries_show_neither_the_key_nor_that_it_was_asked_before() {
    let asked = || transcript(&mut asker::<Ristretto>(2), 1)[1].clone();
    let (first, second) = (asked(), asked());
    assert_eq!(first.len(), second.len());
    let elements = |asked: &[u8]| {
        let body = &asked[HEADER + ONCE..HEADER + ONCE + 64];
        body.chunks(32).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    assert!(elements(&first).iter().all(|e| !elements(&second).contains(e)));
    // The set's filter can't be asked without the owner.
    let filter = set::<Ristretto>(1);
    assert!((0..40).all(|i| !filter.contains(&word(i)[..])));
}

#[test]
fn what_was_answered_once_can_be_looked_up_in_later_sets() {
    // A leak that is stated: an output holds for every filter under the key, and for no other.
    let output = key::<Ristretto>(1).output(&word(3)).expect("short");
    assert!(set::<Ristretto>(1).contains(&output[..]));
    assert!(!set::<Ristretto>(2).contains(&output[..]));
}

fn lies<G: Group>() {
    let ends = |asker: &mut Party<Asker<G>>, bytes: &[u8]| asker.receive(bytes).map(|s| s.done);
    // Answers of an earlier exchange, of one with another key, and twice.
    let [_, _, earlier] = transcript(&mut asker::<G>(5), 1);
    let mut asker_now = asker::<G>(5);
    let [setup, asked, answers] = transcript(&mut asker_now, 1);
    assert!(ends(&mut asker_now, &earlier).is_err(), "replayed");
    assert!(ends(&mut asker_now, &answers).is_err(), "stays failed");
    let mut asker_now = asker::<G>(5);
    let asked_now = asker_now.receive(&setup).expect("queries").send;
    let mut other = Party::new(Owner::<G>::new(key(2), 5000), Limits::NETWORK);
    let wrong = other.receive(&asked_now).expect("answers").send;
    assert!(ends(&mut asker_now, &wrong).is_err(), "another key than the published one");
    let mut asker_now = asker::<G>(5);
    let [_, _, answers] = transcript(&mut asker_now, 1);
    let twice = [&answers[..], &answers].concat();
    assert!(ends(&mut asker_now, &twice).is_err(), "an answer too many");
    // The queries of two exchanges in one, and more of them than the owner wants to answer.
    let mut owner_now = owner::<G>(1);
    let asks = asked[..asked.len() - HEADER].to_vec();
    let mixed = [&asks[..], &asked_now].concat();
    assert!(owner_now.receive(&mixed).is_err());
    let mut owner_now = Party::new(Owner::<G>::new(key(1), 4), Limits::NETWORK);
    let error = owner_now.receive(&asked).expect_err("5 of 4");
    assert_eq!(error.kind(), Kind::LimitExceeded { what: "queries" });
    assert!(owner_now.receive(&[]).is_err(), "stays failed");
}

#[test]
fn replayed_and_forged_answers_are_errors() {
    lies::<Ristretto>();
    lies::<Toy>();
}

#[test]
fn every_changed_byte_of_an_answer_is_noticed() {
    let mut random = Generator::new(3);
    // The exchange, the first element, the proof's two halves; then anywhere.
    let fixed = [0, ONCE - 1, ONCE, ONCE + 96, ONCE + 96 + 63].map(Some);
    for place in fixed.into_iter().chain([None; 15]) {
        let mut asker = asker::<Ristretto>(3);
        let [_, _, mut answers] = transcript(&mut asker, 1);
        let body = (answers.len() - HEADER) as u64;
        let place = HEADER + place.unwrap_or_else(|| random.below(body) as usize);
        answers[place] ^= 1 << random.below(8);
        assert!(asker.receive(&answers).is_err(), "byte {place}");
        assert!(asker.role.found().is_none());
    }
    for cut in 0..50 {
        let mut asker = asker::<Toy>(3);
        let [_, _, answers] = transcript(&mut asker, 1);
        let kept = answers.len().saturating_sub(cut + 1);
        assert!(!asker.receive(&answers[..kept]).expect("waits").done);
        assert_eq!(asker.closed().expect_err("cut off").kind(), Kind::Truncated);
    }
}

#[test]
fn a_key_that_is_trusted_is_the_only_one() {
    let mut first = asker::<Ristretto>(1);
    let [setup, ..] = transcript(&mut first, 1);
    let known = first.role.public().expect("told");
    let asker = |key: &[u8]| {
        let role = Asker::<Ristretto>::new(vec![word(1)]).expect("random");
        Party::new(role.trusting(key.to_vec()), Limits::NETWORK)
    };
    assert!(asker(&known).receive(&setup).is_ok());
    let mut other = known.clone();
    other[0] ^= 1;
    assert!(asker(&other).receive(&setup).is_err());
    assert!(asker(&known[1..]).receive(&setup).is_err());
}

#[test]
fn answers_can_be_taken_later_by_whoever_has_the_secret() {
    let asker = |seed: u8, once: [u8; ONCE]| {
        let role = Asker::<Ristretto>::resumed(vec![word(39)], Secret::new([seed; 32]), once);
        Party::new(role, Limits::NETWORK)
    };
    let [setup, asked, answers] = transcript(&mut asker(5, [1; 16]), 1);
    let mut later = asker(5, once_of(&asked).expect("queries"));
    assert_eq!(later.receive(&setup).expect("the same queries").send, asked);
    assert!(later.receive(&answers).expect("answers").done);
    assert_eq!(later.role.found(), Some(&[true][..]));
    for (seed, once) in [(6, [1; 16]), (5, [2; 16])] {
        let mut other = asker(seed, once);
        other.receive(&setup).expect("other queries");
        assert!(other.receive(&answers).is_err());
    }
    assert!(once_of(&asked[..20]).is_err() && once_of(&setup).is_err() && once_of(&[]).is_err());
}

#[test]
fn neither_keys_nor_words_are_printed() {
    let (owner, asker) = (owner::<Ristretto>(1), asker::<Ristretto>(2));
    let shown = format!("{:?} {:?}", owner.role, asker.role);
    assert!(!shown.contains("word") && !shown.contains('['), "{shown}");
}
