//! The combinatorial Bloom filter, COMB (Hao, Kodialam, Lakshman, Song 2009; catalogue I3; S3 §V-A), and
//! filter banks (S0 §III-M).
//!
//! Which of γ groups is a key in? Every group has a code of Ψ bits, and for each of those bits there is a
//! set of k hash functions into one array that all groups share. Inserting a key uses the sets where the
//! code of its group has a one; a query looks at all sets and reads a code back:
//!
//! ```text
//!   group "green", code 1 0 1                      query x
//!                 set 1 │   └ set 3                  set 1: all ones  ─▶ 1
//!       ┌────┬────┬─────┘  ┌────┬───┐                set 2: a zero    ─▶ 0    1 0 1: green
//!     0 1 0 0 1 0 0 1 0 0 1 0 1 0 0 1 1 0            set 3: all ones  ─▶ 1
//! ```
//!
//! A member's own ones are never lost, but others may join them, each with e = ρ^k. If all codes have the
//! same weight θ that shows, since no code covers another: a member is classified right with probability
//! (1 − e)^{Ψ−θ} and is *ambiguous* otherwise, never in a wrong group. A non-member is accepted with
//! γ·e^θ·(1 − e)^{Ψ−θ}.
//!
//! | form | codes | cells |
//! |---|---|---|
//! | `fixed-weight` | θ of Ψ ones: up to C(Ψ, θ) groups | one array |
//! | `counting` | the same | one array of counters: keys can be removed |
//! | `plain` | 1, 2, 3, … (0 would set no bit); 101 may silently become 111 | one array |
//! | `bank` | one filter for each group; the answer is the set of all that say yes | γ arrays |
//! | `code-bank` | as `plain`, one filter for each bit of the code | Ψ arrays |
//!
//! With the layout `chunked` function t of every set stays inside chunk t of an array, so that k memories
//! work in parallel.
//!
//! A query that names a group is answered from the sets: one of its ones is missing, absent; all are there
//! and no other, present; others too, undecided. Without a group, `Undecided` comes with the groups whose
//! codes are covered; where none is, the key is no member, for a member's code always is.
//!
//! **Slow:** a key is set by k functions for every 1 in its code, and a query asks the functions of all sets.
//!
//! **Use it** when every key is in one group and the sizes of the groups are unknown. **Don't** when keys are in
//! several groups (use `bank`, `omass` or `load-balanced`): their codes add up and such keys stay ambiguous. A bank
//! needs groups of similar size, because each filter is planned for an equal share.

pub use crate::grouping::code::Code;
use crate::grouping::code::MAX_CODE_BITS;
use crate::grouping::code_cells::CodeCells;
use crate::grouping::groups::{Groups, MAX_GROUPS, asked, labeled};
use crate::grouping::sets::{
    BANK, CHUNKED, CODE_BANK, COUNTING, FIXED, PLAIN, rates, separate, suits,
};
pub use crate::grouping::sets::{Shape, accepted, classified, set_passes};
use crate::parts::labels::label_of;
use crate::plan::PARAM_WIDTH;
use crate::variant::prelude::*;

/// Groups of keys in code bits, each with hash functions of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Combinatorial {
    head: Head,
    groups: Groups,
    /// γ, the most groups there may be.
    capacity: u64,
    sets: CodeCells,
}

state!(Combinatorial { head, groups, capacity, ..sets });

impl Combinatorial {
    /// A filter of `m` bits in one array with `k` probes for each bit of a fixed-weight code; as many
    /// groups as the code has words.
    ///
    /// ```
    /// use everbloom::Verdict;
    /// use everbloom::grouping::combinatorial::{Code, Combinatorial};
    ///
    /// let code = Code { bits: 7, weight: 3 };
    /// let mut filter = Combinatorial::with_code(code, 30_000, 7, Default::default())?;
    /// filter.insert("apple", b"fruit")?;
    /// filter.insert("leek", b"vegetable")?;
    /// assert_eq!(filter.classify("leek"), (Verdict::Present, vec![b"vegetable".as_slice()]));
    /// assert_eq!(filter.classify("stone").0, Verdict::Absent);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn with_code(code: Code, m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let fits =
            (1..=MAX_CODE_BITS).contains(&code.bits) && (1..=code.bits).contains(&code.weight);
        if !fits {
            return Err(Error::parameter(format!(
                "{} ones in a code of {} bits: at least one of each, and at most {MAX_CODE_BITS} bits",
                code.weight, code.bits
            )));
        }
        let groups = code.room().min(MAX_GROUPS);
        let flat = Flat { m, k }.checked()?;
        let shape = Shape { form: FIXED, groups, code, chunked: false, flat, width: 1 };
        Self::empty(&shape, Head::new(hasher, FIXED))
    }

    /// Inserts a key of a group; a new group needs a code that is free.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, group: &[u8]) -> Result<Seen> {
        let g = self.groups.intern(group, self.capacity)?;
        let new = self.sets.insert(self.head.hasher.digest(key), g);
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Removes a key that was inserted with this group. Refused, with nothing changed, unless the cells
    /// are counters and all hold what the removal would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, group: &[u8]) -> Result<()> {
        if self.head.form != COUNTING {
            return Err(Error::unsupported(
                "bits do not know how many keys they serve: use form counting",
            ));
        }
        let digest = self.head.hasher.digest(key);
        if !self.groups.find(group).is_some_and(|g| self.sets.remove(digest, g)) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not in this group: a counter is smaller than the amount to remove",
            ));
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// The group of a key: absent, present with its one group, or undecided with those it may be in. A
    /// bank answers with all groups that say yes.
    pub fn classify<K: Key + ?Sized>(&self, key: &K) -> (Verdict, Vec<&[u8]>) {
        let (verdict, numbers) = self.decode(self.head.hasher.digest(key));
        let label = |g: u64| self.groups.labels()[g as usize].as_slice();
        (verdict, numbers.into_iter().map(label).collect())
    }

    fn decode(&self, digest: Digest) -> (Verdict, Vec<u64>) {
        let all = 0..self.groups.len();
        let code = self.sets.code;
        if self.head.form == BANK {
            let found: Vec<u64> = all.filter(|&g| self.sets.passes(digest, g)).collect();
            let verdict = if found.is_empty() { Verdict::Absent } else { Verdict::Present };
            return (verdict, found);
        }
        let word = self.sets.word(digest);
        if word == 0 || word.count_ones() < code.weight {
            return (Verdict::Absent, Vec::new());
        }
        if let Some(g) = code.group(word).filter(|g| all.contains(g)) {
            return (Verdict::Present, vec![g]);
        }
        let found: Vec<u64> = all.filter(|&g| code.word(g) & !word == 0).collect();
        (if found.is_empty() { Verdict::Absent } else { Verdict::Undecided }, found)
    }

    /// Whether the key may be in the group: undecided if it may as well be in another.
    pub fn contains<K: Key + ?Sized>(&self, key: &K, group: &[u8]) -> Verdict {
        let digest = self.head.hasher.digest(key);
        let Some(g) = self.groups.find(group) else { return Verdict::Absent };
        if !self.sets.covers(digest, g) {
            return Verdict::Absent;
        }
        let others =
            self.head.form != BANK && self.code().zeros(g).any(|b| self.sets.passes(digest, b));
        if others { Verdict::Undecided } else { Verdict::Present }
    }

    /// Number of cells in all arrays.
    pub fn m(&self) -> u64 {
        self.sets.cells.len()
    }

    /// Number of cells that are not zero.
    pub fn used(&self) -> u64 {
        self.sets.cells.nonzero()
    }

    /// The codes.
    pub fn code(&self) -> Code {
        self.sets.code
    }

    fn rates(&self) -> (f64, f64, f64) {
        let chances = self.sets.chances();
        let last = chances.len() - 1;
        let chance = |b: u64| chances[(b as usize).min(last)];
        rates(self.code(), self.head.form == BANK, self.groups.len(), chance)
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let (form, capacity, code) = (self.head.form, self.capacity, self.code());
        if !(1..=MAX_GROUPS).contains(&capacity)
            || self.groups.len() > capacity
            || !suits(form, code, capacity)
        {
            return wrong("codes and groups do not fit each other");
        }
        if self.sets.arrays() != if separate(form) { code.bits.into() } else { 1 } {
            return wrong("the probes leave their array");
        }
        if form != COUNTING && self.sets.cells.width() != 1 {
            return wrong("counters where bits should be");
        }
        Ok(())
    }
}

impl Plan for Combinatorial {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request, request.form() == COUNTING)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        Some(shape.expect(load))
    }
}

impl Stream for Combinatorial {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let (groups, sets) = (Groups::default(), CodeCells::new(shape)?);
        Ok(Self { head, groups, capacity: shape.groups, sets })
    }
}

face!(Combinatorial: Insert, Remove);
planned!(Combinatorial);
labeled!(Combinatorial);

impl Filter for Combinatorial {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        if let Some(group) = asked(&record)? {
            let verdict = self.contains(record.key, group);
            return Ok(Answer { verdict, ..Answer::of(true) });
        }
        let (verdict, groups) = self.decode(self.head.hasher.digest(record.key));
        Ok(Answer { verdict, ..self.groups.answer(groups) })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used() as f64 / self.m() as f64)
    }

    fn now(&self) -> Rates {
        let (fpr, undecided, _) = self.rates();
        Rates { fpr: Some(fpr), fnr: Some(0.0), undecided: Some(undecided) }
    }

    fn describe(&self) -> Vec<Fact> {
        let (present, _, right) = self.rates();
        let mut facts = vec![
            fact("m", self.m()),
            fact("k", self.sets.probe.k()),
            fact("groups", self.groups.len()),
            fact("most groups", self.capacity),
            fact("code bits", self.code().bits),
            fact("code weight", self.code().weight),
            fact("bits per cell", self.sets.cells.width()),
        ];
        if self.head.form != BANK {
            facts.push(real("members classified", right));
            facts.push(real("non-members accepted", present * self.groups.len() as f64));
        }
        facts
    }

    /// The cells of one bit of the code after the other.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.sets.trace(self.head.hasher.digest(key))
    }
}

impl Remove for Combinatorial {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Combinatorial::remove(self, record.key, label_of(&record)?)
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Combinatorial>(Facts {
    id: 38,
    slug: "combinatorial",
    entry: "I3",
    question: "Which of several sets is it in, by a code for each set?",
    name: "Combinatorial Bloom filter",
    paper: "F. Hao, M. Kodialam, T. V. Lakshman, H. Song, Fast dynamic multiset membership \
            testing using combinatorial Bloom filters, INFOCOM 2009",
    family: "grouping",
    needs: &["groups", "delete", "parallel"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are keys, the label of each is its group; the rate bounds the non-members accepted when no group \
              is named and the members whose group stays unknown, or in a bank the false positives of one group",
    forms: &[
        Form::exact(FIXED, &[Ability::Insert]),
        Form::exact_while(
            COUNTING,
            &[Ability::Insert, Ability::Remove],
            "only keys that were inserted with a group are removed from it",
        ),
        Form::exact(PLAIN, &[Ability::Insert]),
        Form::exact(BANK, &[Ability::Insert]),
        Form::exact(CODE_BANK, &[Ability::Insert]),
    ],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "groups",
            1,
            MAX_GROUPS,
            "maximum number of groups; banks divide their memory among them",
        )
        .or(Preset::Integer(16)),
        Param::integer(
            "code-bits",
            1,
            MAX_CODE_BITS as u64,
            "bits of a group's code; by default the fewest",
        ),
        Param::integer(
            "weight",
            1,
            MAX_CODE_BITS as u64,
            "ones in a code of fixed weight; by default the fewest",
        ),
        Param { help: "bits per counter in the counting form", ..PARAM_WIDTH },
        Param::first_of(
            "layout",
            &["shared", CHUNKED],
            "probes anywhere in an array, or each in its chunk of it",
        ),
    ],
    ..Facts::FILTER
});
