//! Input as it is named on the command line: files, `-` for stdin, and the options that say how records are
//! written.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, OnceLock};

use everbloom::Error;
use everbloom::exchange::rateless::{Named, Set};
use everbloom::internals::hash::SecretKey;
use everbloom::{Filter, Limits, Opener};
use everbloom_records::{
    Bad, Column, Cr, Fault, Field, Grammar, Input, Keyed, Lines, MARK, Notice, Order, Time,
    unmarked, unpacked, watched,
};
use tempfile::TempDir;

use crate::args::{Rows, Text};
use crate::output::integer_text;
use crate::talk::{say, tell};
use crate::{Result, Stop, progress};

/// How often the lines are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Once,
    Several,
}

/// The lines of all files, one after the other.
pub fn lines_of(paths: &[PathBuf], grammar: Grammar, passes: Passes) -> Result<Lines> {
    once_stdin(paths)?;
    let mut all = paths.iter().map(|path| lines(path, grammar, passes));
    let first = all.next().unwrap_or_else(|| lines(Path::new("-"), grammar, passes))?;
    all.try_fold(first, |lines, next| Ok(lines.followed_by(next?)))
}

/// Refuses stdin as an input that comes twice.
pub fn once_stdin(paths: &[PathBuf]) -> Result<()> {
    match paths.iter().filter(|path| *path == Path::new("-")).count() {
        0 | 1 => Ok(()),
        _ => Err(Stop::Error("-: stdin can be read once".to_owned())),
    }
}

/// A filter that is read from stdin: its bytes, in a file that any verb can open.
static FROM_STDIN: Mutex<Option<TempDir>> = Mutex::new(None);

/// The file of a filter; of one that comes from stdin, as `-` says, a copy for as long as the command runs.
pub fn filter_file(path: &Path) -> Result<PathBuf> {
    if path != Path::new("-") {
        return Ok(path.to_path_buf());
    }
    let mut kept = FROM_STDIN.lock().map_err(|_| Stop::Error("stdin".to_owned()))?;
    if kept.is_some() {
        return Err(Stop::Error("-: stdin can be read once".to_owned()));
    }
    let copy = || -> io::Result<(TempDir, PathBuf)> {
        let folder = TempDir::new()?;
        let path = folder.path().join("stdin");
        io::copy(&mut io::stdin().lock(), &mut File::create(&path)?)?;
        Ok((folder, path))
    };
    let (folder, path) =
        copy().map_err(|e| Stop::Error(format!("cannot read the filter from stdin: {e}")))?;
    *kept = Some(folder);
    Ok(path)
}

/// Removes the copy of a filter that came from stdin.
pub fn clean_up() {
    if let Ok(mut kept) = FROM_STDIN.lock() {
        kept.take();
    }
}

/// Refuses keys from stdin where the filter came from there.
fn stdin_is_free() -> Result<()> {
    match FROM_STDIN.lock().is_ok_and(|kept| kept.is_none()) {
        true => Ok(()),
        false => Err(Stop::Error(
            "-: the filter is read from stdin: give the file of the keys, too".to_owned(),
        )),
    }
}

/// The lines of the file at `path`, or of stdin for `-`.
pub fn lines(path: &Path, grammar: Grammar, passes: Passes) -> Result<Lines> {
    if path == Path::new("-") {
        stdin_is_free()?;
    }
    let lines = match path == Path::new("-") {
        true => Lines::reader("stdin", io::stdin(), grammar),
        false => Lines::file(path, grammar),
    };
    let lines = if passes == Passes::Several { lines.again() } else { lines };
    Ok(lines.watched(progress::watch).noticed(strange).skipping(skip))
}

/// The same keys in a set, each once. They are named on all cores.
pub fn set(path: &Path, grammar: Grammar, mut set: Set) -> Result<Set> {
    let hasher = set.hasher().clone();
    let name = |lines: &Keyed<'_>, keys: &mut Named| lines.each(|_, key| keys.push(&hasher, key));
    lines(path, grammar, Passes::Once)?.each_keyed(Order::Kept, name, |keys| {
        set.insert_named(keys);
        keys.clear();
        Ok::<(), Stop>(())
    })?;
    Ok(set)
}

/// Refuses to plan for no keys.
pub fn some_keys(n: u64) -> Result<u64> {
    if n > 0 {
        return Ok(n);
    }
    Err(Stop::Error(
        "the input has no keys: give a file with one key per line, or -n to build an empty filter"
            .to_owned(),
    ))
}

/// Refuses keys that stand where a file of them should.
pub fn file_of_keys(keys: &Path, verb: &str, filter: &Path) -> Result<()> {
    if keys == Path::new("-") || keys.exists() {
        return Ok(());
    }
    let (key, filter) = (keys.display(), filter.display());
    Err(Stop::Error(format!(
        "{key}: no such file; to query a key: echo {key} | everbloom {verb} {filter}"
    )))
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
            watched(Box::new(io::stdin()), progress::watch(None))
        } else {
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            watched(Box::new(file), progress::watch(Some(length)))
        };
        unpacked(input)
    };
    open().map_err(|e| Error::from(e).context(path.display()))
}

/// The text of the file at `path`, or of stdin for `-`: its bytes, without a byte order mark.
pub fn text(path: &Path) -> everbloom::Result<Input<'static>> {
    let (text, marked) = unmarked(bytes(path)?)?;
    if marked {
        strange(&name_of(path), Notice::ByteOrderMark);
    }
    Ok(text)
}

/// The whole text of the file at `path`, as it stands there but for a byte order mark.
pub fn whole(path: &Path) -> everbloom::Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|e| Error::from(e).context(path.display()))?;
    let Some(text) = bytes.strip_prefix(MARK) else { return Ok(bytes) };
    strange(&name_of(path), Notice::ByteOrderMark);
    Ok(text.to_vec())
}

/// Says if a file that is read elsewhere starts with a byte order mark.
pub fn say_mark(path: &Path) -> everbloom::Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(3).read_to_end(&mut start));
    read.map_err(|e| Error::from(e).context(path.display()))?;
    if start == MARK {
        strange(&name_of(path), Notice::ByteOrderMark);
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
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

/// Options of the running verb that change how its input is read. Others are not advised.
static OFFERED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Notes that the running verb has these options.
pub fn offers(options: &[&'static str]) {
    if let Ok(mut offered) = OFFERED.lock() {
        offered.extend(options);
    }
}

/// What to do about something strange, if the running verb has this option for it.
fn advice(option: &str, text: &'static str) -> &'static str {
    let offered = OFFERED.lock().is_ok_and(|offered| offered.contains(option));
    if offered { text } else { "" }
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
            let advice = advice("--crlf", "; --crlf strips it");
            say!("{name}: every line ends in a CR, which is part of the key{advice}");
        }
        Notice::Quotes => {
            let advice = advice("--csv", "; --csv strips them");
            say!("{name}: columns are quoted, and the quotes are part of the keys{advice}");
        }
        Notice::ByteOrderMark => {
            say!("{name}: starts with a byte order mark, which is no part of the first line");
        }
        _ => {
            let advice = advice("-0", " if records end in NUL, give -0;");
            say!("{name}: has NUL bytes;{advice} if it is not text, its lines are meaningless");
        }
    }
}

/// Keys without values, as the options say.
pub fn grammar(text: &Text) -> Result<Grammar> {
    static TOLD: Once = Once::new();
    if text.rows.csv && text.field.is_none() {
        TOLD.call_once(|| say!("--csv: keys are whole rows, as written; -f selects a column"));
    }
    let time = if text.time { Time::First } else { Time::None };
    Ok(Grammar { key: text.key_type.unwrap_or_default(), time, ..rows(&text.rows, text.field)? })
}

/// Rows of which a column is the key, or all of the row.
pub fn rows(rows: &Rows, column: Option<Column>) -> Result<Grammar> {
    offers(&["--crlf", "--csv", "-0"]);
    let column = column.unwrap_or(Column::All);
    let field = match (rows.csv, column) {
        (true, column) => Field::Csv { column, delimiter: delimiter(rows) },
        (false, Column::All) if rows.delimiter.is_some() => {
            return Err(Stop::Error("-d: give -f, the column of the key".to_owned()));
        }
        (false, Column::All) => Field::Line,
        (false, Column::Number(number)) => Field::Column { number, delimiter: delimiter(rows) },
        (false, Column::Named(name)) => {
            return Err(Stop::Error(format!(
                "-f {name}: columns have names only with --csv; give a number, counted from 1"
            )));
        }
    };
    Ok(Grammar {
        end: if rows.null { 0 } else { b'\n' },
        cr: if rows.crlf || rows.csv { Cr::Cut } else { Cr::Kept },
        field,
        bad: if rows.skip_bad { Bad::Skipped } else { Bad::Ends },
        ..Grammar::default()
    })
}

/// What separates columns.
pub fn delimiter(rows: &Rows) -> u8 {
    rows.delimiter.unwrap_or(if rows.csv { b',' } else { b'\t' })
}

/// The first row of CSV as it is printed before others; nothing of other input.
pub fn header(lines: &mut Lines) -> Result<Vec<u8>> {
    let mut header = lines.header()?.to_vec();
    if header.last().is_some_and(|last| *last != b'\n') {
        header.push(b'\n');
    }
    Ok(header)
}

/// Which options to try after an input was faulty.
pub fn remedy(e: &everbloom_records::Error) -> &'static str {
    match e.fault() {
        Fault::NoColumnNamed { .. } => "; choose one of them with -f, or the delimiter with -d",
        Fault::NoColumn { .. } => {
            "; choose another with -f or -d, or skip such lines with --skip-bad"
        }
        Fault::TooLong { csv: false } => {
            "; give -0 if records end in NUL, and convert to lines what is not text"
        }
        Fault::TooLong { csv: true } => "; is a quote at the start of a column never closed?",
        Fault::NotInteger { .. } | Fault::BadValue { .. } | Fault::BadTime { .. } => {
            "; --skip-bad skips such lines"
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

/// What an opened filter may expand to, and what a peer may send, in bits.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// Takes the limit that was typed, if one was; once, before anything is opened.
pub fn set_limit(bits: Option<u64>) {
    if let Some(bits) = bits {
        LIMIT.get_or_init(|| bits);
    }
}

/// The limit that was typed, in bytes.
pub fn limit() -> Option<u64> {
    LIMIT.get().map(|bits| bits.div_ceil(8))
}

/// Opens several filters.
pub fn filters(paths: &[PathBuf], key_file: &Option<PathBuf>) -> Result<Vec<Box<dyn Filter>>> {
    let opener = opener(key_file)?;
    Ok(paths.iter().map(|path| opener.open(path)).collect::<everbloom::Result<_>>()?)
}

/// Opens filters as the options say.
pub fn opener(key_file: &Option<PathBuf>) -> Result<Opener> {
    let limits = limit().map_or(Limits::LOCAL, |bytes| Limits::LOCAL.expanded(bytes));
    Ok(Opener::new().key(secret_key(key_file)?).limits(limits))
}
