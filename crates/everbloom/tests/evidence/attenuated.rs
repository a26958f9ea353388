//! §40, attenuated filters.

use everbloom::grouping::Attenuated;
use everbloom::internals::filter::{Filter, Insert};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom::fpr_asymptotic;
use everbloom::{Bound, Detail, Number, Record, Value, Verdict};

fn filter(m: u64, k: u32, depth: u64) -> Attenuated {
    Attenuated::with_shape(m, k, depth, Hasher::default()).unwrap()
}

#[test]
fn s40_rates_of_levels() {
    let sizes = [100u64, 400, 1600];
    let printed = [7.5e-5, 0.0109, 0.390];
    let mut means = [0.0; 3];
    for seed in 0..20 {
        let mut f = Attenuated::with_shape(4096, 4, 3, Hasher::seeded(seed)).unwrap();
        for (level, n) in (1..).zip(sizes) {
            (0..n).for_each(|key| _ = f.insert(&(level << 32 | key), level).unwrap());
        }
        for (mean, rate) in means.iter_mut().zip(f.level_rates()) {
            *mean += rate / 20.0;
        }
    }
    for ((mean, n), printed) in means.into_iter().zip(sizes).zip(printed) {
        let formula = fpr_asymptotic(4096.0, n as f64, 4.0);
        assert!((formula / printed - 1.0).abs() < 0.01, "{formula} {printed}");
        assert!((mean / formula - 1.0).abs() < 0.1, "{mean} {formula}");
    }
}

/// What every node holds for each of its edges after d rounds, on an undirected graph.
fn settle(
    own: &[Attenuated],
    edges: &[(usize, usize)],
    depth: u64,
) -> Vec<Vec<(usize, Attenuated)>> {
    let empty = |_: usize| filter(1 << 14, 6, depth);
    let neighbors = |u: usize| {
        let both = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        both.filter(move |(a, _)| *a == u).map(|(_, b)| b).collect::<Vec<_>>()
    };
    let nodes = own.len();
    let mut held: Vec<Vec<(usize, Attenuated)>> =
        (0..nodes).map(|u| neighbors(u).into_iter().map(|w| (w, empty(w))).collect()).collect();
    for _ in 0..depth {
        let told = |from: usize, to: usize| {
            let others: Vec<_> =
                held[from].iter().filter(|(w, _)| *w != to).map(|(_, f)| f).collect();
            own[from].advertise(&others).unwrap()
        };
        held =
            (0..nodes).map(|u| held[u].iter().map(|(w, _)| (*w, told(*w, u))).collect()).collect();
    }
    held
}

/// Objects within d hops are always told of, at a level not above their distance; on trees at exactly that.
#[test]
fn s40_objects_within_d_hops_are_told_of() {
    let depth = 4;
    for tree in [true, false] {
        let mut random = Generator::new(5);
        let nodes = 40;
        let mut edges: Vec<(usize, usize)> =
            (1..nodes).map(|u| (random.below(u as u64) as usize, u)).collect();
        if !tree {
            edges.extend((0..15).map(|i| (i, 39 - i)));
        }
        let own: Vec<_> = (0..nodes)
            .map(|u| {
                let mut f = filter(1 << 14, 6, depth);
                f.insert(&(u as u64), 1).unwrap();
                f
            })
            .collect();
        let held = settle(&own, &edges, depth);
        assert_eq!(held, settle(&own, &edges, depth), "a fixed point");
        // Distances through each edge, without going back at once, by breadth.
        for object in 0..nodes {
            let mut distance = vec![u64::MAX; nodes];
            distance[object] = 0;
            for _ in 0..nodes {
                for &(a, b) in &edges {
                    distance[a] = distance[a].min(distance[b].saturating_add(1));
                    distance[b] = distance[b].min(distance[a].saturating_add(1));
                }
            }
            for u in (0..nodes).filter(|u| *u != object && distance[*u] <= depth) {
                let filters: Vec<_> = held[u].iter().map(|(_, f)| f).collect();
                let found = Attenuated::route(&filters, &(object as u64));
                let (edge, level) = found.expect("within d hops");
                assert!(level <= distance[u]);
                if tree {
                    assert_eq!(level, distance[u], "exactly, on a tree");
                    assert!(distance[held[u][edge].0] < distance[u], "nearer");
                }
            }
        }
    }
}

#[test]
fn s40_the_other_edges_alone_are_passed_on() {
    let (mut own, empty) = (filter(4096, 5, 3), filter(4096, 5, 3));
    own.insert("x", 1).unwrap();
    let one = own.advertise(&[]).unwrap();
    let two = empty.advertise(&[&one]).unwrap();
    let three = empty.advertise(&[&two, &empty]).unwrap();
    let four = empty.advertise(&[&three]).unwrap();
    assert_eq!(
        [&one, &two, &three, &four].map(|f| f.level("x")),
        [Some(1), Some(2), Some(3), None]
    );
    assert!(own.advertise(&[&filter(4096, 5, 2)]).is_err());
    let mut both = two.clone();
    both.union(&three).unwrap();
    assert_eq!(both.level("x"), Some(2));
}

#[test]
fn s40_records_name_hops() {
    let mut f = filter(4096, 5, 3);
    let at = |hops| Record::key(b"x").with(Value::Count(hops));
    Insert::insert(&mut f, at(2)).unwrap();
    let before = f.clone();
    assert!(Insert::insert(&mut f, at(4)).is_err() && Insert::insert(&mut f, at(0)).is_err());
    assert_eq!(f, before);
    let verdicts =
        [0, 1, 2, 3, 9].map(|hops| f.query(at(hops)).unwrap().verdict == Verdict::Present);
    assert_eq!(verdicts, [false, false, true, false, false]);
    let Detail::Count(level) = f.query(Record::key(b"x")).unwrap().detail else {
        panic!("a level")
    };
    assert_eq!((level.value, level.bound), (Number::Whole(2), Bound::AtLeast));
    assert_eq!(f.query(Record::key(b"y")).unwrap().verdict, Verdict::Absent);
}
