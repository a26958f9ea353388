//! A disk on the network that knows which capabilities are revoked (catalogue A50; S0 §IV-E \[108\]).
//!
//! ```text
//!   client ── capability (id, MAC), nonce, MAC of the request ──▶ disk: MAC wrong ─────────────▶ refuse
//!                                                                  nonce seen ─────────────────▶ refuse (replay)
//!   metadata server ── id revoked ──▶ filter on the disk           id in the filter ───────────▶ renew
//!                                                                  otherwise ──────────────────▶ allow
//! ```
//!
//! The disk checks a MAC under the key that it shares with the metadata server; a filter of revoked ids takes a few
//! bits each. A positive is answered "renew": the client fetches a capability with a new id, which costs a round
//! trip and is never a refusal for good. A client whose right is gone gets none. Tries until a valid capability
//! is taken are 1/(1−f) = 1.008 on average. With the disk's key the epoch changes, old capabilities are void, and
//! the filter is emptied. Nonces are in a pair of filters of which one is dropped now and then; what they refuse
//! wrongly is sent again with another nonce.
//!
//! S0 tells of "hash tampering" here; revocation and replay are what the filters are for.

use std::collections::HashSet;

use everbloom::decaying::ActiveActive;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result, SecretKey, Seen};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// A right to use an object, until it is revoked or the disk's key changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Capability {
    id: u64,
    mac: u64,
}

/// What a disk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Allow,
    Refuse,
    Renew,
}

/// The key that a disk and its metadata server share in an epoch.
fn epoch_key(seed: u64, epoch: u64) -> Hasher {
    let both = u128::from(seed) << 64 | u128::from(epoch);
    Hasher::keyed(SecretKey::new(both.to_le_bytes()))
}

fn mac(key: &Hasher, message: (u64, u64)) -> u64 {
    key.digest(&message).word(0)
}

struct Disk {
    key: Hasher,
    revoked: Bloom,
    nonces: ActiveActive,
    shape: (u64, u32),
    windows: u64,
}

impl Disk {
    fn new(key: Hasher, shape: (u64, u32), windows: u64) -> Result<Self> {
        let (m, k) = shape;
        let revoked = Bloom::with_shape(m, k, Hasher::default())?;
        let nonces = ActiveActive::with_shape(16 * windows, 11, windows, Hasher::default())?;
        Ok(Self { key, revoked, nonces, shape, windows })
    }

    /// The MACs come first: nobody else can fill the filters.
    fn request(&mut self, capability: Capability, nonce: u64, proof: u64) -> Reply {
        let genuine = mac(&self.key, (capability.id, 0)) == capability.mac
            && mac(&self.key, (capability.mac, nonce)) == proof;
        if !genuine || self.nonces.insert(&nonce) == Seen::Maybe {
            return Reply::Refuse;
        }
        if self.revoked.contains(&capability.id) { Reply::Renew } else { Reply::Allow }
    }

    /// A new key makes old capabilities void, so that nothing of them has to be remembered.
    fn new_epoch(&mut self, key: Hasher) -> Result<()> {
        *self = Self::new(key, self.shape, self.windows)?;
        Ok(())
    }
}

struct Server {
    key: Hasher,
    next: u64,
    revoked: HashSet<u64>,
}

impl Server {
    fn grant(&mut self) -> Capability {
        self.next += 1;
        let id = everbloom::internals::hash::mix64(self.next);
        Capability { id, mac: mac(&self.key, (id, 0)) }
    }

    fn revoke(&mut self, capability: Capability, disk: &mut Disk) {
        self.revoked.insert(capability.id);
        disk.revoked.insert(&capability.id);
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A50",
    form: Form::Simulation,
    uses: &["bloom", "active-active"],
    oracle: "the metadata server's set of revoked ids",
    data: "clients with capabilities of which a share is revoked, over two epochs of the disk's key",
    experiment: Experiment {
        name: "disk-capabilities",
        source: "S0 §IV-E [108]",
        title: "A disk on the network that knows which capabilities are revoked",
        shows: "No revoked, forged or outdated capability and no replayed request is ever allowed. A valid client is told to \
                renew at the rate f and needs 1/(1−f) = 1.008 tries.",
        run,
    },
};

const REVOKED: u64 = 2_000;
const CLIENTS: u64 = 20_000;

#[derive(Default)]
struct Trial {
    bad: [u64; 7],
    /// Answers about revoked ids, and what the server's set says of them.
    revoked: Vec<(bool, bool)>,
    tries: u64,
    renewals: u64,
    first: u64,
    refused: u64,
    requests: u64,
    rate: f64,
    emptied: bool,
}

fn try_one(seed: u64) -> Result<Trial> {
    let mut random = Generator::new(seed);
    let shape = (10 * REVOKED, 7);
    let mut server = Server { key: epoch_key(seed, 0), next: seed, revoked: HashSet::new() };
    let mut disk = Disk::new(epoch_key(seed, 0), shape, 2 * CLIENTS)?;
    let mut trial = Trial::default();
    let mut old = Vec::new();
    for epoch in 0..2 {
        let revoked: Vec<Capability> = (0..REVOKED).map(|_| server.grant()).collect();
        revoked.iter().for_each(|capability| server.revoke(*capability, &mut disk));
        trial.rate += everbloom::Filter::now(&disk.revoked).fpr.unwrap_or(0.0) / 2.0;
        let key = server.key.clone();
        let ask = |disk: &mut Disk, capability: Capability, random: &mut Generator| {
            let nonce = random.next_u64();
            (disk.request(capability, nonce, mac(&key, (capability.mac, nonce))), nonce)
        };
        for capability in &revoked {
            let reply = loop {
                // A nonce that seems used: again with another one.
                match ask(&mut disk, *capability, &mut random).0 {
                    Reply::Refuse => {}
                    reply => break reply,
                }
            };
            trial.bad[0] += u64::from(reply == Reply::Allow);
            trial.revoked.push((reply == Reply::Renew, server.revoked.contains(&capability.id)));
        }
        for client in 0..CLIENTS {
            let mut capability = server.grant();
            for attempt in 0.. {
                trial.requests += 1;
                let (reply, nonce) = ask(&mut disk, capability, &mut random);
                match reply {
                    // A nonce that seems used: the same capability with another one.
                    Reply::Refuse => trial.refused += 1,
                    Reply::Renew => {
                        trial.renewals += 1;
                        trial.first += u64::from(attempt == 0);
                        capability = server.grant();
                    }
                    Reply::Allow => {
                        let proof = mac(&key, (capability.mac, nonce));
                        let replayed = disk.request(capability, nonce, proof);
                        trial.bad[1] += u64::from(replayed != Reply::Refuse);
                        break;
                    }
                }
            }
            if client % 100 == 0 {
                let forged = Capability { mac: capability.mac ^ 1, ..capability };
                trial.bad[2] += u64::from(ask(&mut disk, forged, &mut random).0 != Reply::Refuse);
                // Whoever overheard a capability has no key to prove a request with: neither a made-up proof nor that
                // of another request will do.
                let [nonce, other, made_up] = [0; 3].map(|_| random.next_u64());
                let proof = mac(&key, (capability.mac, other));
                trial.bad[4] +=
                    u64::from(disk.request(capability, nonce, made_up) != Reply::Refuse);
                trial.bad[5] += u64::from(disk.request(capability, nonce, proof) != Reply::Refuse);
                old.push(capability);
            }
        }
        if epoch == 0 {
            server.key = epoch_key(seed, 1);
            server.revoked.clear();
            disk.new_epoch(server.key.clone())?;
            trial.emptied = disk.revoked.bits().ones() == 0;
            let key = server.key.clone();
            for capability in old.drain(..) {
                let nonce = random.next_u64();
                let reply = disk.request(capability, nonce, mac(&key, (capability.mac, nonce)));
                trial.bad[3] += u64::from(reply != Reply::Refuse);
            }
        }
    }
    trial.tries = 2 * CLIENTS + trial.renewals;
    trial.bad[6] = u64::from(!trial.emptied);
    Ok(trial)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let seen = lab.runs(runs, try_one)?;
    let sum = |of: &dyn Fn(&Trial) -> u64| seen.iter().map(of).sum::<u64>();
    let mut oracle = Oracle::default();
    let what = [
        "revoked capabilities allowed",
        "replayed requests taken",
        "forged capabilities taken",
        "capabilities of the last epoch taken",
        "requests with a made-up proof taken",
        "requests with the proof of another one taken",
        "filters not emptied with the epoch",
    ];
    for (i, what) in what.into_iter().enumerate() {
        oracle.none(what, sum(&|t| t.bad[i]));
    }
    let revoked = seen.iter().flat_map(|t| t.revoked.iter().copied());
    oracle.equal("capabilities told to renew, and revoked by the server", revoked);
    let clients = 2 * CLIENTS * runs;
    let f = seen.iter().map(|t| t.rate).sum::<f64>() / runs as f64;
    let mut rows = Rows::new("renewals", "Valid clients", Axis::linear("share or tries"));
    rows.row(
        "told to renew at first",
        f,
        sum(&|t| t.first) as f64 / clients as f64,
        bound::share(f, clients),
    );
    let tries = sum(&|t| t.tries) as f64 / clients as f64;
    // A geometric number of tries: variance f/(1−f)².
    let sd = f.sqrt() / (1.0 - f);
    rows.row(
        "tries until allowed: 1/(1−f)",
        1.008,
        tries,
        bound::mean(1.0 / (1.0 - f), sd, clients),
    );
    let formula = theory::fpr_classic(10.0 * REVOKED as f64, REVOKED as f64, 7.0);
    let spread = formula * 7.0 * theory::fill_sd(10.0 * REVOKED as f64, 7.0 * REVOKED as f64) / 0.5;
    rows.row(
        "rate of the filter, from its fill",
        0.008194,
        f,
        bound::mean(formula, spread, 2 * runs).widened(formula, 0.01),
    );
    let refused = sum(&|t| t.refused) as f64 / sum(&|t| t.requests) as f64;
    rows.row("nonces refused wrongly", 5e-5, refused, Bound::at_most(1e-3));
    Ok(oracle.report().rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a50_tries() {
        let f = theory::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((1.0 / (1.0 - f) - 1.008).abs() < 5e-4);
    }
}
