//! §47, cryptographic long-term keys.

use everbloom::internals::hash::{Generator, Hasher, SecretKey};
use everbloom::structured::Clk;
use everbloom::structured::clk::{Rule, dice, expected_dice};

fn keyed(number: u64) -> Hasher {
    Hasher::keyed(SecretKey::from_hex(&format!("{number:032x}")).unwrap())
}

fn names(k: u32, hasher: Hasher) -> Clk {
    Clk::with_rules(1000, &[Rule { letters: 2, k }], 0.8, hasher).unwrap()
}

#[test]
fn s47_dice_as_computed() {
    let near = |got: f64, want: f64| assert!((got - want).abs() < 6e-4, "{got}, not {want}");
    near(expected_dice(1000.0, 30.0, 6.0, 6.0, 4.0), 0.7047);
    near(expected_dice(1000.0, 15.0, 6.0, 6.0, 4.0), 0.6862);
    near(expected_dice(1000.0, 30.0, 6.0, 6.0, 0.0), 0.1648);
    near(expected_dice(1000.0, 15.0, 6.0, 6.0, 0.0), 0.0861);
}

#[test]
fn s47_smith_and_smyth_under_many_keys() {
    for (k, similar, disjoint) in [(30, 0.7047, 0.1648), (15, 0.6862, 0.0861)] {
        let mut sums = [0.0; 2];
        for number in 0..200 {
            let clk = names(k, keyed(number));
            let encode = |name: &[u8]| clk.encode(&[name]).unwrap();
            sums[0] += dice(&encode(b"SMITH"), &encode(b"SMYTH"));
            sums[1] += dice(&encode(b"SMITH"), &encode(b"BROWN"));
        }
        for (sum, want) in sums.into_iter().zip([similar, disjoint]) {
            let mean = sum / 200.0;
            assert!((mean - want).abs() < 0.02, "k = {k}: {mean}, not {want}");
        }
    }
}

#[test]
fn s47_identical_is_one_and_empty_is_zero() {
    let clk = names(30, keyed(1));
    let encode = |name: &[u8]| clk.encode(&[name]).unwrap();
    assert_eq!(dice(&encode(b"SMITH"), &encode(b"SMITH")), 1.0);
    assert_eq!(dice(&encode(b""), &encode(b"")), 0.0);
    assert!(encode(b"SMITH").ones() > 160 && encode(b"").ones() == 0);
    // Six pieces: the pads count.
    assert!(encode(b"S").ones() <= 60 && encode(b"S").ones() > 40);
}

/// Under another key, Dice is that of unrelated names.
#[test]
fn s47_other_keys_tell_nothing() {
    let mean: f64 = (0..100)
        .map(|n| {
            let [a, b] = [keyed(n), keyed(n + 1000)].map(|key| names(30, key));
            dice(&a.encode(&[b"SMITH"]).unwrap(), &b.encode(&[b"SMITH"]).unwrap())
        })
        .sum();
    assert!((mean / 100.0 - 0.1648).abs() < 0.02, "{}", mean / 100.0);
}

fn name(random: &mut Generator) -> Vec<u8> {
    (0..5 + random.below(5)).map(|_| b'A' + random.below(26) as u8).collect()
}

/// Three names, an edit in one of them: nearly all are linked, and no unrelated record is.
#[test]
fn s47_records_with_one_typing_error_are_linked() {
    let built = Clk::builder().set("k", 10).key(SecretKey::from_hex(&"7".repeat(32)).unwrap());
    let mut clk = built.build().unwrap();
    let mut random = Generator::new(47);
    let people: Vec<[Vec<u8>; 3]> = (0..1000).map(|_| [0; 3].map(|_| name(&mut random))).collect();
    for person in &people {
        clk.insert(&person.each_ref().map(|field| &field[..])).unwrap();
    }
    let (mut linked, mut sum, mut wrong) = (0, 0.0, 0);
    for (i, person) in people.iter().enumerate() {
        let mut typed = person.clone();
        let field = &mut typed[random.below(3) as usize];
        let at = random.below(field.len() as u64) as usize;
        match random.below(3) {
            0 => field[at] = b'A' + random.below(26) as u8,
            1 => drop(field.remove(at)),
            _ => field.insert(at, b'A' + random.below(26) as u8),
        }
        let found = clk.matches(&typed.each_ref().map(|field| &field[..])).unwrap();
        let own = found.iter().find(|(number, _)| *number == i);
        linked += usize::from(own.is_some());
        sum += own.map_or(0.0, |(_, dice)| *dice);
        wrong += found.len() - usize::from(own.is_some());
    }
    assert!(linked >= 990 && wrong == 0, "{linked} of 1000 linked, {wrong} wrongly");
    assert!((sum / linked as f64 - 0.940).abs() < 0.01, "{}", sum / linked as f64);
    let foreign = || [0; 3].map(|_| name(&mut random));
    let best = std::iter::repeat_with(foreign)
        .take(200)
        .map(|person| clk.best(&person.each_ref().map(|field| &field[..])).unwrap());
    assert!(best.fold(0.0, f64::max) < 0.7);
}

#[test]
fn s47_fields_have_weights_of_their_own() {
    let rules = [Rule { letters: 2, k: 20 }, Rule { letters: 3, k: 5 }];
    let clk = Clk::with_rules(1000, &rules, 0.8, keyed(3)).unwrap();
    let ones = |record: [&[u8]; 2]| clk.encode(&record).unwrap().ones();
    // Six pieces of 20 bits, and seven of 5.
    assert!((95..=120).contains(&ones([b"SMITH", b""])), "{}", ones([b"SMITH", b""]));
    assert!((29..=35).contains(&ones([b"", b"SMITH"])), "{}", ones([b"", b"SMITH"]));
    let differs = |record: [&[u8]; 2]| {
        dice(&clk.encode(&[b"SMITH", b"SMITH"]).unwrap(), &clk.encode(&record).unwrap())
    };
    assert!(differs([b"SMITH", b"MILLER"]) > differs([b"MILLER", b"SMITH"]));
    assert!(clk.encode(&[b"SMITH"]).is_err());
    assert!(Clk::with_rules(1000, &[], 0.8, keyed(3)).is_err());
}

#[test]
fn s47_salted_and_balanced_filters() {
    let salted = Clk::builder().set("salt", "first").build().unwrap();
    let of = |year: &[u8], name: &[u8]| salted.encode(&[year, name]).unwrap();
    assert_eq!(dice(&of(b"1980", b"SMITH"), &of(b"1980", b"SMITH")), 1.0);
    assert!(dice(&of(b"1980", b"SMITH"), &of(b"1981", b"SMITH")) < 0.3, "other years, other bits");
    let mut balanced = Clk::builder().set("balance", "yes").set("threshold", 0.95).build().unwrap();
    for name in [&b"SMITH"[..], b"X", b"A VERY LONG NAME"] {
        assert_eq!(balanced.encode(&[name]).unwrap().ones(), 1000);
        balanced.insert(&[name]).unwrap();
    }
    assert_eq!(balanced.matches(&[b"SMITH"]).unwrap(), [(0, 1.0)]);
}
