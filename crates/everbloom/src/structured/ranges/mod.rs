//! Range queries over segmented attributes (catalogue §24; S0 ref. 129 §IV-F).
//!
//! Which ids have a value between 250 and 450? A filter can only be asked for single keys, so the values of every
//! attribute are cut into G segments, and each segment has a filter of the ids whose value lies in it:
//!
//! ```text
//!   below │ 0 ─── 100 ─── 200 ─── 300 ─── 400 ─── 500 ─ … ─ 1000 │ above
//!    ids  │  ids      ids     ids     ids     ids                │  ids
//!                              └── 250..450 meets three ──┘
//! ```
//!
//! A query names an id and a range for each attribute: it has to be in *some* segment that meets the range, for
//! *every* attribute. A segment has its lower bound and not its upper one. What lies outside all segments has a
//! segment of its own at either end. No id whose values are in range is missed; three kinds of others pass:
//!
//! * by hashing: 1 − (1−f)^g for the g segments of an attribute;
//! * by granularity: ids that share a segment with the end of a range. Ranges that end at bounds have none;
//! * those whose values fit, each, in some segment of the range, which is what was asked for.
//!
//! Bounds are quantiles of the values that the filter is built from, so that segments hold equally many ids
//! however the values are spread, or of equal width, between `low` and `high` if those are set. A segment that
//! more ids fall into than planned is made as much larger.
//!
//! A record is `ID`, a TAB, and a value for each attribute; a query has a range `LOW..HIGH` in place of a value, or
//! nothing at all, which means any. A value in a query is the segment that it lies in.
//!
//! **Use it** to find the few of many holders (peers, files, shards) that may have an id in a range. **Don't** to
//! list ids: you can only query ids that you know.

mod segments;
mod shape;

pub use shape::Shape;

use segments::{Segments, Span};

use crate::filter::{number, range};
use crate::variant::prelude::*;

/// Ids with the values of their attributes, in a filter for each segment.
///
/// ```
/// let mut ages = everbloom::structured::Ranges::builder()
///     .items(100)
///     .set("bounds", "equal")
///     .set("low", 0.0)
///     .set("high", 100.0)
///     .build_from(["ann\t34", "bob\t71"])?;
/// ages.insert(b"eve", &[34.5])?;
/// assert!(ages.contains(b"ann", &[Some(30.0..40.0)])?);
/// assert!(!ages.contains(b"bob", &[Some(0.0..50.0)])?);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    head: Head,
    /// The segments of each attribute.
    attributes: Vec<Segments>,
}

state!(Ranges { head, attributes });

impl Ranges {
    fn digest(&self, id: &[u8]) -> Digest {
        self.head.hasher.digest(id)
    }

    /// Inserts an id with a value for each attribute.
    pub fn insert(&mut self, id: &[u8], values: &[f64]) -> Result<Seen> {
        self.fits(values.len())?;
        finite(values)?;
        let digest = self.digest(id);
        let mut new = false;
        for ((i, segments), value) in (0..).zip(&mut self.attributes).zip(values) {
            new |= segments.insert(digest.salted(i), segments.of(*value));
        }
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// Removes an id with the values it was inserted with; a value that changes is a removal and an insertion.
    pub fn remove(&mut self, id: &[u8], values: &[f64]) -> Result<()> {
        self.fits(values.len())?;
        finite(values)?;
        if self.head.form != COUNTING {
            return Err(Error::unsupported("only form counting can remove ids"));
        }
        let digest = self.digest(id);
        let mut places = (0..).zip(&self.attributes).zip(values);
        let held = |((i, segments), value): ((u64, &Segments), &f64)| {
            segments.holds(digest.salted(i), segments.of(*value))
        };
        if !places.all(held) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the id was not inserted with these values",
            ));
        }
        for ((i, segments), value) in (0..).zip(&mut self.attributes).zip(values) {
            segments.remove(digest.salted(i), segments.of(*value))?;
        }
        self.head.count_off();
        Ok(())
    }

    /// Whether the id may have been inserted with values in these ranges, one for each attribute; `None` is any
    /// value. A range that ends where it begins, or before, holds nothing.
    pub fn contains(&self, id: &[u8], ranges: &[Option<std::ops::Range<f64>>]) -> Result<bool> {
        self.fits(ranges.len())?;
        let spans = self.attributes.iter().zip(ranges);
        let spans: Vec<Span> = spans.map(|(s, range)| s.meeting(range.as_ref())).collect();
        Ok(self.has(id, &spans))
    }

    /// Whether the id is in a segment of every span that says anything.
    fn has(&self, id: &[u8], spans: &[Span]) -> bool {
        let digest = self.digest(id);
        let in_span = |i: usize| {
            let segments = &self.attributes[i];
            spans[i].clone().any(|at| segments.contains(digest.salted(i as u64), at))
        };
        // An attribute that may have any value says nothing, unless all may.
        let open = |i: &usize| spans[*i] == self.attributes[*i].meeting(None);
        let told: Vec<usize> = (0..spans.len()).filter(|i| !open(i)).collect();
        if told.is_empty() { in_span(0) } else { told.into_iter().all(in_span) }
    }

    fn fits(&self, values: usize) -> Result<()> {
        let attributes = self.attributes.len();
        if values == attributes {
            return Ok(());
        }
        Err(Error::record(format!(
            "{values} values, but the filter has {attributes} attributes: write ID, and a TAB before each value"
        )))
    }

    /// The bounds of an attribute's segments, one more than segments.
    pub fn bounds(&self, attribute: usize) -> Option<&[f64]> {
        self.attributes.get(attribute).map(Segments::bounds)
    }

    fn check(&self) -> Result<()> {
        let count = self.attributes.len() as u64;
        let counting = self.head.form == COUNTING;
        let alike = self.attributes.iter().all(|segments| segments.is(counting));
        if VARIANT.takes("attributes", count) && alike {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: segments of no such filter"))
    }
}

fn finite(values: &[f64]) -> Result<()> {
    if values.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(Error::record("values of attributes must be finite numbers"))
}

/// The id and the values of a record to be inserted.
fn values_of<'a>(record: &Record<'a>) -> Result<(&'a [u8], Vec<f64>)> {
    let fields = record.attributes()?;
    let (id, values) =
        fields.split_first().ok_or_else(|| Error::record("a record without an id"))?;
    Ok((id, values.iter().map(|value| number(value)).collect::<Result<_>>()?))
}

impl Create for Ranges {
    /// Goes through the records twice: for the bounds, and to insert them.
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut values = vec![Vec::new(); shape.attributes as usize];
        let mut line = 0u64;
        inputs.records.batches(&mut |batch| {
            for record in batch {
                line += 1;
                let (_, found) =
                    values_of(record).map_err(|e| e.context(format!("record {line}")))?;
                if found.len() != values.len() {
                    let (found, wanted) = (found.len(), values.len());
                    let message = format!("{found} values, not {wanted}: set {{attributes}}");
                    return Err(Error::record(message).context(format!("record {line}")));
                }
                values.iter_mut().zip(found).for_each(|(list, value)| list.push(value));
            }
            Ok(())
        })?;
        let attributes = values.iter_mut().map(|values| {
            let bounds = shape.bounds(values);
            Segments::new(bounds, values, shape.counting, |ids, end| shape.flat(ids, end))
        });
        let mut filter = Self { head, attributes: attributes.collect::<Result<_>>()? };
        inputs.records.batches(&mut |batch| {
            batch.iter().try_for_each(|record| Insert::insert(&mut filter, *record).map(drop))
        })?;
        Ok(filter)
    }
}

face!(Ranges: Insert, Remove);
built!(@builder Ranges);

impl Filter for Ranges {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let fields = record.attributes()?;
        let (id, asked) =
            fields.split_first().ok_or_else(|| Error::record("a query without an id"))?;
        self.fits(asked.len())?;
        let span = |(segments, field): (&Segments, &&[u8])| {
            if field.is_empty() {
                return Ok(segments.meeting(None));
            }
            Ok(match range(field)? {
                Some(range) => segments.meeting(Some(&range)),
                None => {
                    let at = segments.of(number(field)?);
                    at..at + 1
                }
            })
        };
        let spans = self.attributes.iter().zip(asked).map(span).collect::<Result<Vec<Span>>>()?;
        Ok(Answer::of(self.has(id, &spans)))
    }

    fn fill(&self) -> Option<f64> {
        let (used, all) = self.attributes.iter().fold((0, 0), |(used, all), segments| {
            let (more, cells) = segments.used();
            (used + more, all + cells)
        });
        Some(used as f64 / all as f64)
    }

    /// Of ids that are not there, in one segment of each attribute, as often as ids are in it.
    fn now(&self) -> Rates {
        let fpr = self.attributes.iter().map(Segments::rate).product::<f64>();
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("attributes", self.attributes.len() as u64),
            fact("segments", self.attributes.first().map_or(0, |s| s.bounds().len() as u64 - 1)),
            fact("m", self.attributes.iter().map(|s| s.used().1).sum::<u64>()),
        ]
    }

    /// The cells of the first attribute's segment.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let Ok((id, values)) = values_of(&Record::key(key)) else { return Vec::new() };
        let (Some(segments), Some(value)) = (self.attributes.first(), values.first()) else {
            return Vec::new();
        };
        segments.trace(self.digest(id).salted(0), segments.of(*value))
    }
}

impl Insert for Ranges {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let (id, values) = values_of(&record)?;
        Ranges::insert(self, id, &values)
    }
}

impl Remove for Ranges {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        let (id, values) = values_of(&record)?;
        Ranges::remove(self, id, &values)
    }
}

const STANDARD: &str = "standard";
const COUNTING: &str = "counting";
const EQUAL: &str = "equal";
/// A segment at either end is planned for an eighth of what one between has.
const OUTER: u64 = 8;

fn example(i: u64) -> Vec<u8> {
    format!("id{i}\t{}", crate::hash::mix64(i) % 1_000_000_000).into_bytes()
}

/// For `bounds`.
const ATTRIBUTE: Param =
    Param::integer("attribute", 1, 64, "its number, counted from 1").or(Preset::Integer(1));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Ranges>(Facts {
    id: 79,
    slug: "ranges",
    entry: "§24",
    question: "Does this id have a value in this range?",
    name: "Range queries over segmented attributes",
    paper: "as told in S. Tarkoma, C. E. Rothenberg, E. Lagerspetz, Theory and practice of Bloom filters for \
            distributed systems, IEEE Communications Surveys & Tutorials 14(1), 2012, §IV-F",
    family: "structured",
    needs: &["places", "attributes"],
    input: Input::of(KeyKind::Attributes).with_examples(example),
    meaning: "items are ids; the rate is that of absent ids, queried in one segment of every attribute",
    forms: &[
        Form::exact(STANDARD, &[Ability::Insert]),
        Form::removing(COUNTING, &[Ability::Insert, Ability::Remove]),
    ],
    operations: &[tell!(
        Ranges,
        "bounds",
        "The bounds of an attribute's segments.",
        [ATTRIBUTE],
        [],
        |filter, given| {
            let bounds = filter.bounds(given.whole(0) as usize - 1).unwrap_or_default();
            Ok(Detail::List(bounds.iter().map(|bound| bound.to_string().into_bytes()).collect()))
        }
    )],
    params: &[
        Param::integer("attributes", 1, 64, "values of a record, without its id")
            .or(Preset::Integer(1)),
        Param::integer(
            "segments",
            1,
            segments::MOST,
            "segments per attribute, without the two at the ends",
        )
        .or(Preset::Integer(10)),
        Param::first_of("bounds", &["quantile", EQUAL], "how segment boundaries are chosen"),
        Param::real(
            "low",
            -1e300,
            1e300,
            "start of the first segment of equal width; by default the smallest value",
        ),
        Param::real(
            "high",
            -1e300,
            1e300,
            "end of the last one; by default just above the largest value",
        ),
    ],
    ..Facts::COLLECTED
});
