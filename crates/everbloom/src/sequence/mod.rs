//! Keys that are sequences: their parts are asked for.
