//! The list. A format is one file here and one line.

mod bip158;
mod bip37;
mod cascade;
mod cassandra;
mod clickhouse;
mod datasketches;
mod dcso;
mod fastbloom_rs;
mod go_bloom;
mod guava;
mod hadoop;
mod hbase;
mod hive;
mod orc;
mod parquet;
mod protobuf;
mod pybloom_live;
mod pybloomfiltermmap3;
mod pyprobables;
mod rbloom;
mod redis;
mod rocksdb;
mod spark;
mod squid;
mod stream_lib;

pub use bip158::block_filter;
pub use cascade::cascade;

use everbloom::{Error, Kind, Result};

use crate::format::{Fit, Format};

/// Every format, the most common first.
pub static FORMATS: &[&Format] = &[
    &parquet::FORMAT,
    &guava::FORMAT,
    &spark::FORMAT,
    &redis::bloom::FORMAT,
    &redis::cuckoo::FORMAT,
    &redis::valkey::FORMAT,
    &go_bloom::FORMAT,
    &dcso::FORMAT,
    &datasketches::FORMAT,
    &bip37::FORMAT,
    &bip158::FORMAT,
    &cascade::FORMAT,
    &rbloom::FORMAT,
    &orc::FORMAT,
    &squid::FORMAT,
    &cassandra::FORMAT,
    &hadoop::FORMAT,
    &hbase::FORMAT,
    &rocksdb::FORMAT,
    &clickhouse::FORMAT,
    &hive::FORMAT,
    &stream_lib::FORMAT,
    &fastbloom_rs::FORMAT,
    &pyprobables::FORMAT,
    &pybloomfiltermmap3::FORMAT,
    &pybloom_live::FORMAT,
];

impl Format {
    /// The formats that some bytes look like, equally well. Where nothing but their length speaks for them
    /// ([`Fit::Length`]) the bytes may be anything, and the caller has to know.
    pub fn detect(bytes: &[u8]) -> Vec<&'static Format> {
        let fits = || FORMATS.iter().map(|format| (format.fit(bytes), *format));
        let best = fits().map(|(fit, _)| fit).max().unwrap_or(Fit::No);
        fits().filter(|(fit, _)| *fit == best && best > Fit::No).map(|(_, format)| format).collect()
    }

    /// The one format that bytes look like; an error if nothing but their length speaks for it.
    pub fn recognized(bytes: &[u8]) -> Result<&'static Format> {
        let found = Format::detect(bytes);
        if let [one] = found[..]
            && one.fit(bytes) > Fit::Length
        {
            return Ok(one);
        }
        let names: Vec<&str> = found.iter().map(|format| format.name).collect();
        let message = match names[..] {
            [] => "not an everbloom filter: the first bytes are not the .evb magic, nor those of a foreign format; \
                   if it is a foreign filter, give {format}"
                .to_owned(),
            _ => format!(
                "not an everbloom filter: the first bytes are not the .evb magic; its length could be that of a \
                 foreign filter ({}): if it is, give {{format}}",
                names.join(", ")
            ),
        };
        Err(Error::new(Kind::NotOurs, message))
    }

    /// The format called `name`.
    pub fn named(name: &str) -> Result<&'static Format> {
        FORMATS.iter().find(|format| format.name == name).copied().ok_or_else(|| {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            let message = format!("no such format; the formats are {}", names.join(", "));
            Error::new(Kind::BadParameter, message).of_field("format", name)
        })
    }
}
