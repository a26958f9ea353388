//! Reading records: lines of a file or of stdin, in batches, again if need be.
//!
//! Split at LF only (or at NUL, where asked), so a CR belongs to its key; an empty line is an empty key;
//! where the variant takes a value it stands behind the last TAB. Input packed by gzip or zstd is
//! recognized by its first bytes and unpacked.

mod blocks;
mod pool;
mod scan;
mod text;

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use everbloom::error::{Error, Kind, Result};
use everbloom::filter::Record;
use everbloom::hash::{Digest, Hasher, SecretKey};
use everbloom::structure::Source;
use everbloom::variant::{KeyKind, ValueKind, Variant};

use crate::args::{KeyType, Text};
use crate::progress::Watched;
pub use blocks::Order;
use blocks::{Block, Blocks, Input, on_all_cores, unpacked};
pub use pool::Pool;
pub use text::{column, each_key};

/// What stdin is kept in when it has to be read again: memory up to here, then a temporary file.
const SPOOL: usize = 64 << 20;

/// What is done with a batch: the lines, and the records they spell.
pub type Visit<'a> = dyn FnMut(&[&[u8]], &[Record<'_>]) -> Result<()> + 'a;

/// How a line becomes a record.
#[derive(Clone, Copy)]
pub struct Grammar {
    pub key: KeyType,
    pub value: ValueKind,
    /// What ends a record.
    pub end: u8,
    /// Which column is the key, counted from 1, and what separates columns; else the whole line.
    pub column: Option<(u32, u8)>,
}

impl Grammar {
    /// Keys without values.
    pub fn keys(text: &Text) -> Self {
        Self {
            key: text.key_type,
            value: ValueKind::None,
            end: if text.null { 0 } else { b'\n' },
            column: text.field.map(|field| (field, text.delimiter.unwrap_or(b'\t'))),
        }
    }

    /// The grammar of a variant's records.
    pub fn of(variant: &Variant, text: &Text) -> Self {
        let mut grammar = Self { value: variant.input.value, ..Self::keys(text) };
        if variant.input.key == KeyKind::Integer {
            grammar.key = KeyType::U64;
        }
        grammar
    }
}

/// Where lines come from.
enum Origin {
    /// A file, opened anew for each pass.
    File(PathBuf),
    /// Stdin, passed through once.
    Stdin,
    /// Stdin, kept.
    Spool(tempfile::SpooledTempFile),
}

/// Lines as records.
pub struct Lines {
    origin: Origin,
    grammar: Grammar,
}

/// How often the lines are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Once,
    Several,
}

impl Lines {
    /// The lines of the file at `path`, or of stdin for `-`.
    pub fn new(path: &Path, grammar: Grammar, passes: Passes) -> Result<Self> {
        let origin = if path != Path::new("-") {
            Origin::File(path.to_path_buf())
        } else if passes == Passes::Once {
            Origin::Stdin
        } else {
            let mut spool = tempfile::SpooledTempFile::new(SPOOL);
            io::copy(&mut io::stdin().lock(), &mut spool)
                .map_err(|e| Error::from(e).context("cannot keep stdin for a second pass"))?;
            Origin::Spool(spool)
        };
        Ok(Self { origin, grammar })
    }

    /// Opens the input, unpacked and watched.
    fn open(&mut self) -> Result<Input<'_>> {
        Ok(match &mut self.origin {
            Origin::File(path) => {
                let named = |e: io::Error| Error::from(e).context(path.display());
                let file = File::open(&path).map_err(named)?;
                let length = file.metadata().map_err(named)?;
                if length.is_dir() {
                    let message = format!("{}: is a folder, not a file of keys", path.display());
                    return Err(Error::new(Kind::Io, message));
                }
                unpacked(Watched::new(file, Some(length.len()))).map_err(named)?
            }
            Origin::Stdin => unpacked(Watched::new(io::stdin(), None))?,
            Origin::Spool(spool) => {
                spool.rewind()?;
                unpacked(spool)?
            }
        })
    }

    /// What errors name.
    fn name(&self) -> String {
        match &self.origin {
            Origin::File(path) => path.display().to_string(),
            Origin::Stdin | Origin::Spool(_) => "stdin".to_owned(),
        }
    }

    /// Calls `f` with batches of lines and the records they spell.
    pub fn each(&mut self, f: &mut Visit<'_>) -> Result<()> {
        let (grammar, name) = (self.grammar, self.name());
        read(self.open()?, grammar, f).map_err(|e| e.context(name))
    }

    /// Does `work` on every block of whole lines, on all cores, and `done` with every result, here.
    /// `work` is given the text and the number of lines before it.
    pub fn each_block<T: Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: impl Fn(&[u8], u64) -> Result<T> + Sync,
        done: impl FnMut(T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (end, name) = (self.grammar.end, self.name());
        let blocks = Blocks::new(self.open()?, end);
        let work = |block: &Block| work(block.text(), block.before).map_err(|e| e.context(&name));
        on_all_cores(blocks, order, work, done)
    }
}

impl Source for Lines {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        self.each(&mut |_, records| f(records))
    }

    fn digests(&mut self, hasher: &Hasher, f: &mut dyn FnMut(&[Digest])) -> Result<()> {
        let grammar = self.grammar;
        let pool = Pool::default();
        let hash = |text: &[u8], before| {
            let mut digests: Vec<Digest> = pool.take();
            digests.clear();
            each_key(text, grammar, before, |_, key| digests.push(hasher.digest(key)))?;
            Ok(digests)
        };
        self.each_block(Order::Any, hash, |digests: Vec<Digest>| {
            f(&digests);
            pool.give(digests);
            Ok::<_, Error>(())
        })
    }
}

fn read(input: Input<'_>, grammar: Grammar, f: &mut Visit<'_>) -> Result<()> {
    let mut blocks = Blocks::new(input, grammar.end);
    let mut block = Block::default();
    while blocks.next(&mut block)? {
        text::batch(block.text(), grammar, block.before, f)?;
    }
    Ok(())
}

/// The secret key in `--key-file`, if one was given.
pub fn secret_key(file: &Option<PathBuf>) -> Result<Option<SecretKey>> {
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::from(e).context(format!("cannot read the key file {}", path.display()))
    })?;
    SecretKey::from_hex(&text).map(Some).map_err(|e| e.context(path.display()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn lines(text: &[u8], grammar: Grammar) -> Result<Vec<(Vec<u8>, Option<String>)>> {
        let mut out = Vec::new();
        // One byte at a time: batches may end anywhere.
        read(unpacked(OneByte(text))?, grammar, &mut |_, records| {
            out.extend(records.iter().map(|r| (r.key.to_vec(), r.value.map(|v| format!("{v:?}")))));
            Ok(())
        })?;
        Ok(out)
    }

    struct OneByte<'a>(&'a [u8]);

    impl Read for OneByte<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = out.len().min(1);
            self.0.read(&mut out[..n])
        }
    }

    const PLAIN: Grammar =
        Grammar { key: KeyType::Bytes, value: ValueKind::None, end: b'\n', column: None };

    fn keys(text: &[u8]) -> Vec<Vec<u8>> {
        lines(text, PLAIN).unwrap_or_default().into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn lines_split_at_lf_only() {
        assert!(keys(b"").is_empty());
        assert_eq!(keys(b"a\nb"), [b"a", b"b"]);
        assert_eq!(keys(b"a\nb\n"), [b"a", b"b"]);
        assert_eq!(keys(b"a\r\n\n\xff\tx\n"), [&b"a\r"[..], b"", b"\xff\tx"]);
        assert_eq!(keys(b"\n"), [b""]);
    }

    #[test]
    fn values_stand_behind_the_last_tab() {
        let label = Grammar { value: ValueKind::Label, ..PLAIN };
        let got = lines(b"a\tb\tc\nd\n", label).unwrap_or_default();
        assert_eq!(got[0], (b"a\tb".to_vec(), Some("Label([99])".to_owned())));
        assert_eq!(got[1], (b"d".to_vec(), None));
        let weight = Grammar { value: ValueKind::Weight, ..PLAIN };
        let error = lines(b"a\t1\nb\tx\n", weight).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(lines(b"a\tNaN\n", weight).is_err());
    }

    #[test]
    fn columns_and_nul_ends_are_cut() {
        let csv = Grammar { column: Some((2, b',')), ..PLAIN };
        let got = lines(b"a,b,c\nd,\n", csv).unwrap_or_default();
        assert_eq!((got[0].0.as_slice(), got[1].0.as_slice()), (&b"b"[..], &b""[..]));
        let error = lines(b"a,b\nc\n", csv).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.starts_with("line 2: there is no column 2"), "{error}");
        let nul = Grammar { end: 0, ..PLAIN };
        let got = lines(b"a\nb\0c\0", nul).unwrap_or_default();
        assert_eq!((got[0].0.as_slice(), got[1].0.as_slice()), (&b"a\nb"[..], &b"c"[..]));
    }

    #[test]
    fn packed_input_is_unpacked() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gz, b"a\nb\n").unwrap_or_default();
        let zstd = ruzstd::encoding::compress_to_vec(
            &b"a\nb\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for packed in [gz.finish().unwrap_or_default(), zstd] {
            assert_eq!(keys(&packed), [b"a", b"b"]);
            assert!(lines(&packed[..packed.len() - 5], PLAIN).is_err(), "cut off");
        }
    }

    #[test]
    fn integers_are_eight_little_endian_bytes() {
        let u64s = Grammar { key: KeyType::U64, ..PLAIN };
        let got = lines(b"42\n18446744073709551615\n", u64s).unwrap_or_default();
        assert_eq!(got[0].0, 42u64.to_le_bytes());
        assert_eq!(got[1].0, u64::MAX.to_le_bytes());
        for bad in [&b"-1\n"[..], b"+1\n", b" 1\n", b"\n", b"18446744073709551616\n", b"1\r\n"] {
            assert!(lines(bad, u64s).is_err(), "{bad:?}");
        }
    }
}
