//! From arguments to a goal.

use everbloom::internals::variant::Variant;
use everbloom::{FactValue, Result};
use everbloom::{Filter, Goal, Record, SecretKey, Setting, catalog};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::errors::{bad_argument, raise};
use crate::keys::type_name;

/// What a caller wants of a filter.
pub struct Wish<'a, 'py> {
    pub items: Option<&'a Bound<'py, PyAny>>,
    pub rate: Option<f64>,
    pub memory: Option<&'a Bound<'py, PyAny>>,
    pub seed: Option<u64>,
    pub key: Option<&'a Bound<'py, PyAny>>,
    pub settings: Option<&'a Bound<'py, PyDict>>,
}

impl Wish<'_, '_> {
    /// The goal, for a variant whose parameters are known.
    pub fn goal(&self, variant: Option<&Variant>) -> PyResult<Goal> {
        let mut goal = Goal {
            items: self.items.map(|items| whole("expected_items", items)).transpose()?,
            fpr: self.rate,
            bits: self.memory.map(|bytes| whole("memory", bytes)).transpose()?,
            ..Goal::default()
        };
        goal.bits = goal.bits.map(|bytes| bytes.saturating_mul(8));
        if let Some(seed) = self.seed {
            goal = goal.seed(seed);
        }
        if let Some(key) = self.key {
            if self.seed.is_some() {
                return Err(bad_argument(
                    "seed",
                    "…",
                    "a keyed filter has no seed: give key or seed",
                ));
            }
            goal = goal.key(secret(key)?);
        }
        for (name, value) in self.settings.into_iter().flatten() {
            let name: String = name.extract()?;
            if name == "key_type" {
                // How the command is to read the text of keys: as Python's integers.
                goal.reading.key_type = value.extract()?;
                if goal.reading.key_type != "u64" {
                    return Err(bad_argument("key_type", &goal.reading.key_type, "must be 'u64'"));
                }
                continue;
            }
            goal = goal.set(&parameter(variant, &name), setting(&name, &value)?);
        }
        Ok(goal)
    }
}

/// The parameter that an argument names: Python has no hyphens in names.
fn parameter(variant: Option<&Variant>, name: &str) -> String {
    let named = |param: &&catalog::Param| param.name == name;
    if variant.is_some_and(|variant| variant.params.iter().any(|param| named(&param))) {
        return name.to_owned();
    }
    name.replace('_', "-")
}

fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    if value.is_instance_of::<PyString>() {
        return Ok(Setting::from(value.extract::<String>()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Setting::Real(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return whole(name, value).map(Setting::Integer);
    }
    let message = format!("must be a number or a word, not {}", type_name(value));
    Err(bad_argument(name, &value.repr()?.to_string(), message))
}

/// A whole number that is not below zero; `1e6` is one.
pub fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let refused = || -> PyErr {
        let shown = value.repr().map_or_else(|_| type_name(value), |text| text.to_string());
        bad_argument(name, &shown, "must be a whole number from 0 to 2**64 - 1")
    };
    if let Ok(float) = value.cast::<PyFloat>() {
        let float = float.value();
        let fits = float.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&float);
        return if fits { Ok(float as u64) } else { Err(refused()) };
    }
    value.extract::<u64>().map_err(|_| refused())
}

/// A secret key: 16 bytes, or 32 hex digits.
pub fn secret(key: &Bound<'_, PyAny>) -> PyResult<SecretKey> {
    if key.is_instance_of::<PyString>() {
        return SecretKey::from_hex(&key.extract::<String>()?).map_err(raise);
    }
    match key.extract::<&[u8]>().map(<[u8; 16]>::try_from) {
        Ok(Ok(bytes)) => Ok(SecretKey::new(bytes)),
        _ => Err(bad_argument("key", "…", "a key is 16 bytes, or 32 hex digits as text")),
    }
}

/// The variant called `slug`.
pub fn variant(slug: &str) -> PyResult<&'static Variant> {
    catalog::by_slug(slug).ok_or_else(|| {
        let names = catalog::VARIANTS.iter().map(|variant| variant.slug);
        let near = everbloom_report::suggest::instead(slug, names, || {
            "everbloom.catalog() lists the variants".to_owned()
        });
        bad_argument("slug", &format!("{slug:?}"), near)
    })
}

/// The goal of filters of the same shape, as far as a filter tells its own.
pub fn like(filter: &dyn Filter) -> Goal {
    let (facts, head) = (filter.facts(), filter.head());
    let mut goal = Goal {
        items: Some(head.items.max(1)),
        hasher: head.hasher.clone(),
        reading: head.reading.clone(),
        ..Goal::default().set("form", head.form)
    };
    // Figures of the shape that are parameters, too, such as m and k; a filter that grows was planned for a first part.
    for fact in filter.describe() {
        if let ("first", FactValue::Integer(items)) = (fact.name, &fact.value) {
            (goal.items, goal.fpr) = (Some(*items), head.fpr);
        }
        if facts.params.iter().any(|param| param.name == fact.name) {
            goal = goal.set(fact.name, &*fact.value.to_string());
        }
    }
    goal
}

/// An empty filter, of a variant that starts empty.
pub fn empty(variant: &'static Variant, goal: &Goal) -> Result<Box<dyn Filter>> {
    variant.build_from(goal, &[] as &[Record<'_>])
}
