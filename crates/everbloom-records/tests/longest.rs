//! A record without end is refused at the cost of the longest one that is taken.

#[path = "../../everbloom/tests/support/allocations.rs"]
mod allocations;

use std::io::{self, Read as _};

use everbloom_records::{Fault, Grammar, Lines};

#[test]
fn two_gigabytes_without_an_end_of_a_line_take_no_such_memory() {
    let zeros = io::repeat(0).take(2 << 30);
    let mut lines = Lines::reader("zeros", zeros, Grammar::default());
    let (read, peak) = allocations::peak(|| lines.each(|_, _| Ok(())));
    let refused = read.expect_err("it has no end");
    assert!(matches!(refused.fault(), Fault::TooLong { csv: false }), "{refused}");
    assert_eq!(refused.line(), Some(1));
    assert!(peak < 256 << 20, "{peak} bytes");
}
