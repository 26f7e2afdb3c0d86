use crate::loop_device::TestLoopDevice;
use crate::tree::SysProcTree;
use q2c_host::Roots;
use q2c_host::target::{
    FileId, TargetError, TargetRequirements, WritePermission, open, refuse_occupied,
};
use q2c_model::{Bytes, DevId, Fault};
use q2c_result::{Exit, TargetKind};
use std::path::{Path, PathBuf};
use std::process::Command;

/// sda has two partitions, md0 stands on sda2, and dm-0 on md0. sdb is alone.
const DISKS: &str = "
    sys/block/loop0/size = 0
    sys/devices/a/block/sda/dev = 8:0
    sys/devices/a/block/sda/sda1/dev = 8:1
    sys/devices/a/block/sda/sda1/partition = 1
    sys/devices/a/block/sda/sda2/dev = 8:2
    sys/devices/a/block/sda/sda2/partition = 2
    sys/devices/a/block/sda/sda2/holders/md0 -> ../../../../../virtual/block/md0
    sys/devices/virtual/block/md0/dev = 9:0
    sys/devices/virtual/block/md0/holders/dm-0 -> ../../dm-0
    sys/devices/virtual/block/dm-0/dev = 252:0
    sys/devices/b/block/sdb/dev = 8:16
    sys/dev/block/8:0 -> ../../devices/a/block/sda
    sys/dev/block/8:1 -> ../../devices/a/block/sda/sda1
    sys/dev/block/8:2 -> ../../devices/a/block/sda/sda2
    sys/dev/block/9:0 -> ../../devices/virtual/block/md0
    sys/dev/block/252:0 -> ../../devices/virtual/block/dm-0
    sys/dev/block/8:16 -> ../../devices/b/block/sdb
    proc/swaps = Filename Type Size Used Priority
";

/// Why `device` may not be written while `mounted` is mounted; `None` if it may.
fn obstacle_while_mounted(mounted: &str, device: (u32, u32)) -> Option<String> {
    let tree = SysProcTree::new(DISKS);
    tree.add(&format!(
        "proc/self/mountinfo = 27 1 {mounted} / /data\\040dir rw - ext4 /dev/q2c-none rw"
    ));
    let (major, minor) = device;
    obstacle(&tree, FileId::Device(DevId { major, minor }))
}

/// Why the file may not be written; `None` if it may.
fn refusal(roots: &Roots, path: &Path) -> Option<String> {
    let id = FileId::from_path(path).unwrap();
    let result = refuse_occupied(roots, path, id);
    result.err().map(|error| error.to_string())
}

fn obstacle(tree: &SysProcTree, id: FileId) -> Option<String> {
    match refuse_occupied(&tree.roots(), Path::new("/dev/x"), id) {
        Ok(()) => None,
        Err(TargetError::Occupied(_, found)) => Some(found),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_mounted_device_and_its_relatives() {
    let mounted = |name| Some(format!("{name} is mounted at /data dir"));
    assert_eq!(obstacle_while_mounted("8:1", (8, 1)), mounted("sda1"));
    assert_eq!(obstacle_while_mounted("8:1", (8, 0)), mounted("sda1"));
    assert_eq!(obstacle_while_mounted("8:0", (8, 1)), mounted("sda"));
    // A mounted partition does not forbid writing to another one of the same disk.
    assert_eq!(obstacle_while_mounted("8:1", (8, 2)), None);
    // dm-0 stands on md0, md0 on sda2.
    assert_eq!(obstacle_while_mounted("252:0", (8, 2)), mounted("dm-0"));
    assert_eq!(obstacle_while_mounted("252:0", (8, 0)), mounted("dm-0"));
    assert_eq!(obstacle_while_mounted("252:0", (9, 0)), mounted("dm-0"));
    assert_eq!(obstacle_while_mounted("252:0", (8, 16)), None);
}

#[test]
fn swap_and_loop_files() {
    let tree = SysProcTree::new(DISKS);
    tree.add("proc/self/mountinfo = 27 1 8:1 / / rw - ext4 /dev/q2c-none rw");
    tree.add("swap file = x\n looped = x\n free = x");
    let refusal = |name: &str| refusal(&tree.roots(), &tree.path(name));
    assert_eq!(refusal("swap file"), None);
    let named = |name: &str| tree.path(name).display().to_string();
    let swap = named("swap file").replace(' ', "\\040");
    tree.add(&format!("proc/swaps = Filename Type\\n{swap} file 1 0 -2"));
    let looped = named("looped");
    tree.add(&format!("sys/block/loop0/loop/backing_file = {looped}"));
    assert!(refusal("swap file").unwrap().contains("in use as swap"));
    let looped = refusal("looped").unwrap();
    assert!(looped.contains("backs the loop device loop0"));
    assert_eq!(refusal("free"), None);
}

/// A backing file's name may end in a blank. Where the loop device can be asked, it reports the
/// file's numbers, so that no name hides the file.
#[test]
fn loop_files_of_other_names() {
    let tree = SysProcTree::new(DISKS);
    tree.add("proc/self/mountinfo = 27 1 8:1 / / rw - ext4 /dev/q2c-none rw");
    let blank = tree.path("ends in a blank ");
    std::fs::write(&blank, "x").unwrap();
    let looped = tree.path("sys/block/loop0/loop");
    std::fs::create_dir(&looped).unwrap();
    let line = format!("{}\n", blank.display());
    std::fs::write(looped.join("backing_file"), line).unwrap();
    let refusal = |path: &Path| refusal(&tree.roots(), path).unwrap_or_default();
    let message = refusal(&blank);
    assert!(message.contains("backs the loop device loop0"), "{message}");
    // Here the device cannot be asked. A file that is too small is not the one under it.
    let other = tree.path("other");
    std::fs::write(&other, [0; 4096]).unwrap();
    tree.add(
        "sys/block/loop0/size = 8
         sys/block/loop0/loop/backing_file = /removed (deleted)",
    );
    let message = refusal(&other);
    assert!(message.contains("/dev/loop0"), "{message}");
    tree.add("sys/block/loop0/loop/offset = 1");
    assert_eq!(refusal(&other), "");
}

/// Two loop devices over one file, the second of which is mounted, and a third over a file of its
/// own.
#[test]
fn a_loop_device_over_what_another_one_has() {
    let tree = SysProcTree::new(DISKS);
    tree.add("proc/self/mountinfo = 27 1 7:0 / /data rw - ext4 /dev/q2c-none rw");
    tree.add("image = x\n own = x");
    for (n, file) in [(0, "image"), (1, "image"), (2, "own")] {
        let file = tree.path(file);
        tree.add(&format!(
            "sys/devices/virtual/block/loop{n}/dev = 7:{n}
             sys/devices/virtual/block/loop{n}/loop/backing_file = {}
             sys/dev/block/7:{n} -> ../../devices/virtual/block/loop{n}",
            file.display()
        ));
        std::fs::create_dir_all(tree.path("sys/block")).unwrap();
        std::fs::remove_dir_all(tree.path(&format!("sys/block/loop{n}"))).ok();
        let link = tree.path(&format!("sys/block/loop{n}"));
        let target = format!("../devices/virtual/block/loop{n}");
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    let device_user = |minor| obstacle(&tree, FileId::Device(DevId { major: 7, minor }));
    assert_eq!(device_user(0).unwrap(), "loop0 is mounted at /data");
    let expected = "stands on what is in use: its file backs the loop device loop0";
    assert_eq!(device_user(1).unwrap(), expected);
    assert_eq!(device_user(2), None);
}

/// A loop device over a loop device: written through the upper one, the lower one changes.
#[test]
fn a_loop_device_over_one_that_is_in_use() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(lower) = TestLoopDevice::new(dir.path(), 1 << 20) else {
        return crate::skip("no loop device");
    };
    let node = |device: &TestLoopDevice| PathBuf::from(format!("/dev/{}", device.name));
    let upper = TestLoopDevice::over(&node(&lower)).expect("a loop device over another one");
    let refusal = || refusal(&Roots::live(), &node(&upper));
    assert_eq!(refusal(), None);
    let second = TestLoopDevice::over(&node(&lower)).expect("a second one over it");
    let message = refusal().expect("a refusal");
    let expected = format!("{} backs the loop device {}", lower.name, second.name);
    assert!(message.contains("stands on"), "{message}");
    assert!(message.contains(&expected), "{message}");
}

/// The second name of a file under a loop device, whose first name was removed.
#[test]
fn a_removed_name_hides_no_loop_device() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(device) = TestLoopDevice::new(dir.path(), 1 << 20) else {
        return crate::skip("no loop device");
    };
    let (backing, second) = (dir.path().join("backing"), dir.path().join("second"));
    std::fs::hard_link(&backing, &second).unwrap();
    std::fs::remove_file(&backing).unwrap();
    let message = refusal(&Roots::live(), &second).expect("a refusal");
    let expected = format!("backs the loop device {}", device.name);
    assert!(message.contains(&expected), "{message}");
    // Another file is free.
    std::fs::write(&backing, vec![0; 1 << 20]).unwrap();
    assert_eq!(refusal(&Roots::live(), &backing), None);
}

#[test]
fn unknown_use_is_not_taken_for_no_use() {
    let tree = SysProcTree::new("sys/block/");
    let id = FileId::Device(DevId { major: 8, minor: 0 });
    let refused = refuse_occupied(&tree.roots(), Path::new("/dev/x"), id).unwrap_err();
    assert!(matches!(refused, TargetError::UnknownUse { .. }));
    tree.add("proc/self/mountinfo = 27 1 8:1 / / rw - ext4 /dev/q2c-none rw");
    let not_in_sysfs = refuse_occupied(&tree.roots(), Path::new("/dev/x"), id).unwrap_err();
    assert!(not_in_sysfs.to_string().contains("8:0"), "{not_in_sysfs}");
}

/// sysfs marks a device as read-only; the mark of a partition's disk counts as well.
#[test]
fn a_read_only_device_is_unfit() {
    let tree = SysProcTree::new(DISKS);
    tree.add("proc/self/mountinfo = 27 1 8:32 / / rw - ext4 /dev/q2c-none rw");
    tree.add("sys/devices/b/block/sdb/ro = 1\n sys/devices/a/block/sda/ro = 0");
    let check = |major, minor| {
        let id = FileId::Device(DevId { major, minor });
        let result = refuse_occupied(&tree.roots(), Path::new("/dev/x"), id);
        result.map_err(|error| {
            let fault = Fault::from(error);
            (fault.exit(), fault.to_string())
        })
    };
    assert_eq!(check(8, 1), Ok(()));
    let (exit, message) = check(8, 16).unwrap_err();
    assert_eq!(exit, Exit::Target);
    assert!(message.contains("sdb as read-only"), "{message}");
    tree.add("sys/devices/a/block/sda/ro = 1");
    let (_, message) = check(8, 1).unwrap_err();
    assert!(message.contains("sda as read-only"), "{message}");
}

fn write_requirements(path: &Path) -> TargetRequirements {
    TargetRequirements {
        path: path.to_owned(),
        write: true,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 4,
    }
}

fn run(command: &str, args: &[&Path]) -> bool {
    let done = Command::new(command).args(args).output();
    done.is_ok_and(|o| o.status.success())
}

#[test]
fn a_real_device_mounted_and_free() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(device) = TestLoopDevice::new(dir.path(), 8 << 20) else {
        return crate::skip("no loop device");
    };
    let path = PathBuf::from("/dev").join(&device.name);
    let roots = Roots::live();
    let refused = open(&roots, &write_requirements(&path), &WritePermission::none()).unwrap_err();
    assert!(
        matches!(refused, TargetError::NoPermission { .. }),
        "{refused}"
    );
    // The permission is for the device, whichever name it was given by.
    let link = dir.path().join("named otherwise");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let permission = WritePermission::for_paths(&[link]).unwrap();
    let target = open(&roots, &write_requirements(&path), &permission).unwrap();
    assert_eq!(target.facts.kind, TargetKind::Block);
    assert_eq!(target.facts.size, Bytes(8 << 20));
    let unproved = &target.facts.unproved;
    assert!(unproved[0].contains("loop device"), "{unproved:?}");
    // The device is held exclusively, so a second run is refused.
    let second = open(&roots, &write_requirements(&path), &permission).unwrap_err();
    assert!(matches!(second, TargetError::Occupied { .. }), "{second}");
    drop(target);
    let backing = dir.path().join("backing");
    let permission_for_file = WritePermission::for_paths(std::slice::from_ref(&backing)).unwrap();
    let file = open(&roots, &write_requirements(&backing), &permission_for_file).unwrap_err();
    assert!(file.to_string().contains(&device.name), "{file}");
    let mount = dir.path().join("mount");
    std::fs::create_dir(&mount).unwrap();
    if !run("mkfs.ext4", &[&path]) || !run("mount", &[&path, &mount]) {
        return crate::skip("no mkfs.ext4 or mount");
    }
    let mounted = open(&roots, &write_requirements(&path), &permission).unwrap_err();
    assert!(run("umount", &[&mount]));
    assert!(mounted.to_string().contains("is mounted at"), "{mounted}");
    open(&roots, &write_requirements(&path), &permission).unwrap();
}
