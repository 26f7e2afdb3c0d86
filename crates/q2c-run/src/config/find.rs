//! Finds the file.

use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE: &str = "q2c.toml";

/// The file in this folder, or in the nearest one above it that has one.
pub fn find(folder: &Path) -> Option<PathBuf> {
    let mut files = folder.ancestors().map(|folder| folder.join(FILE));
    files.find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_file_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        let above = root.path().join(FILE);
        fs::write(&above, "").unwrap();
        assert_eq!(find(&deep), Some(above));
        let near = root.path().join("a/b").join(FILE);
        fs::write(&near, "").unwrap();
        assert_eq!(find(&deep), Some(near));
        // A folder of that name is no file.
        fs::create_dir(deep.join(FILE)).unwrap();
        assert_eq!(find(&deep), Some(root.path().join("a/b").join(FILE)));
    }
}
