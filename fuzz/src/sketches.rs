//! Files of sketches in which bytes were changed and the checksum made right: an error, or a sketch that is written
//! as it was read and compared without a panic.

use everbloom::exchange::rateless::Sketch;
use everbloom::exchange::reconcile::Set;

/// The bytes of a sketch of some words.
pub fn sketch() -> Vec<u8> {
    let sketched = Sketch::of(&mut words(0..60), Sketch::cells_for(20));
    sketched.expect("a few words").to_bytes()
}

fn words(numbers: std::ops::Range<u32>) -> Set {
    let mut set = Set::new();
    numbers.for_each(|i| set.insert(format!("word {i}").as_bytes()));
    set
}

pub fn sketches(data: &[u8]) {
    let body = data.len().saturating_sub(4);
    let sealed = [&data[..body], &crc32c::crc32c(&data[..body]).to_le_bytes()].concat();
    let Ok(sketch) = Sketch::from_bytes(&sealed) else { return };
    let again = Sketch::from_bytes(&sketch.to_bytes()).expect("what was written is read");
    assert_eq!(again, sketch);
    let _ = sketch.minus(&mut words(10..70));
    let _ = sketch.minus_sketch(&again);
}
