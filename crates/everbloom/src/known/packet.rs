//! Stages as they travel in a packet's header: for each its length b and number of probes k in Elias' gamma code,
//! then the b bits. A one precedes each stage, and a zero ends the packet.

use crate::cells::Code;
use crate::error::{Error, Result};
use crate::parts::flat_bits::FlatBits;
use crate::plan::Flat;
use crate::probe::MAX_K;

/// The bits of a packet.
pub(super) fn write(stages: &[FlatBits]) -> Vec<bool> {
    let mut out = Vec::new();
    for part in stages {
        out.push(true);
        gamma(&mut out, part.m());
        gamma(&mut out, part.k().into());
        out.extend((0..part.m()).map(|i| part.bits.get(i)));
    }
    out.push(false);
    out
}

/// The stages that [`write`] wrote, at most `most`.
pub(super) fn read(packet: &[bool], most: u64) -> Result<Vec<FlatBits>> {
    let cut = || Error::corrupt(0, "the packet ends in the middle of a stage");
    let mut rest = packet.iter().copied();
    let mut stages = Vec::new();
    while rest.next().ok_or_else(cut)? {
        let (b, k) = read_gamma(&mut rest).zip(read_gamma(&mut rest)).ok_or_else(cut)?;
        if b > rest.len() as u64 {
            return Err(cut());
        }
        if k > u64::from(MAX_K) || stages.len() as u64 == most {
            let message = format!("a stage of {k} probes, or too many stages");
            return Err(Error::corrupt(0, message));
        }
        let mut part = FlatBits::new(Flat { m: b, k: k as u32 })?;
        (0..b).zip(&mut rest).filter(|(_, bit)| *bit).for_each(|(i, _)| {
            part.bits.set(i);
        });
        stages.push(part);
    }
    Ok(stages)
}

/// The length of what [`write`] writes.
pub(super) fn bits(stages: &[FlatBits]) -> u64 {
    let coded = |x: u64| Code::Gamma.bits(x);
    let stage = |part: &FlatBits| 1 + coded(part.m()) + coded(part.k().into()) + part.m();
    stages.iter().map(stage).sum::<u64>() + 1
}

/// Appends x ≥ 1 in 2⌊log2 x⌋ + 1 bits: as many zeros as bits follow the leading one, then x.
fn gamma(out: &mut Vec<bool>, x: u64) {
    let length = x.ilog2();
    out.extend((0..length).map(|_| false));
    out.extend((0..=length).rev().map(|i| x >> i & 1 != 0));
}

fn read_gamma(bits: &mut impl Iterator<Item = bool>) -> Option<u64> {
    let mut length = 0;
    while !bits.next()? {
        length += 1;
    }
    if length > 63 {
        return None;
    }
    (0..length).try_fold(1, |x, _| Some(x << 1 | u64::from(bits.next()?)))
}
