#!/usr/bin/env python3
"""A reader of .evb files that follows FORMAT.md; Python 3, standard library only.

    everbloom_reader.py FILE < QUERIES          the queries, one a line, that may be members
    everbloom_reader.py FILE FILE … < QUERIES   the same for each file, its name and a TAB in front
    everbloom_reader.py --tree FILE             the state tree

It shows how the format is read; it is not fast. Variants: see MEMBERSHIP at the end.
"""

import json
import struct
import sys
from array import array

from everbloom_hashes import M64, crc32c, digest, fold, mix64, u64

MAGIC = b"\x89EVB\r\n\x1a\n"
READING = 1  # the required feature of files that say how their keys were read


class Corrupt(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Corrupt(what)


# The container


class File:
    """The prefix, the tree as nested dicts and lists, and the arrays inside it as `Words`."""

    def __init__(self, data):
        check(data[:8] == MAGIC, "the magic number is another one")
        major, _minor, required, _optional = struct.unpack_from("<HHII", data, 8)
        check(major == 1, f"major version {major}")
        check(required & ~READING == 0, f"unknown features {required:#x}")
        self.variant, self.hash, self.seed, self.items = struct.unpack_from("<HHQQ", data, 20)
        tree, payload, length = struct.unpack_from("<QQQ", data, 56)
        head = 80 + tree
        start = -(-(head + 4) // 64) * 64
        chunks = -(-payload // 65536)
        check(length == len(data) == start + payload + 4 * chunks, "a file of another length")
        check(crc32c(data[:head]) == int.from_bytes(data[head : head + 4], "little"), "the header's checksum")
        check(not any(data[head + 4 : start]), "padding that is not zero")
        self.payload = data[start : start + payload]
        for i in range(chunks):
            at = start + payload + 4 * i
            crc = crc32c(self.payload[65536 * i : 65536 * (i + 1)])
            check(crc == int.from_bytes(data[at : at + 4], "little"), f"the checksum of chunk {i}")
        self.at = 0
        groups = self.group(data[80:head])
        check(self.at == payload, "a payload longer than its arrays")
        self.filter, self.reading = groups["filter"], groups.get("reading")

    def group(self, tree):
        return dict(self.fields(tree))

    def fields(self, tree):
        at = 0
        while at < len(tree):
            tag, size = tree[at], tree[at + 1]
            name = tree[at + 2 : at + 2 + size].decode("ascii")
            value, at = self.value(tag, tree, at + 2 + size)
            yield name, value

    def value(self, tag, tree, at):
        if tag == 1:
            return u64(tree, at), at + 8
        if tag == 2:
            return struct.unpack_from("<d", tree, at)[0], at + 8
        if tag == 4:
            elements, words = struct.unpack_from("<QQ", tree, at)
            return self.array(elements, words), at + 16
        check(tag in (3, 5, 6), f"a field with the tag {tag}")
        at += 4 if tag == 6 else 0
        end = at + 4 + int.from_bytes(tree[at : at + 4], "little")
        inside = tree[at + 4 : end]
        if tag == 3:
            return inside, end
        return ([value for _, value in self.fields(inside)] if tag == 6 else self.group(inside)), end

    def array(self, elements, words):
        values = array("Q", self.payload[self.at : self.at + 8 * words])
        if sys.byteorder == "big":
            values.byteswap()
        check(len(values) == words, "an array beyond the payload")
        self.at = -(-(self.at + 8 * words) // 64) * 64
        return Words(elements, values)


class Words:
    """The elements of an array, in 64-bit words."""

    def __init__(self, elements, words):
        self.elements, self.words = elements, words

    def bit(self, i):
        return self.words[i >> 6] >> (i & 63) & 1

    def bits(self, at, width):
        """`width` bits from bit `at` on, lowest first."""
        word, shift = at >> 6, at & 63
        value = self.words[word] >> shift
        if shift + width > 64:
            value |= self.words[word + 1] << (64 - shift)
        return value & ((1 << width) - 1)


def packed(group):
    """The fields of a group {width, fields}, by number."""
    width, fields = group["width"], group["fields"]
    return lambda i: fields.bits(i * width, width)


# Digests and probes


def scaled(word, n):
    """⌊word·n / 2⁶⁴⌋, by a product of 128 bits."""
    return word * n >> 64


def word(d, salt):
    return mix64(d[0] ^ mix64(d[1] + salt & M64))


def salted(d, salt):
    s = mix64(salt ^ 0x5851F42D4C957F2D)
    turned = (d[0] << 32 | d[0] >> 32) & M64
    return mix64(d[0] ^ s), mix64((d[1] + s & M64) ^ turned)


GOLDEN = 0x9E3779B97F4A7C15
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def double(p, d):
    m, x = p["m"], d[0] % p["m"]
    step = (d[1] | 1) % m or 1
    return ((x + i * step) % m for i in range(p["k"]))


def enhanced(p, d):
    m, x, y = p["m"], d[0] % p["m"], d[1] % p["m"]
    return ((x + i * y + (i**3 - i) // 6) % m for i in range(p["k"]))


def ring(p, d):
    x, y = d
    for i in range(p["k"]):
        yield scaled(x, p["m"])
        x, y = x + y & M64, y + (i + 1) * GOLDEN & M64


def mixed(p, d):
    return (scaled(word(d, i), p["m"]) for i in range(p["k"]))


def partitioned(p, d):
    return (i * p["slice"] + scaled(word(d, i), p["slice"]) for i in range(p["k"]))


def folded(p, d):
    for i in range(p["k"]):
        c = (i + 1) * GOLDEN & M64
        yield i * p["slice"] + scaled(fold((d[0] + c) & M64, d[1] ^ c), p["slice"])


def multiplied(p, d):
    return (i * p["slice"] + scaled(d[0] * (mix64(i) | 1) & M64, p["slice"]) for i in range(p["k"]))


def blocked(p, d):
    start, bits = p["block"] * scaled(d[0], p["blocks"]), p["block"].bit_length() - 1
    rest, left, turn = d[1], 64, 0
    for _ in range(p["k"]):
        if left < bits:
            turn += 1
            rest, left = mix64(d[1] ^ turn << 32), 64
        yield start + (rest & p["block"] - 1)
        rest, left = rest >> bits, left - bits


def rounds(p, d, bit):
    """One bit in each of the eight lanes of a line, k/8 times."""
    start = 512 * scaled(d[0], p["blocks"])
    for i in range(p["k"]):
        h = d[1] if i < 8 else mix64(d[1] ^ i // 8)
        yield start + 64 * (i % 8) + bit(h, i % 8)


def fields(p, d):
    return rounds(p, d, lambda h, lane: h >> (16 + 6 * lane) & 63)


def lanes(p, d):
    return rounds(p, d, lambda h, lane: (h * (SALTS[lane] >> 6 | 1) & 0xFFFFFFFF) >> 26)


SCHEMES = {1: double, 2: enhanced, 3: ring, 4: mixed, 5: partitioned, 6: blocked, 7: fields, 8: lanes, 20: folded, 21: multiplied}


def prober(p):
    scheme = SCHEMES[p["scheme"]]
    return lambda d: scheme(p, d)


# Variants: from a file to a function of a digest


def all_bits(f):
    probe, bit = prober(f["probe"]), f["bits"].bit
    return lambda d: all(map(bit, probe(d)))


def all_cells(f):
    """No cell of the key is zero: counters, levels, cells."""
    cell = packed(f.get("counters") or f["cells"])
    probe = prober(f["probe"])
    return lambda d: all(cell(i) for i in probe(d))


def plain_bits(file):
    return all_bits(file.filter)


def plain_cells(file):
    return all_cells(file.filter)


def patterns(f):
    """The masks of `blocked`, made by SplitMix64 from one seed."""
    p, state, masks = f["probe"], 0x7061747465726E73, []
    for _ in range(f["patterns"]):
        mask = 0
        for _ in range(p["k"]):
            mask |= 1 << scaled(mix64(state), p["block"])
            state = state + GOLDEN & M64
        masks.append(mask)
    return masks


def blocked_bloom(file):
    f = file.filter
    if f["patterns"] == 0:
        return all_bits(f)
    p, masks = f["probe"], patterns(f)
    size, words = p["block"] // 64, f["bits"].words

    def contains(d):
        at = size * scaled(d[0], p["blocks"])
        held = sum(word << 64 * i for i, word in enumerate(words[at : at + size]))
        mask = masks[scaled(d[1], len(masks))]
        return held & mask == mask

    return contains


def split_block(file):
    bits = file.filter["bits"]
    blocks = bits.elements // 256

    def contains(d):
        start, low = 256 * ((d[0] >> 32) * blocks >> 32), d[0] & 0xFFFFFFFF
        return all(bits.bit(start + 32 * j + ((low * SALTS[j] & 0xFFFFFFFF) >> 27)) for j in range(8))

    return contains


def one_hash(file):
    f, starts = file.filter, [0]
    for part in f["parts"]:
        starts.append(starts[-1] + part)
    return lambda d: all(f["bits"].bit(start + d[0] % part) for start, part in zip(starts, f["parts"]))


def scalable(file):
    layers = [all_bits(layer) for layer in file.filter["layers"]]
    return lambda d: any(layer(salted(d, i)) for i, layer in enumerate(layers))


def dynamic(file):
    filters = [all_bits(part) if "bits" in part else all_cells(part) for part in file.filter["filters"]]
    return lambda d: any(part(d) for part in filters)


def forest(file):
    directory, pages = file.filter["directory"], file.filter["pages"]
    s = directory["shape"]
    places = {block["id"]: place for place, block in enumerate(directory["blocks"])}
    m, k = s["page_bits"], s["k"]
    least = 100 * 0.6931471805599453 * 60 * 2.0**k / k**3.5
    probe = ring if m >= 65536 and m >= least else mixed

    def contains(d):
        page, layer = scaled(word(d, 2**32 + 1), s["pages"]), 0
        block = 1 + scaled(word(d, 2**32), s["blocks"])
        while block in places:
            held = pages[places[block] * s["pages"] + page]
            if all(map(held.bit, probe({"m": m, "k": k}, salted(d, layer)))):
                return True
            child = 1 + scaled(word(d, 2**32 + 2 + layer), s["children"])
            block = s["blocks"] + (block - 1) * s["children"] + child
            layer += 1
        return False

    return contains


def decoded(coded):
    """The bits of a coded bit array, as the set of the rarer symbol's places and whether those are ones."""
    m, ones = coded["bits"], coded["ones"]
    rare_is_one = ones <= m - ones
    rare = ones if rare_is_one else m - ones
    code = coded["code"]
    data = b"".join(w.to_bytes(8, "little") for w in code.words)[: code.elements]
    shift, q = 0, [(m - rare) * 2**62 // m] if rare else []
    while rare and q[-1] > 2**61:
        q.append(q[-1] ** 2 // 2**62)
        shift += 1
    at, width, value = 8, M64, int.from_bytes(data[:8].ljust(8, b"\0"), "big")

    def coin(bias):
        nonlocal at, width, value
        t = (width >> 32) * bias
        one = value < t
        if one:
            width = t
        else:
            value, width = value - t, width - t
        while width < 2**56:
            value = value << 8 | (data[at] if at < len(data) else 0)
            at, width = at + 1, width << 8
        return one

    places, place = set(), -1
    for _ in range(rare):
        gap = 0
        while coin(max(1, q[shift] >> 30)):
            gap += 1 << shift
        gap += sum(coin(q[j] * 2**32 // (2**62 + q[j])) << j for j in range(shift))
        place += gap + 1
        places.add(place)
    return places, rare_is_one


def compressed(file):
    probe = prober(file.filter["probe"])
    places, rare_is_one = decoded(file.filter["bits"])
    return lambda d: all((i in places) == rare_is_one for i in probe(d))


def golomb(file):
    f = file.filter
    b, bit = f["parameter"], f["codes"].bit
    w = b.bit_length() - 1
    cut = 2 ** (w + 1) - b
    at, value, values = 0, 0, []
    for _ in range(f["entries"]):
        quotient = 0
        while bit(at):
            quotient, at = quotient + 1, at + 1
        rest = f["codes"].bits(at + 1, w) if w else 0
        at += 1 + w
        if rest >= cut:
            rest, at = 2 * rest + bit(at) - cut, at + 1
        value += quotient * b + rest
        values.append(value)
    range_, known = f["planned"] * f["spread"], set(values)
    return lambda d: scaled(d[0], range_) in known


def binary_fuse(file):
    f = file.filter
    g, seed = f["geometry"], f["seed"]
    segment, mask, starts = g["segment"], g["segment"] - 1, g["starts"]
    r, cell = f["cells"]["width"], packed(f["cells"])
    later = (g["arity"] - 1) * segment
    gap = later if f["cells"]["fields"].elements > starts + later else 0

    def contains(d):
        h = (fold(d[0] ^ seed, GOLDEN) if seed else d[0]) & ~31
        first = scaled(h, starts)
        first += first // (128 * segment) * gap
        source, shifts = (h, (23, 5)) if g["arity"] == 3 else (mix64(h), (0, 20, 40))
        total = (h * 0xA54FF53A5F1D36F1 & M64) >> (64 - r) ^ cell(first)
        for j, shift in enumerate(shifts, 1):
            total ^= cell(first + j * segment ^ source >> shift & mask)
        return total == 0

    return contains if starts else lambda d: False


def ribbon(file):
    f = file.filter
    r, homogeneous = f["bits"], f["head"] == b"homogeneous"
    layers = [(layer, packed(layer["thresholds"])) for layer in f["layers"]]

    def contains(d):
        h = d[0]
        for layer, threshold in layers:
            h = fold(h ^ layer["seed"], GOLDEN)
            start = scaled(h, layer["starts"])
            if layer["thresholds"]["fields"].elements and start % 128 < (0, 25, 49, 128)[threshold(start // 128)]:
                continue
            coefficients = mix64(h ^ 1) | 1
            want = 0 if homogeneous else mix64(h ^ 2)
            for j in range(r):
                ones = row(layer["slots"].words, start, j, r) & coefficients
                if (bin(ones).count("1") ^ want >> j) & 1:
                    return False
            return True
        return False

    return contains


def row(words, start, j, r):
    """Bit j of the 64 slots from `start` on: slot s has it in bit s mod 64 of word ⌊s/64⌋·r + j."""
    at, shift = start // 64 * r + j, start % 64
    here = words[at] >> shift
    return here | words[at + r] << (64 - shift) & M64 if shift else here


def bloomier(file):
    f = file.filter
    probe, table, check_bits = prober(f["probe"]), packed(f["table"]), f["check_bits"]
    width = f["table"]["width"]
    values = packed(f["values"][0]) if f["values"] else None
    part = f["probe"]["k"] * f["probe"]["slice"]
    parts = f["table"]["fields"].elements // part

    def contains(d):
        first = part * scaled(d[0], parts)
        d = salted(d, f["salt"])
        total, cells = word(d, 2**32) & (1 << width) - 1, [first + cell for cell in probe(d)]
        for cell in cells:
            total ^= table(cell)
        if total & (1 << check_bits) - 1:
            return False
        value = total >> check_bits
        if values:
            if value >= 3:
                return False
            value = values(cells[value])
        return not f["labels"] or value < len(f["labels"][0])

    return contains if file.items else lambda d: False


NIBBLES = [n for n in range(65536) if n & 15 <= n >> 4 & 15 <= n >> 8 & 15 <= n >> 12]


def slots(group):
    """The slots of a bucket, by its number; how many buckets there are; and bits of a slot."""
    room, cells, cell = group["room"], group["cells"], packed(group["cells"])
    if not group["sorted"]:
        bucket = lambda b: [cell(b * room + i) for i in range(room)]
        return bucket, cells["fields"].elements // room, cells["width"]
    width = cells["width"] // 4 + 1
    low = width - 4

    def sorted_bucket(b):
        code = cell(b)
        nibbles, rest = NIBBLES[code & 4095], code >> 12
        return [(nibbles >> 4 * i & 15) << low | rest >> i * low & (1 << low) - 1 for i in range(4)]

    return sorted_bucket, cells["fields"].elements, width


def cuckoo(file):
    f = file.filter
    scaling = f["scaling"] == 1
    tables = [slots(table["slots"]) for table in (f["filters"] if scaling else [f])]

    def contains(d):
        for bucket, buckets, width in tables:
            most = 2**width - 1
            if scaling:
                first, print_ = d[0] % buckets, 1 + d[0] % most
                other = first ^ print_ * 0x5BD1E995 % buckets
            else:
                first, print_ = scaled(d[0], buckets), 1 + scaled(d[1], most)
                other = first ^ mix64(print_) % buckets
            if print_ in bucket(first) or print_ in bucket(other):
                return True
        return False

    return contains


def quotient(file):
    runs = file.filter["runs"]
    width, size, held = (ranked if runs["marks"] == 1 else marked)(runs["slots"])

    def contains(d):
        h = scaled(word(d, 0x51), size << width)
        return h in held

    return contains


def ranked(s):
    """The fingerprints of `rank-select`: runs stand in the order of the occupied quotients."""
    size, width, value, offset = s["occupied"].elements, s["values"]["width"], packed(s["values"]), packed(s["offsets"])
    first = next(b for b in range(size // 64) if offset(b) < 64)
    limit, held = 64 * first + offset(first), set()
    for q in range(64 * first, 64 * first + size):
        if not s["occupied"].bit(q % size):
            continue
        at = max(limit, q)
        while True:
            held.add(q % size << width | value(at % size))
            at += 1
            if s["ends"].bit((at - 1) % size):
                break
        limit = at
    return width, size, held


def marked(s):
    """The fingerprints of `status-bits`: bit 0 occupied, bit 1 continuation, bit 2 shifted."""
    size, width, slot = s["slots"]["fields"].elements, s["slots"]["width"] - 3, packed(s["slots"])
    empty = next(i for i in range(size) if not slot(i) & 7)
    waiting, owner, held = [], None, set()
    for i in range(empty, empty + size):
        cell = slot(i % size)
        if cell & 1:
            waiting.append(i % size)
        if not cell & 7:
            continue
        if not cell & 2:
            owner = waiting.pop(0)
        held.add(owner << width | cell >> 3)
    return width, size, held


def count_min(file):
    level = file.filter["levels"][0]
    probe, words = prober(level["probe"]), level["cells"].words
    signed = file.filter["head"] == b"signed"

    def contains(d):
        counts = sorted(words[i] - (words[i] >> 63 << 64) for i in probe(d))
        return counts[(len(counts) - 1) // 2] != 0 if signed else counts[0] > 0

    return contains


MEMBERSHIP = {
    1: plain_bits,  # bloom
    2: plain_bits,  # partitioned
    3: blocked_bloom,
    4: plain_cells,  # counting
    5: scalable,
    6: bloomier,
    8: plain_cells,  # stable
    33: one_hash,
    41: forest,
    43: compressed,
    46: golomb,
    54: split_block,
    55: binary_fuse,
    56: ribbon,
    57: plain_bits,  # deletable
    58: plain_cells,  # conservative-update
    64: count_min,
    67: dynamic,
    103: cuckoo,
    108: quotient,
}


def filter_of(file):
    check(file.variant in MEMBERSHIP, f"variant {file.variant} is not read here")
    check(file.hash != 4, "a keyed filter needs its key")
    contains = MEMBERSHIP[file.variant](file)
    return lambda key: contains(digest(file.hash, key, file.seed))


def key_of(line, reading):
    """The key that a line spells, as the file says; keys are the bytes of the line if it says nothing."""
    if not reading:
        return line
    check(not reading["ancestors"] or reading["ancestors"] in (b"paths", b"names", b"prefixes"), "unknown ancestors")
    if reading["fold_case"]:
        line = line.lower()
    return (int(line) & M64).to_bytes(8, "little") if reading["key_type"] == b"u64" else line


def plain(value):
    """The tree as JSON can show it."""
    if isinstance(value, Words):
        return f"{value.elements} elements in {len(value.words)} words"
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {name: plain(inside) for name, inside in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def opened(path):
    with open(path, "rb") as data:
        return File(data.read())


def main(args):
    if args[:1] == ["--tree"] and len(args) == 2:
        print(json.dumps(plain(opened(args[1]).filter), indent=2))
        return 0
    if not args or args[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    queries = sys.stdin.buffer.read().split(b"\n")
    if not queries[-1]:
        queries.pop()
    for path in args:
        try:
            file = opened(path)
            contains = filter_of(file)
        except Corrupt as fault:
            print(f"{path}: {fault}", file=sys.stderr)
            return 2
        front = path.encode() + b"\t" if len(args) > 1 else b""
        found = (q for q in queries if contains(key_of(q, file.reading)))
        sys.stdout.buffer.writelines(front + q + b"\n" for q in found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
