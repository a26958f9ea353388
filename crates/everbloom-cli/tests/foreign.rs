//! Files of other software, from the command line.

mod place;

use std::path::{Path, PathBuf};

use place::{Place, Run};

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../everbloom-formats/tests/samples");
    folder.join(name).display().to_string()
}

fn items() -> String {
    (0..1000).map(|i| format!("item-{i}\n")).collect()
}

#[test]
fn samples_are_recognized_and_answer_for_their_keys() {
    let place = Place::new();
    for name in [
        "guava_MURMUR128_MITZ_64_utf8.bin",
        "spark_V2_strings.bin",
        "dcso.bloom",
        "go_willf_bloom.bin",
        "datasketches_strings.bin",
        "redisbloom_fixed.dump",
        "rocksdb_bloom10.sst",
        "hadoop_DynamicBloomFilter_murmur.bin",
        "mlbf_v2_sha256.bin",
        "pybloomfiltermmap3.bloom",
    ] {
        let file = sample(name);
        assert_eq!(place.ok(&format!("check {file}"), &items()), items(), "{name}");
        let Run { code, out, .. } = place.run(&format!("check {file}"), "nobody\n");
        assert_eq!((code, out.as_str()), (1, ""), "{name}");
        assert!(place.ok(&format!("info {file}"), "").contains("false positives"), "{name}");
    }
}

#[test]
fn what_check_can_it_can_with_foreign_files() {
    let place = Place::new();
    let lines = format!("nobody\n{}", items());
    // One that is asked as a filter of ours, and one as it is.
    for name in ["guava_MURMUR128_MITZ_64_utf8.bin", "go_willf_bloom.bin"] {
        let file = sample(name);
        assert_eq!(place.ok(&format!("check {file} - -v"), &lines), "nobody\n", "{name}");
        assert_eq!(place.ok(&format!("check {file} - -c"), &lines), "1000\n", "{name}");
        assert_eq!(place.ok(&format!("check {file} - -c -v"), &lines), "1\n", "{name}");
        let refused = place.refused(&format!("check {file} - -i"), &lines);
        assert!(refused.contains("-i"), "{refused}");
    }
    place.ok("build - -o ours.evb", "item-7\nnobody\n");
    let both =
        place.ok(&format!("check {} - --in ours.evb", sample("spark_V2_strings.bin")), &lines);
    assert!(
        both.starts_with("nobody\tours\n") && both.contains("item-7\tspark_V2_strings,ours"),
        "{both}"
    );
    let file = sample("go_willf_bloom.bin");
    let refused = place.refused(&format!("check {file} - --in ours.evb"), &lines);
    assert!(refused.contains("--in is only for .evb files"), "{refused}");
}

#[test]
fn numbers_are_what_the_other_software_hashes() {
    let place = Place::new();
    let file = sample("guava_MURMUR128_MITZ_64_long.bin");
    let longs: String = (0..1000).map(|i| format!("{}\n", i * 7919)).collect();
    assert_eq!(place.ok(&format!("check {file} --keys-as long"), &longs), longs);
    let found = place.run(&format!("check {file}"), &longs).out.lines().count();
    assert!(found < 50, "as text they are other keys: {found}");
    let refused = place.run(&format!("check {file} --keys-as long"), "apple\n");
    assert!(refused.code == 2 && refused.err.contains("64-bit decimal integer"), "{}", refused.err);
    let refused = place.refused(&format!("check {file} --keys-as double"), "");
    assert!(refused.contains("--keys-as double"), "{refused}");
}

#[test]
fn a_parquet_file_tells_which_row_groups_may_hold_a_key() {
    let place = Place::new();
    let file = sample("pyarrow26.parquet");
    let table = place.ok(&format!("info {file}"), "");
    for word in ["i64", "i32", "f64", "distinct values"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let answers = place.ok(&format!("check {file} --column i64 --answers"), "7919\n7\n");
    assert_eq!(answers, "present\t7919\t0\nabsent\t7\t\n");
    let refused = place.refused(&format!("check {file}"), "");
    assert!(refused.contains("--column"), "{refused}");
    let refused = place.refused(&format!("check {file} --column nobody"), "");
    assert!(refused.contains("i32"), "{refused}");
}

#[test]
fn parquet_bits_are_taken_over_and_given_back() {
    let place = Place::new();
    let file = sample("parquetmr_bitset_strings.bin");
    let ambiguous = place.refused(&format!("import {file} -o a.evb"), "");
    assert!(ambiguous.contains("parquet") && ambiguous.contains("--format"), "{ambiguous}");
    place.ok(&format!("import {file} --format parquet -o a.evb"), "");
    assert_eq!(place.ok("check a.evb", &items()), items());
    place.ok("export a.evb --format parquet -o b.sbbf", "");
    let (given, written) = (std::fs::read(&file).unwrap(), read(&place, "b.sbbf"));
    assert!(written.ends_with(&given) && written.len() < given.len() + 32);
    assert_eq!(place.ok("check b.sbbf", &items()), items());
    let refused = place.refused(&format!("import {} -o c.evb", sample("go_willf_bloom.bin")), "");
    assert!(refused.contains("no variant"), "{refused}");
    let refused = place.refused("export a.evb --format guava -o c.guava", "");
    assert!(refused.contains("cannot hold the bits of a split-block filter"), "{refused}");
}

#[test]
fn filters_of_other_libraries_are_taken_over_and_given_back() {
    let place = Place::new();
    for (format, name) in [
        ("guava", "guava_MURMUR128_MITZ_32_utf8.bin"),
        ("spark", "spark_V2_strings.bin"),
        ("dcso", "dcso.bloom"),
        ("datasketches", "datasketches_strings.bin"),
    ] {
        let file = sample(name);
        place.ok(&format!("import {file} --format {format} -o a.evb"), "");
        assert_eq!(place.ok("check a.evb", &items()), items(), "{name}");
        place.ok(&format!("export a.evb --format {format} -o b --force"), "");
        assert_eq!(read(&place, "b"), std::fs::read(&file).unwrap(), "{name}");
        // It takes keys like any other filter, and the other software's reader finds them.
        place.ok("add a.evb", "another\n");
        place.ok(&format!("export a.evb --format {format} -o b --force"), "");
        assert_eq!(place.ok(&format!("check b --format {format}"), "another\n"), "another\n");
    }
}

#[test]
fn numbers_that_are_hashed_apart_are_taken_over_as_such() {
    let place = Place::new();
    let longs: String = (0..1000).map(|i| format!("{}\n", i * 7919)).collect();
    let found = |query: &str| place.run(query, &longs).out.lines().count();
    // An ORC file says that its column has numbers; an index of ClickHouse does not.
    place.ok(&format!("import {} --column i64 -o orc.evb", sample("pyarrow.orc")), "");
    assert_eq!(found("check orc.evb --key-type u64"), 1000);
    let import = format!("import {} --column bi --probes 5", sample("clickhouse_skp_idx.packed"));
    place.ok(&format!("{import} --keys-as long -o clickhouse.evb"), "");
    assert_eq!(found("check clickhouse.evb --key-type u64"), 1000);
    place.ok(&format!("{import} -o bytes.evb"), "");
    assert!(found("check bytes.evb --key-type u64") < 100, "bytes are hashed in another way");
}

#[test]
fn an_hfile_answers_for_its_rows() {
    let (place, file) = (Place::new(), sample("hbase_synthetic.hfile"));
    assert_eq!(place.ok(&format!("check {file}"), &items()), items());
    let info = place.ok(&format!("info {file}"), "");
    assert!(info.contains("chunks  2") && info.contains("hbase"), "{info}");
}

fn read(place: &Place, name: &str) -> Vec<u8> {
    std::fs::read(place.folder.path().join(name)).expect("a file")
}

#[test]
fn every_format_that_is_built_answers_for_its_keys() {
    let place = Place::new();
    let list: serde_json::Value = serde_json::from_str(&place.ok("formats --json", "")).unwrap();
    let built: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|format| format["build"] == true)
        .map(|format| format["name"].as_str().unwrap())
        .collect();
    assert!(built.len() > 15, "{built:?}");
    for name in built {
        place.ok(&format!("build - -o x --format {name} --keys-as string --force"), &items());
        let check = format!("check x --format {name} --keys-as string");
        assert_eq!(place.ok(&check, &items()), items(), "{name}");
        let others: String = (0..2000).map(|i| format!("absent-{i}\n")).collect();
        let passed = place.run(&check, &others).out.lines().count();
        assert!(passed < 100, "{name}: {passed} of 2000 pass at 1 %");
    }
}

#[test]
fn what_is_no_filter_is_said_to_be_none() {
    let place = Place::new();
    std::fs::write(place.folder.path().join("text"), "neither fish nor fowl, but a text\n")
        .unwrap();
    let refused = place.refused("info text", "");
    assert!(refused.contains("not an everbloom filter"), "{refused}");
}

#[test]
fn the_page_has_the_table_that_is_printed() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMATS.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let table = Place::new().ok("formats --markdown", "");
    assert!(
        page.contains(&table),
        "docs/FORMATS.md is stale: everbloom formats --markdown prints its table"
    );
}
