//! Crates use only what their row allows; unsafe code and system crates stay in their place.

use crate::Findings;
use crate::installs;
use crate::rooms;
use crate::source::{self, SourceFile};
use crate::table::{CrateKind, CrateTable};
use crate::unsafety;
use crate::workspace::{self, Package};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// Third-party crates through which a program talks to the system. Pure crates use none of them.
const SYSTEM: &str = "aya io-uring libbpf-rs libbpf-sys libc libublk linux-raw-sys nix rustix \
                      signal-hook syscalls";

/// Checks the workspace at `root` against the table in its `ARCHITECTURE.md`.
pub fn check(root: &Path) -> Result<Findings> {
    let document = root.join("ARCHITECTURE.md");
    let text = source::read(&document)?;
    let table = CrateTable::parse(&text)
        .with_context(|| format!("failed to read the crate table of {}", document.display()))?;
    let packages = workspace::packages(root)?;
    let mut breaches = table.faults();
    breaches.extend(check_folders(root, &packages)?);
    breaches.extend(rooms::check_files(root, &table));
    breaches.extend(dead_paths(root, &text));
    breaches.extend(installs::check(root)?);
    for package in &packages {
        breaches.extend(misuses(package, &table, &packages, root));
        let files = source::files(root, &package.folder)?;
        breaches.extend(rooms::check(&package.name, &files, &table, SYSTEM)?);
        breaches.extend(unsafe_uses(package, &files, table.kind(&package.name))?);
    }
    let text = summary(&table, &packages, breaches.len());
    Ok(Findings { text, breaches })
}

/// Paths of crates that the document names in backticks and that do not exist.
fn dead_paths(root: &Path, document: &str) -> Vec<String> {
    let quoted = document.split('`').skip(1).step_by(2);
    let dead = quoted.filter(|path| path.starts_with("crates/") && !root.join(path).exists());
    dead.map(|path| format!("ARCHITECTURE.md names {path}, which does not exist"))
        .collect()
}

/// Every folder in `crates` is a member of the workspace, with a package of its name.
fn check_folders(root: &Path, packages: &[Package]) -> Result<Vec<String>> {
    let crates = root.join("crates");
    let mut breaches = Vec::new();
    for entry in source::entries(&crates)? {
        let folder = entry?.path();
        match packages.iter().find(|p| p.folder == folder) {
            Some(package) if package.folder_name() != package.name => breaches.push(format!(
                "crates/{} holds the package {}: a folder has its crate's name",
                package.folder_name(),
                package.name
            )),
            None if folder.is_dir() => breaches.push(format!(
                "{} is no member of the workspace",
                folder.strip_prefix(root).unwrap_or(&folder).display()
            )),
            _ => {}
        }
    }
    breaches.sort();
    Ok(breaches)
}

/// Finds uses of workspace crates that a package's row does not allow, and of system crates by a
/// pure package.
fn misuses(package: &Package, table: &CrateTable, members: &[Package], root: &Path) -> Vec<String> {
    let name = &package.name;
    let Some(kind) = table.kind(name) else {
        let breach = || format!("{name} has no row in ARCHITECTURE.md");
        return package.in_crates(root).then(breach).into_iter().collect();
    };
    let mut allowed = table.allowed(name);
    allowed.extend(table.rooms(name).flat_map(|room| table.allowed(room)));
    let has_rooms = table.rooms(name).next().is_some();
    let mut breaches = Vec::new();
    for used in &package.uses {
        let member = members.iter().any(|m| m.name == *used);
        if member && !allowed.contains(used.as_str()) {
            let may = allowed.iter().copied().collect::<Vec<_>>().join(", ");
            breaches.push(format!("{name} depends on {used}; its row allows: {may}"));
        }
        if kind == CrateKind::Pure && !has_rooms && SYSTEM.split(' ').any(|name| name == used) {
            breaches.push(format!("{name} is pure but depends on {used}"));
        }
    }
    breaches
}

/// Finds unsafe code, unless the package's row says `unsafe`. Members without a row are checked.
fn unsafe_uses(
    package: &Package,
    files: &[SourceFile],
    kind: Option<CrateKind>,
) -> Result<Vec<String>> {
    if kind == Some(CrateKind::Unsafe) {
        return Ok(Vec::new());
    }
    let mut breaches = Vec::new();
    let level = package.unsafe_code.as_deref();
    let name = &package.name;
    if !matches!(level, Some("deny" | "forbid")) {
        let level = level.unwrap_or("nothing");
        let lint = format!("{name} sets the lint unsafe_code to {level}; expected deny or forbid");
        breaches.push(lint);
    }
    for file in files {
        let path = file.path.display();
        let lines = unsafety::find_lines(&file.text);
        let lines = lines.with_context(|| format!("failed to parse {path}"))?;
        let breach = |line| format!("{path}:{line}: unsafe code, which {name} may not hold");
        breaches.extend(lines.iter().map(breach));
    }
    Ok(breaches)
}

fn summary(table: &CrateTable, packages: &[Package], breaches: usize) -> String {
    let present: BTreeSet<&str> = packages.iter().map(|p| p.name.as_str()).collect();
    let mut text = String::new();
    let crates = table.names().filter(|name| !name.contains('/'));
    for name in crates.filter(|name| !present.contains(name)) {
        text += &format!("note: {name} has a row in ARCHITECTURE.md and no code\n");
    }
    text += &format!("deps: {} packages, {breaches} breaches\n", packages.len());
    text
}
