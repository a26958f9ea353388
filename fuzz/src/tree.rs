//! A mutator that knows the file: it takes a file apart, changes fields, arrays and ids, and puts it together
//! again with lengths and checksums that are right.

use everbloom::internals::hash::Generator;

/// A field of the state tree.
#[derive(Clone, Debug)]
struct Field {
    name: Vec<u8>,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Real(u64),
    Bytes(Vec<u8>),
    /// Elements that are claimed, and words.
    Array(u64, Vec<u64>),
    Group(Vec<Field>),
    List(u32, Vec<Field>),
}

/// A file taken apart.
#[derive(Clone, Debug)]
pub struct File {
    prefix: Vec<u8>,
    fields: Vec<Field>,
}

impl File {
    /// Takes a sound file apart.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let tree = word(56)? as usize;
        let mut payload = bytes.get((84 + tree).next_multiple_of(64)..)?;
        let mut rest = bytes.get(80..80 + tree)?;
        let fields = fields(&mut rest, &mut payload)?;
        Some(Self { prefix: bytes.get(..56)?.to_vec(), fields })
    }

    /// The file's bytes, with lengths and checksums that fit.
    pub fn bytes(&self) -> Vec<u8> {
        let (mut tree, mut payload) = (Vec::new(), Vec::new());
        self.fields.iter().for_each(|field| write(field, &mut tree, &mut payload));
        let mut out = self.prefix.clone();
        let start = (84 + tree.len()).next_multiple_of(64);
        let length = start + payload.len() + 4 * payload.len().div_ceil(64 << 10);
        for number in [tree.len(), payload.len(), length] {
            out.extend_from_slice(&(number as u64).to_le_bytes());
        }
        out.extend_from_slice(&tree);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out.resize(start, 0);
        out.extend_from_slice(&payload);
        for chunk in payload.chunks(64 << 10) {
            out.extend_from_slice(&crc32c::crc32c(chunk).to_le_bytes());
        }
        out
    }

    /// Changes one thing.
    pub fn mutate(&mut self, random: &mut Generator) {
        match random.below(16) {
            // Ids, items and targets.
            0 => {
                let at = 20 + random.below(36) as usize;
                self.prefix[at] ^= 1 << random.below(8);
            }
            // Another variant's id over this one's tree.
            1 => self.prefix[20..22].copy_from_slice(&(1 + random.below(64) as u16).to_le_bytes()),
            2 => self.prefix[22..24].copy_from_slice(&(1 + random.below(8) as u16).to_le_bytes()),
            _ => change(&mut self.fields, random),
        }
    }
}

fn take<'a>(from: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(count)?;
    *from = rest;
    Some(taken)
}

fn number(from: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(from, 8)?.try_into().ok()?))
}

fn length(from: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(from, 4)?.try_into().ok()?))
}

fn fields(tree: &mut &[u8], payload: &mut &[u8]) -> Option<Vec<Field>> {
    let mut out = Vec::new();
    while !tree.is_empty() {
        let [tag, name] = take(tree, 2)?.try_into().ok()?;
        let name = take(tree, usize::from(name))?.to_vec();
        let value = match tag {
            1 => Value::Number(number(tree)?),
            2 => Value::Real(number(tree)?),
            3 => {
                let len = length(tree)?;
                Value::Bytes(take(tree, len as usize)?.to_vec())
            }
            4 => {
                let (len, words) = (number(tree)?, number(tree)? as usize);
                let bytes = take(payload, (8 * words).next_multiple_of(64))?;
                let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap_or_default());
                Value::Array(len, bytes[..8 * words].chunks_exact(8).map(word).collect())
            }
            5 => {
                let len = length(tree)? as usize;
                Value::Group(fields(&mut take(tree, len)?, payload)?)
            }
            _ => {
                let (count, len) = (length(tree)?, length(tree)? as usize);
                Value::List(count, fields(&mut take(tree, len)?, payload)?)
            }
        };
        out.push(Field { name, value });
    }
    Some(out)
}

fn write(field: &Field, tree: &mut Vec<u8>, payload: &mut Vec<u8>) {
    let tag = match &field.value {
        Value::Number(_) => 1,
        Value::Real(_) => 2,
        Value::Bytes(_) => 3,
        Value::Array(..) => 4,
        Value::Group(_) => 5,
        Value::List(..) => 6,
    };
    tree.extend_from_slice(&[tag, field.name.len() as u8]);
    tree.extend_from_slice(&field.name);
    match &field.value {
        Value::Number(value) | Value::Real(value) => tree.extend_from_slice(&value.to_le_bytes()),
        Value::Bytes(bytes) => {
            tree.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            tree.extend_from_slice(bytes);
        }
        Value::Array(len, words) => {
            tree.extend_from_slice(&len.to_le_bytes());
            tree.extend_from_slice(&(words.len() as u64).to_le_bytes());
            words.iter().for_each(|word| payload.extend_from_slice(&word.to_le_bytes()));
            payload.resize(payload.len().next_multiple_of(64), 0);
        }
        Value::Group(inner) => nested(inner, tree, payload),
        Value::List(count, inner) => {
            tree.extend_from_slice(&count.to_le_bytes());
            nested(inner, tree, payload);
        }
    }
}

fn nested(inner: &[Field], tree: &mut Vec<u8>, payload: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    inner.iter().for_each(|field| write(field, &mut bytes, payload));
    tree.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    tree.extend_from_slice(&bytes);
}

/// Numbers at which something may break.
fn interesting(random: &mut Generator, now: u64) -> u64 {
    match random.below(10) {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => 1 << random.below(64),
        4 => (1 << random.below(64)) - 1,
        5 => now.wrapping_add(1),
        6 => now.wrapping_sub(1),
        7 => now ^ (1 << random.below(64)),
        8 => random.below(4096),
        _ => random.next_u64(),
    }
}

fn change(fields: &mut Vec<Field>, random: &mut Generator) {
    if fields.is_empty() {
        return;
    }
    let at = random.below(fields.len() as u64) as usize;
    match random.below(24) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(at, fields[at].clone()),
        2 => {
            let other = random.below(fields.len() as u64) as usize;
            fields.swap(at, other);
        }
        _ => change_value(&mut fields[at].value, random),
    }
}

fn change_value(value: &mut Value, random: &mut Generator) {
    match value {
        Value::Number(v) | Value::Real(v) => *v = interesting(random, *v),
        Value::Bytes(bytes) => match random.below(3) {
            0 => bytes.push(random.next_u64() as u8),
            1 => drop(bytes.pop()),
            _ => bytes.iter_mut().for_each(|b| *b ^= (random.below(40) == 0) as u8),
        },
        Value::Array(len, words) => match random.below(6) {
            0 => *len = interesting(random, *len),
            1 => words.push(random.next_u64()),
            2 => drop(words.pop()),
            3 => words.iter_mut().for_each(|word| *word = random.next_u64()),
            4 => words.iter_mut().for_each(|word| *word = u64::MAX),
            _ => {
                if !words.is_empty() {
                    let at = random.below(words.len() as u64) as usize;
                    words[at] = interesting(random, words[at]);
                }
            }
        },
        Value::Group(inner) => change(inner, random),
        Value::List(count, inner) => match random.below(5) {
            0 => *count = interesting(random, u64::from(*count)) as u32,
            _ => change(inner, random),
        },
    }
}
