//! B17, top-k by HeavyKeeper.

use everbloom::Kind;
use everbloom::internals::filter::{Count, Filter, Record};
use everbloom::internals::hash::{Generator, murmur_32};
use everbloom::sketches::TopK;

fn sketch(form: &str, k: u64, w: u64, d: u64, decay: f64, seed: u64) -> TopK {
    let builder =
        TopK::builder().form(form).set("k", k).set("w", w).set("d", d).set("decay", decay);
    builder.seed(seed).build().unwrap()
}

/// Events of 10,000 keys, key i as often as (i + 1)^−s.
fn zipf(s: f64, events: usize, seed: u64) -> Vec<u64> {
    let mut sums = Vec::with_capacity(10_000);
    let mut sum = 0.0;
    for i in 0..10_000 {
        sum += libm::pow(f64::from(i + 1), -s);
        sums.push(sum);
    }
    let mut random = Generator::new(seed);
    let mut draw = || {
        let at = random.unit() * sum;
        sums.partition_point(|s| *s < at).min(9999) as u64
    };
    (0..events).map(|_| draw()).collect()
}

/// Recall of the list, and the mean relative error of the cells of the true top.
fn quality(k: u64, w: u64, d: u64, decay: f64, s: f64, runs: u64) -> (f64, f64) {
    let (mut recall, mut error) = (0.0, 0.0);
    for seed in 0..runs {
        let stream = zipf(s, 100_000, seed);
        let mut truth = vec![0u64; 10_000];
        stream.iter().for_each(|key| truth[*key as usize] += 1);
        let mut top = sketch("standard", k, w, d, decay, seed);
        stream.iter().for_each(|key| _ = top.add(key, 1).unwrap());
        let mut sorted = truth.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let least = sorted[k as usize - 1];
        for (key, count) in top.list() {
            let true_count = truth[u64::from_le_bytes(key.try_into().unwrap()) as usize];
            assert!(count <= true_count, "no count is too high");
            recall += f64::from(u8::from(true_count >= least)) / k as f64;
        }
        for key in 0..10_000u64 {
            let (count, true_count) = (top.count(&key), truth[key as usize]);
            assert!(count <= true_count);
            if true_count >= least {
                let tops = sorted.iter().filter(|c| **c >= least).count();
                error += (true_count - count) as f64 / true_count as f64 / tops as f64;
            }
        }
    }
    (recall / runs as f64, error / runs as f64)
}

#[test]
fn b17_recall_and_error_on_zipf_streams() {
    for (w, d, decay, recall, error) in [
        (8, 7, 0.9, 0.36, 0.93),
        (200, 5, 0.9, 0.98, 0.018),
        (512, 4, 0.9, 0.996, 0.003),
        (1000, 5, 0.925, 0.998, 0.001),
    ] {
        let (found, off) = quality(50, w, d, decay, 1.0, 5);
        // One run of the smallest one scatters by 0.05.
        let tolerance = if w == 8 { 0.08 } else { 0.03 };
        assert!((found - recall).abs() < tolerance, "{w}×{d}: recall {found}, {recall} expected");
        assert!((off - error).abs() < 0.03, "{w}×{d}: error {off}, {error} expected");
    }
    let (found, _) = quality(10, 50, 5, 0.9, 1.2, 5);
    assert!(found > 0.97, "{found}");
}

#[test]
fn b17_rules_of_a_cell() {
    // One row, one cell: everybody meets there. With decay 1 a foreign key always takes one away.
    let mut top = sketch("standard", 2, 1, 1, 1.0, 0);
    assert_eq!(top.add("x", 3).unwrap(), None);
    assert_eq!((top.count("x"), top.count("y")), (3, 0));
    // Two of y's five take x's three down to one, the third to zero: three are left for y.
    top.add("y", 5).unwrap();
    assert_eq!((top.count("x"), top.count("y")), (0, 3));
    let list: Vec<_> = top.list().collect();
    assert_eq!(list.len(), 2, "x stays in a list that is not full");
    // A key that drove nobody down has no count, and no place in the list.
    let mut hard = sketch("standard", 3, 1, 1, 1e-9, 0);
    hard.add("x", 50).unwrap();
    hard.add("y", 5).unwrap();
    assert_eq!((hard.count("y"), hard.is_top("y"), hard.is_top("x")), (0, false, true));
}

#[test]
fn b17_the_least_of_a_full_list_gives_way() {
    let mut top = sketch("standard", 2, 1000, 5, 0.9, 0);
    assert_eq!(top.add("a", 5).unwrap(), None);
    assert_eq!(top.add("b", 3).unwrap(), None);
    assert_eq!(top.add("c", 2).unwrap(), None, "below the least");
    assert_eq!(top.add("d", 3).unwrap().as_deref(), Some(&b"b"[..]), "as large as the least");
    assert_eq!(top.add("d", 4).unwrap(), None);
    let list: Vec<_> = top.list().collect();
    assert_eq!(list, [(&b"d"[..], 7), (&b"a"[..], 5)]);
    assert_eq!(Count::count(&top, b"a").to_string(), "≥5");
}

#[test]
fn b17_hashes_and_defaults_of_the_server() {
    assert_eq!((murmur_32(b"hello", 0), murmur_32(b"hello", 1919)), (0xe561_29cb, 0x234d_ad03));
    let mut top = TopK::builder().form("redis").build().unwrap();
    assert_eq!((top.w(), top.d()), (8, 7));
    top.add("hello", 1).unwrap();
    let cells: Vec<u64> = top.trace(b"hello").iter().map(|cell| cell.index).collect();
    let wanted: Vec<u64> =
        (0..7).map(|row| 8 * row + u64::from(murmur_32(b"hello", row as u32)) % 8).collect();
    assert_eq!(cells, wanted);
    assert!(top.trace(b"hello").iter().all(|cell| cell.agrees && cell.value == 1));
}

#[test]
fn b17_what_a_top_k_refuses() {
    let mut top = sketch("standard", 2, 10, 3, 0.9, 0);
    top.add("x", 100_000).unwrap();
    let before = top.clone();
    assert_eq!(top.add("x", 100_001).unwrap_err().kind(), Kind::BadRecord);
    assert_eq!(top, before);
    for (name, value) in [("decay", "0"), ("decay", "1.5"), ("k", "0"), ("w", "0"), ("d", "0")] {
        assert!(TopK::builder().set(name, value).build().is_err(), "{name} = {value}");
    }
    assert_eq!(top.query(Record::key(b"x")).unwrap_err().kind(), Kind::Unsupported);
}
