//! Two processes over real pipes and real sockets: what they do together, and what becomes of a peer that lies,
//! stalls, sends garbage or hangs up. Nothing waits for ever, and nothing is written by halves.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const BIN: &str = env!("CARGO_BIN_EXE_everbloom");

mod place;

use place::Run;

struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder with a remote shell that is none: it runs the command here.
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        place.script("rsh", "shift\nexec sh -c \"$*\"");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a script");
    }

    fn list(&self, name: &str, keys: impl IntoIterator<Item = u32>) {
        let text: String = keys.into_iter().map(|i| format!("{i}\n")).collect();
        fs::write(self.path(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    /// The lines of a file, sorted.
    fn lines(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<String> = self.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    fn command(&self, line: &str) -> Command {
        let mut command = place::command(self.folder.path(), line.split_whitespace());
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Run {
        Run::of(&self.command(line).output().expect("the command ends"))
    }

    /// The same with the other side behind the shell, at `ssh://there/PATH`.
    fn over(&self, line: &str) -> Run {
        self.run(&format!("{line} --rsh ./rsh --program {BIN} --timeout 10"))
    }

    fn url(&self, name: &str) -> String {
        format!("ssh://there{}", self.path(name).display())
    }

    /// Somebody who listens, and where.
    fn listen(&self, line: &str) -> (Child, String) {
        let mut command = self.command(&format!("{line} --listen 127.0.0.1:0 --timeout 10"));
        listened(command.spawn().expect("it starts"))
    }
}

/// Where a process says that it listens.
fn listened(mut child: Child) -> (Child, String) {
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    stderr.read_line(&mut said).expect("an address");
    // What else it says is read, so that it can say it.
    thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    let address = said.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{said}"));
    (child, address.to_owned())
}

/// Ends a listener that waits for another peer; whether it did.
fn killed(mut child: Child) -> bool {
    let waits = child.try_wait().expect("a process").is_none();
    child.kill().expect("a process");
    child.wait().expect("it ends");
    waits
}

fn ended(mut child: Child) -> i32 {
    let until = Instant::now() + Duration::from_secs(15);
    loop {
        match child.try_wait().expect("a process") {
            Some(status) => return status.code().unwrap_or(-1),
            None if Instant::now() > until => {
                let _ = child.kill();
                panic!("it does not end");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

#[test]
fn lists_behind_a_remote_shell_are_compared_and_made_equal() {
    let place = Place::new();
    place.list("here", 0..2000);
    place.list("there", 3..2002);
    let (here, there) = (place.read("here"), place.read("there"));
    let url = place.url("there");
    let run = place.over(&format!("sync here {url}"));
    assert_eq!((run.code, run.out.as_str()), (1, "< 0\n< 1\n< 2\n> 2000\n> 2001\n"), "{}", run.err);
    assert!(run.err.contains("keys, 5 differ"), "{}", run.err);
    assert_eq!((place.read("here"), place.read("there")), (here, there), "looking changes nothing");
    let run = place.over(&format!("sync here {url} --send=here --json -q"));
    let json: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (run.code, &json["taken"], &json["sent"]),
        (0, &2.into(), &Value::Null),
        "{}",
        run.err
    );
    assert_eq!((place.lines("here").len(), place.lines("there").len()), (2002, 1999));
    assert_eq!(place.over(&format!("sync here {url} --send")).code, 0);
    assert_eq!(place.lines("here"), place.lines("there"));
    let run = place.over(&format!("sync here {url}"));
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
}

#[test]
fn one_message_tells_most_of_what_is_missing() {
    let place = Place::new();
    place.list("here", 0..500);
    place.list("there", 0..1000);
    let run = place.over(&format!("sync here {} --approximate --send --json", place.url("there")));
    let json: Value = serde_json::from_str(&run.out).expect("JSON");
    let told = json["only_there"].as_array().expect("keys").len();
    assert!(run.code == 0 && (450..=500).contains(&told), "{told}: {}", run.err);
    assert_eq!(place.lines("here").len(), 500 + told);
    for _ in 0..6 {
        place.over(&format!("sync here {} --approximate=260B --send -q", place.url("there")));
    }
    assert!(place.lines("here").len() > 900, "new seeds find the others");
    assert_eq!(place.lines("there").len(), 1000);
}

#[test]
fn tcp_works_for_whoever_is_allowed() {
    let place = Place::new();
    place.list("here", 0..100);
    place.list("there", 5..110);
    let (child, address) = place.listen("sync there");
    let run = place.run(&format!("sync here tcp://{address} --send"));
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("the other side says") && run.err.contains("has no permission"),
        "{}",
        run.err
    );
    assert_eq!((place.lines("here").len(), place.lines("there").len()), (100, 105));
    // A session that failed does not use the listener up.
    let run = place.run(&format!("sync here tcp://{address}"));
    assert_eq!((run.code, ended(child)), (1, 0), "{}", run.err);
    let (child, address) = place.listen("sync there --send");
    let run = place.run(&format!("sync here tcp://{address} --send"));
    assert_eq!((run.code, ended(child)), (0, 0), "{}", run.err);
    assert_eq!(place.lines("here"), place.lines("there"));
    let (child, address) = place.listen("join there --keys");
    let run = place.run(&format!("sync here tcp://{address}"));
    assert_eq!((run.code, killed(child)), (2, true));
    assert!(run.err.contains("join keys"), "{}", run.err);
}

#[test]
fn a_listener_outlives_scanners_garbage_and_peers_that_drip() {
    let place = Place::new();
    place.list("here", 0..100);
    place.list("there", 5..110);
    let mut listening = place.command("sync there --listen 127.0.0.1:0 --timeout 1 --send");
    let (child, address) = listened(listening.spawn().expect("it starts"));
    drop(TcpStream::connect(&address).expect("it listens"));
    let mut garbage = TcpStream::connect(&address).expect("it listens");
    garbage.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("it is taken");
    // Bytes of a greeting, one by one and too slowly: the listener hangs up by itself.
    let mut drip = TcpStream::connect(&address).expect("it listens");
    let bytes = [&[1, 200, 0, 0, 0][..], &[b'e'; 200]].concat();
    let taken = bytes.iter().take_while(|byte| {
        thread::sleep(Duration::from_millis(50));
        drip.write_all(&[**byte]).is_ok()
    });
    let taken = taken.count();
    let run = place.run(&format!("sync here tcp://{address} --send --timeout 10"));
    assert_eq!((run.code, ended(child)), (0, 0), "{}", run.err);
    assert_eq!(place.lines("here"), place.lines("there"));
    assert!(taken < bytes.len(), "ten seconds of one byte after the other");
}

#[test]
fn what_the_other_side_sends_has_a_limit_that_can_be_raised() {
    let place = Place::new();
    place.list("here", 0..100);
    place.list("there", 0..60_000);
    let url = place.url("there");
    let run = place.over(&format!("sync here {url} --send=here --limit 100kB"));
    assert_eq!((run.code, place.lines("here").len()), (2, 100), "{}", run.err);
    assert!(run.err.contains("more than 100000 bytes: --limit takes more"), "{}", run.err);
    let run = place.over(&format!("sync here {url} --send=here --limit 1MB -q"));
    assert_eq!((run.code, place.lines("here").len()), (0, 60_000), "{}", run.err);
    for (name, length) in [("a/x", 10), ("b/y", 5000)] {
        fs::create_dir_all(place.path(name).parent().expect("a folder")).expect("a folder");
        fs::write(place.path(name), vec![7; length]).expect("a file");
    }
    let run = place.over(&format!("sync a {} --send --limit 4kB", place.url("b")));
    assert_eq!(run.code, 2);
    // By what is announced, or by what has come if that comes in the same piece.
    assert!(run.err.contains(": --limit takes more"), "{}", run.err);
    assert!(!place.path("a/y").exists() && !place.path("b/x").exists());
}

#[test]
fn lines_that_another_process_appends_during_a_sync_are_kept() {
    let place = Place::new();
    place.list("here", 0..2000);
    let script = "i=0; while [ $i -lt 4000 ]; do echo w$i >> here; i=$((i + 1)); done";
    let mut writer = Command::new("sh")
        .args(["-c", script])
        .current_dir(place.folder.path())
        .spawn()
        .expect("a shell");
    for round in 0..5u32 {
        place.list("there", 10_000 * (round + 1)..10_000 * (round + 1) + 1000);
        let run = place.run("sync here there --send=here -q");
        assert_eq!(run.code, 0, "{}", run.err);
    }
    assert!(writer.wait().expect("it ends").success());
    let lines = place.lines("here");
    assert_eq!(lines.iter().filter(|line| line.starts_with('w')).count(), 4000);
    assert_eq!(lines.len(), 2000 + 4000 + 5000);
}

#[test]
fn folders_are_made_equal() {
    let place = Place::new();
    for (name, text) in
        [("a/x", "1"), ("a/deep/y", "2"), ("a/z", "here"), ("b/w", "3"), ("b/z", "there")]
    {
        fs::create_dir_all(place.path(name).parent().expect("a folder")).expect("a folder");
        fs::write(place.path(name), text).expect("a file");
    }
    let run = place.over(&format!("sync a {}", place.url("b")));
    assert_eq!(
        (run.code, run.out.as_str()),
        (1, "< deep/\n< deep/y\n< x\n> w\n! z\n"),
        "{}",
        run.err
    );
    assert!(!place.path("a/w").exists());
    let run = place.over(&format!("sync a {} --send", place.url("b")));
    assert_eq!(run.code, 1, "z differs: {}", run.err);
    assert_eq!(
        (place.read("a/w"), place.read("b/deep/y"), place.read("b/x")),
        ("3".into(), "2".into(), "1".into())
    );
    assert_eq!((place.read("a/z"), place.read("b/z")), ("here".into(), "there".into()));
    let run = place.over(&format!("sync here-is-no-list {}", place.url("b")));
    assert_eq!(run.code, 2);
}

#[test]
fn joins_over_the_wire_are_those_of_two_files_here() {
    let place = Place::new();
    let rows = |range: std::ops::Range<u32>, what: &str| -> String {
        range.map(|i| format!("{what}{i},{}\n", i / 2)).collect()
    };
    fs::write(place.path("left"), rows(0..600, "l")).expect("a file");
    fs::write(place.path("right"), rows(500..9000, "r")).expect("a file");
    let sorted = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let near = place.run("join left right -f 2 -d ,");
    let far = place.over(&format!("join left {} -f 2 -d , --estimate", place.url("right")));
    assert_eq!((far.code, sorted(&far.out)), (0, sorted(&near.out)), "{}", far.err);
    assert!(near.out.lines().count() == 200 && far.err.contains("keys are in both"), "{}", far.err);
    place.list("some", 0..1000);
    place.list("others", 990..9000);
    let (child, address) = place.listen("join others --keys");
    let run = place.run(&format!("join some tcp://{address} --keys"));
    assert_eq!((run.code, ended(child), run.out.lines().count()), (0, 0, 10), "{}", run.err);
    assert_eq!(sorted(&run.out), sorted(&place.run("join some others --keys").out));
}

#[test]
fn csv_is_joined_over_the_wire_as_it_is_here() {
    let place = Place::new();
    let people: String =
        (0..3000).map(|i| format!("{i},\"name {i}, \"\"the\nfirst\"\"\"\r\n")).collect();
    let orders: String = (2000..9000).map(|i| format!("\"o{i}\";\"{}\"\n", i / 2)).collect();
    fs::write(place.path("people.csv"), format!("id,name\r\n{people}")).expect("a file");
    fs::write(
        place.path("orders.csv"),
        format!("\u{feff}order,\"a, who\"\n{}", orders.replace(';', ",")),
    )
    .expect("a file");
    let join = |line: &[&str]| {
        let mut command = place::command(place.folder.path(), line);
        Run::of(&command.stdin(Stdio::null()).output().expect("the command ends"))
    };
    let here = join(&["join", "people.csv", "orders.csv", "--csv", "-f", "id,a, who"]);
    assert!(here.code == 0 && here.out.starts_with("id,name,order,\"a, who\"\n"), "{}", here.err);
    assert_eq!(here.out.matches("the\nfirst").count(), 4000);
    let url = place.url("orders.csv");
    let (program, reach) = (BIN, ["--rsh", "./rsh", "--timeout", "10", "--program"]);
    let line = ["join", "people.csv", &url, "--csv", "-f", "id,a, who"];
    let far = join(&[&line[..], &reach, &[program]].concat());
    assert_eq!((far.code, &far.out), (0, &here.out), "{}", far.err);
    let far = join(&[&line[..], &reach, &[program, "--json", "-q"]].concat());
    assert_eq!((far.code, far.out.lines().count()), (0, 4001), "{}", far.err);
    // A column that is not there is named by the side that lacks it.
    let line = ["join", "people.csv", &url, "--csv", "-f", "id,nobody"];
    let far = join(&[&line[..], &reach, &[program]].concat());
    assert_eq!((far.code, far.out.as_str()), (2, ""));
    assert!(far.err.contains("no column \"nobody\"; there are order, a, who"), "{}", far.err);
    // Over TCP both sides name the column, and one that means another is refused.
    let (child, address) = place.listen("join orders.csv --csv -f 2");
    let tcp = join(&["join", "people.csv", &format!("tcp://{address}"), "--csv", "-f", "1,2"]);
    assert_eq!((tcp.code, ended(child), &tcp.out), (0, 0, &here.out), "{}", tcp.err);
    for other in ["--csv", "--csv -f 2 -d ;", "-f 2 -d ,"] {
        let (child, address) = place.listen(&format!("join orders.csv {other}"));
        let tcp = join(&["join", "people.csv", &format!("tcp://{address}"), "--csv", "-f", "1,2"]);
        assert_eq!((tcp.code, killed(child), tcp.out.as_str()), (2, true, ""), "{other}");
        assert!(tcp.err.contains("the other side means to"), "{other}: {}", tcp.err);
    }
}

/// Forwards between a client and a server until the server has sent so many pieces, or changes a byte of the last.
fn between(server: String, pieces: usize, flip: Option<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || -> std::io::Result<()> {
        let (mut client, _) = listener.accept()?;
        let mut server = TcpStream::connect(server)?;
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_client, &mut to_server);
            let _ = to_server.shutdown(Shutdown::Write);
        });
        let mut piece = vec![0; 1 << 16];
        for number in 0.. {
            let last = number + 1 == pieces;
            if number == pieces && flip.is_none() {
                break;
            }
            let count = server.read(&mut piece)?;
            if count == 0 {
                break;
            }
            if let Some(bits) = flip.filter(|_| last) {
                piece[count / 2] ^= bits;
            }
            client.write_all(&piece[..count])?;
        }
        let _ = client.shutdown(Shutdown::Both);
        server.shutdown(Shutdown::Both)
    });
    address
}

#[test]
fn a_peer_that_hangs_up_at_any_message_leaves_lists_whole() {
    let place = Place::new();
    let mut whole = false;
    for pieces in 0..30 {
        place.list("here", 0..3000);
        place.list("there", 10..3010);
        let (child, address) = place.listen("sync there --send");
        let address = between(address, pieces, None);
        let run = place.run(&format!("sync here tcp://{address} --send --timeout 10"));
        match run.code {
            0 => assert_eq!(ended(child), 0),
            _ => _ = killed(child),
        }
        let (here, there) = (place.lines("here").len(), place.lines("there").len());
        assert!(matches!(there, 3000 | 3010), "{pieces}: {there}");
        if run.code == 0 {
            assert_eq!((here, there), (3010, 3010));
            whole = true;
            break;
        }
        assert_eq!((run.code, here, run.out.as_str()), (2, 3000, ""), "{pieces}: {}", run.err);
        assert!(run.err.contains("the other side") || run.err.contains("the line"), "{}", run.err);
    }
    assert!(whole, "it succeeds when nobody hangs up");
}

#[test]
fn changed_bytes_never_change_the_result() {
    let place = Place::new();
    for (piece, bits) in [(1, 1), (2, 0x80), (3, 4), (4, 0xFF), (5, 2)] {
        place.list("here", 0..3000);
        place.list("there", 10..3010);
        let (child, address) = place.listen("sync there --send");
        let address = between(address, piece, Some(bits));
        let run = place.run(&format!("sync here tcp://{address} --send --timeout 2"));
        let _ = killed(child);
        let here = place.lines("here").len();
        assert_eq!(here, if run.code == 0 { 3010 } else { 3000 }, "{piece}: {}", run.err);
        assert!(run.code == 0 || run.code == 2 && run.out.is_empty(), "{piece}: {}", run.err);
    }
}

#[test]
fn silence_garbage_and_banners_end_in_a_sentence() {
    let place = Place::new();
    place.list("here", 0..100);
    for (script, says) in [
        ("exec sleep 20", "says nothing for 1 seconds"),
        ("echo Welcome to the machine", "it began with \"Welcome"),
        ("head -c 100000 /dev/zero", "the other side"),
        ("exit 3", "before it said a word"),
        ("cat", "the other side"),
        ("head -c 10 > /dev/null", "the other side"),
    ] {
        place.script("bad", script);
        for verb in ["sync here ssh://h/x --send", "join here ssh://h/x"] {
            let run = place.run(&format!("{verb} --rsh ./bad --timeout 1"));
            assert_eq!((run.code, run.out.as_str()), (2, ""), "{script}: {}", run.err);
            assert!(run.err.contains(says), "{script}: {}", run.err);
        }
    }
    assert_eq!(place.lines("here").len(), 100);
    for url in ["ssh://-oProxyCommand=x/y", "ssh://host", "tcp://nowhere"] {
        assert_eq!(place.run(&format!("sync here {url}")).code, 2, "{url}");
    }
}

#[test]
fn a_far_side_that_cannot_read_or_write_says_so() {
    let place = Place::new();
    place.list("here", 0..100);
    let run = place.over(&format!("sync here {}", place.url("missing")));
    assert_eq!(run.code, 2);
    assert!(run.err.contains("the other side says") && run.err.contains("missing"), "{}", run.err);
    let packed = Command::new("gzip").arg("-k").arg(place.path("here")).status().expect("gzip");
    assert!(packed.success());
    place.list("more", 0..110);
    let run = place.over(&format!("sync more {} --send", place.url("here.gz")));
    assert_eq!(run.code, 2, "a packed list takes no lines: {}", run.err);
    assert_eq!(place.lines("more").len(), 110);
}

#[test]
fn feeds_are_followed_and_do_not_go_back() {
    let place = Place::new();
    place.list("list", 0..1000);
    let run = place.run("publish list -o feed --json -q");
    let json: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((run.code, &json["version"], &json["capacity"]), (0, &1.into(), &1500.into()));
    assert_eq!(place.run("follow feed -o mine.evb").code, 0);
    assert_eq!(place.run("follow feed -o mine.evb").code, 1, "nothing new");
    fs::copy(place.path("feed/latest"), place.path("old")).expect("a copy");
    place.list("list", 5..1010);
    assert_eq!(place.run("publish list -o feed").code, 0);
    assert_eq!(place.run("publish list -o feed").code, 1, "nothing changed");
    let run = place
        .command("follow -o mine.evb --json")
        .arg("--fetch")
        .arg("cat feed/$1")
        .output()
        .expect("it ends");
    let json: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(
        (&json["version"], &json["deltas"], &json["whole"]),
        (&2.into(), &1.into(), &false.into())
    );
    place.list("asked", 1005..1010);
    assert_eq!(place.run("check mine.evb asked").out.lines().count(), 5);
    fs::copy(place.path("old"), place.path("feed/latest")).expect("a copy");
    let run = place.run("follow feed -o mine.evb");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("went back to version 1"), "{}", run.err);
    assert_eq!(place.run("check mine.evb asked").out.lines().count(), 5);
    let run = place.run("publish list -o feed --format squid");
    assert!(run.code == 2 && run.err.contains("another"), "{}", run.err);
}
