//! RFC 9497, A.1.1 and A.1.2: ristretto255-SHA512, modes OPRF and VOPRF.

use super::*;
use crate::hash::from_hex;

type Server = ServerKey<Ristretto>;

const INPUTS: [&[u8]; 2] = [&[0], &[0x5a; 17]];
const BLIND: &str = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706";
const OTHER_BLIND: &str = "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e";

/// What a vector says of each of its inputs, in hex.
struct Vector {
    blinded: &'static str,
    evaluated: &'static str,
    output: [&'static str; 2],
}

const PLAIN: [Vector; 2] = [
    Vector {
        blinded: "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
        evaluated: "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
        output: [
            "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3",
            "ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6",
        ],
    },
    Vector {
        blinded: "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
        evaluated: "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
        output: [
            "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4",
            "f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73",
        ],
    },
];

const VERIFIED: [Vector; 2] = [
    Vector {
        blinded: "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
        evaluated: "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
        output: [
            "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d",
            "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
        ],
    },
    Vector {
        blinded: "cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",
        evaluated: "60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",
        output: [
            "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60",
            "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
        ],
    },
];

const PROOFS: [[&str; 2]; 2] = [
    [
        "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06",
        "6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
    ],
    [
        "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a",
        "67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
    ],
];

fn bytes(hex: &str) -> [u8; 32] {
    from_hex(hex).expect("32 bytes")
}

fn scalar(hex: &str) -> Zeroizing<<Ristretto as Group>::Scalar> {
    Zeroizing::new(Ristretto::read_scalar(&bytes(hex)).expect("canonical"))
}

fn element(hex: &str) -> <Ristretto as Group>::Element {
    Ristretto::read(&bytes(hex)).expect("an element")
}

fn server(mode: Mode) -> Server {
    Server::derive_from(mode, &[0xa3; 32], b"test key").expect("a key")
}

#[test]
fn keys_are_derived_as_the_standard_does() {
    let plain = "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e";
    assert!(*server(Mode::Plain).secret == *scalar(plain));
    let verified = "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909";
    assert!(*server(Mode::Verified).secret == *scalar(verified));
    let public = "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e";
    assert!(server(Mode::Verified).public() == element(public));
}

#[test]
fn both_modes_agree_with_the_vectors() {
    for (mode, vectors) in [(Mode::Plain, PLAIN), (Mode::Verified, VERIFIED)] {
        let server = server(mode);
        for (input, vector) in INPUTS.into_iter().zip(vectors) {
            let blinded = Blinded::<Ristretto>::with(mode, input, scalar(BLIND)).expect("short");
            assert!(blinded.element() == element(vector.blinded));
            let evaluated = server.evaluate(&[blinded.element()]);
            assert!(evaluated == [element(vector.evaluated)]);
            let output = blinded.finish(input, &evaluated[0]);
            assert_eq!(output[..], vector.output.map(bytes).concat());
            assert!(server.output(input).expect("short") == output, "the server's own way");
        }
    }
}

#[test]
fn proofs_agree_with_the_vectors_and_hold() {
    let server = server(Mode::Verified);
    for (vector, proof) in VERIFIED.iter().zip(PROOFS) {
        let (blinded, evaluated) = ([element(vector.blinded)], [element(vector.evaluated)]);
        let made = server.prove_with(scalar(OTHER_BLIND), &blinded, &evaluated);
        let mut written = Vec::new();
        made.write(&mut written);
        assert_eq!(written, proof.map(bytes).concat());
        let read = Proof::<Ristretto>::read(&written).expect("a proof");
        assert!(read.verify(&server.public(), &blinded, &evaluated));
    }
}

#[test]
fn one_proof_for_a_batch_agrees_with_the_vector() {
    let (mode, server) = (Mode::Verified, server(Mode::Verified));
    let blind = |input, hex| Blinded::<Ristretto>::with(mode, input, scalar(hex)).expect("short");
    let inputs = [blind(INPUTS[0], BLIND), blind(INPUTS[1], OTHER_BLIND)];
    let blinded = inputs.each_ref().map(Blinded::element);
    let second = "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654";
    assert!(blinded == [element(VERIFIED[0].blinded), element(second)]);
    let evaluated = server.evaluate(&blinded);
    let second = "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a";
    assert!(evaluated == [element(VERIFIED[0].evaluated), element(second)]);
    let random = "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c";
    let mut written = Vec::new();
    server.prove_with(scalar(random), &blinded, &evaluated).write(&mut written);
    let proof = [
        "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a",
        "5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08",
    ];
    assert_eq!(written, proof.map(bytes).concat());
    for (i, input) in INPUTS.into_iter().enumerate() {
        let output = inputs[i].finish(input, &evaluated[i]);
        assert_eq!(output[..], VERIFIED[i].output.map(bytes).concat());
    }
}

fn lies_are_found_out<G: Group>() {
    let [honest, other] = [1, 2].map(|seed| {
        ServerKey::<G>::derive_from(Mode::Verified, &[seed; 32], b"test").expect("a key")
    });
    let inputs: [&[u8]; 3] = [b"fig", b"oak", b""];
    let inputs = inputs.map(|i| Blinded::<G>::new(Mode::Verified, i).expect("short").element());
    let evaluated = honest.evaluate(&inputs);
    let proof = honest.prove(&inputs, &evaluated).expect("a proof");
    assert!(proof.verify(&honest.public(), &inputs, &evaluated));
    // Another key, with its own proof and with this one.
    let wrong = other.evaluate(&inputs);
    assert!(!proof.verify(&honest.public(), &inputs, &wrong));
    let theirs = other.prove(&inputs, &wrong).expect("a proof");
    assert!(theirs.verify(&other.public(), &inputs, &wrong));
    assert!(!theirs.verify(&honest.public(), &inputs, &wrong));
    // One answer exchanged, one missing, the order changed, the queries of another time.
    let one = [wrong[0], evaluated[1], evaluated[2]];
    assert!(!proof.verify(&honest.public(), &inputs, &one));
    assert!(!proof.verify(&honest.public(), &inputs, &evaluated[..2]));
    let swapped = [evaluated[1], evaluated[0], evaluated[2]];
    assert!(!proof.verify(&honest.public(), &inputs, &swapped));
    let again = Blinded::<G>::new(Mode::Verified, b"fig").expect("short").element();
    assert!(!proof.verify(&honest.public(), &[again, inputs[1], inputs[2]], &evaluated));
}

#[test]
fn a_lying_server_is_found_out() {
    lies_are_found_out::<Ristretto>();
    lies_are_found_out::<Toy>();
}

#[test]
fn the_toy_is_a_group() {
    let square = |i: u32| Toy::element(&[i as u8; 64]);
    for i in 0..200u32 {
        let (a, s) = (square(i), i * 5_000_011 + 1);
        let s = (u64::from(s) % u64::from(u32::MAX / 4)) as u32 + 1;
        assert_eq!(Toy::mul(&Toy::mul(&a, &s), &Toy::invert(&s)), a);
        let mut written = Vec::new();
        Toy::write(&a, &mut written);
        assert_eq!(Toy::read(&written), Some(a));
        let doubled = Toy::minus(&s, &(u32::MAX / 4 - s), &1);
        assert_eq!(Toy::add(&Toy::mul(&a, &s), &a), Toy::mul(&a, &(s + 1)), "{doubled}");
    }
}

#[test]
fn elements_and_scalars_have_one_encoding_each() {
    // The identity, and numbers that are not the least of their class.
    assert!(Ristretto::read(&[0; 32]).is_none() && Ristretto::read(&[0xFF; 32]).is_none());
    assert!(Ristretto::read(&[0; 31]).is_none() && Ristretto::read_scalar(&[0xFF; 32]).is_none());
    for wrong in [0u32, 1, u32::MAX, (1 << 31) - 69, 3] {
        let residue = Toy::read(&wrong.to_le_bytes());
        assert!(residue.is_none() || wrong == 3, "{wrong}");
    }
    assert!(Toy::read_scalar(&u32::MAX.to_le_bytes()).is_none());
    assert!(read_elements::<Toy>(&[4, 0, 0, 0, 4, 0, 0]).is_none());
    assert_eq!(read_elements::<Toy>(&[4, 0, 0, 0]), Some(vec![4]));
    assert!(Proof::<Toy>::read(&[0; 7]).is_none() && Proof::<Toy>::read(&[0; 9]).is_none());
}

#[test]
fn blinds_differ_with_every_query_and_come_back_when_derived() {
    let blind = || Blinded::<Ristretto>::new(Mode::Verified, b"fig").expect("short").element();
    assert!(blind() != blind());
    let secret = Secret::new([5; 32]);
    let derived = |once, place| {
        let blinded =
            Blinded::<Ristretto>::derived(Mode::Verified, b"fig", (&secret, &once), place);
        blinded.expect("short").element()
    };
    assert!(derived([1; 16], 0) == derived([1; 16], 0));
    assert!(derived([1; 16], 0) != derived([1; 16], 1));
    assert!(derived([1; 16], 0) != derived([2; 16], 0));
    assert!(Blinded::<Toy>::new(Mode::Verified, &[0; 65_536]).is_err());
}

#[test]
fn keys_and_blinds_are_not_printed() {
    let server = server(Mode::Verified);
    let blinded = Blinded::<Ristretto>::new(Mode::Verified, b"fig").expect("short");
    let shown = format!("{server:?} {blinded:?}");
    assert_eq!(shown, "ServerKey { mode: Verified, .. } Blinded(…)");
}
