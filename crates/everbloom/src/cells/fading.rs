//! Cells that die by themselves: each holds how many ticks it has left to live.
//!
//! There are two ways to let time pass over all of them without touching all of them:
//!
//! ```text
//!   stamps   a cell holds when it dies, modulo M = 2^width − 1      blocks   a cell holds its ticks left
//!            ┌────┬────┬────┬────┐                                           ┌─────┬─────┬─────┐
//!            │ 17 │  – │ 90 │ 20 │   now = 15: 2, 0, dead, 5 left            │ 3 0 │ 1 2 │ 0 3 │
//!            └────┴────┴────┴────┘                                           └─────┴─────┴─────┘
//!                   ↑ a tick clears the dead cells of a small part                   ↑ a tick takes one off
//!                                                                                      the cells of one block
//! ```
//!
//! Stamps are exact, and wrap: a dead cell looks alive again M − longest ticks after it died. So the ticks sweep
//! over all cells once in that time. Blocks need fewer bits, since a cell counts rounds over all blocks; for
//! that its life is only known to within a round.

use super::Packed;
use crate::error::{Error, Result};
use crate::state::{Decoder, Encoder, State};

/// The widest stamps: sums of two of them fit a word.
const MAX_WIDTH: u32 = 62;

/// Cells with a life of up to `longest` ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Fading {
    cells: Packed,
    longest: u64,
    /// Number of blocks; 0 for stamps.
    blocks: u64,
    /// Stamps: the time modulo M. Blocks: the one that the next tick takes from.
    phase: u64,
    /// Stamps: the cell at which the next tick begins to sweep.
    swept: u64,
}

/// The least number of bits that hold `value`.
pub(crate) fn width_of(value: u64) -> u32 {
    (64 - value.leading_zeros()).max(1)
}

impl Fading {
    /// `len` dead cells with stamps, one bit wider than a life: then a tick sweeps a few cells only.
    pub(crate) fn stamped(len: u64, longest: u64) -> Result<Self> {
        Self::stamped_in(len, longest, width_of(longest) + 1)
    }

    /// `len` dead cells with stamps of `width` bits.
    pub(crate) fn stamped_in(len: u64, longest: u64, width: u32) -> Result<Self> {
        if !(1..=MAX_WIDTH).contains(&width) || longest >= (1 << width) - 1 || longest == 0 {
            return Err(Error::parameter(format!(
                "a lifetime of {longest} ticks in cells of {width} bits: it must be at least 1, and at most \
                 2^{width} − 2"
            )));
        }
        let cells = Packed::try_new(len, width)?;
        Ok(Self { cells, longest, blocks: 0, phase: 0, swept: 0 })
    }

    /// `len` dead cells in `blocks` blocks; a life is counted in rounds over all of them.
    pub(crate) fn counted(len: u64, longest: u64, blocks: u64) -> Result<Self> {
        if !(1..=len).contains(&blocks) || longest == 0 || width_of(longest) > MAX_WIDTH {
            return Err(Error::parameter(format!(
                "{len} cells in {blocks} blocks, for {longest} rounds: there must be at least one of each, \
                 and no more blocks than cells"
            )));
        }
        let cells = Packed::try_new(len, width_of(longest))?;
        Ok(Self { cells, longest, blocks, phase: 0, swept: 0 })
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> u64 {
        self.cells.len()
    }

    /// Bits per cell.
    pub fn width(&self) -> u32 {
        self.cells.width()
    }

    /// The longest life, in ticks or rounds.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Number of blocks; 0 where cells hold stamps.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The ticks or rounds that the cell at `i` has left; 0 for a dead one.
    #[inline]
    pub fn left(&self, i: u64) -> u64 {
        let cell = self.cells.get(i);
        if self.blocks > 0 || cell == 0 {
            return cell;
        }
        let stamp = cell - 1;
        let left = if stamp >= self.phase { stamp } else { stamp + self.cells.max() } - self.phase;
        if left <= self.longest { left } else { 0 }
    }

    /// Gives the cell at `i` so long a life, at most the longest.
    #[inline]
    pub fn set(&mut self, i: u64, life: u64) {
        let life = life.min(self.longest);
        let cell = match (self.blocks, life) {
            (0, 1..) => 1 + (self.phase + life) % self.cells.max(),
            _ => life,
        };
        self.cells.set(i, cell);
    }

    /// What every cell has left, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|i| self.left(i))
    }

    /// Ends the life of every cell.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// Cells that a tick sweeps, so that all are seen before a stamp comes around.
    fn portion(&self) -> u64 {
        self.len().div_ceil(self.cells.max() - self.longest)
    }

    /// Lets one tick pass.
    #[inline]
    pub fn tick(&mut self) {
        if self.blocks > 0 {
            let (len, blocks) = (u128::from(self.len()), u128::from(self.blocks));
            let start = |block: u64| (u128::from(block) * len / blocks) as u64;
            self.cells.fade(start(self.phase)..start(self.phase + 1), 1);
            self.phase = (self.phase + 1) % self.blocks;
            return;
        }
        self.phase = (self.phase + 1) % self.cells.max();
        for _ in 0..self.portion() {
            if self.left(self.swept) == 0 {
                self.cells.set(self.swept, 0);
            }
            self.swept = if self.swept + 1 == self.len() { 0 } else { self.swept + 1 };
        }
    }

    /// Lets `ticks` ticks pass, one after the other or, where they are many, in one pass over all cells: sweeping
    /// after a leap would come too late for stamps that the leap carries around.
    pub fn age(&mut self, ticks: u64) {
        if let Some(rounds) = ticks.checked_div(self.blocks) {
            if rounds > 0 {
                self.cells.fade(0..self.len(), rounds);
            }
            (0..ticks % self.blocks).for_each(|_| self.tick());
        } else if ticks.saturating_mul(self.portion()) < self.len() {
            (0..ticks).for_each(|_| self.tick());
        } else {
            for i in 0..self.len() {
                if self.left(i) <= ticks {
                    self.cells.set(i, 0);
                }
            }
            self.phase = (self.phase + ticks % self.cells.max()) % self.cells.max();
        }
    }

    fn check(&self) -> Result<()> {
        let Self { cells, longest, blocks, phase, swept } = self;
        let narrow = cells.width() <= MAX_WIDTH && *longest > 0;
        let fits = match blocks {
            0 => *longest < cells.max() && *phase < cells.max() && *swept < cells.len(),
            blocks => {
                let held = *longest == cells.max() || cells.iter().all(|cell| cell <= *longest);
                *blocks <= cells.len()
                    && phase < blocks
                    && *swept == 0
                    && held
                    && width_of(*longest) == cells.width()
            }
        };
        if narrow && fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: cells that live longer than they can"))
    }
}

impl State for Fading {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.cells.save("cells", out);
            out.u64("longest", self.longest);
            out.u64("blocks", self.blocks);
            out.u64("phase", self.phase);
            out.u64("swept", self.swept);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let cells = Packed::load("cells", src)?;
            let (longest, blocks) = (src.u64("longest")?, src.u64("blocks")?);
            let (phase, swept) = (src.u64("phase")?, src.u64("swept")?);
            let this = Self { cells, longest, blocks, phase, swept };
            this.check()?;
            Ok(this)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    /// Lives beside their model, over many wraps of the stamps and leaps of every length.
    #[test]
    fn stamps_live_exactly_as_long_as_they_are_given() {
        for (width, longest) in [(3, 3), (3, 6), (4, 9), (8, 127), (10, 600)] {
            let mut random = Generator::new(u64::from(width));
            let mut cells = Fading::stamped_in(50, longest, width).unwrap();
            let mut model = vec![0u64; 50];
            for step in 0..3000 {
                let i = random.below(50);
                let life = random.below(longest + 1);
                cells.set(i, life);
                model[i as usize] = life;
                let ticks = match step % 10 {
                    0 => random.below(2 * longest),
                    1 => 0,
                    _ => 1 + random.below(3),
                };
                cells.age(ticks);
                model.iter_mut().for_each(|left| *left = left.saturating_sub(ticks));
                assert!(cells.iter().eq(model.iter().copied()), "{width} {longest}, step {step}");
                assert!(cells.check().is_ok());
            }
            cells.age(u64::MAX);
            assert!(cells.iter().all(|left| left == 0));
        }
    }

    /// Without the sweep a dead stamp comes back after M − longest ticks.
    #[test]
    fn dead_stamps_are_cleared_before_they_come_around() {
        let mut cells = Fading::stamped_in(1000, 127, 8).unwrap();
        (0..1000).for_each(|i| cells.set(i, 50));
        for t in 1..600 {
            cells.tick();
            assert_eq!(
                cells.iter().filter(|left| *left > 0).count(),
                if t < 50 { 1000 } else { 0 }
            );
        }
        assert!((0..1000).all(|i| cells.cells.get(i) == 0));
    }

    #[test]
    fn blocks_count_down_by_turns_and_leaps_are_ticks() {
        let mut cells = Fading::counted(10, 3, 4).unwrap();
        assert_eq!(cells.width(), 2);
        (0..10).for_each(|i| cells.set(i, 9));
        let fresh = cells.clone();
        cells.tick();
        let left: Vec<u64> = cells.iter().collect();
        assert_eq!(left, [2, 2, 3, 3, 3, 3, 3, 3, 3, 3]);
        for ticks in 0..20 {
            let (mut leap, mut walk) = (fresh.clone(), fresh.clone());
            leap.age(ticks);
            (0..ticks).for_each(|_| walk.tick());
            assert_eq!(leap, walk);
        }
    }

    #[test]
    fn impossible_cells_are_refused() {
        assert!(Fading::stamped_in(10, 7, 3).is_err() && Fading::stamped_in(10, 0, 3).is_err());
        assert!(Fading::stamped(10, u64::MAX).is_err() && Fading::counted(10, 3, 11).is_err());
        assert!(Fading::counted(10, 3, 0).is_err() && Fading::counted(10, 0, 1).is_err());
        let lies: [fn(&mut Fading); 5] = [
            |f| f.longest = f.cells.max(),
            |f| f.phase = f.cells.max(),
            |f| f.swept = f.len(),
            |f| f.blocks = 11,
            |f| f.longest = 0,
        ];
        for lie in lies {
            let mut liar = Fading::stamped(10, 5).unwrap();
            assert!(liar.check().is_ok());
            lie(&mut liar);
            assert!(liar.check().is_err());
        }
        let mut high = Fading::counted(10, 2, 2).unwrap();
        high.cells.set(3, 3);
        assert!(high.check().is_err());
    }
}
