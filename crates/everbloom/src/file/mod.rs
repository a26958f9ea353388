//! The `.evb` file around the state tree: prefix, checksums, opening, saving. FORMAT.md draws it.

mod layout;
mod open;
mod update;
mod write;

pub use layout::MAGIC;
pub use open::{Access, Inspection, Opener};
pub use update::{Update, lock};
pub use write::{save, to_bytes, write_to};

use std::path::Path;

use crate::error::Result;
use crate::filter::Filter;
use crate::variant::Listed;

/// The filter in the file at `path`, of any variant; [`Opener`] has keys, limits and mapping.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Filter>> {
    Opener::new().open(path)
}

/// The filter in the file at `path`, which must be of type `T`.
pub fn open_as<T: Filter + Listed>(path: impl AsRef<Path>) -> Result<T> {
    Opener::new().open_as(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::filter::Reading;
    use crate::membership::Bloom;
    use crate::{Goal, Record, catalog};

    fn reading() -> Reading {
        Reading { key_type: "u64".to_owned(), fold_case: true, ..Reading::default() }
    }

    fn built(slug: &str, reading: Reading) -> Box<dyn Filter> {
        let goal = Goal { reading, ..Goal::new(100, 0.01) };
        let variant = catalog::by_slug(slug).unwrap();
        variant.build_from(&goal, &[Record::key(b"apple")]).unwrap()
    }

    #[test]
    fn how_keys_were_read_comes_back_from_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        for slug in ["bloom", "forest"] {
            let filter = built(slug, reading());
            let path = folder.path().join(slug);
            save(&*filter, &path).unwrap();
            let again = open(&path).unwrap();
            assert_eq!(again.head().reading, reading());
            assert!(again.contains(b"apple"));
        }
        let pages = folder.path().join("pages/");
        save(&*built("forest", reading()), &pages).unwrap();
        assert_eq!(open(&pages).unwrap().head().reading, reading());
    }

    #[test]
    fn an_older_build_refuses_what_it_cannot_know() {
        let plain = to_bytes(&*built("bloom", Reading::default()));
        let other = to_bytes(&*built("bloom", reading()));
        assert_eq!((plain[12], other[12]), (0, 1), "a required feature");
        let mut unknown = other.clone();
        unknown[12] |= 2;
        let tree = crate::state::u64_at(&unknown, 56) as usize;
        let crc = crc32c::crc32c(&unknown[..80 + tree]).to_le_bytes();
        unknown[80 + tree..84 + tree].copy_from_slice(&crc);
        let refused = Opener::new().decode(&unknown).unwrap_err();
        assert_eq!(refused.kind(), Kind::UnsupportedFeature);
    }

    #[test]
    fn filters_whose_keys_were_read_differently_do_not_merge() {
        let (mut one, other) = (built("bloom", reading()), built("bloom", Reading::default()));
        let refused = one.as_merge().unwrap().merge(&*other).unwrap_err();
        assert_eq!(refused.kind(), Kind::Incompatible { what: "key type" });
    }

    #[test]
    fn typed_filters_are_saved_opened_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.evb");
        let mut seen = Bloom::with_rate(100, 0.01).unwrap();
        seen.insert("apple");
        save(&seen, &path).unwrap();
        assert_eq!(open_as::<Bloom>(&path).unwrap(), seen);
        let wrong = open_as::<crate::Counting>(&path).unwrap_err();
        assert_eq!(wrong.kind(), Kind::Incompatible { what: "variant" });
        let mut bytes = Vec::new();
        write_to(&seen, &mut bytes).unwrap();
        assert_eq!(bytes, std::fs::read(&path).unwrap());
        assert!(Opener::new().read_from(&bytes[..]).unwrap().contains(b"apple"));
    }
}
