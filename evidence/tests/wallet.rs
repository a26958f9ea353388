//! The published vectors of BIP 158: real blocks, their transactions, roots and filters.

use everbloom_formats::block_filter;
use everbloom_lab::applications::trust::wallet::{Block, PartialTree};

fn unhex(text: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex digits");
    (0..text.len() / 2).map(byte).collect()
}

#[test]
fn blocks_give_their_roots_and_their_filters_bit_for_bit() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/everbloom-formats/tests/samples/bip158/testnet-19.json"
    );
    let vectors: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path).expect("the sample")).expect("JSON");
    let text = |value: &serde_json::Value| unhex(value.as_str().expect("a string"));
    let (mut several, mut blocks) = (0, 0);
    for vector in vectors.as_array().expect("a list").iter().skip(1) {
        let block = Block::read(&text(&vector[2])).expect("a block");
        let mut shown = block.hash();
        shown.reverse();
        assert_eq!(shown[..], text(&vector[1])[..], "the hash is shown with its last byte first");
        let scripts = vector[3].as_array().expect("a list");
        let spent: Vec<Vec<u8>> = scripts.iter().map(text).collect();
        let key = block.hash()[..16].try_into().expect("16 bytes");
        assert_eq!(block_filter(key, block.elements(&spent)), text(&vector[5]), "{}", vector[0]);
        // Every single transaction is proved against the root that miners agreed on.
        let mut root = [0; 32];
        root.copy_from_slice(&block.header[36..68]);
        let ids = block.ids();
        for wanted in 0..ids.len() {
            let one: Vec<bool> = (0..ids.len()).map(|i| i == wanted).collect();
            let proof = PartialTree::new(&ids, &one);
            assert_eq!(proof.prove(&root).expect("a proof"), [ids[wanted]], "{}", vector[0]);
        }
        several += usize::from(ids.len() > 1);
        blocks += 1;
    }
    assert!(blocks >= 8 && several >= 2, "{blocks} blocks, {several} with several transactions");
}
