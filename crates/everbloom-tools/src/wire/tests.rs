//! Peers that stall, send garbage or hang up: an error within the time given, whatever the message.

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use everbloom::exchange::rateless::{Holder, Seeker, Set};
use everbloom::exchange::{Limits, Party, Session as _};
use everbloom::internals::hash::Generator;
use everbloom::{Kind, Result};

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(60);

fn set(range: std::ops::Range<u32>) -> Set {
    range.fold(Set::new(), |set, i| set.with(i.to_string().as_bytes()))
}

fn seeker() -> Party<Seeker> {
    Party::new(Seeker::new(set(0..3000)).giving(), Limits::NETWORK)
}

fn holder() -> Party<Holder> {
    Party::new(Holder::new(set(7..3005)).taking(), Limits::NETWORK)
}

#[test]
fn a_silent_peer_and_one_that_takes_nothing_end_in_time() {
    let (mut here, _there) = Channel::pair(SHORT).unwrap();
    let start = Instant::now();
    let silent = here.run(&mut seeker()).unwrap_err().to_string();
    assert!(silent.contains("says nothing for 0.06 seconds"), "{silent}");
    let full = here.send(&vec![0; 10 << 20]).unwrap_err().to_string();
    assert!(full.contains("takes nothing"), "{full}");
    assert!(start.elapsed() < Duration::from_secs(4));
}

/// Bytes one by one, each after a short time, without end: no single wait is long.
struct Drip;

impl std::io::Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        thread::sleep(SHORT / 12);
        out[0] = 0x61;
        Ok(1)
    }
}

#[test]
fn a_peer_that_sends_a_byte_now_and_then_ends_in_time() {
    let mut here = Channel::new(Drip, std::io::sink(), SHORT);
    // Everything is told by what was received: a byte buys a 4096th of a second, and 12 in a time use it up.
    let mut bytes = 0u64;
    let ended = loop {
        match here.receive() {
            Ok(got) => bytes += got.expect("endless").len() as u64,
            Err(e) => break e.to_string(),
        }
        assert!(bytes < 1000, "it goes on for ever");
    };
    assert!(ended.contains("the other side says"), "{ended}");
    // Whoever sends much is waited for as long as before.
    let (mut here, mut there) = Channel::pair(4 * SHORT).unwrap();
    there.send(&[0; 4096]).unwrap();
    here.receive().unwrap();
    assert_eq!(here.traffic().b_to_a, 4096);
    let silent = here.receive().unwrap_err().to_string();
    assert!(silent.contains("says nothing for 0.24 seconds"), "{silent}");
}

#[test]
fn a_peer_that_hangs_up_at_any_message_is_an_error() {
    let mut whole = false;
    for messages in 0..40 {
        let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
        let far = thread::spawn(move || -> Result<()> {
            let mut party = holder();
            for _ in 0..messages {
                let Some(bytes) = there.receive()? else { return Ok(()) };
                let step = party.receive(&bytes)?;
                there.send(&step.send)?;
            }
            Ok(())
        });
        let mut party = seeker();
        let ended = here.run(&mut party);
        drop(here);
        far.join().unwrap().unwrap();
        match ended {
            Ok(()) => {
                assert_eq!(party.role.found().unwrap().ours.len(), 7);
                whole = true;
                break;
            }
            Err(e) => {
                assert_eq!(e.kind(), Kind::Truncated, "{messages}: {e}");
                assert!(party.role.found().is_none());
            }
        }
    }
    assert!(whole, "an honest exchange comes to its end");
}

#[test]
fn garbage_is_an_error_and_so_are_other_protocols() {
    let mut random = Generator::new(3);
    for _ in 0..50 {
        let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
        let length = 1 + random.below(300);
        let garbage: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        there.send(&garbage).unwrap();
        drop(there);
        assert!(here.run(&mut seeker()).is_err(), "{garbage:?}");
    }
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    there.send(b"Welcome to Debian\n").unwrap();
    let refused = here.greet("sync lines", true).unwrap_err().to_string();
    assert!(refused.contains("does not speak") && refused.contains("Welcome"), "{refused}");
}

#[test]
fn greetings_agree_or_tell_both_sides() {
    for (here, there) in [("sync lines", "sync lines"), ("sync lines", "join rows")] {
        let (mut a, mut b) = Channel::pair(PATIENCE).unwrap();
        let far = thread::spawn(move || b.greet(there, false).map_err(|e| e.to_string()));
        let near = a.greet(here, true).map_err(|e| e.to_string());
        let far = far.join().unwrap();
        assert_eq!((near.is_ok(), far.is_ok()), (here == there, here == there), "{near:?} {far:?}");
        if here != there {
            assert!(near.unwrap_err().contains("the other side says: the other side means"));
            assert!(far.unwrap_err().contains("join rows"));
        }
    }
}

#[test]
fn tcp_and_processes_carry_the_same_exchange() {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let address = listener.address().unwrap();
    let far = thread::spawn(move || {
        let (mut channel, _) = listener.accept(PATIENCE)?;
        channel.run(&mut holder())?;
        channel.finish()
    });
    let place = Place::parse(format!("tcp://{address}").as_ref()).unwrap();
    let reach = Reach { patience: PATIENCE, ..Reach::default() };
    let mut channel = place.connect(&reach, &[]).unwrap();
    let mut party = seeker();
    channel.run(&mut party).unwrap();
    let sent = channel.finish().unwrap();
    let received = far.join().unwrap().unwrap();
    assert_eq!((sent.a_to_b, sent.b_to_a), (received.b_to_a, received.a_to_b));
    assert_eq!(party.role.found().unwrap().theirs.len(), 5);
    let nobody = Place::Tcp("127.0.0.1:1".into()).connect(&reach, &[]).err().unwrap().to_string();
    assert!(nobody.contains("cannot reach"), "{nobody}");
    let shell = Reach { shell: "no-such-shell".into(), ..reach };
    let place = Place::parse("ssh://h/x".as_ref()).unwrap();
    let refused = place.connect(&shell, &[]).err().unwrap().to_string();
    assert!(refused.contains("cannot start no-such-shell"), "{refused}");
}

#[test]
fn a_process_that_fails_after_its_work_is_an_error() {
    let reach = Reach { shell: "sh -c true".into(), patience: PATIENCE, ..Reach::default() };
    let place = Place::parse("ssh://h/x".as_ref()).unwrap();
    place.connect(&reach, &[]).unwrap().finish().unwrap();
    let reach = Reach { shell: "false".into(), ..reach };
    let failed = place.connect(&reach, &[]).unwrap().finish().unwrap_err().to_string();
    assert!(failed.contains("ended with"), "{failed}");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut channel = Channel::new(std::io::empty(), writer, PATIENCE);
    channel.send(b"abc").unwrap();
    channel.finish().unwrap();
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut said).unwrap();
    std::io::sink().write_all(&said).unwrap();
    assert_eq!(said, b"abc");
}
