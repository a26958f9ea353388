//! Lines to another process, as the options say.

use std::io;
use std::time::Duration;

use everbloom::exchange::Limits;
use everbloom::{Error, Kind};
use everbloom_tools::wire::{Channel, Listener, Reach};

use crate::args::Line;
use crate::talk::tell;
use crate::{Result, Stop, input};

pub fn patience(line: &Line) -> Duration {
    Duration::from_secs(line.timeout)
}

/// How the other side is started and waited for.
pub fn reach(line: &Line) -> Reach {
    let (shell, program) = (line.rsh.clone(), line.program.clone());
    Reach { shell, program, patience: patience(line) }
}

/// What a peer on a network may send, as `--limit` says.
pub fn limits(usual: Limits) -> Limits {
    let Some(bytes) = input::limit() else { return usual };
    let frame = usual.frame.max(u32::try_from(bytes).unwrap_or(u32::MAX));
    Limits { frame, total: bytes, ..usual }
}

/// The words that every far side gets: it waits as long and takes as much, and only errors are said twice.
pub fn words(verb: &str, line: &Line) -> Vec<String> {
    let timeout = format!("--timeout={}", line.timeout);
    let limit = input::limit().map(|bytes| format!("--limit={bytes}B"));
    let words = [verb, "--stdio", "-q", &timeout].map(str::to_owned);
    words.into_iter().chain(limit).collect()
}

/// Does the work of the other side: for the peer on stdin and stdout, or for those that connect to the address that was
/// named, until an exchange with one of them comes to its end.
pub fn served(line: &Line, work: impl Fn(&mut Channel) -> Result<()>) -> Result<()> {
    let Some(address) = &line.listen else {
        let mut channel = Channel::new(io::stdin(), io::stdout(), patience(line));
        answering(&mut channel, work)?;
        channel.finish()?;
        return Ok(());
    };
    let listener = Listener::bind(address)?;
    tell!("listening on {}", listener.address()?);
    loop {
        let (mut channel, from) = listener.accept(patience(line))?;
        match answering(&mut channel, &work) {
            Ok(()) => {
                channel.finish()?;
                return Ok(());
            }
            // A scanner, a peer that stalls or one that is not allowed to do what it wants: another may come.
            Err(Stop::Error(message)) if channel.failed() => {
                tell!("everbloom: {from}: {message}; listening for another");
            }
            Err(stop) => return Err(stop),
        }
    }
}

/// Does the work of the other side, which hears of a failure.
pub fn answering<T>(
    channel: &mut Channel,
    work: impl FnOnce(&mut Channel) -> Result<T>,
) -> Result<T> {
    work(channel).inspect_err(|stop| {
        if let Stop::Error(message) = stop {
            channel.tell(&Error::new(Kind::Io, message.clone()));
        }
    })
}
