//! Checks of the workspace: which crate may use which, where unsafe code may be, and how long files
//! and functions may be.
//!
//! `cargo xtask deps` reads its rules from the crate table of `ARCHITECTURE.md`. `cargo xtask
//! sizes` prints one row per crate. Both name every breach of a rule, and exit with 1 when there is
//! one.

mod deps;
mod installs;
mod measure;
mod rooms;
mod sizes;
mod source;
mod table;
mod unsafety;
mod workspace;
mod workspace_sizes;

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <deps|sizes> [--root DIR]

  deps    crates use only what their row in ARCHITECTURE.md allows; unsafe code and system crates likewise;
          no text installs this project from a registry
  sizes   lines per file and function, by crate; at most 800 per file and 80 per function, and
          100 columns per line of comment";

/// The findings of a check: a text for stdout, and every breach of a rule for stderr.
struct Findings {
    text: String,
    breaches: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let (command, root) = arguments()?;
    let root = &fs::canonicalize(&root)
        .with_context(|| format!("failed to find the workspace {}", root.display()))?;
    let findings = match command.as_str() {
        "deps" => deps::check(root)?,
        "sizes" => sizes::check(root)?,
        _ => bail!("unknown command {command:?}\n{USAGE}"),
    };
    std::io::stdout().write_all(findings.text.as_bytes())?;
    for breach in &findings.breaches {
        writeln!(std::io::stderr(), "error: {breach}")?;
    }
    Ok(ExitCode::from(u8::from(!findings.breaches.is_empty())))
}

fn arguments() -> Result<(String, PathBuf)> {
    let mut args = std::env::args().skip(1);
    let command = args.next().context(USAGE)?;
    let root = match (args.next().as_deref(), args.next(), args.next()) {
        // The folder above this package's, which `cargo run` puts into the variable.
        (None, ..) => std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| ".".into(), |dir| PathBuf::from(dir).join("..")),
        (Some("--root"), Some(dir), None) => PathBuf::from(dir),
        _ => bail!("unknown arguments\n{USAGE}"),
    };
    Ok((command, root))
}
