//! To tell revoked serials from valid ones.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::shared::{Machine, Replacing};
use crate::quantity;

#[derive(clap::Args)]
pub struct Revoked {
    #[command(subcommand)]
    pub verb: RevokedVerb,
}

#[derive(Subcommand)]
pub enum RevokedVerb {
    /// Build filters from the lists of revoked and of valid serials.
    Build(RevokedBuild),
    /// Print the status of serials: revoked, valid, unknown, or proof if one has to be requested.
    ///
    /// The exit code is 0 if some are revoked and 1 if none are.
    Check(RevokedCheck),
    /// Prove that a serial is in the list of revoked serials, or that it is not.
    Prove(RevokedProve),
    /// Check a proof, and print the status of its serial.
    Verify(RevokedVerify),
}

/// Form to build.
#[derive(Clone, Copy, ValueEnum)]
pub enum RevokedForm {
    /// A cascade in Mozilla's format: never needs a proof.
    Cascade,
    /// Two filters, with proofs for serials that both seem to contain.
    Dual,
}

/// Example:
///   everbloom revoked build --revoked revoked.txt --valid valid.txt -o status
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedBuild {
    /// Revoked serials, one per line: hexadecimal numbers. Case, leading zeros and separators between bytes make no
    /// difference; `0x12`, `serial=12` and `18 (0x12)`, as openssl prints them, are read too.
    #[arg(long, value_name = "FILE")]
    pub revoked: PathBuf,
    /// Valid serials, one per line, in the same form.
    #[arg(long, value_name = "FILE")]
    pub valid: PathBuf,
    /// Folder to write.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Form to build.
    #[arg(long, value_enum, default_value = "cascade")]
    pub form: RevokedForm,
    /// Share of unknown serials that are taken for valid; in the dual form, also of serials that need a proof.
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
    /// The folder written by `revoked build`, or a lone cascade (.mlbf), which takes unknown serials for valid. Lines are
    /// looked up in a lone cascade as they are.
    pub set: PathBuf,
    /// Serials, one per line; none or `-` for stdin.
    pub serials: Option<PathBuf>,
    /// List of revoked serials: where a proof is needed, make it from this list and check it.
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
    /// List of revoked serials.
    pub list: PathBuf,
    /// The serial.
    pub serial: String,
    /// Output file for the proof.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom revoked verify status 4711 4711.proof
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RevokedVerify {
    /// The folder written by `revoked build --form dual`.
    pub set: PathBuf,
    /// The serial.
    pub serial: String,
    /// The proof written by `revoked prove`.
    pub proof: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
