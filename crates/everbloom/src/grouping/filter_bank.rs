//! Filter banks and approximate action classification (catalogue §39; S0 refs. 43 and 45, §III-M).
//!
//! Which action does this packet need, which interface does it leave by? A bank has one filter per class and asks
//! all of them. A coded bank has one filter per bit of the class's code:
//!
//! ```text
//!   bank                   drop  ░█░░█░    x? no           code-bank      bit 0  ░█░█░░   x? yes ┐
//!                          queue █░░█░░    x? yes                         bit 1  ░░█░░█   x? no  ├ 0 1 0 1: class 5
//!                          send  ░░█░░█    x? no                          bit 2  █░░█░░   x? yes ┘
//! ```
//!
//! For |S| classes it takes ⌈log2(|S|+1)⌉ filters, not S0's ⌈log2|S|⌉: the code of zeros alone is left for "none".
//! A false positive turns a zero of a code into a one, so that a member's *action* may be wrong although it is
//! never missed: its code is read right with (1−f)^z, z its zeros, and a non-member gets some action with 1 −
//! (1−f)^b. The form `fixed-bank` has codes of one weight: a code that was read wrong then has too many ones, and
//! shows as ambiguous.
//!
//! Cells are counters, so that keys can be taken out again and counted. A key that several classes of a `bank`
//! claim is *undecided*: treated as a miss and classified anew, as S0 has it. Under the policy `all` it is present,
//! with all of them.
//!
//! **Slow:** a query asks the filters of all classes.
//!
//! **Use it** for classes of similar size, each with its own memory. **Don't** if the sizes of the classes are
//! unknown (`combinatorial` shares one array among all).

use crate::grouping::code::{Code, MAX_CODE_BITS};
use crate::grouping::code_cells::CodeCells;
use crate::grouping::groups::{Groups, MAX_GROUPS, asked, labeled};
use crate::grouping::sets::{BANK, CODE_BANK, FIXED_BANK, Shape, alone, rates, suits};
use crate::parts::labels::label_of;
use crate::plan::PARAM_WIDTH;
use crate::variant::prelude::*;

/// Classes of keys, in a filter for each class or for each bit of its code.
///
/// ```
/// use everbloom::grouping::FilterBank;
///
/// let mut actions = FilterBank::with_rate(1000, 0.001)?;
/// actions.insert("10.0.0.1", b"drop")?;
/// assert_eq!(actions.classes_of("10.0.0.1"), [b"drop"]);
/// actions.remove("10.0.0.1", b"drop")?;
/// assert!(actions.classes_of("10.0.0.1").is_empty());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBank {
    head: Head,
    groups: Groups,
    /// The maximum number of classes.
    capacity: u64,
    /// 1 where a key of several classes is present, 0 where it is undecided.
    all: u64,
    sets: CodeCells,
}

state!(FilterBank { head, groups, capacity, all, ..sets });

/// P(the code of a member is read correctly), with this many zeros and a rate of `f` for each filter.
pub fn read_right(f: f64, zeros: u32) -> f64 {
    libm::pow(1.0 - f, f64::from(zeros))
}

/// P(a non-member gets some action) from `filters` filters of rate `f`.
pub fn some_action(f: f64, filters: u32) -> f64 {
    1.0 - read_right(f, filters)
}

impl FilterBank {
    /// Inserts a key of a class.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, class: &[u8]) -> Result<Seen> {
        let g = self.groups.intern(class, self.capacity)?;
        let new = self.sets.insert(self.head.hasher.digest(key), g);
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Removes a key that was inserted with this class. Refused, with nothing changed, where a counter holds less
    /// than that takes.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, class: &[u8]) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        if !self.groups.find(class).is_some_and(|g| self.sets.remove(digest, g)) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not in this class: a counter is smaller than the amount to remove",
            ));
        }
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted with this class: never too low, unless counters stick at their maximum.
    pub fn count<K: Key + ?Sized>(&self, key: &K, class: &[u8]) -> u64 {
        let digest = self.head.hasher.digest(key);
        self.groups.find(class).map_or(0, |g| self.sets.count(digest, g))
    }

    /// The classes that a key may have: all whose filters say yes, or whose codes are covered.
    pub fn classes_of<K: Key + ?Sized>(&self, key: &K) -> Vec<&[u8]> {
        let digest = self.head.hasher.digest(key);
        let (_, found) = self.decode(digest);
        found.into_iter().map(|g| self.groups.labels()[g as usize].as_slice()).collect()
    }

    /// Verdict and classes: one class is present, several are undecided unless the policy says otherwise.
    fn decode(&self, digest: Digest) -> (Verdict, Vec<u64>) {
        let (all, code) = (0..self.groups.len(), self.sets.code);
        if self.head.form != BANK {
            let word = self.sets.word(digest);
            if let Some(g) = code.group(word).filter(|g| all.contains(g)) {
                return (Verdict::Present, vec![g]);
            }
            let covered = |g: &u64| code.word(*g) & !word == 0;
            let found: Vec<u64> = all.filter(covered).collect();
            // A member's own code is always covered.
            return (if found.is_empty() { Verdict::Absent } else { Verdict::Undecided }, found);
        }
        let found: Vec<u64> = all.filter(|&g| self.sets.passes(digest, g)).collect();
        let verdict = match found.len() {
            0 => Verdict::Absent,
            1 => Verdict::Present,
            _ if self.all == 1 => Verdict::Present,
            _ => Verdict::Undecided,
        };
        (verdict, found)
    }

    /// Whether the key may have this class: undecided if it may as well have another.
    pub fn contains<K: Key + ?Sized>(&self, key: &K, class: &[u8]) -> Verdict {
        let digest = self.head.hasher.digest(key);
        let Some(g) = self.groups.find(class).filter(|g| self.sets.covers(digest, *g)) else {
            return Verdict::Absent;
        };
        let others = match self.head.form {
            BANK => {
                self.all == 0
                    && (0..self.groups.len()).any(|h| h != g && self.sets.passes(digest, h))
            }
            _ => self.sets.code.zeros(g).any(|b| self.sets.passes(digest, b)),
        };
        if others { Verdict::Undecided } else { Verdict::Present }
    }

    /// The codes of the classes; a bank's have one bit each.
    pub fn code(&self) -> Code {
        self.sets.code
    }

    /// Rates of queries that name a class, present and undecided, and the share of members whose class is told.
    fn rates(&self) -> (f64, f64, f64) {
        let chances = self.sets.chances();
        let groups = self.groups.len();
        if self.head.form == BANK && self.all == 0 {
            return alone(&chances[..groups as usize]);
        }
        rates(self.code(), self.head.form == BANK, groups, |b| chances[b as usize])
    }

    fn check(&self) -> Result<()> {
        let (form, capacity, code) = (self.head.form, self.capacity, self.code());
        let known = (1..=MAX_GROUPS).contains(&capacity) && self.groups.len() <= capacity;
        let fits =
            known && suits(form, code, capacity) && self.sets.arrays() == u64::from(code.bits);
        if fits && self.all <= 1 {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: classes and filters do not fit each other"))
    }
}

impl Plan for FilterBank {
    type Shape = (Shape, bool);

    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        Ok((Shape::plan(request, true)?, request.choice("policy") == Some(ALL)))
    }

    fn expect((shape, all): &Self::Shape, load: &Load) -> Option<Expect> {
        let expect = shape.expect(load);
        if shape.form != BANK || *all {
            return Some(expect);
        }
        let (fpr, undecided, _) = alone(&vec![expect.fpr; shape.groups as usize]);
        Some(Expect { fpr, undecided, ..expect })
    }
}

impl Stream for FilterBank {
    fn empty((shape, all): &Self::Shape, head: Head) -> Result<Self> {
        let (groups, sets) = (Groups::default(), CodeCells::new(shape)?);
        Ok(Self { head, groups, capacity: shape.groups, all: (*all).into(), sets })
    }
}

face!(FilterBank: Insert, Remove);
planned!(FilterBank: "A bank for `items` keys of up to 16 classes, whose filters have a rate of `fpr`.");
labeled!(FilterBank);

impl Filter for FilterBank {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        if let Some(class) = asked(&record)? {
            return Ok(Answer { verdict: self.contains(record.key, class), ..Answer::of(true) });
        }
        let (verdict, classes) = self.decode(self.head.hasher.digest(record.key));
        Ok(Answer { verdict, ..self.groups.answer(classes) })
    }

    fn fill(&self) -> Option<f64> {
        Some(self.sets.cells.nonzero() as f64 / self.sets.cells.len() as f64)
    }

    fn now(&self) -> Rates {
        let (fpr, undecided, _) = self.rates();
        Rates { undecided: Some(undecided), ..Rates::one_sided(fpr) }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("filters", self.sets.arrays()),
            fact("m", self.sets.probe.m()),
            fact("k", self.sets.probe.k()),
            fact("classes", self.groups.len()),
            fact("most classes", self.capacity),
            fact("code weight", self.code().weight),
            fact("width", self.sets.cells.width()),
            text("policy", if self.all == 1 { ALL } else { RECLASSIFY }),
            real("members classified", self.rates().2),
        ]
    }

    /// The cells of one bit of the code after the other.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.sets.trace(self.head.hasher.digest(key))
    }
}

impl Remove for FilterBank {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        FilterBank::remove(self, record.key, label_of(&record)?)
    }
}

const RECLASSIFY: &str = "reclassify";
const ALL: &str = "all";

const fn form(name: &'static str) -> Form {
    let condition = "only keys that were inserted with a class are removed from it";
    Form::exact_while(name, &[Ability::Insert, Ability::Remove], condition)
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<FilterBank>(Facts {
    id: 89,
    slug: "filter-bank",
    entry: "§39",
    question: "Which class or action belongs to this key, when keys are removed again?",
    name: "Filter bank and action codes",
    paper: "F. Chang, W. Feng, K. Li, Approximate caches for packet classification, INFOCOM 2004; Y. \
            Lu, B. Prabhakar, F. Bonomi, Bloom filters: design innovations and novel applications, \
            Allerton 2005",
    family: "grouping",
    needs: &["groups", "delete", "parallel"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are keys, the label of each is its class; the rate is that of one filter of a bank, \
            or bounds the members whose code is misread",
    forms: &[form(BANK), form(CODE_BANK), form(FIXED_BANK)],
    operations: &[tell!(
        FilterBank,
        "count",
        "How often a key was inserted with a class; queries are KEY, a TAB and the class.",
        [],
        [Keys],
        |bank, given| {
            let count = bank.count(given.record.key, label_of(&given.record)?);
            Ok(Detail::Count(Counted::about(count)))
        }
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("groups", 1, MAX_GROUPS, "maximum number of classes")
            .or(Preset::Integer(16)),
        Param::integer("code-bits", 1, MAX_CODE_BITS as u64, "bits of a class's code"),
        Param::integer("weight", 1, MAX_CODE_BITS as u64, "ones in a code of fixed weight"),
        PARAM_WIDTH,
        Param::first_of("policy", &[RECLASSIFY, ALL], "treatment of a key with several classes"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_whose_classes_do_not_fit_their_filters_are_refused() {
        for form in [BANK, CODE_BANK, FIXED_BANK] {
            let mut f: FilterBank = empty(&Goal::new(10, 0.1).set("form", form)).unwrap();
            f.insert("x", b"a").unwrap();
            f.insert("y", b"b").unwrap();
            let lies: [fn(&mut FilterBank); 5] = [
                |f| f.capacity = 1,
                |f| f.capacity = 1 << 40,
                |f| f.all = 2,
                |f| f.sets.code.bits += 1,
                |f| f.head.form = if f.head.form == BANK { CODE_BANK } else { BANK },
            ];
            lies_are_refused(&f, lies);
        }
    }
}
