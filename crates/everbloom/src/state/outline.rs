//! What a tree looks like, for the page on the file format.

use super::tag::Tag;

/// The fields of a tree that an encoder wrote, in order: `probe: {k: number, m: number}, bits: array`. Brackets hold
/// the parts of a list, each kind of them once; `…` is more of the fields just before it.
pub(super) fn outline(mut tree: &[u8]) -> String {
    let mut fields = Vec::new();
    while !tree.is_empty() {
        let (tag, name) = (take(&mut tree, 1)[0], sized(&mut tree, 1));
        let kind = kind(tag, &mut tree);
        let name = String::from_utf8_lossy(name);
        fields.push(if name.is_empty() { kind } else { format!("{name}: {kind}") });
    }
    shortened(fields).join(", ")
}

/// Fields of which the last come again and again, as keys with their counts do: they stand there once.
fn shortened(mut fields: Vec<String>) -> Vec<String> {
    for period in 1..=fields.len() / 3 {
        let last = &fields[fields.len() - period..];
        let times = fields.rchunks(period).take_while(|fields| *fields == last).count();
        if times >= 3 {
            fields.truncate(fields.len() - (times - 1) * period);
            fields.push("…".to_owned());
            break;
        }
    }
    fields
}

fn kind(tag: u8, tree: &mut &[u8]) -> String {
    let mut skip = |bytes, kind: &str| {
        take(tree, bytes);
        kind.to_owned()
    };
    match tag {
        tag if tag == Tag::U64 as u8 => skip(8, "number"),
        tag if tag == Tag::F64 as u8 => skip(8, "real"),
        tag if tag == Tag::Array as u8 => skip(16, "array"),
        tag if tag == Tag::Group as u8 => format!("{{{}}}", outline(sized(tree, 4))),
        tag if tag == Tag::List as u8 => {
            take(tree, 4);
            let (mut rest, mut kinds) = (sized(tree, 4), Vec::new());
            while !rest.is_empty() {
                let tag = take(&mut rest, 2)[0];
                let part = kind(tag, &mut rest);
                if !kinds.contains(&part) {
                    kinds.push(part);
                }
            }
            format!("[{}]", kinds.join(" | "))
        }
        _ => {
            sized(tree, 4);
            "bytes".to_owned()
        }
    }
}

/// The next bytes of a tree.
fn take<'a>(tree: &mut &'a [u8], bytes: usize) -> &'a [u8] {
    let (taken, rest) = tree.split_at(bytes);
    *tree = rest;
    taken
}

/// The bytes behind a length of so many bytes.
fn sized<'a>(tree: &mut &'a [u8], width: usize) -> &'a [u8] {
    let length =
        take(tree, width).iter().rev().fold(0, |length, byte| length << 8 | *byte as usize);
    take(tree, length)
}
