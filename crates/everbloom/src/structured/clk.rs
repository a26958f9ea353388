//! Cryptographic long-term keys for record linkage (Schnell, Bachteler, Reiher 2009 and 2011; catalogue §47; S3 ref.
//! 55 §III-C).
//!
//! Is this person in that register, although the name is misspelled and nobody may show names? Every record becomes
//! a Bloom filter of its own: each field is padded and cut into pieces of q letters, and each piece sets k bits
//! under a secret key that both sides share. Similar records share most pieces, and so most bits:
//!
//! ```text
//!   SMITH   _S SM MI IT TH H_   ─▶  0 1 1 0 1 0 0 1 1 0 1 0      Dice = 2·|A ∧ B| / (|A| + |B|)
//!   SMYTH   _S SM MY YT TH H_   ─▶  0 1 1 0 0 0 1 1 1 0 1 0      4 of 6 pieces shared: 0.67, and 0.70 by the bits
//! ```
//!
//! Two records match if their Dice coefficient reaches a threshold. Bits that pieces share by chance raise it the
//! more the fuller the filters are. Fields may have lengths of pieces and numbers of bits of their own: a field with
//! more bits counts more.
//!
//! The set is the list of its records' filters. A query encodes its record and compares it with all of them, 64 bits
//! at a time; those with far more or fewer ones than it are skipped.
//!
//! With `salt=first` the first field is hashed along with all pieces and not compared itself (a year of birth, say):
//! frequent pieces then have other bits in every year. With `balance=yes` every filter is followed by its
//! complement, so that all have equally many ones; Dice is then the share of equal bits, and the threshold higher.
//!
//! **Use it** to link registers whose owners share only a key. **Don't** think of it as encryption: frequent pieces
//! leave frequent bits, and attacks on those are published. Without a secret key, anyone can test names. With
//! different keys, the Dice coefficient is that of unrelated records.

use smallvec::SmallVec;

use crate::cells::{Bits, ones as ones_of};
use crate::error::agree;
use crate::memory::prefetch;
use crate::parts::labels::shown;
use crate::probe::MAX_K;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// Records as Bloom filters of their pieces, compared by Dice.
///
/// ```
/// let mut register = everbloom::structured::Clk::with_rate(1000, 0.01)?;
/// register.insert(&[b"SMITH", b"JOHN", b"1980"])?;
/// assert_eq!(register.best(&[b"SMITH", b"JOHN", b"1980"])?, 1.0);
/// assert!(register.best(&[b"SMYTH", b"JOHN", b"1980"])? > 0.8);
/// assert!(register.best(&[b"MILLER", b"EVE", b"1971"])? < 0.5);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clk {
    head: Head,
    /// Bits per record, before they are balanced.
    m: u64,
    /// Dice from which on records match.
    threshold: f64,
    /// How each field is encoded; a single rule is that of all fields.
    rules: Vec<Rule>,
    /// Fields per record; 0 as long as none has come.
    fields: u64,
    /// 1 if the first field is a salt.
    salted: u32,
    /// 1 if filters are followed by their complements.
    balanced: u32,
    rows: Vec<Bits>,
    /// Ones of each row.
    ones: Vec<u64>,
}

state!(Clk { head, m, threshold, rules, fields, salted, balanced, rows, ones });

/// How a field is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Letters per piece.
    pub letters: u32,
    /// Bits per piece: the field's weight.
    pub k: u32,
}

state!(Rule { letters, k });

impl Rule {
    fn check(&self) -> Result<()> {
        let letters = (1..=MAX_LETTERS).contains(&u64::from(self.letters));
        if letters && (1..=MAX_K).contains(&self.k) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: pieces that are none"))
    }

    /// Calls `f` with the pieces of a field, padded at both ends; an empty one has none.
    fn pieces(self, field: &[u8], f: impl FnMut(&[u8])) {
        if field.is_empty() {
            return;
        }
        let padding = self.letters as usize - 1;
        let mut padded: SmallVec<[u8; 64]> = SmallVec::new();
        padded.resize(padding, PAD);
        padded.extend_from_slice(field);
        padded.resize(padded.len() + padding, PAD);
        padded.windows(self.letters as usize).for_each(f);
    }
}

impl Clk {
    /// An empty list of records of `m` bits whose fields are encoded by these rules, one for each field or one for
    /// all, and match from a Dice coefficient of `threshold` on.
    pub fn with_rules(m: u64, rules: &[Rule], threshold: f64, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("m", m).set("threshold", threshold);
        let clk: Clk = empty(&Goal { items: Some(1), ..goal })?;
        if rules.is_empty() || rules.len() > MAX_FIELDS || rules.iter().any(|r| r.check().is_err())
        {
            let message = format!(
                "1 to {MAX_FIELDS} rules, each of 1 to {MAX_LETTERS} letters and 1 to {MAX_K} bits per piece"
            );
            return Err(Error::parameter(message));
        }
        Ok(Self { rules: rules.to_vec(), ..clk })
    }

    /// The fields that are compared, each with its rule, and the salt.
    fn split<'a>(&self, record: &'a [&'a [u8]]) -> Result<(&'a [u8], &'a [&'a [u8]])> {
        let (found, rules) = (record.len(), self.rules.len());
        let (salt, compared) = match (self.salted, record.split_first()) {
            (1, Some((salt, rest))) => (*salt, rest),
            _ => (&b""[..], record),
        };
        let wanted = if rules == 1 { self.fields as usize } else { rules + self.salted as usize };
        if compared.is_empty() || (wanted != 0 && found != wanted) || found > MAX_FIELDS {
            let first = record.first().map_or_else(String::new, |field| shown(field));
            return Err(Error::record(format!(
                "the record of {first} has {found} fields; the others have {wanted}, at most {MAX_FIELDS}"
            )));
        }
        Ok((salt, compared))
    }

    /// The filter of a record: what may be shown instead of it.
    pub fn encode(&self, record: &[&[u8]]) -> Result<Bits> {
        let (salt, fields) = self.split(record)?;
        let salt = self.head.hasher.digest(salt).word(SALT);
        let mut bits = Bits::try_new(self.row_bits())?;
        for (i, field) in (0..).zip(fields) {
            let rule = self.rules.get(i as usize).unwrap_or(&self.rules[0]);
            let own = if self.salted == 1 { salt ^ i } else { i };
            rule.pieces(field, |piece| self.set(&mut bits, own, piece, rule.k));
        }
        self.balance(&mut bits);
        Ok(bits)
    }

    /// The filter of a record that is cut by other rules than windows of letters: its pieces, each with the number
    /// of its field and of the bits that it sets, as few as it is worth.
    ///
    /// ```
    /// let register = everbloom::structured::Clk::with_rate(1000, 0.01)?;
    /// let bits = register.encode_pieces([(0, &b"_S"[..], 15), (0, b"SM", 15), (1, b"1980", 40)])?;
    /// assert!((1..=70).contains(&bits.ones()));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn encode_pieces<'a>(
        &self,
        pieces: impl IntoIterator<Item = (u64, &'a [u8], u32)>,
    ) -> Result<Bits> {
        let mut bits = Bits::try_new(self.row_bits())?;
        for (field, piece, k) in pieces {
            self.set(&mut bits, field, piece, k.min(MAX_K));
        }
        self.balance(&mut bits);
        Ok(bits)
    }

    /// Sets the k bits of a piece, hashed for its field.
    fn set(&self, bits: &mut Bits, field: u64, piece: &[u8], k: u32) {
        let Digest { h1, h2 } = self.head.hasher.digest(piece).salted(field);
        let (mut at, step) = (h1 % self.m, h2 % self.m);
        for _ in 0..k {
            bits.set(at);
            at = (at + step) % self.m;
        }
    }

    /// Lets the complement follow, where filters are balanced.
    fn balance(&self, bits: &mut Bits) {
        if self.balanced == 1 {
            (0..self.m).for_each(|i| {
                if !bits.get(i) {
                    bits.set(self.m + i);
                }
            });
        }
    }

    fn row_bits(&self) -> u64 {
        self.m << self.balanced
    }

    /// Adds a record to the list.
    pub fn insert(&mut self, record: &[&[u8]]) -> Result<Seen> {
        let bits = self.encode(record)?;
        let seen = Seen::new_if(!self.rows.contains(&bits));
        self.fields = record.len() as u64;
        self.push(bits);
        Ok(seen)
    }

    /// Adds a record that its owner has encoded, with as many bits as all have.
    pub fn insert_encoded(&mut self, bits: Bits) -> Result<()> {
        agree("m", self.row_bits(), bits.len())?;
        self.fields = self.fields.max(1);
        self.push(bits);
        Ok(())
    }

    fn push(&mut self, bits: Bits) {
        self.ones.push(bits.ones());
        self.rows.push(bits);
        self.head.count_one();
    }

    fn each(&self, bits: &Bits, least: f64, f: impl FnMut(usize, f64)) {
        each_near(&self.rows, &self.ones, bits, least, f);
    }

    /// The highest Dice coefficient of a record with any in the list; zero in an empty one.
    pub fn best(&self, record: &[&[u8]]) -> Result<f64> {
        Ok(self.best_of(&self.encode(record)?, 0.0))
    }

    fn best_of(&self, bits: &Bits, least: f64) -> f64 {
        let mut best = 0.0f64;
        self.each(bits, least, |_, dice| best = best.max(dice));
        best
    }

    /// The records that match, by their numbers in the list from 0, with their Dice coefficients.
    pub fn matches(&self, record: &[&[u8]]) -> Result<Vec<(usize, f64)>> {
        Ok(self.matches_of(&self.encode(record)?))
    }

    /// [`Clk::matches`] of a record that its owner has encoded.
    pub fn matches_of(&self, bits: &Bits) -> Vec<(usize, f64)> {
        let mut found = Vec::new();
        if bits.len() == self.row_bits() {
            self.each(bits, self.threshold, |i, dice| {
                if dice >= self.threshold {
                    found.push((i, dice));
                }
            });
        }
        found
    }

    /// The filters of all records.
    pub fn rows(&self) -> &[Bits] {
        &self.rows
    }

    fn check(&self) -> Result<()> {
        let bad = || Err(Error::corrupt(0, "corrupt filter: records that do not fit"));
        let flags = self.salted <= 1 && self.balanced <= 1;
        let known = VARIANT.takes("m", self.m) && (0.0..=1.0).contains(&self.threshold);
        let rules = (1..=MAX_FIELDS).contains(&self.rules.len());
        if !flags || !known || !rules || self.fields > MAX_FIELDS as u64 {
            return bad();
        }
        let rows = self.rows.len() == self.ones.len()
            && self
                .rows
                .iter()
                .zip(&self.ones)
                .all(|(row, ones)| row.len() == self.row_bits() && row.ones() == *ones);
        if rows && (self.fields > 0 || self.rows.is_empty()) { Ok(()) } else { bad() }
    }
}

/// The Dice coefficient of filters that share `shared` ones and have `both` together; zero if neither has any.
fn dice_of(shared: u64, both: f64) -> f64 {
    if both > 0.0 { 2.0 * number(shared) / both } else { 0.0 }
}

/// A number of ones. With a sign, since that is one instruction, and a dozen without.
#[inline(always)]
fn number(ones: u64) -> f64 {
    ones.cast_signed() as f64
}

/// Rows that are prefetched before one is compared.
const AHEAD: usize = 8;
/// Words of a cache line.
const LINE: usize = 8;

/// Calls `f` with the number of each filter of `rows` and its Dice coefficient with `bits`, if that may reach `least`.
/// `ones` are those of the rows.
pub fn each_near(
    rows: &[Bits],
    ones: &[u64],
    bits: &Bits,
    least: f64,
    mut f: impl FnMut(usize, f64),
) {
    let ours = bits.ones();
    let both = |theirs: u64| number(ours + theirs);
    // No more ones can be shared than the smaller has.
    let may = |theirs: u64| 2.0 * number(ours.min(theirs)) >= least * both(theirs);
    let near = rows.iter().zip(ones).enumerate().filter(|(_, (_, theirs))| may(**theirs));
    let near = near.map(|(i, (row, _))| {
        // Every row has a place of its own in memory, which no processor foresees.
        let ahead = rows.get(i + AHEAD).map_or(&[][..], Bits::words);
        ahead.chunks(LINE).for_each(|line| prefetch(line.as_ptr().cast()));
        (i, row.words())
    });
    ones_of::in_each(near, bits.words(), |i, shared| f(i, dice_of(shared, both(ones[i]))));
}

/// The Dice coefficient of two filters of equal length.
pub fn dice(a: &Bits, b: &Bits) -> f64 {
    dice_of(a.ones_in_both(b), (a.ones() + b.ones()) as f64)
}

/// The Dice coefficient that two records of `a` and `b` pieces, of which `shared` are the same, have on average in
/// `m` bits with `k` for each piece.
pub fn expected_dice(m: f64, k: f64, a: f64, b: f64, shared: f64) -> f64 {
    let fill = |pieces: f64| bloom::fill(m, k * pieces);
    2.0 * (fill(a) + fill(b) - fill(a + b - shared)) / (fill(a) + fill(b))
}

/// How records are encoded.
#[derive(Clone, Debug)]
pub struct Shape {
    m: u64,
    rule: Rule,
    threshold: f64,
    salted: bool,
    balanced: bool,
}

impl Plan for Clk {
    type Shape = Shape;

    /// Records all have the same bits: the memory bounds their number, and a rate says nothing.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let (m, k) = (request.whole("m"), request.whole("k") as u32);
        let balanced = request.choice("balance") == Some("yes");
        let row = m << u32::from(balanced);
        if request.goal_bits().is_some() || request.goal_items().is_some() {
            request.items_and_rate(|n, _| n as f64 * row as f64)?;
        }
        Ok(Shape {
            m,
            rule: Rule { letters: request.whole("letters") as u32, k },
            threshold: request.number("threshold"),
            salted: request.choice("salt") == Some("first"),
            balanced,
        })
    }

    /// What passes depends on how alike records are.
    fn expect(_shape: &Shape, _load: &Load) -> Option<Expect> {
        None
    }
}

impl Stream for Clk {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self {
            head,
            m: shape.m,
            threshold: shape.threshold,
            rules: vec![shape.rule],
            fields: 0,
            salted: shape.salted.into(),
            balanced: shape.balanced.into(),
            rows: Vec::new(),
            ones: Vec::new(),
        })
    }
}

face!(Clk: Insert, Merge);
planned!(Clk: "An empty list of records of 1000 bits each, which match at a Dice coefficient of at least 0.8.");

impl Filter for Clk {
    /// Present if some record matches, with the highest Dice coefficient.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let best = self.best_of(&self.encode(&record.attributes()?)?, self.threshold);
        Ok(Answer::of(best >= self.threshold && !self.rows.is_empty()).with(Detail::Score(best)))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m),
            fact("k", self.rules[0].k),
            fact("letters", self.rules[0].letters),
            real("threshold", self.threshold),
        ]
    }

    /// The bits of a record's filter, with how many records have them.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let bits = Record::key(key).attributes().and_then(|record| self.encode(&record));
        let Ok(bits) = bits else { return Vec::new() };
        let set: Vec<u64> = (0..bits.len()).filter(|i| bits.get(*i)).collect();
        touched(&set, |i| self.rows.iter().filter(|row| row.get(i)).count() as u64)
    }
}

impl Insert for Clk {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Clk::insert(self, &record.attributes()?)
    }
}

impl Merge for Clk {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Clk = other.as_same()?;
        self.head.agree(&other.head)?;
        agree("m", self.m, other.m)?;
        agree("threshold", self.threshold, other.threshold)?;
        agree("salt", self.salted, other.salted)?;
        agree("balance", self.balanced, other.balanced)?;
        if self.rules != other.rules {
            return Err(Error::incompatible("rules", "some pieces", "others"));
        }
        if self.fields != 0 && other.fields != 0 {
            agree("fields", self.fields, other.fields)?;
        }
        self.fields = self.fields.max(other.fields);
        self.rows.extend_from_slice(&other.rows);
        self.ones.extend_from_slice(&other.ones);
        self.head.count(other.head.items);
        Ok(())
    }
}

const MAX_LETTERS: u64 = 16;
const MAX_FIELDS: usize = 64;
const PAD: u8 = b'_';
const SALT: u64 = 0x7361_6C74_0000_0001;

fn example(i: u64) -> Vec<u8> {
    let mut rest = crate::hash::mix64(i);
    let mut letters = |count: usize| {
        let mut name = String::new();
        for _ in 0..count {
            name.push((b'a' + (rest % 26) as u8).into());
            rest /= 26;
        }
        name
    };
    let (name, place) = (letters(6), letters(6));
    format!("{name}\t{place}\t{i}").into_bytes()
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Clk>(Facts {
    id: 97,
    slug: "clk",
    entry: "§47",
    question: "Do two records belong to the same person, despite typing errors?",
    name: "Cryptographic long-term keys",
    paper: "R. Schnell, T. Bachteler, J. Reiher, Privacy-preserving record linkage using Bloom filters, BMC \
            Medical Informatics and Decision Making 9:41, 2009",
    family: "structured",
    needs: &["similar", "attributes", "merge"],
    input: Input::of(KeyKind::Attributes).with_examples(example),
    meaning: "items are records; the share of others that pass depends on their similarity, not on a rate",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert, Ability::Merge],
        "a record similar to a member may be missed, but never a member itself",
    )],
    params: &[
        Param::integer("m", 2, 1 << 20, "bits per record").or(Preset::Integer(1000)),
        Param::integer("k", 1, MAX_K as u64, "bits per piece of a field").or(Preset::Integer(15)),
        Param::integer("letters", 1, MAX_LETTERS, "q, letters per piece").or(Preset::Integer(2)),
        Param::real("threshold", 0.0, 1.0, "lowest Dice coefficient of a match")
            .or(Preset::Real(0.8)),
        Param::first_of(
            "salt",
            &["none", "first"],
            "whether the first field is a salt of the others",
        ),
        Param::first_of(
            "balance",
            &["no", "yes"],
            "whether filters are followed by their complements",
        ),
    ],
    reach: 5_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;
    use crate::{Opener, to_bytes};

    #[test]
    fn pieces_are_those_of_windows_and_rows_may_come_encoded() {
        let mut list = Clk::with_rate(5, 0.01).unwrap();
        let record: &[&[u8]] = &[b"Al", b"X"];
        let pieces = [(0, "_A"), (0, "Al"), (0, "l_"), (1, "_X"), (1, "X_")];
        let bits = list.encode_pieces(pieces.map(|(field, p)| (field, p.as_bytes(), 15))).unwrap();
        assert_eq!(bits, list.encode(record).unwrap());
        list.insert_encoded(bits.clone()).unwrap();
        assert_eq!(list.matches_of(&bits), [(0, 1.0)]);
        assert_eq!(Opener::new().decode_as::<Clk>(&to_bytes(&list)).unwrap(), list);
        assert!(list.insert_encoded(Bits::try_new(999).unwrap()).is_err());
    }

    #[test]
    fn files_of_records_that_do_not_fit_are_refused() {
        let mut good = Clk::with_rate(5, 0.01).unwrap();
        good.insert(&[b"Ann", b"Rome"]).unwrap();
        let lies: [fn(&mut Clk); 8] = [
            |f| f.ones[0] += 1,
            |f| f.ones.push(0),
            |f| f.m = 999,
            |f| f.balanced = 1,
            |f| f.rules.clear(),
            |f| f.rules[0].letters = 0,
            |f| f.threshold = f64::NAN,
            |f| f.fields = 0,
        ];
        lies_are_refused(&good, lies);
    }
}
