//! Banks of memory, pipelines, energy, soft errors: filters shaped by the hardware they run on.

pub mod adaptive;
pub mod banked;
mod banks;
mod parity;
mod pipeline;
pub mod pipelined;
pub mod soft_error;

pub use adaptive::Adaptive;
pub use banked::Banked;
pub use pipelined::Pipelined;
pub use soft_error::{SoftError, scrub};
