//! From what was typed to what is meant, beyond plain numbers.

use everbloom::Setting;
use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use everbloom::membership::ancestors::Hierarchy;
use everbloom_formats::{FORMATS, Format, KeyAs};
use everbloom_records::{Column, KeyType};
use everbloom_report::suggest;

pub fn hierarchy(text: &str) -> Result<Hierarchy, String> {
    match text.as_bytes() {
        [] => Ok(Hierarchy::by(None)),
        [byte] => Ok(Hierarchy::by(Some(*byte))),
        _ => Err(format!(
            "{text:?} is not one byte: write / for paths, . for names, any other separator, or '' for every prefix"
        )),
    }
}

pub fn key_type() -> impl TypedValueParser<Value = KeyType> {
    let value = |key: KeyType| PossibleValue::new(key.name()).help(key.meaning());
    PossibleValuesParser::new(KeyType::ALL.map(value)).try_map(|name| {
        let found = KeyType::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| format!("{name:?} is not a key type"))
    })
}

pub fn keys_as() -> impl TypedValueParser<Value = KeyAs> {
    let value = |key: KeyAs| PossibleValue::new(key.name()).help(key.meaning());
    PossibleValuesParser::new(KeyAs::ALL.map(value)).try_map(|name| {
        let found = KeyAs::ALL.into_iter().find(|key| key.name() == name);
        found.ok_or_else(|| format!("{name:?} is not a kind of key"))
    })
}

pub fn format(name: &str) -> Result<&'static Format, String> {
    Format::named(name).map_err(|_| {
        let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
        let all = || format!("the formats are {}", names.join(", "));
        format!("no such format; {}", suggest::instead(name, names.iter().copied(), all))
    })
}

/// A byte of any value: columns need not be text.
pub fn delimiter() -> impl TypedValueParser<Value = u8> {
    OsStringValueParser::new().try_map(|text: OsString| match text.as_encoded_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one byte; write , or ; or \\t")),
    })
}

/// A number, or else a name. What was typed lasts as long as the process, so the name does, too.
pub fn column(text: &str) -> Result<Column, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("columns are counted from 1".to_owned()),
        Ok(number) => Ok(Column::Number(number)),
        Err(_) if text.is_empty() => Err("the column is empty".to_owned()),
        Err(_) => Ok(Column::Named(Box::leak(text.into()))),
    }
}

pub fn columns(text: &str) -> Result<(Column, Column), String> {
    match text.split_once(',') {
        Some((left, right)) => Ok((column(left)?, column(right)?)),
        None => column(text).map(|c| (c, c)),
    }
}

pub fn setting(text: &str) -> Result<(String, Setting), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not of the form name=value"))?;
    Ok((name.to_owned(), value.into()))
}
