//! What the schemes that range over all cells have in common: m and k.

/// `flat!(/// Scheme 1. Double);`: a scheme of k indices into `0..m`.
macro_rules! flat {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            m: u64,
            k: u32,
        }

        impl $name {
            /// `k` indices into `0..m`, m > 0.
            pub fn new(m: u64, k: u32) -> Self {
                Self { m, k }
            }

            /// Number of cells.
            pub fn m(&self) -> u64 {
                self.m
            }

            /// Number of indices per key.
            pub fn k(&self) -> u32 {
                self.k
            }

            /// Half the cells.
            pub(super) fn fold(&self) -> crate::error::Result<Self> {
                Ok(Self { m: super::half(self.m, "m")?, k: self.k })
            }
        }
    };
}
pub(super) use flat;
