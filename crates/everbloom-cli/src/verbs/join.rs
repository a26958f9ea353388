//! `everbloom join`: a Bloomjoin, of two files here, as two machines would do it, or with another machine. Every byte
//! that crosses the wire, or would, is counted.

use std::io::{self, Seek as _, Write};
use std::path::Path;

use everbloom::exchange::join::{Left, Right};
use everbloom::exchange::{Limits, Party, Traffic, run as exchange};
use everbloom_apps::tables::bloomjoin::{Survey, Surveyed, Surveyor, best_rate};
use everbloom_apps::wire::{Channel, Place};
use everbloom_records::{Column, Field, Grammar, Lines};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::{Value, json};

use super::line::{answering, awaited, reach, words};
use crate::args::{Join, Rows};
use crate::input::{self, Passes};
use crate::output::{Output, output_error};
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// What rows of the other side may be: any number, in frames that are bounded.
const LIMITS: Limits = Limits { total: u64::MAX, ..Limits::NETWORK };
/// Where nothing is known of the right file.
const RATE: f64 = 0.01;

pub fn run(args: &Join) -> Result<Outcome> {
    let Some(right) = &args.right else {
        alone(args)?;
        let mut channel = awaited(&args.line)?;
        answering(&mut channel, |channel| answer(args, channel))?;
        channel.finish()?;
        return Ok(Outcome::Some);
    };
    let outcome = match Place::parse(right)? {
        Place::Path(path) => beside(args, &path),
        place => {
            alone(args)?;
            let mut words = words("join", &args.line);
            words.extend(options(args));
            over(args, place.connect(&reach(&args.line), &words)?)
        }
    }?;
    guessed(args);
    Ok(outcome)
}

/// The header of CSV is not sent.
fn alone(args: &Join) -> Result<()> {
    if args.rows.csv {
        return Err(Stop::Error(
            "--csv: joins two files here, not with another machine".to_owned(),
        ));
    }
    Ok(())
}

/// How the other side reads its rows.
fn options(args: &Join) -> Vec<String> {
    let Rows { null, crlf, skip_bad, .. } = args.rows;
    let flags = [(args.keys, "--keys"), (null, "-0"), (crlf, "--crlf"), (skip_bad, "--skip-bad")];
    let flags = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned());
    let delimiter = args.rows.delimiter.map(|byte| match byte {
        b'\t' => "-d\\t".to_owned(),
        byte => format!("-d{}", char::from(byte)),
    });
    let column = match columns(args).1 {
        Column::Number(number) if !args.keys => Some(format!("-f{number}")),
        _ => None,
    };
    flags.chain(column).chain(delimiter).collect()
}

/// What both sides must mean: a byte that is no character would not survive the remote shell.
fn work(args: &Join) -> &'static str {
    if args.keys { "join keys" } else { "join rows" }
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
            say!("joined by the first column: -f names another")
        }
        (None, None, false) => {
            say!(
                "joined by the first column, columns separated by {delimiter}: -f and -d name others"
            );
        }
        (Some(_), None, false) => say!("columns are separated by {delimiter}: -d names another"),
        _ => {}
    }
}

/// How the rows of both files are read.
fn grammars(args: &Join) -> Result<[Grammar; 2]> {
    let (left, right) = columns(args);
    let read = |column| input::rows(&args.rows, (!args.keys).then_some(column));
    Ok([read(left)?, read(right)?])
}

fn each_row(
    lines: &mut Lines,
    mut f: impl FnMut(&[u8], &[u8]) -> everbloom::Result<()>,
) -> Result<()> {
    let cut = matches!(lines.grammar().field, Field::Csv { .. });
    Ok(lines.each(|rows, records| {
        rows.iter().zip(records).try_for_each(|(row, record)| {
            // The CR before the end of a row of CSV would stand between two rows that are joined.
            f(record.key, row.strip_suffix(b"\r").filter(|_| cut).unwrap_or(row))
        })
    })?)
}

/// The left side, with its rows.
fn left<'a>(args: &Join, lines: &mut Lines, right: &'a Grammar) -> Result<Left<'a>> {
    let mut left = Left::new(RATE, |row| {
        right.key_text(row).map_err(everbloom_records::Error::from).map_err(Into::into)
    });
    let mut seen = std::collections::HashSet::new();
    each_row(lines, |key, row| {
        // A key that a list has twice is one key.
        if !args.keys || seen.insert(row.to_vec()) {
            left.insert(key, row);
        }
        Ok(())
    })?;
    Ok(left)
}

/// The rate of the filter, when the right file is known.
fn rate(args: &Join, left: u64, survey: Survey) -> f64 {
    let row = 8.0 * survey.bytes as f64 / survey.rows.max(1) as f64;
    args.fpr.unwrap_or_else(|| best_rate(left, survey.rows, row))
}

fn tell(survey: Survey) {
    if let Some(shared) = survey.shared {
        say!("about {} keys are in both", integer_text(shared.round() as u64));
    }
}

/// The right side of a survey.
fn surveyed<'a>(path: &'a Path, grammar: Grammar) -> Result<Surveyed<'a>> {
    let (mut rows, mut all) = (0, 0);
    let mut lines = input::lines(path, grammar, Passes::Several)?;
    each_row(&mut lines, |_, row| {
        (rows, all) = (rows + 1, all + row.len() as u64 + 1);
        Ok(())
    })?;
    Ok(Surveyed::new(rows, all, move |filter| {
        let filled = each_row(&mut lines, |key, _| {
            filter.insert(key);
            Ok(())
        });
        filled.map_err(|stop| match stop {
            Stop::Error(message) => everbloom::Error::new(everbloom::Kind::Io, message),
            Stop::ClosedPipe => everbloom::Error::new(everbloom::Kind::Io, "a closed pipe"),
        })
    }))
}

fn keys_of(args: &Join, left: &Left<'_>) -> Option<Vec<Vec<u8>>> {
    args.estimate.then(|| left.keys().map(<[u8]>::to_vec).collect())
}

/// Both sides, what crossed between them, and where pairs of rows go.
struct Play<'a> {
    left: Party<Left<'a>>,
    right: Party<Right>,
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
}

impl Form {
    fn new(args: &Join) -> Self {
        let end = if args.rows.null { 0 } else { b'\n' };
        let delimiter = input::delimiter(&args.rows);
        Self { delimiter, end, keys: args.keys, json: args.machine.json }
    }

    fn write(self, out: &mut dyn Write, left: &[u8], right: &[u8]) -> io::Result<()> {
        match self {
            Self { json: true, keys: true, .. } => {
                writeln!(out, "{}", json!({ "key": bytes(left) }))
            }
            Self { json: true, .. } => {
                writeln!(out, "{}", json!({ "left": bytes(left), "right": bytes(right) }))
            }
            Self { keys: true, end, .. } => out.write_all(&[left, &[end]].concat()),
            Self { delimiter, end, .. } => {
                out.write_all(&[left, &[delimiter], right, &[end]].concat())
            }
        }
    }
}

impl Play<'_> {
    /// Lets the parties exchange what they have to say, and prints what comes of it.
    fn exchange(&mut self) -> everbloom::Result<()> {
        self.traffic.carry(&mut self.left, &mut self.right)?;
        let (out, form) = (&mut self.out, self.form);
        self.left.role.pairs(|left, right| out.write(|out| form.write(out, left, right)))
    }

    /// The rows of the right file; how many bytes they have.
    fn rows(&mut self, lines: &mut Lines) -> Result<u64> {
        let mut all = 0;
        let read = each_row(lines, |key, row| {
            all += row.len() as u64 + 1;
            if self.right.role.row(key, row)? { self.exchange() } else { Ok(()) }
        });
        if read.is_ok() {
            self.right.role.end();
        }
        // Rows before one that can't be read are joined all the same.
        let sent = self.exchange();
        read?;
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
    let mut left = left(args, &mut left_lines, &grammar)?;
    let mut survey = None;
    if (args.estimate || args.keys && args.fpr.is_none()) && path != Path::new("-") {
        let mut surveyor = Party::new(Surveyor::new(keys_of(args, &left)), Limits::LOCAL);
        let mut surveyed = Party::new(surveyed(path, grammar)?, Limits::LOCAL);
        exchange(&mut surveyor, &mut surveyed)?;
        let found = surveyor.role.survey();
        tell(found);
        if args.keys {
            let count = left.keys().len() as u64;
            left = left.with_rate(rate(args, count, found));
        }
        survey = Some(found);
    }
    if let Some(fpr) = args.fpr {
        left = left.with_rate(fpr);
    }
    let mut play = Play {
        left: Party::new(left, Limits::LOCAL),
        right: Party::new(Right::new(), Limits::LOCAL),
        traffic: Traffic::default(),
        out: Output::new(),
        form: Form::new(args),
    };
    let [left_header, right_header] = headers.each_ref().map(|header| header.trim_ascii_end());
    if args.rows.csv && !args.machine.json {
        let form = play.form;
        play.out.write(|out| form.write(out, left_header, right_header))?;
    }
    play.exchange()?;
    let done = play.rows(&mut lines);
    let Play { left, traffic, out, .. } = play;
    let all = *done.as_ref().unwrap_or(&0);
    let told = Told { traffic, all, shared: survey.and_then(|survey| survey.shared) };
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

fn summary(args: &Join, left: &Left<'_>, told: &Told) -> Option<Value> {
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

fn conclude(left: &Left<'_>, told: &Told) -> Result<Outcome> {
    say!(
        "{} rows joined; {} exchanged (filter {}, {} rows in vain), sending the right file would take {}",
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
    let [ours, grammar] = grammars(args)?;
    let left = left(args, &mut input::lines(&args.left, ours, Passes::Once)?, &grammar)?;
    channel.greet(work(args), true)?;
    let mut surveyor = Party::new(Surveyor::new(keys_of(args, &left)), LIMITS);
    channel.run(&mut surveyor)?;
    let survey = surveyor.role.survey();
    tell(survey);
    let count = left.keys().len() as u64;
    let mut left = Party::new(left.with_rate(rate(args, count, survey)), LIMITS);
    let mut kept = tempfile::SpooledTempFile::new(1 << 24);
    let form = Form::new(args);
    channel.run_with(&mut left, |left| {
        left.pairs(|l, r| Ok(form.write(&mut kept, l, r)?))?;
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
    let surveyed = surveyed(&args.left, grammar)?;
    channel.greet(work(args), false)?;
    channel.run(&mut Party::new(surveyed, LIMITS))?;
    let mut right = Party::new(Right::new(), LIMITS);
    channel.until(&mut right, Right::ready)?;
    each_row(&mut input::lines(&args.left, grammar, Passes::Once)?, |key, row| {
        if right.role.row(key, row)? { channel.say(&mut right) } else { Ok(()) }
    })?;
    right.role.end();
    Ok(channel.say(&mut right)?)
}
