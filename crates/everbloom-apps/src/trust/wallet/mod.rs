//! A wallet that holds no blocks (catalogue A30; S3 §III-C \[61\]\[62\]; BIP 37 and BIP 158).
//!
//! ```text
//!   BIP 37:   wallet ── filter of its keys ──▶ node ── matching transactions, partial Merkle tree ──▶ wallet
//!   BIP 158:  node ── compact filter of each block ──▶ wallet ── fetches blocks that match
//! ```
//!
//! Under BIP 37 the wallet sends a Bloom filter of what it owns, bit for bit as Bitcoin's nodes read it, and gets the
//! transactions that match, with a proof that they are in the block. None of its own is missed; each element of other
//! transactions passes at a rate p. When an output matches, the node adds it to the filter, so that its spending
//! matches later: without that update, spends are missed.
//!
//! **Privacy.** The false positives were meant to hide the wallet's keys. They don't: a node that gets two
//! filters of one wallet with different tweaks keeps the keys that pass both, p² of all others, and that is
//! next to none. BIP 158 turns it around: nodes serve the same filter of a block to everybody, and learn only which
//! blocks are fetched.

mod merkle;
mod transaction;

use std::collections::{BTreeMap, BTreeSet};

use everbloom::internals::hash::Generator;
use everbloom::{Limits, Result};
use everbloom_formats::{Foreign, Format, Hints, block_filter};
use everbloom_lab::{Axis, Bound, Experiment, Lab, Report, Rows, bound};

pub use merkle::PartialTree;
use transaction::pushes;
pub use transaction::{Block, Outpoint, Transaction};

use crate::{Application, Form, Oracle};

/// What a node adds to a filter when an output matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nothing: spends of what was received are missed.
    None,
    /// The output's name.
    All,
}

/// The filter that a wallet sends (`filterload`), for elements at a rate.
///
/// ```
/// use everbloom_apps::trust::wallet::{Update, load};
///
/// let mut filter = load(3, 0.01, 0, Update::All)?;
/// filter.insert("element")?;
/// assert_eq!(filter.write()?.len(), 13, "a length, 3 bytes of bits, k, tweak and flags");
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn load(elements: u64, rate: f64, tweak: u32, update: Update) -> Result<Foreign> {
    let format = Format::named("bip37")?;
    // The message of an empty filter, with the last five bytes changed: tweak and flags.
    let mut bytes = format.create(elements, rate)?.write()?;
    let end = bytes.len() - 5;
    bytes[end..end + 4].copy_from_slice(&tweak.to_le_bytes());
    bytes[end + 4] = u8::from(update == Update::All);
    format.open_one(&bytes, Limits::NETWORK)
}

/// What a node sends of a block (`merkleblock`, and the transactions that match).
pub struct Served {
    /// The block's header.
    pub header: [u8; 80],
    /// The proof.
    pub tree: PartialTree,
    /// The transactions that match, in order.
    pub transactions: Vec<Transaction>,
}

/// A node's answer for a block: what matches the filter, which learns of matching outputs.
pub fn serve(block: &Block, filter: &mut Foreign, update: Update) -> Result<Served> {
    let mut wanted = Vec::new();
    for transaction in &block.transactions {
        wanted.push(matches(transaction, filter, update)?);
    }
    let tree = PartialTree::new(&block.ids(), &wanted);
    let chosen = block.transactions.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    let transactions = chosen.map(|(transaction, _)| transaction.clone()).collect();
    Ok(Served { header: block.header, tree, transactions })
}

/// BIP 37's rule: the transaction's id, data in its outputs, outputs it spends, data in its inputs.
fn matches(transaction: &Transaction, filter: &mut Foreign, update: Update) -> Result<bool> {
    let mut found = filter.contains(&transaction.id[..])?;
    for (number, (_, script)) in transaction.outputs.iter().enumerate() {
        for data in pushes(script) {
            if filter.contains(data)? {
                found = true;
                if update == Update::All {
                    filter.insert(&transaction.outpoint(number)[..])?;
                }
                break;
            }
        }
    }
    for (outpoint, script) in &transaction.inputs {
        if found || filter.contains(&outpoint[..])? {
            return Ok(true);
        }
        for data in pushes(script) {
            if filter.contains(data)? {
                return Ok(true);
            }
        }
    }
    Ok(found)
}

/// Who may spend an output, where its script is the usual one (pay to the hash of a public key).
fn owner(script: &[u8]) -> Option<[u8; 20]> {
    match script {
        [0x76, 0xa9, 20, hash @ .., 0x88, 0xac] => hash.try_into().ok(),
        _ => None,
    }
}

/// The script that pays to the hash of a public key.
pub fn pay_to(hash: &[u8; 20]) -> Vec<u8> {
    [&[0x76, 0xa9, 20], &hash[..], &[0x88, 0xac]].concat()
}

/// Keys, and what they own.
///
/// ```
/// use everbloom_apps::trust::wallet::{Block, Transaction, Update, Wallet, pay_to, serve};
///
/// let mut wallet = Wallet::new([[7; 20]]);
/// let pays = Transaction::new(vec![([0; 36], vec![])], vec![(5, pay_to(&[7; 20]))]);
/// let other = Transaction::new(vec![([1; 36], vec![])], vec![(9, pay_to(&[8; 20]))]);
/// let block = Block::new(vec![pays, other]);
///
/// let mut filter = wallet.filter(10, 0.0001, 42, Update::All)?;
/// let served = serve(&block, &mut filter, Update::All)?;
/// assert_eq!(wallet.take(&served)?, 1);
/// assert_eq!(wallet.balance(), 5);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Wallet {
    keys: BTreeSet<[u8; 20]>,
    unspent: BTreeMap<Outpoint, u64>,
    seen: BTreeSet<[u8; 32]>,
    /// Outputs that were ever its own.
    received: u64,
}

impl Wallet {
    /// A wallet of the hashes of public keys.
    pub fn new(keys: impl IntoIterator<Item = [u8; 20]>) -> Self {
        let keys = keys.into_iter().collect();
        Self { keys, unspent: BTreeMap::new(), seen: BTreeSet::new(), received: 0 }
    }

    /// The filter to send, with room for `elements` keys and outputs: more than there are now, if they are added.
    pub fn filter(&self, elements: u64, rate: f64, tweak: u32, update: Update) -> Result<Foreign> {
        let most = elements.max((self.keys.len() + self.unspent.len()) as u64).max(1);
        let mut filter = load(most, rate, tweak, update)?;
        for key in &self.keys {
            filter.insert(&key[..])?;
        }
        for outpoint in self.unspent.keys() {
            filter.insert(&outpoint[..])?;
        }
        Ok(filter)
    }

    /// Takes what a node served: checks the proof, keeps what is the wallet's own, and returns how much that is.
    pub fn take(&mut self, served: &Served) -> Result<usize> {
        let mut root = [0; 32];
        root.copy_from_slice(&served.header[36..68]);
        let proved: BTreeSet<[u8; 32]> = served.tree.prove(&root)?.into_iter().collect();
        let transactions = served.transactions.iter().filter(|t| proved.contains(&t.id));
        Ok(transactions.filter(|transaction| self.note(transaction)).count())
    }

    /// Notes a transaction; true if it pays to or from the wallet.
    fn note(&mut self, transaction: &Transaction) -> bool {
        let mut own = false;
        for (outpoint, _) in &transaction.inputs {
            own |= self.unspent.remove(outpoint).is_some();
        }
        for (number, (value, script)) in transaction.outputs.iter().enumerate() {
            if owner(script).is_some_and(|owner| self.keys.contains(&owner)) {
                self.unspent.insert(transaction.outpoint(number), *value);
                self.received += 1;
                own = true;
            }
        }
        if own {
            self.seen.insert(transaction.id);
        }
        own
    }

    /// Whether a transaction has an output for one of its keys.
    fn is_paid_by(&self, transaction: &Transaction) -> bool {
        let mut owners = transaction.outputs.iter().filter_map(|(_, script)| owner(script));
        owners.any(|owner| self.keys.contains(&owner))
    }

    /// Whether a block's compact filter (BIP 158) matches, so that the block has to be fetched.
    pub fn may_concern(&self, block_hash: &[u8; 32], filter: &[u8]) -> Result<bool> {
        let mut hints = Hints::new(Limits::NETWORK);
        hints.key = block_hash[..16].try_into().ok();
        let filters = Format::named("bip158")?.open_with(filter, &hints)?;
        for key in &self.keys {
            for part in &filters {
                if part.filter.contains(&pay_to(key)[..])? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Takes a whole block; returns how many of its transactions are the wallet's own.
    pub fn take_block(&mut self, block: &Block) -> usize {
        block.transactions.iter().filter(|transaction| self.note(transaction)).count()
    }

    /// What it owns.
    pub fn balance(&self) -> u64 {
        self.unspent.values().sum()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A30",
    form: Form::Component,
    uses: &["bloom", "golomb"],
    oracle: "a wallet that reads every transaction",
    data: "a generated chain of payments among 2,000 keys, 30 of them the wallet's; the published vectors",
    experiment: Experiment {
        name: "wallet",
        source: "S3 §III-C [61][62], BIP 37, BIP 158",
        title: "A wallet that holds no blocks",
        shows: "Filters are bit for bit those of the specifications. No own transaction is missed, if outputs are added to \
                the filter; other elements pass at the rate p. Two filters with different tweaks give the wallet's \
                keys away.",
        run,
    },
};

const USERS: u64 = 2_000;
const OWN: u64 = 30;

fn key(user: u64, seed: u64) -> [u8; 20] {
    let mut key = [0; 20];
    let mut random = Generator::new(seed ^ user);
    key.iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
    key
}

struct Mined {
    block: Block,
    /// The scripts of what its inputs spend.
    spent: Vec<Vec<u8>>,
}

/// Blocks in which random outputs are spent and paid to two random users each.
fn chain(seed: u64, blocks: u64, each: u64) -> Vec<Mined> {
    let mut random = Generator::new(seed);
    let mut unspent: Vec<(Outpoint, Vec<u8>)> = Vec::new();
    let mined = (0..blocks).map(|height| {
        let (mut spent, mut transactions) = (Vec::new(), Vec::new());
        for i in 0..each {
            let old = (!unspent.is_empty() && random.below(4) > 0)
                .then(|| unspent.swap_remove(random.below(unspent.len() as u64) as usize));
            let mut outpoint = [0; 36];
            outpoint[..16]
                .copy_from_slice(&(u128::from(height) << 64 | u128::from(i)).to_le_bytes());
            // A signature and a public key, which is not what a wallet puts into its filter here.
            let mut proof = Vec::new();
            for length in [72, 33] {
                proof.push(length);
                proof.extend((0..length).map(|_| random.next_u64() as u8));
            }
            if let Some((name, script)) = old {
                outpoint = name;
                spent.push(script);
            }
            let outputs =
                [(); 2].map(|()| (1 + random.below(1000), pay_to(&key(random.below(USERS), seed))));
            let transaction = Transaction::new(vec![(outpoint, proof)], outputs.to_vec());
            for (number, (_, script)) in transaction.outputs.iter().enumerate() {
                unspent.push((transaction.outpoint(number), script.clone()));
            }
            transactions.push(transaction);
        }
        Mined { block: Block::new(transactions), spent }
    });
    mined.collect()
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    published(&mut oracle)?;
    let mined = chain(lab.seed(), 40, 50);
    let own = || (0..OWN).map(|user| key(user, lab.seed()));
    let mut exact = Wallet::new(own());
    mined.iter().for_each(|m| _ = exact.take_block(&m.block));
    let mut rows =
        Rows::new("transactions", "Transactions served under BIP 37", Axis::log("share"));
    // Keys, and the outputs that they will get: 1/100 passes when all are in the filter.
    let room = OWN + exact.received;
    for update in [Update::All, Update::None] {
        let mut wallet = Wallet::new(own());
        let mut filter = wallet.filter(room, 0.01, 7, update)?;
        let (mut extra, mut others, mut expected, mut bytes) = (0u64, 0u64, 0.0, 0);
        for m in &mined {
            let before = filter.fpr();
            let served = serve(&m.block, &mut filter, update)?;
            let taken = wallet.take(&served)?;
            bytes += served.tree.bytes();
            extra += (served.transactions.len() - taken) as u64;
            let foreign = m.block.transactions.len() - taken;
            others += foreign as u64;
            // Six elements of each transaction are tested: its id, two outputs, what it spends, two data.
            let p = (before + filter.fpr()) / 2.0;
            expected += foreign as f64 * (1.0 - libm::pow(1.0 - p, 6.0));
        }
        if update == Update::None {
            // Walked into: whatever spends without paying back is not recognized, but for false positives.
            let spends = mined.iter().flat_map(|m| &m.block.transactions);
            let spends =
                spends.filter(|t| exact.seen.contains(&t.id) && !exact.is_paid_by(t)).count();
            let all = exact.seen.len() as f64;
            let missed = exact.seen.difference(&wallet.seen).count() as f64 / all;
            let share = spends as f64 / all;
            let label = "own transactions missed without updates: all that only spend";
            rows.row(label, share, missed, Bound::between(0.85 * share, share));
            continue;
        }
        oracle.equal("own transactions", [(wallet.seen, exact.seen.clone())]);
        oracle.equal("what is owned", [(wallet.unspent, exact.unspent.clone())]);
        let (p, share) = (expected / others as f64, extra as f64 / others as f64);
        let around = bound::share(p, others).widened(p, 0.1);
        rows.row("other transactions that pass: p for each of six elements", p, share, around);
        let blocks = mined.iter().flat_map(|m| &m.block.transactions);
        let whole: usize = blocks.map(|t| t.to_bytes().len()).sum();
        let share = bytes as f64 / whole as f64;
        rows.row("bytes of proofs among those of blocks", 0.1, share, Bound::at_most(0.1));
    }
    let privacy = privacy(lab)?;
    compact(lab, &mined, &exact, &mut oracle)?;
    Ok(oracle.report().rows(rows).rows(privacy).note(
        "Privacy: a node that gets two filters of one wallet with different tweaks knows its keys. Compact block \
         filters (BIP 158) give away only which blocks are fetched.",
    ))
}

/// The vectors of the specifications, bit for bit.
fn published(oracle: &mut Oracle) -> Result<()> {
    let vectors =
        [(0, "03614e9b050000000000000001"), (2_147_483_649, "03ce4299050000000100008001")];
    let mut pairs = Vec::new();
    for (tweak, expected) in vectors {
        let mut filter = load(3, 0.01, tweak, Update::All)?;
        for item in ITEMS {
            filter.insert(&unhex(item)[..])?;
        }
        pairs.push((hex(&filter.write()?), expected.to_owned()));
    }
    oracle.equal("BIP 37 vectors", pairs);
    let mut block_hash = unhex("000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943");
    block_hash.reverse();
    let script = unhex(GENESIS_SCRIPT);
    let key = block_hash[..16].try_into().unwrap_or_default();
    let filter = block_filter(key, [&script[..]]);
    oracle.equal("BIP 158 vector", [(hex(&filter), "019dfca8".to_owned())]);
    Ok(())
}

const ITEMS: [&str; 3] = [
    "99108ad8ed9bb6274d3980bab5a85c048f0950c8",
    "b5a2c786d9ef4658287ced5914b37a1b4aa32eee",
    "b9300670b4c5366e95b2699e8b18bc75e5f729c5",
];
const GENESIS_SCRIPT: &str = "4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f3\
                              5504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().chunks(2).map(|two| digit(two[0]) << 4 | digit(two[two.len() - 1])).collect()
}

/// Which of all users are the wallet's, from one, two and three filters.
fn privacy(lab: &Lab) -> Result<Rows> {
    let wallet = Wallet::new((0..100).map(|user| key(user, lab.seed())));
    let filters: Vec<Foreign> =
        (0..3).map(|tweak| wallet.filter(100, 0.01, tweak, Update::None)).collect::<Result<_>>()?;
    let others = 50_000u64;
    let mut passed = [0u64; 3];
    for user in 0..others {
        let key = key(1 << 32 | user, lab.seed());
        for (i, filter) in filters.iter().enumerate() {
            if !filter.contains(&key[..])? {
                break;
            }
            passed[i] += 1;
        }
    }
    let mut rows = Rows::new(
        "privacy",
        "Keys of 50,000 others that a node can't tell from the wallet's 100",
        Axis::linear("keys"),
    );
    let mut p = 1.0;
    for (i, filter) in filters.iter().enumerate() {
        p *= filter.fpr();
        let around = bound::share(p, others);
        let each = |share: Option<f64>| share.map(|s| s * others as f64);
        let around = Bound { low: each(around.low), high: each(around.high) };
        let label =
            format!("{} filter{}, another tweak each", i + 1, if i == 0 { "" } else { "s" });
        rows.row(label, p * others as f64, passed[i] as f64, around);
    }
    Ok(rows)
}

/// The same wallet over compact filters of the blocks.
fn compact(lab: &Lab, mined: &[Mined], exact: &Wallet, oracle: &mut Oracle) -> Result<()> {
    let mut wallet = Wallet::new((0..OWN).map(|user| key(user, lab.seed())));
    let (mut fetched, mut needed) = (0, 0);
    for Mined { block, spent } in mined {
        let hash = block.hash();
        let key = hash[..16].try_into().unwrap_or_default();
        let filter = block_filter(key, block.elements(spent));
        needed += usize::from(block.transactions.iter().any(|t| exact.seen.contains(&t.id)));
        if wallet.may_concern(&hash, &filter)? {
            fetched += 1;
            wallet.take_block(block);
        }
    }
    oracle.equal("own transactions by compact filters", [(wallet.seen, exact.seen.clone())]);
    // 40 blocks and 30 keys at 1/784,931 each: 0.0015 blocks in vain.
    oracle.equal("blocks fetched", [(fetched, needed)]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a30_sizes_and_probes_are_those_of_the_reference_client() {
        for (n, p, bytes, k) in [(10, 0.01, 11, 5), (3, 0.01, 3, 5), (1000, 1e-4, 2396, 13)] {
            let wire = load(n, p, 0, Update::All).unwrap().write().unwrap();
            let head = if bytes < 253 { 1 } else { 3 };
            assert_eq!(wire.len(), head + bytes + 9, "{n}");
            assert_eq!(wire[head + bytes], k, "{n}");
        }
        // The protocol's limits.
        let most = load(1_000_000, 1e-9, 0, Update::All).unwrap().write().unwrap();
        assert_eq!(most.len(), 3 + 36_000 + 9);
    }

    #[test]
    fn scripts_that_end_early_push_what_they_have() {
        assert_eq!(pushes(&[2, 1, 2, 0x76, 76, 1, 9]).collect::<Vec<_>>(), [&[1, 2][..], &[9]]);
        assert_eq!(pushes(&[5, 1, 2]).count(), 0);
        assert_eq!(pushes(&[78, 255, 255, 255, 255, 1]).count(), 0);
        assert!(Block::read(&[0; 79]).is_err());
        assert!(Block::read(&[[0; 80].as_slice(), &[0xff; 9]].concat()).is_err());
    }

    #[test]
    fn a_transaction_without_a_proof_is_not_taken() {
        let own = Transaction::new(vec![], vec![(5, pay_to(&[7; 20]))]);
        let other = Transaction::new(vec![], vec![(6, pay_to(&[8; 20]))]);
        let mut wallet = Wallet::new([[7; 20]]);
        let mut filter = wallet.filter(1, 1e-6, 0, Update::All).unwrap();
        let block = Block::new(vec![other.clone()]);
        let mut served = serve(&block, &mut filter, Update::All).unwrap();
        served.transactions.push(own);
        assert_eq!(wallet.take(&served).unwrap(), 0);
        served.header[40] ^= 1;
        assert!(wallet.take(&served).is_err());
    }
}
