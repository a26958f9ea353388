//! Redis and Valkey: what their modules write, by `SCANDUMP` or by `DUMP`.

pub(super) mod bloom;
pub(super) mod cuckoo;
mod dump;
pub(super) mod valkey;
