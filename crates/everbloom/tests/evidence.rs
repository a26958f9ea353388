//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod adaptive;
    mod ancestors;
    mod banked;
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod bloom_g;
    mod bloom_paradox;
    mod bloomier;
    mod compacted;
    mod complement;
    mod compressed;
    mod counting;
    mod cross_checking;
    mod distance_sensitive;
    mod double_hashing;
    mod egh;
    mod fingerprint_counting;
    mod generalized;
    mod golomb;
    mod invertible;
    mod lower_bound;
    mod memory_optimized;
    mod multi_class;
    mod multi_partitioned;
    mod multistage;
    mod one_hash;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod perfect_hash;
    mod pipelined;
    mod retouched;
    mod scalable;
    mod soft_error;
    mod split_block;
    mod stable;
    mod ternary;
    mod two_choices;
    mod variable_increment;
    mod yes_no;
}
