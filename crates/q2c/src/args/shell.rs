//! Arguments of `q2c completions` and `q2c man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Print a shell's completions.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// Write the man pages.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages, such as /usr/local/share/man/man1
    pub folder: PathBuf,
}
