//! What the wallet claims, tried on chains that are made up.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom_formats::{Foreign, block_filter};

use super::{Block, Outpoint, Transaction, Update, Wallet, load, pay_to, serve};
use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

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
