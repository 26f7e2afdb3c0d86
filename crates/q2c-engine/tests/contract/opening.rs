use crate::{BLOCK, BLOCKS, DEPTH, SIZE};
use q2c_engine::engine::{Engine, EngineError, Operation, Request};
use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, Medium};
use q2c_sys::RingError;
use q2c_sys::nvme::NvmeError;
use q2c_testkit::skip;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

/// Environment variable that names a namespace's character device for `io_uring_cmd`. Its first
/// megabyte is overwritten.
const CHARACTER_DEVICE: &str = "Q2C_TEST_NG";
/// Environment variable that names the same namespace's block device, through which the written
/// data is read back. All tests share the megabyte: run them with `--test-threads=1`.
const ITS_BLOCK_DEVICE: &str = "Q2C_TEST_NG_BLOCK";
/// Environment variable with a folder for the targets of engines on files.
const FOLDER: &str = "Q2C_TEST_FOLDER";

/// True if the data that an engine writes can be read back in another way.
pub(crate) fn has_content(spec: &EngineSpec) -> bool {
    if spec.needs_character_device() {
        std::env::var_os(ITS_BLOCK_DEVICE).is_some()
    } else {
        spec.needs_file()
    }
}

/// An engine on its target, and what is known about the target.
pub(crate) struct EngineBench {
    pub engine: Box<dyn Engine>,
    pub direct: bool,
    file: Option<Arc<File>>,
    /// True if the content is read through another device.
    reads_elsewhere: bool,
}

impl EngineBench {
    /// The content of the target, read back through the page cache; of a device, the part that the
    /// test uses. The page cache of a block device is empty while no process has it open.
    pub(crate) fn content(&self) -> Vec<u8> {
        let file = self.file.as_ref().expect("an engine on a file");
        let path = if self.reads_elsewhere {
            std::env::var(ITS_BLOCK_DEVICE).expect("asked before")
        } else {
            format!("/proc/self/fd/{}", file.as_raw_fd())
        };
        let mut content = Vec::new();
        // The file is opened for buffered reading, because the reader's memory is not aligned.
        let file = File::open(path).expect("the target once more");
        let mut file = file.take(BLOCKS * BLOCK as u64);
        file.read_to_end(&mut content).expect("the target's bytes");
        content
    }

    /// The content of the target after the engine has been dropped.
    pub(crate) fn content_behind_the_drop(mut self) -> Vec<u8> {
        let null = EngineSpec::Null.open(&Medium::None, 1, SIZE, 1);
        self.engine = null.expect("the null engine");
        self.content()
    }
}

/// A target that is deleted when its handles are closed, and whether it is open for direct I/O,
/// which some file systems lack.
fn target() -> (File, bool) {
    let named_folder = std::env::var(FOLDER);
    let folder = named_folder.unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
    let mut named = tempfile::NamedTempFile::new_in(folder).expect("a temporary file");
    named
        .write_all(&vec![0; BLOCKS as usize * BLOCK])
        .expect("room for the target");
    let synced = named.as_file().sync_all();
    synced.expect("the target on its device");
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let direct = options
        .clone()
        .custom_flags(libc::O_DIRECT)
        .open(named.path());
    match direct {
        Ok(file) => (file, true),
        Err(_) => (options.open(named.path()).expect("the target again"), false),
    }
}

/// Opens the engine in the calling thread; `None` if it cannot run here, which counts as a skip of
/// `test`.
pub(crate) fn open(spec: &EngineSpec, test: &str) -> Option<Box<dyn Engine>> {
    bench(spec, test).map(|bench| bench.engine)
}

/// Opens the engine and keeps its target.
pub(crate) fn bench(spec: &EngineSpec, test: &str) -> Option<EngineBench> {
    match try_bench(spec) {
        Ok(bench) => Some(bench),
        Err(reason) => {
            // The skip is counted once for a test, not for each fault around the same engine.
            if !matches!(spec, EngineSpec::Fault { .. }) {
                skip(test, &format!("{spec}: {reason}"));
            }
            None
        }
    }
}

fn try_bench(spec: &EngineSpec) -> Result<EngineBench, String> {
    let (file, direct) = match (spec.needs_character_device(), spec.needs_file()) {
        (true, _) => (Some(character_device()?), true),
        (_, true) => {
            let (file, direct) = target();
            (Some(file), direct)
        }
        (_, false) => (None, false),
    };
    let file = file.map(Arc::new);
    let medium = match &file {
        Some(file) => Medium::File(Arc::clone(file)),
        None => SimDevices::default().medium(spec).expect("its devices"),
    };
    let engine = match spec.open(&medium, DEPTH, SIZE, 7) {
        Ok(engine) => engine,
        Err(EngineError::Ring(e @ (RingError::Forbidden(_) | RingError::Options { .. }))) => {
            return Err(e.to_string());
        }
        Err(EngineError::Nvme(e @ NvmeError::Identify { .. })) => return Err(e.to_string()),
        Err(e) => panic!("open {spec}: {e}"),
    };
    let engine = probe_polling(spec, &medium, engine)?;
    Ok(EngineBench {
        engine,
        direct,
        file,
        reads_elsewhere: spec.needs_character_device(),
    })
}

fn character_device() -> Result<File, String> {
    let Some(path) = std::env::var_os(CHARACTER_DEVICE) else {
        return Err(format!(
            "no NVMe namespace: {CHARACTER_DEVICE} names a character device to be overwritten"
        ));
    };
    let file = OpenOptions::new().read(true).write(true).open(&path);
    file.map_err(|e| format!("open {}: {e}", path.display()))
}

/// Does one read to find out whether the target has poll queues. A fault counts its requests, so a
/// second engine does the read for it.
fn probe_polling(
    spec: &EngineSpec,
    medium: &Medium,
    engine: Box<dyn Engine>,
) -> Result<Box<dyn Engine>, String> {
    if !spec.to_string().contains("iopoll") {
        return Ok(engine);
    }
    let facts = engine.facts();
    let mut probe = match spec {
        EngineSpec::Fault { .. } => spec.open(medium, 1, SIZE, 7).expect("once more"),
        _ => engine,
    };
    let read = Request {
        operation: Operation::Read,
        offset: 0,
        length: BLOCK as u32,
        slot: 0,
    };
    probe.submit(&[read]).expect("an engine that is not broken");
    let done = probe.wait().expect("an engine that is not broken");
    match facts.cause(done.result) {
        Some(cause) => Err(cause.to_owned()),
        None => spec.open(medium, DEPTH, SIZE, 7).map_err(|e| e.to_string()),
    }
}
