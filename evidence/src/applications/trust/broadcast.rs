//! Many users who may speak to all sensors (catalogue A53; S0 §IV-E \[120\]).
//!
//! ```text
//!   user ── message, id, public key, signature ──▶ sensor: (id, key) in the filter? no ─▶ dropped, no signature verified
//!                                                                                  yes ─▶ verify the signature
//!   sink ── adds, revokes: counters up, down ── bits that changed ──▶ sensors
//! ```
//!
//! A sensor has no room for a thousand certificates. It has a filter of the valid pairs of user and public key: whoever
//! makes up a key of his own has to try 1/f of them until one passes. At f = 2^−40 that is a trillion key pairs, for
//! 57.7 bits a user, 7.2 kB for 1000 users, and k = 40 probes. So many probes need a wide hash: behind one of 32 bits
//! a forger finds a user's hash after 2^32/n tries, whatever k is. The sink counts, so that users can be
//! revoked, and broadcasts the bits that changed. Without a filter, a Merkle proof costs ⌈log₂ n⌉ hashes a message.
//!
//! Signatures are stood in for by a keyed hash that only the key's owner and the simulator can compute.

use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Counting, Hasher, Result};

use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows, bound};

/// A user's id and public key.
type User = (u64, u64);

/// The public key of a private one.
fn public(private: u64) -> u64 {
    mix64(private ^ 0x0000_7075_626c_6963)
}

#[derive(Clone, Copy)]
struct Message {
    text: u64,
    user: User,
    signature: u64,
}

fn sign(text: u64, id: u64, private: u64) -> Message {
    Message { text, user: (id, public(private)), signature: mix64(private ^ mix64(text)) }
}

/// Whether a signature was made with the private key of this public one, which the simulator looks up.
fn verifies(message: &Message, privates: &[u64]) -> bool {
    let owner = privates.iter().find(|private| public(**private) == message.user.1);
    owner.is_some_and(|private| message.signature == mix64(private ^ mix64(message.text)))
}

struct Sensor {
    filter: Bloom,
    verified: u64,
}

impl Sensor {
    fn takes(&mut self, message: &Message, privates: &[u64]) -> bool {
        if !self.filter.contains(&message.user) {
            return false;
        }
        self.verified += 1;
        verifies(message, privates)
    }

    /// Changes the bits that a broadcast names.
    fn apply(&mut self, changed: &[u32]) -> Result<()> {
        let mut bits = self.filter.bits().clone();
        for bit in changed {
            let bit = u64::from(*bit);
            match bits.get(bit) {
                true => bits.reset(bit),
                false => _ = bits.set(bit),
            }
        }
        self.filter = Bloom::from_bits(bits, self.filter.k(), Hasher::default(), 0)?;
        Ok(())
    }
}

/// The sink's counters.
struct Sink {
    valid: Counting,
}

impl Sink {
    fn new(users: &[User], m: u64, k: u32) -> Result<Self> {
        let mut valid = Counting::with_shape(m, k, 8, Hasher::default())?;
        users.iter().for_each(|user| _ = valid.insert(user));
        Ok(Self { valid })
    }

    /// What sensors are given at first.
    fn sensor(&self, k: u32) -> Result<Sensor> {
        let filter = Bloom::from_bits(self.valid.to_bits(), k, Hasher::default(), 0)?;
        Ok(Sensor { filter, verified: 0 })
    }

    /// Adds or revokes a user, and tells which bits changed.
    fn change(&mut self, user: &User, valid: bool) -> Result<Vec<u32>> {
        let before = self.valid.to_bits();
        match valid {
            true => _ = self.valid.insert(user),
            false => self.valid.remove(user)?,
        }
        let after = self.valid.to_bits();
        let changed = (0..before.len()).filter(|i| before.get(*i) != after.get(*i));
        Ok(changed.map(|i| i as u32).collect())
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A53",
    form: Form::Simulation,
    uses: &["bloom", "counting"],
    oracle: "the sink's list of valid users",
    data: "1000 users with random keys, some of them revoked, and forgers with keys of their own",
    experiment: Experiment {
        name: "broadcast",
        source: "S0 §IV-E [120]",
        title: "Many users who may speak to all sensors",
        shows: "Valid users are always heard and revoked ones no more. A forger tries 1/f key pairs: 2^40 for 57.7 bits a user; \
                behind a narrow hash as many as it has values, divided by the users.",
        run,
    },
};

const USERS: u64 = 1000;
const STRONG: u32 = 40;

/// Bits and probes for a rate of 2^−strength.
fn shape(strength: u32) -> (u64, u32) {
    (theory::bits_for(USERS, libm::exp2(-f64::from(strength))), strength)
}

fn users(seed: u64) -> (Vec<u64>, Vec<User>) {
    let mut random = Generator::new(seed);
    let privates: Vec<u64> = (0..USERS).map(|_| random.next_u64()).collect();
    let users = privates.iter().enumerate().map(|(id, private)| (id as u64, public(*private)));
    let users = users.collect();
    (privates, users)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let (privates, users) = users(lab.seed());
    let (m, k) = shape(STRONG);
    let mut sink = Sink::new(&users, m, k)?;
    let mut sensor = sink.sensor(k)?;
    let mut rows = Rows::new("strong", "1000 users at 2^−40", Axis::log("value"));
    rows.row("bits a user", 57.7, m as f64 / USERS as f64, Bound::exactly(57.7, 0.05));
    rows.row("bytes", 7214.0, m as f64 / 8.0, Bound::exactly(7214.0, 10.0));
    let proof = 32.0 * libm::ceil(libm::log2(USERS as f64));
    rows.row("bytes of a Merkle proof in each message", 320.0, proof, Bound::exactly(320.0, 0.0));
    // Forty probes that are not independent would leave another fill.
    let fill = theory::fill(m as f64, f64::from(k) * USERS as f64);
    let sd = theory::fill_sd(m as f64, f64::from(k) * USERS as f64);
    rows.row(
        "share of ones with 40 probes",
        fill,
        sensor.filter.bits().fill(),
        bound::mean(fill, sd, 1),
    );
    let said = |sensor: &mut Sensor, id: usize| {
        sensor.takes(&sign(id as u64, id as u64, privates[id]), &privates)
    };
    oracle.equal("valid users heard", (0..USERS as usize).map(|id| (said(&mut sensor, id), true)));
    // Forgers: keys of their own, and other users' keys without the private one.
    let mut random = Generator::new(!lab.seed());
    let before = sensor.verified;
    let tries = lab.scaled(200_000);
    let heard = (0..tries)
        .filter(|i| sensor.takes(&sign(*i, random.below(USERS), random.next_u64()), &privates));
    oracle.none(&format!("forgers heard, of {tries}"), heard.count() as u64);
    let verified = (sensor.verified - before) as f64;
    rows.row("signatures verified for forgers", 0.0, verified, Bound::exactly(0.0, 0.0));
    let stolen = Message { signature: 1, ..sign(5, 7, privates[7]) };
    oracle.equal("a stolen key without its signature", [(sensor.takes(&stolen, &privates), false)]);
    // A tenth is revoked; until the broadcast arrives they are heard.
    let mut bytes = 0;
    let (mut early, mut cleared) = (0, Vec::new());
    for id in (0..USERS as usize).step_by(10) {
        let bits = sink.change(&users[id], false)?;
        bytes += 4 * bits.len();
        early += usize::from(said(&mut sensor, id));
        cleared.extend(bits);
    }
    rows.row(
        "revoked users heard before the broadcast",
        100.0,
        early as f64,
        Bound::exactly(100.0, 0.0),
    );
    sensor.apply(&cleared)?;
    // A user who joins is heard after the next one.
    let (newcomer, private) = (USERS, mix64(lab.seed()));
    let joins = sign(1, newcomer, private);
    let known: Vec<u64> = privates.iter().copied().chain([private]).collect();
    let added = sink.change(&joins.user, true)?;
    let before = sensor.takes(&joins, &known);
    sensor.apply(&added)?;
    let after = sensor.takes(&joins, &known);
    oracle.equal("a user who joins, before and after", [(before, false), (after, true)]);
    oracle.equal(
        "users heard after it",
        (0..USERS as usize).map(|id| (said(&mut sensor, id), id % 10 != 0)),
    );
    // A cell is cleared if none of the others' probes hit it: one user less for each that is revoked.
    let alone = |others: u64| libm::exp(-f64::from(k) * others as f64 / m as f64);
    let cleared = (0..100).map(|i| alone(USERS - 1 - i)).sum::<f64>() / 100.0;
    let (cells, cell) = (f64::from(k) * cleared, 4.0);
    rows.row(
        "bytes of the broadcast for a user",
        cell * cells,
        bytes as f64 / 100.0,
        bound::mean(cell * cells, cell * (cells * (1.0 - cleared)).sqrt(), 100)
            .widened(cell * cells, 0.02),
    );
    let tries = tried(lab)?;
    Ok(oracle.report().rows(rows).rows(tries))
}

/// How many keys a forger tries, at rates that a simulation can reach.
fn tried(lab: &Lab) -> Result<Rows> {
    let mut rows =
        Rows::new("tries", "Keys that a forger tries until one passes", Axis::log("keys"));
    let runs = lab.scaled(200);
    for strength in [6, 8, 10] {
        let (m, k) = shape(strength);
        let seen = lab.runs(runs, |seed| {
            let (_, users) = users(seed);
            let sensor = Sink::new(&users, m, k)?.sensor(k)?;
            let mut random = Generator::new(!seed);
            let tries =
                (1u64..).find(|_| sensor.filter.contains(&(0u64, public(random.next_u64()))));
            Ok(tries.unwrap_or(0) as f64)
        })?;
        let (mean, _) = bound::mean_and_sd(&seen);
        let expected = libm::exp2(f64::from(strength));
        // Geometric: as uncertain as it is large. Filters' fills differ by some percent of f.
        rows.row(
            format!("f = 2^−{strength}"),
            expected,
            mean,
            bound::mean(expected, expected, runs).widened(expected, 0.05),
        );
    }
    // Walked into: forty probes behind a hash that is cut to 16 bits.
    let narrow = |user: &User| Hasher::default().digest(user).word(0) >> 48;
    let (m, k) = shape(STRONG);
    let seen = lab.runs(runs, |seed| {
        let (_, users) = users(seed);
        let mut filter = Bloom::with_shape(m, k, Hasher::seeded(seed))?;
        users.iter().for_each(|user| _ = filter.insert(&narrow(user)));
        let mut random = Generator::new(!seed);
        let tries = (1u64..).find(|_| filter.contains(&narrow(&(0u64, public(random.next_u64())))));
        Ok(tries.unwrap_or(0) as f64)
    })?;
    let (mean, _) = bound::mean_and_sd(&seen);
    // 1000 users have 1000 of 65,536 values, less those that coincide.
    let expected = 65_536.0 / (65_536.0 * theory::fill(65_536.0, USERS as f64));
    rows.row(
        "40 probes behind a hash of 16 bits",
        expected,
        mean,
        bound::mean(expected, expected, runs),
    );
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a53_sizes() {
        let (m, k) = shape(STRONG);
        assert_eq!(k, 40);
        assert!(
            (m as f64 / USERS as f64 - 57.7).abs() < 0.05 && (m as f64 / 8000.0 - 7.2).abs() < 0.05
        );
        assert_eq!(libm::ceil(libm::log2(1000.0)), 10.0);
    }
}
