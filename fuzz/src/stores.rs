//! Page stores whose manifest or pages were changed: an error, or a store that answers.

use std::cell::RefCell;
use std::fs;

use everbloom::growing::{Forest, ForestStore};
use everbloom::{Limits, Opener};
use tempfile::TempDir;

struct Store {
    folder: TempDir,
    manifest: Vec<u8>,
    pages: Vec<u8>,
}

thread_local! {
    static STORE: RefCell<Store> = RefCell::new(Store::new());
}

impl Store {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let forest = Forest::builder().items(60).rate(0.01).set("page", 64).build();
        let mut forest = forest.expect("a forest");
        for key in 0..80u64 {
            forest.insert(&key).expect("room");
        }
        forest.save_pages(folder.path()).expect("saved");
        let read = |name: &str| fs::read(folder.path().join(name)).expect("a file");
        let (manifest, pages) = (read("manifest"), read("pages-0"));
        Self { folder, manifest, pages }
    }
}

/// Changes a small store as the bytes say, four at a time: where (two bytes), how, and by what. Then it is
/// opened, queried and changed.
pub fn stores(data: &[u8]) {
    STORE.with_borrow(|store| {
        let (mut manifest, mut pages) = (store.manifest.clone(), store.pages.clone());
        for change in data.chunks_exact(4).take(8) {
            let file = if change[2] & 8 == 0 { &mut manifest } else { &mut pages };
            let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
            apply(file, at, change[2] & 7, change[3]);
        }
        if manifest.len() > 4 {
            let end = manifest.len() - 4;
            let crc = crc32c::crc32c(&manifest[..end]);
            manifest[end..].copy_from_slice(&crc.to_le_bytes());
        }
        let path = store.folder.path();
        fs::write(path.join("manifest"), manifest).expect("written");
        fs::write(path.join("pages-0"), pages).expect("written");
        let limits = Limits::LOCAL.bytes(1 << 20).expanded(1 << 20);
        let _ = Opener::new().limits(limits).open(path);
        if let Ok(mut opened) = ForestStore::open(path, 3) {
            for key in [0u64, 1, 1000] {
                let _ = (opened.contains(&key), opened.insert(&(key + 77_777)));
            }
        }
    });
}

fn apply(file: &mut Vec<u8>, at: usize, how: u8, by: u8) {
    let at = at % file.len().max(1);
    match how {
        0 => file[at] ^= by,
        1 => file[at] = by,
        2 => file.truncate(at),
        3 => file.extend(std::iter::repeat_n(by, at.min(256))),
        4 => {
            let end = (at + 8).min(file.len());
            file[at..end].fill(by);
        }
        // Numbers in the prefix are whole words.
        _ => {
            let word = 56 + 8 * (at % 5);
            if word + 8 <= file.len() {
                file[word..word + 8].copy_from_slice(&u64::from(by).to_le_bytes());
            }
        }
    }
    if file.is_empty() {
        file.push(by);
    }
}
