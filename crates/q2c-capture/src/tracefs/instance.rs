//! A tracing instance of our own: buffers and enabled events that are apart from those of other
//! users of tracefs. Dropping the value removes the instance. An instance that a killed run left is
//! removed by the next run.

use crate::ProbeError;
use q2c_host::Roots;
use q2c_host::restore::Owner;
use q2c_sys::mounts;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

const NAME_PREFIX: &str = "q2c-";

/// A tracing instance: a folder in tracefs's `instances`. Its name holds process id, start time and
/// a number, so that another run can tell whether its owner still lives.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    /// Tracefs, where it was mounted for this instance.
    _mount: Option<OwnedFd>,
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> ProbeError {
    let what = what.into();
    |source| ProbeError::Tracefs { what, source }
}

impl Instance {
    /// Removes the instances of q2c processes that are gone, then makes a new one.
    pub(super) fn new(roots: &Roots) -> Result<Instance, ProbeError> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let (tracefs_root, mount) = tracefs_root(roots)?;
        let instances = tracefs_root.join("instances");
        remove_orphans(roots, &instances);
        let owner = Owner::current(roots).map_err(|error| io::Error::other(error.to_string()));
        let owner = owner.map_err(failed("find out who this process is"))?;
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("{NAME_PREFIX}{}-{}-{number}", owner.pid, owner.start_time);
        let path = instances.join(name);
        let created = fs::create_dir(&path);
        created.map_err(failed(format!("make the instance {}", path.display())))?;
        let _mount = mount;
        Ok(Instance { path, _mount })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), ProbeError> {
        let path = self.path(file);
        let what = format!("write {value:?} to {}", path.display());
        fs::write(&path, value).map_err(failed(what))
    }

    /// Reads a file of at most 64 KiB with one read, because some files of tracefs give all they
    /// have with the first read, however short it is.
    pub(super) fn read(&self, file: &str) -> Result<String, ProbeError> {
        const MAX_FILE_BYTES: usize = 64 << 10;
        let path = self.path(file);
        let read = || {
            let mut text = vec![0; MAX_FILE_BYTES];
            let length = File::open(&path)?.read(&mut text)?;
            text.truncate(length);
            String::from_utf8(text).map_err(io::Error::other)
        };
        read().map_err(failed(format!("read {}", path.display())))
    }

    /// Opens a file of the instance for reading; reads return at once when there is nothing
    /// (`O_NONBLOCK`).
    pub(super) fn open(&self, file: &str) -> Result<File, ProbeError> {
        use rustix::fs::{Mode, OFlags};
        let path = self.path(file);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&path, flags, Mode::empty());
        fd.map(File::from)
            .map_err(|errno| failed(format!("open {}", path.display()))(errno.into()))
    }
}

impl Drop for Instance {
    /// Removes the instance, whose files must be closed. A failure is ignored, because nothing can
    /// be done about it here and the next run tries again.
    fn drop(&mut self) {
        fs::remove_dir(&self.path).ok();
    }
}

/// The folder at which tracefs is mounted: one of the two usual places. If the kernel has tracefs
/// but nobody mounted it, it is mounted for this process alone, for as long as the returned file
/// lives.
fn tracefs_root(roots: &Roots) -> Result<(PathBuf, Option<OwnedFd>), ProbeError> {
    let places = ["kernel/tracing", "kernel/debug/tracing"].map(|place| roots.sys(place));
    for place in &places {
        match fs::metadata(place.join("instances")) {
            Ok(_) => return Ok((place.clone(), None)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(failed(format!("look into {}", place.display()))(error));
            }
            Err(_) => {}
        }
    }
    let default_place = places[0].display();
    if !places[0].is_dir() {
        let error = io::Error::new(io::ErrorKind::NotFound, "this kernel has no tracefs");
        return Err(failed(format!("find {default_place}"))(error));
    }
    let what = format!("mount tracefs, which is not at {default_place}");
    let mount = mounts::mount_detached("tracefs").map_err(failed(what))?;
    let path = roots.proc(&format!("self/fd/{}", mount.as_raw_fd()));
    Ok((path, Some(mount)))
}

fn remove_orphans(roots: &Roots, instances: &Path) {
    let Ok(now) = Owner::current(roots) else {
        return;
    };
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let owner = owner_in_name(&entry.file_name().to_string_lossy(), &now);
        if owner.is_some_and(|owner| !owner.is_alive(roots)) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

/// The process that made an instance of this name; `None` when the name is not q2c's.
fn owner_in_name(name: &str, now: &Owner) -> Option<Owner> {
    let mut parts = name.strip_prefix(NAME_PREFIX)?.split('-');
    let (pid, start, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_ours = number.parse::<u32>().is_ok() && parts.next().is_none();
    is_ours.then_some(())?;
    Some(Owner {
        boot_id: now.boot_id.clone(),
        pid: pid.parse().ok()?,
        start_time: start.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of plain files takes the place of tracefs.
    #[test]
    fn made_and_removed_and_what_was_left_with_it() {
        let live = Roots::live();
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: folder.path().to_owned(),
            ..live
        };
        let error = Instance::new(&roots).unwrap_err();
        assert!(error.to_string().contains("no tracefs"), "{error}");

        let instances = folder.path().join("kernel/tracing/instances");
        let owner = Owner::current(&roots).unwrap();
        // Process 1 lives, but it started at another time, so the first instance is removed. The
        // other two names are not q2c's.
        let names = ["q2c-1-18446744073709551615-0", "q2c-1-x-0", "other"];
        for name in names {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        let alive = format!("q2c-{}-{}-99999", owner.pid, owner.start_time);
        fs::create_dir(instances.join(&alive)).unwrap();
        let instance = Instance::new(&roots).unwrap();
        assert!(instance.path("x").starts_with(&instances));
        let remaining = || {
            let entries = fs::read_dir(&instances).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut remaining: Vec<String> = names.collect();
            remaining.sort();
            remaining
        };
        assert_eq!(remaining().len(), 4, "{:?}", remaining());
        drop(instance);
        let mut wanted = vec![names[1].to_owned(), names[2].to_owned(), alive];
        wanted.sort();
        assert_eq!(remaining(), wanted);
    }
}
