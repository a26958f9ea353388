//! Spelling, passwords, copied passages.

pub mod breach;
pub mod similar;
pub mod spell;

use everbloom::internals::hash::Generator;

/// So many random small letters.
pub(crate) fn made_up_letters(random: &mut Generator, letters: u64) -> String {
    (0..letters).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// A word of so many syllables that can be pronounced, and hardly exists.
pub(crate) fn made_up(random: &mut Generator, syllables: u64) -> String {
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(char::from(b"bcdfghjklmnprstvwz"[random.below(18) as usize]));
        word.push(char::from(b"aeiou"[random.below(5) as usize]));
    }
    word
}
