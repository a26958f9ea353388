//! Everbloom for Python: one class over every variant of the list, arrays in and arrays out.

mod abilities;
mod answers;
mod catalog;
mod classes;
mod columns;
mod errors;
mod filter;
mod foreign;
mod goal;
mod held;
mod keys;
mod methods;
mod open;
mod picture;
mod rows;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `everbloom` with these arguments; its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, typed: Vec<OsString>) -> PyResult<u8> {
    py.detach(|| errors::calm(|| everbloom_cli::run(typed)))
}

#[pymodule]
mod _everbloom {
    use super::*;

    #[pymodule_export]
    use super::run_command;
    #[pymodule_export]
    use crate::answers::{Column, Said};
    #[pymodule_export]
    use crate::catalog::{catalog, formats, plan, sample};
    #[pymodule_export]
    use crate::classes::{build, create};
    #[pymodule_export]
    use crate::filter::Filter;
    #[pymodule_export]
    use crate::foreign::{Foreign, create_foreign};
    #[pymodule_export]
    use crate::methods::restore;
    #[pymodule_export]
    use crate::open::open;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::classes::register(module)
    }
}
