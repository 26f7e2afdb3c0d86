//! Records on this machine, where that is permitted, and compares the counts with a known number of
//! direct I/Os. Elsewhere each test is a counted skip.

use q2c_capture::block_io::{BlockIo, BlockIoLosses};
use q2c_capture::{CaptureFilter, CapturedBy, Missing, ProbeError, Recorder};
use q2c_host::Roots;
use q2c_host::block::{Disk, disk_of_path};
use q2c_model::{Bytes, Nanos, Op};
use q2c_trace::Span;
use q2c_trace::recording::RecordedIo;
use q2c_trace::span::{NONE, NONE_32};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tempfile::TempDir;

const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

/// Held by the test that records, so that the I/Os of one test are not in the counts of another.
static RECORDING_LOCK: Mutex<()> = Mutex::new(());

/// A file on a real disk with data that looks random, open for direct I/O.
struct Scene {
    _turn: MutexGuard<'static, ()>,
    _folder: TempDir,
    path: PathBuf,
    file: File,
    disk: Disk,
}

impl Scene {
    /// `None` when the test cannot run here; the skip is counted with its reason.
    fn new(test: &str) -> Option<Scene> {
        let turn = RECORDING_LOCK
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let disk = match disk_of_path(&Roots::live(), folder.path()) {
            Ok(target_disk) if target_disk.below.is_empty() => target_disk.disk,
            Ok(target_disk) => {
                return skip(test, &format!("{} stands on others", target_disk.disk.name));
            }
            Err(error) => return skip(test, &error.to_string()),
        };
        let path = folder.path().join("blocks");
        let data = (0..BLOCKS as usize * BLOCK).map(|n| ((n * 31) >> 3) as u8);
        let data: Vec<u8> = data.collect();
        std::fs::write(&path, data).expect("room on the disk");
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.expect("a disk that takes it");
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(error) => return skip(test, &format!("no O_DIRECT here: {error}")),
        };
        Some(Scene {
            _turn: turn,
            _folder: folder,
            path,
            file,
            disk,
        })
    }

    fn begin(&self, test: &str, wanted: &CaptureFilter) -> Option<BlockIo> {
        match BlockIo::attach(&Roots::live(), std::slice::from_ref(&self.disk), wanted) {
            Ok(probe) => Some(probe),
            Err(error @ (ProbeError::Capability { .. } | ProbeError::NoTypes { .. })) => {
                skip(test, &error.to_string())
            }
            Err(error) => panic!("failed to {error}"),
        }
    }

    /// Reads at each of these block numbers, `length` bytes at a time; numbers beyond the file
    /// begin again at its start.
    fn read(&self, blocks: std::ops::Range<u64>, length: usize) {
        let mut memory = vec![0; length + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        for block in blocks {
            let at = block % (BLOCKS - 8) * BLOCK as u64;
            let buffer = &mut memory[start..start + length];
            assert_eq!(self.file.read_at(buffer, at).expect("reads"), length);
        }
    }

    fn write(&self, blocks: u64) {
        let mut memory = vec![7; 2 * BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        for block in 0..blocks {
            let buffer = &mut memory[start..start + BLOCK];
            let wrote = self.file.write_at(buffer, block * BLOCK as u64);
            assert_eq!(wrote.expect("writes"), BLOCK);
        }
    }
}

fn recording(test: &str, wanted: &CaptureFilter) -> Option<(Scene, BlockIo)> {
    let scene = Scene::new(test)?;
    let probe = scene.begin(test, wanted)?;
    Some((scene, probe))
}

fn skip<T>(test: &str, why: &str) -> Option<T> {
    q2c_testkit::skip(test, why);
    None
}

/// Ends the recording. Returns the I/Os of this process, and what the recording lacks.
fn end_recording(mut probe: BlockIo) -> (Vec<RecordedIo>, BlockIoLosses) {
    let mut ios: Vec<RecordedIo> = Vec::new();
    let ended = probe.end(|io| {
        ios.push(io);
        Ok::<(), ProbeError>(())
    });
    ended.expect("readable maps");
    ios.retain(|io| io.span.pid == std::process::id());
    (ios, probe.losses().expect("maps can be read"))
}

fn own_ios() -> CaptureFilter {
    CaptureFilter {
        pid: Some(std::process::id()),
        ..CaptureFilter::default()
    }
}

fn count_of(ios: &[RecordedIo], op: Op, bytes: usize) -> usize {
    let fits = |io: &&RecordedIo| io.span.op == op && io.span.bytes == bytes as u64;
    ios.iter().filter(fits).count()
}

/// Checks that the times of an I/O are in the order of the block layer's events, and that all but
/// the insert (I) are known.
fn check_order(span: &Span) {
    let times = [
        span.begin_ns,
        span.getrq_ns,
        span.insert_ns,
        span.issue_ns,
        span.end_ns,
    ];
    let known: Vec<u64> = times.into_iter().filter(|at| *at != NONE).collect();
    assert!(known.is_sorted(), "{span:?}");
    for at in [span.begin_ns, span.getrq_ns, span.issue_ns, span.end_ns] {
        assert_ne!(at, NONE, "{span:?}");
    }
}

#[test]
fn every_read_and_write_is_one_record() {
    let test = "every_read_and_write_is_one_record";
    let Some((scene, probe)) = recording(test, &own_ios()) else {
        return;
    };
    scene.read(0..500, BLOCK);
    scene.write(70);
    let (ios, lost) = end_recording(probe);
    let [reads, writes] = [Op::Read, Op::Write].map(|op| count_of(&ios, op, BLOCK));
    assert!(reads <= 500 && writes <= 70, "{reads}, {writes}: {lost:?}");
    // The kernel may skip a program at some events; the I/Os that are missing then are counted.
    let all_of_them = (reads + writes) as u64 + lost.lost();
    assert_eq!(all_of_them, 570, "{reads}, {writes}: {lost:?}");
    for io in ios.iter().filter(|io| io.span.op == Op::Read) {
        let span = &io.span;
        check_order(span);
        assert_eq!((span.device, span.error), (scene.disk.dev, 0));
        assert!(span.hctx != NONE_32 && span.tag != NONE_32 && span.cpu_submit != NONE_32);
        assert!(io.comm.starts_with(b"every_read_and_"), "{:?}", io.comm);
    }
}

/// The file is read block by block, so that the sectors of the records follow each other as the
/// blocks do on the disk.
#[test]
fn sectors_follow_the_file() {
    let Some((scene, probe)) = recording("sectors_follow_the_file", &own_ios()) else {
        return;
    };
    scene.read(0..64, BLOCK);
    let (mut ios, lost) = end_recording(probe);
    ios.sort_by_key(|io| io.span.begin_ns);
    let sectors: Vec<u64> = ios.iter().map(|io| io.span.sector).collect();
    assert_eq!(sectors.len() as u64 + lost.lost(), 64, "{lost:?}");
    // A fresh file of one write lies in few pieces: nearly every block follows the one before it, 8
    // sectors further.
    let pairs = sectors.windows(2);
    let follow = pairs.filter(|pair| pair[1] == pair[0] + 8).count();
    assert!(
        follow as u64 + 2 * lost.lost() >= 56,
        "{follow} of 63 follow: {sectors:?} of {}",
        scene.path.display()
    );
}

#[test]
fn filters_are_in_the_kernel() {
    let test = "filters_are_in_the_kernel";
    // A change of the filter; the expected reads of 4 KiB, reads of 8 KiB and writes.
    type Case = (fn(&mut CaptureFilter), (usize, usize, usize));
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let cases: [Case; 6] = [
        (|w| w.ops = vec![Op::Write], (0, 0, 30)),
        (|w| w.ops = vec![Op::Read, Op::Flush], (100, 50, 0)),
        (|w| w.min_size = Bytes(4097), (0, 50, 0)),
        (|w| w.max_size = Bytes(4096), (100, 0, 30)),
        (|w| w.latency_above = Nanos(3_600_000_000_000), (0, 0, 0)),
        (|w| w.latency_above = Nanos(1), (100, 50, 30)),
    ];
    for (change, expected) in cases {
        let mut wanted = own_ios();
        change(&mut wanted);
        let Some(probe) = scene.begin(test, &wanted) else {
            return;
        };
        scene.read(0..100, BLOCK);
        scene.read(0..50, 2 * BLOCK);
        scene.write(30);
        let (ios, lost) = end_recording(probe);
        // A read of 8 KiB is two I/Os when the file system put its two blocks apart.
        let count = |op, bytes| count_of(&ios, op, bytes);
        let counts = (
            count(Op::Read, 4096),
            count(Op::Read, 8192),
            count(Op::Write, 4096),
        );
        let fits = counts.0 <= expected.0 && counts.1 <= expected.1 && counts.2 <= expected.2;
        let missing = expected.0 + expected.1 + expected.2 - counts.0 - counts.1 - counts.2;
        assert!(
            fits && missing as u64 <= lost.lost(),
            "{wanted:?}: {counts:?}, expected {expected:?}: {lost:?}"
        );
    }
    let other = CaptureFilter {
        pid: Some(1),
        ..CaptureFilter::default()
    };
    let Some(probe) = scene.begin(test, &other) else {
        return;
    };
    scene.read(0..100, BLOCK);
    assert_eq!(end_recording(probe).0.len(), 0);
}

/// A ring of one page holds 30 records of 136 bytes. It is not drained, so further records are
/// lost, and counted.
#[test]
fn what_is_lost_is_counted() {
    let mut wanted = own_ios();
    wanted.ring = Some(4096);
    let Some((scene, probe)) = recording("what_is_lost_is_counted", &wanted) else {
        return;
    };
    scene.read(0..400, BLOCK);
    let (ios, lost) = end_recording(probe);
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    assert!(!ios.is_empty() && ios.len() <= 30 * cpus, "{}", ios.len());
    assert!(lost.counts.ring_full > 0, "{lost:?}");
    assert_eq!(ios.len() as u64 + lost.lost(), 400, "{lost:?}");
    assert_eq!(lost.reasons()["lost: ring full"], lost.counts.ring_full);
}

/// Begins a recording by tracefs; `None` when the test is skipped because tracefs cannot be used
/// here.
fn tracefs_recorder(scene: &Scene, test: &str, wanted: &CaptureFilter) -> Option<Recorder> {
    let disks = std::slice::from_ref(&scene.disk);
    match Recorder::attach(&Roots::live(), disks, wanted, Some(CapturedBy::Tracefs)) {
        Ok(recorder) => Some(recorder),
        Err(error @ ProbeError::Tracefs { .. }) => skip(test, &error.to_string()),
        Err(error) => panic!("failed to {error}"),
    }
}

fn end_recorder(mut recorder: Recorder) -> (Vec<RecordedIo>, Missing) {
    let mut ios: Vec<RecordedIo> = Vec::new();
    let ended = recorder.end(|io| {
        ios.push(io);
        Ok::<(), ProbeError>(())
    });
    ended.expect("readable buffers");
    let missing = recorder.missing().expect("the counts can be read");
    ios.sort_by_key(|io| io.span.begin_ns);
    (ios, missing)
}

/// Number of tracing instances that this process has made and not removed.
fn instances() -> usize {
    let prefix = format!("q2c-{}-", std::process::id());
    let mount = q2c_sys::mounts::mount_detached("tracefs").ok();
    let mount = mount.iter().map(|file| file.as_raw_fd());
    let of_mount = mount.map(|fd| format!("/proc/self/fd/{fd}/instances"));
    let folders = ["tracing", "debug/tracing"].map(|f| format!("/sys/kernel/{f}/instances"));
    let folders = folders.into_iter().chain(of_mount);
    let entries = folders.filter_map(|f| std::fs::read_dir(f).ok());
    let names = entries.flatten().flatten().map(|entry| entry.file_name());
    let of_us = names.filter(|name| name.to_string_lossy().starts_with(&prefix));
    of_us.count()
}

/// True if `all` I/Os were recorded, or are missing with a count. Kernels of some virtual machines
/// do not hand out every event: an I/O without its Q is counted by its C.
fn is_accounted(seen: u64, missing: &Missing, all: u64) -> bool {
    seen + missing.unqueued >= all || missing.lost > 0
}

#[test]
fn tracefs_has_every_read_and_write() {
    let test = "tracefs_has_every_read_and_write";
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let Some(recorder) = tracefs_recorder(&scene, test, &own_ios()) else {
        return;
    };
    assert!(instances() > 0);
    scene.read(0..500, BLOCK);
    scene.write(70);
    let (ios, missing) = end_recorder(recorder);
    assert_eq!(instances(), 0);
    let counts = [Op::Read, Op::Write].map(|op| count_of(&ios, op, BLOCK));
    assert!(counts[0] <= 500 && counts[1] <= 70, "{counts:?}");
    let seen = (counts[0] + counts[1]) as u64;
    assert!(is_accounted(seen, &missing, 570), "{counts:?}: {missing:?}");
    for io in ios.iter().filter(|io| io.span.op == Op::Read) {
        check_order(&io.span);
        assert_eq!((io.span.device, io.span.error), (scene.disk.dev, 0));
        assert_eq!((io.span.hctx, io.span.tag), (NONE_32, NONE_32));
        assert_eq!(io.span.pid, std::process::id());
        assert!(io.comm.starts_with(b"tracefs_has_eve"), "{:?}", io.comm);
    }
}

/// A buffer of a page or two holds some dozens of events. The kernel counts those that it
/// overwrites.
#[test]
fn what_tracefs_loses_is_counted() {
    let test = "what_tracefs_loses_is_counted";
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let mut wanted = own_ios();
    wanted.ring = Some(4096);
    let Some(recorder) = tracefs_recorder(&scene, test, &wanted) else {
        return;
    };
    scene.read(0..2000, BLOCK);
    let (ios, missing) = end_recorder(recorder);
    assert!(!ios.is_empty() && ios.len() < 2000, "{}", ios.len());
    // Each missing read lost at least its Q or its C.
    let lost = missing.reasons["lost: event overwritten in the kernel's buffer"];
    let read = ios.len() as u64;
    assert!(lost >= 2000 - read, "{read}: {missing:?}");
    assert_eq!(missing.lost, lost);
}

/// The same I/Os are recorded by BPF and by tracefs at once.
#[test]
fn both_ways_agree() {
    let test = "both_ways_agree";
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let mut wanted = own_ios();
    wanted.ops = vec![Op::Read];
    let Some(probe) = scene.begin(test, &wanted) else {
        return;
    };
    let Some(recorder) = tracefs_recorder(&scene, test, &wanted) else {
        return;
    };
    scene.read(0..200, BLOCK);
    let (tracefs_ios, missing) = end_recorder(recorder);
    let (mut bpf_ios, lost) = end_recording(probe);
    bpf_ios.sort_by_key(|io| io.span.begin_ns);
    let seen = tracefs_ios.len() as u64;
    let accounted = is_accounted(seen, &missing, 200);
    assert!(seen <= 200 && accounted, "{seen}: {missing:?}");
    assert_eq!(bpf_ios.len() as u64 + lost.lost(), 200, "{lost:?}");
    if bpf_ios.len() != tracefs_ios.len() {
        return;
    }
    let mut differences_ns: Vec<u64> = Vec::new();
    for (by_bpf, by_tracefs) in bpf_ios.iter().zip(&tracefs_ios) {
        let (by_bpf, by_tracefs) = (&by_bpf.span, &by_tracefs.span);
        let identity = |span: &Span| (span.sector, span.bytes, span.pid, span.op, span.flags);
        assert_eq!(identity(by_bpf), identity(by_tracefs));
        differences_ns.push(by_bpf.begin_ns.abs_diff(by_tracefs.begin_ns));
        differences_ns.push(by_bpf.end_ns.abs_diff(by_tracefs.end_ns));
    }
    differences_ns.sort_unstable();
    // The two ways take their times one after the other; the median leaves out the I/Os between
    // whose two times an interruption fell.
    assert!(
        differences_ns[differences_ns.len() / 2] < 100_000,
        "{differences_ns:?}"
    );
}

/// While a thread reads, the recording goes on by tracefs. Each read is in one of the two parts.
/// A read that is queued at the moment of the switch may be in both parts or in none, because each
/// way takes its own time stamp.
#[test]
fn a_recording_goes_on_by_tracefs() {
    let test = "a_recording_goes_on_by_tracefs";
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let (roots, disks) = (Roots::live(), std::slice::from_ref(&scene.disk));
    let mut wanted = own_ios();
    wanted.ops = vec![Op::Read];
    let recorder = match Recorder::attach(&roots, disks, &wanted, Some(CapturedBy::Bpf)) {
        Ok(recorder) => recorder,
        Err(error) => return q2c_testkit::skip(test, &error.to_string()),
    };
    let mut recorder = recorder.with_tracefs_fallback(&roots, disks, &wanted);
    let mut before: Vec<RecordedIo> = Vec::new();
    let reason = ProbeError::Hidden { hidden: 1, ios: 2 };
    let stop = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !stop.load(Ordering::Acquire) && reads < 20_000 {
                scene.read(reads..reads + 1, BLOCK);
                reads += 1;
            }
            reads
        });
        std::thread::sleep(Duration::from_millis(100));
        let switched = recorder.switch_to_tracefs(reason, |io| {
            before.push(io);
            Ok::<(), ProbeError>(())
        });
        switched.expect("readable buffers");
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Release);
        reader.join().expect("it reads")
    });
    if recorder.captured_by() == CapturedBy::Bpf {
        return q2c_testkit::skip(test, "no tracefs here");
    }
    let refused = recorder.bpf_refusal();
    let Some(ProbeError::Hidden { hidden: 1, ios: 2 }) = refused else {
        panic!("{refused:?}");
    };
    let (after, missing) = end_recorder(recorder);
    assert!(!before.is_empty() && !after.is_empty(), "{reads} reads");
    let recorded = (before.len() + after.len()) as u64;
    let is_complete = recorded.abs_diff(reads) <= 1;
    let is_counted = is_complete || missing.lost > 0;
    assert!(is_counted, "{recorded} of {reads}: {missing:?}");
    let last = before.iter().map(|io| io.span.begin_ns).max();
    assert!(last < after.iter().map(|io| io.span.begin_ns).min());
}

/// Completions are watched for longer than queueing is. Those while queueing is not watched do not
/// count, except for the I/O in flight at the begin. I/Os of other programs hardly have the size of
/// these reads.
#[test]
fn what_completes_outside_the_recording_is_not_counted() {
    let test = "what_completes_outside_the_recording_is_not_counted";
    let Some(scene) = Scene::new(test) else {
        return;
    };
    let size = 3 * BLOCK;
    let wanted = CaptureFilter {
        ops: vec![Op::Read],
        min_size: Bytes(size as u64),
        max_size: Bytes(size as u64),
        ..CaptureFilter::default()
    };
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                scene.read(0..20, size);
            }
        });
        let outcome = scene.begin(test, &wanted).map(|probe| {
            std::thread::sleep(Duration::from_millis(300));
            end_recording(probe)
        });
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    let Some((ios, lost)) = outcome else { return };
    assert!(ios.len() > 20, "{} reads, {lost:?}", ios.len());
    assert!(lost.counts.unqueued <= 2, "{lost:?}");
}

#[test]
fn disks_without_a_number_are_refused() {
    let none = Disk {
        name: "nvme0c0n1".to_owned(),
        dev: q2c_model::DevId::default(),
        dir: Path::new("/sys").to_owned(),
    };
    match BlockIo::attach(&Roots::live(), &[none], &CaptureFilter::default()) {
        Err(ProbeError::Disks { names }) => assert_eq!(names, "nvme0c0n1"),
        Err(error) => q2c_testkit::skip("disks_without_a_number_are_refused", &error.to_string()),
        Ok(_) => panic!("a disk without a number was taken"),
    }
}
