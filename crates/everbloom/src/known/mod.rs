//! Some keys that are not members are known: filters that use them to be wrong less often.

mod clearing;
pub mod complement;
pub mod cross_checking;
pub mod learned;
pub mod multistage;
pub mod optihash;
mod packet;
pub mod retouched;
mod search;
mod stages;
mod tree;
mod users;
pub mod yes_no;

pub use complement::Complement;
pub use cross_checking::{CrossChecking, insert_into};
pub use learned::Learned;
pub use multistage::{Multistage, forward};
pub use optihash::Optihash;
pub use retouched::Retouched;
pub use yes_no::YesNo;

use crate::error::Result;
use crate::hash::{Digest, Hasher, Key};
use crate::variant::Inputs;

/// The digests of keys, in their order.
fn all<K: Key>(hasher: &Hasher, keys: impl IntoIterator<Item = K>) -> Vec<Digest> {
    keys.into_iter().map(|key| hasher.digest(&key)).collect()
}

/// The digests of those known non-members that are wanted, in their order.
fn negatives(
    hasher: &Hasher,
    inputs: &mut Inputs<'_>,
    mut wanted: impl FnMut(Digest) -> bool,
) -> Result<Vec<Digest>> {
    let mut found = Vec::new();
    if let Some(known) = &mut inputs.negatives {
        known.batches(&mut |batch| {
            let digests = batch.iter().map(|record| hasher.digest(record.key));
            found.extend(digests.filter(|digest| wanted(*digest)));
            Ok(())
        })?;
    }
    Ok(found)
}
