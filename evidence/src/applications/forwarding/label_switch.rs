//! A switch of flat labels: fingerprints in d-left tables (catalogue A41; S0 §IV-C4 \[81\], SPSwitch).
//!
//! ```text
//!   label ──▶ H ──▶ four buckets ──▶ │2c1·0010 0f3·1001 …│    cell = remainder · ports
//! ```
//!
//! Labels have no prefixes, so a table must name every one of them; a remainder of 14 bits is enough to tell it from
//! the others. The cell beside it has the mask of ports, so that one look-up gives all of them. Known labels have
//! exactly their ports unless two share a fingerprint, which happens with n/2^q: 24·2⁻¹⁴ = 0.00146 at a load of 6.
//! A filter for each of 32 ports, at the same rate, sends 31·0.00146 = 0.045 copies of every packet in vain.
//!
//! The bijections of [`DLeft`] make removal exact: a cell belongs to one fingerprint. A label whose buckets are full
//! is refused, and nothing changes.

use std::collections::HashMap;

use everbloom::counting::DLeft;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Error, Hasher, Kind, Result};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// A flat label.
pub type Label = [u8; 32];

/// The ports of flat labels.
///
/// ```
/// use everbloom_lab::applications::forwarding::label_switch::LabelSwitch;
/// let mut switch = LabelSwitch::new(1000)?;
/// switch.assign([1; 32], 0b101)?;
/// assert_eq!(switch.ports(&[1; 32]), 0b101);
/// switch.withdraw(&[1; 32])?;
/// assert_eq!(switch.ports(&[1; 32]), 0);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct LabelSwitch {
    table: DLeft,
    /// The ports in each cell of the table.
    masks: Vec<u64>,
    /// Whose cell it is, in slow memory: labels with one fingerprint share a cell, which has the ports of all.
    control: HashMap<u64, Vec<(Label, u64)>>,
}

/// Keys to an average bucket of 8 cells, in each of four tables.
const LOAD: u64 = 6;
const REMAINDER: u32 = 14;

impl LabelSwitch {
    /// A switch for so many labels.
    pub fn new(labels: u64) -> Result<Self> {
        Self::with_buckets(labels.div_ceil(4 * LOAD).max(1), Hasher::default())
    }

    fn with_buckets(buckets: u64, hasher: Hasher) -> Result<Self> {
        let table = DLeft::with_shape(buckets, REMAINDER, hasher)?;
        Ok(Self { masks: vec![0; table.cells() as usize], table, control: HashMap::new() })
    }

    /// Gives a label its ports, in place of those it may have. Refused, with nothing changed, where its buckets
    /// are full.
    pub fn assign(&mut self, label: Label, ports: u64) -> Result<()> {
        if let Some(cell) = self.table.cell_of(&label) {
            let owners = self.control.entry(cell).or_default();
            match owners.iter_mut().find(|(owner, _)| *owner == label) {
                Some(owner) => owner.1 = ports,
                None => {
                    self.table.insert(&label)?;
                    owners.push((label, ports));
                }
            }
            self.write(cell);
            return Ok(());
        }
        self.table.insert(&label)?;
        if let Some(cell) = self.table.cell_of(&label) {
            self.control.insert(cell, vec![(label, ports)]);
            self.write(cell);
        }
        Ok(())
    }

    /// Takes a label out, and returns its ports. Refused where it is not inside.
    pub fn withdraw(&mut self, label: &Label) -> Result<u64> {
        let cell = self.table.cell_of(label);
        let owners = cell.and_then(|cell| self.control.get_mut(&cell));
        let place =
            owners.as_ref().and_then(|all| all.iter().position(|(owner, _)| owner == label));
        let (Some(cell), Some(owners), Some(place)) = (cell, owners, place) else {
            return Err(Error::new(Kind::NotDeletable, "the label is not in the table"));
        };
        let (_, ports) = owners.swap_remove(place);
        if owners.is_empty() {
            self.control.remove(&cell);
        }
        self.table.remove(label)?;
        self.write(cell);
        Ok(ports)
    }

    /// A cell has the ports of all labels that own it.
    fn write(&mut self, cell: u64) {
        let owners = self.control.get(&cell).into_iter().flatten();
        self.masks[cell as usize] = owners.fold(0, |ports, (_, more)| ports | more);
    }

    /// The ports of a label, as bits; none for one that is not in the table.
    pub fn ports(&self, label: &Label) -> u64 {
        self.table.cell_of(label).map_or(0, |cell| self.masks[cell as usize])
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A41",
    form: Form::Simulation,
    uses: &["d-left", "bloom"],
    oracle: "a hash map of labels and ports",
    data: "random labels of 256 bits with one of up to 32 ports each",
    experiment: Experiment {
        name: "label-switch",
        source: "S0 §IV-C4 [81]",
        title: "A switch of flat labels with fingerprints in d-left tables (SPSwitch)",
        shows: "Unknown labels are forwarded with n/2^q, 0.00146 at a load of 6; known ones have surplus copies with \
                the same chance, where a filter for each of 32 ports has 0.045.",
        run,
    },
};

const BUCKETS: u64 = 512;
const PORTS: u32 = 32;

fn label(random: &mut Generator) -> Label {
    let mut label = [0; 32];
    label.chunks_mut(8).for_each(|c| c.copy_from_slice(&random.next_u64().to_le_bytes()));
    label
}

#[derive(Default)]
struct Seen {
    /// Known labels one of whose ports is missing, also after half have been removed.
    missing: u64,
    /// Copies too many of known labels, and unknown labels that are forwarded.
    surplus: u64,
    unknown: u64,
    after: u64,
    labels: u64,
}

const UNKNOWN: u64 = 40_000;

fn try_one(seed: u64, load: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let mut switch = LabelSwitch::with_buckets(BUCKETS, Hasher::seeded(seed))?;
    let labels = 4 * BUCKETS * load;
    let known: Vec<(Label, u64)> =
        (0..labels).map(|_| (label(&mut random), 1 << random.below(PORTS.into()))).collect();
    known.iter().try_for_each(|(label, ports)| switch.assign(*label, *ports))?;
    let mut seen = Seen { labels, ..Seen::default() };
    let judge = |switch: &LabelSwitch, known: &[(Label, u64)], seen: &mut Seen| {
        let mut surplus = 0;
        for (label, ports) in known {
            let found = switch.ports(label);
            seen.missing += u64::from(found & ports != *ports);
            surplus += u64::from((found & !ports).count_ones());
        }
        surplus
    };
    seen.surplus = judge(&switch, &known, &mut seen);
    seen.unknown = (0..UNKNOWN).filter(|_| switch.ports(&label(&mut random)) != 0).count() as u64;
    let (gone, left) = known.split_at(known.len() / 2);
    for (label, ports) in gone {
        seen.missing += u64::from(switch.withdraw(label)? != *ports);
    }
    judge(&switch, left, &mut seen);
    seen.after = gone.iter().filter(|(label, _)| switch.ports(label) != 0).count() as u64;
    Ok(seen)
}

/// Surplus copies of a known packet with a filter of rate `f` for each port.
fn bank(seed: u64, ports: u64, f: f64) -> Result<f64> {
    let mut random = Generator::new(seed);
    let each = 400;
    let m = bloom::bits_for(each, f);
    let filters = (0..ports)
        .map(|port| Bloom::with_shape(m, bloom::best_k(m, each), Hasher::seeded(seed ^ port)));
    let mut filters = filters.collect::<Result<Vec<Bloom>>>()?;
    let known: Vec<(Label, u64)> =
        (0..each * ports).map(|i| (label(&mut random), i % ports)).collect();
    known.iter().for_each(|(label, port)| _ = filters[*port as usize].insert(label));
    let copies = known.iter().flat_map(|(label, _)| filters.iter().filter(|f| f.contains(label)));
    Ok(copies.count() as f64 / known.len() as f64 - 1.0)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let rate = |load: f64| 4.0 * load * libm::exp2(-f64::from(REMAINDER));
    let mut oracle = Oracle::default();
    let xs = || (2..=28).map(|i| f64::from(i) / 4.0);
    let mut unknown = Series::new("unknown labels forwarded: n/2^q", xs(), rate);
    let mut surplus = Series::new("surplus copies of known labels", [], rate);
    for load in [2, 4, 6] {
        let seen = lab.runs(runs, |seed| try_one(seed, load))?;
        let sum = |f: fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>();
        oracle.none(&format!("ports of known labels missing, load {load}"), sum(|s| s.missing));
        let p = rate(load as f64);
        let point = sum(|s| s.unknown) as f64 / (runs * UNKNOWN) as f64;
        unknown.point(load as f64, p, point, bound::share(p, runs * UNKNOWN));
        let known = sum(|s| s.labels);
        // Labels come in pairs that share a fingerprint, each a surplus for the other unless the port is the same.
        let p = p * f64::from(PORTS - 1) / f64::from(PORTS);
        let pairs = bound::share(p / 2.0, known);
        let twice = Bound { low: pairs.low.map(|l| 2.0 * l), high: pairs.high.map(|h| 2.0 * h) };
        surplus.point(load as f64, p, sum(|s| s.surplus) as f64 / known as f64, twice);
    }
    let chart = Chart::new(
        "rate",
        "Wrong forwards with remainders of 14 bits",
        [Axis::linear("labels for each bucket of 8 cells (load)"), Axis::linear("share")],
        [unknown, surplus],
    );
    let f = rate(LOAD as f64);
    let mut banks =
        Series::new("a filter for each port: (ports − 1)·f", (2..=40).map(f64::from), |ports| {
            (ports - 1.0) * f
        });
    for ports in [8, 16, 32] {
        let means = lab.runs(runs, |seed| bank(seed, ports, f))?;
        let mean = means.iter().sum::<f64>() / runs as f64;
        let (n, expected) = (runs * 400 * ports * (ports - 1), (ports - 1) as f64 * f);
        // Filters of 400 labels differ in their fill, and so in their rates by a few percent.
        let share = bound::share(f, n).widened(f, 0.08);
        let scale = (ports - 1) as f64;
        let bound =
            Bound { low: share.low.map(|l| l * scale), high: share.high.map(|h| h * scale) };
        banks.point(ports as f64, expected, mean, bound);
    }
    let ours = Series::new("fingerprints with port masks", (2..=40).map(f64::from), |_| f);
    let copies = Chart::new(
        "copies",
        "Surplus copies of a packet with a known label, at equal rates",
        [Axis::linear("ports"), Axis::linear("copies")],
        [banks, ours],
    );
    let bits = 4.0 / 3.0 * f64::from(REMAINDER + PORTS);
    Ok(oracle.report().chart(chart).chart(copies).rows(changes(lab)?).note(format!(
        "A label takes {bits:.1} bits of fast memory with a mask of 32 ports; the bank takes {:.1} for every port \
         of the label.",
        bloom::bits(1.0, f)
    )))
}

/// Removal and overflow.
fn changes(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("changes", "Removal and overflow", Axis::linear("labels"));
    let seen = try_one(lab.seed(), LOAD)?;
    let removed = seen.labels / 2;
    let p = 4.0 * LOAD as f64 / 2.0 * libm::exp2(-f64::from(REMAINDER));
    let share = bound::share(p, removed);
    let scale = removed as f64;
    let bound = Bound { low: share.low.map(|l| l * scale), high: share.high.map(|h| h * scale) };
    rows.row(
        format!("forwarded after removal, of {removed}: as unknown ones"),
        p * scale,
        seen.after as f64,
        bound,
    );
    // A small table is filled until it refuses: everything accepted must still be there.
    let mut random = Generator::new(lab.seed());
    let mut switch = LabelSwitch::with_buckets(8, Hasher::seeded(lab.seed()))?;
    let mut accepted = Vec::new();
    loop {
        let label = label(&mut random);
        if switch.assign(label, 1).is_err() || accepted.len() > 10_000 {
            break;
        }
        accepted.push(label);
    }
    let cells = 8.0 * 4.0 * 8.0;
    rows.row(
        "accepted before the first refusal, of 256 cells",
        cells,
        accepted.len() as f64,
        Bound::between(0.75 * cells, cells),
    );
    let lost = accepted.iter().filter(|label| switch.ports(label) != 1).count();
    rows.row("of these, lost by the refusal", 0.0, lost as f64, Bound::exactly(0.0, 0.0));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a41_rates() {
        let f = 24.0 * libm::exp2(-14.0);
        assert!((f - 0.00146).abs() < 5e-6);
        assert!((31.0 * f - 0.045).abs() < 5e-4);
    }

    #[test]
    fn labels_of_one_fingerprint_have_the_ports_of_both() {
        // One bucket and many labels: some share a fingerprint.
        let mut switch = LabelSwitch::with_buckets(1, Hasher::default()).unwrap();
        let first = [0; 32];
        switch.assign(first, 1).unwrap();
        let mut random = Generator::new(1);
        let twin = loop {
            let label = label(&mut random);
            if switch.table.contains(&label) {
                break label;
            }
        };
        switch.assign(twin, 2).unwrap();
        assert_eq!((switch.ports(&first), switch.ports(&twin)), (3, 3));
        assert_eq!(switch.withdraw(&first).unwrap(), 1);
        assert_eq!(switch.ports(&twin), 2);
        assert!(switch.withdraw(&first).is_err());
        switch.assign(twin, 4).unwrap();
        assert_eq!(switch.ports(&twin), 4);
    }
}
