//! An open target: a file or a device of the kernel, a simulated device, or a controller that the
//! kernel does not drive.

use crate::args::WorkloadArgs;
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_engine::{EngineSpec, Medium};
use q2c_host::Roots;
use q2c_host::block::Leaf;
use q2c_host::target::{
    FileId, OpenNamespace, Scratch, TargetError, Wanted, WriteLeave, open, open_namespace,
};
use q2c_model::Bytes;
use q2c_result::{Exit, Target};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A target must hold this many of the largest blocks. A smaller one would be read from the
/// device's cache.
pub const LEAST_BLOCKS: u64 = 64;
/// Size of a simulated target. A controller that the kernel does not drive gets it too, as its own
/// size is not known.
const SIMULATED_SPAN: Bytes = Bytes(1 << 30);
/// What must live as long as the target is in use, and what is needed to open its namespace's
/// character device later. The default is for targets without a file.
#[derive(Default)]
pub struct Held {
    file: Option<FileId>,
    write: bool,
    /// The block device, held open so that nobody else may write it meanwhile.
    _claim: Option<File>,
}

/// An open target, with what is known of it.
pub struct Opened {
    pub medium: Medium,
    pub facts: Target,
    /// Bytes of the target that the workload uses.
    pub span: Bytes,
    pub leaf: Option<Leaf>,
    /// Tells the target from another one of the same name.
    pub id: String,
    pub held: Held,
}

/// Opens the character device of the NVMe namespace that the target is.
pub fn sibling(
    roots: &Roots,
    target: &Target,
    held: &Held,
    leaf: Option<&Leaf>,
) -> Result<OpenNamespace, TargetError> {
    let path = Path::new(&target.path);
    match held.file {
        Some(id) => open_namespace(roots, path, id, leaf, held.write),
        None => Err(TargetError::NoNamespace {
            path: path.to_owned(),
        }),
    }
}

/// The facts of the simulated device that is named `target`.
pub fn simulated_facts(target: &str) -> Target {
    Target {
        path: target.to_owned(),
        kind: "simulated".to_owned(),
        size: SIMULATED_SPAN,
        unproved: vec!["no device: interrupts and requests are not counted".to_owned()],
        ..Target::default()
    }
}

impl Opened {
    /// Opens the file or device at `path`. Writing needs leave: `--allow-write` or a scratch file.
    pub fn path(
        roots: &Roots,
        args: &WorkloadArgs,
        path: &Path,
        scratch: Option<&Scratch>,
    ) -> Result<Self, Failure> {
        let mut leave = match args.run.allow_write.is_empty() {
            true => WriteLeave::none(),
            false => WriteLeave::for_paths(&args.run.allow_write).or_exit_of(|e| e.exit())?,
        };
        scratch.iter().for_each(|scratch| scratch.grant(&mut leave));
        let blocks = args
            .bs
            .iter()
            .chain(args.background.iter().map(|job| &job.bs));
        let (smallest, largest) = blocks.fold((Bytes(u64::MAX), Bytes(0)), |(s, l), &b| {
            (s.min(b), l.max(b))
        });
        let wanted = Wanted {
            path: path.to_owned(),
            write: args.rw.write || args.background.iter().any(|job| job.pattern.write),
            block: largest,
            smallest_block: smallest,
            blocks: LEAST_BLOCKS,
        };
        let target = open(roots, &wanted, &leave).or_exit_of(|e| e.exit())?;
        let id = format!("{:?}", target.id);
        Ok(Opened {
            medium: Medium::File(Arc::new(target.file)),
            span: target.facts.size,
            facts: target.facts,
            leaf: target.leaf,
            id,
            held: Held {
                file: Some(target.id),
                write: wanted.write,
                _claim: target.claim,
            },
        })
    }

    /// Fits the target to `engine`: an engine that sends NVMe commands gets the namespace's
    /// character device. A target that takes nothing but commands is refused to all other engines.
    pub fn for_engine(mut self, engine: &EngineSpec) -> Result<Self, Failure> {
        let Target { kind, path, .. } = &self.facts;
        match (kind == "nvme-generic", engine.needs_character_device()) {
            (true, false) => Err(Failure::new(
                Exit::Target,
                format!(
                    "use {path} with {engine}: it takes NVMe commands alone; name the namespace's block device, or use \
                     --engine io_uring_cmd"
                ),
            )),
            (false, true) => {
                let open = sibling(&Roots::live(), &self.facts, &self.held, self.leaf.as_ref());
                let open = open.or_exit_of(TargetError::exit)?;
                say(&format!(
                    "{engine}: NVMe commands to {}",
                    open.generic.path().display()
                ));
                self.medium = Medium::File(Arc::new(open.file));
                Ok(self)
            }
            _ => Ok(self),
        }
    }

    /// A controller that the kernel does not drive: only its address is known.
    pub fn controller(args: &WorkloadArgs, address: &str) -> Result<Self, Failure> {
        let path = PathBuf::from(address);
        if args.rw.write && !args.run.allow_write.contains(&path) {
            let refused = TargetError::NoLeave { path };
            return Err(Failure::new(refused.exit(), refused));
        }
        let facts = Target {
            path: address.to_owned(),
            kind: "pci".to_owned(),
            unproved: vec![
                "its size, its interrupts and its requests: the kernel does not drive it"
                    .to_owned(),
            ],
            ..Target::default()
        };
        Ok(Opened {
            medium: Medium::None,
            facts,
            span: SIMULATED_SPAN,
            leaf: None,
            id: address.to_owned(),
            held: Held::default(),
        })
    }

    /// Names a simulated device; nothing is opened.
    pub fn simulated(target: &str) -> Self {
        let facts = simulated_facts(target);
        Opened {
            medium: Medium::None,
            span: facts.size,
            facts,
            leaf: None,
            id: target.to_owned(),
            held: Held::default(),
        }
    }
}
