//! A mediator who passes queries on, all three parties honest and not.

use super::super::passing::{Applicant, Courier, Intake, Passed, Slip, Warrant};
use super::*;

/// What the three parties have before a word is asked for.
struct Setup<F: Field> {
    holder: Party<Holder<F>>,
    reader: Party<Reader>,
    courier: Party<Courier>,
    intake: Party<Intake>,
}

fn setup<F: Field>() -> Setup<F> {
    let mut holder = party(holder::<F>().role.warranted());
    let (mut reader, mut courier) = (party(Reader::new()), party(Courier::new()));
    let mut intake = party(Intake::new(FLAT));
    reader.receive(&holder.receive(&[]).expect("a setup").send).expect("a setup");
    courier.receive(&intake.receive(&[]).expect("a shape").send).expect("a shape");
    assert_eq!(courier.role.flat(), Some(FLAT));
    Setup { holder, reader, courier, intake }
}

impl<F: Field> Setup<F> {
    fn applicant(&self, plain: &[&[u8]]) -> Party<Applicant<F>> {
        let masked = self.reader.role.masked().expect("told");
        party(Applicant::new(&key::<F>(1), masked, plain).expect("words"))
    }

    fn warrant(&self, policy: Policy) -> Party<Warrant<F>> {
        let mediator = Mediator::guarded(&self.holder.role.mask(), policy);
        party(Warrant::new(mediator, FLAT, 20, Secret::new([3; 32])).expect("few dummies"))
    }

    /// Passes words on, up to where Alice shows her tickets.
    fn pass(&mut self, plain: &[&[u8]]) -> (Vec<Slip>, Passed) {
        let (mut applicant, mut warrant) = (self.applicant(plain), self.warrant(Policy::default()));
        run(&mut applicant, &mut warrant).expect("honest");
        let passed = warrant.role.passed().clone();
        self.courier.role.pass(&passed);
        run(&mut self.courier, &mut self.intake).expect("honest");
        self.holder.role.expect(self.intake.role.passed());
        (applicant.role.slips().to_vec(), passed)
    }
}

fn found<F: Field>() {
    let mut setup = setup::<F>();
    let plain = [&b"oak"[..], b"fig", b"nothing", b"oak"];
    let (slips, passed) = setup.pass(&plain);
    assert_eq!((slips.len(), passed.len()), (4, 4), "a ticket for each, repeated or not");
    slips.iter().for_each(|slip| setup.reader.role.collect(slip));
    setup.reader.role.end();
    let asked = setup.reader.receive(&[]).expect("tickets").send;
    // What Alice has is no word under Bob's key, and no cell of one.
    for word in plain.map(|plain| written::<F>(&key::<F>(2).encrypt(plain))) {
        assert!(!asked.windows(word.len()).any(|part| part == word));
    }
    assert_eq!(asked.len(), 4 * (5 + 16) + 5);
    let answers = setup.holder.receive(&asked).expect("bits");
    assert!(answers.done && setup.reader.receive(&answers.send).expect("names").done);
    let found = setup.reader.role.found();
    assert_eq!(found[0], [&b"trees"[..], b"food"]);
    assert_eq!((&found[1][..], found[2].len()), (&[b"food".to_vec()][..], 0));
    assert_eq!(found[3], found[0]);
    assert!(setup.reader.receive(&answers.send).is_err(), "replayed");
}

#[test]
fn words_are_found_by_queries_that_the_mediator_passes_on() {
    found::<Small>();
    found::<Modp2048>();
}

#[test]
fn the_mediator_salts_and_a_word_has_the_same_dummies_each_time() {
    let mut setup = setup::<Small>();
    let (slips, passed) = setup.pass(&[b"oak", b"fig", b"oak"]);
    let cells = |slip: &Slip| passed[&slip.ticket].clone();
    assert!(cells(&slips[0]) == cells(&slips[2]) && cells(&slips[0]) != cells(&slips[1]));
    assert_ne!(slips[0].ticket, slips[2].ticket);
    for (slip, word) in slips.iter().zip([&b"oak"[..], b"fig"]) {
        let word = key::<Small>(2).encrypt(word);
        let bare = Salted::new::<Small>(FLAT, &word, 0, (&Secret::new([3; 32]), b"")).unwrap();
        let all = cells(slip);
        assert!(all.len() > bare.cells.len() + 10, "dummies");
        let real = all.iter().zip(&slip.real.0).filter(|(_, real)| **real).map(|(cell, _)| *cell);
        assert!(real.eq(bare.cells), "the slip tells which bits count");
    }
    assert!(format!("{slips:?}").contains("cells") && !format!("{slips:?}").contains("true"));
    let mediator = || Mediator::<Small>::new(&setup.holder.role.mask());
    let warrant = |dummies| Warrant::new(mediator(), FLAT, dummies, Secret::new([3; 32]));
    assert!(warrant(MOST as u32 - FLAT.k).is_ok() && warrant(MOST as u32 - FLAT.k + 1).is_err());
    assert!(warrant(u32::MAX).is_err());
}

#[test]
fn a_warrant_server_passes_on_what_its_list_permits() {
    let setup = setup::<Small>();
    let listed = || [&b"oak"[..], b"elm"].map(|word| key::<Small>(2).encrypt(word));
    let passes = |policy: Policy, refused: Vec<_>, plain: &[&[u8]]| {
        let (mut applicant, warrant) = (setup.applicant(plain), setup.warrant(policy));
        let mut warrant = party(warrant.role.refusing(refused));
        let passed = run(&mut applicant, &mut warrant).is_ok();
        assert_eq!(warrant.role.passed().len(), if passed { plain.len() } else { 0 });
        passed
    };
    let all = || Policy::default();
    assert!(passes(Policy::only::<Small>(listed()), Vec::new(), &[b"oak", b"elm"]), "a warrant");
    assert!(!passes(Policy::only::<Small>(listed()), Vec::new(), &[b"oak", b"fig"]));
    assert!(passes(all(), listed().into(), &[b"fig"]));
    assert!(!passes(all(), listed().into(), &[b"fig", b"elm"]), "censored");
}

/// Blinded, a refused word passes, but as another one: the cells that the holder is asked for are not its own, and Alice
/// has nothing to take the blind off.
#[test]
fn a_blinded_word_passes_a_mediator_that_censors_and_finds_nothing() {
    let setup = setup::<Modp2048>();
    let oak = key::<Modp2048>(2).encrypt(b"oak");
    let (word, _) = blinded::<Modp2048>(b"oak", &CipherKey::random().expect("random"));
    let part =
        key::<Modp2048>(1).divide(setup.reader.role.masked().expect("told")).expect("a part");
    let asked = [frame(PART, &part), frame(WORDS, &written::<Modp2048>(&word))].concat();
    let mut warrant = party(setup.warrant(Policy::default()).role.refusing([oak]));
    let sent = warrant.receive(&asked).expect("not on the list").send;
    assert!(!sent.windows(256).any(|part| part == written::<Modp2048>(&oak)));
    let cells = warrant.role.passed().values().next().expect("a query");
    let own = Salted::new::<Modp2048>(FLAT, &oak, 0, (&Secret::new([1; 32]), b"oak"))
        .expect("cells")
        .cells;
    // Thirty cells of 2000: of the word's ten, hardly any are among them.
    assert!(own.iter().filter(|cell| cells.contains(cell)).count() < 5);
}

#[test]
fn a_holder_answers_each_ticket_once_and_nothing_else() {
    let mut setup = setup::<Small>();
    let (slips, _) = setup.pass(&[b"oak", b"fig"]);
    let holder = |words: Passed| {
        let mut holder = party(super::holder::<Small>().role.warranted());
        holder.role.expect(words);
        holder
    };
    let ticket = |i: usize| frame(TICKET, &slips[i].ticket);
    let passed = || slips.iter().map(|slip| (slip.ticket, vec![1, 5, 1999])).collect::<Passed>();
    assert!(holder(passed()).receive(&[ticket(1), ticket(0), frame(END, &[])].concat()).is_ok());
    for wrong in [
        [ticket(0), ticket(0)].concat(),
        frame(TICKET, &[0; 16]),
        frame(TICKET, &slips[0].ticket[..15]),
        frame(TICKET, &[&slips[0].ticket[..], &[0]].concat()),
        frame(CELLS, &7u64.to_le_bytes()),
    ] {
        assert!(holder(passed()).receive(&wrong).is_err(), "{wrong:?}");
    }
    assert!(super::holder::<Small>().receive(&ticket(0)).is_err(), "nothing was passed on");
}

#[test]
fn an_intake_refuses_queries_that_cannot_be_answered() {
    let query = |ticket: u8, cells: &[u64]| {
        frame(PASSED, &[&[ticket; 16][..], &written_cells(cells)].concat())
    };
    let end = || frame(END, &[]);
    let hears = |bytes: &[u8]| {
        let mut intake = party(Intake::new(FLAT));
        let heard = intake.receive(bytes).map(|step| step.done);
        (heard, intake.role.passed().len())
    };
    let good = [query(1, &[0, 1999]), query(2, &[7])].concat();
    assert!(matches!(hears(&[&good[..], &end()].concat()), (Ok(true), 2)));
    assert!(matches!(hears(&good), (Ok(false), 0)), "not before all have come");
    let no_end = [&good[..], &frame(END, &[0])].concat();
    assert!(matches!(hears(&no_end), (Err(_), 0)), "nor behind an end that is none");
    let too_many: Vec<u8> = (0..=MOST as u128)
        .flat_map(|i| frame(PASSED, &[&i.to_le_bytes()[..], &[0; 8]].concat()))
        .collect();
    for wrong in [
        query(1, &[]),
        query(1, &[2000]),
        query(1, &[7, 7]),
        query(1, &[8, 7]),
        query(1, &(0..=MOST as u64).collect::<Vec<_>>()),
        [query(1, &[3]), query(1, &[4])].concat(),
        frame(PASSED, &[1; 15]),
        frame(PASSED, &[1; 20]),
        frame(END, &[0]),
        [end(), query(3, &[1])].concat(),
        [end(), end()].concat(),
        too_many,
    ] {
        assert!(hears(&wrong).0.is_err());
    }
}

#[test]
fn a_courier_refuses_a_holder_who_took_other_queries() {
    let shape = || frame(SHAPE, &written_shape(FLAT));
    let taken = |count: u64| frame(TAKEN, &count.to_le_bytes());
    let hears = |bytes: &[u8]| {
        let mut courier = party(Courier::new());
        courier.receive(&shape()).expect("a shape");
        courier.role.pass(&Passed::from([([1; 16], vec![5])]));
        courier.receive(&[]).expect("a query");
        courier.receive(bytes).map(|step| step.done)
    };
    assert!(matches!(hears(&taken(1)), Ok(true)));
    for wrong in [taken(0), taken(2), shape(), frame(TAKEN, &[1]), [taken(1), taken(1)].concat()] {
        assert!(hears(&wrong).is_err(), "{wrong:?}");
    }
    for wrong in [taken(0), frame(SHAPE, &[0; 12]), frame(SHAPE, &[0xFF; 11])] {
        assert!(party(Courier::new()).receive(&wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn an_applicant_refuses_slips_that_no_mediator_gives() {
    let setup = setup::<Small>();
    let (mut applicant, mut warrant) =
        (setup.applicant(&[b"oak"]), setup.warrant(Policy::default()));
    let sent = applicant.receive(&[]).expect("a word").send;
    let slip = warrant.receive(&sent).expect("a slip").send;
    let hears = |bytes: &[u8]| {
        let mut applicant = setup.applicant(&[b"oak"]);
        applicant.receive(&[]).expect("a word");
        applicant.receive(bytes).map(|step| step.done)
    };
    assert!(matches!(hears(&slip), Ok(true)));
    assert!(matches!(hears(&slip[..slip.len() - 1]), Ok(false)), "truncated");
    let body =
        |len: u32, bits: &[u8]| frame(SLIP, &[&[9; 16][..], &len.to_le_bytes(), bits].concat());
    assert!(matches!(hears(&body(9, &[0, 1])), Ok(true)));
    for wrong in [
        [&slip[..], &slip].concat(),
        body(9, &[0]),
        body(9, &[0, 1, 0]),
        body(9, &[0, 0]),
        body(0, &[]),
        body(u32::MAX, &[1]),
        body(MOST as u32 + 1, &[1; 513]),
        frame(SLIP, &[9; 19]),
        frame(WORDS, &[4, 0, 0, 0]),
    ] {
        assert!(hears(&wrong).is_err(), "{wrong:?}");
    }
    assert!(setup.applicant(&[b"oak"]).receive(&slip).is_err(), "before anything was asked for");
    assert!(warrant.receive(&sent).is_err(), "replayed");
}
