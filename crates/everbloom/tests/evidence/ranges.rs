//! §24, range queries over segmented attributes.

use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom::internals::hash::mix64;
use everbloom::internals::theory::tail;
use everbloom::structured::Ranges;

/// Ids 0 to 999, id i with the value i, in ten segments of a hundred.
fn thousand(form: &str, rate: f64) -> Ranges {
    let built = Ranges::builder().items(1000).rate(rate).form(form).set("bounds", "equal");
    let lines = (0..1000).map(|i| format!("{i}\t{i}"));
    built.set("low", 0.0).set("high", 1000.0).build_from(lines).unwrap()
}

fn reported(filter: &Ranges, range: &str) -> Vec<u64> {
    let asked = |i: &u64| {
        let line = format!("{i}\t{range}");
        filter.query(Record::key(line.as_bytes())).unwrap().verdict == Verdict::Present
    };
    (0..1000).filter(asked).collect()
}

#[test]
fn s24_a_range_reports_whole_segments() {
    for form in ["standard", "counting"] {
        let filter = thousand(form, 0.01);
        let f = filter.now().fpr.unwrap();
        // True are 20 %, reported the 30 % of three segments, and others by hashing.
        let wide = reported(&filter, "250..450");
        assert!((200..500).all(|i| wide.contains(&i)), "{form}");
        let by_hash = 1.0 - (1.0 - f).powi(3);
        let (low, high) = tail::binomial_bounds(700, by_hash, 1e-9);
        assert!((300 + low..=300 + high).contains(&(wide.len() as u64)), "{form}: {}", wide.len());
        // Ranges that end at bounds are exact up to f.
        assert_eq!(reported(&filter, "200..500"), wide, "{form}");
        assert_eq!(reported(&filter, "200..500").len(), reported(&filter, "299..401").len());
    }
}

#[test]
fn s24_hashing_errors_of_three_segments_and_of_two_attributes() {
    assert!((1.0 - 0.99f64.powi(3) - 0.0297f64).abs() < 1e-4);
    assert!(((1.0 - 0.99f64.powi(3)).powi(2) - 8.8e-4).abs() < 1e-5);
    const QUERIES: u64 = 400_000;
    for attributes in [1u64, 2] {
        let rate = 0.01f64.powi(attributes as i32);
        let built = Ranges::builder().items(5000).rate(rate).set("attributes", attributes);
        let line = |i: u64| {
            let values = (0..attributes).map(|a| format!("\t{}", mix64(i << 8 | a) % 1_000_000));
            format!("{i}{}", values.collect::<String>())
        };
        let filter = built.build_from((0..5000).map(line)).unwrap();
        let f = filter.now().fpr.unwrap().powf(1.0 / attributes as f64);
        assert!((0.008..0.0115).contains(&f), "{f}");
        // From inside the fourth segment to inside the sixth.
        let ranges: Vec<_> = (0..attributes as usize)
            .map(|a| {
                let bounds = filter.bounds(a).unwrap();
                Some((bounds[3] + bounds[4]) / 2.0..(bounds[5] + bounds[6]) / 2.0)
            })
            .collect();
        let passed = (0..QUERIES)
            .filter(|i| filter.contains(format!("x{i}").as_bytes(), &ranges).unwrap())
            .count() as u64;
        let predicted = (1.0 - (1.0 - f).powi(3)).powi(attributes as i32);
        // Segments differ a little from their mean.
        let (low, _) = tail::binomial_bounds(QUERIES, 0.85 * predicted, 1e-9);
        let (_, high) = tail::binomial_bounds(QUERIES, 1.15 * predicted, 1e-9);
        assert!((low..=high).contains(&passed), "{attributes}: {passed}, predicted {predicted}");
    }
}

/// No id is missed, whatever range holds its values; empty ranges hold nothing; what lies outside has its segments.
#[test]
fn s24_no_false_negatives_empty_ranges_and_the_segments_at_the_ends() {
    let mut filter = thousand("standard", 1e-6);
    for i in 0..1000u64 {
        let (low, high) = ((mix64(i) % (i + 1)) as f64, (i + 1 + mix64(!i) % 300) as f64);
        let id = i.to_string();
        let has = |range| filter.contains(id.as_bytes(), &[range]).unwrap();
        assert!(has(Some(low..high)) && has(None));
        assert!(!has(Some(high..low)) && !has(Some(low..low)));
    }
    filter.insert(b"cold", &[-5.0]).unwrap();
    filter.insert(b"hot", &[1000.0]).unwrap();
    let has = |id: &[u8], range| filter.contains(id, &[Some(range)]).unwrap();
    assert!(has(b"cold", -5.0..-4.0) && has(b"cold", -1e9..-1e8) && !has(b"cold", 0.0..1000.0));
    assert!(has(b"hot", 999.0..1001.0) && has(b"hot", 5000.0..5001.0) && !has(b"hot", 0.0..1000.0));
    for bad in [&b"x"[..], b"x\t", b"x\t1\t2", b"x\tone", b"x\t1..two"] {
        let query = filter.query(Record::key(bad));
        assert_eq!(query.is_err(), bad != b"x\t", "{bad:?}");
    }
    assert!(filter.insert(b"x", &[f64::NAN]).is_err() && filter.insert(b"x", &[]).is_err());
}

#[test]
fn s24_a_value_changes_by_removal_and_insertion() {
    let mut filter = thousand("counting", 1e-6);
    assert!(filter.remove(b"250", &[777.0]).is_err(), "another segment");
    filter.remove(b"250", &[250.0]).unwrap();
    filter.insert(b"250", &[777.0]).unwrap();
    assert!(filter.contains(b"250", &[Some(700.0..800.0)]).unwrap());
    assert!(!filter.contains(b"250", &[Some(200.0..300.0)]).unwrap());
    assert!(thousand("standard", 0.01).remove(b"250", &[250.0]).is_err());
}

/// With quantiles, values however skewed leave no segment fuller than the others.
#[test]
fn s24_quantiles_of_skewed_values() {
    let lines = (0..1000u64).map(|i| format!("{i}\t{}", (i * i * i) as f64 / 1e6));
    let filter = Ranges::builder().rate(0.01).build_from(lines).unwrap();
    let bounds = filter.bounds(0).unwrap();
    assert_eq!((bounds.len(), bounds[0], bounds[5]), (11, 0.0, 125.0));
    assert!((bounds[10] - 997.002_999).abs() < 1e-6);
}
