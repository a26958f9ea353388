//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod ancestors;
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod bloom_paradox;
    mod bloomier;
    mod combinatorial;
    mod complement;
    mod counting;
    mod cross_checking;
    mod distance_sensitive;
    mod egh;
    mod fingerprint_counting;
    mod forest;
    mod generalized;
    mod invertible;
    mod load_balanced;
    mod matrix;
    mod multi_class;
    mod multi_partitioned;
    mod multistage;
    mod omass;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod retouched;
    mod scalable;
    mod split;
    mod stable;
    mod ternary;
    mod two_choices;
    mod variable_increment;
    mod yes_no;
}
