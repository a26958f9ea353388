//! `everbloom revoked`: revoked serials, valid ones, and neither.

use std::io::Write as _;
use std::path::Path;

use everbloom::Error;
use everbloom_formats::Format;
use everbloom_records::{Cr, Grammar};
use everbloom_report::json::bytes;
use everbloom_report::number::bytes_text;
use everbloom_tools::revoked::{
    CASCADE, MANIFEST, Proof, REVOKED, Revocations, Status, Tree, VALID, serial, to_hex,
};
use serde_json::json;

use crate::args::{
    RevokedBuild, RevokedCheck, RevokedForm, RevokedProve, RevokedVerb, RevokedVerify,
};
use crate::input::{self, Passes};
use crate::output::{Output, integer_text, print, print_json};
use crate::talk::say;
use crate::target::{FILTER, Form, PROOF, REVOCATIONS, Target};
use crate::{Outcome, Result, Stop};

pub fn run(verb: &RevokedVerb) -> Result<Outcome> {
    match verb {
        RevokedVerb::Build(args) => build(args),
        RevokedVerb::Check(args) => check(args),
        RevokedVerb::Prove(args) => prove(args),
        RevokedVerb::Verify(args) => verify(args),
    }
}

/// Calls `f` with every line of a file and its serial. Lists come from every system: a CR at the end is no part of it.
fn each_serial(
    path: &Path,
    read: impl Fn(&[u8]) -> everbloom::Result<Vec<u8>>,
    mut f: impl FnMut(&[u8], Vec<u8>) -> everbloom::Result<()>,
) -> Result<()> {
    let (mut number, grammar) = (0u64, Grammar { cr: Cr::Cut, ..Grammar::default() });
    let each = input::lines(path, grammar, Passes::Once)?.each(|_, records| {
        records.iter().try_for_each(|record| {
            number += 1;
            let serial = read(record.key).map_err(|e| e.context(format!("line {number}")))?;
            f(record.key, serial)
        })
    });
    each.map_err(Into::into)
}

/// The serials of a list.
fn serials(path: &Path) -> Result<Vec<Vec<u8>>> {
    let mut serials = Vec::new();
    each_serial(path, serial, |_, serial| {
        serials.push(serial);
        Ok(())
    })?;
    Ok(serials)
}

fn build(args: &RevokedBuild) -> Result<Outcome> {
    let cascade = Form::Foreign(Format::named("mlbf")?);
    let files = [(MANIFEST, REVOCATIONS), (CASCADE, cascade), (REVOKED, FILTER), (VALID, FILTER)];
    let how = (&args.replacing, &args.machine);
    let _targets = Target::files(&args.output, &files, how, [&args.revoked, &args.valid])?;
    let (revoked, valid) = (serials(&args.revoked)?, serials(&args.valid)?);
    let built = match args.form {
        RevokedForm::Cascade => Revocations::cascade(&revoked, &valid, args.fpr),
        RevokedForm::Dual => Revocations::dual(&revoked, &valid, args.fpr),
    }?;
    built.save(&args.output)?;
    let root = built.root().map(|root| to_hex(root));
    if args.machine.json {
        print_json(&json!({
            "form": if root.is_some() { "dual" } else { "cascade" },
            "revoked": revoked.len(), "valid": valid.len(), "bytes": built.bytes(), "root": root,
        }))?;
    }
    let root = root.map_or(String::new(), |root| format!(", root {root}"));
    say!(
        "{}: {} revoked and {} valid serials in {}{root}",
        args.output.display(),
        integer_text(revoked.len() as u64),
        integer_text(valid.len() as u64),
        bytes_text(built.bytes()),
    );
    Ok(Outcome::Some)
}

fn check(args: &RevokedCheck) -> Result<Outcome> {
    let set = Revocations::open(&args.set)?;
    let tree = match &args.list {
        Some(list) => Some(Tree::new(serials(list)?)),
        None => None,
    };
    let mut out = Output::new();
    let (mut counts, mut proofs, mut proof_bytes) = ([0u64; 4], 0u64, 0);
    let path = args.serials.as_deref().unwrap_or(Path::new("-"));
    let form = |line: &[u8]| if set.is_foreign() { Ok(line.to_vec()) } else { serial(line) };
    let read = each_serial(path, form, |line, serial| {
        let mut status = set.status(&serial)?;
        if let (Status::AskForProof, Some(tree)) = (status, &tree) {
            let proof = tree.prove(&serial);
            (proofs, proof_bytes) = (proofs + 1, proof_bytes + proof.bytes());
            status = set.settled(&serial, &proof)?;
        }
        counts[status as usize] += 1;
        if args.machine.json {
            return out.json(&json!({ "serial": bytes(line), "status": status.name() }));
        }
        out.write(|out| {
            write!(out, "{}\t", status.name())?;
            out.write_all(line)?;
            out.write_all(b"\n")
        })
    });
    let [revoked, valid, unknown, proof] = counts;
    let summary = args.machine.json.then(|| {
        json!({
            "revoked": revoked, "valid": valid, "unknown": unknown, "proof": proof,
            "proofs_checked": proofs, "proof_bytes": proof_bytes,
        })
    });
    out.end(read, summary)?;
    let [revoked_text, valid, unknown, proof] = [revoked, valid, unknown, proof].map(integer_text);
    say!(
        "{revoked_text} revoked, {valid} valid, {unknown} unknown, {proof} need a proof; {} proofs of {} checked",
        integer_text(proofs),
        bytes_text(proof_bytes),
    );
    Ok(if revoked > 0 { Outcome::Some } else { Outcome::None })
}

fn prove(args: &RevokedProve) -> Result<Outcome> {
    let how = (&args.replacing, &args.machine);
    let target = Target::file(&args.output, PROOF, how, [&args.list])?;
    let tree = Tree::new(serials(&args.list)?);
    let (serial, root) = (serial(args.serial.as_bytes())?, tree.root());
    let proof = tree.prove(&serial);
    let revoked = proof.shows(&serial, &root)?;
    target.write(format!("{:#}\n", proof.to_json()).as_bytes())?;
    let hashes: usize = proof.leaves.iter().map(|leaf| leaf.path.len()).sum();
    if args.machine.json {
        print_json(&json!({
            "revoked": revoked, "size": proof.size, "leaves": proof.leaves.len(), "hashes": hashes,
            "bytes": proof.bytes(), "root": to_hex(&root),
        }))?;
    }
    say!(
        "{}: {} among {} revoked, proved by {hashes} hashes, {}",
        args.output.display(),
        if revoked { "is" } else { "is not" },
        integer_text(proof.size),
        bytes_text(proof.bytes()),
    );
    Ok(Outcome::Some)
}

fn verify(args: &RevokedVerify) -> Result<Outcome> {
    let set = Revocations::open(&args.set)?;
    if set.root().is_none() {
        return Err(Stop::Error(format!(
            "{}: a cascade needs no proof: use `everbloom revoked check`",
            args.set.display()
        )));
    }
    let text =
        std::fs::read(&args.proof).map_err(|e| Error::from(e).context(args.proof.display()))?;
    let proof = Proof::from_json(&text).map_err(|e| e.context(args.proof.display()))?;
    let serial = serial(args.serial.as_bytes())?;
    let status = set.settled(&serial, &proof).map_err(|e| e.context(args.proof.display()))?;
    if args.machine.json {
        print_json(&json!({ "serial": args.serial, "status": status.name() }))?;
    } else {
        print(&format!("{}\t{}\n", status.name(), args.serial))?;
    }
    Ok(Outcome::Some)
}
