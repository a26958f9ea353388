//! What can be a key.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::Arc;

/// A key: anything with one canonical sequence of bytes.
///
/// | type | bytes |
/// |---|---|
/// | strings and byte strings, owned or borrowed | their own |
/// | integers of every type | **their value**: 8 little-endian bytes, sign-extended, if it fits an `i64` or a `u64`, else 16 |
/// | `bool` | the integer 0 or 1 |
/// | `char` | those of the string that holds just it |
/// | IP addresses | their 4 or 16 octets |
/// | tuples | every part's length in 8 little-endian bytes, then its bytes |
/// | slices, arrays and `Vec`s of keys other than `u8` | those of the tuple of their elements |
/// | `Option` of such a key | none for `None`, those of a tuple of one for `Some` |
/// | paths (on Unix) | their own |
///
/// So `insert(&42)` is found by `contains(&42u64)`, and `("ab", "c")` is not `("a", "bc")`. −1 and `u64::MAX` are
/// one key. `std::hash::Hash` is not used: its output is not stable between versions of Rust. [`HashKey`] makes a key of
/// a type that has nothing else.
///
/// ```
/// let mut seen = everbloom::Bloom::with_rate(1000, 0.01)?;
/// seen.insert(&42);
/// assert!(seen.contains(&42u64));
/// seen.insert(&("user", 7));
/// assert!(seen.contains(&("user".to_owned(), 7u8)));
/// # Ok::<(), everbloom::Error>(())
/// ```
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

impl<const N: usize> Key for [u8; N] {
    const LENGTH: Option<usize> = Some(N);

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

/// Types that are a key because what they hold or point to is one.
macro_rules! keys_within {
    ($(($($generics:tt)*) $type:ty => $inner:ty),* $(,)?) => {$(
        impl<$($generics)*> Key for $type {
            const LENGTH: Option<usize> = <$inner as Key>::LENGTH;

            #[inline(always)]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                let inner: &$inner = self;
                inner.with_bytes(f)
            }
        }
    )*};
}

keys_within! {
    (K: Key + ?Sized) &K => K,
    (K: Key + ?Sized) &mut K => K,
    (K: Key + ?Sized) Box<K> => K,
    (K: Key + ?Sized) Rc<K> => K,
    (K: Key + ?Sized) Arc<K> => K,
    (K: Key + ToOwned + ?Sized) Cow<'_, K> => K,
    () String => str,
    () Vec<u8> => [u8],
    (K: Element) Vec<K> => [K],
}

/// A key that slices and options of it are keys, too: every key but `u8`, since a slice of bytes is one string.
pub trait Element: Key {}

/// The bytes of several keys as one: every part's length, then its bytes.
#[derive(Default)]
struct Joined(smallvec::SmallVec<[u8; 64]>);

impl Joined {
    fn push(&mut self, part: &(impl Key + ?Sized)) {
        part.with_bytes(|part| {
            self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.0.extend_from_slice(part);
        });
    }
}

impl<K: Element> Key for [K] {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = Joined::default();
        self.iter().for_each(|part| bytes.push(part));
        f(&bytes.0)
    }
}

impl<K: Element, const N: usize> Key for [K; N] {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.as_slice().with_bytes(f)
    }
}

impl<K: Element> Key for Option<K> {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.as_slice().with_bytes(f)
    }
}

/// A key made of any value that implements [`Hash`]: of the bytes that it feeds to a hasher.
///
/// Which bytes those are is up to the type, its derive and the standard library; they may change with a new version of
/// Rust. Use it for filters that live as long as the process. For files, take a tuple of the fields.
///
/// ```
/// use everbloom::{Bloom, HashKey};
///
/// #[derive(Hash)]
/// struct Visit {
///     user: u64,
///     page: String,
/// }
///
/// let visit = Visit { user: 7, page: "/".to_owned() };
/// let mut seen = Bloom::with_rate(1000, 0.01)?;
/// seen.insert(&HashKey(&visit));
/// assert!(seen.contains(&HashKey(&visit)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HashKey<'a, T: ?Sized>(pub &'a T);

impl<T: Hash + ?Sized> Key for HashKey<'_, T> {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = Fed::default();
        self.0.hash(&mut bytes);
        f(&bytes.0)
    }
}

/// What is fed to a hasher, byte for byte.
#[derive(Default)]
struct Fed(smallvec::SmallVec<[u8; 64]>);

impl Hasher for Fed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Nobody asks.
    fn finish(&self) -> u64 {
        0
    }
}

macro_rules! elements {
    ($(($($generics:tt)*) $type:ty),* $(,)?) => {$(
        impl<$($generics)*> Element for $type {}
    )*};
}

elements! {
    (K: Element + ?Sized) &K,
    (K: Element + ?Sized) &mut K,
    (K: Element + ?Sized) Box<K>,
    (K: Element + ?Sized) Rc<K>,
    (K: Element + ?Sized) Arc<K>,
    (K: Element + ToOwned + ?Sized) Cow<'_, K>,
    (K: Element) Vec<K>,
    (K: Element) [K],
    (K: Element) Option<K>,
    (T: Hash + ?Sized) HashKey<'_, T>,
    () str,
    () String,
    () [u8],
    () Vec<u8>,
    (const N: usize) [u8; N],
    () u16,
    () u32,
    () u64,
    () usize,
    () u128,
    () i8,
    () i16,
    () i32,
    () i64,
    () isize,
    () i128,
    () bool,
    () char,
    () Ipv4Addr,
    () Ipv6Addr,
    () IpAddr,
}

macro_rules! integer_keys {
    ($($int:ty)*) => {$(
        impl Key for $int {
            const LENGTH: Option<usize> = Some(8);

            #[inline(always)]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                // Sign-extended if it has a sign.
                f(&(*self as i64).to_le_bytes())
            }
        }
    )*};
}

integer_keys!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool);

impl Key for u128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match u64::try_from(*self) {
            Ok(small) => f(&small.to_le_bytes()),
            Err(_) => f(&self.to_le_bytes()),
        }
    }
}

impl Key for i128 {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match (i64::try_from(*self), u64::try_from(*self)) {
            (Ok(small), _) => f(&small.to_le_bytes()),
            (_, Ok(small)) => f(&small.to_le_bytes()),
            _ => f(&self.to_le_bytes()),
        }
    }
}

impl Key for char {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.encode_utf8(&mut [0; 4]).as_bytes())
    }
}

impl Key for Ipv4Addr {
    const LENGTH: Option<usize> = Some(4);

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.octets())
    }
}

impl Key for Ipv6Addr {
    const LENGTH: Option<usize> = Some(16);

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.octets())
    }
}

impl Key for IpAddr {
    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            IpAddr::V4(address) => address.with_bytes(f),
            IpAddr::V6(address) => address.with_bytes(f),
        }
    }
}

/// Paths and other strings of the system, where those are bytes.
#[cfg(unix)]
mod system {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::Key;

    impl Key for OsStr {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            f(self.as_bytes())
        }
    }

    impl Key for Path {
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            f(self.as_os_str().as_bytes())
        }
    }

    keys_within! {
        () OsString => OsStr,
        () PathBuf => Path,
    }
}

macro_rules! tuple_keys {
    ($(($($part:ident)+))*) => {$(
        impl<$($part: Key),+> Key for ($($part,)+) {
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                #[allow(non_snake_case)]
                let ($($part,)+) = self;
                let mut bytes = Joined::default();
                $(bytes.push($part);)+
                f(&bytes.0)
            }
        }

        impl<$($part: Key),+> Element for ($($part,)+) {}
    )*};
}

tuple_keys!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(key: &(impl Key + ?Sized)) -> Vec<u8> {
        key.with_bytes(<[u8]>::to_vec)
    }

    #[test]
    fn an_integer_is_its_value() {
        let forty_two = 42u64.to_le_bytes().to_vec();
        let same = [
            bytes(&42u8),
            bytes(&42i16),
            bytes(&42),
            bytes(&42u64),
            bytes(&42usize),
            bytes(&42u128),
            bytes(&42i128),
        ];
        assert!(same.iter().all(|bytes| *bytes == forty_two));
        assert_eq!(bytes(&-1i8), bytes(&-1i64));
        assert_eq!(bytes(&-1i128), bytes(&-1i32));
        assert_eq!(bytes(&-1i8), bytes(&u64::MAX));
        assert_eq!(bytes(&u64::MAX), bytes(&u128::from(u64::MAX)));
        assert_eq!(bytes(&i128::from(u64::MAX)).len(), 8);
        assert_eq!(bytes(&(1u128 << 64)).len(), 16);
        assert_eq!(bytes(&(i128::from(i64::MIN) - 1)).len(), 16);
        assert_eq!(bytes(&true), bytes(&1));
    }

    #[test]
    fn clothes_do_not_matter_and_parts_do() {
        let plain = b"abc".to_vec();
        let arc: Arc<str> = "abc".into();
        let boxed: Box<[u8]> = plain.clone().into();
        let cow: Cow<'_, str> = Cow::Borrowed("abc");
        for other in
            [bytes("abc"), bytes(&"abc".to_owned()), bytes(&arc), bytes(&boxed), bytes(&cow)]
        {
            assert_eq!(other, plain);
        }
        assert_eq!(bytes(&'ß'), bytes("ß"));
        assert_eq!(bytes(&IpAddr::from([127, 0, 0, 1])), [127, 0, 0, 1]);
        assert_ne!(bytes(&("ab", "c")), bytes(&("a", "bc")));
        assert_ne!(bytes(&("ab",)), bytes("ab"));
        assert_eq!(bytes(&("a", 1)), bytes(&("a".to_owned(), 1u64)));
    }

    #[test]
    fn a_list_is_the_tuple_of_its_elements() {
        assert_eq!(bytes(&["ab", "c"]), bytes(&("ab", "c")));
        assert_eq!(bytes(&vec!["ab".to_owned(), "c".to_owned()]), bytes(&("ab", "c")));
        assert_eq!(bytes(&[1u64, 2][..]), bytes(&(1, 2)));
        assert_ne!(bytes(&["ab", "c"]), bytes(&["a", "bc"]));
        assert_ne!(bytes(&[1u64, 2]), bytes(&[2u64, 1]));
        assert_eq!(bytes(&[1u8, 2]), [1, 2], "bytes are one string");
        assert_eq!(bytes(&vec![vec!["a"], vec!["b", "c"]]), bytes(&(("a",), ("b", "c"))));
    }

    #[test]
    fn an_option_is_a_list_of_at_most_one() {
        assert_eq!(bytes(&None::<u64>), [0; 0]);
        assert_eq!(bytes(&Some("a")), bytes(&("a",)));
        assert_ne!(bytes(&Some("")), bytes(&None::<&str>));
        assert_eq!(bytes(&(1, None::<u64>)), bytes(&(1, "")));
    }

    #[test]
    fn a_hashed_value_is_what_it_feeds_to_a_hasher() {
        assert_eq!(bytes(&HashKey(&(1u64, 2u64))), bytes(&HashKey(&(1u64, 2u64))));
        assert_ne!(bytes(&HashKey(&("ab", "c"))), bytes(&HashKey(&("a", "bc"))));
        assert_eq!(bytes(&HashKey(&7u64)), 7u64.to_ne_bytes());
    }

    #[cfg(unix)]
    #[test]
    fn paths_are_their_bytes() {
        assert_eq!(bytes(std::path::Path::new("/usr")), b"/usr");
    }
}
