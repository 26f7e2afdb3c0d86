//! The commands `q2c completions` and `q2c man`. Both are generated from the arguments, so they
//! cannot differ from the program.

use crate::args::Cli;
use crate::output::print;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Print a shell's completions.
#[derive(Clone, Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// Write the man pages.
#[derive(Clone, Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages, such as /usr/local/share/man/man1
    pub folder: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "q2c", &mut script);
    print(&String::from_utf8(script).or_exit(Exit::Internal)?).map(|()| Exit::Done)
}

/// Writes a man page for the program and for each command, such as `q2c.1` and `q2c-poll-sim.1`.
/// Existing pages are replaced.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Fault> {
    let folder = &args.folder;
    // Building gives subcommands their full names.
    let mut program = Cli::command();
    program.build();
    let written = fs::create_dir_all(folder).and_then(|()| write_pages(&program, folder));
    written.map(|()| Exit::Done).map_err(|error| {
        let folder = folder.display();
        let message = format!("write the man pages into {folder}: {error}; name a folder");
        Fault::usage(message)
    })
}

fn write_pages(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone().disable_help_subcommand(true));
    let mut text = Vec::new();
    page.render(&mut text)?;
    let path = folder.join(format!("{name}.1"));
    // A link is replaced itself; its target is not written to.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => File::create_new(&path)?.write_all(&text)?,
    }
    let is_shown = |sub: &&clap::Command| !sub.is_hide_set() && sub.get_name() != "help";
    let mut subcommands = command.get_subcommands().filter(is_shown);
    subcommands.try_for_each(|subcommand| write_pages(subcommand, folder))
}
