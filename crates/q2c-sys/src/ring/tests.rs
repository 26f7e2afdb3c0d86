use super::*;
use crate::Buffers;
use std::fs::File;
use std::io::{Read, Seek, Write};

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

/// Submits and waits for the only transfer in flight.
fn finish(ring: &mut Ring) -> RingCompletion {
    ring.submit(CompletionPath::Options).unwrap();
    ring.wait().unwrap();
    ring.pop().unwrap()
}

#[test]
fn reads_come_into_their_slot() {
    let content: Vec<u8> = (0..8192u32).map(|i| (i / 4096 + 1) as u8).collect();
    let mut ring = Ring::new(file(&content), Buffers::new(2, 4096).unwrap()).unwrap();
    let second = Transfer {
        offset: 4096,
        ..read(1)
    };
    ring.queue(second, CompletionPath::Options);
    let done = finish(&mut ring);
    assert_eq!((done.slot, done.result), (1, 4096));
    assert!(ring.buffers.slot_mut(1).iter().all(|&b| b == 2));
    assert_eq!(ring.in_flight(), 0);
}

#[test]
fn writes_reach_the_file() {
    let target = file(&[0; 4096]);
    let mut reader = target.try_clone().unwrap();
    let mut buffers = Buffers::new(1, 4096).unwrap();
    buffers.slot_mut(0).fill(9);
    let mut ring = Ring::new(target, buffers).unwrap();
    let write = Transfer {
        operation: Operation::Write,
        ..read(0)
    };
    ring.queue(write, CompletionPath::Options);
    assert_eq!(finish(&mut ring).result, 4096);
    let mut content = Vec::new();
    reader.rewind().unwrap();
    reader.read_to_end(&mut content).unwrap();
    assert!(content.len() == 4096 && content.iter().all(|&b| b == 9));
}

#[test]
fn a_read_past_the_end_is_short_and_an_odd_one_is_an_errno() {
    let mut ring = Ring::new(file(&[1; 1000]), Buffers::new(1, 4096).unwrap()).unwrap();
    ring.queue(read(0), CompletionPath::Options);
    assert_eq!(finish(&mut ring).result, 1000);
    let write_only = File::options().write(true).open("/dev/null").unwrap();
    let mut ring = Ring::new(write_only, Buffers::new(1, 4096).unwrap()).unwrap();
    let short = Transfer {
        length: 512,
        ..read(0)
    };
    ring.queue(short, CompletionPath::Options);
    assert_eq!(finish(&mut ring).result, -libc::EBADF);
}

#[test]
fn looking_never_sleeps_and_finds_the_completion_in_the_end() {
    let mut ring = Ring::new(file(&[1; 4096]), Buffers::new(1, 4096).unwrap()).unwrap();
    assert!(!ring.look().unwrap(), "nothing was submitted");
    ring.queue(read(0), CompletionPath::Options);
    ring.submit(CompletionPath::Options).unwrap();
    while !ring.look().unwrap() {}
    let done = ring.pop().unwrap();
    assert_eq!((done.slot, done.result), (0, 4096));
}

fn read(slot: u16) -> Transfer {
    Transfer {
        operation: Operation::Read,
        offset: 0,
        length: 4096,
        slot,
    }
}

fn ring_with(options: RingOptions) -> Result<Ring, RingError> {
    Ring::with(file(&[1; 4096]), Buffers::new(2, 4096).unwrap(), options)
}

fn polling() -> RingOptions {
    RingOptions {
        iopoll: true,
        ..RingOptions::default()
    }
}

fn sqpoll(cpu: Option<u32>) -> RingOptions {
    RingOptions {
        sqpoll: Some(SqPoll { cpu }),
        ..RingOptions::default()
    }
}

/// The first two reads find the helper awake. The third comes after the helper's second of
/// spinning: it sleeps and has to be woken.
#[test]
fn a_helper_takes_submissions_and_is_woken() {
    let mut ring = ring_with(sqpoll(None)).unwrap();
    assert_eq!((ring.flags(), ring.names()), (TaskRun::Default, "SQPOLL"));
    let helper = ring.helper().expect("the kernel tells its helper's thread");
    let before = crate::thread::cpu_ns_of(helper).unwrap();
    for pause_ms in [0, 0, 1_300] {
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        ring.queue(read(1), CompletionPath::Options);
        assert_eq!(finish(&mut ring).result, 4096);
    }
    let spent = crate::thread::cpu_ns_of(helper).unwrap() - before;
    assert!(spent > 100_000_000, "it spins for a second: {spent} ns");
    drop(ring);
    // The kernel ends the thread some time after the ring is closed.
    let until = crate::clock::monotonic_ns() + 5_000_000_000;
    while crate::thread::cpu_ns_of(helper).is_ok() {
        assert!(crate::clock::monotonic_ns() < until, "it outlives its ring");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A completion may be seen, and its slot used again, before the helper has given the entry back.
/// With disks that happened in about one of 10,000 reads, too rarely to provoke it here; so the
/// test checks the number of entries.
#[test]
fn a_ring_with_a_helper_has_two_entries_per_slot() {
    let ring = ring_with(sqpoll(None)).unwrap();
    assert_eq!(ring.core.ring.params().sq_entries(), 4);
}

#[test]
fn a_helper_is_bound_where_it_was_asked_to() {
    let cpu = crate::thread::allowed_cpus().unwrap().pop().unwrap().0;
    let ring = ring_with(sqpoll(Some(cpu))).unwrap();
    assert_eq!(ring.names(), "SQPOLL|SQ_AFF");
    // The helper binds itself, shortly after it has set its name.
    let until = crate::clock::monotonic_ns() + 5_000_000_000;
    while cpus_of(ring.helper().unwrap()) != cpu.to_string() {
        assert!(crate::clock::monotonic_ns() < until, "it is not bound");
    }
    let error = ring_with(sqpoll(Some(4000))).err().unwrap().to_string();
    assert!(error.contains("is 4000 one"), "{error}");
}

fn cpus_of(tid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap();
    let mut lines = status.lines();
    let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap().trim().to_owned()
}

#[test]
fn options_that_exclude_each_other_say_what_they_need() {
    let hybrid_alone = RingOptions {
        hybrid: true,
        ..RingOptions::default()
    };
    let error = ring_with(hybrid_alone).err().unwrap().to_string();
    assert!(error.contains("HYBRID_IOPOLL"), "{error}");
    assert!(error.contains("6.13"), "{error}");
    let deferred_helper = RingOptions {
        taskrun: Some(TaskRun::Deferred),
        ..sqpoll(None)
    };
    let error = ring_with(deferred_helper).err().unwrap().to_string();
    assert!(error.contains("no DEFER_TASKRUN"), "{error}");
}

/// A file in memory has no poll queues: from about Linux 6.10 on that is an error, before the
/// kernel used interrupts.
#[test]
fn polling_without_poll_queues_is_an_errno_or_works_by_interrupt() {
    let mut ring = ring_with(polling()).unwrap();
    assert!(ring.names().starts_with("IOPOLL|"), "{}", ring.names());
    ring.queue(read(0), CompletionPath::Options);
    ring.submit(CompletionPath::Options).unwrap();
    let done = loop {
        if ring.look().unwrap() {
            break ring.pop().unwrap();
        }
    };
    assert!([4096, -libc::EOPNOTSUPP].contains(&done.result), "{done:?}");
}

/// A thread has 16 places for registered rings. A ring that did not give its place back would never
/// end, and later rings would get none.
#[test]
fn rings_leave_nothing_behind() {
    for _ in 0..40 {
        let mut ring = ring_with(RingOptions::default()).unwrap();
        assert_ne!(ring.core.fd_flag, 0, "the ring's descriptor is registered");
        ring.queue(read(0), CompletionPath::Options);
        assert_eq!(finish(&mut ring).result, 4096);
    }
}

/// Reads of a disk's file, by direct I/O where the file system has it. A file in memory would do no
/// I/O that could interrupt.
fn disk_ring(options: RingOptions) -> Ring {
    use std::os::unix::fs::OpenOptionsExt;
    let program = std::env::current_exe().unwrap();
    let mut named = tempfile::NamedTempFile::new_in(program.parent().unwrap()).unwrap();
    named.write_all(&[7; 8192]).unwrap();
    named.as_file().sync_all().unwrap();
    let mut direct_read = File::options();
    direct_read.read(true).custom_flags(libc::O_DIRECT);
    let direct = direct_read.open(named.path());
    let file = direct.or_else(|_| File::open(named.path())).unwrap();
    Ring::with(file, Buffers::new(2, 4096).unwrap(), options).unwrap()
}

/// The first transfer is polled, and may fail because there are no poll queues. The second transfer
/// interrupts, and succeeds everywhere.
#[test]
fn a_polling_ring_has_a_path_with_interrupts_beside() {
    let mut ring = disk_ring(polling());
    let second = ring.interrupting_names().expect("a second ring");
    assert_eq!(format!("IOPOLL|{second}"), ring.names());
    for _ in 0..20 {
        ring.queue(read(0), CompletionPath::Options);
        ring.submit(CompletionPath::Options).unwrap();
        ring.queue(read(1), CompletionPath::Interrupt);
        ring.submit_and_wait(CompletionPath::Interrupt).unwrap();
        let mut results = [None; 2];
        while ring.in_flight() > 0 {
            match ring.pop() {
                Some(done) => results[done.slot as usize] = Some(done.result),
                None => ring.wait().unwrap(),
            }
        }
        let polled = results[0].expect("the polled one comes back");
        assert!([4096, -libc::EOPNOTSUPP].contains(&polled), "{polled}");
        assert_eq!(results[1], Some(4096));
    }
    let plain = disk_ring(RingOptions::default());
    assert_eq!(plain.interrupting_names(), None);
}

/// A wait for interrupts alone sleeps, which shows as a voluntary context switch. Disks may answer
/// before the thread has left its CPU, so one wait that slept suffices; polling never leaves it.
#[test]
fn a_wait_for_interrupts_beside_a_polling_ring_sleeps() {
    let mut ring = disk_ring(polling());
    let before = crate::thread::switches().voluntary;
    let has_slept = (0..20_000).any(|_| {
        ring.queue(read(1), CompletionPath::Interrupt);
        ring.submit_and_wait(CompletionPath::Interrupt).unwrap();
        assert_eq!(ring.pop().map(|done| done.result), Some(4096));
        crate::thread::switches().voluntary > before
    });
    assert!(has_slept);
}

#[test]
fn the_thread_is_found_and_a_busy_ring_has_none() {
    let fdinfo = "SqTail:\t3\nSqThread:\t4711\nSqThreadCpu:\t1\n";
    assert_eq!(parse_helper_id(fdinfo), Some(4711));
    assert_eq!(parse_helper_id("SqThread:\t-1\n"), None);
    assert_eq!(parse_helper_id("pos:\t0\n"), None);
}
