//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod adaptive;
    mod ancestors;
    mod banked;
    mod best_of_n;
    mod binary_fuse;
    mod blocked;
    mod bloom;
    mod bloom_g;
    mod bloom_paradox;
    mod bloomier;
    mod combinatorial;
    mod compacted;
    mod complement;
    mod compressed;
    mod conservative;
    mod counting;
    mod cross_checking;
    mod d_left;
    mod deletable;
    mod distance_sensitive;
    mod double_hashing;
    mod dynamic_count;
    mod egh;
    #[cfg(feature = "secure")]
    mod encrypted;
    mod fingerprint_counting;
    mod forest;
    mod generalized;
    mod golomb;
    mod invertible;
    #[cfg(feature = "secure")]
    mod keyed;
    mod lfsr_counting;
    mod load_balanced;
    mod lower_bound;
    mod matrix;
    mod memory_optimized;
    mod multi_class;
    mod multi_partitioned;
    mod multilayer_counting;
    mod multiple_choice;
    mod multistage;
    mod omass;
    mod one_hash;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod perfect_hash;
    mod pipelined;
    #[cfg(feature = "secure")]
    mod private_query;
    mod retouched;
    mod ribbon;
    mod scalable;
    #[cfg(feature = "secure")]
    mod secure_index;
    mod soft_error;
    mod spectral;
    mod split;
    mod split_block;
    mod stable;
    mod ternary;
    mod two_choices;
    mod variable_increment;
    mod yes_no;
}
