use q2c_host::Roots;
use q2c_host::target::{
    OpenTarget, Scratch, TargetError, TargetRequirements, WritePermission, open,
};
use q2c_model::{Bytes, Fault};
use q2c_result::{Exit, TargetKind};
use rustix::fs::FallocateFlags;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// A folder on the disk that the build is on, as the usual temporary folder may be in memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn requirements(path: &Path, write: bool) -> TargetRequirements {
    TargetRequirements {
        path: path.to_owned(),
        write,
        block: Bytes(16384),
        smallest_block: Bytes(4096),
        blocks: 16,
    }
}

fn open_to_read(path: &Path) -> Result<OpenTarget, TargetError> {
    open(
        &Roots::live(),
        &requirements(path, false),
        &WritePermission::none(),
    )
}

fn scratch(dir: &Path) -> Scratch {
    let size = Bytes(3 * (1 << 20) + 4096);
    Scratch::create(&dir.join("scratch"), size, 7, &mut |_| true).unwrap()
}

#[test]
fn scratch_files_are_fit_targets() {
    let dir = folder();
    let made = scratch(dir.path());
    let target = open_to_read(made.path()).unwrap();
    assert_eq!(target.facts.kind, TargetKind::File);
    assert_eq!(target.facts.size, Bytes(3 * (1 << 20) + 4096));
    assert!(target.facts.file_system.is_some());
    // If something cannot be proved, there is a reason: no disk was found, it is stacked, or there
    // is no FIEMAP.
    let disk = target.target_disk.as_ref();
    let plain = disk.is_some_and(|disk| disk.unproved.is_empty());
    let known = matches!(target.facts.file_system.as_deref(), Some("ext4" | "xfs"));
    let proved = target.facts.unproved.is_empty();
    assert_eq!(proved, plain && known, "{:?}", target.facts);
    let bytes = fs::read(made.path()).unwrap();
    let ones = |block: &[u8]| block.iter().map(|b| b.count_ones()).sum::<u32>();
    // Random bits give 16384 +- 90.5 ones per block; ten standard deviations are never reached.
    let mut blocks = bytes.chunks(4096);
    assert!(blocks.all(|block| ones(block).abs_diff(16384) < 905));
    let path = made.path().to_owned();
    drop((made, target));
    assert!(!path.exists());
}

/// Several users of one scratch file: the last one removes it, unless one of them kept it.
#[test]
fn a_scratch_file_lives_as_long_as_its_last_user() {
    let dir = folder();
    let first = scratch(dir.path());
    let path = first.path().to_owned();
    let second = first.clone();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());

    let first = scratch(dir.path());
    let second = first.clone();
    assert_eq!(first.keep(), path);
    drop(second);
    assert!(path.exists());
}

#[test]
fn scratch_files_never_replace_anything() {
    let dir = folder();
    let path = dir.path().join("mine");
    fs::write(&path, "precious").unwrap();
    let refused = Scratch::create(&path, Bytes(4096), 1, &mut |_| true).unwrap_err();
    assert!(refused.to_string().contains("File exists"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn scratch_files_end_with_what_went_wrong() {
    let dir = folder();
    let path = dir.path().join("scratch");
    let huge = Scratch::create(&path, Bytes(1 << 60), 1, &mut |_| true).unwrap_err();
    assert!(matches!(huge, TargetError::NoSpace { .. }), "{huge}");
    let mut seen = Vec::new();
    let mut until_two = |done: Bytes| {
        seen.push(done.0 >> 20);
        done.0 < 2 << 20
    };
    let stopped = Scratch::create(&path, Bytes(5 << 20), 1, &mut until_two).unwrap_err();
    assert_eq!(Fault::from(stopped).exit(), Exit::Interrupted);
    assert_eq!(seen, [1, 2]);
    assert!(!path.exists());
    let kept = scratch(dir.path()).keep();
    assert!(kept.exists());
}

#[test]
fn things_that_are_no_target() {
    let dir = folder();
    let fifo = dir.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    let null = Path::new("/dev/null");
    for (path, name) in [
        (dir.path(), "folder"),
        (&fifo, "fifo"),
        (null, "character device"),
    ] {
        let refused = open_to_read(path).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains(&format!("it is a {name}")), "{message}");
        assert_eq!(Fault::from(refused).exit(), Exit::Target);
    }
    let missing = open_to_read(&dir.path().join("missing"))
        .unwrap_err()
        .to_string();
    assert!(missing.starts_with("find the target"), "{missing}");
}

/// True if the file system here has FIEMAP; without it the checks that need it are left out.
fn has_fiemap(dir: &Path) -> bool {
    let made = scratch(dir);
    let has_fiemap = q2c_sys::fiemap::extents(&File::open(made.path()).unwrap()).is_ok();
    if !has_fiemap {
        crate::skip("this file system has no FIEMAP");
    }
    has_fiemap
}

#[test]
fn files_not_fully_written() {
    let dir = folder();
    if !has_fiemap(dir.path()) {
        return;
    }
    let path = dir.path().join("f");
    let file = File::create(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    let hole = open_to_read(&path).unwrap_err().to_string();
    assert!(hole.contains("a hole of 1 MiB at byte 0"), "{hole}");
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 1 << 20).unwrap();
    let unwritten = open_to_read(&path).unwrap_err().to_string();
    assert!(unwritten.contains("an unwritten extent"), "{unwritten}");
    // Data that are written but have no place on the device yet are written back; then the file is
    // fit.
    let mut again = File::create(&path).unwrap();
    again.write_all(&vec![5; 1 << 20]).unwrap();
    open_to_read(&path).unwrap();
}

#[test]
fn sizes_and_alignment() {
    let dir = folder();
    let made = scratch(dir.path());
    let with = |block, smallest_block, blocks| {
        let requirements = TargetRequirements {
            block: Bytes(block),
            smallest_block: Bytes(smallest_block),
            blocks,
            ..requirements(made.path(), false)
        };
        open(&Roots::live(), &requirements, &WritePermission::none())
    };
    // The file has 3 MiB and 4 KiB, which are 769 blocks of 4 KiB.
    with(4096, 4096, 769).unwrap();
    let small = with(4096, 4096, 770).unwrap_err();
    let needed = Bytes(3_153_920);
    assert!(matches!(small, TargetError::TooSmall { needed: n, .. } if n == needed));
    let odd = with(4096, 100, 1).unwrap_err();
    assert!(matches!(odd, TargetError::Misaligned { block, .. } if block == Bytes(100)));
}

#[test]
fn files_are_written_only_with_permission() {
    let dir = folder();
    let made = scratch(dir.path());
    let other = dir.path().join("other");
    fs::write(&other, "x").unwrap();
    let write = |permission: &WritePermission| {
        open(&Roots::live(), &requirements(made.path(), true), permission)
    };
    let none = write(&WritePermission::none()).unwrap_err();
    assert!(none.to_string().contains("--allow-write"), "{none}");
    let wrong = write(&WritePermission::for_paths(&[other]).unwrap()).unwrap_err();
    assert!(matches!(wrong, TargetError::NoPermission { .. }));
    let link = dir.path().join("link");
    fs::hard_link(made.path(), &link).unwrap();
    write(&WritePermission::for_paths(&[link]).unwrap()).unwrap();
    let mut granted = WritePermission::none();
    made.grant(&mut granted);
    write(&granted).unwrap();
    assert!(WritePermission::for_paths(&[dir.path().join("missing")]).is_err());
}
