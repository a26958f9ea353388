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

use crate::Format;

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
