//! What the loops over the list share: the forms, how thorough to be, and all cores to do it on.

use std::sync::Mutex;

use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{EntryKind, Form};
use everbloom::internals::variant::Variant;

/// Whether `EVERBLOOM_THOROUGH` is set, as `xtask thorough` does: all trials in place of a part of them.
#[allow(dead_code, reason = "not every loop has more trials to do")]
pub fn thorough() -> bool {
    std::env::var_os("EVERBLOOM_THOROUGH").is_some()
}

/// Every form of every filter. While working on a variant, `EVERBLOOM_ONLY=its-slug` leaves the others out.
#[allow(dead_code, reason = "some loops are about other kinds")]
pub fn forms() -> impl Iterator<Item = (&'static Variant, &'static Form)> {
    forms_of(|kind| kind == EntryKind::Filter)
}

/// Every form of every sketch.
#[allow(dead_code, reason = "sketches have a loop of their own")]
pub fn sketches() -> impl Iterator<Item = (&'static Variant, &'static Form)> {
    forms_of(|kind| kind == EntryKind::Sketch)
}

/// Every form of all that can be built.
#[allow(dead_code, reason = "most loops are about filters")]
pub fn all_forms() -> impl Iterator<Item = (&'static Variant, &'static Form)> {
    forms_of(|kind| matches!(kind, EntryKind::Filter | EntryKind::Sketch))
}

fn forms_of(
    kind: impl Fn(EntryKind) -> bool + Send,
) -> impl Iterator<Item = (&'static Variant, &'static Form)> + Send {
    let only = std::env::var("EVERBLOOM_ONLY").ok();
    let wanted = move |v: &&&'static Variant| {
        kind(v.kind) && only.as_ref().is_none_or(|only| only.split(',').any(|o| o == v.slug))
    };
    VARIANTS.iter().filter(wanted).flat_map(|v| v.forms.iter().map(move |form| (*v, form)))
}

/// Does `work` on every item, on all cores: one slow form holds up no other.
#[allow(dead_code, reason = "quick loops run on one")]
pub fn on_all_cores<T: Send>(items: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items);
    let next = || items.lock().ok().and_then(|mut items| items.next());
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
    });
}
