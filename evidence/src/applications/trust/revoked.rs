//! Revoked or not (catalogue A29; S3 §III-D \[63\]): the tool [`everbloom_tools::revoked`], tried.

use std::collections::HashSet;

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Result};
use everbloom_tools::revoked::{Hash, Revocations, Serials, Status, Tree, leaf_hash, node_hash};
use sha2::{Digest as _, Sha256};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A29",
    form: Form::Tool("revoked"),
    uses: &["bloom"],
    oracle: "both sets in hash sets",
    data: "random serials of 32 bytes: revoked, valid, and neither",
    experiment: Experiment {
        name: "revoked",
        source: "S3 §III-D [63]",
        title: "Revocation by two filters and Merkle proofs, or by a cascade",
        shows: "Every answer inside of revoked ∪ valid is exact. Proofs are asked for by f_R of the valid and f_V \
                of the revoked, each of at most ⌈log2 R⌉ hashes a leaf. 100 000 serials at 0.01 take 119.8 kB \
                instead of 3.2 MB.",
        run,
    },
};

const FPR: f64 = 0.01;

fn made(random: &mut Generator, count: u64) -> Vec<Vec<u8>> {
    let serial =
        |random: &mut Generator| (0..4).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    (0..count).map(|_| serial(random)).collect()
}

/// What a serial is, by exact sets.
fn truth(sets: [&HashSet<&[u8]>; 2], serial: &[u8]) -> Status {
    match sets.map(|set| set.contains(serial)) {
        [true, _] => Status::Revoked,
        [_, true] => Status::Valid,
        _ => Status::Unknown,
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let mut random = Generator::new(lab.seed());
    let (r, v) = (lab.scaled(3_000), lab.scaled(20_000));
    let (revoked, valid, others) =
        (made(&mut random, r), made(&mut random, v), made(&mut random, v));
    let sets: [HashSet<&[u8]>; 2] = [revoked.serials().collect(), valid.serials().collect()];
    let exact = |serial: &[u8]| truth([&sets[0], &sets[1]], serial);
    let members = || revoked.serials().chain(valid.serials());
    let mut oracle = Oracle::default();

    // The device asks, the server proves, the device checks.
    let (dual, tree) = (Revocations::dual(&revoked, &valid, FPR)?, Tree::new(&revoked));
    let (mut pairs, mut asked, mut longest) = (Vec::new(), [0u64; 2], 0);
    for serial in members() {
        let mut status = dual.status(serial)?;
        if status == Status::AskForProof {
            asked[usize::from(exact(serial) == Status::Valid)] += 1;
            let proof = tree.prove(serial);
            longest =
                proof.leaves.iter().map(|leaf| leaf.path.len()).max().unwrap_or(0).max(longest);
            status = dual.settled(serial, &proof)?;
        }
        pairs.push((status, exact(serial)));
    }
    oracle.equal("answers by two filters and proofs", pairs);
    let cascade = Revocations::cascade(&revoked, &valid, FPR)?;
    let answers = members().map(|serial| Ok((cascade.status(serial)?, exact(serial))));
    oracle.equal("answers by a cascade", answers.collect::<Result<Vec<_>>>()?);

    let mut proofs = Rows::new("proofs", "Proofs asked for", Axis::linear("proofs"));
    let rate = |filter: &Bloom| filter.bits().fill().powi(filter.k() as i32);
    let Revocations::Dual { revoked: f_r, valid: f_v, .. } = &dual else {
        unreachable!("built as such")
    };
    let [of_revoked, of_valid] = [rate(f_v) * r as f64, rate(f_r) * v as f64];
    let count = |predicted: f64, all: u64| {
        let share = bound::share(predicted / all as f64, all);
        Bound::between(
            share.low.unwrap_or(0.0) * all as f64,
            share.high.unwrap_or(1.0) * all as f64,
        )
    };
    proofs.row("f_R · valid", of_valid, asked[1] as f64, count(of_valid, v));
    proofs.row("f_V · revoked", of_revoked, asked[0] as f64, count(of_revoked, r));
    let both = FPR * (r + v) as f64;
    proofs.row(
        "both, as planned at 0.01",
        both,
        (asked[0] + asked[1]) as f64,
        count(both, r + v).widened(both, 0.1),
    );

    let mut sizes = Rows::new("sizes", "100 000 serials of 32 bytes", Axis::log("kB"));
    let planned = Bloom::with_rate(100_000, FPR)?.m() as f64 / 8e3;
    sizes.row("a filter at 0.01", 119.8, planned, Bound::exactly(119.8, 0.06));
    let plain = made(&mut random, 100_000).iter().map(Vec::len).sum::<usize>() as f64 / 1e3;
    sizes.row("the serials", 3200.0, plain, Bound::exactly(3200.0, 0.0));
    let hashes = (r as f64).log2().ceil();
    let mut lengths =
        Rows::new("lengths", "Hashes in a proof, for each leaf", Axis::linear("hashes"));
    lengths.row("the most, ⌈log2 R⌉", hashes, longest as f64, Bound::exactly(hashes, 0.0));

    let mut unknown = Rows::new("unknown", "Serials that are neither", Axis::linear("share"));
    let share = |form: &Revocations, wanted: Status| -> Result<f64> {
        let answers =
            others.serials().map(|serial| form.status(serial)).collect::<Result<Vec<_>>>()?;
        Ok(answers.iter().filter(|status| **status == wanted).count() as f64 / v as f64)
    };
    let f = rate(f_v);
    let predicted = f * (1.0 - rate(f_r));
    unknown.row(
        "taken for valid by the filters",
        predicted,
        share(&dual, Status::Valid)?,
        bound::share(predicted, v),
    );
    let Revocations::Cascade { layers, .. } = &cascade else { unreachable!("built as such") };
    // The layers' own fill predicts how often other serials pass.
    let wrong = layers.fpr();
    unknown.row(
        "taken for revoked by the cascade",
        wrong,
        share(&cascade, Status::Revoked)?,
        bound::share(wrong, v),
    );
    let valid_share = f * (1.0 - wrong);
    unknown.row(
        "taken for valid by the cascade",
        valid_share,
        share(&cascade, Status::Valid)?,
        bound::share(valid_share, v),
    );
    let mut trap =
        Rows::new("trap", "A node passed off as a serial", Axis::linear("accepted (1) or not (0)"));
    let [plain, apart] = forged();
    trap.row("leaves hashed as nodes are", 1.0, plain, Bound::exactly(1.0, 0.0));
    trap.row("leaves and nodes apart", 0.0, apart, Bound::exactly(0.0, 0.0));
    Ok(oracle.report().rows(proofs).rows(sizes).rows(lengths).rows(unknown).rows(trap).note(
        format!("The two filters take {} bytes, the cascade {}.", dual.bytes(), cascade.bytes()),
    ))
}

/// Whether two hashes below a node pass for a serial: where leaves are hashed as nodes are, and here.
fn forged() -> [f64; 2] {
    let leaf = |serial: &[u8]| Hash::from(Sha256::digest(serial));
    let node = |left: Hash, right: Hash| leaf(&[left, right].concat());
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|serial| leaf(serial.as_bytes()));
    let root = node(node(a, b), node(c, d));
    // The pair as a serial, and beside its way to the top the node of c and d.
    let accepted = node(leaf(&[a, b].concat()), node(c, d)) == root;
    let below = [leaf_hash(b"a"), leaf_hash(b"b")];
    let apart = leaf_hash(&below.concat()) == node_hash(&below[0], &below[1]);
    [accepted, apart].map(|yes| if yes { 1.0 } else { 0.0 })
}
