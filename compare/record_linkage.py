"""Compares record-linkage keys by anonlink (from PyPI) and by Everbloom, on the same filters.

    pip install anonlink
    python3 compare/record_linkage.py [RECORDS]

Prints the time of a comparison by either, and the ratio; without anonlink it says so and ends well.
"""

import os
import random
import subprocess
import sys
import tempfile
import time

BYTES = 128
THRESHOLD = 0.8


def filters(records, seed):
    """Filters of 1024 bits, about three of ten of them set, and every tenth one like another."""
    generator = random.Random(seed)
    ones = [bit for bit in range(8 * BYTES)]
    made = []
    for i in range(records):
        if i % 10 == 9:
            number = made[i - 1] ^ (1 << generator.randrange(8 * BYTES))
        else:
            number = sum(1 << bit for bit in generator.sample(ones, 3 * 8 * BYTES // 10))
        made.append(number)
    return [number.to_bytes(BYTES, "little") for number in made]


def main():
    try:
        from anonlink.similarities import dice_coefficient_accelerated
        from bitarray import bitarray
    except ImportError as missing:
        print(f"anonlink is left out: {missing}; pip install anonlink")
        return
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    a, b = filters(records, 1), filters(records, 1)[: records // 5]

    def arrays(rows):
        made = []
        for row in rows:
            bits = bitarray(endian="little")
            bits.frombytes(row)
            made.append(bits)
        return made

    datasets = (arrays(a), arrays(b))
    times = []
    for _ in range(5):
        start = time.process_time()
        found = dice_coefficient_accelerated(datasets, THRESHOLD)
        times.append(time.process_time() - start)
    theirs = sorted(times)[len(times) // 2] * 1e9 / (len(a) * len(b))

    folder = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as scratch:
        paths = [os.path.join(scratch, name) for name in ("list", "asked")]
        for path, rows in zip(paths, (a, b)):
            with open(path, "wb") as out:
                out.write(b"".join(rows))
        command = ["cargo", "run", "--release", "--quiet", "--manifest-path", f"{folder}/Cargo.toml"]
        command += ["--", "clk-files", *paths]
        ours, matches = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    print(f"{len(a)} x {len(b)} filters of 1024 bits, Dice of at least {THRESHOLD}")
    print(f"anonlink  {theirs:.2f} ns a comparison, {len(found[0])} matches")
    print(f"everbloom {float(ours):.2f} ns a comparison, {matches} matches")
    print(f"ratio {float(ours) / theirs:.3f}, at most 0.90")


main()
