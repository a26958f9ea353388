"""Opens a filter by the Python package that the format belongs to, and prints the queries on stdin that it finds.

    check.py FORMAT FILE < QUERIES
    check.py --packages       the formats whose packages are here, with versions
    check.py parquet-pruning FILE COLUMN FOLDER < QUERIES     see `pruning`
"""

import sys
from importlib import metadata


def rbloom(path):
    import hashlib
    import rbloom

    def hashed(key):
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "big", signed=True)

    return rbloom.Bloom.load(path, hashed).__contains__


def pyprobables(path):
    from probables import BloomFilter

    return BloomFilter(filepath=path).check


def pybloom_live(path):
    from pybloom_live import BloomFilter

    with open(path, "rb") as file:
        return BloomFilter.fromfile(file).__contains__


def bip37(path):
    from bitcoin.bloom import CBloomFilter

    with open(path, "rb") as file:
        filter = CBloomFilter.stream_deserialize(file)
    return lambda key: filter.contains(key.encode())


def fastbloom_rs(path):
    from fastbloom_rs import BloomFilter

    return BloomFilter.from_file_with_hashes(path).contains_str


def dcso(path):
    from flor import BloomFilter

    filter = BloomFilter()
    with open(path, "rb") as file:
        filter.read(file)
    return lambda key: filter.check(key.encode())


READERS = {
    "rbloom": ("rbloom", rbloom),
    "pyprobables": ("pyprobables", pyprobables),
    "pybloom-live": ("pybloom-live", pybloom_live),
    "bip37": ("python-bitcoinlib", bip37),
    "fastbloom-rs": ("fastbloom-rs", fastbloom_rs),
    "dcso": ("flor", dcso),
}


def packages():
    names = {format: package for format, (package, _) in READERS.items()}
    for format, package in {**names, "parquet-pruning": "duckdb", "parquet-writer": "pyarrow", "jars": "pyspark"}.items():
        try:
            print(format, package, metadata.version(package), sep="\t")
        except metadata.PackageNotFoundError:
            pass


def jars():
    """The folder of the jars that pyspark brings."""
    import os
    import pyspark

    print(os.path.join(os.path.dirname(pyspark.__file__), "jars"))


def write_parquet(path, groups, rows):
    """A Parquet file of one text column, its values `item-I`, in so many groups of rows, with filters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # In an order that leaves nothing to the statistics: every group reaches from the least value to the greatest.
    values = [f"item-{i}" for group in range(groups) for i in range(group, groups * rows, groups)]
    options = {"s": {"ndv": rows, "fpp": 0.01}}
    table = pa.table({"s": values})
    pq.write_table(table, path, row_group_size=rows, bloom_filter_options=options, use_dictionary=False)


def pruning(path):
    """Which row groups DuckDB rules out by their filters for each query: a line of the query and their numbers."""
    import duckdb

    connection = duckdb.connect()

    def ruled_out(key):
        rows = connection.execute("SELECT row_group_id, bloom_filter_excludes FROM parquet_bloom_probe(?, 's', ?)", [path, key])
        return sorted(group for group, excluded in rows.fetchall() if excluded)

    for key in sys.stdin.read().split("\n")[:-1]:
        found = connection.execute("SELECT count(*) FROM read_parquet(?) WHERE s = ?", [path, key]).fetchone()[0]
        print(key, found, ",".join(map(str, ruled_out(key))), sep="\t")


def main(args):
    if args == ["--packages"]:
        packages()
    elif args == ["--jars"]:
        jars()
    elif args[0] == "write-parquet":
        write_parquet(args[1], int(args[2]), int(args[3]))
    elif args[0] == "parquet-pruning":
        pruning(args[1])
    else:
        contains = READERS[args[0]][1](args[1])
        for key in sys.stdin.read().split("\n")[:-1]:
            if contains(key):
                print(key)


if __name__ == "__main__":
    main(sys.argv[1:])
