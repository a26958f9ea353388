//! What can go wrong with an input, as data: a front end adds what its user can do about it.

use std::{error, fmt, io};

use everbloom::internals::filter::ValueKind;

/// The result of reading.
pub type Result<T> = std::result::Result<T, Error>;

/// The input, the line, and the error.
#[derive(Debug)]
pub struct Error {
    input: String,
    line: Option<u64>,
    fault: Fault,
}

/// What is wrong with an input.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// It can't be read or unpacked.
    Io(io::Error),
    /// It can't be kept for a second pass.
    Keep(io::Error),
    /// It is a folder.
    Folder,
    /// It is no text.
    NotText {
        /// What it is.
        what: &'static str,
    },
    /// A record has no end for 64 MiB.
    TooLong {
        /// Whether it is a row of CSV.
        csv: bool,
    },
    /// A line has fewer columns.
    NoColumn {
        /// The column wanted, counted from 1.
        number: u32,
    },
    /// The first row names no such column.
    NoColumnNamed {
        /// The name wanted.
        name: String,
        /// The names there are.
        there: Vec<String>,
    },
    /// A key is not an integer.
    NotInteger {
        /// What stands there.
        text: String,
    },
    /// A value is not of the kind that the variant takes.
    BadValue {
        /// What stands there.
        text: String,
        /// What is wanted.
        want: ValueKind,
    },
    /// A time is not a whole number.
    BadTime {
        /// What stands there.
        text: String,
    },
    /// Whoever was given the records refused one.
    Refused(everbloom::Error),
}

impl Error {
    /// What was read: a path, or the name that a reader was given.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The line, counted from 1, where the fault lies in one.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The error of an input that ended a build: filters hand it on as the source of theirs.
    pub fn behind(e: &everbloom::Error) -> Option<&Self> {
        let carrier = error::Error::source(e)?.downcast_ref::<io::Error>()?;
        carrier.get_ref()?.downcast_ref()
    }

    /// The same error, in a text that so many lines come before.
    pub(crate) fn below(self, lines: u64) -> Self {
        Self { line: self.line.map(|line| line + lines), ..self }
    }

    /// The same error, in this input.
    pub(crate) fn of(self, input: impl Into<String>) -> Self {
        Self { input: input.into(), ..self }
    }
}

impl Fault {
    /// An error in this line.
    pub(crate) fn at(self, line: u64) -> Error {
        Error { line: Some(line), ..Error::from(self) }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { input: String::new(), line: None, fault }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Fault::Io(e).into()
    }
}

impl From<everbloom::Error> for Error {
    fn from(e: everbloom::Error) -> Self {
        Fault::Refused(e).into()
    }
}

impl From<Error> for everbloom::Error {
    fn from(e: Error) -> Self {
        match e.fault {
            Fault::Refused(refused) => refused.context(e.input),
            _ => io::Error::other(e).into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Fault::Keep(e) = &self.fault {
            return write!(f, "cannot save {} for a second pass: {e}", self.input);
        }
        write!(f, "{}: ", self.input)?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.fault.fmt(f)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Io(e) | Fault::Keep(e) => e.fmt(f),
            Fault::Folder => f.write_str("is a folder, not a file of keys"),
            Fault::NotText { what } => write!(f, "is {what}, not lines of keys"),
            Fault::TooLong { csv: false } => f.write_str("the line is longer than 64 MiB"),
            Fault::TooLong { csv: true } => f.write_str("the row is longer than 64 MiB"),
            Fault::NoColumn { number } => write!(f, "there is no column {number}"),
            Fault::NoColumnNamed { name, there } => {
                write!(f, "there is no column {name:?}; there are {}", there.join(", "))
            }
            Fault::NotInteger { text } => {
                write!(f, "{text:?} is not a decimal integer below 2^64")
            }
            Fault::BadTime { text } => {
                write!(f, "the time {text:?} in the first column is not a whole number")
            }
            Fault::BadValue { text, want } => {
                let want = match want {
                    ValueKind::Weight => "a number",
                    ValueKind::Count => "a whole number",
                    other => other.name(),
                };
                write!(f, "the value {text:?} is not {want}")
            }
            Fault::Refused(e) => e.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.fault {
            Fault::Io(e) | Fault::Keep(e) => Some(e),
            Fault::Refused(e) => Some(e),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_passed_through_a_build_is_found_again() {
        let error = Fault::NoColumn { number: 2 }.at(7).of("keys.csv");
        assert_eq!(error.to_string(), "keys.csv: line 7: there is no column 2");
        let passed = everbloom::Error::from(error).context("while building");
        assert_eq!(passed.to_string(), "while building: keys.csv: line 7: there is no column 2");
        let found = Error::behind(&passed).expect("the error");
        assert!(matches!(found.fault(), Fault::NoColumn { number: 2 }));
        assert_eq!((found.input(), found.line()), ("keys.csv", Some(7)));
        assert!(Error::behind(&io::Error::other("disk").into()).is_none());
    }

    #[test]
    fn a_refusal_stays_what_it_was() {
        use everbloom::Kind;
        let refused = everbloom::Error::new(Kind::CapacityExceeded, "full");
        let passed = everbloom::Error::from(Error::from(refused).of("keys"));
        assert_eq!(
            (passed.kind(), passed.to_string()),
            (Kind::CapacityExceeded, "keys: full".into())
        );
    }
}
