//! What a Bloom filter is compared with: tables of fingerprints, learned filters, sketches.
