//! `everbloom completions`, `man`: what a shell and a manual reader need, from the arguments themselves.

use std::collections::BTreeSet;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::NEEDS;
use everbloom::internals::variant::Variant;

use crate::args::Args;
use crate::output::print;
use crate::{Outcome, Result, Stop};

pub fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(Args::command()), "everbloom", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Some)
}

/// The arguments with the names that may stand in them. They are not checked by these when a command is run, since an
/// error there suggests the name that was meant.
fn with_names(command: Command) -> Command {
    let slugs = || VARIANTS.iter().map(|v| v.slug);
    let settings = || {
        let named = |v: &&'static Variant| {
            let forms = v.forms.iter().map(|form| format!("form={}", form.name));
            forms.chain(v.params.iter().map(|param| format!("{}=", param.name))).collect::<Vec<_>>()
        };
        VARIANTS.iter().flat_map(named).collect::<BTreeSet<String>>()
    };
    let kind = |arg: Arg| arg.value_parser(PossibleValuesParser::new(slugs()));
    // The parser wants names that stay, and the process ends here.
    let set = |arg: Arg| {
        let names = settings().into_iter().map(|name| &*name.leak());
        arg.value_parser(PossibleValuesParser::new(names))
    };
    let need =
        |arg: Arg| arg.value_parser(PossibleValuesParser::new(NEEDS.iter().map(|need| need.0)));
    command
        .mut_subcommand("plan", |plan| plan.mut_arg("kind", kind).mut_arg("need", need))
        .mut_subcommand("build", |build| build.mut_arg("kind", kind).mut_arg("settings", set))
        .mut_subcommand("bench", |bench| bench.mut_arg("kind", kind).mut_arg("settings", set))
        .mut_subcommand("catalog", |catalog| catalog.mut_arg("slug", kind))
        .mut_subcommand("sample", |sample| sample.mut_arg("slug", kind))
}

/// One page with every verb, so that `everbloom man | man -l -` shows all there is.
pub fn man() -> Result<Outcome> {
    let mut page = Vec::new();
    let failed = |e: std::io::Error| Stop::Error(format!("cannot write the manual: {e}"));
    let mut command = Args::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for verb in command.get_subcommands().filter(|c| c.get_name() != "help") {
        clap_mangen::Man::new(verb.clone()).render(&mut page).map_err(failed)?;
    }
    print(&String::from_utf8_lossy(&page))?;
    Ok(Outcome::Some)
}
