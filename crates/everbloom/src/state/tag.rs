//! The kinds of fields that a tree has.

/// What follows a field's name.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tag {
    U64 = 1,
    F64 = 2,
    Bytes = 3,
    Array = 4,
    Group = 5,
    List = 6,
}
