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

mod experiment;
mod merkle;
mod transaction;

use std::collections::{BTreeMap, BTreeSet};

use everbloom::{Limits, Result};
use everbloom_formats::{Foreign, Format, Hints};

pub use experiment::APPLICATION;
use transaction::pushes;

pub use merkle::PartialTree;
pub use transaction::{Block, Outpoint, Transaction};

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
/// use everbloom_lab::applications::trust::wallet::{Update, load};
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
/// use everbloom_lab::applications::trust::wallet::{Block, Transaction, Update, Wallet, pay_to, serve};
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
