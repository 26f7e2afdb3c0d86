//! Tests of run folders through their public interface.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

mod life;
mod process;

use q2c_run::run_dir::{Identity, RunDir, RunState, Status};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct FolderPlan {
    seed: u64,
    sizes: Vec<u32>,
}

fn plan() -> FolderPlan {
    FolderPlan {
        seed: 7,
        sizes: vec![4096, 8192],
    }
}

fn identity() -> Identity {
    Identity::default()
        .with("kernel", "6.12.1")
        .with("target", "/dev/vdb")
}

fn new_folder(root: &Path) -> RunDir {
    RunDir::create(root, "demo", &plan(), &identity()).unwrap()
}

fn interrupted(root: &Path) -> PathBuf {
    let folder = new_folder(root);
    let path = folder.path().to_path_buf();
    folder.finish(RunState::Interrupted).unwrap();
    path
}

fn status(path: &Path) -> Status {
    RunDir::inspect(path).unwrap().1
}
