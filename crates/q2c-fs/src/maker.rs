//! The programs that make file systems, one entry each.

use q2c_model::{Exit, Fault, OrFault};
use q2c_result::fs::FileSystem;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct FsMaker {
    pub fs: FileSystem,
    pub program: &'static str,
    /// Options that make the program silent and keep it from asking.
    options: &'static str,
    /// The option that prints the program's version.
    version: &'static str,
    package: &'static str,
    /// The smallest device that the program accepts, MiB.
    pub least_mib: u64,
}

/// All programs. `mke2fs -t ext4` does the same as `mkfs.ext4`.
const MAKERS: [FsMaker; 4] = [
    FsMaker {
        fs: FileSystem::Ext4,
        program: "mke2fs",
        options: "-q -F -t ext4",
        version: "-V",
        package: "e2fsprogs",
        least_mib: 16,
    },
    FsMaker {
        fs: FileSystem::Xfs,
        program: "mkfs.xfs",
        options: "-q -f",
        version: "-V",
        package: "xfsprogs",
        least_mib: 300,
    },
    FsMaker {
        fs: FileSystem::Btrfs,
        program: "mkfs.btrfs",
        options: "-q -f",
        version: "--version",
        package: "btrfs-progs",
        least_mib: 128,
    },
    FsMaker {
        fs: FileSystem::F2fs,
        program: "mkfs.f2fs",
        options: "-q -f",
        version: "-V",
        package: "f2fs-tools",
        least_mib: 64,
    },
];

/// Folders of administrators' programs, which a user's PATH may lack.
const ADMIN_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

impl FsMaker {
    pub(crate) fn for_file_system(fs: FileSystem) -> &'static FsMaker {
        let maker = MAKERS.iter().find(|maker| maker.fs == fs);
        maker.expect("each file system has a line")
    }

    pub(crate) fn find(&self) -> Result<PathBuf, Fault> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(ADMIN_FOLDERS.map(PathBuf::from));
        let mut programs = folders.map(|folder| folder.join(self.program));
        let FsMaker {
            fs,
            program,
            package,
            ..
        } = self;
        programs.find(|program| program.is_file()).ok_or_else(|| {
            Fault::environment(format_args!(
                "make {fs}: the program {program} is not installed; it is in Debian's package {package}"
            ))
        })
    }

    /// Makes the file system on `device`, over whatever is there.
    pub(crate) fn make(&self, program: &Path, device: &Path) -> Result<(), Fault> {
        let mut command = Command::new(program);
        let output = command.args(self.options.split(' ')).arg(device).output();
        let program = program.display();
        let output = output.or_fault(Exit::Environment, format_args!("start {program}"))?;
        if output.status.success() {
            return Ok(());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let reason = messages.lines().rev().find(|line| !line.trim().is_empty());
        let reason = reason.unwrap_or("nothing").trim();
        let (fs, device, status) = (self.fs, device.display(), output.status);
        let text = format_args!("make {fs} on {device}: {program} ended with {status}: {reason}");
        Err(Fault::new(Exit::Device, text))
    }

    pub(crate) fn version(&self, program: &Path) -> String {
        let output = Command::new(program).arg(self.version).output();
        let streams = output.map(|output| [output.stdout, output.stderr].concat());
        let text = String::from_utf8_lossy(&streams.unwrap_or_default()).into_owned();
        let first_line = text.lines().map(str::trim).find(|line| !line.is_empty());
        first_line.unwrap_or(self.program).to_owned()
    }
}

/// The program for a file system, if it is installed.
#[derive(Debug)]
pub struct MakerLookup {
    /// The file system.
    pub fs: FileSystem,
    /// Debian's package that contains the program.
    pub package: &'static str,
    /// The program's path, or why there is none.
    pub program: Result<PathBuf, Fault>,
}

/// Looks for the programs of all file systems.
pub fn makers() -> Vec<MakerLookup> {
    let look_up = |maker: &FsMaker| MakerLookup {
        fs: maker.fs,
        package: maker.package,
        program: maker.find(),
    };
    MAKERS.iter().map(look_up).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_system_has_a_maker() {
        for fs in FileSystem::ALL {
            assert_eq!(FsMaker::for_file_system(fs).fs, fs);
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_told_with_its_package() {
        let none = FsMaker {
            program: "mkfs.of-nothing",
            ..*FsMaker::for_file_system(FileSystem::Xfs)
        };
        let error = none.find().unwrap_err();
        let message = error.to_string();
        assert!(message.contains("mkfs.of-nothing is not"), "{message}");
        assert!(message.ends_with("Debian's package xfsprogs"), "{message}");
        assert_eq!(error.exit(), Exit::Environment);
    }

    #[test]
    fn a_program_that_refuses_is_told_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mkfs.no");
        let script = "#!/bin/sh\necho first >&2\necho it is too small >&2\nexit 3\n";
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let error =
            FsMaker::for_file_system(FileSystem::Xfs).make(&program, Path::new("/dev/loop9"));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("make xfs on /dev/loop9: "), "{error}");
        assert!(error.ends_with("it is too small"), "{error}");
    }
}
