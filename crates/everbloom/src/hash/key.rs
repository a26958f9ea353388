//! What can be a key.

/// A key: anything with one canonical sequence of bytes.
///
/// Integers are their little-endian bytes, so `42u64` and those eight bytes are one key under every
/// hash. `std::hash::Hash` is not used: its output is not stable between versions of Rust.
pub trait Key {
    /// The number of bytes, where it is the same for all keys of the type: hashing is then compiled for it.
    const LENGTH: Option<usize> = None;

    /// Calls `f` with the key's bytes.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

impl Key for [u8] {
    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for str {
    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl Key for String {
    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl Key for Vec<u8> {
    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl<const N: usize> Key for [u8; N] {
    const LENGTH: Option<usize> = Some(N);

    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl<K: Key + ?Sized> Key for &K {
    const LENGTH: Option<usize> = K::LENGTH;

    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(f)
    }
}

macro_rules! integer_keys {
    ($($int:ty)*) => {$(
        impl Key for $int {
            const LENGTH: Option<usize> = Some(size_of::<$int>());

            #[inline(always)]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                f(&self.to_le_bytes())
            }
        }
    )*};
}

// `usize` is left out on purpose: its width, and so its bytes, differ between platforms.
integer_keys!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
