//! Both sides say what they are about to do: whoever means something else hears of it before the work begins.

use everbloom::exchange::{Frame, Limits, Outbox, Party, Role};
use everbloom::{Error, Kind, Result};

use super::Channel;

/// Words: the version of the protocol and the work.
const GREETING: u8 = 0x01;

/// What a greeting begins with.
const VERSION: &str = "everbloom 1";

const LIMITS: Limits = Limits { frame: 1000, total: 4000, ..Limits::NETWORK };

struct Greeter {
    says: String,
    first: bool,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Start,
    Waiting,
    Done,
}

impl Greeter {
    /// What the second side says: an echo is no peer.
    fn answer(&self) -> String {
        format!("{}, too", self.says)
    }
}

impl Role for Greeter {
    const FRAMES: &'static [u8] = &[GREETING];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        self.state = State::Waiting;
        if self.first { out.frame(GREETING, self.says.as_bytes()) } else { Ok(()) }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        let expected = if self.first { self.answer() } else { self.says.clone() };
        if frame.body != expected.as_bytes() {
            let heard = String::from_utf8_lossy(&frame.body).replace(char::is_control, " ");
            let (ours, says) = ("this side means", &self.says);
            let message = format!("the other side means to {heard:?}, {ours} to {says:?}");
            return Err(Error::new(Kind::Incompatible { what: "work" }, message));
        }
        self.state = State::Done;
        if self.first { Ok(()) } else { out.frame(GREETING, self.answer().as_bytes()) }
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}

impl Channel {
    /// Greets the other side, which must mean the same work, such as `sync lines`. `first` is the side that began.
    pub fn greet(&mut self, work: &str, first: bool) -> Result<()> {
        let says = format!("{VERSION} {work}");
        let greeter = Greeter { says, first, state: State::Start };
        let greeted = self.run(&mut Party::new(greeter, LIMITS));
        greeted.map_err(|e| match e.kind() {
            Kind::UnsupportedFeature => {
                let began = String::from_utf8_lossy(self.began()).into_owned();
                Error::new(
                    Kind::UnsupportedFeature,
                    format!("the other side does not speak this protocol; it began with {began:?}"),
                )
            }
            Kind::Truncated if self.began().is_empty() => Error::new(
                Kind::Truncated,
                "the other side ended before it said a word: its messages tell why",
            ),
            _ => e,
        })
    }
}
