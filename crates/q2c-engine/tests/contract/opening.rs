//! Opening an engine on a target, or saying why that is not possible here.

use crate::{BLOCK, BLOCKS, DEPTH, SIZE};
use q2c_engine::engine::{Engine, EngineError};
use q2c_engine::{EngineSpec, Medium};
use q2c_sys::RingError;
pub use q2c_testkit::skip;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

/// A target that is deleted with its handles: direct where the file system can, else buffered.
pub fn target() -> File {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let mut named = tempfile::NamedTempFile::new_in(folder).expect("a temporary file");
    named
        .write_all(&vec![0; BLOCKS as usize * BLOCK])
        .expect("room for the target");
    named
        .as_file()
        .sync_all()
        .expect("the target on its device");
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let direct = options
        .clone()
        .custom_flags(libc::O_DIRECT)
        .open(named.path());
    direct
        .or_else(|_| options.open(named.path()))
        .expect("the target again")
}

/// The engine in the calling thread; `None` where the kernel forbids it, counted as a skip of `test`.
pub fn open(spec: &EngineSpec, test: &str) -> Option<Box<dyn Engine>> {
    let medium = match spec.needs_file() {
        true => Medium::File(Arc::new(target())),
        false => Medium::None,
    };
    match spec.open(&medium, DEPTH, SIZE, 7) {
        Ok(engine) => Some(engine),
        Err(EngineError::Ring(RingError::Forbidden(e))) => {
            // Once per test, not for each fault around the same ring.
            if *spec == EngineSpec::IoUring {
                skip(test, &format!("io_uring_setup: {e}"));
            }
            None
        }
        Err(e) => panic!("open {spec}: {e}"),
    }
}
