//! How many, how often, which most? Summaries of streams in little memory, by estimate.

pub mod adaptive_counting;
pub mod conservative;
pub mod count_min;
pub mod counter_braids;
pub mod hyperloglog;
pub mod loglog;
pub mod space_code;
pub mod top_k;

pub use adaptive_counting::AdaptiveCounting;
pub use conservative::Conservative;
pub use count_min::CountMin;
pub use counter_braids::CounterBraids;
pub use hyperloglog::HyperLogLog;
pub use loglog::LogLog;
pub use space_code::SpaceCode;
pub use top_k::TopK;
