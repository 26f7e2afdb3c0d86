//! Reads the members of the workspace from cargo and from their manifests.

use anyhow::{Context, Result, bail};
use serde_json::Value;
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
    /// Whether the package stands directly in the workspace's `crates` folder.
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
    let list = metadata["packages"]
        .as_array()
        .context("cargo metadata gave no packages")?;
    let inherited = inherited_level(root)?;
    let packages = list.iter().map(|p| package(p, inherited.as_deref()));
    let mut packages = packages.collect::<Result<Vec<_>>>()?;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

fn metadata(root: &Path) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(&cargo)
        .args(["metadata", "--no-deps", "--offline"])
        .args(["--format-version", "1"])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .output()
        .with_context(|| format!("failed to start {}", cargo.display()))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        bail!("cargo metadata failed on {}: {said}", root.display());
    }
    serde_json::from_slice(&out.stdout).context("failed to read the output of cargo metadata")
}

fn package(value: &Value, inherited: Option<&str>) -> Result<Package> {
    let text = |field: &str| {
        let text = value[field].as_str().map(str::to_owned);
        text.with_context(|| format!("cargo metadata gave a package without {field}"))
    };
    let manifest = PathBuf::from(text("manifest_path")?);
    let folder = manifest.parent().context("a manifest has no folder")?;
    let mut uses = strings(&value["dependencies"], "name");
    uses.sort();
    uses.dedup();
    Ok(Package {
        name: text("name")?,
        folder: folder.to_owned(),
        uses,
        unsafe_code: own_level(&manifest, inherited)?,
    })
}

fn strings(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|i| i[field].as_str().map(str::to_owned))
        .collect()
}

fn inherited_level(root: &Path) -> Result<Option<String>> {
    let manifest = read_toml(&root.join("Cargo.toml"))?;
    let lints = manifest.get("workspace").and_then(|w| w.get("lints"));
    Ok(lints.and_then(level))
}

fn own_level(manifest: &Path, inherited: Option<&str>) -> Result<Option<String>> {
    let manifest = read_toml(manifest)?;
    let lints = manifest.get("lints");
    let inherits = lints
        .and_then(|l| l.get("workspace"))
        .and_then(toml::Value::as_bool);
    if inherits == Some(true) {
        return Ok(inherited.map(str::to_owned));
    }
    Ok(lints.and_then(level))
}

/// Of either `unsafe_code = "deny"` or `unsafe_code = { level = "deny" }`.
fn level(lints: &toml::Value) -> Option<String> {
    let lint = lints.get("rust")?.get("unsafe_code")?;
    let level = lint.as_str().or_else(|| lint.get("level")?.as_str());
    level.map(str::to_owned)
}

fn read_toml(path: &Path) -> Result<toml::Value> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    let table: toml::Table =
        toml::from_str(&text).with_context(|| format!("failed to parse {}", path.display()))?;
    Ok(toml::Value::Table(table))
}
