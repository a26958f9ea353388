//! `everbloom join`: a Bloomjoin, as two machines would do it. Both sides are played in this process, and
//! every byte that would cross the wire is counted.

use std::io::Write as _;
use std::path::Path;

use everbloom::exchange::join::{Left, Right};
use everbloom::exchange::{Limits, Party, Traffic};
use everbloom_records::{Field, Grammar};
use everbloom_report::json::bytes;
use everbloom_report::number::{bytes_text, integer_text};
use serde_json::json;

use crate::args::Join;
use crate::input::{self, Passes};
use crate::output::Output;
use crate::talk::say;
use crate::{Outcome, Result};

/// Both sides, what crossed between them, and where pairs of rows go.
struct Play<'a> {
    left: Party<Left<'a>>,
    right: Party<Right>,
    traffic: Traffic,
    out: Output,
    delimiter: u8,
    json: bool,
}

impl Play<'_> {
    /// Lets the parties exchange what they have to say, and prints what comes of it.
    fn exchange(&mut self) -> everbloom::Result<()> {
        self.traffic.carry(&mut self.left, &mut self.right)?;
        let (out, delimiter, json) = (&mut self.out, self.delimiter, self.json);
        self.left.role.pairs(|left, right| {
            if json {
                return out.json(&json!({ "left": bytes(left), "right": bytes(right) }));
            }
            out.write(|out| {
                out.write_all(left)?;
                out.write_all(&[delimiter])?;
                out.write_all(right)?;
                out.write_all(b"\n")
            })
        })
    }

    /// The rows of the right file; how many bytes they have.
    fn rows(&mut self, path: &Path, field: Field) -> Result<u64> {
        let mut all = 0;
        let read = each_row(path, field, |key, row| {
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

pub fn run(args: &Join) -> Result<Outcome> {
    let delimiter = args.delimiter.unwrap_or(b'\t');
    let [left_field, right_field] =
        [args.field.0, args.field.1].map(|n| input::column(n, args.delimiter));
    let right = Grammar { field: right_field, ..Grammar::default() };
    let mut left = Left::new(args.fpr, |row| {
        right.key_text(row).map_err(everbloom_records::Error::from).map_err(Into::into)
    });
    each_row(&args.left, left_field, |key, row| {
        left.insert(key, row);
        Ok(())
    })?;
    let mut play = Play {
        left: Party::new(left, Limits::LOCAL),
        right: Party::new(Right::new(), Limits::LOCAL),
        traffic: Traffic::default(),
        out: Output::new(),
        delimiter,
        json: args.machine.json,
    };
    play.exchange()?;
    let done = play.rows(&args.right, right_field);
    let Play { left, traffic, out, .. } = play;
    let (joined, in_vain) = (left.role.joined(), left.role.in_vain());
    let summary = done.as_ref().ok().filter(|_| args.machine.json).map(|all| {
        json!({
            "rows": joined,
            "rows_in_vain": in_vain,
            "bytes_exchanged": traffic.total(),
            "bytes_filter": traffic.a_to_b,
            "bytes_of_everything": all,
        })
    });
    let all = *done.as_ref().unwrap_or(&0);
    out.end(done.map(drop), summary)?;
    say!(
        "{} rows joined; {} exchanged (filter {}, {} rows in vain), sending the right file would take {}",
        integer_text(joined),
        bytes_text(traffic.total()),
        bytes_text(traffic.a_to_b),
        integer_text(in_vain),
        bytes_text(all),
    );
    Ok(if joined > 0 { Outcome::Some } else { Outcome::None })
}

fn each_row(
    path: &Path,
    field: Field,
    mut f: impl FnMut(&[u8], &[u8]) -> everbloom::Result<()>,
) -> Result<()> {
    let grammar = Grammar { field, ..Grammar::default() };
    Ok(input::lines(path, grammar, Passes::Once)?.each(|rows, records| {
        rows.iter().zip(records).try_for_each(|(row, record)| f(record.key, row))
    })?)
}
