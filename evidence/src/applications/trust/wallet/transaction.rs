//! Blocks and transactions as Bitcoin writes them.

use everbloom::{Error, Kind, Result};

use super::merkle::hash;

/// A transaction and its number of output: 36 bytes that name what an input spends.
pub type Outpoint = [u8; 36];

/// What an input or an output says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its hash, without the witnesses.
    pub id: [u8; 32],
    /// What it spends, and the script that allows it.
    pub inputs: Vec<(Outpoint, Vec<u8>)>,
    /// Values, and the scripts that say who may spend them.
    pub outputs: Vec<(u64, Vec<u8>)>,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first 80 bytes.
    pub header: [u8; 80],
    /// What is in it.
    pub transactions: Vec<Transaction>,
}

/// Bytes that are taken from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let split = self.0.split_at_checked(length);
        let short = || Error::new(Kind::Truncated, "the block ends in the middle of a transaction");
        let (taken, rest) = split.ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn size(&mut self) -> Result<u64> {
        match self.number(1)? {
            0xfd => self.number(2),
            0xfe => self.number(4),
            0xff => self.number(8),
            small => Ok(small),
        }
    }

    fn script(&mut self) -> Result<Vec<u8>> {
        let length = self.size()?;
        // What is not there is not allocated.
        Ok(self.take(usize::try_from(length).unwrap_or(usize::MAX))?.to_vec())
    }
}

impl Transaction {
    /// The transaction of these inputs and outputs.
    pub fn new(inputs: Vec<(Outpoint, Vec<u8>)>, outputs: Vec<(u64, Vec<u8>)>) -> Self {
        let mut transaction = Self { id: [0; 32], inputs, outputs };
        transaction.id = hash(&transaction.to_bytes());
        transaction
    }

    /// Its bytes, without witnesses; version 1, no lock time.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![1, 0, 0, 0];
        push_size(self.inputs.len(), &mut out);
        for (outpoint, script) in &self.inputs {
            out.extend_from_slice(outpoint);
            push_size(script.len(), &mut out);
            out.extend_from_slice(script);
            out.extend_from_slice(&[0xff; 4]);
        }
        push_size(self.outputs.len(), &mut out);
        for (value, script) in &self.outputs {
            out.extend_from_slice(&value.to_le_bytes());
            push_size(script.len(), &mut out);
            out.extend_from_slice(script);
        }
        out.extend_from_slice(&[0; 4]);
        out
    }

    /// The name of an output.
    pub fn outpoint(&self, number: usize) -> Outpoint {
        let mut outpoint = [0; 36];
        outpoint[..32].copy_from_slice(&self.id);
        outpoint[32..].copy_from_slice(&(number as u32).to_le_bytes());
        outpoint
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let start = reader.0;
        let version = reader.take(4)?;
        let marked = reader.0.starts_with(&[0, 1]);
        if marked {
            reader.take(2)?;
        }
        let body = reader.0;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..reader.size()? {
            let mut outpoint = [0; 36];
            outpoint.copy_from_slice(reader.take(36)?);
            inputs.push((outpoint, reader.script()?));
            reader.take(4)?;
        }
        for _ in 0..reader.size()? {
            outputs.push((reader.number(8)?, reader.script()?));
        }
        let body = &body[..body.len() - reader.0.len()];
        if marked {
            for _ in 0..inputs.len() {
                for _ in 0..reader.size()? {
                    reader.script()?;
                }
            }
        }
        let lock_time = reader.take(4)?;
        let id = match marked {
            true => hash(&[version, body, lock_time].concat()),
            false => hash(&start[..start.len() - reader.0.len()]),
        };
        Ok(Self { id, inputs, outputs })
    }
}

fn push_size(size: usize, out: &mut Vec<u8>) {
    match size {
        0..0xfd => out.push(size as u8),
        0xfd..=0xffff => {
            out.push(0xfd);
            out.extend_from_slice(&(size as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(size as u32).to_le_bytes());
        }
    }
}

impl Block {
    /// A block of these transactions, with their Merkle root in its header.
    pub fn new(transactions: Vec<Transaction>) -> Self {
        let ids: Vec<[u8; 32]> = transactions.iter().map(|transaction| transaction.id).collect();
        let mut header = [0; 80];
        header[36..68].copy_from_slice(&super::merkle::root(&ids));
        Self { header, transactions }
    }

    /// The block in some bytes.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let mut header = [0; 80];
        header.copy_from_slice(reader.take(80)?);
        let mut transactions = Vec::new();
        for _ in 0..reader.size()? {
            transactions.push(Transaction::read(&mut reader)?);
        }
        if !reader.0.is_empty() {
            let message = "bytes behind the last transaction of a block";
            return Err(Error::new(Kind::Corrupt { offset: 0 }, message));
        }
        Ok(Self { header, transactions })
    }

    /// Its hash.
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.header)
    }

    /// The hashes of its transactions.
    pub fn ids(&self) -> Vec<[u8; 32]> {
        self.transactions.iter().map(|transaction| transaction.id).collect()
    }

    /// What its compact filter holds (BIP 158): the scripts of its outputs, but for data alone, and `spent`, those of
    /// the outputs that its inputs spend.
    pub fn elements<'a>(&'a self, spent: &'a [Vec<u8>]) -> impl Iterator<Item = &'a [u8]> {
        const RETURN: u8 = 0x6a;
        let outputs = self.transactions.iter().flat_map(|transaction| &transaction.outputs);
        let outputs = outputs.map(|(_, script)| script).filter(|s| s.first() != Some(&RETURN));
        outputs.chain(spent).filter(|script| !script.is_empty()).map(Vec::as_slice)
    }
}

/// The data that a script pushes.
pub(super) fn pushes(script: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = script;
    std::iter::from_fn(move || {
        while let Some((&op, behind)) = rest.split_first() {
            let width = match op {
                1..=75 => 0,
                76 => 1,
                77 => 2,
                78 => 4,
                _ => {
                    rest = behind;
                    continue;
                }
            };
            let (length, behind) = behind.split_at_checked(width)?;
            let length = match width {
                0 => op.into(),
                _ => length.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)),
            };
            let (data, behind) = behind.split_at_checked(length)?;
            rest = behind;
            return Some(data);
        }
        None
    })
    .filter(|data| !data.is_empty())
}
