//! What a protocol costs.

/// Messages, bytes, and forwards that a false positive caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Messages sent over a link.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Messages that went where nobody wants them.
    pub false_forwards: u64,
}

impl Meter {
    /// A message of so many bytes.
    pub fn send(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }

    /// A message that nobody wanted.
    pub fn send_in_vain(&mut self, bytes: u64) {
        self.send(bytes);
        self.false_forwards += 1;
    }

    /// Useful messages among all; 1 where there are none.
    pub fn efficiency(&self) -> f64 {
        if self.messages == 0 {
            return 1.0;
        }
        (self.messages - self.false_forwards) as f64 / self.messages as f64
    }
}

impl std::ops::AddAssign for Meter {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.false_forwards += other.false_forwards;
    }
}
