//! The decaying and the block-decaying Bloom filter (Shen, Zhang 2008; catalogue §29; S0 §III-H, §IV-C3).
//!
//! Is this click a repetition of one of the last W? Cells count down to zero: an arrival takes one off all of them,
//! then sets its own k cells to W. A key is found for the next W arrivals and then no longer, without a single
//! false negative inside the window:
//!
//! ```text
//!   W = 3      arrival x       y           z           (another)
//!              ↓     ↓         ↓ ↓            ↓ ↓
//!   whole      3 0 0 3 0 0     3 3 0 2 0 0    2 2 0 3 3 0      x lives until three further arrivals
//!
//!   block      ┌───┬───┬───┐   T = 3 blocks: an arrival takes one off one block only, by turns.
//!              │ 2 0 │ 0 2 │ … A cell starts at V = ⌈(W−1)/T⌉ + 1 and is hit V − 1 times at most within the window.
//!              └───┴───┴───┘
//! ```
//!
//! The form `whole` is exact. Nobody takes one off all m counters per arrival: a cell holds the arrival at which it
//! dies, modulo a power of two, in ⌈log2(W+1)⌉ + 1 bits, and every arrival sweeps a few dead ones away before their
//! stamps come around.
//!
//! The form `block` does count down, m/T cells per arrival. A cell lives for W to V·T arrivals, and its counter has
//! ⌈log2(V+1)⌉ bits. The plan sizes it for V·T keys. Bits grow as V·T·⌈log2(V+1)⌉, which is least at V = 3: two bits
//! per cell, a window that ends within half of its length, and three times the bits of `bloom` for W keys. Fewer
//! `blocks` end it more sharply, in wider counters.
//!
//! **Use it** to find every repetition within the last W insertions of an endless stream. **Don't** if a few missed
//! repetitions do no harm (`stable` takes less space), or if the window is a time (`windowed`).

use crate::cells::{Fading, width_of};
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::theory::{bloom as theory, mean_over};
use crate::variant::prelude::*;

/// The last W arrivals of a stream, in cells that count down.
///
/// ```
/// use everbloom::{Seen, decaying::Decaying};
///
/// let mut clicks = Decaying::with_rate(1000, 0.01)?;
/// assert_eq!(clicks.insert("a click"), Seen::New);
/// for other in 0..999u64 {
///     clicks.insert(&other);
/// }
/// assert_eq!(clicks.insert("a click"), Seen::Maybe);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Decaying {
    head: Head,
    levels: Tallies<Fading>,
    /// W, the arrivals for which a key is found.
    window: u64,
}

state!(Decaying { head, ..levels; window });

/// V, the value that cells are set to: the least one without false negatives within `window` arrivals.
pub fn initial_value(window: u64, blocks: u64) -> u64 {
    window.saturating_sub(1).div_ceil(blocks.max(1)).saturating_add(1)
}

impl Decaying {
    /// A filter of `m` cells and `k` probes for a window of `window` arrivals that ends sharply.
    pub fn whole(window: u64, m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("form", WHOLE).set("m", m).set("k", k);
        empty(&Goal { items: Some(window), ..goal })
    }

    /// A filter of `m` cells in `blocks` blocks and `k` probes for a window of `window` arrivals.
    pub fn in_blocks(window: u64, blocks: u64, m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("form", BLOCK).set("m", m).set("k", k);
        empty(&Goal { items: Some(window), ..goal.set("blocks", blocks) })
    }

    /// Processes an arrival, in the order that matters: queries, takes off, sets. `Maybe` flags a repetition: every one
    /// within the window, and a few others.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let seen = self.levels.contains(digest);
        let Tallies { probe, cells } = &mut self.levels;
        cells.tick();
        let life = cells.longest();
        probe.each(digest, |i| cells.set(i, life));
        self.head.count(1);
        Seen::new_if(!seen)
    }

    /// Whether the key seems to be one of the last W arrivals.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.levels.contains(self.head.hasher.digest(key))
    }

    /// Lets `ticks` arrivals' worth of time pass without an arrival.
    pub fn age(&mut self, ticks: u64) {
        self.levels.cells.age(ticks);
    }

    /// W, the arrivals for which a key is found.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The cells.
    pub fn cells(&self) -> &Fading {
        &self.levels.cells
    }

    /// A window as long as the cells live: neither misses a key nor keeps one longer than it should.
    fn check(&self) -> Result<()> {
        self.levels.check_flat()?;
        let (window, cells) = (self.window, self.cells());
        let fits = match (self.head.form, cells.blocks()) {
            (WHOLE, 0) => cells.longest() == window,
            (BLOCK, blocks @ 1..) => cells.longest() == initial_value(window, blocks),
            _ => false,
        };
        if fits && window > 0 {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: cells that do not live for the window"))
    }
}

/// Cells, probes, window and blocks (0 where cells hold stamps), and the target if the goal leaves it to the shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    window: u64,
    blocks: u64,
    fpr: Option<f64>,
}

impl Shape {
    /// V.
    fn longest(&self) -> u64 {
        if self.blocks == 0 { self.window } else { initial_value(self.window, self.blocks) }
    }

    /// The arrivals that some cell may still hold.
    fn live(&self) -> u64 {
        self.longest().saturating_mul(self.blocks.max(1))
    }

    fn width(&self) -> u32 {
        width_of(self.longest()) + u32::from(self.blocks == 0)
    }

    /// The share of live cells after `arrivals`. A block that is due in j arrivals was last hit T − j ago, so that
    /// its cells hold the last (V−1)·T + 1 … V·T arrivals, whatever the phase.
    fn fill(&self, arrivals: u64) -> f64 {
        let (m, k, blocks) = (self.flat.m as f64, f64::from(self.flat.k), self.blocks.max(1));
        let least = (self.live() - blocks + 1) as f64;
        mean_over(blocks, |j| theory::fill(m, k * (least + j).min(arrivals as f64)))
    }

    fn fpr(&self, arrivals: u64) -> f64 {
        libm::pow(self.fill(arrivals), f64::from(self.flat.k))
    }
}

/// T for the fewest bits: cells of two bits that start at V = 3.
fn best_blocks(window: u64) -> u64 {
    (window.saturating_sub(1)).div_ceil(2).max(1)
}

impl Plan for Decaying {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let blocks_set = request.integer("blocks");
        let whole = request.form() == WHOLE;
        if let Some(blocks) = blocks_set.filter(|_| whole) {
            return Err(Error::setting("blocks", blocks, "only the form block has blocks"));
        }
        let of = |window: u64| {
            let blocks = if whole { 0 } else { blocks_set.unwrap_or(best_blocks(window)) };
            Shape { flat: Flat { m: 1, k: 1 }, window, blocks, fpr: None }
        };
        let (flat, window) = Flat::plan_held(
            request,
            |n, p| (of(n).live(), p),
            |m, n| m * f64::from(of(n).width()),
        )?;
        let window = window.ok_or_else(|| {
            Error::parameter("give {items}: for how many insertions a key is found")
        })?;
        let shape = Shape { flat, ..of(window) };
        // What the goal does not name is what the filter settles at, not what it begins with.
        let fpr = request.goal_fpr().is_none().then(|| shape.fpr(u64::MAX));
        Ok(Shape { fpr, ..shape })
    }

    /// Members are the arrivals of the window.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (Flat { m, k }, n) = (shape.flat, load.items);
        let sd = theory::fill_sd(m as f64, n.min(shape.live()) as f64 * f64::from(k));
        let bits = m.saturating_mul(shape.width().into());
        Some(Expect::one_sided(shape.fpr(n), bits, Some((shape.fill(n), sd))).probing(k))
    }
}

impl Stream for Decaying {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let (Flat { m, k }, window) = (shape.flat.checked()?, shape.window);
        let cells = match shape.blocks {
            0 => Fading::stamped(m, window)?,
            blocks => Fading::counted(m, shape.longest(), blocks)?,
        };
        let head = Head { fpr: shape.fpr.or(head.fpr), ..head };
        Ok(Self { head, levels: Tallies { probe: Probe::over(m, k), cells }, window })
    }
}

face!(Decaying: Insert, Age);
planned!(
    Decaying:
    "A filter that finds every one of the last `items` arrivals, and takes at most a share of `fpr` of the others for \
     repetitions, for ever."
);
keyed!(Decaying: Insert);

impl Filter for Decaying {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.levels)
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.levels.describe();
        facts.push(fact("window", self.window));
        let (blocks, value) = (self.cells().blocks(), self.cells().longest());
        if blocks > 0 {
            facts.extend([fact("blocks", blocks), fact("initial value", value)]);
            facts.push(fact("longest life", blocks.saturating_mul(value)));
        }
        facts
    }
}

impl Age for Decaying {
    fn age(&mut self, ticks: u64) {
        Decaying::age(self, ticks);
    }
}

const BLOCK: &str = "block";
const WHOLE: &str = "whole";

const fn form(name: &'static str) -> Form {
    let abilities = &[Ability::Insert, Ability::Age];
    Form::lossy(
        name,
        abilities,
        "keys are forgotten after as many insertions as the window is long",
    )
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Decaying>(Facts {
    id: 81,
    slug: "decaying",
    entry: "§29",
    question: "Was it among the last W arrivals, without a miss?",
    name: "Decaying and block-decaying Bloom filter",
    paper: "H. Shen, Y. Zhang, Improved approximate detection of duplicates for data streams over \
            sliding windows, Journal of Computer Science and Technology 23(6), 2008",
    family: "decaying",
    needs: &["decay"],
    meaning: "items are the latest insertions, all of which are found; the rate is the false-positive rate \
            for ever",
    forms: &[form(BLOCK), form(WHOLE)],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("blocks", 1, 1 << 48, "blocks of cells that are decremented in turn"),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_tests::lies_are_refused;

    /// Keys of the last W arrivals that are missed, in a stream of keys that are all new.
    fn missed(window: u64, blocks: u64, value: u64) -> u64 {
        let mut f = Decaying::in_blocks(window, blocks, 20 * window, 3, Hasher::default()).unwrap();
        f.levels.cells = Fading::counted(20 * window, value, blocks).unwrap();
        let late = |f: &Decaying, t: u64| (t >= window && !f.contains(&(t - window))).into();
        (0..5 * window)
            .map(|t| {
                let lost: u64 = late(&f, t);
                f.insert(&t);
                lost
            })
            .sum()
    }

    #[test]
    fn s29_a_smaller_initial_value_misses_keys() {
        for (window, blocks, value) in [(100, 7, 16), (1000, 64, 17)] {
            assert_eq!(initial_value(window, blocks), value);
            assert_eq!(missed(window, blocks, value), 0);
            assert!(missed(window, blocks, value - 1) > 0);
        }
    }

    #[test]
    fn the_planned_blocks_take_the_fewest_bits() {
        for window in [3, 4, 10, 1000, 4321] {
            let bits = |blocks: u64| {
                let value = initial_value(window, blocks);
                value * blocks * u64::from(width_of(value))
            };
            let best = (1..=2 * window).map(bits).min().unwrap();
            // Rounding may favor another number by less than a block.
            let planned = bits(best_blocks(window));
            assert!(planned <= best + 6, "{window}: {planned} {best}");
        }
    }

    #[test]
    fn files_whose_cells_do_not_live_for_the_window_are_refused() {
        for form in [BLOCK, WHOLE] {
            let mut f: Decaying = empty(&Goal::new(10, 0.1).set("form", form)).unwrap();
            f.insert("a");
            let m = f.cells().len();
            let lies: [&dyn Fn(&mut Decaying); 4] = [
                &|f| f.window = 0,
                &|f| f.window = 40,
                &|f| f.head.form = if f.head.form == BLOCK { WHOLE } else { BLOCK },
                &|f| f.levels.cells = Fading::stamped(m, 12).unwrap(),
            ];
            lies_are_refused(&f, lies);
        }
    }
}
