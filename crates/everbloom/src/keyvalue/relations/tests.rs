use super::*;
use crate::shared_tests::lies_are_refused;

#[test]
fn files_of_other_relations_are_refused() {
    let good = Relations::from_parents([("r", ""), ("a", "r")], 8, 8).unwrap();
    let lies: [fn(&mut Relations); 5] = [
        |f| f.head.form = DYNAMIC,
        |f| f.parent_bits = 7,
        |f| f.depths = 1,
        |f| f.depths = 2,
        |f| f.cells = None,
    ];
    lies_are_refused(&good, lies);
}

#[test]
fn depths_need_a_tree() {
    let build = |lines: &[&str]| {
        let records: Vec<(&[u8], &[u8])> = lines
            .iter()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(child, parent)| (child.as_bytes(), parent.as_bytes()))
            .collect();
        let records: Vec<Record<'_>> = records
            .iter()
            .map(|(child, parent)| Record::key(child).with(Value::Label(parent)))
            .collect();
        VARIANT.build_from(&Goal::new(9, 0.01).set("depth", "yes"), &records).map(drop)
    };
    assert!(build(&["r ", "a r", "b a", "c b", "d c"]).is_ok());
    assert!(build(&["a b", "b a"]).is_err(), "a circle");
    assert!(build(&["a r"]).is_err(), "half a tree");
    assert!(build(&["r ", "a r", "a b", "b r"]).is_err(), "two parents");
    assert!(build(&[" r"]).is_err(), "no name");
}
