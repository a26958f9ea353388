//! What the loops over the list share: the forms, how thorough to be, and all cores to do it on.

use std::path::Path;
use std::sync::Mutex;

use everbloom::Result;
use everbloom::catalog::VARIANTS;
use everbloom::internals::file::{Access, Opener};
use everbloom::internals::filter::{Ability, EntryKind, Filter, Form};
use everbloom::internals::variant::Variant;

/// Whether the form with this slug gets all trials in place of a part of them: every form where `EVERBLOOM_THOROUGH` is set,
/// as `xtask thorough` does; a slice of them where `EVERBLOOM_SLICE` says `3/16`, as `.ci/run` does with another slice for
/// each commit.
#[allow(dead_code, reason = "not every loop has more trials to do")]
pub fn thorough(slug: &str) -> bool {
    if std::env::var_os("EVERBLOOM_THOROUGH").is_some() {
        return true;
    }
    let Ok(slice) = std::env::var("EVERBLOOM_SLICE") else { return false };
    let slice =
        slice.split_once('/').and_then(|(turn, of)| Some((turn.parse().ok()?, of.parse().ok()?)));
    let (turn, of): (usize, usize) = slice.expect("EVERBLOOM_SLICE is TURN/OF, such as 3/16");
    VARIANTS.iter().position(|variant| variant.slug == slug).is_some_and(|at| at % of == turn % of)
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

/// Whether a filter has the abilities of its form, and no other.
#[allow(dead_code, reason = "most loops take them for granted")]
pub fn check_abilities(filter: &mut dyn Filter, form: &Form, what: &str) {
    let found = [
        (Ability::Insert, filter.as_insert().is_some()),
        (Ability::Remove, filter.as_remove().is_some()),
        (Ability::Count, filter.as_count().is_some()),
        (Ability::Lookup, filter.as_lookup().is_some()),
        (Ability::Age, filter.as_age().is_some()),
        (Ability::Merge, filter.as_merge().is_some()),
        (Ability::Intersect, filter.as_intersect().is_some()),
        (Ability::Fold, filter.as_fold().is_some()),
        (Ability::Reconcile, filter.as_reconcile().is_some()),
        (Ability::List, filter.as_list().is_some()),
        (Ability::Estimate, filter.as_estimate().is_some()),
    ];
    for (ability, there) in found {
        assert_eq!(there, form.abilities.contains(&ability), "{what}: {ability:?}");
    }
}

/// The filter in `bytes`, which are also the file at `path`, by every way to open it.
#[allow(dead_code, reason = "most loops open in one way")]
pub fn opened(bytes: &[u8], path: &Path) -> [Result<Box<dyn Filter>>; 4] {
    [
        Opener::new().decode(bytes),
        Opener::new().open(path),
        Opener::new().access(Access::Map).open(path),
        Opener::new().access(Access::MapUnverified).open(path),
    ]
}
