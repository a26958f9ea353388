//! Filters that the other software wrote: no false negative among their keys, as many false positives as their fill
//! predicts, and the same bytes when they are written back.

use std::fs;
use std::path::PathBuf;

use everbloom::internals::theory::tail;
use everbloom::{Limits, Result};
use everbloom_formats::{Foreign, Format, Hints, Key, KeyAs, Part, block_filter};

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A kind of keys: the member or the non-member number i.
#[derive(Clone, Copy)]
enum Keys {
    Items,
    Utf16,
    Longs,
    Ints,
    Doubles,
}

impl Keys {
    fn member(self, i: i64) -> Key<'static> {
        match self {
            Keys::Items => Key::Bytes(format!("item-{i}").into_bytes().into()),
            Keys::Utf16 => KeyAs::Utf16.parse(format!("item-{i}").leak().as_bytes()).unwrap(),
            Keys::Longs => Key::Long(i * 7919),
            Keys::Ints => Key::Int(i as i32 * 31 - 500),
            Keys::Doubles => Key::Double(i as f64 * 0.5),
        }
    }

    fn absent(self, i: i64) -> Key<'static> {
        match self {
            Keys::Items => Key::Bytes(format!("absent-{i}").into_bytes().into()),
            Keys::Utf16 => KeyAs::Utf16.parse(format!("absent-{i}").leak().as_bytes()).unwrap(),
            Keys::Longs => Key::Long(i * 7919 + 1),
            Keys::Ints => Key::Int(i as i32 * 31 - 499),
            Keys::Doubles => Key::Double(i as f64 * 0.5 + 0.25),
        }
    }
}

const QUERIES: i64 = 20_000;

/// No false negatives among the first `n` members, and as many false positives as predicted.
fn answers(what: &str, filter: &Foreign, keys: Keys, n: i64) {
    let found = (0..n).filter(|i| filter.contains(keys.member(*i)).unwrap()).count();
    assert_eq!(found as i64, n, "{what}: members found");
    let passed = (0..QUERIES).filter(|i| filter.contains(keys.absent(*i)).unwrap()).count();
    let p = filter.fpr();
    assert!(plausible(passed as u64, p), "{what}: {passed} of {QUERIES} pass at a rate of {p}");
}

/// Whether so many of the queries pass at rate `p`, but for a chance of 10⁻⁹ on either side.
fn plausible(passed: u64, p: f64) -> bool {
    let n = QUERIES as u64;
    let sum = |range: std::ops::RangeInclusive<u64>| -> f64 {
        range.map(|i| tail::binomial_pmf(n, p, i)).sum()
    };
    sum(0..=passed) > 1e-9 && sum(passed..=n) > 1e-9
}

fn opened(format: &str, bytes: &[u8]) -> Result<Foreign> {
    let mut hints = Hints::new(Limits::NETWORK);
    // What fastbloom-rs does not write: the probes of a filter for 1 %.
    hints.k = Some(7);
    let mut parts = Format::named(format)?.open_with(bytes, &hints)?;
    assert_eq!(parts.len(), 1);
    Ok(parts.remove(0).filter)
}

/// Filters that are one file.
const FILES: &[(&str, &str, Keys)] = &[
    ("parquet", "parquetmr_bitset_strings.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_32_utf8.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_32_long.bin", Keys::Longs),
    ("guava", "guava_MURMUR128_MITZ_64_utf8.bin", Keys::Items),
    ("guava", "guava_MURMUR128_MITZ_64_long.bin", Keys::Longs),
    ("spark", "spark_V1_strings.bin", Keys::Items),
    ("spark", "spark_V1_longs.bin", Keys::Longs),
    ("spark", "spark_V2_strings.bin", Keys::Items),
    ("spark", "spark_V2_longs.bin", Keys::Longs),
    ("spark", "spark_df_stat_s.bin", Keys::Items),
    ("go-bloom", "go_willf_bloom.bin", Keys::Items),
    ("dcso", "dcso.bloom", Keys::Items),
    ("datasketches", "datasketches_strings.bin", Keys::Items),
    ("datasketches", "datasketches_longs.bin", Keys::Longs),
    ("redisbloom", "redisbloom_fixed.dump", Keys::Items),
    ("bip37", "bip37_bitcoinlib.bin", Keys::Items),
    ("mlbf", "mlbf_v2_murmur3.bin", Keys::Items),
    ("mlbf", "mlbf_v2_sha256.bin", Keys::Items),
    ("rbloom", "rbloom_sha256.bloom", Keys::Items),
    ("hadoop", "hadoop_BloomFilter_jenkins.bin", Keys::Items),
    ("hadoop", "hadoop_BloomFilter_murmur.bin", Keys::Items),
    ("hadoop", "hadoop_CountingBloomFilter_jenkins.bin", Keys::Items),
    ("hadoop", "hadoop_CountingBloomFilter_murmur.bin", Keys::Items),
    ("hadoop", "hadoop_DynamicBloomFilter_jenkins.bin", Keys::Items),
    ("hadoop", "hadoop_DynamicBloomFilter_murmur.bin", Keys::Items),
    ("hadoop", "hadoop_RetouchedBloomFilter_jenkins.bin", Keys::Items),
    ("hadoop", "hadoop_RetouchedBloomFilter_murmur.bin", Keys::Items),
    ("rocksdb", "rocksdb_bloom10.sst", Keys::Items),
    ("rocksdb", "rocksdict_bloom10.sst", Keys::Items),
    ("hive", "hive_bloomk_strings.bin", Keys::Items),
    ("stream-lib", "streamlib_strings.bin", Keys::Utf16),
    ("fastbloom-rs", "fastbloom_rs_raw.bin", Keys::Items),
    ("pyprobables", "pyprobables.blm", Keys::Items),
    ("pybloomfiltermmap3", "pybloomfiltermmap3.bloom", Keys::Items),
    ("pybloom-live", "pybloom_live.bin", Keys::Items),
];

#[test]
fn files_of_one_filter_answer_for_their_keys() {
    for (format, name, keys) in FILES {
        let filter = opened(format, &sample(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        answers(name, &filter, *keys, 1000);
    }
}

#[test]
fn files_of_one_filter_are_written_back_byte_for_byte() {
    for (format, name, _) in FILES {
        let bytes = sample(name);
        let filter = opened(format, &bytes).unwrap();
        let written = filter.write().unwrap();
        // Of a table, the filter is written, not the whole file.
        let part = name.ends_with(".sst") && bytes.windows(written.len()).any(|w| w == written);
        assert!(written == bytes || part, "{name}");
    }
}

#[test]
fn files_of_one_filter_are_detected() {
    for (format, name, _) in FILES {
        let found = Format::detect(&sample(name));
        assert!(found.iter().any(|f| f.name == *format), "{name}: {found:?}");
    }
}

/// The filter of a column.
fn column<'a>(parts: &'a [Part], name: &str) -> &'a Part {
    parts.iter().find(|part| part.column == name).unwrap_or_else(|| panic!("no column {name}"))
}

#[test]
fn parquet_files_show_their_filters() {
    for name in ["pyarrow26.parquet", "duckdb2.parquet"] {
        let bytes = sample(name);
        let [format] = Format::detect(&bytes)[..] else { panic!("{name} is detected") };
        let parts = format.open(&bytes, Limits::NETWORK).unwrap();
        let all =
            [("i64", Keys::Longs), ("s", Keys::Items), ("i32", Keys::Ints), ("f64", Keys::Doubles)];
        assert!(parts.len() == 4 || name.starts_with("duckdb") && parts.len() == 2);
        for (name, keys) in all.into_iter().take(parts.len()) {
            let part = column(&parts, name);
            answers(name, &part.filter, keys, 1000);
            assert_eq!(part.rows, Some(1000));
            let written = part.filter.write().unwrap();
            assert!(bytes.windows(written.len()).any(|window| window == written), "{name}");
        }
    }
}

#[test]
fn an_empty_datasketch_holds_nothing() {
    let bytes = sample("datasketches_empty.bin");
    let mut filter = opened("datasketches", &bytes).unwrap();
    assert_eq!(filter.write().unwrap(), bytes);
    assert!(!filter.contains("item-0").unwrap());
    filter.insert("item-0").unwrap();
    let again = opened("datasketches", &filter.write().unwrap()).unwrap();
    assert!(again.contains("item-0").unwrap());
}

/// The chunks of a SCANDUMP, joined.
fn chunks(name: &str) -> Vec<u8> {
    let json: serde_json::Value = serde_json::from_slice(&sample(name)).unwrap();
    let chunks = json["chunks"].as_array().unwrap().iter();
    chunks.flat_map(|chunk| unhex(chunk[1].as_str().unwrap())).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap();
    (0..text.len() / 2).map(byte).collect()
}

#[test]
fn redis_filters_answer_for_their_keys() {
    for (format, name) in [
        ("redisbloom", "redisbloom_scandump_fixed.json"),
        ("redisbloom", "redisbloom_scandump_nonscaling.json"),
        ("redisbloom", "redisbloom_scandump_scaling.json"),
        ("redis-cuckoo", "redisbloom_cf_scandump.json"),
    ] {
        let bytes = chunks(name);
        let filter = opened(format, &bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        answers(name, &filter, Keys::Items, 1000);
        assert!(filter.write().unwrap() == bytes, "{name}");
        assert_eq!(Format::detect(&bytes)[0].name, format);
    }
}

#[test]
fn squid_finds_its_urls() {
    let bytes = sample("squid_digest.bin");
    let filter = opened("squid", &bytes).unwrap();
    for i in 0..50 {
        assert!(filter.contains(&*format!("http://127.0.0.1:8971/f{i}.txt")).unwrap(), "{i}");
    }
    assert_eq!(filter.write().unwrap(), bytes);
    answers("squid", &filter, Keys::Items, 0);
}

#[test]
fn cassandra_finds_its_keys() {
    let bytes = sample("cassandra/da-1-bti-Filter.db");
    let filter = opened("cassandra", &bytes).unwrap();
    for key in ["0", "1", "2", "3", "4"] {
        assert!(filter.contains(key).unwrap(), "{key}");
    }
    assert_eq!(filter.write().unwrap(), bytes);
    let older = sample("cassandra/la-1-big-Filter.db");
    assert_eq!(opened("cassandra", &older).unwrap().write().unwrap(), older);
}

/// The members in the order of their bytes, which is that of an HFile's rows.
fn rows() -> Vec<String> {
    let mut rows: Vec<String> = (0..1000).map(|i| format!("item-{i}")).collect();
    rows.sort();
    rows
}

/// A block of an HFile, with four bytes in the place of its checksum.
fn hfile_block(kind: &str, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    let numbers = [(len + 4).to_be_bytes(), len.to_be_bytes()].concat();
    let more = [&[1][..], &16384u32.to_be_bytes(), &(len + 33).to_be_bytes()].concat();
    [kind.as_bytes(), &numbers, &[255; 8], &more, data, &[0xcc; 4]].concat()
}

/// An HFile with a filter of two chunks, written from the description of the layout: HBase had no part in it. Keys are
/// ASCII, for which its hash is the plain one.
fn hfile(comparator: &str, codec: u8, kinds: &[&str]) -> Vec<u8> {
    hfile_of(comparator, codec, kinds, 1)
}

/// An HFile whose index names each chunk so many times.
fn hfile_of(comparator: &str, codec: u8, kinds: &[&str], times: usize) -> Vec<u8> {
    let (k, bytes) = (7, 640);
    let mut file = hfile_block("DATABLK*", &[7; 100]);
    let mut index = Vec::new();
    for rows in rows().chunks(500) {
        let mut bits = vec![0u8; bytes];
        for row in rows {
            let first = everbloom::internals::hash::murmur_32(row.as_bytes(), 0);
            let second = everbloom::internals::hash::murmur_32(row.as_bytes(), first) as i32;
            let mut sum = first as i32;
            for _ in 0..k {
                let at = (sum % (8 * bytes as i32)).unsigned_abs() as usize;
                bits[at / 8] |= 1 << (at % 8);
                sum = sum.wrapping_add(second);
            }
        }
        let block = hfile_block("BLMFBLK2", &bits);
        let numbers =
            [&(file.len() as u64).to_be_bytes()[..], &(block.len() as u32).to_be_bytes()].concat();
        let entry = [&numbers, &[rows[0].len() as u8][..], rows[0].as_bytes()].concat();
        index.extend(entry.repeat(times));
        file.extend(block);
    }
    let start = file.len() as u64;
    file.extend(hfile_block("IDXROOT2", &[]));
    file.extend(hfile_block("FILEINF2", b"PBUF"));
    let (version, hash, chunks) = (3u32, 1u32, 2 * times as u32);
    let total = (2 * times * bytes) as u64;
    let numbers = [&version.to_be_bytes()[..], &total.to_be_bytes(), &(k as u32).to_be_bytes()];
    let more = [&hash.to_be_bytes()[..], &1000u64.to_be_bytes(), &1068u64.to_be_bytes()];
    let comparator = [&[comparator.len() as u8], comparator.as_bytes()].concat();
    let meta = [&numbers.concat()[..], &more.concat(), &chunks.to_be_bytes(), &comparator, &index];
    for kind in kinds {
        file.extend(hfile_block(kind, &meta.concat()));
    }
    // Field 2 of the trailer in two bytes, field 12 in one.
    let message = [5, 0x10, start as u8 | 0x80, (start >> 7) as u8, 0x60, codec];
    let mut trailer = [b"TRABLK\"$", &message[..]].concat();
    trailer.resize(4092, 0);
    file.extend(trailer);
    file.extend([3, 0, 0, 3]);
    file
}

#[test]
fn hbase_filters_answer_for_their_rows() {
    let bytes = sample("hbase_synthetic.hfile");
    assert!(bytes == hfile("", 2, &["BLMFMET2"]), "the sample is what this test writes");
    assert_eq!(Format::detect(&bytes)[0].name, "hbase");
    let filter = opened("hbase", &bytes).unwrap();
    let written = filter.write().unwrap();
    assert!(written.len() < 1500, "without the rest of the file");
    assert_eq!(Format::detect(&written)[0].name, "hbase");
    let alone = opened("hbase", &written).unwrap();
    assert!(alone.write().unwrap() == written);
    for filter in [&filter, &alone] {
        assert!(rows().iter().all(|row| filter.contains(&**row).unwrap()));
        // Behind the first row, so that there is a chunk to look at.
        let others = (0..QUERIES).map(|i| format!("item-{i}x"));
        let passed = others.filter(|key| filter.contains(&**key).unwrap()).count();
        assert!(plausible(passed as u64, filter.fpr()), "{passed} pass at {}", filter.fpr());
        assert!(!filter.contains("item").unwrap(), "in front of the first row");
    }
}

#[test]
fn hfiles_say_what_is_not_read() {
    let error = |file: &[u8]| opened("hbase", file).unwrap_err().to_string();
    let packed = hfile("", 1, &["BLMFMET2"]);
    assert!(error(&packed).contains("compressed") && Format::detect(&packed)[0].name == "hbase");
    assert!(error(&hfile("org.x.CellComparatorImpl", 2, &["BLMFMET2"])).contains("columns"));
    assert!(error(&hfile("", 2, &[])).contains("no Bloom filter"));
    assert!(error(&hfile_of("", 2, &["BLMFMET2"], 20)).contains("no chunk"));
    let older = hfile("org.apache.hadoop.hbase.KeyValue$RawBytesComparator", 2, &["BLMFMET2"]);
    assert!(opened("hbase", &older).unwrap().contains("item-7").unwrap());
    let both = Format::named("hbase").unwrap();
    let both = both.open(&hfile("", 2, &["BLMFMET2", "DFBLMET2"]), Limits::NETWORK).unwrap();
    let names: Vec<&str> = both.iter().map(|part| &*part.column).collect();
    assert_eq!(names, ["rows", "deleted families"]);
}

#[test]
fn bitcoin_core_agrees() {
    let bytes = sample("bip37_core_vector.bin");
    let filter = opened("bip37", &bytes).unwrap();
    assert_eq!(filter.write().unwrap(), bytes);
    for (key, expected) in [
        ("99108ad8ed9bb6274d3980bab5a85c048f0950c8", true),
        ("19108ad8ed9bb6274d3980bab5a85c048f0950c8", false),
        ("b5a2c786d9ef4658287ced5914b37a1b4aa32eee", true),
        ("b9300670b4c5366e95b2699e8b18bc75e5f729c5", true),
    ] {
        assert_eq!(filter.contains(&unhex(key)[..]).unwrap(), expected, "{key}");
    }
}

#[test]
fn cascades_of_mozilla_agree_with_their_tests() {
    for name in [
        "murmur",
        "murmur_inverted",
        "sha256ctr_salt",
        "sha256l32",
        "sha256l32_inverted",
        "sha256l32_salt",
    ] {
        let bytes = sample(&format!("rust_cascade/test_v2_{name}_mlbf"));
        let filter = opened("mlbf", &bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (key, expected) in [("this", true), ("that", true), ("other", false)] {
            assert_eq!(filter.contains(key).unwrap(), expected, "{name}: {key}");
        }
        assert!(filter.write().unwrap() == bytes, "{name}");
    }
    let bytes = sample("rust_cascade/test_v1_murmur_mlbf");
    assert!(opened("mlbf", &bytes).unwrap().write().unwrap() == bytes);
    assert!(opened("mlbf", &sample("rust_cascade/test_v1_murmur_short_mlbf")).is_err());
}

#[test]
fn a_cascade_is_exact_for_what_it_was_built_from() {
    for name in ["mlbf_v2_murmur3.bin", "mlbf_v2_sha256.bin"] {
        let filter = opened("mlbf", &sample(name)).unwrap();
        for i in 0..20_000 {
            assert!(!filter.contains(&*format!("no-{i}")).unwrap(), "{name}: no-{i}");
        }
    }
}

#[test]
fn orc_filters_answer_for_their_keys() {
    for (name, keys) in [("orc_mem_utf8.bin", Keys::Items), ("orc_mem_longs.bin", Keys::Longs)] {
        let message = orc_message(name);
        let filter = opened("orc", &message).unwrap();
        answers(name, &filter, keys, 1000);
        assert!(filter.write().unwrap() == message, "{name}");
    }
}

/// What ORC writes. The sample has a container of its own: k and the words, big-endian; those of a message are little-endian.
fn orc_message(name: &str) -> Vec<u8> {
    let bytes = sample(name);
    let mut message = vec![0x08, bytes[3], 0x1a, 0xb0, 0x09];
    message.extend(bytes[8..].chunks_exact(8).flat_map(|word| word.iter().rev()));
    message
}

#[test]
fn orc_files_show_their_filters() {
    let bytes = sample("pyarrow.orc");
    let [format] = Format::detect(&bytes)[..] else { panic!("detected") };
    let parts = format.open(&bytes, Limits::NETWORK).unwrap();
    println!("{parts:?}");
    answers("s", &column(&parts, "s").filter, Keys::Items, 1000);
    answers("i64", &column(&parts, "i64").filter, Keys::Longs, 1000);
}

#[test]
fn block_filters_match_the_scripts_of_their_blocks() {
    let vectors: serde_json::Value =
        serde_json::from_slice(&sample("bip158/testnet-19.json")).unwrap();
    let mut scripts = 0;
    for vector in vectors.as_array().unwrap().iter().skip(1) {
        let bytes = unhex(vector[5].as_str().unwrap());
        let mut hints = Hints::new(Limits::NETWORK);
        // A hash is shown with its last byte first.
        let hash: Vec<u8> = unhex(vector[1].as_str().unwrap()).into_iter().rev().collect();
        hints.key = hash[..16].try_into().ok();
        let filter = Format::named("bip158").unwrap().open_with(&bytes, &hints).unwrap();
        let filter = &filter[0].filter;
        assert_eq!(filter.write().unwrap(), bytes);
        if vector[7] == "Genesis block" {
            // The one block whose scripts are few enough to be read off: its only output's.
            let block = unhex(vector[2].as_str().unwrap());
            let script = &block[block.len() - 71..block.len() - 4];
            assert_eq!(block_filter(hints.key.unwrap(), [script]), bytes);
        }
        for script in vector[3].as_array().unwrap() {
            let script = unhex(script.as_str().unwrap());
            if !script.is_empty() {
                assert!(filter.contains(&script[..]).unwrap());
                scripts += 1;
            }
        }
        assert!(!filter.contains("no script").unwrap());
    }
    assert!(scripts > 10, "{scripts}");
}

#[test]
fn clickhouse_indexes_answer_for_their_keys() {
    let bytes = sample("clickhouse_skp_idx.packed");
    let [format] = Format::detect(&bytes)[..] else { panic!("{:?}", Format::detect(&bytes)) };
    assert!(format.open(&bytes, Limits::NETWORK).is_err(), "k has to be given");
    let mut hints = Hints::new(Limits::NETWORK);
    hints.k = Some(5);
    let parts = format.open_with(&bytes, &hints).unwrap();
    assert_eq!(parts.len(), 2, "the third is an index of tokens: {parts:?}");
    for (name, keys) in [("bi", Keys::Longs), ("bs", Keys::Items)] {
        let filter = &column(&parts, name).filter;
        answers(name, filter, keys, 1000);
        let granule = filter.write().unwrap();
        let again = format.open_with(&granule, &hints).unwrap();
        assert!(again[0].filter.write().unwrap() == granule);
    }
}

/// Filters whose bits are those of a variant.
const CONVERTED: &[&str] = &[
    "guava",
    "spark",
    "redisbloom",
    "redis-cuckoo",
    "parquet",
    "dcso",
    "datasketches",
    "cassandra",
    "orc",
    "fastbloom-rs",
    "stream-lib",
    "clickhouse",
    "rocksdb",
];

/// A key as the library takes it.
fn bytes(key: &Key<'_>) -> Vec<u8> {
    match key {
        Key::Bytes(bytes) => bytes.to_vec(),
        Key::Long(number) => number.to_le_bytes().to_vec(),
        other => panic!("no key of these samples: {other:?}"),
    }
}

/// A filter of the library with the same bits says the same of every key, in memory and from a file, and becomes the same
/// foreign filter again.
fn converts(name: &str, foreign: &Foreign, keys: Keys) -> Vec<u8> {
    let kind = if matches!(keys, Keys::Longs) { KeyAs::Long } else { KeyAs::String };
    let filter = foreign.to_filter_of(kind).unwrap_or_else(|e| panic!("{name}: {e}"));
    let reopened = everbloom::Opener::new().decode(&everbloom::to_bytes(&*filter)).unwrap();
    let members = (0..1000).map(|i| keys.member(i));
    for key in members.chain((0..QUERIES).map(|i| keys.absent(i))) {
        let says = foreign.contains(key.clone()).unwrap();
        let bytes = bytes(&key);
        assert_eq!(filter.contains(&bytes), says, "{name}: {key:?}");
        assert_eq!(reopened.contains(&bytes), says, "{name} from a file: {key:?}");
    }
    let again = foreign.format().adopt(&*reopened).unwrap_or_else(|e| panic!("{name}: {e}"));
    answers(name, &again, keys, 1000);
    again.write().unwrap()
}

#[test]
fn filters_become_filters_of_the_library_and_back() {
    for (format, name, keys) in FILES.iter().filter(|(format, ..)| CONVERTED.contains(format)) {
        let bytes = sample(name);
        let written = converts(name, &opened(format, &bytes).unwrap(), *keys);
        // RedisBloom's other numbers are not kept, Parquet's bitset gets a header, and fastbloom-rs's words their k.
        match *format {
            "redisbloom" => {}
            "parquet" | "fastbloom-rs" => assert!(written.ends_with(&bytes), "{name}"),
            // Of a table, the filter is written.
            "rocksdb" => assert!(bytes.windows(written.len()).any(|w| w == written), "{name}"),
            _ => assert!(written == bytes, "{name}"),
        }
    }
    let fixed = opened("redisbloom", &chunks("redisbloom_scandump_fixed.json")).unwrap();
    converts("scandump", &fixed, Keys::Items);
    let dump = chunks("redisbloom_cf_scandump.json");
    let cuckoo = opened("redis-cuckoo", &dump).unwrap();
    assert_eq!(converts("cuckoo", &cuckoo, Keys::Items), dump);
    for (name, keys) in [("orc_mem_utf8.bin", Keys::Items), ("orc_mem_longs.bin", Keys::Longs)] {
        let message = orc_message(name);
        let filter = opened("orc", &message).unwrap();
        assert!(converts(name, &filter, keys) == message, "{name}");
    }
    let indexes = sample("clickhouse_skp_idx.packed");
    let mut hints = Hints::new(Limits::NETWORK);
    hints.k = Some(5);
    let parts = Format::named("clickhouse").unwrap().open_with(&indexes, &hints).unwrap();
    for (name, keys) in [("bi", Keys::Longs), ("bs", Keys::Items)] {
        let granule = &column(&parts, name).filter;
        assert!(converts(name, granule, keys) == granule.write().unwrap(), "{name}");
    }
}

#[test]
fn cassandra_becomes_a_filter_of_the_library_and_back() {
    let bytes = sample("cassandra/da-1-bti-Filter.db");
    let foreign = opened("cassandra", &bytes).unwrap();
    let filter = foreign.to_filter().unwrap();
    for key in (0..20_000).map(|i| i.to_string()) {
        assert_eq!(filter.contains(key.as_bytes()), foreign.contains(&*key).unwrap(), "{key}");
    }
    assert_eq!(foreign.format().adopt(&*filter).unwrap().write().unwrap(), bytes);
}

/// Keys that a filter takes after it became one of the library's, or from another one by merging, leave the file that
/// they leave when it is built from all of them.
#[test]
fn converted_filters_take_keys_and_merge() {
    let insert = |filter: &mut Foreign, keys: std::ops::Range<i64>| {
        keys.for_each(|i| assert!(filter.insert(Keys::Items.member(i)).is_ok()));
    };
    for name in CONVERTED {
        let format = Format::named(name).unwrap();
        let Ok(mut all) = format.create(400, 0.01) else { continue };
        let [mut some, mut others] = [(); 2].map(|()| format.create(400, 0.01).unwrap());
        insert(&mut all, 0..200);
        insert(&mut some, 0..150);
        insert(&mut others, 150..200);
        let expected = all.write().unwrap();
        let mut filter = some.to_filter().unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut merged = some.to_filter().unwrap();
        for key in (150..200).map(|i| bytes(&Keys::Items.member(i))) {
            let record = everbloom::Record::key(&key);
            filter.as_insert().unwrap().insert(record).unwrap();
        }
        merged.as_merge().unwrap().merge(&*others.to_filter().unwrap()).unwrap();
        for (how, filter) in [("inserted", &*filter), ("merged", &*merged)] {
            let written = format.adopt(filter).unwrap().write().unwrap();
            let same = match *name {
                // RedisBloom's planned rate is not kept.
                "redisbloom" => written[HEAD..] == expected[HEAD..],
                // A merged filter estimates its number of keys.
                "dcso" if how == "merged" => written[48..] == expected[48..],
                _ => written == expected,
            };
            assert!(same, "{name}, {how}");
        }
    }
}

/// Bytes of a RedisBloom filter of one layer before its bits.
const HEAD: usize = 20 + 53;

#[test]
fn what_does_not_convert_says_so() {
    let layers = opened("redisbloom", &chunks("redisbloom_scandump_scaling.json")).unwrap();
    assert!(layers.to_filter().is_err_and(|e| e.to_string().contains("layers")));
    let others = FILES.iter().filter(|(format, ..)| !CONVERTED.contains(format));
    for (format, name, _) in others {
        assert!(opened(format, &sample(name)).unwrap().to_filter().is_err(), "{name}");
    }
    // A filter of our own has other bits than any of them.
    let mut ours = everbloom::Bloom::with_rate(100, 0.01).unwrap();
    let mut blocked = everbloom::BlockedBloom::with_rate(100, 0.01).unwrap();
    ours.insert("apple");
    blocked.insert("apple");
    for format in CONVERTED.iter().map(|name| Format::named(name).unwrap()) {
        assert!(format.adopt(&ours).is_err() && format.adopt(&blocked).is_err(), "{format:?}");
    }
}

/// By Spark 4.3's own Murmur3_x86_32.hashUnsafeBytes, with a tail of a byte above 127.
#[test]
fn sparks_hash_takes_the_bytes_of_a_tail_as_signed() {
    use everbloom::internals::hash::murmur3_spark;
    assert_eq!(murmur3_spark("café".as_bytes(), 0), 0x9032_de76);
    assert_eq!(murmur3_spark("café".as_bytes(), 42), 0xaee2_a634);
    assert_eq!(murmur3_spark(b"item-1", 42), 0x65e8_6423);
}
