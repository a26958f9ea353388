//! Longest-prefix match with a filter for each length (catalogue A13; S0 §IV-C1 \[78\], S3 \[40\]).
//!
//! ```text
//!   address ──▶ filter /8   no          the filters are asked at once, in fast memory;
//!           ──▶ filter /16  maybe  2nd  tables are probed from the longest "maybe" down,
//!           ──▶ filter /24  maybe  1st  in slow memory, until one has the prefix
//! ```
//!
//! The filters share the memory by M_i = M·n_i/N, so that all err at the same rate f = (1/2)^((M/N)·ln 2). An
//! address then costs at most B·f + 1 probes of a table on average, for B lengths. The answer is exact, since a
//! table decides. S0 prints the exponent as (M/N)/ln 2 and calls f itself the number of probes: both are wrong.
//!
//! The control plane counts ([`Counting`](everbloom::Counting)), so that routes can be withdrawn; the data plane gets its bits.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory;

use super::planes::Planes;
use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Series, bound,
};

/// An address of a fixed number of bits.
pub trait Address: Copy {
    /// How many bits it has.
    const WIDTH: u8;
    /// The bits, the first one highest of [`Address::WIDTH`].
    fn bits(self) -> u128;
}

impl Address for u32 {
    const WIDTH: u8 = 32;
    fn bits(self) -> u128 {
        self.into()
    }
}

impl Address for Ipv4Addr {
    const WIDTH: u8 = 32;
    fn bits(self) -> u128 {
        u32::from(self).into()
    }
}

impl Address for Ipv6Addr {
    const WIDTH: u8 = 128;
    fn bits(self) -> u128 {
        self.into()
    }
}

/// The first `length` bits of an address, the others zero.
pub(super) fn prefix<A: Address>(address: A, length: u8) -> u128 {
    let kept = u32::from(A::WIDTH - length.min(A::WIDTH));
    address.bits().checked_shr(kept).unwrap_or(0).checked_shl(kept).unwrap_or(0)
}

/// A routing table: the next hop of the longest prefix of an address.
///
/// ```
/// use std::net::Ipv4Addr;
/// use everbloom_lab::applications::forwarding::longest_prefix::LongestPrefix;
///
/// let routes = [(Ipv4Addr::new(10, 0, 0, 0), 8, "east"), (Ipv4Addr::new(10, 1, 0, 0), 16, "west")];
/// let mut table = LongestPrefix::new(routes, 12.0)?;
/// assert_eq!(table.next_hop(Ipv4Addr::new(10, 1, 2, 3)), Some(&"west"));
/// table.withdraw(Ipv4Addr::new(10, 1, 0, 0), 16)?;
/// assert_eq!(table.next_hop(Ipv4Addr::new(10, 1, 2, 3)), Some(&"east"));
/// assert_eq!(table.next_hop(Ipv4Addr::new(11, 0, 0, 0)), None);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct LongestPrefix<A, H> {
    levels: BTreeMap<u8, Level<H>>,
    /// Length 0 matches every address: no filter can help there.
    default: Option<H>,
    bits_per_prefix: f64,
    address: std::marker::PhantomData<A>,
}

struct Level<H> {
    filter: Planes,
    table: HashMap<u128, H>,
}

impl<H> Level<H> {
    /// Room for `items` prefixes at `bits_per_prefix`.
    fn new(items: u64, bits_per_prefix: f64) -> Result<Self> {
        Ok(Self { filter: Planes::for_items(items, bits_per_prefix)?, table: HashMap::new() })
    }

    fn insert(&mut self, key: u128, hop: H) {
        if self.table.insert(key, hop).is_none() {
            self.filter.insert(&key);
        }
    }

    fn remove(&mut self, key: u128) -> Result<Option<H>> {
        let hop = self.table.remove(&key);
        if hop.is_some() {
            self.filter.remove(&key)?;
        }
        Ok(hop)
    }
}

impl<A: Address, H> LongestPrefix<A, H> {
    /// A table of routes (prefix, its length, next hop), with so many bits of filter for each prefix. Of two
    /// routes with the same prefix the later one counts; a length above the address's width is that width.
    pub fn new(routes: impl IntoIterator<Item = (A, u8, H)>, bits_per_prefix: f64) -> Result<Self> {
        let mut by_length: BTreeMap<u8, Vec<(u128, H)>> = BTreeMap::new();
        for (address, length, hop) in routes {
            let length = length.min(A::WIDTH);
            by_length.entry(length).or_default().push((prefix(address, length), hop));
        }
        let default =
            by_length.remove(&0).and_then(|all| all.into_iter().last()).map(|(_, hop)| hop);
        let mut levels = BTreeMap::new();
        for (length, routes) in by_length {
            let mut level = Level::new(routes.len() as u64, bits_per_prefix)?;
            for (key, hop) in routes {
                level.insert(key, hop);
            }
            levels.insert(length, level);
        }
        Ok(Self { levels, default, bits_per_prefix, address: std::marker::PhantomData })
    }

    /// Adds or replaces a route. A length that was not there gets a filter for 64 prefixes.
    pub fn announce(&mut self, address: A, length: u8, hop: H) -> Result<()> {
        let length = length.min(A::WIDTH);
        if length == 0 {
            self.default = Some(hop);
            return Ok(());
        }
        if !self.levels.contains_key(&length) {
            self.levels.insert(length, Level::new(64, self.bits_per_prefix)?);
        }
        if let Some(level) = self.levels.get_mut(&length) {
            level.insert(prefix(address, length), hop);
        }
        Ok(())
    }

    /// Takes a route out, and returns its next hop.
    pub fn withdraw(&mut self, address: A, length: u8) -> Result<Option<H>> {
        if length == 0 {
            return Ok(self.default.take());
        }
        match self.levels.get_mut(&length.min(A::WIDTH)) {
            Some(level) => level.remove(prefix(address, length)),
            None => Ok(None),
        }
    }

    /// The next hop of the longest prefix.
    pub fn next_hop(&self, address: A) -> Option<&H> {
        self.probed(address).0
    }

    /// The next hop, and how many tables were probed for it.
    pub fn probed(&self, address: A) -> (Option<&H>, u32) {
        let mut probes = 0;
        for (&length, level) in self.levels.iter().rev() {
            let key = prefix(address, length);
            if level.filter.contains(&key) {
                probes += 1;
                if let Some(hop) = level.table.get(&key) {
                    return (Some(hop), probes);
                }
            }
        }
        (self.default.as_ref(), probes)
    }

    /// Bits of the data plane's filters.
    pub fn filter_bits(&self) -> u64 {
        self.levels.values().map(|level| level.filter.bits()).sum()
    }
}

/// The exact twin: a binary trie.
#[derive(Default)]
struct Trie {
    hop: Option<u32>,
    children: [Option<Box<Trie>>; 2],
}

impl Trie {
    fn at(&mut self, bits: u128, width: u8, length: u8) -> &mut Trie {
        (0..length).fold(self, |node, i| {
            let bit = (bits >> (width - 1 - i) & 1) as usize;
            node.children[bit].get_or_insert_default()
        })
    }

    fn longest(&self, bits: u128, width: u8) -> Option<u32> {
        let (mut node, mut best) = (self, self.hop);
        for i in 0..width {
            let Some(child) = &node.children[(bits >> (width - 1 - i) & 1) as usize] else { break };
            node = child;
            best = node.hop.or(best);
        }
        best
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A13",
    form: Form::Component,
    uses: &["bloom", "counting"],
    oracle: "a binary trie of the same routes",
    data: "routes of all 32 lengths with random prefixes; addresses under them and at random",
    experiment: Experiment {
        name: "longest-prefix",
        source: "S0 §IV-C1 [78], S3 [40]",
        title: "Longest-prefix match with a filter for each length",
        shows: "Every next hop is the trie's. An address under no route costs B·f probes of a table, one \
                under a route at most B·f + 1: 1.685 at 8 bits a prefix, 1.100 at 12, 1.015 at 16.",
        run,
    },
};

/// Lengths 1 to 32, as in the paper's worst case.
const LENGTHS: u8 = 32;
/// Prefixes of each length that is long enough to have them.
const PREFIXES: u64 = 1_000;
const BITS: [f64; 3] = [8.0, 12.0, 16.0];

fn routes(seed: u64) -> Vec<(Ipv4Addr, u8, u32)> {
    let mut random = Generator::new(seed);
    let lengths = 1..=LENGTHS;
    let all = lengths.flat_map(|length| {
        let count = PREFIXES.min(1 << (length.min(20) - 1));
        (0..count).map(move |_| length)
    });
    all.enumerate()
        .map(|(i, length)| ((random.next_u64() as u32).into(), length, i as u32))
        .collect()
}

struct Seen {
    pairs: Vec<(Option<u32>, Option<u32>)>,
    probes: u64,
    most: u32,
}

fn try_one(seed: u64, bits: f64, lookups: u64) -> Result<Seen> {
    let routes = routes(seed);
    let mut table = LongestPrefix::new(routes.iter().copied(), bits)?;
    let mut trie = Trie::default();
    for &(address, length, hop) in &routes {
        trie.at(address.bits(), 32, length).hop = Some(hop);
    }
    // A tenth is withdrawn: the counters must take out these prefixes and no others.
    for &(address, length, _) in routes.iter().step_by(10) {
        let kept = prefix(address, length);
        table.withdraw(address, length)?;
        trie.at(kept, 32, length).hop = None;
    }
    let mut random = Generator::new(!seed);
    let mut seen = Seen { pairs: Vec::new(), probes: 0, most: 0 };
    for i in 0..lookups {
        let address: Ipv4Addr = match i % 2 {
            0 => (random.next_u64() as u32).into(),
            _ => {
                let (route, length, _) = routes[random.below(routes.len() as u64) as usize];
                let below = (random.next_u64() as u32).checked_shr(length.into()).unwrap_or(0);
                (u32::from(route) & !(u32::MAX.checked_shr(length.into()).unwrap_or(0)) | below)
                    .into()
            }
        };
        let (hop, probes) = table.probed(address);
        seen.pairs.push((hop.copied(), trie.longest(address.bits(), 32)));
        seen.probes += u64::from(probes);
        seen.most = seen.most.max(probes);
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, lookups) = (lab.scaled(4), 20_000);
    let f = |bits: f64| theory::bloom::fpr_best(bits);
    let worst = |bits: f64| f64::from(LENGTHS) * f(bits) + 1.0;
    let mut oracle = Oracle::default();
    let axis = [Axis::linear("bits of filter for each prefix"), Axis::linear("probes of tables")];
    let [x, y] = axis;
    let xs = (24..=72).map(|i| f64::from(i) / 4.0);
    let mut series = Series::new("at most B·f + 1", xs, worst);
    let mut most = 0;
    for bits in BITS {
        let seen = lab.runs(runs, |seed| try_one(seed, bits, lookups))?;
        most = seen.iter().map(|s| s.most).max().unwrap_or(0).max(most);
        let means: Vec<f64> = seen.iter().map(|s| s.probes as f64 / lookups as f64).collect();
        let (mean, sd) = bound::mean_and_sd(&means);
        // k is a whole number, which costs up to 2 % of the rate's factor; the worst case is a bound from above.
        let high = worst(bits) + 4.9 * sd / (runs as f64).sqrt();
        series.point(bits, worst(bits), mean, Bound::between(0.5, high));
        let pairs = seen.into_iter().flat_map(|s| s.pairs);
        oracle.equal(&format!("next hops at {bits} bits a prefix"), pairs);
    }
    let chart = Chart::new(
        "probes",
        "Mean probes of tables for an address, half of them under a route",
        [x, y],
        [series],
    );
    let printed = libm::pow(0.5, 8.0 / std::f64::consts::LN_2);
    let rate = measured_rate(lab)?;
    Ok(oracle
        .report()
        .chart(chart)
        .erratum(
            "S0 §IV-C1 (longest-prefix match)",
            ["f = (1/2)^((M/N)/ln 2)", "f = (1/2)^((M/N)·ln 2)"],
            printed,
            [f(8.0), rate],
            bound::share(f(8.0), RATE_TRIALS).widened(f(8.0), 0.03),
        )
        .note(format!("The most tables probed for one address: {most} of {LENGTHS}.")))
}

const RATE_TRIALS: u64 = 400_000;

/// How often the filter of one length errs at 8 bits a prefix.
fn measured_rate(lab: &Lab) -> Result<f64> {
    let mut level = Level::new(20_000, 8.0)?;
    for i in 0..20_000u128 {
        level.insert(i, ());
    }
    let first = u128::from(lab.seed()) << 64;
    let wrong =
        (0..u128::from(RATE_TRIALS)).filter(|i| level.filter.contains(&(first + (1 << 40) + i)));
    Ok(wrong.count() as f64 / RATE_TRIALS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a13_expected_probes() {
        let worst = |bits| 32.0 * theory::bloom::fpr_best(bits) + 1.0;
        for (bits, probes) in [(8.0, 1.685), (12.0, 1.100), (16.0, 1.015)] {
            assert!((worst(bits) - probes).abs() < 6e-4, "{bits}: {}", worst(bits));
        }
    }

    #[test]
    fn ipv6_default_route_and_whole_addresses() {
        let any: Ipv6Addr = "::".parse().unwrap();
        let net: Ipv6Addr = "2001:db8::".parse().unwrap();
        let host: Ipv6Addr = "2001:db8::1".parse().unwrap();
        let mut table =
            LongestPrefix::new([(any, 0, 0), (net, 32, 1), (host, 128, 2)], 10.0).unwrap();
        assert_eq!(table.next_hop(host), Some(&2));
        assert_eq!(table.next_hop("2001:db8::2".parse().unwrap()), Some(&1));
        assert_eq!(table.next_hop("fe80::1".parse().unwrap()), Some(&0));
        table.announce(host, 64, 3).unwrap();
        assert_eq!(table.next_hop("2001:db8::2".parse().unwrap()), Some(&3));
        assert_eq!(table.withdraw(any, 0).unwrap(), Some(0));
        assert_eq!(table.next_hop("fe80::1".parse().unwrap()), None);
        assert_eq!(table.withdraw(net, 33).unwrap(), None);
        assert!(table.filter_bits() > 0);
    }
}
