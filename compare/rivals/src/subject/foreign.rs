//! Filters written in C++, behind shims: each compiled twice, as a plain build is and for this processor.

use everbloom::membership::Bloom;

use super::Subject;

/// For which processor a shim is compiled.
#[derive(Clone, Copy)]
enum For {
    Any,
    ThisOne,
}

/// Compiled as everything else here is.
const LIKE_US: For = if cfg!(target_feature = "avx2") { For::ThisOne } else { For::Any };

type Made = Option<Box<dyn Subject>>;

pub fn boost_apart(n: u64, p: f64) -> Made {
    boost::multiblock(n, p, 0, LIKE_US)
}

pub fn boost_dense(n: u64, p: f64) -> Made {
    boost::multiblock(n, p, 1, LIKE_US)
}

/// As many bits and probes as ours.
pub fn boost_classic(n: u64, p: f64) -> Made {
    let ours = Bloom::with_rate(n, p).ok()?;
    boost::classic(ours.m(), ours.k(), LIKE_US)
}

pub fn boost_native(n: u64, p: f64) -> Made {
    boost::multiblock(n, p, 1, For::ThisOne)
}

pub fn rocksdb(n: u64, p: f64) -> Made {
    rocks::fast_local(n, p, LIKE_US)
}

pub fn rocksdb_native(n: u64, p: f64) -> Made {
    rocks::fast_local(n, p, For::ThisOne)
}

#[cfg(any(boost, rocksdb))]
mod shim {
    use std::ffi::c_void;

    /// What can be done with a filter behind any shim.
    #[repr(C)]
    pub struct Calls {
        insert: unsafe extern "C" fn(*mut c_void, *const u64, usize),
        count: unsafe extern "C" fn(*const c_void, *const u64, usize) -> u64,
        bits: unsafe extern "C" fn(*const c_void) -> u64,
        release: unsafe extern "C" fn(*mut c_void),
    }

    struct Filter(*mut c_void, &'static Calls);

    /// A filter that a shim has made, or nothing if it has not.
    ///
    /// # Safety
    /// The filter is one of the shim's with these calls, and nobody else's.
    pub unsafe fn made(filter: *mut c_void, calls: &'static Calls) -> super::Made {
        (!filter.is_null()).then(|| Box::new(Filter(filter, calls)) as Box<dyn super::Subject>)
    }

    impl super::Subject for Filter {
        fn fill(&mut self, keys: &[u64]) {
            // SAFETY: the filter is alive, and the keys are `len` readable words.
            unsafe { (self.1.insert)(self.0, keys.as_ptr(), keys.len()) }
        }

        fn count(&self, keys: &[u64]) -> u64 {
            // SAFETY: as above.
            unsafe { (self.1.count)(self.0, keys.as_ptr(), keys.len()) }
        }

        fn bits(&self) -> u64 {
            // SAFETY: the filter is alive.
            unsafe { (self.1.bits)(self.0) }
        }
    }

    impl Drop for Filter {
        fn drop(&mut self) {
            // SAFETY: made by the shim, and freed once.
            unsafe { (self.1.release)(self.0) }
        }
    }
}

#[cfg(boost)]
mod boost {
    use std::ffi::{c_int, c_void};

    use super::{For, Made, shim};

    #[repr(C)]
    struct Table {
        calls: shim::Calls,
        multiblock: unsafe extern "C" fn(u64, f64, c_int) -> *mut c_void,
        classic: unsafe extern "C" fn(u64, c_int) -> *mut c_void,
    }

    unsafe extern "C" {
        static boost_plain: Table;
        static boost_native: Table;
    }

    fn table(machine: For) -> &'static Table {
        // SAFETY: constants of the shim.
        unsafe {
            match machine {
                For::Any => &boost_plain,
                For::ThisOne => &boost_native,
            }
        }
    }

    pub fn multiblock(n: u64, p: f64, stride: i32, machine: For) -> Made {
        let table = table(machine);
        // SAFETY: a filter of this shim.
        unsafe { shim::made((table.multiblock)(n, p, stride), &table.calls) }
    }

    pub fn classic(bits: u64, k: u32, machine: For) -> Made {
        let table = table(machine);
        // SAFETY: a filter of this shim, or nothing for a k it does not have.
        unsafe { shim::made((table.classic)(bits, k as c_int), &table.calls) }
    }
}

#[cfg(not(boost))]
mod boost {
    use super::{For, Made};

    pub fn multiblock(_: u64, _: f64, _: i32, _: For) -> Made {
        None
    }

    pub fn classic(_: u64, _: u32, _: For) -> Made {
        None
    }
}

#[cfg(rocksdb)]
mod rocks {
    use std::ffi::c_void;

    use super::{For, Made, shim};

    #[repr(C)]
    struct Table {
        calls: shim::Calls,
        make: unsafe extern "C" fn(u64, f64) -> *mut c_void,
    }

    unsafe extern "C" {
        static rocksdb_plain: Table;
        static rocksdb_native: Table;
    }

    pub fn fast_local(n: u64, p: f64, machine: For) -> Made {
        // SAFETY: constants of the shim, and a filter of it.
        unsafe {
            let table = match machine {
                For::Any => &rocksdb_plain,
                For::ThisOne => &rocksdb_native,
            };
            shim::made((table.make)(n, p), &table.calls)
        }
    }
}

#[cfg(not(rocksdb))]
mod rocks {
    use super::{For, Made};

    pub fn fast_local(_: u64, _: f64, _: For) -> Made {
        None
    }
}
