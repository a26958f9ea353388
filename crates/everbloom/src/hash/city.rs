//! CityHash64 of version 1.0.2, which ClickHouse froze; later versions give other values.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MUL: u64 = 0x9ddf_ea08_eb38_2d69;

/// Two words as one (`Hash128to64`).
#[inline]
pub fn city_128_to_64(low: u64, high: u64) -> u64 {
    let a = mixed((low ^ high).wrapping_mul(MUL));
    let b = mixed((high ^ a).wrapping_mul(MUL));
    b.wrapping_mul(MUL)
}

/// CityHash64 1.0.2 of some bytes.
pub fn city_64(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    match len {
        0..=16 => short(bytes),
        17..=32 => {
            let a = word(bytes, 0).wrapping_mul(K1);
            let b = word(bytes, 8);
            let c = word(bytes, len - 8).wrapping_mul(K2);
            let d = word(bytes, len - 16).wrapping_mul(K0);
            let low = sum([a.wrapping_sub(b).rotate_right(43), c.rotate_right(30), d]);
            let high = sum([a, (b ^ K3).rotate_right(20), len as u64]).wrapping_sub(c);
            city_128_to_64(low, high)
        }
        33..=64 => middle(bytes),
        _ => long(bytes),
    }
}

fn short(bytes: &[u8]) -> u64 {
    let len = bytes.len() as u64;
    match bytes.len() {
        9.. => {
            let (a, b) = (word(bytes, 0), word(bytes, bytes.len() - 8));
            b ^ city_128_to_64(a, b.wrapping_add(len).rotate_right(len as u32))
        }
        4.. => city_128_to_64(len + (half(bytes, 0) << 3), half(bytes, bytes.len() - 4)),
        1.. => {
            let [a, b, c] = [0, bytes.len() / 2, bytes.len() - 1].map(|i| u64::from(bytes[i]));
            let (y, z) = (a + (b << 8), len + (c << 2));
            mixed(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

/// Both ends of 33 to 64 bytes, each mixed in the same way.
fn middle(bytes: &[u8]) -> u64 {
    let end = bytes.len();
    let mix = |start: u64, z: u64, [x, y]: [u64; 2]| {
        let (b, c) = (start.wrapping_add(z).rotate_right(52), start.rotate_right(37));
        let a = start.wrapping_add(x);
        let c = c.wrapping_add(a.rotate_right(7));
        let a = a.wrapping_add(y);
        [a.wrapping_add(z), sum([b, a.rotate_right(31), c])]
    };
    let scaled = (end as u64).wrapping_add(word(bytes, end - 16)).wrapping_mul(K0);
    let start = word(bytes, 0).wrapping_add(scaled);
    let [vf, vs] = mix(start, word(bytes, 24), [word(bytes, 8), word(bytes, 16)]);
    let start = word(bytes, 16).wrapping_add(word(bytes, end - 32));
    let inner = [word(bytes, end - 24), word(bytes, end - 16)];
    let [wf, ws] = mix(start, word(bytes, end - 8), inner);
    let both = vf.wrapping_add(ws).wrapping_mul(K2);
    let r = mixed(both.wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    mixed(r.wrapping_mul(K0).wrapping_add(vs)).wrapping_mul(K2)
}

/// Blocks of 64 bytes, over a state that the last 64 bytes start.
fn long(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let mut x = word(bytes, 0);
    let mut y = word(bytes, len - 16) ^ K1;
    let mut z = word(bytes, len - 56) ^ K0;
    let mut v = weak(bytes, len - 64, len as u64, y);
    let mut w = weak(bytes, len - 32, K1.wrapping_mul(len as u64), K0);
    z = z.wrapping_add(mixed(v[1]).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(len - 1) / 64 * 64).step_by(64) {
        x = sum([x, y, v[0], word(bytes, at + 16)]).rotate_right(37).wrapping_mul(K1);
        y = sum([y, v[1], word(bytes, at + 48)]).rotate_right(42).wrapping_mul(K1);
        x ^= w[1];
        y ^= v[0];
        z = (z ^ w[0]).rotate_right(33);
        v = weak(bytes, at, v[1].wrapping_mul(K1), x.wrapping_add(w[0]));
        w = weak(bytes, at + 32, z.wrapping_add(w[1]), y);
        (x, z) = (z, x);
    }
    let low = sum([city_128_to_64(v[0], w[0]), mixed(y).wrapping_mul(K1), z]);
    city_128_to_64(low, city_128_to_64(v[1], w[1]).wrapping_add(x))
}

/// 32 bytes under two seeds.
fn weak(bytes: &[u8], at: usize, a: u64, b: u64) -> [u64; 2] {
    let [w, x, y, z] = [0, 8, 16, 24].map(|i| word(bytes, at + i));
    let a = a.wrapping_add(w);
    let b = sum([b, a, z]).rotate_right(21);
    let c = a;
    let a = sum([a, x, y]);
    [a.wrapping_add(z), sum([b, a.rotate_right(44), c])]
}

fn mixed(value: u64) -> u64 {
    value ^ value >> 47
}

fn sum<const N: usize>(words: [u64; N]) -> u64 {
    words.into_iter().fold(0, u64::wrapping_add)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from ClickHouse's documentation, and of its own C code by way of the Python package clickhouse-cityhash.
    #[test]
    fn clickhouse_pins_every_length() {
        let digits = "0123456789".repeat(20);
        for (key, hash) in [
            ("Moscow", 12_507_901_496_292_878_638),
            ("How can you write a big system without C++?  -Paul Glick", 6_237_945_311_650_045_625),
            ("", 0x9ae1_6a3b_2f90_404f),
            ("a", 0x2420_662c_d003_acfa),
            ("item-7", 0x3e48_84b9_36ec_59ef),
            ("item-1000000", 0x972c_5a2a_9ae4_af36),
            ("0123456789abcdefghij", 0x739a_3bde_c355_5bf2),
            ("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", 0x08b0_b892_a7c0_3bf9),
            (&digits, 0x5022_7e7e_08cc_51af),
        ] {
            assert_eq!(city_64(key.as_bytes()), hash, "{key}");
        }
    }
}
