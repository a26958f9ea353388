//! Long files go to the disk while they are still being written: so that the waits overlap.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// Bytes that are written before they are worth the trip, 2^25: a file of fewer is synced at its end alone, and of a longer
/// one the end is soon there.
pub(super) const PIECE: usize = 32 << 20;

/// A thread that syncs what has been written of a file, over and over. It makes nothing durable that the sync at the end would
/// not, and takes nothing from it: that one has less to wait for.
#[derive(Default)]
pub(super) struct Ahead {
    /// Bytes written since the thread was told last.
    written: usize,
    thread: Option<(Sender<()>, JoinHandle<io::Result<()>>)>,
}

impl Ahead {
    /// So many bytes more have been written to the file.
    pub(super) fn written(&mut self, file: &File, bytes: usize) -> io::Result<()> {
        if !cfg!(feature = "parallel") {
            return Ok(());
        }
        self.written += bytes;
        if self.written < PIECE {
            return Ok(());
        }
        self.written = 0;
        if self.thread.is_none() {
            let (file, (sender, receiver)) = (file.try_clone()?, channel());
            let sync = thread::Builder::new().spawn(move || sync(&file, &receiver));
            // Without a thread everything waits for the end, as in a short file.
            self.thread = sync.ok().map(|thread| (sender, thread));
        }
        if let Some((sender, _)) = &self.thread {
            // A thread that has ended tells why when it is waited for.
            let _ = sender.send(());
        }
        Ok(())
    }

    /// Waits for the thread. An error is told here and, by some systems, nowhere else: the sync at the end would succeed.
    pub(super) fn finish(self) -> io::Result<()> {
        let Some((sender, thread)) = self.thread else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or_else(|e| resume_unwind(e))
    }
}

fn sync(file: &File, told: &Receiver<()>) -> io::Result<()> {
    while told.recv().is_ok() {
        // What was told meanwhile is synced with it.
        told.try_iter().for_each(drop);
        file.sync_data()?;
    }
    Ok(())
}

#[cfg(all(test, unix, feature = "parallel"))]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    #[test]
    fn long_files_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let bytes: Vec<u8> = (0..2 * PIECE + 12_345).map(|i| (i >> 7) as u8).collect();
        let (begin, end) = bytes.split_at(1000);
        crate::disk::replace(&path, |out| out.write_all(begin).and_then(|()| out.write_all(end)))
            .unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn an_error_is_told_at_the_end() {
        let (_reader, writer) = std::io::pipe().unwrap();
        // A pipe cannot be synced.
        let file = File::from(OwnedFd::from(writer));
        let mut ahead = Ahead::default();
        ahead.written(&file, PIECE - 1).unwrap();
        assert!(ahead.thread.is_none(), "too short to be worth a thread");
        ahead.written(&file, 1).unwrap();
        ahead.written(&file, PIECE).unwrap();
        assert!(ahead.finish().is_err());
        assert!(Ahead::default().finish().is_ok());
    }
}
