//! The combinatorial Bloom filter, COMB (Hao, Kodialam, Lakshman, Song 2009; catalogue I3; S3 §V-A), and
//! filter banks (S0 §III-M).
//!
//! Which of γ groups is a key in? Every group has a code of Ψ bits, and for each of those bits there is a
//! set of k hash functions into one array that all groups share. Inserting a key uses the sets where the
//! code of its group has a one; a query asks all sets and reads a code back:
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
//! (1 − e)^{Ψ−θ} and is *ambiguous* otherwise, never in a wrong group. A stranger is accepted with
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
//! With `--set layout=chunked` function t of every set stays inside chunk t of an array, so that k memories
//! work in parallel.
//!
//! A query that names a group is answered from the sets: one of its ones is missing, absent; all are there
//! and no other, present; others too, undecided. Without a group, `Undecided` comes with the groups whose
//! codes are covered; where none is, the key is no member, for a member's code always is.
//!
//! **Use it** when every key is in one group and nobody knows how large each group will be. **Don't** when
//! keys are in several groups (`bank`, `omass`, `load-balanced`): their codes add up and they are ambiguous
//! for ever. A bank needs its groups to be of similar size, for each filter is sized for its share.

use crate::cells::Counters;
pub use crate::grouping::code::Code;
use crate::grouping::code::{MAX_CODE_BITS, choose};
use crate::grouping::groups::{Groups, MAX_GROUPS, asked};
use crate::memory::check_room;
use crate::parts::labels::label_of;
use crate::plan::MAX_CELLS;
use crate::probe::{Partitioned, Probe, Scheme};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Groups of keys in code bits, each with hash functions of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Combinatorial {
    head: Head,
    groups: Groups,
    /// γ, the most groups there may be.
    capacity: u64,
    code: Code,
    /// Of one array.
    probe: Probe,
    /// One array, or one for each bit of the code. A bit is a counter that sticks at 1.
    cells: Counters,
}

state!(Combinatorial { head, groups, capacity, code, probe, cells });

/// P(a member is classified right), (1 − e)^{Ψ−θ}.
pub fn classified(e: f64, code: Code) -> f64 {
    libm::pow(1.0 - e, f64::from(code.bits - code.weight))
}

/// P(a stranger is accepted) with `groups` groups, γ·e^θ·(1 − e)^{Ψ−θ}.
pub fn accepted(e: f64, code: Code, groups: f64) -> f64 {
    groups * libm::pow(e, f64::from(code.weight)) * classified(e, code)
}

/// e = ρ^k, P(all k bits of one set are ones by chance), after `sets` sets went into `m` cells.
pub fn set_passes(m: f64, sets: f64, k: f64) -> f64 {
    libm::pow(-libm::expm1(-sets * k / m), k)
}

impl Combinatorial {
    /// A filter of `m` bits in one array with `k` probes for each bit of a fixed-weight code; as many
    /// groups as the code has words.
    ///
    /// ```
    /// use everbloom::filter::Verdict;
    /// use everbloom::grouping::Combinatorial;
    /// use everbloom::grouping::combinatorial::Code;
    ///
    /// let code = Code { bits: 7, weight: 3 };
    /// let mut filter = Combinatorial::with_code(code, 30_000, 7, Default::default())?;
    /// filter.insert("apple", b"fruit")?;
    /// filter.insert("leek", b"vegetable")?;
    /// assert_eq!(filter.classify("leek"), (Verdict::Present, vec![b"vegetable".as_slice()]));
    /// assert_eq!(filter.classify("stone").0, Verdict::Absent);
    /// # Ok::<(), everbloom::error::Error>(())
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
        let flat = Flat { m: m.clamp(1, MAX_CELLS), k: k.clamp(1, crate::probe::MAX_K) };
        let shape = Shape { form: FIXED, groups, code, chunked: false, flat, width: 1 };
        Self::empty(&shape, Head::new(hasher, FIXED))
    }

    /// Where the cells of code bit `b` begin.
    #[inline]
    fn base(&self, b: u64) -> u64 {
        if separate(self.head.form) { b * self.probe.m() } else { 0 }
    }

    /// Whether all cells of code bit `b` are set.
    #[inline]
    fn passes(&self, digest: Digest, b: u64) -> bool {
        let base = self.base(b);
        self.probe.all(digest.salted(b), |i| self.cells.get(base + i) != 0)
    }

    /// Inserts a key of a group; a new group needs a code that is free.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K, group: &[u8]) -> Result<Seen> {
        let g = self.groups.intern(group, self.capacity)?;
        let mut new = false;
        for cell in self.cells_of(self.head.hasher.digest(key), g) {
            new |= self.cells.get(cell) == 0;
            self.cells.increment(cell);
        }
        self.head.count(1);
        Ok(if new { Seen::New } else { Seen::Maybe })
    }

    /// Removes a key that was inserted with this group. Refused, with nothing changed, unless the cells
    /// are counters and all hold what the removal would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K, group: &[u8]) -> Result<()> {
        if self.head.form != COUNTING {
            return Err(Error::new(
                Kind::Unsupported,
                "bits do not know how many keys they serve: build with --set form=counting",
            ));
        }
        let digest = self.head.hasher.digest(key);
        let mut cells = self.groups.find(group).map_or(Vec::new(), |g| self.cells_of(digest, g));
        cells.sort_unstable();
        let enough = |run: &[u64]| self.cells.get(run[0]) >= run.len() as u64;
        if cells.is_empty() || !cells.chunk_by(|a, b| a == b).all(enough) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not in this group: a counter holds less than its removal would take",
            ));
        }
        cells.iter().for_each(|&cell| self.cells.decrement(cell));
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// The cells of a key of group `g`, once per hash.
    fn cells_of(&self, digest: Digest, g: u64) -> Vec<u64> {
        let mut cells = Vec::new();
        self.code.each(g, |b| {
            let base = self.base(b);
            self.probe.each(digest.salted(b), |i| cells.push(base + i));
        });
        cells
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
        if self.head.form == BANK {
            let found: Vec<u64> = all.filter(|&g| self.passes(digest, g)).collect();
            let verdict = if found.is_empty() { Verdict::Absent } else { Verdict::Present };
            return (verdict, found);
        }
        let word = self.word(digest);
        if word == 0 || word.count_ones() < self.code.weight {
            return (Verdict::Absent, Vec::new());
        }
        if let Some(g) = self.code.group(word).filter(|g| all.contains(g)) {
            return (Verdict::Present, vec![g]);
        }
        let found: Vec<u64> = all.filter(|&g| self.code.word(g) & !word == 0).collect();
        (if found.is_empty() { Verdict::Absent } else { Verdict::Undecided }, found)
    }

    /// The code bits whose cells are all set.
    fn word(&self, digest: Digest) -> u64 {
        let bits = 0..u64::from(self.code.bits);
        bits.filter(|&b| self.passes(digest, b)).fold(0, |word, b| word | 1 << b)
    }

    /// Whether the key may be in the group: undecided if it may as well be in another.
    pub fn contains<K: Key + ?Sized>(&self, key: &K, group: &[u8]) -> Verdict {
        let digest = self.head.hasher.digest(key);
        let Some(g) = self.groups.find(group) else { return Verdict::Absent };
        let mut all = true;
        self.code.each(g, |b| all = all && self.passes(digest, b));
        if !all {
            return Verdict::Absent;
        }
        let zeros = |word: u64| (0..u64::from(self.code.bits)).filter(move |b| word >> b & 1 == 0);
        let others =
            self.head.form != BANK && zeros(self.code.word(g)).any(|b| self.passes(digest, b));
        if others { Verdict::Undecided } else { Verdict::Present }
    }

    /// Number of cells in all arrays.
    pub fn m(&self) -> u64 {
        self.cells.len()
    }

    /// Number of cells that are not zero.
    pub fn used(&self) -> u64 {
        self.cells.nonzero()
    }

    /// The codes.
    pub fn code(&self) -> Code {
        self.code
    }

    /// P(all cells of a code bit are set by chance), from the real fill: for the one array, or for each.
    fn chances(&self) -> Vec<f64> {
        let slices = if self.chunked() { u64::from(self.probe.k()) } else { 1 };
        let len = self.probe.m() / slices;
        let power = if slices > 1 { 1.0 } else { f64::from(self.probe.k()) };
        let share = |start: u64| {
            let used = (start..start + len).filter(|&i| self.cells.get(i) != 0).count();
            libm::pow(used as f64 / len as f64, power)
        };
        let array = |a: u64| (0..slices).map(|s| share((a * slices + s) * len)).product();
        (0..self.cells.len() / self.probe.m()).map(array).collect()
    }

    fn chunked(&self) -> bool {
        self.probe.scheme() == Scheme::Partitioned
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let form = self.head.form;
        let fits = (1..=MAX_GROUPS).contains(&self.capacity)
            && self.groups.len() <= self.capacity
            && self.code.room() >= self.capacity
            && match form {
                BANK => self.code == Code { bits: self.capacity as u32, weight: 1 },
                _ => self.code.bits <= MAX_CODE_BITS && (self.code.weight == 0) == plain(form),
            };
        if !fits {
            return wrong("codes and groups do not fit each other");
        }
        let arrays = if separate(form) { self.code.bits } else { 1 };
        if self.probe.m().checked_mul(arrays.into()) != Some(self.cells.len()) {
            return wrong("the probes leave their array");
        }
        let own = Probe::over(self.probe.m(), self.probe.k());
        if !self.chunked() && self.probe != own {
            return wrong("a probe scheme that is not its own");
        }
        if form != COUNTING && self.cells.width() != 1 {
            return wrong("counters where bits should be");
        }
        Ok(())
    }
}

/// Whether every code bit has an array of its own.
fn separate(form: &str) -> bool {
    matches!(form, BANK | CODE_BANK)
}

/// Whether codes are the numbers of the groups, of any weight.
fn plain(form: &str) -> bool {
    matches!(form, PLAIN | CODE_BANK)
}

/// The rates of queries that name a group, averaged over the first `groups` of a code: present and
/// undecided; and the share of members that are classified right. `chance` is e of a code bit.
fn rates(code: Code, bank: bool, groups: u64, chance: impl Fn(u64) -> f64) -> (f64, f64, f64) {
    let (mut present, mut undecided, mut right) = (0.0, 0.0, 0.0);
    for g in 0..groups {
        let mut all = 1.0;
        code.each(g, |b| all *= chance(b));
        let others = |word: u64| (0..code.bits.into()).filter(move |b| word >> b & 1 == 0);
        let alone: f64 =
            if bank { 1.0 } else { others(code.word(g)).map(|b| 1.0 - chance(b)).product() };
        present += all * alone;
        undecided += all * (1.0 - alone);
        right += alone;
    }
    let n = groups.max(1) as f64;
    (present / n, undecided / n, right / n)
}

/// Form, groups, code, layout, one array's cells and probes, and bits per cell.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    form: &'static str,
    groups: u64,
    code: Code,
    chunked: bool,
    flat: Flat,
    width: u32,
}

impl Shape {
    /// All but the size, which the goal decides.
    fn coded(request: &Request<'_>) -> Result<Self> {
        let form = request.form();
        let groups = request.integer("groups").unwrap_or(16);
        let [bits, weight] =
            ["code-bits", "weight"].map(|name| request.integer(name).map(|v| v as u32));
        let code = match form {
            BANK => Code { bits: bits.unwrap_or(groups as u32), weight: weight.unwrap_or(1) },
            PLAIN | CODE_BANK => {
                let needed = 64 - groups.leading_zeros();
                Code { bits: bits.unwrap_or(needed), weight: weight.unwrap_or(0) }
            }
            _ => match (bits, weight) {
                (None, None) => Code::shortest(groups),
                (Some(bits), weight) => {
                    let light = (1..=bits).find(|&w| choose(bits, w) >= groups);
                    Code { bits, weight: weight.or(light).unwrap_or(bits / 2).max(1) }
                }
                (None, Some(weight)) => {
                    let fits = |bits: &u32| choose(*bits, weight) >= groups;
                    let bits = (weight..=MAX_CODE_BITS).find(fits);
                    Code { bits: bits.unwrap_or(MAX_CODE_BITS), weight }
                }
            },
        };
        let fits = match form {
            BANK => code == Code { bits: groups as u32, weight: 1 },
            _ => (code.weight == 0) == plain(form) && code.weight <= code.bits,
        };
        if !fits || code.room() < groups {
            return Err(Error::parameter(format!(
                "a code of {} bits and weight {} has no word for each of {groups} groups in the form \
                 {form}: leave out code-bits or weight",
                code.bits, code.weight
            )));
        }
        Ok(Self {
            form,
            groups,
            code,
            chunked: request.choice("layout") == Some(CHUNKED),
            flat: Flat { m: 1, k: 1 },
            width: if form == COUNTING { request.integer("width").unwrap_or(4) as u32 } else { 1 },
        })
    }

    fn arrays(&self) -> u64 {
        if separate(self.form) { self.code.bits.into() } else { 1 }
    }

    fn probe(&self) -> Probe {
        let Flat { m, k } = self.flat;
        if self.chunked {
            Probe::Partitioned(Partitioned::new(m / u64::from(k), k))
        } else {
            Probe::over(m, k)
        }
    }

    /// How many of the groups use each array, and how often all of them use it.
    fn uses(&self) -> Vec<u64> {
        let mut uses = vec![0; self.arrays() as usize];
        let last = uses.len() - 1;
        (0..self.groups).for_each(|g| self.code.each(g, |b| uses[(b as usize).min(last)] += 1));
        uses
    }

    /// The chance e of a set at which neither error is above `p`: strangers accepted, and members not
    /// classified. A member of a plain code may have Ψ − 1 zeros, a stranger Ψ.
    fn chance(&self, p: f64) -> f64 {
        let of = |zeros: f64| -libm::expm1(libm::log1p(-p) / zeros);
        match self.form {
            BANK => p,
            form if plain(form) => of(self.code.bits.into()),
            _ => {
                let Code { bits, weight } = self.code;
                let zeros = if bits > weight { of((bits - weight).into()) } else { 1.0 };
                zeros.min(libm::pow(p / self.groups as f64, 1.0 / f64::from(weight)))
            }
        }
    }

    /// The same shape with the least array for `sets` sets at chance `e`, or infinitely many cells.
    fn sized(&self, sets: f64, e: f64, k_set: Option<u32>) -> (f64, u32) {
        let best = (-libm::log2(e)).floor().clamp(1.0, f64::from(crate::probe::MAX_K - 1)) as u32;
        let ks = k_set.map_or(best..=best + 1, |k| k..=k);
        let cells = |k: u32| {
            let kf = f64::from(k);
            let m = kf * sets / -libm::log1p(-libm::pow(e, 1.0 / kf));
            if self.chunked { (m / kf).ceil().max(1.0) * kf } else { m.ceil().max(1.0) }
        };
        let sizes = ks.map(|k| (cells(k), k));
        sizes.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 1))
    }
}

impl Plan for Combinatorial {
    type Shape = Shape;

    /// The rate bounds both errors: strangers accepted, and members not classified. Arrays are all sized
    /// for the one that most groups use, if groups are of equal size.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let mut shape = Shape::coded(request)?;
        let most = shape.uses().into_iter().max().unwrap_or(0) as f64 / shape.groups as f64;
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        let (arrays, width) = (shape.arrays() as f64, f64::from(shape.width));
        if let Some(m) = request.integer(PARAM_M.name) {
            let m = m / shape.arrays();
            let k = match (k_set, request.goal_items()) {
                (Some(k), _) => k,
                (None, Some(n)) => theory::best_k(m.max(1), (n as f64 * most).ceil() as u64),
                (None, None) => {
                    return Err(Error::parameter(
                        "--set m without k needs -n, to choose the best k",
                    ));
                }
            };
            let k64 = u64::from(k);
            let m = if shape.chunked { m / k64 * k64 } else { m };
            if m == 0 {
                return Err(Error::parameter(
                    "--set m: there is not a cell for each array or chunk",
                ));
            }
            shape.flat = Flat { m, k };
        } else {
            let sized = |n: u64, p: f64| shape.sized(n as f64 * most, shape.chance(p), k_set);
            let (n, p) = request.items_and_rate(|n, p| sized(n, p).0 * arrays * width)?;
            let (m, k) = sized(n, p);
            let fits = m * arrays <= MAX_CELLS as f64;
            if !fits {
                return Err(Error::parameter(format!(
                    "{n} items at a rate of {p} need {m:e} cells in {arrays} arrays, more than \
                     {MAX_CELLS}: ask for fewer items or a higher rate"
                )));
            }
            shape.flat = Flat { m: m as u64, k };
        }
        check_room((shape.flat.m * shape.arrays()).saturating_mul(shape.width.into()))?;
        Ok(shape)
    }

    /// For groups of equal size. The fill varies with the throws, and with how many keys a group gets.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, Flat { m, k }) = (load.distinct as f64, shape.flat);
        let (m, k, groups) = (m as f64, f64::from(k), shape.groups as f64);
        // A set of k probes misses a given cell; one probe of them, where each has a chunk.
        let miss = if shape.chunked { 1.0 - k / m } else { libm::pow(1.0 - 1.0 / m, k) };
        let spread = |sets: f64| match shape.chunked {
            true => theory::fill_sd(m / k, sets) / k.sqrt(),
            false => theory::fill_sd(m, sets * k),
        };
        let arrays = shape.arrays() as f64;
        let zeros: Vec<f64> = if separate(shape.form) {
            let used = |uses: u64| libm::log1p(-(uses as f64 / groups) * (1.0 - miss));
            shape.uses().into_iter().map(|uses| libm::exp(n * used(uses))).collect()
        } else {
            let missed = |g| libm::pow(miss, f64::from(shape.code.word(g).count_ones()));
            let mean = (0..shape.groups).map(missed).sum::<f64>() / groups;
            vec![libm::exp(n * libm::log(mean))]
        };
        let last = zeros.len() - 1;
        let zero = |b: u64| zeros[(b as usize).min(last)];
        let throws: f64 =
            shape.uses().iter().map(|uses| spread(n * *uses as f64 / groups).powi(2)).sum();
        // To first order, a key of group g fills this much of all cells.
        let share = |g: u64| {
            let mut sum = 0.0;
            shape.code.each(g, |b| sum -= libm::log(miss) * zero(b) / arrays);
            sum
        };
        let mean = (0..shape.groups).map(share).sum::<f64>() / groups;
        let variance = (0..shape.groups).map(|g| (share(g) - mean).powi(2)).sum::<f64>() / groups;
        let fill = 1.0 - zeros.iter().sum::<f64>() / arrays;
        let sd = (throws / (arrays * arrays) + n * variance).sqrt();
        let chance = |b: u64| libm::pow(1.0 - zero(b), k);
        let (fpr, undecided, _) = rates(shape.code, shape.form == BANK, shape.groups, chance);
        let bits = shape.flat.m * shape.arrays() * u64::from(shape.width);
        Some(Expect { fpr, fnr: 0.0, undecided, bits, fill: Some((fill, sd)) })
    }
}

impl Stream for Combinatorial {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self {
            head,
            groups: Groups::default(),
            capacity: shape.groups,
            code: shape.code,
            probe: shape.probe(),
            cells: Counters::new(shape.flat.m * shape.arrays(), shape.width),
        })
    }
}

face!(Combinatorial: Insert, Remove);

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
            fact("k", self.probe.k()),
            fact("groups", self.groups.len()),
            fact("most groups", self.capacity),
            fact("code bits", self.code.bits),
            fact("code weight", self.code.weight),
            fact("bits per cell", self.cells.width()),
        ];
        if self.head.form != BANK {
            facts.push(real("members classified", right));
            facts.push(real("strangers accepted", present * self.groups.len() as f64));
        }
        facts
    }
}

impl Combinatorial {
    fn rates(&self) -> (f64, f64, f64) {
        let chances = self.chances();
        let last = chances.len() - 1;
        let chance = |b: u64| chances[(b as usize).min(last)];
        rates(self.code, self.head.form == BANK, self.groups.len(), chance)
    }
}

impl Insert for Combinatorial {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Combinatorial::insert(self, record.key, label_of(&record)?)
    }
}

impl Remove for Combinatorial {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Combinatorial::remove(self, record.key, label_of(&record)?)
    }
}

const FIXED: &str = "fixed-weight";
const COUNTING: &str = "counting";
const PLAIN: &str = "plain";
const BANK: &str = "bank";
const CODE_BANK: &str = "code-bank";
const CHUNKED: &str = "chunked";

const fn form(name: &'static str) -> Form {
    Form { name, abilities: &[Ability::Insert], false_negatives: FalseNegatives::Never }
}

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 38,
        slug: "combinatorial",
        entry: "I3",
        name: "Combinatorial Bloom filter",
        paper: "F. Hao, M. Kodialam, T. V. Lakshman, H. Song, Fast dynamic multiset membership \
                testing using combinatorial Bloom filters, INFOCOM 2009",
        family: "grouping",
        needs: &["groups", "delete", "parallel"],
        input: Input::valued(ValueKind::Label),
        meaning: "items are keys, the label of each is its group; the rate bounds the strangers that are \
                  accepted without naming a group and the members whose group is not told, in a bank the \
                  false positives of one group",
        forms: &[
            form(FIXED),
            Form {
                name: COUNTING,
                abilities: &[Ability::Insert, Ability::Remove],
                false_negatives: FalseNegatives::NeverWhile(
                    "only keys that were inserted with a group are removed from it",
                ),
            },
            form(PLAIN),
            form(BANK),
            form(CODE_BANK),
        ],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "groups",
                range: Range::Integer(1, MAX_GROUPS),
                default: Preset::Integer(16),
                help: "most groups there may be; banks share their memory among so many",
            },
            Param {
                name: "code-bits",
                range: Range::Integer(1, MAX_CODE_BITS as u64),
                default: Preset::Planned,
                help: "bits of a group's code; by default the fewest",
            },
            Param {
                name: "weight",
                range: Range::Integer(1, MAX_CODE_BITS as u64),
                default: Preset::Planned,
                help: "ones in a code of fixed weight; by default the fewest",
            },
            Param {
                name: "width",
                range: Range::Integer(1, 16),
                default: Preset::Integer(4),
                help: "bits per counter in the counting form",
            },
            Param {
                name: "layout",
                range: Range::Choice(&["shared", CHUNKED]),
                default: Preset::Choice("shared"),
                help: "probes anywhere in an array, or each in its chunk of it",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Combinatorial>(),
};
