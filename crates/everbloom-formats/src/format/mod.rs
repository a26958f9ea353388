//! What the list says of a format, and what can be done with it.

pub(crate) mod foreign;

use everbloom::{Error, Filter, Kind, Limits, Result};

use crate::key::KeyAs;
pub use foreign::Foreign;

/// A layout that other software writes.
pub struct Format {
    /// Its name here, short and lower-case.
    pub name: &'static str,
    /// The software that writes it.
    pub writer: &'static str,
    /// The versions of the layout that are read.
    pub versions: &'static str,
    /// How its bytes are recognized.
    pub recognized: &'static str,
    /// The kinds of keys it takes; the first is the usual one.
    pub keys: &'static [KeyAs],
    /// What makes the bits of a key.
    pub hash: &'static str,
    /// What cannot be read, or is not known.
    pub limits: &'static str,
    /// How well bytes look like this format, from their first and last bytes and their length; without it, whether
    /// they open.
    pub(crate) fit: Option<fn(&[u8]) -> Fit>,
    pub(crate) open: Open,
    /// Whether what was opened is written back, byte for byte.
    pub(crate) writes: bool,
    /// An empty filter for so many keys at such a rate, sized as that software does.
    pub(crate) create: Option<fn(u64, f64) -> Result<Foreign>>,
    /// A filter of the library in this layout.
    pub(crate) adopt: Option<fn(&dyn Filter) -> Result<Foreign>>,
}

/// Reads the filters in some bytes.
pub(crate) type Open = fn(&[u8], &Hints) -> Result<Vec<Part>>;

/// What bytes say of their format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is another one.
    No,
    /// Their length could be that of a filter of this format.
    Length,
    /// Several fields agree with each other and with the length.
    Fields,
    /// They have the format's magic number.
    Magic,
}

impl Fit {
    /// `self` if `fits`, else [`Fit::No`].
    pub(crate) fn when(self, fits: bool) -> Self {
        if fits { self } else { Fit::No }
    }
}

/// What a file does not say, and its reader needs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hints {
    /// Limits for opened files.
    pub limits: Limits,
    /// Probes per key, where the file does not hold the number.
    pub k: Option<u32>,
    /// The key of a keyed hash.
    pub key: Option<[u8; 16]>,
}

impl Hints {
    /// Nothing but limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, k: None, key: None }
    }
}

/// A filter in a file, and its position.
#[derive(Debug)]
pub struct Part {
    /// The column whose values are its keys, where files hold several.
    pub column: String,
    /// The group of rows whose values are its keys, counted from 0.
    pub row_group: u64,
    /// Rows in that group, where the file says.
    pub rows: Option<u64>,
    /// The kind of keys, where the file says.
    pub keys: Option<KeyAs>,
    /// The filter.
    pub filter: Foreign,
}

impl From<Foreign> for Part {
    fn from(filter: Foreign) -> Self {
        Part { column: String::new(), row_group: 0, rows: None, keys: None, filter }
    }
}

impl Format {
    /// What most formats share: they are recognized by what is in them, and written back.
    pub(crate) const USUAL: Format = Format {
        name: "",
        writer: "",
        versions: "",
        recognized: "",
        keys: &[],
        hash: "",
        limits: "none known",
        fit: None,
        open: |_, _| Ok(Vec::new()),
        writes: true,
        create: None,
        adopt: None,
    };

    /// How well bytes look like this format.
    pub fn fit(&self, bytes: &[u8]) -> Fit {
        let opens = |bytes| (self.open)(bytes, &Hints::new(Limits::LOCAL)).is_ok();
        self.fit.map_or_else(|| Fit::Fields.when(opens(bytes)), |fit| fit(bytes))
    }

    /// The filters in `bytes`: one, unless the file has several columns or groups of rows.
    pub fn open(&self, bytes: &[u8], limits: Limits) -> Result<Vec<Part>> {
        self.open_with(bytes, &Hints::new(limits))
    }

    /// [`Format::open`], given what the file does not say.
    pub fn open_with(&self, bytes: &[u8], hints: &Hints) -> Result<Vec<Part>> {
        if bytes.len() as u64 > hints.limits.bytes {
            let message = format!("longer than the limit of {} bytes", hints.limits.bytes);
            return Err(Error::new(Kind::LimitExceeded { what: "bytes" }, message));
        }
        (self.open)(bytes, hints).map_err(|e| e.context(self.name))
    }

    /// The one filter in `bytes`.
    pub fn open_one(&self, bytes: &[u8], limits: Limits) -> Result<Foreign> {
        let mut parts = self.open(bytes, limits)?;
        match (parts.pop(), parts.is_empty()) {
            (Some(part), true) => Ok(part.filter),
            (None, _) => Err(Error::new(Kind::NotOurs, "the file holds no filter")),
            _ => Err(Error::new(Kind::Ambiguous, "the file has several filters: choose one")),
        }
    }

    /// An empty filter for `items` keys at the false-positive rate `fpr`, sized as the other software does.
    pub fn create(&self, items: u64, fpr: f64) -> Result<Foreign> {
        let create = self.create.ok_or_else(|| self.cannot("be built from keys"))?;
        let what = format!("{items} items at a rate of {fpr}");
        if items == 0 || !(fpr > 0.0 && fpr < 1.0) {
            return Err(Error::new(
                Kind::BadParameter,
                format!("{what}: no filter has these values"),
            ));
        }
        create(items, fpr)
    }

    /// A filter of the library in this layout, where its bits can be represented.
    pub fn adopt(&self, filter: &dyn Filter) -> Result<Foreign> {
        let adopt = self.adopt.ok_or_else(|| {
            self.cannot(&format!("hold the bits of a {} filter", filter.facts().slug))
        })?;
        adopt(filter)
    }

    /// The bytes of a filter in this layout, which must be its own.
    pub fn write(&self, filter: &Foreign) -> Result<Vec<u8>> {
        if filter.format().name != self.name {
            let what = format!("hold the bits of a {} filter", filter.format().name);
            return Err(self.cannot(&what));
        }
        filter.write()
    }

    /// Whether files of this format are written.
    pub fn can_write(&self) -> bool {
        self.writes
    }

    /// Whether filters are built from keys in this format.
    pub fn can_create(&self) -> bool {
        self.create.is_some()
    }

    /// Whether its filters become filters of the library, and those become its filters.
    pub fn can_convert(&self) -> bool {
        self.adopt.is_some()
    }

    pub(crate) fn cannot(&self, what: &str) -> Error {
        Error::new(Kind::Unsupported, format!("a filter of format {} cannot {what}", self.name))
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
