//! What is kept of a file beside its content: who may do what with it, and when it was modified.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Mode and time of modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The permissions of owner, group and others: nothing that gives a program rights of its owner.
    mode: u32,
    seconds: i64,
    nanoseconds: u32,
}

impl Stamp {
    /// Bytes of a stamp in a frame.
    pub const BYTES: usize = 16;

    /// That of a file or folder.
    pub fn of(metadata: &Metadata) -> io::Result<Self> {
        let (seconds, nanoseconds) = match metadata.modified()?.duration_since(UNIX_EPOCH) {
            Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
            Err(e) => {
                let before = e.duration();
                let nanoseconds = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
                (-(before.as_secs() as i64) - i64::from(nanoseconds > 0), nanoseconds)
            }
        };
        Ok(Self { mode: mode(metadata), seconds, nanoseconds })
    }

    /// As it travels: mode, seconds, nanoseconds.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        out[..4].copy_from_slice(&self.mode.to_le_bytes());
        out[4..12].copy_from_slice(&self.seconds.to_le_bytes());
        out[12..].copy_from_slice(&self.nanoseconds.to_le_bytes());
        out
    }

    /// The stamp that travelled. Of its mode only permissions are taken.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (mode, rest) = bytes.split_first_chunk()?;
        let (seconds, rest) = rest.split_first_chunk()?;
        let nanoseconds = u32::from_le_bytes(rest.try_into().ok()?);
        let mode = u32::from_le_bytes(*mode) & 0o777;
        let stamp = Self { mode, seconds: i64::from_le_bytes(*seconds), nanoseconds };
        (nanoseconds < 1_000_000_000).then_some(stamp)
    }

    /// Gives it to a file, or on Unix to a folder. A time that this system cannot express is left out.
    pub fn put(self, file: &File) -> io::Result<()> {
        file.set_permissions(permissions(self.mode, file)?)?;
        self.time().map_or(Ok(()), |time| file.set_modified(time))
    }

    fn time(self) -> Option<SystemTime> {
        let whole = Duration::from_secs(self.seconds.unsigned_abs());
        let time = if self.seconds < 0 {
            UNIX_EPOCH.checked_sub(whole)
        } else {
            UNIX_EPOCH.checked_add(whole)
        };
        time?.checked_add(Duration::from_nanos(self.nanoseconds.into()))
    }
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode(metadata: &Metadata) -> u32 {
    if metadata.permissions().readonly() { 0o444 } else { 0o644 }
}

#[cfg(unix)]
fn permissions(mode: u32, _: &File) -> io::Result<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permissions(mode: u32, file: &File) -> io::Result<Permissions> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    Ok(permissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_1970_travel_and_set_user_id_does_not() {
        let file = tempfile::tempfile().unwrap();
        for (seconds, nanoseconds) in
            [(0, 0), (1_700_000_000, 123_456_789), (-1, 0), (-5, 999_999_000), (-86_400, 1_000)]
        {
            let stamp = Stamp { mode: 0o640, seconds, nanoseconds };
            assert_eq!(Stamp::parse(&stamp.to_bytes()), Some(stamp));
            stamp.put(&file).unwrap();
            assert_eq!(Stamp::of(&file.metadata().unwrap()).unwrap(), stamp);
        }
        let wild = Stamp { mode: 0o104_755, seconds: i64::MIN, nanoseconds: 999_999_999 };
        let read = Stamp::parse(&wild.to_bytes()).unwrap();
        assert_eq!(read.mode, 0o755);
        read.put(&file).unwrap();
        assert_eq!(Stamp::parse(&Stamp { nanoseconds: u32::MAX, ..wild }.to_bytes()), None);
    }
}
