//! Approximate concurrent state machines, ACSM (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese 2006; catalogue
//! §42; S0 §IV-D4).
//!
//! In which state is each of a million flows? Flows come, change their state and go, and a filter that remembers
//! them may answer "don't know" now and then, but should not be wrong about a flow that it follows:
//!
//! ```text
//!   stateful       1·syn   2·DK   0   1·open   3·DK   1·syn       flow x: 1·syn, 2·DK, 1·syn ─▶ syn
//!                  counter · state of each cell                    two flows of different states meet: DK
//!
//!   fingerprint    │ 3a·syn  07·open  … │ three tables, one of d buckets each: two matches ─▶ DK
//!
//!   direct         x‖syn? no   x‖open? yes   x‖closed? no          a counting filter of pairs ─▶ open
//! ```
//!
//! | form | a member's answer | bits per flow |
//! |---|---|---|
//! | `fingerprint` | its state, or DK where two entries match | (f + state + 1)·8/6, f ≈ log2(18/p) |
//! | `stateful` | its state, or DK with (1 − e^{−λ(1−1/σ)})^k | (counter + state + 1) per cell |
//! | `direct` | its state, or DK where several states pass | (counter + 1) per cell, sized for σ questions |
//!
//! The fingerprint form is the authors' own advice, and the default. None is wrong about a flow that was inserted,
//! modified and deleted consistently. Deleting or modifying a flow that is not there breaks that, and is refused
//! where the filter can tell. A flow that was never inserted gets some state with a small chance: in `stateful`
//! well below the rate of a Bloom filter, since cells that disagree answer "none".
//!
//! **Time-outs.** An insertion, a change or [`StateMachines::touch`] marks what a flow uses; a tick empties
//! everything that was not marked since the one before. So a flow that is never closed is gone after two ticks, and
//! one that is active in every epoch stays.
//!
//! **Slow:** in `direct` a query asks for every state that a flow might be in.
//!
//! **Use it** for per-flow state in a fixed space: video congestion, peer-to-peer traffic, connection tracking.
//! **Don't** where a value must be exact (`bloomier` for known sets, a hash table otherwise).

mod cells;
mod shape;
mod table;

use cells::Cells;
pub use shape::{Shape, foreign_rates, unknown_rate};
use shape::{code_bits, pairs};
use table::{MAX_PRINT, TABLES, Table};

use crate::cells::{Bits, Counters, Packed};
use crate::parts::groups::Groups;
use crate::parts::labels::label_of;
use crate::parts::tally::Tallies;
use crate::plan::PARAM_WIDTH;
use crate::variant::prelude::*;

/// Flows and their states.
///
/// ```
/// use everbloom::keyvalue::state_machines::{Flow, StateMachines};
///
/// let mut flows = StateMachines::with_rate(1000, 0.001)?;
/// flows.insert("10.0.0.1:80", b"syn")?;
/// flows.modify("10.0.0.1:80", b"open")?;
/// assert_eq!(flows.lookup("10.0.0.1:80"), Flow::State(b"open".to_vec()));
/// flows.remove("10.0.0.1:80")?;
/// assert_eq!(flows.lookup("10.0.0.1:80"), Flow::None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StateMachines {
    head: Head,
    /// The states by name; number i is i + 1 in the cells.
    names: Groups,
    /// σ, the most states there may be.
    states: u64,
    cells: Option<Cells>,
    table: Option<Table>,
}

state!(StateMachines { head, names, states, cells, table });

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The flow is in this state, if it is there at all.
    State(Vec<u8>),
    /// The flow may be there, in a state that the filter cannot tell.
    DontKnow,
    /// The flow is not there.
    None,
}

impl StateMachines {
    /// Inserts a flow in a state. Refused where that would be more than σ states, or where its buckets are full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, state: &[u8]) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let before = self.names.len();
        let code = self.names.intern(state, self.states)? + 1;
        let new = self.find(digest) == Code::None;
        let unknown = self.unknown();
        let form = self.head.form;
        match (&mut self.cells, &mut self.table) {
            (Some(cells), _) if form == DIRECT => {
                let pair = cells.indices(digest.salted(code));
                cells.count(&pair, true);
            }
            (Some(cells), _) => {
                let indices = cells.indices(digest);
                cells.write(&indices, code, unknown, 0);
                cells.count(&indices, true);
            }
            (None, Some(table)) => {
                if let Err(full) = table.insert(digest, code) {
                    if self.names.len() > before {
                        self.names.remove(state);
                    }
                    return Err(full);
                }
            }
            (None, None) => {}
        }
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Changes the state of an existing flow.
    pub fn modify<K: Key + ?Sized>(&mut self, key: &K, state: &[u8]) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        let form = self.head.form;
        let old = self.owned(digest, None)?;
        let code = self.names.intern(state, self.states)? + 1;
        let unknown = self.unknown();
        match (&mut self.cells, &mut self.table) {
            (Some(cells), _) if form == DIRECT => {
                let (from, to) =
                    (cells.indices(digest.salted(old)), cells.indices(digest.salted(code)));
                cells.count(&to, true);
                cells.count(&from, false);
            }
            (Some(cells), _) => cells.write(&cells.indices(digest), code, unknown, 1),
            (None, Some(table)) => table.set(old, code),
            (None, None) => {}
        }
        Ok(())
    }

    /// Removes an existing flow.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.take(self.head.hasher.digest(key), None)
    }

    fn take(&mut self, digest: Digest, state: Option<&[u8]>) -> Result<()> {
        let form = self.head.form;
        let own = self.owned(digest, state)?;
        match (&mut self.cells, &mut self.table) {
            (Some(cells), _) => {
                let digest = if form == DIRECT { digest.salted(own) } else { digest };
                cells.count(&cells.indices(digest), false);
            }
            (None, Some(table)) => table.set(own, 0),
            (None, None) => {}
        }
        self.head.count_off();
        Ok(())
    }

    /// What is a flow's own: its cell of a table, or its state in the form `direct`, that which is named if one is.
    /// Refused if it is not there, or if several could be.
    fn owned(&self, digest: Digest, state: Option<&[u8]>) -> Result<u64> {
        let absent = || Error::new(Kind::NotDeletable, "the flow is not in the filter");
        if let Some(table) = &self.table {
            return table.only(digest);
        }
        if self.head.form == STATEFUL {
            return if self.find(digest) == Code::None { Err(absent()) } else { Ok(0) };
        }
        let passing: Vec<u64> = self.passing(digest).collect();
        let named = state.and_then(|state| self.names.find(state)).map(|number| number + 1);
        match (&passing[..], named) {
            (codes, Some(code)) if codes.contains(&code) => Ok(code),
            ([code], None) => Ok(*code),
            (_, Some(_)) | ([], None) => Err(absent()),
            _ => {
                let message = "the flow seems to be in several states: give the one it is in";
                Err(Error::new(Kind::Ambiguous, message))
            }
        }
    }

    /// Keeps a flow from being timed out at the next tick.
    pub fn touch<K: Key + ?Sized>(&mut self, key: &K) {
        let digest = self.head.hasher.digest(key);
        let codes: Vec<u64> = self.passing(digest).collect();
        let form = self.head.form;
        if let Some(cells) = &mut self.cells {
            let salted = codes.into_iter().map(|code| digest.salted(code));
            let digests: Vec<Digest> = if form == DIRECT { salted.collect() } else { vec![digest] };
            for digest in digests {
                let used = cells.indices(digest);
                let used = used.iter().filter(|i| cells.tallies.cells.get(**i) > 0);
                used.for_each(|&i| _ = cells.touched.set(i));
            }
        }
        if let Some(table) = &mut self.table {
            table.touch(digest);
        }
    }

    /// Lets `ticks` epochs end: each empties everything that was not touched in it.
    pub fn age(&mut self, ticks: u64) {
        for _ in 0..ticks.min(2) {
            if let Some(cells) = &mut self.cells {
                cells.sweep();
            }
            if let Some(table) = &mut self.table {
                table.sweep();
            }
        }
    }

    /// The state of a flow.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Flow {
        match self.find(self.head.hasher.digest(key)) {
            Code::None => Flow::None,
            Code::Unknown => Flow::DontKnow,
            Code::State(code) => Flow::State(self.names.labels()[code as usize - 1].clone()),
        }
    }

    /// Whether the flow may be there.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.find(self.head.hasher.digest(key)) != Code::None
    }

    /// The states that the pairs of a flow pass for, in the form `direct`.
    fn passing(&self, digest: Digest) -> impl Iterator<Item = u64> + '_ {
        let cells = self.cells.as_ref().filter(|_| self.head.form == DIRECT);
        let passes = move |cells: &Cells, code: u64| cells.tallies.contains(digest.salted(code));
        (1..=self.names.len()).filter(move |code| cells.is_some_and(|cells| passes(cells, *code)))
    }

    fn find(&self, digest: Digest) -> Code {
        let one = |codes: &[u64]| match *codes {
            [] => Code::None,
            [code] => Code::State(code),
            _ => Code::Unknown,
        };
        let codes = match (&self.cells, &self.table) {
            (Some(Cells { codes: Some(codes), tallies, .. }), _) => (codes, tallies),
            (_, Some(table)) => {
                let found: Vec<u64> = table.matches(digest).iter().map(|(_, code)| *code).collect();
                return one(&found);
            }
            _ => return one(&self.passing(digest).collect::<Vec<_>>()),
        };
        let (mut state, unknown) = (Code::Unknown, self.unknown());
        let agree = codes.1.probe.all(digest, |i| {
            let code = codes.0.get(i);
            let fits = match state {
                _ if codes.1.cells.get(i) == 0 => false,
                _ if code == unknown => return true,
                Code::State(known) => known == code,
                _ => true,
            };
            state = Code::State(code);
            fits
        });
        if agree { state } else { Code::None }
    }

    /// The code of "don't know".
    fn unknown(&self) -> u64 {
        self.states + 1
    }

    /// P(some state | not there) and P(don't know | not there), from what is in the cells.
    fn rates(&self) -> (f64, f64) {
        match (&self.cells, &self.table) {
            (Some(Cells { codes: Some(codes), tallies, .. }), _) => {
                let (m, k) = (tallies.m() as f64, f64::from(tallies.k()));
                let mut shares = vec![0.0; self.states as usize + 2];
                codes.iter().for_each(|code| shares[code as usize] += 1.0 / m);
                let unknown = shares[self.unknown() as usize];
                let all = libm::pow(unknown, k);
                let states = &shares[1..=self.states as usize];
                (states.iter().map(|share| libm::pow(share + unknown, k) - all).sum(), all)
            }
            (_, Some(table)) => {
                table::rates(table.entries() as f64 / table.buckets() as f64, table.print())
            }
            (Some(cells), None) => pairs(cells.tallies.fpr(), self.names.len() as f64),
            (None, None) => (0.0, 0.0),
        }
    }

    fn check(&self) -> Result<()> {
        let wrong = || Error::corrupt(0, "corrupt filter: states that are not those of its form");
        if !VARIANT.takes("states", self.states) || self.names.len() > self.states {
            return Err(wrong());
        }
        let bits = code_bits(self.states);
        let fits = match (self.head.form, &self.cells, &self.table) {
            (STATEFUL, Some(Cells { codes: Some(codes), tallies, .. }), None) => {
                let known = |code: u64| code <= self.names.len() || code == self.unknown();
                // A state where and only where something is counted.
                let pairs = codes.iter().zip(tallies.cells.iter());
                let mut both = pairs.map(|(code, count)| known(code) && (code > 0) == (count > 0));
                codes.width() == bits && both.all(|fits| fits)
            }
            (DIRECT, Some(Cells { codes: None, .. }), None) => true,
            (FINGERPRINT, None, Some(table)) => {
                return table.check_states(bits, self.names.len());
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(wrong()) }
    }
}

/// A state by its code.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    None,
    Unknown,
    State(u64),
}

impl Stream for StateMachines {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let (m, states) = (shape.flat.m, shape.states);
        let (mut cells, mut table) = (None, None);
        if shape.form == FINGERPRINT {
            let (buckets, print) = shape.table;
            table = Some(Table::new(buckets, print, code_bits(states))?);
        } else {
            let stateful = shape.form == STATEFUL;
            let codes = stateful.then(|| Packed::try_new(m, code_bits(states))).transpose()?;
            let counters = Counters::try_new(m, shape.width)?;
            let tallies = Tallies::over(shape.flat, counters);
            cells = Some(Cells { tallies, codes, touched: Bits::try_new(m)? });
        }
        Ok(Self { head, names: Groups::default(), states, cells, table })
    }
}

face!(StateMachines: Insert, Remove, Lookup, Assign, Age);
planned!(
    StateMachines:
    "A filter for `items` flows, where a share of `fpr` of those that are not there gets some state."
);

impl Filter for StateMachines {
    /// The state, where the record names none; else whether it is that one.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let undecided = Answer { verdict: Verdict::Undecided, detail: Detail::None };
        if record.value.is_none() {
            return Ok(match self.lookup(record.key) {
                Flow::None => Answer::of(false),
                Flow::DontKnow => undecided,
                Flow::State(state) => Answer::of(true).with(Detail::Value(state)),
            });
        }
        let digest = self.head.hasher.digest(record.key);
        let asked = self.names.find(label_of(&record)?).map(|number| number + 1);
        // Of pairs the one that is asked for has to pass.
        let possible =
            |code: u64| self.head.form != DIRECT || self.passing(digest).any(|c| c == code);
        Ok(match (self.find(digest), asked) {
            (Code::State(code), Some(asked)) => Answer::of(code == asked),
            (Code::Unknown, Some(asked)) if possible(asked) => undecided,
            _ => Answer::of(false),
        })
    }

    fn fill(&self) -> Option<f64> {
        let cells = self.cells.as_ref().map(|cells| cells.tallies.used());
        cells.or(self.table.as_ref().map(Table::fill))
    }

    /// Of queries that name a state.
    fn now(&self) -> Rates {
        let (states, (some, unknown)) = (self.names.len().max(1) as f64, self.rates());
        let unknown = match (&self.cells, self.head.form) {
            (Some(cells), DIRECT) => {
                let f = cells.tallies.fpr();
                f - f * libm::pow(1.0 - f, states - 1.0)
            }
            _ => unknown,
        };
        Rates { undecided: Some(unknown), ..Rates::one_sided(some / states) }
    }

    fn describe(&self) -> Vec<Fact> {
        let (some, unknown) = self.rates();
        let mut facts =
            vec![fact("states", self.names.len()), fact("room for states", self.states)];
        if let Some(cells) = &self.cells {
            facts.extend(cells.tallies.describe());
        }
        if let Some(table) = &self.table {
            facts.extend([fact("tables", TABLES), fact("buckets", table.buckets())]);
            facts.push(fact("print", table.print()));
        }
        facts.extend([real("foreign flows with a state", some), real("unknown", unknown)]);
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        match (&self.cells, &self.table) {
            (_, Some(table)) => table.trace(digest),
            (Some(cells), _) if self.head.form == STATEFUL => cells.tallies.trace(digest),
            (Some(cells), _) => {
                let codes = (1..=self.names.len()).map(|code| digest.salted(code));
                codes.flat_map(|digest| cells.tallies.trace(digest)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Insert for StateMachines {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        StateMachines::insert(self, record.key, label_of(&record)?)
    }
}

impl Remove for StateMachines {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        let state = record.value.map(|_| label_of(&record)).transpose()?;
        self.take(self.head.hasher.digest(record.key), state)
    }
}

impl Lookup for StateMachines {
    /// An empty value stands for "don't know".
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self.lookup(key) {
            Flow::None => None,
            Flow::DontKnow => Some(Vec::new()),
            Flow::State(state) => Some(state),
        }
    }
}

impl Assign for StateMachines {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.modify(key, value)
    }
}

impl Age for StateMachines {
    fn age(&mut self, ticks: u64) {
        StateMachines::age(self, ticks);
    }
}

const FINGERPRINT: &str = "fingerprint";
const STATEFUL: &str = "stateful";
const DIRECT: &str = "direct";

const fn form(name: &'static str) -> Form {
    let abilities = &[Ability::Insert, Ability::Remove, Ability::Lookup, Ability::Age];
    Form::exact_while(name, abilities, "only flows in the table are changed and removed")
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<StateMachines>(Facts {
    id: 92,
    slug: "state-machines",
    entry: "§42",
    question: "Which state is this flow in, as flows come, change and go?",
    name: "Approximate concurrent state machines",
    paper: "F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, Beyond Bloom filters: from \
            approximate membership checks to approximate state machines, SIGCOMM 2006",
    family: "keyvalue",
    needs: &["values", "delete", "decay"],
    input: Input::valued(ValueKind::Label),
    meaning: "items are flows, the label of each is its state; the rate bounds absent flows that get a state",
    forms: &[form(FINGERPRINT), form(STATEFUL), form(DIRECT)],
    operations: &[change!(
        StateMachines,
        "touch",
        "Keep flows from timing out at the next tick.",
        [],
        [Keys],
        |filter, given| {
            let there = filter.contains(given.record.key);
            filter.touch(given.record.key);
            Ok(there)
        }
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("states", 1, 1 << 12, "number of states").or(Preset::Integer(16)),
        PARAM_WIDTH,
        Param::integer("print", 1, MAX_PRINT as u64, "bits per fingerprint"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    #[test]
    fn files_with_states_that_cannot_be_are_refused() {
        for form in [FINGERPRINT, STATEFUL, DIRECT] {
            let mut f: StateMachines = empty(&Goal::new(10, 0.1).set("form", form)).unwrap();
            f.insert("x", b"a").unwrap();
            f.insert("y", b"b").unwrap();
            let lies: [fn(&mut StateMachines); 6] = [
                |f| f.states = 0,
                |f| f.states = u64::MAX,
                |f| f.states = 1,
                |f| f.head.form = if f.head.form == DIRECT { STATEFUL } else { DIRECT },
                |f| {
                    // A state without a name, or one where nothing is counted.
                    if let Some(Cells { codes: Some(codes), .. }) = &mut f.cells {
                        (0..codes.len()).for_each(|i| codes.set(i, 7));
                    } else if let Some(table) = &mut f.table {
                        table.set(0, 7);
                    } else {
                        f.cells = None;
                    }
                },
                |f| match &mut f.cells {
                    Some(cells) => cells.touched = Bits::new(1),
                    None => f.table = None,
                },
            ];
            lies_are_refused(&f, lies);
        }
    }
}
