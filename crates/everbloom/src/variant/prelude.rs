//! What nearly every variant's file uses.

pub(crate) use super::{
    Create, Inputs, Ops, Plan, Source, Stream, Variant, digests, empty, face, keyed, planned,
};
pub(crate) use crate::error::{Error, Kind, Result};
pub(crate) use crate::filter::{
    Ability, Age, Answer, Assign, Build, Bulk, BulkInsert, Count, Counted, Detail, EntryKind,
    Estimate, Face, Fact, Facts, FalseNegatives, Filter, Fold, Form, Head, Input, Insert,
    Intersect, KeyKind, List, Lookup, Merge, MergeLaw, Negatives, Param, Part, Preset, Range,
    Rates, Reconcile, Record, Remove, Seen, Touched, Value, ValueKind, Verdict, fact, real, text,
    touched,
};
pub(crate) use crate::hash::{Digest, HashId, Hasher, Key};
pub(crate) use crate::plan::{Expect, Flat, Goal, Load, PARAM_K, PARAM_M, Request};
pub(crate) use crate::state::state;
