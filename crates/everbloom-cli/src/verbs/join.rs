//! `everbloom join`: a Bloomjoin, of two files here, as two machines would do it, or with another machine. Every byte
//! that crosses the wire, or would, is counted.

use std::borrow::Cow;
use std::io::{self, Seek as _, Write};
use std::path::Path;

use everbloom::exchange::join::{Keyed as Hashed, Left, Right, Rows};
use everbloom::exchange::{Limits, Party, Traffic, run as exchange};
use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom_records::{Column, Cr, Grammar, Keyed, Lines, Order};
use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use everbloom_tools::join::{Survey, Surveyed, Surveyor, best_rate};
use everbloom_tools::sync::STREAMED;
use everbloom_tools::wire::{Channel, Place};
use serde_json::{Value, json};

use super::line::{limits, reach, served, words};
use crate::args::{self, Join};
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, output_error};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// Where nothing is known of the right file.
const RATE: f64 = 0.01;

pub fn run(args: &Join) -> Result<Outcome> {
    let Some(right) = &args.right else {
        served(&args.line, |channel| answer(args, channel))?;
        return Ok(Outcome::Some);
    };
    let outcome = match Place::parse(right)? {
        Place::Path(path) => beside(args, &path),
        place => {
            let mut words = words("join", &args.line);
            words.extend(options(args));
            over(args, place.connect(&reach(&args.line), &words)?)
        }
    }?;
    guessed(args);
    Ok(outcome)
}

/// How the other side reads its rows.
fn options(args: &Join) -> Vec<String> {
    let args::Rows { csv, null, crlf, skip_bad, .. } = args.rows;
    let flags = [
        (args.keys, "--keys"),
        (csv, "--csv"),
        (null, "-0"),
        (crlf, "--crlf"),
        (skip_bad, "--skip-bad"),
    ];
    let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned());
    let delimiter = args.rows.delimiter.map(|byte| match byte {
        b'\t' => "-d\\t".to_owned(),
        byte => format!("-d{}", char::from(byte)),
    });
    let column = match columns(args).1 {
        _ if args.keys => None,
        // A name may have a comma in it, so something stands before that of the two.
        Column::Named(name) => Some(format!("-f1,{name}")),
        Column::Number(number) => Some(format!("-f{number}")),
        Column::All => None,
    };
    flags.chain(column).chain(delimiter).collect()
}

/// What both sides must mean. Rows travel as they are, so what separates their columns and which of them is the key
/// is part of it: otherwise one side would look for keys where the other has none.
fn work(args: &Join) -> String {
    if args.keys {
        return "join keys".to_owned();
    }
    let (rows, delimiter) =
        (if args.rows.csv { "CSV" } else { "rows" }, input::delimiter(&args.rows));
    let column = match columns(args).1 {
        Column::Number(number) => number.to_string(),
        Column::Named(name) => format!("{name:?}"),
        Column::All => String::new(),
    };
    format!("join {rows} by column {column} between {:?}", char::from(delimiter))
}

/// The columns that must agree.
fn columns(args: &Join) -> (Column, Column) {
    args.field.unwrap_or((Column::Number(1), Column::Number(1)))
}

/// Says what was guessed.
fn guessed(args: &Join) {
    let delimiter = match input::delimiter(&args.rows) {
        b'\t' => "TAB".to_owned(),
        byte => format!("{:?}", char::from(byte)),
    };
    match (args.field, args.rows.delimiter, args.rows.csv) {
        _ if args.keys => {}
        (None, Some(_), _) | (None, None, true) => {
            say!("joined by the first column; -f selects another")
        }
        (None, None, false) => {
            say!(
                "joined by the first column, with {delimiter} as the separator; -f and -d select others"
            );
        }
        (Some(_), None, false) => say!("the column separator is {delimiter}; -d selects another"),
        _ => {}
    }
}

/// How the rows of both files are read.
fn grammars(args: &Join) -> Result<[Grammar; 2]> {
    let (left, right) = columns(args);
    let read = |column| input::rows(&args.rows, (!args.keys).then_some(column));
    Ok([read(left)?, read(right)?])
}

/// A row as it travels and is printed: a CR before its end would stand between two rows that are joined.
fn text(row: &[u8], cr: Cr) -> &[u8] {
    row.strip_suffix(b"\r").filter(|_| cr == Cr::Cut).unwrap_or(row)
}

/// The left side, with its rows, which are hashed on all cores.
fn left(args: &Join, lines: &mut Lines) -> Result<Left> {
    let (mut left, cr) = (Left::new(RATE), lines.grammar().cr);
    let hash = |lines: &Keyed<'_>, rows: &mut Hashed| {
        rows.clear();
        lines.each(|row, key| rows.push(key, text(row, cr)))
    };
    lines.each_keyed_run(Order::Kept, hash, |run: &mut [Hashed]| {
        // A key that a list has twice is one key.
        if args.keys {
            left.insert_new(run)
        } else {
            left.insert_all(run)
        };
        Ok::<(), Stop>(())
    })?;
    Ok(left)
}

/// Rows of a block whose keys pass, and what all of them would take.
#[derive(Default)]
struct Passed {
    rows: Rows,
    bytes: u64,
}

/// Calls `f` with the rows whose keys pass the filter, which is asked on all cores, some blocks at a time; how many bytes all
/// rows have.
fn each_passing(
    lines: &mut Lines,
    filter: &dyn Filter,
    mut f: impl FnMut(&mut dyn Iterator<Item = &Rows>) -> everbloom::Result<()>,
) -> Result<u64> {
    let (mut all, cr, hasher) = (0, lines.grammar().cr, filter.head().hasher.clone());
    let ask = |lines: &Keyed<'_>, passed: &mut Passed| {
        let (mut rows, mut digests) = (Vec::new(), Vec::new());
        let mut found = Vec::new();
        let mut failed = Ok(());
        match filter.as_bulk() {
            Some(bulk) => {
                lines.each(|row, key| {
                    rows.push(text(row, cr));
                    digests.push(hasher.digest(key));
                })?;
                found.resize(digests.len(), false);
                bulk.contains_digests(&digests, &mut found);
            }
            None => lines.each(|row, key| {
                rows.push(text(row, cr));
                match filter.query(Record::key(key)) {
                    Ok(answer) => found.push(answer.verdict != Verdict::Absent),
                    Err(e) => failed = Err(e),
                }
            })?,
        }
        passed.bytes = rows.iter().map(|row| row.len() as u64 + 1).sum();
        passed.rows.clear();
        let rows = rows.iter().zip(found).filter(|(_, found)| *found);
        rows.for_each(|(row, _)| passed.rows.push(row));
        Ok(failed?)
    };
    lines.each_keyed_run(Order::Kept, ask, |run: &mut [Passed]| {
        all += run.iter().map(|passed| passed.bytes).sum::<u64>();
        f(&mut run.iter().map(|passed| &passed.rows))?;
        Ok::<(), Stop>(())
    })?;
    Ok(all)
}

/// The key of a row of the right side.
fn key_of(right: Grammar) -> impl Fn(&[u8]) -> everbloom::Result<Cow<'_, [u8]>> {
    move |row| Ok(right.key_text(row).map_err(everbloom_records::Error::from)?)
}

/// The rate of the filter, when the right file is known.
fn rate(args: &Join, left: u64, survey: &Survey) -> f64 {
    let row = 8.0 * survey.bytes as f64 / survey.rows.max(1) as f64;
    args.fpr.unwrap_or_else(|| best_rate(left, survey.rows, row))
}

fn tell(survey: &Survey) {
    if let Some(shared) = survey.shared {
        say!("about {} keys are in both", integer_text(shared.round() as u64));
    }
}

/// The right side of a survey.
fn surveyed<'a>(path: &'a Path, grammar: Grammar) -> Result<Surveyed<'a>> {
    let (mut rows, mut all) = (0, 0);
    let mut lines = input::lines(path, grammar, Passes::Several)?;
    let header = input::header(&mut lines)?;
    let cr = lines.grammar().cr;
    let measure = |lines: &Keyed<'_>, (rows, all): &mut (u64, u64)| {
        lines.each(|row, _| (*rows, *all) = (*rows + 1, *all + text(row, cr).len() as u64 + 1))
    };
    lines.each_keyed(Order::Any, measure, |counted: &mut (u64, u64)| {
        let (more, bytes) = std::mem::take(counted);
        (rows, all) = (rows + more, all + bytes);
        Ok::<(), Stop>(())
    })?;
    let surveyed = Surveyed::new(rows, all, move |filter| {
        let filled = lines.each(|_, records| {
            records.iter().for_each(|record| _ = filter.insert(record.key));
            Ok(())
        });
        Ok(filled?)
    });
    Ok(surveyed.with_header(header))
}

fn keys_of(args: &Join, left: &Left) -> Option<Vec<Vec<u8>>> {
    args.estimate.then(|| left.keys().map(<[u8]>::to_vec).collect())
}

/// Both sides, what crossed between them, and where pairs of rows go.
struct Play {
    left: Party<Left>,
    right: Party<Right>,
    /// How the right side's rows are read.
    grammar: Grammar,
    traffic: Traffic,
    out: Output,
    form: Form,
}

/// How a pair of rows is printed.
#[derive(Clone, Copy)]
struct Form {
    delimiter: u8,
    end: u8,
    keys: bool,
    json: bool,
    csv: bool,
}

impl Form {
    fn new(args: &Join) -> Self {
        let end = if args.rows.null { 0 } else { b'\n' };
        let delimiter = input::delimiter(&args.rows);
        Self { delimiter, end, keys: args.keys, json: args.machine.json, csv: args.rows.csv }
    }

    /// The names of all columns, before the rows of CSV.
    fn headers(self, out: &mut dyn Write, headers: &[Vec<u8>; 2]) -> io::Result<()> {
        if self.json || !self.csv {
            return Ok(());
        }
        let [left, right] = headers.each_ref().map(|header| {
            // The mark of UTF-8 that spreadsheets write stands nowhere but at the beginning of a text.
            let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
            let header = header.strip_suffix(b"\n").unwrap_or(header);
            header.strip_suffix(b"\r").unwrap_or(header)
        });
        let mut text = Vec::new();
        self.pair()(&mut text, left, right);
        out.write_all(&text)
    }

    /// What appends a pair to a text.
    fn pair(self) -> impl Fn(&mut Vec<u8>, &[u8], &[u8]) + Sync {
        move |text, left, right| {
            let record = match self {
                Self { json: true, keys: true, .. } => json!({ "key": bytes(left) }),
                Self { json: true, .. } => json!({ "left": bytes(left), "right": bytes(right) }),
                Self { keys: true, end, .. } => {
                    text.extend_from_slice(left);
                    return text.push(end);
                }
                Self { delimiter, end, .. } => {
                    text.extend_from_slice(left);
                    text.push(delimiter);
                    text.extend_from_slice(right);
                    return text.push(end);
                }
            };
            text.extend_from_slice(format!("{record}\n").as_bytes());
        }
    }
}

impl Play {
    /// Lets the parties exchange what they have to say, and prints what comes of it.
    fn exchange(&mut self) -> everbloom::Result<()> {
        self.traffic.carry(&mut self.left, &mut self.right)?;
        let (out, form) = (&mut self.out, self.form);
        let write = |text: &[u8]| out.write(|out| out.write_all(text));
        self.left.role.write_pairs(key_of(self.grammar), form.pair(), write)
    }

    /// The rows of the right file; how many bytes they have.
    fn rows(&mut self, lines: &mut Lines) -> Result<u64> {
        let filter = self.right.role.filter()?;
        let read = each_passing(lines, &*filter, |rows| {
            if self.right.role.passed(rows) { self.exchange() } else { Ok(()) }
        });
        if read.is_ok() {
            self.right.role.end();
        }
        // Rows before one that can't be read are joined all the same.
        let sent = self.exchange();
        let all = read?;
        sent?;
        Ok(all)
    }
}

/// Both files are here.
fn beside(args: &Join, path: &Path) -> Result<Outcome> {
    let [ours, theirs] = grammars(args)?;
    let mut left_lines = input::lines(&args.left, ours, Passes::Once)?;
    let mut lines = input::lines(path, theirs, Passes::Once)?;
    let headers = [input::header(&mut left_lines)?, input::header(&mut lines)?];
    let grammar = lines.resolved(theirs)?;
    let mut left = left(args, &mut left_lines)?;
    let mut shared = None;
    if (args.estimate || args.keys && args.fpr.is_none()) && path != Path::new("-") {
        let mut surveyor = Party::new(Surveyor::new(keys_of(args, &left)), Limits::LOCAL);
        let mut surveyed = Party::new(surveyed(path, grammar)?, Limits::LOCAL);
        exchange(&mut surveyor, &mut surveyed)?;
        let found = surveyor.role.survey();
        tell(found);
        if args.keys {
            let count = left.distinct();
            left = left.with_rate(rate(args, count, found));
        }
        shared = found.shared;
    }
    if let Some(fpr) = args.fpr {
        left = left.with_rate(fpr);
    }
    let mut play = Play {
        left: Party::new(left, Limits::LOCAL),
        right: Party::new(Right::new(), Limits::LOCAL),
        grammar,
        traffic: Traffic::default(),
        out: Output::new(),
        form: Form::new(args),
    };
    let form = play.form;
    play.out.write(|out| form.headers(out, &headers))?;
    play.exchange()?;
    let done = play.rows(&mut lines);
    let Play { left, traffic, out, .. } = play;
    let all = *done.as_ref().unwrap_or(&0);
    let told = Told { traffic, all, shared };
    let summary = done.is_ok().then(|| summary(args, &left.role, &told)).flatten();
    out.end(done.map(drop), summary)?;
    conclude(&left.role, &told)
}

/// What is said of all rows.
struct Told {
    traffic: Traffic,
    all: u64,
    shared: Option<f64>,
}

fn summary(args: &Join, left: &Left, told: &Told) -> Option<Value> {
    args.machine.json.then(|| {
        json!({
            "rows": left.joined(),
            "rows_in_vain": left.in_vain(),
            "keys_estimated": told.shared,
            "bytes_exchanged": told.traffic.total(),
            "bytes_filter": told.traffic.a_to_b,
            "bytes_of_everything": told.all,
        })
    })
}

fn conclude(left: &Left, told: &Told) -> Result<Outcome> {
    say!(
        "{} rows joined; {} exchanged (filter {}, {} rows without a match); sending the right file would take {}",
        integer_text(left.joined()),
        bytes_text(told.traffic.total()),
        bytes_text(told.traffic.a_to_b),
        integer_text(left.in_vain()),
        bytes_text(told.all),
    );
    Ok(if left.joined() > 0 { Outcome::Some } else { Outcome::None })
}

/// The right file is behind a line. Pairs are kept until the exchange is over: a peer that fails leaves nothing printed.
fn over(args: &Join, mut channel: Channel) -> Result<Outcome> {
    let [ours, theirs] = grammars(args)?;
    let mut lines = input::lines(&args.left, ours, Passes::Once)?;
    let header = input::header(&mut lines)?;
    let left = left(args, &mut lines)?;
    channel.greet(&work(args), true)?;
    let limits = limits(STREAMED);
    let mut surveyor = Party::new(Surveyor::new(keys_of(args, &left)), limits);
    channel.run(&mut surveyor)?;
    let survey = surveyor.role.survey();
    tell(survey);
    let grammar = theirs.under(&survey.header, "the other side")?;
    let count = left.distinct();
    // Twice what was announced: a file may grow while it is read again.
    let [rows, bytes] = [survey.rows, survey.bytes].map(|size| size.saturating_mul(2).max(1 << 20));
    let left = left.with_rate(rate(args, count, survey)).announced(rows, bytes);
    let mut left = Party::new(left, limits);
    let mut kept = tempfile::SpooledTempFile::new(1 << 24);
    let form = Form::new(args);
    form.headers(&mut kept, &[header, survey.header.clone()]).map_err(output_error)?;
    channel.run_with(&mut left, |left| {
        left.write_pairs(key_of(grammar), form.pair(), |text| Ok(kept.write_all(text)?))?;
        Ok(false)
    })?;
    let traffic = channel.finish()?;
    let mut out = Output::new();
    kept.rewind().map_err(output_error)?;
    out.write(|out| io::copy(&mut kept, out).map(drop))?;
    let told = Told { traffic, all: survey.bytes, shared: survey.shared };
    let summary = summary(args, &left.role, &told);
    out.end(Ok::<(), Stop>(()), summary)?;
    conclude(&left.role, &told)
}

/// The work of the side with the right file.
fn answer(args: &Join, channel: &mut Channel) -> Result<()> {
    let [_, grammar] = grammars(args)?;
    channel.greet(&work(args), false)?;
    let surveyed = surveyed(&args.left, grammar)?;
    let limits = limits(STREAMED);
    channel.run(&mut Party::new(surveyed, limits))?;
    let mut right = Party::new(Right::new(), limits);
    channel.until(&mut right, Right::ready)?;
    let filter = right.role.filter()?;
    each_passing(&mut input::lines(&args.left, grammar, Passes::Once)?, &*filter, |rows| {
        if right.role.passed(rows) { channel.say(&mut right) } else { Ok(()) }
    })?;
    right.role.end();
    Ok(channel.say(&mut right)?)
}
