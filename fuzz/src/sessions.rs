//! Parties of private queries and of searches whose peer sends anything: an error, or an exchange that goes on.
//!
//! Byte 0 picks the party. Then each step is an operation: the next honest message, that message changed, a
//! frame of any type with these bytes as its body, or these bytes as they are.

use std::sync::LazyLock;

use everbloom::exchange::private::{Asker, Owner, outputs};
use everbloom::exchange::search::{Keeper, Searcher, Shelf};
use everbloom::exchange::{Limits, Party, Session};
use everbloom::membership::Bloom;
use everbloom::secure::Secret;
use everbloom::secure::index::{Index, IndexKey, Shape};
use everbloom::secure::oprf::{Group, Mode, Ristretto, ServerKey, Toy};

/// The parties, and what each of them hears from an honest peer.
struct World<G: Group> {
    key: ServerKey<G>,
    set: Bloom,
    index: Index,
    shape: Shape,
    heard: [Vec<Vec<u8>>; 4],
}

fn secret() -> Secret {
    Secret::new([1; 32])
}

impl<G: Group> World<G> {
    fn new() -> Self {
        let key = ServerKey::derive(Mode::Verified, &secret(), b"fuzz").expect("a key");
        let set = outputs(&key, 4, 0.01, [&b"fig"[..], b"oak"]).expect("a filter");
        let shape = Shape::for_rate(4, 0.01).expect("a shape");
        let owner = IndexKey::new(&secret(), shape.r());
        let index = owner.build(shape, b"name", [&b"oak"[..]]).expect("an index");
        let mut world = Self { key, set, index, shape, heard: Default::default() };
        for (a, b) in [(0, 1), (2, 3)] {
            let (mut first, mut second) = (world.party(a), world.party(b));
            let mut from = first.receive(&[]).expect("honest").send;
            while !from.is_empty() {
                let back = second.receive(&from).expect("honest").send;
                world.heard[b].push(std::mem::replace(&mut from, back));
                if !from.is_empty() {
                    let back = first.receive(&from).expect("honest").send;
                    world.heard[a].push(std::mem::replace(&mut from, back));
                }
            }
        }
        world
    }

    fn party(&self, which: usize) -> Box<dyn Session> {
        let limits = Limits { frame: 1 << 16, total: 1 << 20, ..Limits::NETWORK };
        match which {
            0 => {
                let owner = Owner::new(self.key.clone(), 8).with_set(self.set.clone());
                Box::new(Party::new(owner, limits))
            }
            1 => {
                let keys = vec![b"oak".to_vec(), b"elm".to_vec()];
                Box::new(Party::new(Asker::<G>::resumed(keys, secret(), [1; 16]), limits))
            }
            2 => {
                let mut shelf = Shelf::new(self.shape);
                shelf.push(self.index.clone());
                let trapdoor = IndexKey::new(&secret(), self.shape.r()).trapdoor(b"oak");
                Box::new(Party::new(Searcher::new().filing(shelf).asking(trapdoor), limits))
            }
            _ => Box::new(Party::new(Keeper::new(), limits)),
        }
    }

    fn play(&self, data: &[u8]) {
        let Some((which, mut rest)) = data.split_first() else { return };
        let which = usize::from(which % 4);
        let (mut party, mut honest) = (self.party(which), self.heard[which].iter());
        let mut failed = party.receive(&[]).is_err();
        while let Some(([how, length], after)) = rest.split_first_chunk() {
            let (body, after) = after.split_at(after.len().min(usize::from(length & 63)));
            rest = after;
            let mut message = match how % 4 {
                0 | 1 => honest.next().cloned().unwrap_or_default(),
                2 => {
                    let length = (body.len() as u32).to_le_bytes();
                    [&[0x30 + (how >> 2) % 0x20][..], &length, body].concat()
                }
                _ => body.to_vec(),
            };
            if how % 4 == 1 {
                for change in body.chunks_exact(3) {
                    let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
                    let at = at % message.len().max(1);
                    match (message.get_mut(at), change[2] & 3) {
                        (Some(_), 0) => message.truncate(at),
                        (Some(byte), _) => *byte ^= change[2],
                        (None, _) => {}
                    }
                }
            }
            let heard = party.receive(&message);
            assert!(!failed || heard.is_err(), "a party that failed stays failed");
            failed = heard.is_err();
        }
        assert!(!failed || party.closed().is_err());
    }
}

/// Plays what the bytes say over the toy group: millions of exchanges.
pub fn sessions(data: &[u8]) {
    static WORLD: LazyLock<World<Toy>> = LazyLock::new(World::new);
    WORLD.play(data);
}

/// The same over the real group.
pub fn real_sessions(data: &[u8]) {
    static WORLD: LazyLock<World<Ristretto>> = LazyLock::new(World::new);
    WORLD.play(data);
}
