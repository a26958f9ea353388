//! Credentials and self-routing capabilities in the packet (catalogue A36; S0 §IV-E \[117\]\[118\]).
//!
//! ```text
//!   set-up     a ──▶ b ──▶ c       each router gives a tag: PRF(its secret; epoch, flow, in, out)
//!   header     OR of the tags      the sender puts it in every packet of the flow
//!   packet     b computes its tag anew and forwards only if the header has it: no state for any flow
//! ```
//!
//! [`Router`] has a secret and nothing else. A *credential* (Wolf) is its tag of the epoch and the flow; a
//! *capability* is one of the in- and outgoing link too, so that the header is path and permission in one. Who knows
//! no secret can only guess ones: a header of fill ρ passes a hop with about ρ^k and h hops with ρ^(kh). That holds
//! only if fuller headers are dropped; one of ones would pass everywhere. Epochs expire, and the one before is
//! accepted, since clocks differ.

use everbloom::internals::hash::Generator;
use everbloom::{Hasher, Result, SecretKey};

use crate::sim::in_packet::{Header, Tag, Tags, false_links, spread};
use crate::sim::{Graph, Link, Node, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// What a permission is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// To pass this router (Wolf's credentials).
    Credential,
    /// To come by one interface and leave by another.
    Capability {
        /// The interface, or the neighbor, that the packet comes from.
        from: u64,
        /// Where it goes.
        to: u64,
    },
}

impl Permit {
    fn links(self) -> (u64, u64) {
        match self {
            Permit::Credential => (u64::MAX, u64::MAX),
            Permit::Capability { from, to } => (from, to),
        }
    }
}

/// A router that forwards only what it has permitted, and remembers no flow.
///
/// ```
/// use everbloom::SecretKey;
/// use everbloom_lab::applications::forwarding::capabilities::{Permit, Router, header};
///
/// let router = Router::new(SecretKey::new([7; 16]));
/// let packet = header([&router.permit(Permit::Credential, 41, 10)]);
/// assert!(router.passes(&packet, Permit::Credential, 41, 10));
/// assert!(router.passes(&packet, Permit::Credential, 41, 11), "clocks differ");
/// assert!(!router.passes(&packet, Permit::Credential, 41, 12), "expired");
/// assert!(!router.passes(&packet, Permit::Credential, 42, 10), "another flow");
/// ```
pub struct Router {
    tags: Tags,
}

/// Bits of a header, ones of a tag, and the greatest share of ones of a header that is forwarded.
pub const HEADER_BITS: u64 = 256;
const K: u32 = 5;
const LIMIT: f64 = 0.5;

impl Router {
    /// A router with this secret.
    pub fn new(secret: SecretKey) -> Self {
        Self { tags: Tags::distinct(HEADER_BITS, K, Hasher::keyed(secret)) }
    }

    /// The tag that permits a flow to pass in an epoch and the one after it.
    pub fn permit(&self, permit: Permit, flow: u64, epoch: u64) -> Tag {
        let (from, to) = permit.links();
        self.tags.tag(epoch, &(flow, from, to))
    }

    /// Whether a packet of the flow passes: its header is not too full, and has the tag of this epoch or of the
    /// one before.
    pub fn passes(&self, header: &Header, permit: Permit, flow: u64, epoch: u64) -> bool {
        header.fill() <= LIMIT && self.has(header, permit, flow, epoch)
    }

    fn has(&self, header: &Header, permit: Permit, flow: u64, epoch: u64) -> bool {
        let of = |epoch| header.admits(&self.permit(permit, flow, epoch));
        of(epoch) || epoch.checked_sub(1).is_some_and(of)
    }
}

/// The header of these tags.
pub fn header<'t>(tags: impl IntoIterator<Item = &'t Tag>) -> Header {
    plain().header(0, tags)
}

/// Tags without a secret: for headers that are made of others' tags, or of guesses.
fn plain() -> Tags {
    Tags::distinct(HEADER_BITS, K, Hasher::default())
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A36",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "a list of the permitted flows, paths and epochs",
    data: "flows over shortest paths of random networks; headers of others' flows, past epochs, and guessed ones",
    experiment: Experiment {
        name: "capabilities",
        source: "S0 §IV-E [117][118]",
        title: "Credentials and self-routing capabilities in the packet",
        shows: "Permitted packets pass every hop in their epoch and the next; a guessed header of fill ρ passes h \
                hops with the h-th power of C(ones, k)/C(m, k), about ρ^k; one of ones passes nowhere.",
        run,
    },
};

const EPOCH: u64 = 1_000;
const NODES: usize = 80;

fn network(seed: u64) -> (Graph, Vec<Router>) {
    let mut random = Generator::new(seed);
    let secrets = (0..NODES).map(|_| {
        let words = [random.next_u64(), random.next_u64()].map(u64::to_le_bytes);
        Router::new(SecretKey::new(words.concat().try_into().unwrap_or([0; 16])))
    });
    let routers = secrets.collect();
    (Topology::UnitDisk { nodes: NODES, radius: 0.19 }.build(seed), routers)
}

/// The routers between the ends of a path, with where the packet comes from and goes to.
fn hops(path: &[Node]) -> impl Iterator<Item = (Node, Permit)> {
    path.windows(3).map(|w| (w[1], Permit::Capability { from: w[0] as u64, to: w[2] as u64 }))
}

fn header_of(
    routers: &[Router],
    path: &[Node],
    flow: u64,
    epoch: u64,
    credentials: bool,
) -> Header {
    let tags: Vec<Tag> = hops(path)
        .map(|(node, permit)| {
            let permit = if credentials { Permit::Credential } else { permit };
            routers[node].permit(permit, flow, epoch)
        })
        .collect();
    header(&tags)
}

/// Hops that a packet passes before it is dropped, of those of its path.
fn passed(
    routers: &[Router],
    path: &[Node],
    header: &Header,
    flow: u64,
    epoch: u64,
    credentials: bool,
) -> usize {
    let passes = |(node, permit): &(Node, Permit)| {
        let permit = if credentials { Permit::Credential } else { *permit };
        routers[*node].passes(header, permit, flow, epoch)
    };
    hops(path).take_while(passes).count()
}

/// Counts of flows: stopped though permitted, and passed though not.
#[derive(Default)]
struct Seen {
    stopped: u64,
    expired: u64,
    /// Hops that others' headers passed, of how many tried, and the chance that their fill gives them.
    others: [f64; 3],
}

fn try_flows(seed: u64) -> Seen {
    let (graph, routers) = network(seed);
    let mut random = Generator::new(!seed);
    let mut seen = Seen::default();
    for flow in 0..150 {
        let [from, to] = [0; 2].map(|_| random.below(NODES as u64) as Node);
        let path = graph.path(from, to).unwrap_or_default();
        let length = path.len().saturating_sub(2);
        if length < 3 {
            continue;
        }
        for credentials in [false, true] {
            let header = header_of(&routers, &path, flow, EPOCH, credentials);
            let go = |flow, epoch| passed(&routers, &path, &header, flow, epoch, credentials);
            seen.stopped +=
                [EPOCH, EPOCH + 1].iter().filter(|e| go(flow, **e) < length).count() as u64;
            seen.expired += [EPOCH + 2, EPOCH + 9, EPOCH - 1]
                .iter()
                .filter(|e| go(flow, **e) == length)
                .count() as u64;
            // Another flow's packet with this header: the two epochs of its tags are two guesses a hop.
            let chance = plain().chance(header.ones());
            for other in 0..40 {
                for (node, permit) in hops(&path) {
                    let passes = routers[node].passes(&header, permit, 1_000_000 + other, EPOCH);
                    seen.others[0] += f64::from(u8::from(passes));
                    seen.others[1] += 1.0;
                    seen.others[2] += 1.0 - (1.0 - chance) * (1.0 - chance);
                }
            }
        }
    }
    seen
}

/// Guessed headers with this fill that pass `hops` routers in a row, of `trials`.
fn guessed(seed: u64, fill: f64, hops: usize, trials: u64) -> u64 {
    let (_, routers) = network(seed);
    let mut random = Generator::new(!seed);
    let ones = (fill * HEADER_BITS as f64) as u64;
    let lucky = (0..trials).filter(|flow| {
        let header = plain().forged(ones, &mut random);
        // Epoch 0 has none before it: one tag a hop, as in the formula.
        (0..hops).all(|hop| routers[hop].passes(&header, Permit::Credential, *flow, 0))
    });
    lucky.count() as u64
}

const TRIALS: u64 = 20_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let seen = lab.runs(lab.scaled(6), |seed| Ok(try_flows(seed)))?;
    oracle.none(
        "permitted packets stopped in their epoch or the next",
        seen.iter().map(|s| s.stopped).sum(),
    );
    oracle.none(
        "packets of expired or future epochs that passed",
        seen.iter().map(|s| s.expired).sum(),
    );
    let chance = |ones: u64| plain().chance(ones);
    let mut series = Vec::new();
    for (fill, name) in [(0.5, "ρ = 0.5 (the limit)"), (0.375, "ρ = 0.375")] {
        let ones = (fill * HEADER_BITS as f64) as u64;
        let mut line = Series::new(name, (1..=5).map(f64::from), |h| libm::pow(chance(ones), h));
        let trials = lab.scaled(TRIALS);
        let hops = [1, 2];
        let found = lab.over(&hops, |&h| Ok(guessed(lab.seed(), fill, h, trials)))?;
        for (h, lucky) in hops.into_iter().zip(found) {
            let expected = libm::pow(chance(ones), h as f64);
            let measured = lucky as f64 / trials as f64;
            line.point(h as f64, expected, measured, bound::share(expected, trials));
        }
        series.push(line);
    }
    let chart = Chart::new(
        "guessed",
        "Guessed headers that pass h hops (m = 256, k = 5)",
        [Axis::linear("hops h"), Axis::log("share that pass")],
        series,
    );
    let mut rows = Rows::new("limits", "What else is tried", Axis::linear("share"));
    let sum = |i: usize| seen.iter().map(|s| s.others[i]).sum::<f64>();
    let expected = sum(2) / sum(1);
    rows.row(
        "hops passed with another flow's header, as one of random ones",
        expected,
        sum(0) / sum(1),
        bound::share(expected, sum(1) as u64),
    );
    let (_, routers) = network(lab.seed());
    let ones = plain().forged(HEADER_BITS, &mut Generator::new(1));
    let share = |passes: &dyn Fn(&Router) -> bool| {
        routers.iter().filter(|r| passes(r)).count() as f64 / routers.len() as f64
    };
    let limited = share(&|r| r.passes(&ones, Permit::Credential, 1, EPOCH));
    rows.row("routers passed by a header of ones", 0.0, limited, Bound::exactly(0.0, 0.0));
    let free = share(&|r| r.has(&ones, Permit::Credential, 1, EPOCH));
    rows.row("the same without the limit on the fill (trap)", 1.0, free, Bound::exactly(1.0, 0.0));
    Ok(oracle.report().chart(chart).rows(rows).drawing(picture(lab)).note(
        "A router's state is its secret of 128 bits, whatever the number of flows. A guess that may match the tag \
         of this epoch or of the one before has two chances a hop.",
    ))
}

/// A permitted path, and where a guessed header of fill one half gets from the same sender.
fn picture(lab: &Lab) -> Drawing {
    let (graph, routers) = network(lab.seed());
    let far =
        graph.ways_to(0).iter().enumerate().max_by_key(|(_, way)| way.map(|w| w.0)).map(|w| w.0);
    let path = graph.path(0, far.unwrap_or(0)).unwrap_or_default();
    let header = header_of(&routers, &path, 1, EPOCH, false);
    let goes = |header: &Header, link: Link, before: Node| {
        let permit = Permit::Capability { from: before as u64, to: link.to as u64 };
        link.from == 0 || routers[link.from].passes(header, permit, 1, EPOCH)
    };
    let links: Vec<Link> = path.windows(2).map(|w| Link { from: w[0], to: w[1] }).collect();
    let before = |node: Node| links.iter().find(|l| l.to == node).map_or(0, |l| l.from);
    let wanted: Vec<Link> =
        links.iter().filter(|link| goes(&header, **link, before(link.from))).copied().collect();
    // The most successful of twenty guesses, which the sender gives to all of its neighbors.
    let mut random = Generator::new(lab.seed());
    let ways = graph.ways_to(0);
    let came = |node: Node| ways[node].map_or(0, |(_, before)| before);
    let guess = |_| {
        let guess = plain().forged(HEADER_BITS / 2, &mut random);
        spread(&graph, 0, |link| goes(&guess, link, came(link.from)))
    };
    let guessed = (0..20).map(guess).max_by_key(Vec::len).unwrap_or_default();
    let wrong = false_links(&guessed, &links);
    let names = [(0, "sender".to_owned()), (far.unwrap_or(0), "receiver".to_owned())];
    let title = format!(
        "A permitted path of {} hops, and {} links by the best of 20 guesses",
        links.len(),
        wrong.len()
    );
    drawing("paths", &title, &graph, [&wanted, &wrong], &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a36_five_hops() {
        assert!((0.5f64.powi(25) / 2.98e-8 - 1.0).abs() < 1e-3);
        // With k different ones the chance at half fill is a little lower.
        let exact = plain().chance(HEADER_BITS / 2);
        assert!(exact < 0.03125 && exact > 0.029, "{exact}");
    }

    #[test]
    fn a_capability_is_for_one_way_through_the_router() {
        let router = Router::new(SecretKey::new([1; 16]));
        let way = Permit::Capability { from: 1, to: 2 };
        let packet = header([&router.permit(way, 5, 0)]);
        assert!(router.passes(&packet, way, 5, 0));
        assert!(!router.passes(&packet, Permit::Capability { from: 2, to: 1 }, 5, 0));
        assert!(!router.passes(&packet, Permit::Credential, 5, 0));
    }
}
