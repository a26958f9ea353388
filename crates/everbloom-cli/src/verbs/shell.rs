//! `everbloom completions`, `man`: what a shell and a manual reader need, from the arguments themselves.

use std::collections::BTreeSet;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::NEEDS;
use everbloom::internals::variant::Variant;
use everbloom_report::suggest;

use crate::args::{Args, Machine, Manual};
use crate::output::print;
use crate::target::{MANUAL, Target};
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

/// One page with every verb, so that `everbloom man | man -l -` shows all there is; the page of one verb; or a file each.
pub fn man(args: &Manual) -> Result<Outcome> {
    let mut command = Args::command();
    command.build();
    if let Some(folder) = &args.output {
        return manuals(args, folder, &command);
    }
    let verbs: Vec<&Command> = verbs(&command).collect();
    let mut page = Vec::new();
    match &args.verb {
        None => {
            render(&command, &mut page)?;
            verbs.iter().try_for_each(|verb| render(verb, &mut page))?;
        }
        Some(name) => {
            let verb = verbs.iter().find(|verb| verb.get_name() == name).ok_or_else(|| {
                let names = verbs.iter().map(|verb| verb.get_name());
                let instead =
                    suggest::instead(name, names, || "`everbloom help` lists them".into());
                Stop::Error(format!("there is no verb {name}: {instead}"))
            })?;
            render(verb, &mut page)?;
        }
    }
    print(&String::from_utf8_lossy(&page))?;
    Ok(Outcome::Some)
}

fn verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help")
}

fn render(command: &Command, page: &mut Vec<u8>) -> Result<()> {
    let failed = |e: std::io::Error| Stop::Error(format!("cannot write the manual: {e}"));
    clap_mangen::Man::new(command.clone()).render(page).map_err(failed)
}

/// Writes a page for the command and one for each verb.
fn manuals(args: &Manual, folder: &Path, command: &Command) -> Result<Outcome> {
    let named = verbs(command).map(|verb| (format!("everbloom-{}.1", verb.get_name()), verb));
    let machine = Machine { json: false };
    for (name, command) in named.chain([("everbloom.1".to_owned(), command)]) {
        let how = (&args.replacing, &machine);
        let target = Target::file(&folder.join(name), MANUAL, how, [])?;
        let mut page = Vec::new();
        render(command, &mut page)?;
        target.write(&page)?;
    }
    Ok(Outcome::Some)
}
