//! Reads the Rust files of a package.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct SourceFile {
    /// Path from the root of the workspace, for messages.
    pub path: PathBuf,
    pub text: String,
    /// True for files in `benches` or `examples` of the package or in any folder `tests`, and for
    /// `tests.rs` and `test.rs`.
    pub is_test: bool,
}

/// A package's Rust files, without nested packages and without the package's own `target`.
pub fn files(root: &Path, folder: &Path) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk(folder, &folder.join("target"), &mut paths)?;
    paths.sort();
    let file = |path: PathBuf| -> Result<SourceFile> {
        let text = read(&path)?;
        let is_test = is_test(path.strip_prefix(folder).unwrap_or(&path));
        let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
        Ok(SourceFile {
            path,
            text,
            is_test,
        })
    };
    paths.into_iter().map(file).collect()
}

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}

/// The entries of a folder.
pub fn entries(folder: &Path) -> Result<fs::ReadDir> {
    fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))
}

fn walk(folder: &Path, target: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in entries(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.join("Cargo.toml").exists() && path != target {
                walk(&path, target, paths)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_test(below_package: &Path) -> bool {
    let mut folders = ["benches", "examples"].into_iter();
    let beside_src = folders.any(|folder| below_package.starts_with(folder));
    let folder = below_package.parent().unwrap_or(below_package);
    let in_tests = folder.components().any(|c| c.as_os_str() == "tests");
    let stem = below_package.file_stem().unwrap_or_default();
    beside_src || in_tests || stem == "tests" || stem == "test"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_told_by_folder_and_name() {
        let tests =
            "tests/cli.rs benches/a/b.rs examples/x.rs src/poll/tests.rs src/tests/timed.rs";
        for path in tests.split(' ') {
            assert!(is_test(Path::new(path)), "{path}");
        }
        let others = "src/lib.rs src/contests.rs src/tests_of_time.rs build.rs";
        for path in others.split(' ') {
            assert!(!is_test(Path::new(path)), "{path}");
        }
    }
}
