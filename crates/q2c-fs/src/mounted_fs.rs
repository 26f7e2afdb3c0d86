//! A file system that is made for a run, and mounted where nobody else sees it.

use crate::maker::FsMaker;
use crate::{files, readahead};
use q2c_host::Roots;
use q2c_host::restore::Guard;
use q2c_host::target::{self, TargetRequirements, WritePermission};
use q2c_model::{Bytes, Exit, Fault, OrFault};
use q2c_result::fs::{Access, Caching, CreatedFs, FileSystem, FsPoint, Sharing};
use q2c_sys::loop_device::{self, LoopDevice};
use q2c_sys::mounts::{self, Mounted};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system that exists as long as this value.
#[derive(Debug)]
pub(crate) struct MountedFs {
    pub facts: CreatedFs,
    /// The sysfs folder with the device's statistics.
    pub statistics: PathBuf,
    pub readahead: Option<PathBuf>,
    // Fields are dropped in this order: the mount, its folder, the device.
    mounted: Mounted,
    _point: MountPoint,
    _device: Option<LoopDevice>,
}

/// An empty folder. Dropping this value or `q2c restore` removes it.
#[derive(Debug)]
struct MountPoint {
    path: PathBuf,
    _guard: Guard,
}

impl MountPoint {
    /// Creates a folder whose name nobody can guess and take first.
    fn make(context: MountContext<'_>, fs: FileSystem) -> Result<Self, Fault> {
        let folder = std::env::temp_dir();
        let tried = format_args!("make a folder in {}", folder.display());
        let no_journal = "there is no folder for the journal of settings";
        let journal = context.journal.ok_or(no_journal);
        let guard = Guard::new(context.roots, journal.or_fault(Exit::Environment, tried)?);
        let mut guard = guard.or_fault(Exit::Environment, tried)?;
        let made = tempfile::Builder::new()
            .prefix(&format!("q2c-{fs}-"))
            .make_in(&folder, |path| {
                guard.folder(path).map_err(io::Error::other)?;
                let made = fs::DirBuilder::new().mode(0o700).create(path);
                if made.is_err() {
                    guard.cancel_last().map_err(io::Error::other)?;
                }
                made
            });
        let path = made.and_then(|made| Ok(made.into_temp_path().keep()?));
        Ok(MountPoint {
            path: path.or_fault(Exit::Environment, tried)?,
            _guard: guard,
        })
    }
}

/// Where the system's files are, and the folder for the journal of changes.
#[derive(Clone, Copy, Debug)]
pub struct MountContext<'a> {
    /// The system's files.
    pub roots: &'a Roots,
    /// Folder for the journal of changes; without one nothing is mounted.
    pub journal: Option<&'a Path>,
}

impl MountedFs {
    /// Makes the file system on a loop device over an unnamed file of `size` bytes in `folder`.
    pub(crate) fn on_loop(
        context: MountContext<'_>,
        fs: FileSystem,
        folder: &Path,
        size: Bytes,
    ) -> Result<Self, Fault> {
        // Without a name, the file vanishes together with its loop device.
        let tried = format_args!("make a file in {}", folder.display());
        let file = tempfile::tempfile_in(folder).or_fault(Exit::Environment, tried)?;
        file.set_len(size.0)
            .or_fault(Exit::Environment, format_args!("make a file of {size}"))?;
        let device = loop_device::attach(&file)
            .or_fault(Exit::Environment, "make a loop device (which takes root)")?;
        let path = device.path.clone();
        Self::make_on(context, fs, &path, size, Some(device))
    }

    /// Makes the file system on a block device that the user named twice.
    pub(crate) fn on_device(
        context: MountContext<'_>,
        fs: FileSystem,
        device: &Path,
        permission: &WritePermission,
    ) -> Result<Self, Fault> {
        let requirements = TargetRequirements {
            path: device.to_owned(),
            write: true,
            block: Bytes(4096),
            smallest_block: Bytes(4096),
            blocks: FsMaker::for_file_system(fs).least_mib << 8,
        };
        // The device is held exclusively during the checks. Then the program that makes the file
        // system holds it, and refuses a device that somebody took in between.
        let open = target::open(context.roots, &requirements, permission)?;
        let metadata = open.file.metadata();
        let is_device = metadata.map(|m| m.file_type().is_block_device());
        let tried = format_args!("ask about {}", device.display());
        if !is_device.or_fault(Exit::Environment, tried)? {
            let text = format!(
                "use {}: expected a block device, found a file; without a device, files with loop devices are used",
                device.display()
            );
            return Err(Fault::new(Exit::Usage, text));
        }
        let size = open.facts.size;
        drop(open);
        Self::make_on(context, fs, device, size, None)
    }

    fn make_on(
        context: MountContext<'_>,
        fs: FileSystem,
        path: &Path,
        size: Bytes,
        device: Option<LoopDevice>,
    ) -> Result<Self, Fault> {
        let maker = FsMaker::for_file_system(fs);
        let program = maker.find()?;
        maker.make(&program, path)?;
        let point = MountPoint::make(context, fs)?;
        let roots = context.roots;
        let mounted = Mounted::mount(path, &point.path, fs.name());
        if let Err(error) = &mounted
            && error.raw_os_error() == Some(NO_FILE_SYSTEM)
        {
            let text = format_args!("mount {fs}: this kernel has no {fs}, built in or as a module");
            return Err(Fault::new(Exit::Environment, text));
        }
        let tried = format_args!("mount {fs} of {}", path.display());
        let mounted = mounted.or_fault(Exit::Device, tried)?;
        let question = format_args!("ask about {}", path.display());
        let statistics = statistics(roots, path).or_fault(Exit::Environment, question)?;
        let direct = fs::read_to_string(statistics.join("loop/dio")).ok();
        Ok(MountedFs {
            readahead: readahead::setting(roots, fs, &statistics),
            facts: CreatedFs {
                fs,
                device: path.display().to_string(),
                size,
                loop_direct: device.as_ref().and(direct).map(|text| text.trim() == "1"),
                made_by: maker.version(&program),
                options: options(roots, mounted.path()),
            },
            statistics,
            mounted,
            _point: point,
            _device: device,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.mounted.path()
    }
}

/// ENODEV, with which `mount` refuses a file system that the kernel lacks.
const NO_FILE_SYSTEM: i32 = 19;

fn statistics(roots: &Roots, device: &Path) -> std::io::Result<PathBuf> {
    let dev = fs::metadata(device)?.rdev();
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    Ok(roots.sys(&format!("dev/block/{major}:{minor}")))
}

fn options(roots: &Roots, path: &Path) -> String {
    let text = fs::read_to_string(roots.proc("thread-self/mounts")).unwrap_or_default();
    let path = path.display().to_string();
    let options = text.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        (fields.next()? == path).then(|| fields.nth(1))?
    });
    options.unwrap_or("unknown").to_owned()
}

/// Gives the calling thread a mount namespace that nobody else sees.
pub(crate) fn unshare_mounts() -> Result<(), Fault> {
    mounts::unshare_mounts().or_fault(
        Exit::Environment,
        "give the run mounts of its own (which takes root)",
    )
}

/// A mounted file system on a named device. Dropping this value unmounts it.
#[derive(Debug)]
pub struct MountedDevice {
    made: MountedFs,
}

impl MountedDevice {
    /// Makes the file system on `device`, over whatever is there, and mounts it. From then on the
    /// calling thread has mounts of its own. A fault of the device is one of mkfs or mount; any
    /// other is one of the machine.
    pub fn make(
        context: MountContext<'_>,
        fs: FileSystem,
        device: &Path,
        permission: &WritePermission,
    ) -> Result<Self, Fault> {
        unshare_mounts()?;
        Ok(MountedDevice {
            made: MountedFs::on_device(context, fs, device, permission)?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.made.path()
    }
}

/// A file on a file system of its own. Dropping this value removes the file system.
#[derive(Debug)]
pub struct MountedFile {
    // Fields are dropped in this order: the file, then its file system.
    file: Arc<File>,
    _made: MountedFs,
}

impl MountedFile {
    /// Makes the file system on a loop device over a file in `folder`, and on it a file of `size`
    /// random bytes. From then on the calling thread has mounts of its own.
    pub fn make(
        context: MountContext<'_>,
        fs: FileSystem,
        folder: &Path,
        size: Bytes,
        seed: u64,
    ) -> Result<Self, Fault> {
        let maker = FsMaker::for_file_system(fs);
        maker.find()?;
        unshare_mounts()?;
        // Room for the job's file, for the shared file, and for the file system itself.
        let room = size.0 * 2 + size.0 / 4 + (maker.least_mib << 20);
        let mounted = MountedFs::on_loop(context, fs, folder, Bytes(room))?;
        files::prepare(mounted.path(), 1, size, seed)?;
        let point = FsPoint {
            fs,
            sharing: Sharing::Blocks,
            access: Access::Read,
            caching: Caching::Direct,
            jobs: 1,
            bs: Bytes(4096),
            readahead: None,
        };
        let mut opened = files::open(mounted.path(), &point, size)?;
        Ok(MountedFile {
            file: Arc::new(opened.remove(0).file),
            _made: mounted,
        })
    }

    /// The file, opened to bypass the page cache.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}
