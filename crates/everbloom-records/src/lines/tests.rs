//! Lines of all kinds, whole and cut.

use everbloom::internals::filter::ValueKind;
use everbloom::internals::hash::{Digest, Hasher};

use super::*;
use crate::grammar::Column;
use crate::hashed::Hashed;
use crate::key::KeyType;

/// One byte at a time: batches may end anywhere.
struct OneByte(io::Cursor<Vec<u8>>);

impl Read for OneByte {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

fn try_keys(text: &[u8], grammar: Grammar) -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::new();
    let input = OneByte(io::Cursor::new(text.to_vec()));
    Lines::reader("text", input, grammar).each(|_, records| {
        out.extend(records.iter().map(|record| record.key.to_vec()));
        Ok(())
    })?;
    Ok(out)
}

fn keys(text: &[u8]) -> Vec<Vec<u8>> {
    try_keys(text, Grammar::default()).expect("keys")
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
fn nul_ends_records_where_asked() {
    let nul = Grammar { end: 0, ..Grammar::default() };
    assert_eq!(try_keys(b"a\nb\0c\0", nul).expect("keys"), [&b"a\nb"[..], b"c"]);
}

#[test]
fn faults_name_input_and_line() {
    let weight = Grammar { value: ValueKind::Weight, ..Grammar::default() };
    let error = try_keys(b"a\t1\nb\tx\n", weight).expect_err("x").to_string();
    assert_eq!(error, "text: line 2: the value \"x\" is not a number");
    let integers = Grammar { key: KeyType::U64, ..Grammar::default() };
    let error = try_keys(b"1\n2\nx\n", integers).expect_err("x").to_string();
    assert_eq!(error, "text: line 3: \"x\" is not a decimal integer below 2^64");
    let folder = Lines::file(Path::new("."), integers).each(|_, _| Ok(())).expect_err("folder");
    assert_eq!(folder.to_string(), ".: is a folder, not a file of keys");
    let missing = Path::new("no such file");
    let mut missing = Lines::file(missing, integers);
    let hashed = missing.each_digests(&Hasher::seeded(1), |_| {}).expect_err("no file");
    assert!(hashed.to_string().starts_with("no such file: "), "{hashed}");
}

#[test]
fn lines_of_several_inputs_come_one_after_the_other() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"c\nd").expect("a file");
    let grammar = Grammar::default();
    let several = || {
        let file = Lines::file(file.path(), grammar);
        let first = Lines::reader("first", &b"a\nb"[..], grammar).again();
        first.followed_by(file.followed_by(Lines::reader("last", &b"e\n"[..], grammar).again()))
    };
    let mut lines = several();
    for pass in 0..2 {
        assert_eq!(lines.count().expect("lines"), 5, "pass {pass}");
        let mut keys = Vec::new();
        let take = |_: &[&[u8]], records: &[Record<'_>]| {
            keys.extend(records.iter().map(|record| record.key.to_vec()));
            Ok(())
        };
        lines.each(take).expect("lines");
        assert_eq!(keys, [b"a", b"b", b"c", b"d", b"e"]);
        let (hasher, mut copied) = (Hasher::seeded(1), Vec::new());
        let copy = |hashed: &mut Hashed<'_>, out: &mut Vec<u8>| {
            out.clear();
            hashed.copy_lines(&vec![true; hashed.digests().len()], out);
        };
        let done = |out: &mut Vec<u8>| {
            copied.extend_from_slice(out);
            Ok::<_, Error>(())
        };
        lines.each_hashed(&hasher, Order::Kept, copy, done).expect("lines");
        assert_eq!(copied, b"a\nb\nc\nd\ne\n");
    }
    // A fault is that of the input it is in; CSV has a first row in each.
    let integers = Grammar { key: KeyType::U64, ..grammar };
    let bad = Lines::reader("one", &b"1\n"[..], integers)
        .followed_by(Lines::reader("two", &b"2\nx\n"[..], integers))
        .each(|_, _| Ok(()))
        .expect_err("x");
    assert!(bad.to_string().starts_with("two: line 2: "), "{bad}");
    let field = Field::Csv { column: Column::Named("id"), delimiter: b',' };
    let csv = |name: &str, text: &'static [u8]| {
        Lines::reader(name, text, Grammar { field, ..grammar }).again()
    };
    let mut rows = csv("one", b"id,x\n1,a\n").followed_by(csv("two", b"id,y\n2,b\n"));
    assert_eq!((rows.count().expect("rows"), rows.header().expect("a row")), (2, &b"id,x\n"[..]));
    let mut rows = csv("one", b"id,x\n1,a\n").followed_by(csv("two", b"y,id\nb,2\n"));
    let other = rows.count().expect_err("another order").to_string();
    assert!(other.starts_with("two: its columns are in another order"), "{other}");
}

#[test]
fn records_without_end_are_refused_with_their_line() {
    use crate::block::{BLOCK, LONGEST};
    let zeros = |count: usize| -> Input<'static> { Box::new(io::repeat(0).take(count as u64)) };
    let before = || io::Cursor::new(&b"a\n\"b\nc\n"[..]);
    let endless = || before().chain(zeros(3 * LONGEST));
    let csv = Field::Csv { column: Column::All, delimiter: b',' };
    let csv = Grammar { field: csv, ..Grammar::default() };
    let refused = |mut lines: Lines| lines.each(|_, _| Ok(())).expect_err("too long").to_string();
    assert_eq!(
        refused(Lines::reader("text", endless(), Grammar::default())),
        "text: line 4: the line is longer than 64 MiB"
    );
    // A quote that is never closed.
    assert_eq!(
        refused(Lines::reader("text", endless(), csv)),
        "text: line 2: the row is longer than 64 MiB"
    );
    let header = Lines::reader("text", zeros(3 * LONGEST), csv);
    assert!(refused(header).contains("the first row of CSV is longer than 1 MiB"));
    // A file, of which every core reads a piece.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"a\nb\nc\n").expect("a file");
    file.as_file().set_len(3 * LONGEST as u64).expect("a hole");
    let mut lines = Lines::file(file.path(), Grammar::default());
    let cores = lines.each_digests(&Hasher::seeded(1), |_| {}).expect_err("too long").to_string();
    assert!(cores.ends_with("line 4: the line is longer than 64 MiB"), "{cores}");
    assert_eq!(refused(lines), cores);
    // A long one that ends is a record like any other.
    let long = zeros(LONGEST - 2 * BLOCK).chain(&b"\nb"[..]);
    let mut lengths = Vec::new();
    let take = |_: &[&[u8]], records: &[Record<'_>]| {
        lengths.extend(records.iter().map(|record| record.key.len()));
        Ok(())
    };
    Lines::reader("text", long, Grammar::default()).each(take).expect("two records");
    assert_eq!(lengths, [LONGEST - 2 * BLOCK, 1]);
}

#[test]
fn bad_lines_are_left_out_and_named_in_batches_and_hashed() {
    use std::sync::Mutex;
    static NAMED: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let named = |e: Error| NAMED.lock().expect("the lock").extend(e.line());
    let grammar = Grammar { key: KeyType::U64, bad: Bad::Skipped, ..Grammar::default() };
    for text in ["x\n1\n\ny\n2\n3", "x\n1\n\ny\n2\n3\n", "1\n2\n3\n"] {
        NAMED.lock().expect("the lock").clear();
        let mut lines = Lines::reader("text", text.as_bytes(), grammar).again();
        lines = lines.skipping(named);
        assert_eq!(lines.count().expect("records"), 3, "{text:?}");
        NAMED.lock().expect("the lock").clear();
        let (mut keys, mut digests) = (Vec::new(), Vec::new());
        let take = |_: &[&[u8]], records: &[Record<'_>]| {
            keys.extend(records.iter().map(|record| record.key[0]));
            Ok(())
        };
        lines.each(take).expect("records");
        assert_eq!(keys, [1, 2, 3], "{text:?}");
        let hasher = Hasher::seeded(1);
        lines.each_digests(&hasher, |some| digests.extend_from_slice(some)).expect("digests");
        let expected: Vec<Digest> = (1..4u64).map(|key| hasher.digest(&key)).collect();
        assert_eq!(digests, expected, "{text:?}");
        let bad: &[u64] = if text.starts_with('x') { &[1, 3, 4, 1, 3, 4] } else { &[] };
        assert_eq!(*NAMED.lock().expect("the lock"), bad, "{text:?}");
    }
}

#[test]
fn rows_of_csv_come_without_the_header_in_every_pass() {
    let text = b"id,\"full name\"\r\n1,\"Ann \"\"A\"\"\"\r\n\r\n2,\"Bo\nb\"\r\n3,Eve";
    let column = Column::Named("full name");
    let field = Field::Csv { column, delimiter: b',' };
    let grammar = Grammar { field, cr: Cr::Cut, ..Grammar::default() };
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text).expect("a file");
    let reader = OneByte(io::Cursor::new(text.to_vec()));
    for mut lines in
        [Lines::file(file.path(), grammar), Lines::reader("text", reader, grammar).again()]
    {
        assert_eq!(lines.header().expect("a row"), b"id,\"full name\"\r\n");
        for pass in 0..3 {
            assert_eq!(lines.count().expect("rows"), 3, "pass {pass}");
            let mut keys = Vec::new();
            let take = |_: &[&[u8]], records: &[Record<'_>]| {
                keys.extend(records.iter().map(|record| record.key.to_vec()));
                Ok(())
            };
            lines.each(take).expect("rows");
            assert_eq!(keys, [&b"Ann \"A\""[..], b"Bo\nb", b"Eve"]);
            let (hasher, mut digests) = (Hasher::seeded(1), Vec::new());
            lines.each_digests(&hasher, |some| digests.extend_from_slice(some)).expect("rows");
            let mut expected: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
            // They come in any order.
            digests.sort_unstable_by_key(|digest| digest.h1);
            expected.sort_unstable_by_key(|digest| digest.h1);
            assert_eq!(digests, expected);
        }
    }
    let field = Field::Csv { column: Column::Number(2), delimiter: b',' };
    let short = Grammar { field, ..grammar };
    let error = try_keys(b"a,b\n1,\"x\ny\"\n2\n", short).expect_err("no column").to_string();
    assert_eq!(error, "text: line 4: there is no column 2");
    assert_eq!(try_keys(b"", short).expect("nothing"), Vec::<Vec<u8>>::new());
}

#[test]
fn what_is_kept_can_be_read_again_and_a_reader_cannot() {
    let mut kept = Lines::reader("text", &b"a\nb\n"[..], Grammar::default()).again();
    let mut once = Lines::reader("text", &b"a\nb\n"[..], Grammar::default());
    for (pass, left) in [2, 0].into_iter().enumerate() {
        for (lines, expected) in [(&mut kept, 2), (&mut once, left)] {
            let mut count = 0;
            lines
                .each(|lines, _| {
                    count += lines.len();
                    Ok(())
                })
                .expect("lines");
            assert_eq!(count, expected, "pass {pass}");
        }
    }
}

#[test]
fn packed_files_are_unpacked_once_for_several_passes() {
    use std::io::Write as _;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let mut gz = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
    gz.write_all(b"a\nb").expect("a file");
    gz.finish().expect("a file");
    let grammar = Grammar::default();
    let (mut once, mut again) =
        (Lines::file(file.path(), grammar), Lines::file(file.path(), grammar).again());
    assert_eq!((once.count().expect("lines"), again.count().expect("lines")), (2, 2));
    std::fs::write(file.path(), "a\nb\nc\n").expect("a file");
    assert_eq!((once.count().expect("lines"), again.count().expect("lines")), (3, 2));
}

#[test]
fn a_watch_sees_the_bytes() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    fn watch(length: Option<u64>) -> Passed {
        assert_eq!(length, None);
        Box::new(|bytes| _ = SEEN.fetch_add(bytes as usize, Ordering::Relaxed))
    }
    let mut lines = Lines::reader("text", &b"a\nb\n"[..], Grammar::default()).watched(watch);
    lines.each(|_, _| Ok(())).expect("lines");
    assert_eq!(SEEN.load(Ordering::Relaxed), 4);
}

/// A file is read by several threads and a stream by one: lines, their number and the line of a fault are the same.
#[test]
fn files_are_read_like_streams() {
    let good: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let bad = good.replacen("90000\n", "x\n", 1);
    let last = good.trim_end().to_owned();
    let grammar = Grammar { key: KeyType::U64, ..Grammar::default() };
    let hasher = Hasher::seeded(1);
    for (text, fault) in [(good, None), (bad, Some(90_001)), (last, None), (String::new(), None)] {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &text).expect("a file");
        let read = |mut lines: Lines| {
            let mut digests = Vec::new();
            let take = |hashed: &mut Hashed<'_>, taken: &mut Vec<Digest>| {
                taken.clear();
                taken.extend_from_slice(hashed.digests());
            };
            let keep = |taken: &mut Vec<Digest>| {
                digests.extend_from_slice(taken);
                Ok::<_, Error>(())
            };
            let read = lines.each_hashed(&hasher, Order::Kept, take, keep);
            let line = read.err().and_then(|e| e.line());
            (line, if line.is_none() { digests } else { Vec::new() })
        };
        let lines = Lines::file(file.path(), grammar);
        let stream = Lines::reader("text", io::Cursor::new(text.clone()), grammar);
        let (one, other) = (read(lines), read(stream));
        assert_eq!(one.0, fault);
        assert!(one == other);
        let count = Lines::file(file.path(), grammar).count().expect("lines");
        assert_eq!(count, text.lines().count() as u64);
        assert!(fault.is_some() || one.1.len() as u64 == count);
    }
}
