//! The everbloom command.
fn main() {}
