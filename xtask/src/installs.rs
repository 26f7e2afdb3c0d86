//! Checks that no text tells a reader to fetch this project from a registry: it is published on
//! none, and whoever owns a name there decides what is installed under it.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The words with which a command begins that installs packages by name.
const INSTALLERS: [&str; 7] = [
    "pip install",
    "pip3 install",
    "pip download",
    "pipx install",
    "uv add",
    "cargo install",
    "cargo add",
];
/// Texts that may hold a command for a reader.
const TEXTS: [&str; 9] = [
    "md", "rs", "py", "pyi", "sh", "toml", "txt", "ipynb", "html",
];

/// The lines of texts below `root` that install this project by its name.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    walk(root, root, &mut breaches)?;
    breaches.sort();
    Ok(breaches)
}

fn walk(root: &Path, folder: &Path, breaches: &mut Vec<String>) -> Result<()> {
    let failed = |path: &Path| format!("failed to read {}", path.display());
    for entry in fs::read_dir(folder).with_context(|| failed(folder))? {
        let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default();
        if kind.is_dir() {
            // A build folder, cargo's or another tool's, has this file.
            if !name.starts_with('.') && !path.join("CACHEDIR.TAG").exists() {
                walk(root, &path, breaches)?;
            }
        } else if kind.is_file() && (name == "Makefile" || TEXTS.iter().any(|e| extension == *e)) {
            let text = fs::read(&path).with_context(|| failed(&path))?;
            let text = String::from_utf8_lossy(&text);
            let named = path.strip_prefix(root).unwrap_or(&path).display();
            breaches.extend(install_lines(&text).map(|(line, package)| {
                format!(
                    "{named}:{line}: installs {package} from a registry, where it is not this project's; \
                     name the built file or folder"
                )
            }));
        }
    }
    Ok(())
}

/// Number of each line that installs a package of this project by name, and the package.
fn install_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate();
    numbered.filter_map(|(i, line)| installed_package(line).map(|package| (i + 1, package)))
}

fn installed_package(line: &str) -> Option<&str> {
    let ends = INSTALLERS
        .iter()
        .filter_map(|command| Some(line.find(command)? + command.len()));
    let arguments = line[ends.max()?..].split_whitespace();
    let arguments = arguments.map(|word| word.trim_matches(|c: char| "'\"`().,;\\".contains(c)));
    let mut packages = arguments.filter(|word| {
        let mut parts = word.split(['[', '=', '<', '>', '~', '!', '@']);
        let name = parts.next().unwrap_or_default();
        let is_file = name.contains('/') || name.ends_with(".whl");
        !is_file && (name == "q2c" || name.starts_with("q2c-") || name.starts_with("q2c_"))
    });
    packages.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_files_are_not() {
        for (tool, package) in [
            ("pip", "q2c"),
            ("pip", "'q2c[spark]'"),
            ("pip", "-U q2c-lab==1"),
            ("cargo", "q2c"),
        ] {
            let line = format!("x; {tool} install {package} # why");
            assert!(installed_package(&line).is_some(), "{line}");
        }
        for (tool, package) in [
            ("pip", "../target/wheels/q2c_lab-*.whl"),
            ("pip", "'q2c_lab-0.1-abi3.whl[spark]'"),
            ("cargo", "--path crates/q2c"),
        ] {
            let line = format!("{tool} install {package}");
            assert!(installed_package(&line).is_none(), "{line}");
        }
    }
}
