//! Input as it is named on the command line: files, `-` for stdin, and the options that say how records are
//! written.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use everbloom::Error;
use everbloom::internals::hash::SecretKey;
use everbloom::{Limits, Opener};
use everbloom_records::{Bad, Cr, Fault, Field, Grammar, Input, Lines, Notice, Time, unpacked};
use everbloom_report::number::integer_text;

use crate::args::Text;
use crate::talk::{say, tell};
use crate::{Result, progress};

/// How often the lines are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Once,
    Several,
}

/// The lines of the file at `path`, or of stdin for `-`.
pub fn lines(path: &Path, grammar: Grammar, passes: Passes) -> Result<Lines> {
    let lines = match path == Path::new("-") {
        true => Lines::reader("stdin", io::stdin(), grammar),
        false => Lines::file(path, grammar),
    };
    let lines = if passes == Passes::Several { lines.again() } else { lines };
    Ok(lines.watched(progress::watch).noticed(strange).skipping(skip))
}

/// The lines that were left out, by input.
static SKIPPED: Mutex<BTreeSet<(String, u64)>> = Mutex::new(BTreeSet::new());

/// Names a record that is left out, once, however often its input is gone through.
fn skip(e: everbloom_records::Error) {
    let Ok(mut skipped) = SKIPPED.lock() else { return };
    if skipped.insert((e.input().to_owned(), e.line().unwrap_or(0))) {
        tell!("everbloom: skipped {e}");
    }
}

/// Says how many records were left out, if any were.
pub fn say_skipped() {
    let Ok(skipped) = SKIPPED.lock() else { return };
    match skipped.len() as u64 {
        0 => {}
        1 => say!("1 record could not be read and was skipped"),
        n => say!("{} records could not be read and were skipped", integer_text(n)),
    }
}

/// The bytes of the file at `path`, or of stdin for `-`, watched and unpacked.
pub fn bytes(path: &Path) -> everbloom::Result<Input<'static>> {
    let open = || -> everbloom_records::Result<Input<'static>> {
        let input: Input<'static> = if path == Path::new("-") {
            progress::watch(Box::new(io::stdin()), None)
        } else {
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            progress::watch(Box::new(file), Some(length))
        };
        unpacked(input)
    };
    open().map_err(|e| Error::from(e).context(path.display()))
}

/// The files that are named, and all files in folders that are named, in order. Links are not followed.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            within(path, &mut all)?;
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn within(folder: &Path, all: &mut Vec<PathBuf>) -> Result<()> {
    let read = || -> io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let mut entries = read().map_err(|e| Error::from(e).context(folder.display()))?;
    entries.sort();
    for path in entries {
        let kind = path.symlink_metadata().map_err(|e| Error::from(e).context(path.display()))?;
        if kind.is_dir() {
            within(&path, all)?;
        } else if kind.is_file() {
            all.push(path);
        }
    }
    Ok(())
}

/// Says what is strange about an input, once.
fn strange(name: &str, notice: Notice) {
    static TOLD: Mutex<Vec<(String, Notice)>> = Mutex::new(Vec::new());
    let Ok(mut told) = TOLD.lock() else { return };
    let this = (name.to_owned(), notice);
    if told.contains(&this) {
        return;
    }
    told.push(this);
    match notice {
        Notice::CarriageReturns => {
            say!("{name}: every line ends in a CR, which belongs to its key: --crlf cuts it off");
        }
        _ => say!(
            "{name}: has NUL bytes: if records end in them, give -0; if it is no text, its lines mean little"
        ),
    }
}

/// Keys without values, as the options say.
pub fn grammar(text: &Text) -> Grammar {
    Grammar {
        key: text.key_type.unwrap_or_default(),
        end: if text.null { 0 } else { b'\n' },
        cr: if text.crlf { Cr::Cut } else { Cr::Kept },
        field: text.field.map_or(Field::Line, |number| column(number, text.delimiter)),
        time: if text.time { Time::First } else { Time::None },
        bad: if text.skip_bad { Bad::Skipped } else { Bad::Ends },
        ..Grammar::default()
    }
}

/// A column, separated from others by TAB unless told otherwise.
pub fn column(number: u32, delimiter: Option<u8>) -> Field {
    Field::Column { number, delimiter: delimiter.unwrap_or(b'\t') }
}

/// Which options to try after an input was faulty.
pub fn remedy(e: &everbloom_records::Error) -> &'static str {
    match e.fault() {
        Fault::NoColumn { .. } => {
            ": name another with -f or -d, or leave such lines out with --skip-bad"
        }
        Fault::NotInteger { .. } | Fault::BadValue { .. } | Fault::BadTime { .. } => {
            "; --skip-bad leaves such lines out"
        }
        _ => "",
    }
}

/// The secret key in `--key-file`, if one was given.
pub fn secret_key(file: &Option<PathBuf>) -> Result<Option<SecretKey>> {
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::from(e).context(format!("cannot read the key file {}", path.display()))
    })?;
    Ok(SecretKey::from_hex(&text).map(Some).map_err(|e| e.context(path.display()))?)
}

/// What an opened filter may expand to, in bits.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// Takes the limit that was typed, if one was; once, before anything is opened.
pub fn set_limit(bits: Option<u64>) {
    if let Some(bits) = bits {
        LIMIT.get_or_init(|| bits);
    }
}

/// Opens filters as the options say.
pub fn opener(key_file: &Option<PathBuf>) -> Result<Opener> {
    let limits = LIMIT.get().map_or(Limits::LOCAL, |bits| Limits::LOCAL.expanded(bits.div_ceil(8)));
    Ok(Opener::new().key(secret_key(key_file)?).limits(limits))
}
