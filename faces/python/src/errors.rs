//! Errors of the library as exceptions, and panics as exceptions too.

use std::any::Any;
use std::error::Error as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use everbloom::{Ability, EntryKind, Error, Facts, Kind, catalog};
use pyo3::prelude::*;

/// What Python raises: its kind, the sentence, and the argument at fault.
fn exception(
    kind: &str,
    message: &str,
    field: Option<&str>,
    value: Option<&str>,
    errno: Option<i32>,
) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("everbloom._errors")
            .and_then(|errors| errors.getattr("made")?.call1((kind, message, field, value, errno)));
        made.map_or_else(|e| e, PyErr::from_value)
    })
}

/// An argument as it is called here.
fn argument(field: &str) -> String {
    match field {
        "items" => "expected_items".to_owned(),
        "rate" => "false_positive_rate".to_owned(),
        other => other.replace('-', "_"),
    }
}

/// An error of the library as the exception that says so.
pub fn raise(error: Error) -> PyErr {
    let message = error.render(|field, value| match value {
        Some(value) => format!("{}={value}", argument(field)),
        None => argument(field),
    });
    let kind = format!("{:?}", error.kind());
    let kind = kind.split([' ', '{']).next().unwrap_or_default();
    let system = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let field = error.field().map(argument);
    let errno = system.and_then(io::Error::raw_os_error);
    exception(kind, &message, field.as_deref(), error.value(), errno)
}

/// An object that is no key, for its type.
pub fn bad_type(message: impl AsRef<str>) -> PyErr {
    exception("BadKeyType", message.as_ref(), None, None, None)
}

/// An object that is no key, for its value.
pub fn bad_value(message: impl AsRef<str>) -> PyErr {
    exception("BadKeyValue", message.as_ref(), None, None, None)
}

/// An argument that no filter can satisfy.
pub fn bad_argument(field: &str, value: &str, message: impl AsRef<str>) -> PyErr {
    raise(Error::new(Kind::BadParameter, message.as_ref()).of_field(field, value))
}

/// What filters of this variant cannot do.
pub fn unsupported(message: impl AsRef<str>) -> PyErr {
    exception("Unsupported", message.as_ref(), None, None, None)
}

/// A fault of our own.
pub fn internal(message: &str) -> PyErr {
    exception("Internal", message, None, None, None)
}

/// The error of an ability that a form does not have: it names those that have it.
pub fn unable(facts: &Facts, form: &str, ability: Ability) -> Error {
    let able = catalog::VARIANTS.iter().filter(|variant| {
        variant.kind != EntryKind::Technique
            && variant.forms.iter().any(|form| form.abilities.contains(&ability))
    });
    let all: Vec<&str> = able.map(|variant| variant.slug).collect();
    let mut names = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if all.len() > SHOWN {
        names += &format!(" and {} more", all.len() - SHOWN);
    }
    let form = if facts.forms.len() > 1 { format!(" of form {form}") } else { String::new() };
    let message = format!(
        "{} filters{form} do not have the ability {}; {names} have it",
        facts.slug,
        ability.name()
    );
    Error::new(Kind::Unsupported, message)
}

/// Variants that are named.
const SHOWN: usize = 8;

/// Does something of the library's; a panic becomes an exception.
pub fn calm<R>(work: impl FnOnce() -> R) -> PyResult<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| panicked(&*payload))
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    internal(&format!("a fault of everbloom itself: {text}"))
}
