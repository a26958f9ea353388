//! Buffers that are used again: fresh ones for every block would make the system clear their pages anew,
//! which takes as long as hashing the keys.

use std::sync::Mutex;

/// Buffers between uses, for all threads.
#[derive(Default)]
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    /// A buffer that was used before, or a new one.
    pub fn take(&self) -> T {
        self.0.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default()
    }

    /// Gives a buffer back.
    pub fn give(&self, buffer: T) {
        if let Ok(mut pool) = self.0.lock() {
            pool.push(buffer);
        }
    }
}
