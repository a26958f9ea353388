//! One error type: what kind of failure, which field of the request it concerns, and a sentence that names
//! the cause and the remedy.
//!
//! The library does not know by which words its caller gives a field: a builder says `.items(0)`, a command
//! line `-n 0`. So sentences name fields in braces, `{memory}`. [`Error`]'s own `Display` leaves the
//! braces out, and a front end puts its own word there with [`Error::render`].

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
    /// A value exceeds the caller's [`Limits`](crate::Limits).
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
    /// The system does not give so much memory.
    OutOfMemory,
    /// Another process is changing the file.
    Busy,
    /// The operating system refused.
    Io,
}

/// An error: its [`Kind`], the field and value at fault where there is one, and a sentence for people.
pub struct Error {
    // Boxed, so that a `Result` is no larger than what succeeds.
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: Kind,
    field: Option<Field>,
    /// What it was about, outermost first: a file, a record.
    places: Vec<String>,
    /// Why, and what to do about it; names of fields stand in braces.
    message: String,
    source: Option<io::Error>,
}

/// The part of a request that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    value: String,
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind`, explained by `message`; names of fields are in braces.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let (places, message) = (Vec::new(), message.into());
        Self { inner: Box::new(Inner { kind, field: None, places, message, source: None }) }
    }

    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.inner.kind
    }

    /// The name of the field at fault, such as `items` or the name of a parameter.
    pub fn field(&self) -> Option<&str> {
        self.inner.field.as_ref().map(|field| field.name.as_str())
    }

    /// The value that the field had.
    pub fn value(&self) -> Option<&str> {
        self.inner.field.as_ref().map(|field| field.value.as_str())
    }

    /// The same error, said of a field and its value.
    #[must_use]
    pub fn of_field(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.inner.field = Some(Field { name: name.into(), value: value.to_string() });
        self
    }

    /// The same error, its sentence preceded by where it happened.
    #[must_use]
    pub fn context(mut self, place: impl fmt::Display) -> Self {
        self.inner.places.insert(0, place.to_string());
        self
    }

    /// The sentence, with fields called what `name` calls them. A field that has a value comes as
    /// `name(field, Some(value))`, as does one that is mentioned as `{field=value}`; a bare `{field}` comes as
    /// `name(field, None)`.
    pub fn render(&self, name: impl Fn(&str, Option<&str>) -> String) -> String {
        let mut out = String::new();
        for place in &self.inner.places {
            out.push_str(place);
            out.push_str(": ");
        }
        if let Some(Field { name: field, value }) = &self.inner.field {
            out.push_str(&name(field, Some(value)));
            out.push_str(": ");
        }
        let mut rest = self.inner.message.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            match after.split_once('}') {
                Some((field, after)) => {
                    let said = match field.split_once('=') {
                        Some((field, value)) => name(field, Some(value)),
                        None => name(field, None),
                    };
                    out.push_str(&said);
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        // The operating system's own sentence is not searched for braces.
        if let Some(source) = &self.inner.source {
            out.push_str(&source.to_string());
        }
        out
    }

    pub(crate) fn corrupt(offset: u64, message: impl Into<String>) -> Self {
        Self::new(Kind::Corrupt { offset }, message)
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(Kind::BadParameter, message)
    }

    /// A field that has an impossible value.
    pub(crate) fn setting(
        field: impl Into<String>,
        value: impl fmt::Display,
        message: impl Into<String>,
    ) -> Self {
        Self::parameter(message).of_field(field, value)
    }

    pub(crate) fn record(message: impl Into<String>) -> Self {
        Self::new(Kind::BadRecord, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, message)
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
        f.write_str(&self.render(|field, value| match value {
            Some(value) => format!("{field} = {value}"),
            None => field.to_owned(),
        }))
    }
}

impl fmt::Debug for Error {
    /// What `main` shows when it returns an error: the kind and the sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.inner.source.as_ref().map(|e| e as _)
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        let mut error = Self::new(Kind::Io, String::new());
        error.inner.source = Some(e);
        error
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_as_their_reader_types_them() {
        let error = Error::parameter("{form=plain} takes no {k}, {neither}");
        assert_eq!(error.to_string(), "form = plain takes no k, neither");
        let typed = error.render(|field, value| format!("--{field}{}", value.unwrap_or_default()));
        assert_eq!(typed, "--formplain takes no --k, --neither");
    }
}
