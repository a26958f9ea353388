//! Both sides in one process, honest and not.

mod passing;

use super::super::{Limits, List, Party, Session, run};
use super::*;
use crate::secure::Secret;
use crate::secure::encrypted::{Document, Modp2048, Salted, Toy};

type Small = Toy<2_147_483_579>;

const FLAT: Flat = Flat { m: 2000, k: 10 };

fn key<F: Field>(byte: u8) -> CipherKey<F> {
    CipherKey::derive(&Secret::new([byte; 32])).expect("a key")
}

fn party<R: Role>(role: R) -> Party<R> {
    Party::new(role, Limits::NETWORK)
}

fn holder<F: Field>() -> Party<Holder<F>> {
    let documents = [("trees", ["oak", "elm"]), ("food", ["fig", "oak"])];
    let documents = documents.map(|(name, words)| {
        let mut document = Document::new(name.as_bytes(), FLAT).expect("a filter");
        words.iter().for_each(|word| document.insert(&key::<F>(2), word.as_bytes()));
        document
    });
    party(Holder::new(&key(2), FLAT, documents.into()).expect("random"))
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::write(&mut out, kind, body, &Limits::NETWORK).expect("small");
    out
}

fn found<F: Field>() {
    let (alice, secret) = (key::<F>(1), Secret::new([1; 32]));
    let (mut holder, mut reader) = (holder::<F>(), party(Reader::new()));
    let setup = holder.receive(&[]).expect("a setup").send;
    reader.receive(&setup).expect("a setup");
    let plain = [&b"oak"[..], b"fig", b"nothing"];
    let masked = reader.role.masked().expect("told").to_vec();
    let mut client = party(Client::new(&alice, &masked, &plain).expect("words"));
    let mut mediator = party(Mediator::<F>::new(&holder.role.mask()));
    run(&mut client, &mut mediator).expect("honest");
    for (word, plain) in client.role.turned().expect("done").iter().zip(plain) {
        assert!(*word == key::<F>(2).encrypt(plain));
        let flat = reader.role.flat().expect("told");
        reader.role.ask(Salted::new::<F>(flat, word, 20, (&secret, plain)).expect("cells"));
    }
    reader.role.end();
    let asked = reader.receive(&[]).expect("cells").send;
    let answers = holder.receive(&asked).expect("bits");
    assert!(answers.done && reader.receive(&answers.send).expect("names").done);
    let found = reader.role.found();
    assert_eq!(found[0], [&b"trees"[..], b"food"]);
    assert_eq!((&found[1][..], found[2].len()), (&[b"food".to_vec()][..], 0));
    assert!(reader.receive(&answers.send).is_err(), "replayed");
}

#[test]
fn words_are_found_through_a_third_party() {
    found::<Small>();
    found::<Modp2048>();
}

#[test]
fn a_mediator_turns_what_its_list_permits() {
    let bob = key::<Small>(2);
    let listed = || [&b"oak"[..], b"elm"].map(|word| bob.encrypt(word));
    let mut reader = party(Reader::new());
    let mut holder = holder::<Small>();
    reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
    let masked = reader.role.masked().expect("told");
    let turns = |policy: Policy, plain: &[&[u8]]| {
        assert!(!format!("{policy:?}").contains('['));
        let mut client = party(Client::new(&key::<Small>(1), masked, plain).expect("words"));
        let mut mediator = party(Mediator::<Small>::guarded(&holder.role.mask(), policy));
        run(&mut client, &mut mediator).is_ok()
    };
    assert!(turns(Policy::only::<Small>(listed()), &[b"oak", b"elm"]), "a warrant");
    assert!(!turns(Policy::only::<Small>(listed()), &[b"oak", b"fig"]));
    assert!(turns(Policy::default(), &[b"fig", b"oak"]));
}

/// A word under Alice's key to the power of a blind, and what undoes it.
fn blinded<F: Field>(word: &[u8], blind: &CipherKey<F>) -> (F::Number, F::Number) {
    let blind = F::read_exponent(&blind.reveal()).expect("an exponent");
    (F::power(&key::<F>(1).encrypt(word), &blind), F::inverse(&blind).expect("it can be undone"))
}

/// A list of refused words would not see a blinded one, and Alice takes the blind off what comes back. A warrant does
/// not permit it.
#[test]
fn a_blinded_word_is_no_word_of_a_warrant() {
    let (bob, mut reader, mut holder) = (key::<Small>(2), party(Reader::new()), holder::<Small>());
    reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
    let part = key::<Small>(1).divide(reader.role.masked().expect("told")).expect("a part");
    let (word, undo) = blinded::<Small>(b"oak", &CipherKey::random().expect("random"));
    let asked = [frame(PART, &part), frame(WORDS, &written::<Small>(&word))].concat();
    let turned = |policy: Policy| {
        let mut mediator = party(Mediator::<Small>::guarded(&holder.role.mask(), policy));
        mediator.receive(&asked).map(|step| step.send)
    };
    let open = turned(Policy::default()).expect("anything is turned");
    let got = Small::read_square(&open[5..]).expect("a word");
    assert!(Small::power(&got, &undo) == bob.encrypt(b"oak"), "the blind comes off");
    assert!(turned(Policy::only::<Small>([bob.encrypt(b"oak"), bob.encrypt(b"elm")])).is_err());
}

#[test]
fn an_index_server_knows_neither_names_nor_the_key() {
    let (bob, secret) = (key::<Small>(2), Secret::new([2; 32]));
    let mask = CipherKey::random().expect("random");
    let document = |name: &[u8], word: &[u8]| {
        let mut document = Document::opaque(&secret, name, FLAT).expect("a filter");
        document.insert(&bob, word);
        document
    };
    let documents = vec![document(b"trees", b"oak"), document(b"food", b"fig")];
    let names: Vec<Vec<u8>> = documents.iter().map(|d| d.name().to_vec()).collect();
    assert!(names.iter().all(|name| name.len() == 32) && names[0] != names[1]);
    let index = Holder::<Small>::index(bob.masked(&mask), FLAT, documents);
    assert!(index.mask().is_empty());
    let (mut index, mut reader) = (party(index), party(Reader::new()));
    reader.receive(&index.receive(&[]).expect("a setup").send).expect("a setup");
    let masked = reader.role.masked().expect("told").to_vec();
    let mut client = party(Client::new(&key::<Small>(1), &masked, &[b"fig"]).expect("a word"));
    run(&mut client, &mut party(Mediator::<Small>::new(&mask.reveal()))).expect("honest");
    let word = client.role.turned().expect("done")[0];
    let salted = Salted::new::<Small>(FLAT, &word, 9, (&Secret::new([1; 32]), b"fig"));
    let salted = salted.expect("cells");
    assert!(format!("{salted:?}").ends_with(" cells)"), "not which are the word's");
    reader.role.ask(salted);
    reader.role.end();
    run(&mut reader, &mut index).expect("honest");
    assert_eq!(reader.role.found(), [vec![names[1].clone()]]);
    // Bob tells whose name that is.
    assert_eq!(Document::opaque(&secret, b"food", FLAT).expect("a filter").name(), names[1]);
}

#[test]
fn a_mediator_refuses_what_is_no_word() {
    let (mut reader, mut holder) = (party(Reader::new()), holder::<Small>());
    reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
    let masked = reader.role.masked().expect("told");
    let mut client = party(Client::new(&key::<Small>(1), masked, &[b"oak"]).expect("a word"));
    let sent = client.receive(&[]).expect("a part and a word").send;
    let hears = |bytes: &[u8]| {
        party(Mediator::<Small>::new(&holder.role.mask())).receive(bytes).map(|step| step.done)
    };
    assert!(matches!(hears(&sent), Ok(true)));
    let part = &sent[..9];
    for wrong in [
        frame(WORDS, &[4, 0, 0, 0]),
        [part, part].concat(),
        [part, &frame(WORDS, &[])].concat(),
        [part, &frame(WORDS, &[4, 0, 0])].concat(),
        [part, &frame(WORDS, &[0; 4])].concat(),
        [part, &frame(WORDS, &[1, 0, 0, 0])].concat(),
        [part, &frame(WORDS, &[0xFF; 4])].concat(),
        [part, &frame(WORDS, &[4, 0, 0, 0].repeat(MOST + 1))].concat(),
        frame(PART, &[2, 0, 0, 0]),
        frame(PART, &[0xFF; 4]),
        frame(PART, &[3, 0, 0]),
        [&sent[..], &frame(WORDS, &[4, 0, 0, 0])].concat(),
    ] {
        assert!(hears(&wrong).is_err(), "{wrong:?}");
    }
    assert!(party(Mediator::<Small>::new(&[2, 0, 0, 0])).receive(&sent).is_err(), "no mask");
    for wrong in [frame(WORDS, &[4, 0, 0, 0, 4, 0, 0, 0]), frame(WORDS, &[0; 4])] {
        let mut client = party(Client::new(&key::<Small>(1), masked, &[b"oak"]).expect("a word"));
        client.receive(&[]).expect("a word");
        assert!(client.receive(&wrong).is_err());
    }
    assert!(Client::new(&key::<Small>(1), &[2, 0, 0, 0], &[b"oak"]).is_err());
    assert!(Client::new(&key::<Small>(1), masked, &[]).is_err());
}

#[test]
fn a_holder_refuses_cells_that_are_not_there() {
    let cells = |cells: &[u64]| -> Vec<u8> {
        frame(CELLS, &cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>())
    };
    assert!(holder::<Small>().receive(&cells(&[0, 1999])).is_ok());
    for wrong in [
        cells(&[]),
        cells(&[2000]),
        cells(&[7, 7]),
        cells(&[8, 7]),
        cells(&(0..=MOST as u64).collect::<Vec<_>>()),
        frame(CELLS, &[0; 7]),
        frame(END, &[0]),
        [frame(END, &[]), frame(END, &[])].concat(),
    ] {
        assert!(holder::<Small>().receive(&wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_reader_refuses_what_was_not_asked_for() {
    let setup = holder::<Small>().receive(&[]).expect("a setup").send;
    let salted = || {
        let (word, secret) = (key::<Small>(2).encrypt(b"oak"), Secret::new([1; 32]));
        Salted::new::<Small>(FLAT, &word, 0, (&secret, b"oak")).expect("cells")
    };
    let bits = salted().cells.len().div_ceil(8);
    let document = |bits: usize| {
        let mut list = List::default();
        list.push_all(&[b"name", &vec![0xFF; bits]]);
        frame(BITS, &list.take().concat())
    };
    let told = |count: u64| frame(TOLD, &count.to_le_bytes());
    let hears = |bytes: &[u8]| {
        let mut reader = party(Reader::new());
        reader.receive(&setup).expect("a setup");
        reader.role.ask(salted());
        reader.role.end();
        reader.receive(&[]).expect("cells");
        reader.receive(bytes).map(|step| step.done)
    };
    assert!(matches!(hears(&[document(bits), told(1)].concat()), Ok(true)));
    for wrong in [
        [document(bits), told(2)].concat(),
        [document(bits + 1), told(1)].concat(),
        [document(bits), told(1), told(0)].concat(),
        frame(BITS, b"\x04name"),
        frame(BITS, b"\x09name"),
        frame(TOLD, &[0; 7]),
        setup.clone(),
    ] {
        assert!(hears(&wrong).is_err(), "{wrong:?}");
    }
    for wrong in [frame(SHAPE, &[0; 12]), frame(SHAPE, &[0xFF; 11]), frame(MASKED, &[3])] {
        assert!(party(Reader::new()).receive(&wrong).is_err());
    }
}
