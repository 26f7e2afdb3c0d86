//! Devices that are created for a run, and removed at its end.

use crate::file::{DeviceSpec, DeviceText, RamDeviceSpec};
use crate::jobs::AxisValues;
use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, Medium};
use q2c_fs::{MountContext, MountedDevice, MountedFile};
use q2c_host::Roots;
use q2c_host::restore::Guard;
use q2c_host::target::{SIMULATED_SIZE, Scratch, TargetRequirements, WritePermission, open};
use q2c_model::{Bytes, Exit, Fault, OrFault};
use q2c_result::fs::FileSystem;
use q2c_sys::loop_device::{LoopDevice, attach};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

/// Creates devices.
pub struct DeviceMaker {
    roots: Roots,
    folder: PathBuf,
    seed: u64,
    simulated: SimDevices,
    /// Folder of the journal of changed settings and loaded modules.
    restore_dir: Option<PathBuf>,
    /// Loop devices stay for the whole run, since their files take long to fill.
    loops: RefCell<BTreeMap<u64, Rc<LoopFile>>>,
    /// File systems stay for the whole run, too.
    files: RefCell<BTreeMap<(FileSystem, u64), Rc<MountedFile>>>,
}

#[derive(Clone)]
pub(crate) struct ExperimentDevice {
    pub medium: Medium,
    pub span: Bytes,
    /// The engine that simulates the device; `None` for a real device.
    pub engine: Option<EngineSpec>,
    /// The block device, if it is one on which a file system can be made.
    pub path: PathBuf,
    /// The owner of everything that is removed together with the device.
    _owner: Option<Rc<dyn Any>>,
}

impl ExperimentDevice {
    fn new(owner: Rc<dyn Any>, medium: Medium, span: Bytes) -> Self {
        ExperimentDevice {
            medium,
            span,
            engine: None,
            path: PathBuf::new(),
            _owner: Some(owner),
        }
    }
}

/// The devices of an experiment by their names.
pub(crate) type DevicesByName = BTreeMap<String, ExperimentDevice>;

struct LoopFile {
    medium: Medium,
    device: LoopDevice,
    _file: Scratch,
}

impl DeviceMaker {
    /// A maker with the simulated devices `simulated`, and `folder` for its files.
    pub fn new(
        roots: Roots,
        folder: PathBuf,
        restore_dir: Option<PathBuf>,
        seed: u64,
        simulated: SimDevices,
    ) -> Self {
        DeviceMaker {
            roots,
            folder,
            seed,
            simulated,
            restore_dir,
            loops: RefCell::default(),
            files: RefCell::default(),
        }
    }

    /// Creates the devices of an experiment file at one point of its axes.
    pub(crate) fn make(
        &self,
        devices: &[DeviceText],
        at: &AxisValues,
    ) -> Result<DevicesByName, String> {
        let make_named = |device: &DeviceText| {
            let text = device.fill(at);
            let spec = text.parse().map_err(Box::from);
            let made = spec.and_then(|spec| self.make_one(&spec, device.mount.is_none()));
            let made = made.map_err(|reason| format!("failed to make {text}: {reason}"))?;
            Ok((device.name.get_ref().clone(), made))
        };
        devices.iter().map(make_named).collect()
    }

    /// Makes a file system on a block device that was made for the run, and mounts it.
    pub(crate) fn mount(
        &self,
        device: &ExperimentDevice,
        fs: FileSystem,
    ) -> Result<MountedDevice, Fault> {
        let path = &device.path;
        let permission = WritePermission::for_paths(std::slice::from_ref(path));
        let permission = permission.or_exit(Exit::Environment)?;
        MountedDevice::make(self.mount_context(), fs, path, &permission)
    }

    fn mount_context(&self) -> MountContext<'_> {
        MountContext {
            roots: &self.roots,
            journal: self.restore_dir.as_deref(),
        }
    }

    fn make_one(
        &self,
        spec: &DeviceSpec,
        is_read: bool,
    ) -> Result<ExperimentDevice, Box<dyn Error>> {
        match spec {
            DeviceSpec::Simulated(engine) => Ok(ExperimentDevice {
                medium: self.simulated.medium(engine)?,
                span: SIMULATED_SIZE,
                engine: Some(engine.clone()),
                path: PathBuf::new(),
                _owner: None,
            }),
            DeviceSpec::Loop(size) => {
                let made = get_or_make(&self.loops, size.0, || self.make_loop(*size))?;
                let (path, medium) = (made.device.path.clone(), made.medium.clone());
                Ok(ExperimentDevice {
                    path,
                    ..ExperimentDevice::new(made, medium, *size)
                })
            }
            DeviceSpec::FileOn(fs, size) => {
                let make = || {
                    Ok(MountedFile::make(
                        self.mount_context(),
                        *fs,
                        &self.folder,
                        *size,
                        self.seed,
                    )?)
                };
                let made = get_or_make(&self.files, (*fs, size.0), make)?;
                let medium = Medium::File(made.file());
                Ok(ExperimentDevice::new(made, medium, *size))
            }
            DeviceSpec::RamdiskMq(ram) => {
                let options = ramdisk_mq_options(ram);
                self.load_module("ramdisk_mq", "/dev/rdmq0", ram, &options, is_read)
            }
            DeviceSpec::NullBlk(ram) => {
                let options = null_blk_options(ram);
                self.load_module("null_blk", "/dev/nullb0", ram, &options, is_read)
            }
        }
    }

    fn make_loop(&self, size: Bytes) -> Result<LoopFile, Box<dyn Error>> {
        let path = self.folder.join(format!("loop-{}.bin", size.0));
        let scratch = Scratch::create(&path, size, self.seed, &mut |_| true)?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let device = attach(&file);
        let device = device.map_err(|e| format!("attach a loop device (which takes root): {e}"))?;
        Ok(LoopFile {
            medium: Medium::File(Arc::new(self.open(&device.path)?)),
            device,
            _file: scratch,
        })
    }

    fn open(&self, path: &Path) -> Result<File, Box<dyn Error>> {
        let wanted = TargetRequirements {
            path: path.to_owned(),
            write: false,
            block: Bytes(4096),
            smallest_block: Bytes(4096),
            blocks: q2c_workbench::MIN_BLOCKS,
        };
        Ok(open(&self.roots, &wanted, &WritePermission::none())?.file)
    }

    fn load_module(
        &self,
        module: &'static str,
        path: &str,
        ram: &RamDeviceSpec,
        options: &[String],
        is_read: bool,
    ) -> Result<ExperimentDevice, Box<dyn Error>> {
        let folder = self.roots.sys(&format!("module/{module}"));
        if folder.exists() {
            let message = format!(
                "the module {module} is loaded already, and makes its devices when it is loaded; unload it by rmmod {module}"
            );
            return Err(message.into());
        }
        let journal = self.restore_dir.as_deref();
        let journal = journal.ok_or("there is no folder for the journal of what was changed")?;
        let mut guard = Guard::new(&self.roots, journal)?;
        guard.module(&folder)?;
        let loaded = Command::new("modprobe").arg(module).args(options).output();
        let loaded = loaded.map_err(|e| format!("run modprobe: {e}"))?;
        if !loaded.status.success() {
            let stderr = String::from_utf8_lossy(&loaded.stderr);
            return Err(format!("load the module {module}: {}", stderr.trim()).into());
        }
        guard.note_loaded_module()?;
        // The kernel ignores a parameter that it does not know.
        let names = options.iter().filter_map(|option| option.split('=').next());
        let unknown = names.filter(|name| !folder.join("parameters").join(name).exists());
        let path = match unknown.collect::<Vec<_>>()[..] {
            [] => path,
            ["memory_backed"] => self.make_in_configfs(&mut guard, ram)?,
            [name, ..] => {
                return Err(format!("this kernel's {module} has no parameter {name}").into());
            }
        };
        // The device does not read unwritten pages from memory, so they are written before jobs
        // read them. A file system writes for itself.
        if ram.memory_backed && is_read {
            fill(Path::new(path), ram.size, self.seed)
                .map_err(|e| format!("fill {path} with data: {e}"))?;
        }
        let file = Arc::new(self.open(Path::new(path))?);
        // Dropping the guard unloads the module, for which the device must be closed: so the file
        // comes first in the owner. If the module stays loaded, the next trial reports it. After
        // SIGKILL `q2c restore` unloads it.
        let owner = (Arc::clone(&file), guard);
        let medium = Medium::File(file);
        Ok(ExperimentDevice {
            path: path.into(),
            ..ExperimentDevice::new(Rc::new(owner), medium, ram.size)
        })
    }
}

impl DeviceMaker {
    /// Makes a null_blk with memory in configfs, since older kernels have no parameter for it. It
    /// is the second one, because the module makes one when it is loaded.
    fn make_in_configfs(
        &self,
        guard: &mut Guard,
        ram: &RamDeviceSpec,
    ) -> Result<&'static str, Box<dyn Error>> {
        let folder = self.roots.sys("kernel/config/nullb/nullb1");
        guard.folder(&folder)?;
        if let Err(error) = fs::create_dir(&folder) {
            guard.cancel_last()?;
            let todo = "mount configfs on /sys/kernel/config";
            return Err(format!("make {}: {error}; {todo}", folder.display()).into());
        }
        for (key, value) in configfs_settings(ram) {
            let file = folder.join(key);
            fs::write(&file, &value)
                .map_err(|e| format!("write {value} to {}: {e}", file.display()))?;
        }
        Ok("/dev/nullb1")
    }
}

/// The settings of a null_blk with memory. The last one makes the device.
fn configfs_settings(ram: &RamDeviceSpec) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("size", (ram.size.0 >> 20).to_string()),
        ("hw_queue_depth", ram.depth.to_string()),
        ("queue_mode", if ram.bio { "0" } else { "2" }.to_owned()),
        ("memory_backed", "1".to_owned()),
    ];
    settings.extend(ram.queues.map(|n| ("submit_queues", n.to_string())));
    settings.extend(ram.bs.map(|bs| ("blocksize", bs.0.to_string())));
    settings.push(("power", "1".to_owned()));
    settings
}

/// Returns the entry of the key, or creates it.
fn get_or_make<K: Ord, T>(
    made: &RefCell<BTreeMap<K, Rc<T>>>,
    key: K,
    make: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<Rc<T>, Box<dyn Error>> {
    match made.borrow_mut().entry(key) {
        Entry::Occupied(entry) => Ok(Rc::clone(entry.get())),
        Entry::Vacant(entry) => Ok(Rc::clone(entry.insert(Rc::new(make()?)))),
    }
}

/// Writes one block of random data again and again. Each page begins with a number of its own, so
/// that no two pages are alike. To draw all data at random would take seconds in a debug build.
fn fill(path: &Path, size: Bytes, seed: u64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let mut rng = q2c_model::stats::Rng::new(seed);
    let mut block = vec![0_u8; 1 << 20];
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    let mut remaining = size.0;
    while remaining > 0 {
        for (page, n) in block.chunks_exact_mut(4096).zip(0_u64..) {
            page[..8].copy_from_slice(&(remaining - n).to_le_bytes());
        }
        let chunk = remaining.min(block.len() as u64) as usize;
        file.write_all(&block[..chunk])?;
        remaining -= chunk as u64;
    }
    file.sync_all()
}

fn ramdisk_mq_options(ram: &RamDeviceSpec) -> Vec<String> {
    let mut options = vec![
        format!("size_mb={}", ram.size.0 >> 20),
        format!("depth={}", ram.depth),
        format!("queue_mode={}", if ram.bio { "bio" } else { "mq" }),
    ];
    options.extend(ram.queues.map(|queues| format!("queues={queues}")));
    options.extend(ram.bs.map(|bs| format!("block_size={}", bs.0)));
    options
}

fn null_blk_options(ram: &RamDeviceSpec) -> Vec<String> {
    let mut options = vec![
        "nr_devices=1".to_owned(),
        format!("gb={}", ram.size.0.div_ceil(1 << 30)),
        format!("hw_queue_depth={}", ram.depth),
        format!("queue_mode={}", if ram.bio { 0 } else { 2 }),
    ];
    options.extend(ram.memory_backed.then(|| "memory_backed=1".to_owned()));
    options.extend(ram.queues.map(|queues| format!("submit_queues={queues}")));
    options.extend(ram.bs.map(|bs| format!("bs={}", bs.0)));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ram_spec(text: &str) -> RamDeviceSpec {
        match text.parse().unwrap() {
            DeviceSpec::RamdiskMq(ram) | DeviceSpec::NullBlk(ram) => ram,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn modules_get_what_was_asked_for() {
        let ram = ram_spec("ramdisk_mq:size=2g,queues=20,depth=128,bio,bs=4k");
        let wanted = "size_mb=2048 depth=128 queue_mode=bio queues=20 block_size=4096";
        assert_eq!(ramdisk_mq_options(&ram).join(" "), wanted);
        let settings = configfs_settings(&ram_spec("null_blk:size=64m,queues=2,bs=4k"));
        let settings = settings.iter().map(|(key, value)| format!("{key}={value}"));
        let wanted = "size=64 hw_queue_depth=64 queue_mode=2 memory_backed=1 submit_queues=2 \
                      blocksize=4096 power=1";
        assert_eq!(settings.collect::<Vec<_>>().join(" "), wanted);
        let options = null_blk_options(&ram_spec("null_blk:size=1g"));
        assert!(options.contains(&"queue_mode=2".to_owned()) && options.len() == 5);
        assert!(
            options.contains(&"memory_backed=1".to_owned()),
            "{options:?}"
        );
        let without = null_blk_options(&ram_spec("null_blk:memory_backed=0"));
        assert!(!without.join(" ").contains("memory_backed"), "{without:?}");
        for (text, reason) in [
            ("ramdisk_mq:memory_backed=0", "write null_blk"),
            ("null_blk:memory_backed=2", "or memory_backed=0"),
            ("ramdisk_mq:bs=x", "x"),
        ] {
            let error = text.parse::<DeviceSpec>().unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn simulated_devices_are_the_same_at_every_trial_and_differ_by_axis() {
        let folder = tempfile::tempdir().unwrap();
        let simulated = SimDevices::default();
        let maker = DeviceMaker::new(Roots::live(), folder.path().into(), None, 1, simulated);
        let device = "name = 'disk'\nmake = 'sim:50us,servers={n}'";
        let devices = [toml::from_str::<DeviceText>(device).unwrap()];
        let at = |n: &str| BTreeMap::from([("n".to_owned(), n.to_owned())]);
        let made = maker.make(&devices, &at("4")).unwrap();
        let engine = made["disk"].engine.as_ref().unwrap().to_string();
        assert!(engine.contains("servers=4"), "{engine}");
        let error = maker.make(&devices, &at("x")).err().unwrap();
        assert!(error.contains("make sim:50us,servers=x"), "{error}");
    }

    #[test]
    fn a_module_that_is_loaded_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::under(root.path());
        std::fs::create_dir_all(roots.sys("module/null_blk")).unwrap();
        let maker = DeviceMaker::new(roots, root.path().into(), None, 1, SimDevices::default());
        let device = "name = 'ram'\nmake = 'null_blk:size=1g'";
        let devices = [toml::from_str::<DeviceText>(device).unwrap()];
        let error = maker.make(&devices, &BTreeMap::new()).err().unwrap();
        assert!(error.contains("loaded already"), "{error}");
    }
}
