//! The layers of a scalable filter: a run of them, each larger than the one before; after a merge several runs.
//!
//! ```text
//!   merged:   0 1 2 │ 0 1 2 3      the longest run is last, and grows on
//! ```

use super::Slices;
use crate::error::{Error, Kind, Result};
use crate::state::{Decoder, Encoder, State};

/// Most layers of all runs together: a query looks at each of them.
const MAX_LAYERS: usize = 1024;

/// Layers and the place of each in its run, which its salt and its size follow from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Runs {
    pub(super) layers: Vec<Slices>,
    /// Not in files: where a layer has the shape of the very first, a run begins. All others are larger.
    places: Vec<usize>,
}

impl State for Runs {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.layers.save(name, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self::of(Vec::load(name, src)?))
    }
}

impl Runs {
    pub(super) fn of(layers: Vec<Slices>) -> Self {
        let mut places = Vec::with_capacity(layers.len());
        for layer in &layers {
            let begins = layer.part.probe == layers[0].part.probe;
            places.push(if begins { 0 } else { places.last().map_or(0, |place| place + 1) });
        }
        Self { layers, places }
    }

    /// Every layer with its place.
    #[inline]
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &Slices)> {
        self.places.iter().copied().zip(&self.layers)
    }

    /// The layer that keys go into, and its place.
    #[inline]
    pub(super) fn newest(&mut self) -> Option<(usize, &mut Slices)> {
        Some((*self.places.last()?, self.layers.last_mut()?))
    }

    /// The place of the newest layer.
    #[inline]
    pub(super) fn top(&self) -> usize {
        self.places.last().copied().unwrap_or(0)
    }

    /// Goes on with the last run.
    pub(super) fn push(&mut self, layer: Slices) {
        self.places.push(self.top() + 1);
        self.layers.push(layer);
    }

    /// The layers, run by run.
    fn runs(&self) -> impl Iterator<Item = &[Slices]> {
        let first = &self.layers[0].part.probe;
        self.layers.chunk_by(|_, next| next.part.probe != *first)
    }

    /// All layers of both. Only the newest layer of a run has room, so that the newest of another run goes into it
    /// where both are at the same place and fit; all others stay by themselves.
    pub(super) fn merged(&self, other: &Runs, capacity: impl Fn(usize) -> u64) -> Result<Runs> {
        let mut runs: Vec<Vec<Slices>> = self.runs().map(<[_]>::to_vec).collect();
        for run in other.runs() {
            let newest = &run[run.len() - 1];
            let room = capacity(run.len() - 1).saturating_sub(newest.items);
            let ours = runs.iter_mut().filter(|ours| ours.len() == run.len());
            let fits = ours.filter_map(|ours| ours.last_mut()).find(|ours| ours.items <= room);
            let left = match fits {
                Some(ours) => {
                    ours.part.bits.union(&newest.part.bits);
                    ours.items += newest.items;
                    &run[..run.len() - 1]
                }
                None => run,
            };
            runs.extend((!left.is_empty()).then(|| left.to_vec()));
        }
        runs.sort_by_key(Vec::len);
        let layers = runs.concat();
        if layers.len() > MAX_LAYERS {
            let message = format!("together the filters have more than {MAX_LAYERS} layers");
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        Ok(Self::of(layers))
    }
}
