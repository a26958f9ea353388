//! Streams without end: filters that forget.

pub mod active_active;
mod buffers;
pub mod decaying_bloom;
pub mod double_buffer;
pub mod forgetful;
pub mod stable;
pub mod temporal_counting;
pub mod time_decaying;
pub mod windowed;

pub use active_active::ActiveActive;
pub use decaying_bloom::Decaying;
pub use double_buffer::DoubleBuffer;
pub use forgetful::Forgetful;
pub use stable::Stable;
pub use temporal_counting::TemporalCounting;
pub use time_decaying::TimeDecaying;
pub use windowed::Windowed;

use crate::error::Error;

/// The keys to remember decide when filters take turns.
fn no_items() -> Error {
    Error::parameter("give {items}: how many recent keys are found")
}
