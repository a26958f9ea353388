//! `everbloom completions`, `man`: what a shell and a manual reader need, from the arguments themselves.

use clap::CommandFactory as _;

use crate::args::Args;
use crate::output::print;
use crate::{Outcome, Result, Stop};

pub fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "everbloom", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Some)
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
