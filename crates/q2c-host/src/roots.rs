use std::path::{Path, PathBuf};

/// The roots of the trees that the readers read. Tests put fake trees in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// sysfs, `/sys` on a live machine.
    pub sys: PathBuf,
    /// procfs, `/proc` on a live machine.
    pub proc: PathBuf,
    /// The boot loader's files, `/boot` on a live machine. Only the kernel's build options are read
    /// there.
    pub boot: PathBuf,
    /// The kernels' modules, `/lib/modules` on a live machine. Only the kernel's build options and
    /// the list of modules are read there.
    pub modules: PathBuf,
    /// Device nodes, `/dev` on a live machine. Only loop devices are opened there, to ask for their
    /// backing files.
    pub dev: PathBuf,
}

impl Roots {
    /// The trees of the live machine.
    pub fn live() -> Roots {
        Roots::under(Path::new("/"))
    }

    /// `sys`, `proc`, `boot`, `lib/modules` and `dev` below `dir`.
    pub fn under(dir: &Path) -> Roots {
        Roots {
            sys: dir.join("sys"),
            proc: dir.join("proc"),
            boot: dir.join("boot"),
            modules: dir.join("lib/modules"),
            dev: dir.join("dev"),
        }
    }

    /// The path of `path` below sysfs.
    pub fn sys(&self, path: &str) -> PathBuf {
        self.sys.join(path)
    }

    /// The path of `path` below procfs.
    pub fn proc(&self, path: &str) -> PathBuf {
        self.proc.join(path)
    }

    /// The path of `path` below the folder of a CPU in sysfs.
    pub(crate) fn cpu(&self, cpu: q2c_model::CpuId, path: &str) -> PathBuf {
        self.sys(&format!("devices/system/cpu/cpu{}/{path}", cpu.0))
    }
}
