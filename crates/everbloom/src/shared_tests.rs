//! What the tests of several variants share.

use std::fmt::Debug;

use crate::filter::Filter;
use crate::{Listed, Opener, to_bytes};

/// A file of `good` opens as an equal filter; a file of what a lie makes of it is refused.
#[track_caller]
pub(crate) fn lies_are_refused<F: Filter + Listed + Clone + Debug + PartialEq>(
    good: &F,
    lies: impl IntoIterator<Item = impl Fn(&mut F)>,
) {
    assert_eq!(Opener::new().decode_as::<F>(&to_bytes(good)).unwrap(), *good);
    for (i, lie) in lies.into_iter().enumerate() {
        let mut liar = good.clone();
        lie(&mut liar);
        assert!(Opener::new().decode(&to_bytes(&liar)).is_err(), "{}: lie {i}", good.head().form);
    }
}
