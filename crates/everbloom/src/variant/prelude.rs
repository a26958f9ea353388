//! What nearly every variant's file uses.

pub(crate) use super::{
    Create, Inputs, Plan, Source, Stream, Variant, built, by_part, digests, empty, face, headed,
    keyed, planned, shaped,
};
pub(crate) use crate::error::{Error, Kind, Result};
pub(crate) use crate::filter::{
    Ability, Age, Answer, Assign, Count, Counted, Counts, Detail, EntryKind, Example, FORM, Fact,
    Facts, Filter, Form, Head, Input, Insert, KeyKind, Lookup, Merge, MergeLaw, Negatives, Param,
    Part, Preset, Rates, Reconcile, Record, Remove, Seen, Touched, Value, ValueKind, Verdict,
    change, fact, real, tell, text, touched,
};
pub(crate) use crate::hash::{Digest, HashId, Hasher, Key};
pub(crate) use crate::plan::{Expect, Flat, Goal, Load, PARAM_K, PARAM_M, Request, m_alone};
pub(crate) use crate::state::state;
