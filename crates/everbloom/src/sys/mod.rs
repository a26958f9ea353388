//! What differs between operating systems: one file for Linux, a portable one with the same functions.
//!
//! Nothing else in this crate names an operating system. The portable file serves every system but Linux, and
//! Linux too under `--cfg everbloom_portable`, so that it is built and tested there.

#[cfg(all(target_os = "linux", not(everbloom_portable)))]
mod linux;
#[cfg(not(all(target_os = "linux", not(everbloom_portable))))]
mod portable;

#[cfg(all(target_os = "linux", not(everbloom_portable)))]
pub(crate) use linux::*;
#[cfg(not(all(target_os = "linux", not(everbloom_portable))))]
pub(crate) use portable::*;
