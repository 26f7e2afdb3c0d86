//! Reads the members of the workspace from cargo and from their manifests.

use crate::source;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub folder: PathBuf,
    /// Normal, build and dev dependencies, for every target.
    pub uses: Vec<String>,
    /// Level of the lint, of the package or the workspace; `None` when neither sets it.
    pub unsafe_code: Option<String>,
}

impl Package {
    /// True if the package lies directly in the workspace's `crates` folder.
    pub fn in_crates(&self, root: &Path) -> bool {
        self.folder.parent() == Some(root.join("crates").as_path())
    }

    pub fn folder_name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Every member by name. Dependencies are not resolved, and nothing is downloaded.
pub fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = metadata(root)?;
    let inherited = inherited_level(root)?;
    let packages = metadata.packages.into_iter();
    let packages = packages.map(|package| package.read(inherited.as_deref()));
    let mut packages = packages.collect::<Result<Vec<_>>>()?;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// The parts of the output of `cargo metadata` that are used.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<PackageMetadata>,
}

#[derive(Deserialize)]
struct PackageMetadata {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
}

fn metadata(root: &Path) -> Result<Metadata> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(&cargo)
        .args(["metadata", "--no-deps", "--offline"])
        .args(["--format-version", "1"])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .output()
        .with_context(|| format!("failed to start {}", cargo.display()))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        bail!("cargo metadata failed on {}: {stderr}", root.display());
    }
    serde_json::from_slice(&out.stdout).context("failed to read the output of cargo metadata")
}

impl PackageMetadata {
    fn read(self, inherited: Option<&str>) -> Result<Package> {
        let folder = self.manifest_path.parent();
        let folder = folder.context("a manifest has no folder")?;
        let uses = self.dependencies.into_iter().map(|used| used.name);
        let uses: BTreeSet<String> = uses.collect();
        Ok(Package {
            name: self.name,
            folder: folder.to_owned(),
            uses: uses.into_iter().collect(),
            unsafe_code: own_level(&self.manifest_path, inherited)?,
        })
    }
}

fn inherited_level(root: &Path) -> Result<Option<String>> {
    let manifest = read_toml(&root.join("Cargo.toml"))?;
    let lints = manifest.get("workspace").and_then(|w| w.get("lints"));
    Ok(lints.and_then(level))
}

fn own_level(manifest: &Path, inherited: Option<&str>) -> Result<Option<String>> {
    let manifest = read_toml(manifest)?;
    let lints = manifest.get("lints");
    let inherits = lints.and_then(|lints| lints.get("workspace")?.as_bool());
    if inherits == Some(true) {
        return Ok(inherited.map(str::to_owned));
    }
    Ok(lints.and_then(level))
}

/// The level in `unsafe_code = "deny"` or `unsafe_code = { level = "deny" }`.
fn level(lints: &toml::Value) -> Option<String> {
    let lint = lints.get("rust")?.get("unsafe_code")?;
    let level = lint.as_str().or_else(|| lint.get("level")?.as_str());
    level.map(str::to_owned)
}

fn read_toml(path: &Path) -> Result<toml::Value> {
    let table = toml::from_str(&source::read(path)?);
    let table = table.with_context(|| format!("failed to parse {}", path.display()))?;
    Ok(toml::Value::Table(table))
}
