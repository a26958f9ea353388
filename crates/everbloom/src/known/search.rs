//! The search for the shortest filter that tells the links of a stage from all others.

use std::collections::HashSet;
use std::f64::consts::LN_2;

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::plan::Flat;

/// Most links of a stage: the search takes seconds for that many.
const MAX_LINKS: usize = 4096;

/// The length at which a random filter is free of false positives with probability 1/e:
/// b = ρ·log2(ζ)/ln 2.
pub fn length(include: f64, exclude: f64) -> f64 {
    include * libm::log2(exclude.max(1.0)) / LN_2
}

/// P(no false positive) ≈ (1 − (1 − e^{−kρ/b})^k)^ζ.
pub fn success(b: f64, k: f64, include: f64, exclude: f64) -> f64 {
    let fpr = libm::pow(-libm::expm1(-k * include / b), k);
    libm::exp(exclude * libm::log1p(-fpr))
}

/// A stage's links on their way into a filter.
#[derive(Default)]
pub(super) struct Links {
    pub(super) include: Vec<Digest>,
    pub(super) exclude: Vec<Digest>,
}

impl Links {
    /// Leaves every link once, and refuses those that are to be included and excluded.
    pub(super) fn settle(&mut self) -> Result<()> {
        for links in [&mut self.include, &mut self.exclude] {
            links.sort_unstable();
            links.dedup();
        }
        if self.include.len() > MAX_LINKS {
            return Err(Error::record(format!(
                "{} links, but a filter is searched for at most {MAX_LINKS}",
                self.include.len()
            )));
        }
        let include: HashSet<&Digest> = self.include.iter().collect();
        if self.exclude.iter().any(|link| include.contains(link)) {
            return Err(Error::record(
                "a link is both included and excluded: it is either in the tree at this stage or not",
            ));
        }
        Ok(())
    }
}

/// Salted by the length, since each length has to be a fresh try: reduced to b and to b + 1 cells by
/// multiplication, one digest would meet nearly the same others.
pub(super) fn passes(filter: &FlatBits, digest: Digest) -> bool {
    filter.contains(digest.salted(filter.m()))
}

/// How far to search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// The longest filter; four times the formula's by default.
    pub(super) max_bits: Option<u64>,
    /// The most probes.
    pub(super) max_k: Option<u32>,
}

impl Search {
    /// The first filter, by length and then by k, that lets all included links pass and no excluded one.
    pub(super) fn find(&self, links: &Links) -> Result<FlatBits> {
        let Links { include, exclude } = links;
        let filter = |b: u64, k: u32| -> Result<FlatBits> {
            let mut part = FlatBits::new(Flat { m: b, k })?;
            include.iter().for_each(|link| {
                part.insert(link.salted(b));
            });
            Ok(part)
        };
        // Nothing to tell apart: one bit says yes to all, or no.
        if include.is_empty() || exclude.is_empty() {
            return filter(1, 1);
        }
        let (rho, zeta) = (include.len() as f64, exclude.len() as f64);
        let guess = length(rho, zeta);
        let max_bits = self.max_bits.unwrap_or(4 * libm::ceil(guess) as u64 + 64);
        let max_k = self.max_k.unwrap_or((libm::ceil(libm::log2(zeta)) as u32 + 4).max(10));
        // Small filters are lucky beyond the formula; large ones are not, and hopeless tries take time.
        let hopeless = |b: u64, k: u32| {
            include.len() > 64 && success(b as f64, f64::from(k), rho, zeta) < 1e-6
        };
        // Every length where a bit matters; from 128 links on, steps of a thousandth of the length.
        let lengths = (include.len() as u64..=max_bits).step_by(1 + include.len() / 128);
        let tries = lengths.flat_map(|b| (1..=max_k).map(move |k| (b, k)));
        for (b, k) in tries.filter(|(b, k)| !hopeless(*b, *k)) {
            let part = filter(b, k)?;
            if !exclude.iter().any(|link| passes(&part, *link)) {
                return Ok(part);
            }
        }
        Err(Error::parameter(format!(
            "no filter of up to {max_bits} bits and {max_k} probes separates {rho} links from {zeta} others: \
             raise {{max-bits}}, or build with another seed"
        )))
    }
}
