//! How many probes classes of keys get whose query frequencies and chances of being members are known (§14, §15).
//!
//! A false positive of a key costs as often as the key is queried; a member costs as many bits as it has probes. Both
//! entries minimize Σ q·2^{−k} over a filter that is half full.

use std::collections::BinaryHeap;

/// Sums of shares are compared with this tolerance: budgets may be used exactly.
const HAIR: f64 = 1e-12;

/// The best real number of probes of each class, given for each the number of its members and the queries of its
/// non-members: k_c = (m/n)·ln 2 + log2 r_c − (1/n)·Σ n_i·log2 r_i, r = queries/members (catalogue §14).
///
/// A class without members gets infinitely many, one without queries infinitely few; neither is part of the mean.
pub fn best_probes(m: f64, classes: &[(f64, f64)]) -> Vec<f64> {
    let score = |(members, queries): (f64, f64)| libm::log2(queries / members);
    let finite =
        || classes.iter().copied().filter(|(members, queries)| *members > 0.0 && *queries > 0.0);
    let n: f64 = classes.iter().map(|(members, _)| members).sum();
    let counted: f64 = finite().map(|(members, _)| members).sum();
    let mean = finite().map(|class| class.0 * score(class)).sum::<f64>() / counted.max(1.0);
    let base = m / n.max(1.0) * std::f64::consts::LN_2;
    let probes = |class: &(f64, f64)| match *class {
        (members, _) if members <= 0.0 => f64::INFINITY,
        (_, queries) if queries <= 0.0 => f64::NEG_INFINITY,
        class => base + score(class) - mean,
    };
    classes.iter().map(probes).collect()
}

/// What whole numbers of probes are chosen from: for each object the probability that a negative query is for it,
/// and its share p of the members; Σ p·k may not exceed the budget (m/n)·ln 2.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Per object, q' and p.
    pub objects: &'a [(f64, f64)],
    /// The maximum of Σ p·k.
    pub budget: f64,
    /// The fewest probes that an object may have.
    pub least: u32,
    /// The most.
    pub most: u32,
}

impl Problem<'_> {
    /// The importance of an object, q'/p: infinite for one that is never a member.
    fn score(&self, i: usize) -> f64 {
        let (q, p) = self.objects[i];
        if q <= 0.0 { 0.0 } else { q / p.max(0.0) }
    }

    /// Σ q'·2^{−k}, the false positives of a half full filter.
    pub fn objective(&self, probes: &[u32]) -> f64 {
        let term = |((q, _), k): (&(f64, f64), &u32)| q * libm::exp2(-f64::from(*k));
        self.objects.iter().zip(probes).map(term).sum()
    }

    /// Σ p·k.
    pub fn cost(&self, probes: &[u32]) -> f64 {
        self.objects.iter().zip(probes).map(|((_, p), k)| p * f64::from(*k)).sum()
    }

    /// Whether the budget allows these probes.
    pub fn allows(&self, probes: &[u32]) -> bool {
        self.cost(probes) <= self.budget + HAIR
    }

    /// At most twice the least objective: one probe after another to the object where it gains most for its cost,
    /// until the next does not fit.
    ///
    /// In decreasing order of gain for cost, q'/p·2^{−(j+1)}, all probes that fit and a fraction of the next solve the
    /// relaxed problem. Leaving the fraction out at most doubles that object's term, 2^{−j} in place of at least
    /// 2^{−(j+1)}, and changes no other. O(N·k·log N).
    pub fn greedy(&self) -> Vec<u32> {
        let mut probes = vec![self.least; self.objects.len()];
        let gain = |i: usize, k: u32| self.score(i) * libm::exp2(-f64::from(k + 1));
        let entry = |i: usize, k: u32| (Total(gain(i, k)), std::cmp::Reverse(i));
        let more = |k: u32| k < self.most;
        let mut heap: BinaryHeap<_> = (0..self.objects.len())
            .filter(|i| more(self.least) && self.score(*i) > 0.0)
            .map(|i| entry(i, self.least))
            .collect();
        let mut cost = self.cost(&probes);
        while let Some((_, std::cmp::Reverse(i))) = heap.pop() {
            cost += self.objects[i].1;
            if cost > self.budget + HAIR {
                break;
            }
            probes[i] += 1;
            if more(probes[i]) {
                heap.push(entry(i, probes[i]));
            }
        }
        probes
    }

    /// At most 2 + ε times the least objective: k = ⌊log2(score/λ)⌋ for the least λ that fits, on a grid of ratio
    /// 1 + ε/2. O(N·log(1/ε)) for the bisection.
    pub fn grid(&self, epsilon: f64) -> Vec<u32> {
        let probes = |lambda: f64| -> Vec<u32> {
            let of = |i: usize| {
                let k = libm::floor(libm::log2(self.score(i) / lambda));
                k.clamp(f64::from(self.least), f64::from(self.most)) as u32
            };
            (0..self.objects.len()).map(of).collect()
        };
        let finite =
            || (0..self.objects.len()).map(|i| self.score(i)).filter(|s| *s > 0.0 && s.is_finite());
        let (low, high) = finite().fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(s), h.max(s)));
        if high == 0.0 {
            // Nobody is queried, or whoever is, is never a member: any λ tells those apart.
            return probes(1.0);
        }
        // At the first point of the grid all have the most probes, at the last the fewest.
        let first = low * libm::exp2(-f64::from(self.most) - 1.0);
        let ratio = 1.0 + epsilon / 2.0;
        let at = |step: u64| first * libm::pow(ratio, step as f64);
        let (mut below, mut fits) =
            (0, (libm::log(2.0 * high / first) / libm::log(ratio)).ceil() as u64 + 1);
        if self.allows(&probes(at(0))) {
            return probes(at(0));
        }
        while fits - below > 1 {
            let middle = below + (fits - below) / 2;
            if self.allows(&probes(at(middle))) { fits = middle } else { below = middle }
        }
        probes(at(fits))
    }

    /// The least objective: probes follow the order of the scores, so that all assignments that fall along it are
    /// tried. For a handful of objects: there are C(N + k, k) of them.
    pub fn by_steps(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.objects.len()).collect();
        order.sort_by(|a, b| self.score(*b).total_cmp(&self.score(*a)));
        let mut best = (f64::INFINITY, vec![self.least; order.len()]);
        let mut probes = best.1.clone();
        self.step(&order, self.most, &mut probes, &mut best);
        best.1
    }

    fn step(&self, order: &[usize], most: u32, probes: &mut Vec<u32>, best: &mut (f64, Vec<u32>)) {
        let Some((first, rest)) = order.split_first() else {
            let objective = self.objective(probes);
            if self.allows(probes) && objective < best.0 {
                *best = (objective, probes.clone());
            }
            return;
        };
        for k in self.least..=most {
            probes[*first] = k;
            self.step(rest, k, probes, best);
        }
        probes[*first] = self.least;
    }
}

/// A number in its total order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Total(f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_alike_get_what_the_standard_filter_has() {
        for k in best_probes(10_000.0, &[(300.0, 30.0), (700.0, 70.0)]) {
            assert!((k - 10.0 * std::f64::consts::LN_2).abs() < 1e-12);
        }
        let odd = best_probes(10_000.0, &[(0.0, 5.0), (1000.0, 1.0), (10.0, 0.0)]);
        assert_eq!((odd[0], odd[2]), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(odd[1].is_finite());
        assert!(best_probes(100.0, &[]).is_empty());
    }

    #[test]
    fn objects_never_queried_and_never_members_are_edges() {
        let objects = [(0.5, 0.0), (0.0, 0.4), (0.5, 0.6)];
        for least in [0, 1] {
            let problem = Problem { objects: &objects, budget: 3.0, least, most: 8 };
            for probes in [problem.greedy(), problem.grid(0.5)] {
                assert_eq!((probes[0], probes[1]), (8, least), "{probes:?}");
                assert!(problem.allows(&probes) && probes[2] >= 4);
            }
        }
        // Nothing that could be queried and be a member.
        let problem = Problem { objects: &objects[..2], budget: 3.0, least: 1, most: 8 };
        assert_eq!((problem.greedy(), problem.grid(0.5)), (vec![8, 1], vec![8, 1]));
        // A budget below the fewest probes leaves them.
        let poor = Problem { objects: &objects, budget: 0.1, least: 1, most: 8 };
        assert_eq!(poor.greedy()[1..], [1, 1]);
        assert_eq!(poor.grid(0.5)[1..], [1, 1]);
    }
}
