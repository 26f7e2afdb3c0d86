//! The command `q2c restore`.

use crate::output::print;
use clap::Args;
use q2c_host::Roots;
use q2c_host::restore::{DamagedLine, default_folder, pending, restore_all};
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use std::path::{Path, PathBuf};

/// Put back settings that `doctor --fix` or a killed run left changed.
#[derive(Clone, Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Only list them
    #[arg(long)]
    pub dry_run: bool,
    /// Folder of the journals [default: /var/lib/q2c/restore for root, else the user's state
    /// folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
}

/// Restores the settings that killed runs left changed, or lists them with `--dry-run`.
pub(crate) fn run(args: &RestoreArgs) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let journals = folder(args.journal.as_deref())?;
    if args.dry_run {
        let left = pending(&roots, &journals).or_exit(Exit::Environment)?;
        let changes = left.changes.iter();
        print_changes(changes.map(|(change, _)| change.to_string()), &left.faults)?;
        return Ok(Exit::requirements(left.faults.is_empty()));
    }
    let report = restore_all(&roots, &journals).or_exit(Exit::Environment)?;
    let items = report.items.iter();
    let items = items.map(|item| format!("{}: {}", item.change, item.outcome));
    print_changes(items, &report.faults)?;
    Ok(Exit::requirements(report.is_complete()))
}

/// Prints the restored or pending settings, and the damaged lines of journals.
fn print_changes(texts: impl Iterator<Item = String>, faults: &[DamagedLine]) -> Result<(), Fault> {
    let damaged = |fault: &DamagedLine| format!("damaged journal: {fault}");
    let faults = faults.iter().map(damaged);
    let mut lines: Vec<String> = texts.chain(faults).collect();
    if lines.is_empty() {
        lines.push("nothing to restore".to_owned());
    }
    print(&lines.join("\n"))
}

/// The folder of the restore journals: the named one, else the default.
pub(crate) fn folder(named: Option<&Path>) -> Result<PathBuf, Fault> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let root = rustix::process::geteuid().is_root();
    let [state, home] =
        ["XDG_STATE_HOME", "HOME"].map(|name| std::env::var_os(name).map(PathBuf::from));
    default_folder(root, state.as_deref(), home.as_deref()).ok_or_else(|| {
        let message =
            "find the journals: neither XDG_STATE_HOME nor HOME is set; name them with --journal";
        Fault::usage(message)
    })
}
