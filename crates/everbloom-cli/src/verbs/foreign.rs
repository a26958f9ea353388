//! Filters of other software: `formats`, `import`, `export`, and what `build`, `check` and `info` do with them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use everbloom::internals::file::MAGIC;
use everbloom::internals::filter::{Answer, Detail, Filter};
use everbloom::{Error, Kind, Limits};
use everbloom_formats::{FORMATS, Foreign, Format, Hints, KeyAs, Part};
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_report::{Table, groups, terminal};
use serde_json::json;

use crate::args::{self, Build, Check, Export, Formats, Import, Info};
use crate::input::{self, Passes, some_keys};
use crate::output::{Output, Sheet, facts, integer_text, print, print_json};
use crate::report::answers::{self, Queries, of_each, show};
use crate::report::json as report;
use crate::talk::say;
use crate::target::{FILTER, Form, Target};
use crate::{Outcome, Result, Stop};

/// A foreign file, opened.
pub struct File {
    name: String,
    format: &'static Format,
    parts: Vec<Part>,
}

/// The foreign file at `path`; `None` if it is one of ours, which has its own way in.
pub fn recognized(
    path: &Path,
    typed: &args::Foreign,
    key_file: &Option<PathBuf>,
) -> Result<Option<File>> {
    let place = |e: Error| e.context(path.display());
    if typed.format.is_none() && ours(path) {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(|e| place(e.into()))?;
    let format = match typed.format {
        Some(format) => format,
        None => Format::recognized(&bytes).map_err(place)?,
    };
    let mut hints = Hints::new(Limits::LOCAL);
    (hints.k, hints.key) = (typed.probes, key(key_file)?);
    let parts = format.open_with(&bytes, &hints).map_err(place)?;
    let parts = selected(parts, typed).map_err(place)?;
    Ok(Some(File { name: path.display().to_string(), format, parts }))
}

/// Whether a file is left to the opener of our own files: a folder, a pipe, what is not there, what begins as ours.
fn ours(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return true };
    let mut start = [0; MAGIC.len()];
    let mut read = || fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    !meta.is_file() || read().is_err() || start == MAGIC
}

/// The 16 bytes of `--key-file`, for formats whose hash is keyed.
fn key(file: &Option<PathBuf>) -> Result<Option<[u8; 16]>> {
    let Some(path) = file else { return Ok(None) };
    let text = fs::read(path).map_err(|e| Error::from(e).context(path.display()))?;
    let key = KeyAs::Hex.parse(text.trim_ascii()).ok().and_then(|key| match key {
        everbloom_formats::Key::Bytes(bytes) => bytes[..].try_into().ok(),
        _ => None,
    });
    let key = key.ok_or_else(|| Stop::Error(format!("{}: not 32 hex digits", path.display())))?;
    Ok(Some(key))
}

/// The filters of the column and the row group that were typed.
fn selected(parts: Vec<Part>, typed: &args::Foreign) -> everbloom::Result<Vec<Part>> {
    let column = |part: &Part| typed.column.as_ref().is_none_or(|name| *name == part.column);
    let group = |part: &Part| typed.row_group.is_none_or(|number| number == part.row_group);
    if parts.iter().any(|part| column(part) && group(part)) {
        return Ok(parts.into_iter().filter(|part| column(part) && group(part)).collect());
    }
    let message = match &columns(&parts)[..] {
        [] => "the file holds no filter".to_owned(),
        names => format!("no such filter; there are filters of the columns {}", names.join(", ")),
    };
    Err(Error::new(Kind::BadParameter, message))
}

/// The names of the columns, each once.
fn columns(parts: &[Part]) -> Vec<&str> {
    let mut names: Vec<&str> = parts.iter().map(|part| part.column.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What lines are to the filters of a format: as typed, as the file says, or as is usual.
fn keys_as(format: &Format, typed: Option<KeyAs>, said: Option<KeyAs>) -> Result<KeyAs> {
    let taken = |kind: &KeyAs| format.keys.contains(kind);
    match typed.or(said.filter(taken)) {
        Some(kind) if taken(&kind) => Ok(kind),
        Some(kind) => {
            let names: Vec<&str> = format.keys.iter().map(|kind| kind.name()).collect();
            Err(Stop::Error(format!(
                "--keys-as {}: keys of the format {} are {}",
                kind.name(),
                format.name,
                names.join(", ")
            )))
        }
        None => Ok(format.keys[0]),
    }
}

/// The file's filter as one of ours, which is asked by all cores and in every way: where its bits fit a variant and
/// keys are the bytes of a line.
pub fn as_ours(file: &File, args: &Check) -> Result<Option<Box<dyn Filter>>> {
    let [part] = &file.parts[..] else { return Ok(None) };
    let keys = keys_as(file.format, args.foreign.keys_as, part.keys)?;
    let fits = keys == KeyAs::String && part.column.is_empty() && file.format.can_convert();
    Ok(fits.then(|| part.filter.to_filter()).and_then(std::result::Result::ok))
}

/// Which lines may be members, and of which row groups.
pub fn check(file: &File, args: &Check) -> Result<Outcome> {
    let ours = [
        ("--prior", args.prior.is_some()),
        ("--priors", args.priors),
        ("--ancestors", args.ancestors.is_some()),
        ("--key-type", args.keyed.text.key_type.is_some()),
        ("--table", args.table.is_some()),
        ("--ignore-case", args.ignore_case),
        ("--in", !args.others.is_empty()),
    ];
    if let Some((option, _)) = ours.iter().find(|(_, typed)| *typed) {
        return Err(Stop::Error(format!(
            "{} is of the format {}: {option} is only for .evb files; --keys-as gives the type of keys",
            file.name, file.format.name
        )));
    }
    if let [one, other, ..] = columns(&file.parts)[..] {
        return Err(Stop::Error(format!(
            "{}: it has filters of several columns, such as {one} and {other}: choose one with --column",
            file.name
        )));
    }
    let keys = keys_as(file.format, args.foreign.keys_as, file.parts.first().and_then(|p| p.keys))?;
    of_each(args, |queries| print_members(file, args, keys, queries))
}

/// Prints the queries of a file behind its name that may be members; how many.
fn print_members(
    file: &File,
    args: &Check,
    keys: KeyAs,
    Queries { path, name, .. }: &Queries<'_>,
) -> Result<u64> {
    let grammar = input::grammar(&args.keyed.text)?;
    let mut lines = input::lines(path, grammar, Passes::Once)?;
    let mut out = Output::new();
    let mut found = 0;
    let done = lines.each(|lines, records| {
        for (line, record) in lines.iter().zip(records) {
            let answer = ask(&file.parts, &keys.parse(record.key)?)?;
            let wanted = (answer.verdict != everbloom::Verdict::Absent) != args.invert_match;
            found += u64::from(wanted);
            if args.count || !(wanted || args.answers) {
                continue;
            }
            if args.machine.json {
                out.json(&answers::record(line, name, &answer))?;
            } else {
                let query = (*line, record.key);
                out.write(|out| show(out, args, (name, grammar.end), query, &answer))?;
            }
        }
        Ok(())
    });
    out.end(done, None)?;
    Ok(found)
}

/// Whether a filter has the key; the row groups that may, where a file has row groups.
fn ask(parts: &[Part], key: &everbloom_formats::Key<'_>) -> everbloom::Result<Answer> {
    let mut groups = Vec::new();
    for part in parts {
        if part.filter.contains(key.clone())? {
            groups.push(part.row_group.to_string().into_bytes());
        }
    }
    let answer = Answer::of(!groups.is_empty());
    let grouped = parts.iter().any(|part| !part.column.is_empty());
    Ok(if grouped { answer.with(Detail::List(groups)) } else { answer })
}

/// What a foreign file is.
pub fn info(file: &File, args: &Info) -> Result<Outcome> {
    let sheet = Sheet::of(args.shown.csv);
    let keys = |part: &Part| keys_as(file.format, args.foreign.keys_as, part.keys);
    if args.shown.machine.json {
        print_json(&file_json(file.format, &file.parts, keys)?)?;
    } else if let [part] = &file.parts[..] {
        print(&describe(part, keys(part)?, sheet))?;
    } else {
        print(&table(file.format, &file.parts, sheet))?;
    }
    Ok(Outcome::Some)
}

fn file_json(
    format: &Format,
    parts: &[Part],
    keys: impl Fn(&Part) -> Result<KeyAs>,
) -> Result<serde_json::Value> {
    let mut filters = Vec::new();
    for part in parts {
        let (filter, in_column) = (&part.filter, !part.column.is_empty());
        filters.push(json!({
            "column": in_column.then_some(&part.column),
            "row_group": in_column.then_some(part.row_group),
            "rows": part.rows,
            "keys_as": keys(part)?.name(),
            "shape": report::facts(filter.describe()),
            "bits": filter.bits(),
            "fill": filter.fill(),
            "fpr_now": filter.fpr(),
            "items_estimated": filter.cardinality(),
        }));
    }
    let (name, writer, hash) = (format.name, format.writer, format.hash);
    Ok(json!({ "format": name, "writer": writer, "hash": hash, "filters": filters }))
}

fn describe(part: &Part, keys: KeyAs, sheet: Sheet) -> String {
    let (filter, format) = (&part.filter, part.filter.format());
    let mut rows = vec![("format", format!("{} ({})", format.name, format.writer))];
    if !part.column.is_empty() {
        rows.push(("column", format!("{}, row group {}", part.column, part.row_group)));
    }
    for fact in filter.describe() {
        rows.push((fact.name, fact.value.to_string()));
    }
    let size = format!("{} bits ({})", integer_text(filter.bits()), size_text(filter));
    rows.push(("size", size));
    let fill = filter.fill();
    rows.push(("fill", format!("▕{}▏ {:.1} %", terminal::bar(fill, 40), fill * 100.0)));
    rows.push(("distinct keys", estimate_text(filter)));
    rows.push(("false positives", format!("{} now", rate_text(filter.fpr()))));
    rows.push(("hash", format.hash.to_owned()));
    rows.push(("keys as", keys.name().to_owned()));
    facts(sheet, 18, &rows)
}

fn size_text(filter: &Foreign) -> String {
    bytes_text(filter.bits().div_ceil(8))
}

fn estimate_text(filter: &Foreign) -> String {
    filter
        .cardinality()
        .map_or("–".to_owned(), |n| format!("about {}", integer_text(n.round() as u64)))
}

/// All filters of a file, a line each.
fn table(format: &Format, parts: &[Part], sheet: Sheet) -> String {
    let header =
        ["column", "row group", "rows", "size", "fill", "distinct values", "false positives"];
    let rows = parts.iter().map(|part| {
        let filter = &part.filter;
        [
            part.column.clone(),
            part.row_group.to_string(),
            part.rows.map_or(sheet.none(), |rows| sheet.integer(rows)),
            sheet.bytes(filter.bits().div_ceil(8)),
            sheet.pick(filter.fill(), |fill| format!("{:.1} %", fill * 100.0)),
            match sheet {
                Sheet::Terminal => estimate_text(filter),
                Sheet::Csv => filter.cardinality().map_or(sheet.none(), |n| n.round().to_string()),
            },
            sheet.rate(filter.fpr()),
        ]
    });
    let table = sheet.text(&Table::new(1, header).rows(rows));
    match sheet {
        Sheet::Terminal => {
            format!("{} filters of the format {}\n{table}", parts.len(), format.name)
        }
        Sheet::Csv => table,
    }
}

/// Builds a foreign filter from keys.
pub fn build(format: &'static Format, args: &Build) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, Form::Foreign(format), how, &args.keys)?;
    let keys = keys_as(format, args.keys_as, None)?;
    let grammar = input::grammar(&args.keyed.text)?;
    let mut lines = input::lines_of(&args.keys, grammar, Passes::Several)?;
    let items = match args.size.items {
        Some(items) => items,
        None => some_keys(lines.count()?)?,
    };
    let mut filter = format.create(items, args.size.fpr.unwrap_or(0.01))?;
    let mut n = 0u64;
    lines.each(|_, records| {
        for record in records {
            filter.insert(keys.parse(record.key)?)?;
        }
        n += records.len() as u64;
        Ok(())
    })?;
    target.write(&filter.write()?)?;
    say!(
        "{}: {} of {} items in {}, false positives now {}",
        args.output.display(),
        format.name,
        integer_text(n),
        size_text(&filter),
        rate_text(filter.fpr()),
    );
    report(format, filter, Some(keys), args.machine.json)
}

fn report(format: &Format, filter: Foreign, keys: Option<KeyAs>, json: bool) -> Result<Outcome> {
    if json {
        print_json(&file_json(format, &[filter.into()], |_| keys_as(format, keys, None))?)?;
    }
    Ok(Outcome::Some)
}

/// Makes a filter of ours of a foreign one.
pub fn import(args: &Import) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, FILTER, how, [&args.file])?;
    let ours = || {
        let name = args.file.display();
        Stop::Error(format!("{name}: it is an .evb file, or does not exist; give its --format"))
    };
    let path = input::filter_file(&args.file)?;
    let file = recognized(&path, &args.foreign, &None)?.ok_or_else(ours)?;
    let [part] = &file.parts[..] else {
        return Err(Stop::Error(format!(
            "{}: it has {} filters: choose one with --column and --row-group",
            file.name,
            file.parts.len()
        )));
    };
    let keys = keys_as(file.format, args.foreign.keys_as, part.keys)?;
    let filter = part.filter.to_filter_of(keys)?;
    target.save(&*filter)?;
    if args.machine.json {
        print_json(&report::info(&*filter))?;
    }
    say!(
        "{}: {} of about {} items",
        args.output.display(),
        filter.facts().slug,
        integer_text(filter.len())
    );
    Ok(Outcome::Some)
}

/// Writes a filter of ours in a foreign format.
pub fn export(args: &Export) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, Form::Foreign(args.format), how, [&args.filter])?;
    let filter = input::opener(&None)?.open(input::filter_file(&args.filter)?)?;
    let foreign = args.format.adopt(&*filter)?;
    target.write(&foreign.write()?)?;
    say!("{}: {} of {}", args.output.display(), args.format.name, size_text(&foreign));
    report(args.format, foreign, None, args.machine.json)
}

/// Lists the formats.
pub fn formats(args: &Formats) -> Result<Outcome> {
    if args.machine.json {
        print_json(&FORMATS.iter().map(|format| entry(format)).collect())?;
    } else if args.markdown {
        print(&markdown())?;
    } else if args.all {
        print(&listing())?;
    } else {
        let able: Vec<String> = FORMATS.iter().map(|format| abilities(format)).collect();
        let named = able.iter().zip(FORMATS).map(|(able, format)| (able.as_str(), format.name));
        let (names, all) = (groups::screen(named), FORMATS.len());
        print(&format!("{names}\n{all} formats; --all shows their software and types of key\n"))?;
    }
    Ok(Outcome::Some)
}

fn keys_of(format: &Format) -> Vec<&'static str> {
    format.keys.iter().map(|kind| kind.name()).collect()
}

fn entry(format: &Format) -> serde_json::Value {
    json!({
        "name": format.name,
        "writer": format.writer,
        "versions": format.versions,
        "recognized": format.recognized,
        "keys": keys_of(format),
        "hash": format.hash,
        "limits": format.limits,
        "write": format.can_write(),
        "build": format.can_create(),
        "convert": format.can_convert(),
    })
}

/// What can be done beyond reading and querying, which every format is good for.
fn abilities(format: &Format) -> String {
    let all = [
        ("write", format.can_write()),
        ("build", format.can_create()),
        ("convert", format.can_convert()),
    ];
    let names = all.iter().filter(|(_, can)| *can).map(|(name, _)| *name);
    ["read", "query"].into_iter().chain(names).collect::<Vec<_>>().join(" ")
}

fn listing() -> String {
    let rows = FORMATS.iter().map(|format| {
        [
            format.name.to_owned(),
            format.writer.to_owned(),
            keys_of(format).join(" "),
            abilities(format),
        ]
    });
    Table::new(4, ["format", "writer", "keys", "abilities"]).rows(rows).terminal()
}

/// The table of docs/FORMATS.md.
fn markdown() -> String {
    let header =
        ["format", "writer", "versions", "recognized by", "hash", "keys", "abilities", "limits"];
    let rows = FORMATS.iter().map(|format| {
        [
            format!("`{}`", format.name),
            format.writer.to_owned(),
            format.versions.to_owned(),
            format.recognized.to_owned(),
            format.hash.to_owned(),
            keys_of(format).join(", "),
            abilities(format),
            format.limits.to_owned(),
        ]
    });
    Table::new(8, header).rows(rows).markdown()
}
