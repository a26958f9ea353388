//! What every filter has, whatever its variant, and how it stands in front of a file's state tree.

use super::{Facts, Filter, Reading};
use crate::error::{Error, Kind, Result};
use crate::hash::{Digest, HashId, Hasher, Key, SecretKey};
use crate::state::{
    Context, Decoder, Encoder, MAX_ITEMS, READING, State, check_features, u16_at, u32_at, u64_at,
};

/// Hash, items, targets and form: the part of a filter's state that the file's prefix holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Head {
    /// The hash, with its seed or key.
    pub hasher: Hasher,
    /// Items held; what an item is, the variant says.
    pub items: u64,
    /// The rate the filter was planned for, if it was.
    pub fpr: Option<f64>,
    /// The rate of false negatives it was planned for, where there are any.
    pub fnr: Option<f64>,
    /// The form, one of the variant's.
    pub form: &'static str,
    /// How the text of its keys was read.
    pub reading: Reading,
}

/// The bits of an absent target rate.
const NO_RATE: u64 = u64::MAX;

/// Whether a keyed filter may be decoded without its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// No.
    Closed,
    /// Yes: it is only described.
    Open,
}

impl Head {
    /// An empty filter's head: default form, no targets.
    pub fn new(hasher: Hasher, form: &'static str) -> Self {
        Self { hasher, items: 0, fpr: None, fnr: None, form, reading: Reading::default() }
    }

    /// The digest of a key.
    #[inline]
    pub(crate) fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.hasher.digest(key)
    }

    /// P(a non-member has the digest of a member): nothing that a wide digest has to fear.
    pub(crate) fn collisions(&self) -> f64 {
        if self.hasher.id().is_narrow() {
            self.items as f64 / 18_446_744_073_709_551_616.0
        } else {
            0.0
        }
    }

    /// Counts one more item.
    #[inline]
    pub(crate) fn count_one(&mut self) {
        // With every insertion, so without a limit: nobody lives to see it. Files are written with it.
        self.items += 1;
    }

    /// Counts further items, up to [`MAX_ITEMS`].
    #[inline]
    pub(crate) fn count(&mut self, more: u64) {
        self.items = self.items.saturating_add(more).min(MAX_ITEMS);
    }

    /// The required features of a file with this head.
    pub(crate) fn features(&self) -> u32 {
        if self.reading.is_plain() { 0 } else { READING }
    }

    /// What stands in a tree in front of the filter's own state: how keys were read, if that is not plain.
    pub(crate) fn save_before<'a>(&'a self, out: &mut Encoder<'a>) {
        if !self.reading.is_plain() {
            self.reading.save("reading", out);
        }
    }

    /// What [`Head::save_before`] wrote, as the features in a prefix say.
    pub(crate) fn load_before(&mut self, prefix: &[u8], src: &mut Decoder<'_>) -> Result<()> {
        if u32_at(prefix, 12) & READING != 0 {
            self.reading = Reading::load("reading", src)?;
        }
        Ok(())
    }

    /// Counts one item less.
    #[inline]
    pub(crate) fn count_off(&mut self) {
        self.items = self.items.saturating_sub(1);
    }

    /// Refuses two filters that hash keys differently or are of different forms.
    pub(crate) fn agree(&self, other: &Head) -> Result<()> {
        self.hasher.agree(&other.hasher)?;
        crate::error::agree("form", self.form, other.form)?;
        self.reading.agree(&other.reading)
    }

    /// Variant, hash, seed, items and targets: bytes 20 to 55 of a file and of a manifest.
    pub(crate) fn push_prefix(&self, variant: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&variant.to_le_bytes());
        out.extend_from_slice(&(self.hasher.id() as u16).to_le_bytes());
        let rate = |rate: Option<f64>| rate.map_or(NO_RATE, f64::to_bits);
        let words = [self.hasher.seed(), self.items.min(MAX_ITEMS), rate(self.fpr), rate(self.fnr)];
        words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    /// What [`Head::push_prefix`] wrote, in the same place; the form comes with the tree.
    pub(crate) fn from_prefix(
        bytes: &[u8],
        facts: &Facts,
        key: Option<&SecretKey>,
        lock: Lock,
    ) -> Result<Self> {
        check_features(bytes)?;
        let form = facts.forms.first().map_or("", |form| form.name);
        let hash = u16_at(bytes, 22);
        let hash = HashId::from_number(hash).ok_or_else(|| {
            Error::new(Kind::UnsupportedFeature, format!("hash {hash} is not in this build"))
        })?;
        let seed = u64_at(bytes, 24);
        let hasher = match lock {
            Lock::Open if hash == HashId::SipHash24_128 => Hasher::locked(seed),
            _ => Hasher::restore(hash, seed, key)?,
        };
        let items = u64_at(bytes, 32);
        if items > MAX_ITEMS {
            return Err(Error::corrupt(32, format!("corrupt filter: it claims {items} items")));
        }
        let (fpr, fnr) = (rate_at(bytes, 40)?, rate_at(bytes, 48)?);
        Ok(Head { items, fpr, fnr, ..Head::new(hasher, form) })
    }
}

fn rate_at(bytes: &[u8], at: usize) -> Result<Option<f64>> {
    let bits = u64_at(bytes, at);
    let rate = f64::from_bits(bits);
    match bits {
        NO_RATE => Ok(None),
        _ if (0.0..=1.0).contains(&rate) => Ok(Some(rate)),
        _ => Err(Error::corrupt(at as u64, format!("corrupt filter: a target rate of {rate}"))),
    }
}

/// What a decoder is handed along with a tree: whose it is, what its prefix said, and how to load the
/// filters inside it. The tree's own floor knows nothing of filters, so it passes this on unopened.
pub(crate) struct Origin {
    facts: &'static Facts,
    hasher: Hasher,
    /// Given to the filter once.
    head: Option<Head>,
    child: Children,
    /// How deep in other filters this one is.
    depth: u32,
}

/// How a filter inside another one is loaded: its facts and its loader, by its variant's id.
pub(crate) type Children = fn(u16) -> Option<(&'static Facts, Loader)>;

/// Reads a filter from its tree.
pub(crate) type Loader = fn(&mut Decoder<'_>) -> Result<Box<dyn Filter>>;

/// Filters inside filters inside filters: no deeper, since decoding recurses.
const DEEPEST: u32 = 4;

impl Origin {
    /// The context in which the tree of a filter with these facts and this prefix is read.
    pub(crate) fn context(facts: &'static Facts, head: Head, child: Children) -> Context {
        let hasher = head.hasher.clone();
        Box::new(Origin { facts, hasher, head: Some(head), child, depth: 0 })
    }

    fn of<'a>(src: &'a mut Decoder<'_>) -> Result<&'a mut Self> {
        let origin = src.context().downcast_mut();
        origin.ok_or_else(|| Error::corrupt(0, "corrupt filter: a head where none can be"))
    }

    /// The context of a filter inside this one. It is hashed as its owner is, so that a keyed one needs no
    /// key of its own.
    fn inner(&self, prefix: &[u8]) -> Result<(Context, Loader)> {
        let id = u16_at(prefix, 20);
        let known = (self.child)(id).filter(|_| self.depth < DEEPEST);
        let Some((facts, load)) = known else {
            let message = format!("the file uses variant {id} inside {}", self.facts.slug);
            return Err(Error::new(Kind::UnsupportedFeature, message));
        };
        let head = Head::from_prefix(prefix, facts, None, Lock::Open)?;
        if (head.hasher.id(), head.hasher.seed()) != (self.hasher.id(), self.hasher.seed()) {
            return Err(Error::corrupt(0, "corrupt filter: a part is hashed unlike the whole"));
        }
        let head = Some(Head { hasher: self.hasher.clone(), ..head });
        let (hasher, child, depth) = (self.hasher.clone(), self.child, self.depth + 1);
        Ok((Box::new(Origin { facts, hasher, head, child, depth }), load))
    }
}

impl State for Head {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        // Hash, seed, items and targets stand in the prefix.
        out.bytes(name, self.form.as_bytes());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let form = src.bytes(name)?;
        let origin = Origin::of(src)?;
        let (facts, head) = (origin.facts, origin.head.take());
        let known = facts.forms.iter().find(|f| f.name.as_bytes() == form);
        let form = known.ok_or_else(|| {
            src.unsupported(format!("form {:?} of {}", String::from_utf8_lossy(form), facts.slug))
        })?;
        let head = head.ok_or_else(|| src.corrupt("a second head"))?;
        Ok(Head { form: form.name, ..head })
    }
}

/// Fields that the head decides about, by its form.
pub(crate) trait Headed: Sized {
    /// Writes the fields, one after the other.
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>);
    /// Reads what [`save_fields`](Self::save_fields) wrote under this head.
    fn load_fields(head: &Head, src: &mut Decoder<'_>) -> Result<Self>;
}

/// A whole filter inside another one, with its variant's id and its own head.
#[derive(Debug)]
pub struct Child(pub Box<dyn Filter>);

impl State for Child {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            // The 20 bytes before a prefix are the file's own.
            let mut prefix = vec![0; 20];
            self.0.head().push_prefix(self.0.facts().id, &mut prefix);
            out.bytes("prefix", &prefix);
            self.0.save_state(out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let prefix = src.bytes("prefix")?;
            if prefix.len() != 56 {
                return Err(src.corrupt("the prefix of a filter inside is not 56 bytes long"));
            }
            let (inner, load) = Origin::of(src)?.inner(prefix)?;
            let outer = src.swap_context(inner);
            let filter = load(src);
            src.swap_context(outer);
            filter.map(Child)
        })
    }
}
