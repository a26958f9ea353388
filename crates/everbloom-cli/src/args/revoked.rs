//! To tell revoked serials from valid ones.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Revoked {
    #[command(subcommand)]
    pub verb: RevokedVerb,
}

#[derive(Subcommand)]
pub enum RevokedVerb {
    /// Make filters of the lists of revoked and of valid serials.
    Build(RevokedBuild),
    /// Print the status of serials: revoked, valid, unknown, or proof where one has to be asked for.
    ///
    /// Exit code 0 if some are revoked, 1 if none are.
    Check(RevokedCheck),
    /// Prove that a serial is in the list of the revoked, or is not.
    Prove(RevokedProve),
    /// Check a proof, and print the status of its serial.
    Verify(RevokedVerify),
}

/// What is built.
#[derive(Clone, Copy, ValueEnum)]
pub enum RevokedForm {
    /// A cascade in Mozilla's format: needs nobody to ask.
    Cascade,
    /// Two filters, and proofs where both have a serial.
    Dual,
}

/// Example:
///   everbloom revoked build --revoked revoked.txt --valid valid.txt -o status
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedBuild {
    /// Serials that were revoked, one a line.
    #[arg(long, value_name = "FILE")]
    pub revoked: PathBuf,
    /// Serials that are valid, one a line.
    #[arg(long, value_name = "FILE")]
    pub valid: PathBuf,
    /// The folder to write.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// What is built.
    #[arg(long, value_enum, default_value = "cascade")]
    pub form: RevokedForm,
    /// Share of unknown serials that may be taken for valid; in the dual form also of serials that need a proof.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.01", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom revoked check status serials.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedCheck {
    /// The folder that `revoked build` wrote, or a cascade (.mlbf) alone, which takes unknown serials for valid.
    pub set: PathBuf,
    /// Serials, one a line; none or `-` for stdin.
    pub serials: Option<PathBuf>,
    /// The list of the revoked: where a proof is needed, make it from this list and check it.
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom revoked prove revoked.txt 4711 -o 4711.proof
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedProve {
    /// The list of the revoked.
    pub list: PathBuf,
    /// The serial.
    pub serial: String,
    /// Where to write the proof.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom revoked verify status 4711 4711.proof
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedVerify {
    /// The folder that `revoked build --form dual` wrote.
    pub set: PathBuf,
    /// The serial.
    pub serial: String,
    /// The proof that `revoked prove` wrote.
    pub proof: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
