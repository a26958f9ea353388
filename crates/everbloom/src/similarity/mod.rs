//! Is there anything like it? Filters that find near keys.
