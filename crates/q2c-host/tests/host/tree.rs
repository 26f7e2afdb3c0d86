use crate::Roots;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A temporary folder with `sys` and `proc` in it, removed on drop.
pub(crate) struct SysProcTree {
    dir: tempfile::TempDir,
}

impl SysProcTree {
    /// Makes the tree from lines. `path = value` makes a file, `path -> target` a link, and `path/`
    /// a folder.
    pub(crate) fn new(lines: &str) -> SysProcTree {
        let tree = SysProcTree {
            dir: tempfile::tempdir().unwrap(),
        };
        tree.add(lines);
        tree
    }

    /// Adds or replaces entries, from lines as in [`SysProcTree::new`].
    pub(crate) fn add(&self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|l| !l.is_empty()) {
            if let Some((path, value)) = line.split_once(" = ") {
                let path = self.make_parent(path);
                fs::write(path, value.replace("\\n", "\n") + "\n").unwrap();
            } else if let Some((path, target)) = line.split_once(" -> ") {
                symlink(target, self.make_parent(path)).unwrap();
            } else {
                fs::create_dir_all(self.path(line)).unwrap();
            }
        }
    }

    fn make_parent(&self, path: &str) -> PathBuf {
        let path = self.path(path.trim());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::under(self.dir.path())
    }
}
