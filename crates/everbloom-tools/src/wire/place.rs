//! Where the other side is, and how to get there.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use everbloom::{Error, Kind, Result};

use super::Channel;
use super::channel::Line;

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On this machine.
    Path(PathBuf),
    /// `ssh://[user@]host[:port]/path`, or `/~/path` from the user's folder: behind a remote shell.
    Shell {
        /// `[user@]host`.
        host: String,
        /// The port, if not the usual one.
        port: Option<u16>,
        /// The path there.
        path: String,
    },
    /// `tcp://host:port`: where somebody listens.
    Tcp(String),
}

/// How the other side is started and waited for.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The remote shell and its options, in words; `ssh` unless told otherwise.
    pub shell: String,
    /// The command over there, as its shell reads it.
    pub program: String,
    /// How long the other side may make this one wait, beyond a second for every 4 KiB.
    pub patience: Duration,
}

impl Default for Reach {
    fn default() -> Self {
        let (shell, program) = ("ssh".to_owned(), "everbloom".to_owned());
        Self { shell, program, patience: Duration::from_secs(60) }
    }
}

impl Place {
    /// Reads what was typed.
    ///
    /// ```
    /// use everbloom_tools::wire::Place;
    /// let place = Place::parse("ssh://ann@host:2222/srv/list".as_ref())?;
    /// let (host, path) = ("ann@host".to_owned(), "/srv/list".to_owned());
    /// assert_eq!(place, Place::Shell { host, port: Some(2222), path });
    /// assert!(Place::parse("ssh://-oProxyCommand=x/list".as_ref()).is_err());
    /// assert_eq!(Place::parse("tcp://[::1]:9".as_ref())?, Place::Tcp("[::1]:9".to_owned()));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn parse(typed: &OsStr) -> Result<Self> {
        let Some(text) = typed.to_str() else { return Ok(Self::Path(typed.into())) };
        if let Some(address) = text.strip_prefix("tcp://") {
            let address = address.trim_end_matches('/');
            return match address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
            {
                true => Ok(Self::Tcp(address.to_owned())),
                false => Err(wrong(text, "write tcp://host:port")),
            };
        }
        let Some(rest) = text.strip_prefix("ssh://") else { return Ok(Self::Path(typed.into())) };
        let form = "write ssh://[user@]host[:port]/path";
        let (host, path) = rest.split_once('/').ok_or_else(|| wrong(text, form))?;
        let numbered = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let (host, port) = match numbered {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong(text, form))?)),
            None => (host, None),
        };
        // A host that looks like an option would be one.
        let plain = |c: char| c.is_ascii_alphanumeric() || "@.-_:[]%".contains(c);
        if host.is_empty() || host.starts_with('-') || !host.chars().all(plain) {
            return Err(wrong(text, form));
        }
        let path = match path.strip_prefix("~/") {
            Some(path) => format!("./{path}"),
            None => format!("/{path}"),
        };
        Ok(Self::Shell { host: host.to_owned(), port, path })
    }

    /// Opens a line to a process at this place. Behind a shell it is started: `program` with `words`, then the path.
    pub fn connect(&self, reach: &Reach, words: &[String]) -> Result<Channel> {
        match self {
            Self::Path(path) => {
                let message = format!(
                    "{}: is on this machine, there is nothing to connect to",
                    path.display()
                );
                Err(Error::new(Kind::Unsupported, message))
            }
            Self::Tcp(address) => {
                let stream = reached(address, reach.patience)
                    .map_err(|e| Error::from(e).context(format!("cannot reach {address}")))?;
                socket(stream, reach.patience)
            }
            Self::Shell { host, port, path } => {
                let mut shell = reach.shell.split_whitespace();
                let name = shell.next().ok_or_else(|| wrong("--rsh", "an empty command"))?;
                let mut command = Command::new(name);
                command.args(shell);
                if let Some(port) = port {
                    command.arg("-p").arg(port.to_string());
                }
                let words = words.iter().map(String::as_str).chain([path.as_str()]).map(quoted);
                let line: Vec<String> =
                    std::iter::once(reach.program.clone()).chain(words).collect();
                command.arg(host).arg(line.join(" "));
                process(command, name.into(), reach.patience)
            }
        }
    }
}

/// A line to a command that is started.
fn process(mut command: Command, name: OsString, patience: Duration) -> Result<Channel> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|e| Error::from(e).context(format!("cannot start {}", name.display())))?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(reader), Some(writer)) => {
            Ok(Channel::over(reader, writer, patience, Line::Process(child)))
        }
        _ => Err(Error::new(Kind::Io, "a process without pipes")),
    }
}

/// What a command prints: no more than `most` bytes, and no pause longer than `patience`.
pub fn output_of(mut command: Command, patience: Duration, most: u64) -> Result<Vec<u8>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let name = command.get_program().to_owned();
    let mut child = command
        .spawn()
        .map_err(|e| Error::from(e).context(format!("cannot start {}", name.display())))?;
    let Some(reader) = child.stdout.take() else {
        return Err(Error::new(Kind::Io, "a process without a pipe"));
    };
    let mut channel = Channel::over(reader, std::io::sink(), patience, Line::Process(child));
    let mut out = Vec::new();
    while let Some(bytes) = channel.receive()? {
        out.extend_from_slice(&bytes);
        if out.len() as u64 > most {
            let message = format!("more than {most} bytes come");
            return Err(Error::new(Kind::LimitExceeded { what: "output" }, message));
        }
    }
    channel.finish()?;
    Ok(out)
}

fn socket(stream: TcpStream, patience: Duration) -> Result<Channel> {
    stream.set_nodelay(true)?;
    let (reader, writer) = (stream.try_clone()?, stream.try_clone()?);
    Ok(Channel::over(reader, writer, patience, Line::Socket(stream)))
}

fn reached(address: &str, patience: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A word as a shell of the other side reads it whole.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn wrong(what: &str, how: &str) -> Error {
    Error::new(Kind::BadParameter, format!("{what}: {how}"))
}

/// Somebody who waits for a peer, at an address the user names.
pub struct Listener {
    listener: TcpListener,
}

impl Listener {
    /// Listens; port 0 is any that is free.
    pub fn bind(address: &str) -> Result<Self> {
        let listener = TcpListener::bind(address)
            .map_err(|e| Error::from(e).context(format!("cannot listen on {address}")))?;
        Ok(Self { listener })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Waits for a peer, and says where it is.
    pub fn accept(&self, patience: Duration) -> Result<(Channel, SocketAddr)> {
        loop {
            match self.listener.accept() {
                Ok((stream, from)) => return Ok((socket(stream, patience)?, from)),
                // Gone before it was taken.
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let words = ["plain", "", "two words", "it's", "$HOME;`ls`", "-x"];
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let script = format!("printf '%s|' {}", line.join(" "));
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), words.join("|") + "|");
    }

    #[test]
    fn places_are_read_as_typed() {
        let parse = |text: &str| Place::parse(text.as_ref());
        assert_eq!(parse("a/b").unwrap(), Place::Path("a/b".into()));
        let home = parse("ssh://h/~/list").unwrap();
        assert_eq!(home, Place::Shell { host: "h".into(), port: None, path: "./list".into() });
        for text in [
            "ssh://",
            "ssh://host",
            "ssh:///x",
            "ssh://h:x/y",
            "ssh://h h/x",
            "tcp://h",
            "tcp://:1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
