//! The numbers of the papers: each catalogue entry's checks, in tests named after the entry.

mod evidence {
    mod ancestors;
    mod best_of_n;
    mod blocked;
    mod bloom;
    mod bloom_paradox;
    mod bloomier;
    mod complement;
    mod counting;
    mod cross_checking;
    mod d_left;
    mod distance_sensitive;
    mod dynamic_count;
    mod egh;
    mod fingerprint_counting;
    mod generalized;
    mod invertible;
    mod lfsr_counting;
    mod multi_class;
    mod multi_partitioned;
    mod multilayer_counting;
    mod multiple_choice;
    mod multistage;
    mod optihash;
    mod partitioned;
    mod partitioned_hashing;
    mod retouched;
    mod scalable;
    mod spectral;
    mod stable;
    mod ternary;
    mod two_choices;
    mod variable_increment;
    mod yes_no;
}
