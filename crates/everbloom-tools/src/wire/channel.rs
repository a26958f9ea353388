//! Bytes both ways, counted, at no less than a rate.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use everbloom::exchange::{Frame, Party, Role, Session, Traffic};
use everbloom::{Error, Kind, Result};

/// Bytes that are read or written at once.
const PIECE: usize = 64 << 10;

/// Bytes that buy the other side a second of waiting: the least rate at which a line may be used for long.
const RATE: f64 = 4096.0;

/// One end of a line to another process.
///
/// ```
/// use std::time::Duration;
/// use everbloom::exchange::rateless::{Holder, Seeker, Set};
/// use everbloom::exchange::{Limits, Party};
/// use everbloom_tools::wire::Channel;
///
/// let (mut here, mut there) = Channel::pair(Duration::from_secs(5))?;
/// let far = std::thread::spawn(move || {
///     there.run(&mut Party::new(Holder::new(Set::new().with(b"fig")), Limits::NETWORK))
/// });
/// let mut seeker = Party::new(Seeker::new(Set::new().with(b"oak")), Limits::NETWORK);
/// here.run(&mut seeker)?;
/// assert_eq!(seeker.role.found().map(|found| found.theirs.len()), Some(1));
/// assert!(here.traffic().total() < 300);
/// far.join().expect("it ends")?;
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Channel {
    incoming: Receiver<io::Result<Vec<u8>>>,
    /// Taken when this side has said all.
    outgoing: Option<SyncSender<Vec<u8>>>,
    written: Receiver<io::Result<()>>,
    patience: Patience,
    traffic: Traffic,
    /// How the other side began, for errors.
    began: Vec<u8>,
    /// Whether an exchange over this line has failed.
    failed: bool,
    line: Line,
}

/// How long the other side may still be waited for. Waiting uses it up, bytes give it back, up to what it was at first.
/// So a silent peer has this time, a peer that sends a byte a second has hardly more, and the bytes that a session may
/// have bound its length.
#[derive(Clone, Copy)]
struct Patience {
    whole: Duration,
    left: Duration,
}

impl Patience {
    fn new(whole: Duration) -> Self {
        Self { whole, left: whole }
    }

    /// Something was waited for since `start`, and so many bytes came of it.
    fn waited(&mut self, start: Instant, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / RATE);
        self.left =
            self.left.saturating_sub(start.elapsed()).saturating_add(earned).min(self.whole);
    }
}

/// What is behind a channel, and has to be ended.
pub(super) enum Line {
    Pipe,
    Socket(TcpStream),
    Process(Child),
}

impl Channel {
    /// A channel that reads from one thing and writes to another: stdin and stdout, say. The other side may make this one
    /// wait for `patience`, and for a second more with every 4 KiB.
    pub fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        patience: Duration,
    ) -> Self {
        Self::over(reader, writer, patience, Line::Pipe)
    }

    pub(super) fn over(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        patience: Duration,
        line: Line,
    ) -> Self {
        // Neither reads nor writes of a pipe can be given a time, so threads do them. Both end with the other end.
        let (into, incoming) = sync_channel(2);
        thread::spawn(move || read_all(reader, &into));
        let (outgoing, from) = sync_channel::<Vec<u8>>(1);
        let (done, written) = sync_channel(1);
        thread::spawn(move || write_all(writer, &from, &done));
        Self {
            incoming,
            outgoing: Some(outgoing),
            written,
            patience: Patience::new(patience),
            traffic: Traffic::default(),
            began: Vec::new(),
            failed: false,
            line,
        }
    }

    /// Both ends of a line within this process.
    pub fn pair(patience: Duration) -> Result<(Self, Self)> {
        let (a_reads, b_writes) = io::pipe()?;
        let (b_reads, a_writes) = io::pipe()?;
        Ok((Self::new(a_reads, a_writes, patience), Self::new(b_reads, b_writes, patience)))
    }

    /// Bytes sent (`a_to_b`) and received (`b_to_a`) so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Whether an exchange over this line has failed: the fault is the other side's, or lies between.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// How the other side began.
    pub(super) fn began(&self) -> &[u8] {
        &self.began
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        for piece in bytes.chunks(PIECE) {
            let gone = || Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
            let outgoing = self.outgoing.as_ref().ok_or_else(gone)?;
            outgoing.send(piece.to_vec()).map_err(|_| hung_up(None))?;
            let start = Instant::now();
            match self.written.recv_timeout(self.patience.left) {
                Ok(Ok(())) => {
                    self.patience.waited(start, piece.len());
                    self.traffic.a_to_b += piece.len() as u64;
                }
                Ok(Err(e)) => return Err(hung_up(Some(e))),
                Err(RecvTimeoutError::Timeout) => return Err(self.stalled("takes")),
                Err(RecvTimeoutError::Disconnected) => return Err(hung_up(None)),
            }
        }
        Ok(())
    }

    /// The next bytes of the other side; none when it has closed.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>> {
        let start = Instant::now();
        match self.incoming.recv_timeout(self.patience.left) {
            Ok(Ok(bytes)) => {
                self.patience.waited(start, bytes.len());
                self.traffic.b_to_a += bytes.len() as u64;
                let room = 60usize.saturating_sub(self.began.len());
                self.began.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(Some(bytes))
            }
            Ok(Err(e)) => Err(hung_up(Some(e))),
            Err(RecvTimeoutError::Timeout) => Err(self.stalled("says")),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    fn stalled(&self, does: &str) -> Error {
        let Patience { whole, left } = self.patience;
        let seconds = whole.as_secs_f64();
        // Silence from about the beginning, or a trickle.
        let message = if left >= whole.mul_f64(0.9) {
            format!("the other side {does} nothing for {seconds} seconds: it is gone, or busy")
        } else {
            format!(
                "the other side {does} too little: less than 4 KiB a second, for {seconds} seconds"
            )
        };
        Error::from(io::Error::new(io::ErrorKind::TimedOut, message))
    }

    /// Plays one side of an exchange to its end.
    pub fn run<R: Role>(&mut self, party: &mut Party<R>) -> Result<()> {
        self.run_with(party, |_| Ok(false))
    }

    /// The same; after every step `between` gives the role what it has, takes what came, and tells whether the role
    /// has more to say without waiting for the other side.
    pub fn run_with<R: Role>(
        &mut self,
        party: &mut Party<R>,
        mut between: impl FnMut(&mut R) -> Result<bool>,
    ) -> Result<()> {
        let mut ours = false;
        let mut between = |role: &mut R| between(role).inspect_err(|_| ours = true);
        let ended = self.play(party, &mut between);
        ended.inspect_err(|e| {
            self.failed |= !ours;
            self.tell(e);
        })
    }

    /// Plays one side of an exchange until its role has come so far.
    pub fn until<R: Role>(
        &mut self,
        party: &mut Party<R>,
        reached: impl Fn(&R) -> bool,
    ) -> Result<()> {
        let mut play = || {
            while !reached(&party.role) {
                let Some(bytes) = self.receive()? else { return party.closed() };
                self.send(&party.receive(&bytes)?.send)?;
            }
            Ok(())
        };
        let played = play();
        played.inspect_err(|e| self.fail(e))
    }

    /// Sends what the role has to say by now.
    pub fn say<R: Role>(&mut self, party: &mut Party<R>) -> Result<()> {
        let said = party.receive(&[]).and_then(|step| self.send(&step.send));
        said.or_else(|e| self.last_words(party, e)).inspect_err(|e| self.fail(e))
    }

    fn play<R: Role>(
        &mut self,
        party: &mut Party<R>,
        between: &mut dyn FnMut(&mut R) -> Result<bool>,
    ) -> Result<()> {
        let mut step = party.receive(&[])?;
        loop {
            self.send(&step.send).or_else(|e| self.last_words(party, e))?;
            let more = between(&mut party.role)?;
            if step.done && !more {
                return Ok(());
            }
            step = if more {
                party.receive(&[])?
            } else if let Some(bytes) = self.receive()? {
                party.receive(&bytes)?
            } else {
                party.closed()?;
                return Ok(());
            };
        }
    }

    /// A peer that fails tells why before it closes: that is worth more than the error of the line.
    fn last_words<R: Role>(&mut self, party: &mut Party<R>, error: Error) -> Result<()> {
        while let Ok(Some(bytes)) = self.receive() {
            party.receive(&bytes)?;
        }
        Err(error)
    }

    fn fail(&mut self, error: &Error) {
        self.failed = true;
        self.tell(error);
    }

    /// Tells the other side why this one stops, if it still listens.
    pub fn tell(&mut self, error: &Error) {
        self.patience = Patience::new(self.patience.whole.min(Duration::from_secs(1)));
        let _ = self.send(&Frame::failed(error));
    }

    /// Ends the line: this side has said all, and the other has to end well.
    pub fn finish(mut self) -> Result<Traffic> {
        self.outgoing = None;
        match &mut self.line {
            Line::Pipe => {}
            Line::Socket(socket) => {
                let _ = socket.shutdown(Shutdown::Write);
            }
            Line::Process(child) => wait(child, self.patience.whole)?,
        }
        Ok(self.traffic)
    }
}

/// Waits for a process to end well.
fn wait(child: &mut Child, patience: Duration) -> Result<()> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return match status.success() {
                true => Ok(()),
                false => Err(Error::new(Kind::Io, format!("the other side ended with {status}"))),
            };
        }
        if Instant::now() > until {
            let message = "the other side has done its work and does not end";
            return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.outgoing = None;
        match &mut self.line {
            Line::Pipe => {}
            Line::Socket(socket) => {
                let _ = socket.shutdown(Shutdown::Both);
            }
            Line::Process(child) => {
                // Whoever has ended can't be killed, and is waited for in any case.
                if wait(child, Duration::from_millis(200)).is_err() {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        }
    }
}

fn hung_up(e: Option<io::Error>) -> Error {
    match e {
        Some(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Error::from(e).context("the line to the other side broke")
        }
        _ => Error::new(Kind::Truncated, "the other side hung up"),
    }
}

fn read_all(mut reader: impl Read, into: &SyncSender<io::Result<Vec<u8>>>) {
    let mut piece = vec![0; PIECE];
    loop {
        let got = match reader.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => Ok(piece[..count].to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let broken = got.is_err();
        if into.send(got).is_err() || broken {
            return;
        }
    }
}

fn write_all(mut writer: impl Write, from: &Receiver<Vec<u8>>, done: &SyncSender<io::Result<()>>) {
    for piece in from {
        let written = writer.write_all(&piece).and_then(|()| writer.flush());
        let broken = written.is_err();
        if done.send(written).is_err() || broken {
            return;
        }
    }
}
