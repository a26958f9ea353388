//! Private queries (RFC 9497, VOPRF): is a key in the other side's set, when neither shows its keys?
//!
//! ```text
//!   Asker: keys to look up                  Owner: a set, and the function's key
//!        │ ◀──── KEY, FILTER ───────────────────── │   once, for everyone: outputs of the set's keys, as .evb
//!        │ ── ASK …, END ────────────────────────▶ │   a random element for each key
//!        │ ◀──── ANSWER … ──────────────────────── │   evaluated, with a proof for each frame
//!   looks the outputs up at home
//! ```
//!
//! Answers that are not for the elements that were asked for, or not by the key that was published, are errors: a
//! lying owner can refuse, and nothing else. An asker who knows the owner's public key says so
//! ([`Asker::trusting`]); otherwise the key is the one that comes with the filter, and whoever sends both chose both.
//! What leaks stands in [`private_query`](crate::secure::private_query).
//!
//! ```
//! use everbloom::exchange::private::{Asker, Owner, outputs};
//! use everbloom::exchange::{Limits, Party, run};
//! use everbloom::secure::Secret;
//! use everbloom::secure::oprf::{Mode, Ristretto, ServerKey};
//!
//! let key = ServerKey::<Ristretto>::derive(Mode::Verified, &Secret::random()?, b"fruit")?;
//! let filter = outputs(&key, 2, 0.001, [&b"fig"[..], b"pear"])?;
//! let mut owner = Party::new(Owner::new(key, 100).with_set(filter), Limits::NETWORK);
//! let asker = Asker::<Ristretto>::new(vec![b"fig".to_vec(), b"oak".to_vec()])?;
//! let mut asker = Party::new(asker, Limits::NETWORK);
//! run(&mut owner, &mut asker)?;
//! assert_eq!(asker.role.found(), Some(&[true, false][..]));
//! # Ok::<(), everbloom::Error>(())
//! ```

use std::fmt;

use subtle::ConstantTimeEq;

use super::{Frame, HEADER, Outbox, Role};
use crate::error::{Error, Kind, Result};
use crate::filter::{Filter, Record, Verdict};
use crate::membership::Bloom;
use crate::secure::oprf::{Blinded, Group, Mode, Proof, ServerKey, read_elements, write_elements};
use crate::secure::{Secret, random};

/// Owner to asker: the public key.
const KEY: u8 = 0x40;
/// Owner to asker: a filter of the function's outputs.
const FILTER: u8 = 0x41;
/// Asker to owner: blinded elements.
const ASK: u8 = 0x42;
/// Asker to owner: there are no more.
const END: u8 = 0x43;
/// Owner to asker: evaluated elements and their proof.
const ANSWER: u8 = 0x44;

/// Elements in a frame.
const BATCH: usize = 1024;
/// Length of what tells one exchange from another.
const ONCE: usize = 16;

/// The filter of a set for askers: the function's outputs instead of the keys.
pub fn outputs<'k, G: Group>(
    key: &ServerKey<G>,
    items: u64,
    rate: f64,
    keys: impl IntoIterator<Item = &'k [u8]>,
) -> Result<Bloom> {
    let mut filter = Bloom::with_rate(items.max(1), rate)?;
    for word in keys {
        filter.insert(&key.output(word)?[..]);
    }
    Ok(filter)
}

/// The side that has the set.
pub struct Owner<G: Group> {
    key: ServerKey<G>,
    /// The filter, until it is told.
    set: Option<Bloom>,
    left: u64,
    answered: u64,
    once: Option<[u8; ONCE]>,
    done: bool,
}

impl<G: Group> Owner<G> {
    /// An owner who answers at most so many queries, and whose filter the asker has.
    pub fn new(key: ServerKey<G>, most: u64) -> Self {
        Self { key, set: None, left: most, answered: 0, once: None, done: false }
    }

    /// Sends this filter, of [`outputs`], first.
    #[must_use]
    pub fn with_set(mut self, filter: Bloom) -> Self {
        self.set = Some(filter);
        self
    }

    /// Queries that were answered.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    fn answer(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (once, elements) = frame
            .body
            .split_first_chunk::<ONCE>()
            .filter(|(_, elements)| (1..=BATCH * G::ELEMENT).contains(&elements.len()))
            .ok_or_else(|| frame.wrong("no queries, or too many at once"))?;
        if self.once.is_some_and(|first| first != *once) {
            return Err(frame.wrong("queries of another exchange"));
        }
        let asked = (elements.len() / G::ELEMENT) as u64;
        // Before anything is computed: an element costs far more than its bytes.
        self.left = self.left.checked_sub(asked).ok_or_else(|| {
            Error::new(Kind::LimitExceeded { what: "queries" }, "more queries than are answered")
        })?;
        let blinded = read_elements::<G>(elements)
            .ok_or_else(|| frame.wrong("a query that is no element of the group"))?;
        (self.once, self.answered) = (Some(*once), self.answered + asked);
        let evaluated = self.key.evaluate(&blinded);
        let mut body = once.to_vec();
        write_elements::<G>(&evaluated, &mut body);
        self.key.prove(&blinded, &evaluated)?.write(&mut body);
        out.frame(ANSWER, &body)
    }
}

impl<G: Group> fmt::Debug for Owner<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("left", &self.left).field("done", &self.done).finish()
    }
}

impl<G: Group> Role for Owner<G> {
    const FRAMES: &'static [u8] = &[ASK, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        let Some(filter) = self.set.take() else { return Ok(()) };
        let mut key = Vec::new();
        G::write(&self.key.public(), &mut key);
        out.frame(KEY, &key)?;
        out.filter(FILTER, &filter)
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == ASK {
            return self.answer(&frame, out);
        }
        if !frame.body.is_empty() {
            return Err(frame.wrong("an end with a body"));
        }
        self.done = true;
        Ok(())
    }

    fn done(&self) -> bool {
        self.done
    }
}

/// The side that has keys to look up.
pub struct Asker<G: Group> {
    keys: Vec<Vec<u8>>,
    secret: Secret,
    once: [u8; ONCE],
    trusted: Option<Vec<u8>>,
    public: Option<G::Element>,
    filter: Option<Box<dyn Filter>>,
    /// What was asked for, in the order of the keys.
    asked: Vec<Blinded<G>>,
    spoken: bool,
    found: Vec<bool>,
}

impl<G: Group> Asker<G> {
    /// An asker whose blinds are random, and forgotten with it.
    pub fn new(keys: Vec<Vec<u8>>) -> Result<Self> {
        Ok(Self::resumed(keys, Secret::random()?, random()?))
    }

    /// An asker whose blinds follow from a secret and a number that was not used before under it: to ask now
    /// and take the answers later, in another process, which is made in the same way from the same keys.
    pub fn resumed(keys: Vec<Vec<u8>>, secret: Secret, once: [u8; ONCE]) -> Self {
        Self {
            keys,
            secret,
            once,
            trusted: None,
            public: None,
            filter: None,
            asked: Vec::new(),
            spoken: false,
            found: Vec::new(),
        }
    }

    /// Takes answers by this public key alone.
    #[must_use]
    pub fn trusting(mut self, public: Vec<u8>) -> Self {
        self.trusted = Some(public);
        self
    }

    /// The owner's public key, once it has come.
    pub fn public(&self) -> Option<Vec<u8>> {
        self.public.as_ref().map(|public| {
            let mut out = Vec::new();
            G::write(public, &mut out);
            out
        })
    }

    /// Whether each of the keys may be in the set, once all answers have come.
    pub fn found(&self) -> Option<&[bool]> {
        Some(&self.found[..]).filter(|_| self.done())
    }

    fn learn(&mut self, frame: &Frame, out: &Outbox) -> Result<()> {
        match (frame.kind, &self.public, &self.filter) {
            (KEY, None, _) => {
                let known = self.trusted.as_ref();
                if known.is_some_and(|key| !bool::from(key.ct_eq(&frame.body))) {
                    return Err(frame.wrong("not the public key that is trusted"));
                }
                let public = G::read(&frame.body);
                self.public = Some(public.ok_or_else(|| frame.wrong("no public key"))?);
            }
            (FILTER, Some(_), None) => self.filter = Some(out.opener().decode(&frame.body)?),
            _ => return Err(frame.wrong("the key comes first, then the filter, each once")),
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame) -> Result<()> {
        let (Some(public), Some(filter)) = (&self.public, &self.filter) else {
            return Err(frame.wrong("nothing was asked for"));
        };
        let (at, most) = (self.found.len(), self.asked.len());
        let batch = &self.asked[at..most.min(at + BATCH)];
        let length = ONCE + batch.len() * G::ELEMENT + Proof::<G>::LENGTH;
        if batch.is_empty() || frame.body.len() != length {
            return Err(frame.wrong("not as many answers as there were queries"));
        }
        let (once, rest) = frame.body.split_at(ONCE);
        if once != self.once {
            return Err(frame.wrong("answers of another exchange"));
        }
        let (elements, proof) = rest.split_at(batch.len() * G::ELEMENT);
        let evaluated = read_elements::<G>(elements)
            .ok_or_else(|| frame.wrong("an answer that is no element of the group"))?;
        let blinded: Vec<G::Element> = batch.iter().map(Blinded::element).collect();
        let proven =
            Proof::<G>::read(proof).is_some_and(|p| p.verify(public, &blinded, &evaluated));
        if !proven {
            return Err(frame.wrong("answers that are not proven to be by the published key"));
        }
        for ((key, blinded), evaluated) in self.keys[at..].iter().zip(batch).zip(&evaluated) {
            let output = blinded.finish(key, evaluated);
            let answer = filter.query(Record::key(&output[..]))?;
            self.found.push(answer.verdict != Verdict::Absent);
        }
        Ok(())
    }
}

impl<G: Group> fmt::Debug for Asker<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, found) = (self.keys.len(), self.found.len());
        f.debug_struct("Asker").field("keys", &keys).field("answered", &found).finish()
    }
}

impl<G: Group> Role for Asker<G> {
    const FRAMES: &'static [u8] = &[KEY, FILTER, ANSWER];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.filter.is_none() || std::mem::replace(&mut self.spoken, true) {
            return Ok(());
        }
        let blind = |(place, key): (usize, &Vec<u8>)| {
            let under = (&self.secret, &self.once);
            Blinded::derived(Mode::Verified, key, under, place as u64)
        };
        self.asked = self.keys.iter().enumerate().map(blind).collect::<Result<_>>()?;
        for batch in self.asked.chunks(BATCH) {
            let elements: Vec<G::Element> = batch.iter().map(Blinded::element).collect();
            let mut body = self.once.to_vec();
            write_elements::<G>(&elements, &mut body);
            out.frame(ASK, &body)?;
        }
        out.frame(END, &[])
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if frame.kind == ANSWER { self.take(&frame) } else { self.learn(&frame, out) }
    }

    fn done(&self) -> bool {
        self.spoken && self.found.len() == self.keys.len()
    }
}

/// What tells the exchange of these queries from others, as [`Asker::resumed`] takes it.
pub fn once_of(queries: &[u8]) -> Result<[u8; ONCE]> {
    let once = queries.get(HEADER..HEADER + ONCE).filter(|_| queries[0] == ASK);
    once.and_then(|once| once.try_into().ok())
        .ok_or_else(|| Error::new(Kind::NotOurs, "these are no private queries"))
}

#[cfg(test)]
mod tests {
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
        assert!(
            once_of(&asked[..20]).is_err() && once_of(&setup).is_err() && once_of(&[]).is_err()
        );
    }

    #[test]
    fn neither_keys_nor_words_are_printed() {
        let (owner, asker) = (owner::<Ristretto>(1), asker::<Ristretto>(2));
        let shown = format!("{:?} {:?}", owner.role, asker.role);
        assert!(!shown.contains("word") && !shown.contains('['), "{shown}");
    }
}
