//! Lines to another process, as the options say.

use std::io;
use std::time::Duration;

use everbloom::{Error, Kind};
use everbloom_tools::wire::{Channel, Listener, Reach};

use crate::args::Line;
use crate::talk::tell;
use crate::{Result, Stop};

pub fn patience(line: &Line) -> Duration {
    Duration::from_secs(line.timeout)
}

/// How the other side is started and waited for.
pub fn reach(line: &Line) -> Reach {
    let (shell, program) = (line.rsh.clone(), line.program.clone());
    Reach { shell, program, patience: patience(line) }
}

/// The words that every far side gets: it waits as long, and only errors are said twice.
pub fn words(verb: &str, line: &Line) -> Vec<String> {
    let timeout = format!("--timeout={}", line.timeout);
    [verb, "--stdio", "-q", &timeout].map(str::to_owned).to_vec()
}

/// Waits for a peer on stdin and stdout, or on the address that was named.
pub fn awaited(line: &Line) -> Result<Channel> {
    let Some(address) = &line.listen else {
        return Ok(Channel::new(io::stdin(), io::stdout(), patience(line)));
    };
    let listener = Listener::bind(address)?;
    tell!("listening on {}", listener.address()?);
    Ok(listener.accept(patience(line))?)
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
