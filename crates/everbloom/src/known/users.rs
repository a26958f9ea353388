//! Which members have a place at a bit.

use crate::error::{Error, Kind, Result};
use crate::hash::Digest;
use crate::memory::check_room;
use crate::probe::Indices;

/// The members at each bit, by their numbers.
pub(super) struct Users {
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl Users {
    /// The members at each of `bits` bits, where `places` are those of a member.
    pub(super) fn new(
        members: &[Digest],
        places: impl Fn(Digest) -> Indices,
        bits: u64,
    ) -> Result<Self> {
        if u32::try_from(members.len()).is_err() {
            return Err(Error::new(
                Kind::CapacityExceeded,
                "known non-members are tested against at most 4 billion members",
            ));
        }
        check_room(bits.saturating_mul(64))?;
        // Counted, summed up to where each bit's members end, then filled in from the back.
        let mut starts = vec![0; bits as usize + 1];
        for digest in members {
            places(*digest).iter().for_each(|i| starts[*i as usize] += 1);
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut users = vec![0; end];
        for (member, digest) in (0..).zip(members) {
            for i in places(*digest) {
                starts[i as usize] -= 1;
                users[starts[i as usize]] = member;
            }
        }
        Ok(Self { starts, members: users })
    }

    /// The numbers of the members at a bit.
    pub(super) fn at(&self, bit: u64) -> &[u32] {
        &self.members[self.starts[bit as usize]..self.starts[bit as usize + 1]]
    }
}
