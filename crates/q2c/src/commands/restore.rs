//! The command `q2c restore`.

use crate::args::RestoreArgs;
use crate::failure::{Fails, Failure};
use crate::output::print;
use q2c_host::Roots;
use q2c_host::restore::{default_folder, pending, restore_all};
use q2c_result::Exit;
use std::path::{Path, PathBuf};

/// Puts back the settings that killed runs left changed, or lists them with `--dry-run`.
pub fn run(args: &RestoreArgs) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let folder = folder(args.journal.as_deref())?;
    if args.dry_run {
        let left = pending(&roots, &folder).or_exit(Exit::Environment)?;
        let lines: Vec<String> = left.iter().map(|(change, _)| format!("{change}")).collect();
        print(&if lines.is_empty() {
            "nothing to restore".to_owned()
        } else {
            lines.join("\n")
        })?;
        return Ok(Exit::Done);
    }
    let report = restore_all(&roots, &folder).or_exit(Exit::Environment)?;
    let mut lines: Vec<String> = report
        .items
        .iter()
        .map(|item| format!("{}: {}", item.change, item.outcome))
        .collect();
    lines.extend(
        report
            .faults
            .iter()
            .map(|fault| format!("damaged journal: {fault}")),
    );
    print(&if lines.is_empty() {
        "nothing to restore".to_owned()
    } else {
        lines.join("\n")
    })?;
    Ok(if report.is_complete() {
        Exit::Done
    } else {
        Exit::Requirements
    })
}

/// The folder of the restore journals: as named, else the usual one.
pub fn folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let root = rustix::process::geteuid().is_root();
    let (state, home) = (std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
    let folder = default_folder(
        root,
        state.as_deref().map(Path::new),
        home.as_deref().map(Path::new),
    );
    folder.ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            "find the journals: neither XDG_STATE_HOME nor HOME is set; name them with --journal",
        )
    })
}
