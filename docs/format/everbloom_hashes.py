"""The hashes of FORMAT.md: CRC-32C, XXH3-64, XXH3-128, XXH64, MurmurHash64A, and digests by hash id.

XXH3 and XXH64 follow the specification that comes with xxHash. Numbers are little-endian, arithmetic is modulo 2**64.
"""

from functools import lru_cache

M32, M64 = 2**32 - 1, 2**64 - 1

CRC_TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    CRC_TABLE.append(value)


def crc32c(data):
    crc = M32
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ M32


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def rotl64(x, by):
    return (x << by | x >> (64 - by)) & M64


def swapped(x, size):
    return int.from_bytes(x.to_bytes(size, "little"), "big")


def fold(a, b):
    """The exclusive or of the two halves of the 128-bit product."""
    product = a * b
    return product & M64 ^ product >> 64


def mix64(x):
    z = (x + 0x9E3779B97F4A7C15) & M64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


# XXH64 and XXH3

P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def avalanche64(h):
    h = (h ^ h >> 33) * P64[1] & M64
    h = (h ^ h >> 29) * P64[2] & M64
    return h ^ h >> 32


def avalanche(h):
    h = (h ^ h >> 37) * MX1 & M64
    return h ^ h >> 32


def round64(lane, word):
    return rotl64((lane + word * P64[1]) & M64, 31) * P64[0] & M64


def xxh64(data, seed):
    at, length = 0, len(data)
    if length < 32:
        h = seed + P64[4]
    else:
        lanes = [(seed + start) & M64 for start in (P64[0] + P64[1], P64[1], 0, -P64[0])]
        while at + 32 <= length:
            lanes = [round64(lane, u64(data, at + 8 * i)) for i, lane in enumerate(lanes)]
            at += 32
        h = sum(rotl64(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & M64
        for lane in lanes:
            h = ((h ^ round64(0, lane)) * P64[0] + P64[3]) & M64
    h = (h + length) & M64
    while at + 8 <= length:
        h = (rotl64(h ^ round64(0, u64(data, at)), 27) * P64[0] + P64[3]) & M64
        at += 8
    if at + 4 <= length:
        h = (rotl64(h ^ u32(data, at) * P64[0] & M64, 23) * P64[1] + P64[2]) & M64
        at += 4
    for byte in data[at:]:
        h = rotl64(h ^ byte * P64[4] & M64, 11) * P64[0] & M64
    return avalanche64(h)


def pair(at, step=8):
    """The exclusive or of two neighboring words of the secret."""
    read = u64 if step == 8 else u32
    return read(SECRET, at) ^ read(SECRET, at + step)


def mixed(data, at, secret_at, seed):
    left = u64(data, at) ^ (u64(SECRET, secret_at) + seed & M64)
    right = u64(data, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & M64)
    return fold(left, right)


def accumulated(data, seed):
    """The eight accumulators of inputs longer than 240 bytes, and the secret under the seed."""
    words = [u64(SECRET, at) + (-seed if at % 16 else seed) & M64 for at in range(0, 192, 8)]
    secret = b"".join(word.to_bytes(8, "little") for word in words)
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def stripe(at, secret_at):
        for i in range(8):
            word = u64(data, at + 8 * i)
            keyed = word ^ u64(secret, secret_at + 8 * i)
            acc[i ^ 1] = (acc[i ^ 1] + word) & M64
            acc[i] = (acc[i] + (keyed & M32) * (keyed >> 32)) & M64

    for number in range((len(data) - 1) // 64):
        stripe(64 * number, number % 16 * 8)
        if number % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ u64(secret, 128 + 8 * i)) * P32[0] & M64
    stripe(len(data) - 64, 121)
    return acc, secret


def merged(acc, secret, secret_at, start):
    parts = (fold(acc[i] ^ u64(secret, secret_at + 8 * i), acc[i + 1] ^ u64(secret, secret_at + 8 * i + 8)) for i in (0, 2, 4, 6))
    return avalanche((start + sum(parts)) & M64)


def xxh3_64(data, seed):
    length = len(data)
    if length == 0:
        return avalanche64(seed ^ pair(56))
    if length <= 3:
        combined = data[-1] | length << 8 | data[0] << 16 | data[length >> 1] << 24
        return avalanche64(pair(0, 4) + seed & M64 ^ combined)
    if length <= 8:
        seed ^= swapped(seed & M32, 4) << 32
        h = pair(8) - seed & M64 ^ (u32(data, length - 4) | u32(data, 0) << 32)
        h = (h ^ rotl64(h, 49) ^ rotl64(h, 24)) * MX2 & M64
        h = (h ^ (h >> 35) + length) * MX2 & M64
        return h ^ h >> 28
    if length <= 16:
        low = pair(24) + seed & M64 ^ u64(data, 0)
        high = pair(40) - seed & M64 ^ u64(data, length - 8)
        return avalanche((length + swapped(low, 8) + high + fold(low, high)) & M64)
    if length <= 128:
        acc = length * P64[0]
        for i in range((length - 1 >> 5) + 1):
            acc += mixed(data, 16 * i, 32 * i, seed) + mixed(data, length - 16 * i - 16, 32 * i + 16, seed)
        return avalanche(acc & M64)
    if length <= 240:
        acc = length * P64[0] + sum(mixed(data, 16 * i, 16 * i, seed) for i in range(8))
        acc = avalanche(acc & M64)
        acc += sum(mixed(data, 16 * i, 16 * i - 125, seed) for i in range(8, length >> 4))
        return avalanche(acc + mixed(data, length - 16, 119, seed) & M64)
    acc, secret = accumulated(data, seed)
    return merged(acc, secret, 11, length * P64[0])


def xxh3_128(data, seed):
    """The low and the high word."""
    length = len(data)
    if length == 0:
        return avalanche64(seed ^ pair(64)), avalanche64(seed ^ pair(80))
    if length <= 3:
        combined = data[-1] | length << 8 | data[0] << 16 | data[length >> 1] << 24
        turned = swapped(combined, 4)
        turned = (turned << 13 | turned >> 19) & M32
        return avalanche64(pair(0, 4) + seed & M64 ^ combined), avalanche64(pair(8, 4) - seed & M64 ^ turned)
    if length <= 8:
        seed ^= swapped(seed & M32, 4) << 32
        product = (pair(16) + seed & M64 ^ (u32(data, 0) | u32(data, length - 4) << 32)) * (P64[0] + 4 * length)
        high = (product >> 64) + (product << 1) & M64
        low = product & M64 ^ high >> 3
        low = (low ^ low >> 35) * MX2 & M64
        return low ^ low >> 28, avalanche(high)
    if length <= 16:
        first, last = u64(data, 0), u64(data, length - 8)
        product = (pair(32) - seed & M64 ^ first ^ last) * P64[0]
        other = pair(48) + seed & M64 ^ last
        low = (product & M64) + (length - 1 << 54) & M64
        high = (product >> 64) + (other & ~M32) + (other & M32) * P32[1] & M64
        product = (low ^ swapped(high, 8)) * P64[1]
        return avalanche(product & M64), avalanche((product >> 64) + high * P64[1] & M64)
    if length > 240:
        acc, secret = accumulated(data, seed)
        return merged(acc, secret, 11, length * P64[0]), merged(acc, secret, 117, ~(length * P64[1]) & M64)
    acc = [length * P64[0] & M64, 0]

    def both(one, two, secret_at, seed):
        acc[0] = acc[0] + mixed(data, one, secret_at, seed) & M64 ^ (u64(data, two) + u64(data, two + 8) & M64)
        acc[1] = acc[1] + mixed(data, two, secret_at + 16, seed) & M64 ^ (u64(data, one) + u64(data, one + 8) & M64)

    if length <= 128:
        for i in reversed(range((length - 1 >> 5) + 1)):
            both(16 * i, length - 16 * i - 16, 32 * i, seed)
    else:
        for i in range(length >> 5):
            if i == 4:
                acc = [avalanche(word) for word in acc]
            both(32 * i, 32 * i + 16, 32 * i if i < 4 else 32 * i - 125, seed)
        if length >> 5 == 4:
            acc = [avalanche(word) for word in acc]
        both(length - 16, length - 32, 103, -seed & M64)
    high = acc[0] * P64[0] + acc[1] * P64[3] + (length - seed) * P64[1]
    return avalanche(acc[0] + acc[1] & M64), -avalanche(high & M64) & M64


def murmur64a(data, seed):
    m, length = 0xC6A4A7935BD1E995, len(data)
    h = (seed ^ length * m) & M64
    for at in range(0, length - 7, 8):
        k = u64(data, at) * m & M64
        h = (h ^ (k ^ k >> 47) * m & M64) * m & M64
    if length % 8:
        h = (h ^ u64(data, length - length % 8)) * m & M64
    h = (h ^ h >> 47) * m & M64
    return h ^ h >> 47


# Digests by hash id

K1, K2, K3, K4 = 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xFE94F82B00000001


def widened(h):
    return h, mix64(h ^ 0xA0761D6478BD642F)


def folded(hash_id, data, seed):
    if len(data) == 8:
        start = mix64(seed ^ K3)
        h = fold(u64(data, 0) ^ start, K1)
        if hash_id == 5:
            h = fold(h ^ start, K2)
    else:
        h = xxh3_64(data, seed)
    if hash_id == 5:
        return h, h * K3 & M64
    return h * K2 & M64, h * (K3 if hash_id == 6 else K4) & M64


@lru_cache(maxsize=None)
def digest(hash_id, data, seed):
    """The two words (H1, H2) of a key."""
    if hash_id == 1:
        return xxh3_128(data, seed)
    if hash_id == 2:
        return widened(xxh3_64(data, seed))
    if hash_id == 3:
        return widened(xxh64(data, seed))
    if hash_id in (5, 6, 7):
        return folded(hash_id, data, seed)
    if hash_id == 8:
        return widened(murmur64a(data, seed))
    raise ValueError(f"hash {hash_id} is keyed, or not known here")
