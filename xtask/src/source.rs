//! Reads the Rust files of a package.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file with its text.
#[derive(Debug)]
pub struct Source {
    /// Path from the root of the workspace, for messages.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    /// Whether the whole file is test code: it is in `benches` or `examples` of the package or in
    /// any folder `tests`, or its name is `tests.rs` or `test.rs`.
    pub is_test: bool,
}

/// Every `.rs` file below `folder`, sorted by path. Nested packages and the package's own `target`
/// are left out. A folder of sources may have that name, too.
///
/// # Errors
/// When a folder or a file cannot be read.
pub fn files(root: &Path, folder: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    walk(folder, &folder.join("target"), &mut found)?;
    found.sort();
    let read = |path: PathBuf| -> Result<Source> {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let is_test = is_test(path.strip_prefix(folder).unwrap_or(&path));
        let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
        Ok(Source {
            path,
            text,
            is_test,
        })
    };
    found.into_iter().map(read).collect()
}

fn walk(folder: &Path, build: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if !path.join("Cargo.toml").exists() && path != build {
                walk(&path, build, found)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn is_test(below_package: &Path) -> bool {
    let first = below_package.components().next();
    let beside_src =
        first.is_some_and(|c| ["benches", "examples"].iter().any(|f| c.as_os_str() == *f));
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
        for path in [
            "tests/cli.rs",
            "benches/a/b.rs",
            "examples/x.rs",
            "src/poll/tests.rs",
            "src/tests/timed.rs",
        ] {
            assert!(is_test(Path::new(path)), "{path}");
        }
        for path in [
            "src/lib.rs",
            "src/contests.rs",
            "src/tests_of_time.rs",
            "build.rs",
        ] {
            assert!(!is_test(Path::new(path)), "{path}");
        }
    }
}
