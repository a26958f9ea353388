//! One error type: what kind of failure, and a sentence that names the cause and the remedy.

use std::{error, fmt, io};

/// What went wrong, for code that decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The bytes do not start with the everbloom magic.
    NotOurs,
    /// The file was written by a newer major version.
    UnsupportedVersion,
    /// The file needs a feature, variant or hash this build does not have.
    UnsupportedFeature,
    /// A checksum or an invariant failed at this byte offset.
    Corrupt {
        /// Offset of the first byte known to be wrong, or of the section that failed.
        offset: u64,
    },
    /// The bytes end before the length the header promises.
    Truncated,
    /// A value exceeds the caller's [`Limits`](crate::codec::Limits).
    LimitExceeded {
        /// The name of the limit.
        what: &'static str,
    },
    /// Two filters differ where they must agree.
    Incompatible {
        /// The first field that differs.
        what: &'static str,
    },
    /// The filter holds as many items as it was planned for and cannot grow.
    CapacityExceeded,
    /// The filter is keyed and no key, or another key, was given.
    KeyMissing,
    /// A goal, parameter or shape that no filter can satisfy.
    BadParameter,
    /// A record the variant cannot take: wrong value, wrong length, conflict with another record.
    BadRecord,
    /// This removal would make another key a false negative.
    NotDeletable,
    /// More than one place could hold the key, so the operation refuses to guess.
    Ambiguous,
    /// A set difference larger than the cells can carry.
    Undecodable,
    /// The variant or the form does not have this ability.
    Unsupported,
    /// The operating system refused.
    Io,
}

/// An error: its [`Kind`] and a sentence for people.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<io::Error>,
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind`, explained by `message`.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The same error, its sentence preceded by where it happened.
    #[must_use]
    pub fn context(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    pub(crate) fn corrupt(offset: u64, message: impl Into<String>) -> Self {
        Self::new(Kind::Corrupt { offset }, message)
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(Kind::BadParameter, message)
    }

    pub(crate) fn record(message: impl Into<String>) -> Self {
        Self::new(Kind::BadRecord, message)
    }

    pub(crate) fn incompatible(
        what: &'static str,
        ours: impl fmt::Display,
        theirs: impl fmt::Display,
    ) -> Self {
        Self::new(
            Kind::Incompatible { what },
            format!("the filters differ in {what}: {ours} here, {theirs} there"),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Self { kind: Kind::Io, message: e.to_string(), source: Some(e) }
    }
}

/// Refuses two filters that differ in `what`.
pub(crate) fn agree<T: PartialEq + fmt::Display>(
    what: &'static str,
    ours: T,
    theirs: T,
) -> Result<()> {
    if ours == theirs { Ok(()) } else { Err(Error::incompatible(what, ours, theirs)) }
}
