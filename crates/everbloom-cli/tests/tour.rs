//! The tour is a walk that anyone can take: on a terminal or not, and nothing is left of it.

mod place;

use std::process::{Command, Stdio};

use place::Place;

/// Runs the tour with a folder of its own for temporary files.
fn tour(place: &Place) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_everbloom"))
        .arg("tour")
        .current_dir(place.folder.path())
        .env("TMPDIR", place.folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the command runs");
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    out
}

#[test]
fn the_tour_shows_everything_and_leaves_nothing() {
    let place = Place::new();
    let told = tour(&place);
    for verb in ["build", "check", "explain", "info", "add", "remove", "merge", "estimate"] {
        assert!(told.contains(&format!("$ everbloom {verb} ")), "{verb}: {told}");
    }
    // What chapters say of their commands is what these printed.
    let after = |command: &str, lines: usize| {
        let rest = told.split_once(command).unwrap_or_else(|| panic!("{command}: {told}")).1;
        rest.lines().skip(1).take(lines).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(after("check fruit.evb basket.txt", 3), "fig hammer ");
    assert_eq!(after("check strict.evb basket.txt", 2), "fig ");
    assert_eq!(after("check both.evb basket.txt", 4), "fig hammer wrench ");
    assert_eq!(after("check open.evb fig.txt", 1), "");
    assert!(after("remove fruit.evb fig.txt", 1).contains("cannot remove"), "{told}");
    assert!(after("explain fruit.evb wrench", 6).contains("absent"), "{told}");
    for picture in ["● ", "█", "○", "▕", "·●·"] {
        assert!(told.contains(picture), "{picture}: {told}");
    }
    assert!(!told.contains("error:") && !told.contains("panicked"), "{told}");
    // Three minutes at 230 words a minute, and as wide as the smallest screens.
    let words = told.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic));
    assert!((300..700).contains(&words.count()), "{told}");
    for line in told.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let left: Vec<_> = std::fs::read_dir(place.folder.path()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// On a terminal each chapter waits, and `q` ends the walk.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_tour_waits() {
    use std::io::Write as _;
    let shell = format!("{} tour", env!("CARGO_BIN_EXE_everbloom"));
    // script(1) of util-linux is a terminal for programs; where it is missing nothing can be tried.
    let child = Command::new("script")
        .args(["-qec", &shell, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return };
    child.stdin.take().expect("a pipe").write_all(b"\nq\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("2 of 7") && !told.contains("3 of 7"), "{told}");
    assert_eq!(told.matches("Enter: continue").count(), 2, "{told}");
}
