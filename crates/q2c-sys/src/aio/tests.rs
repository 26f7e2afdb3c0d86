use super::*;
use std::io::Write;

const REAP_SOURCES: [ReapFrom; 2] = [ReapFrom::Ring, ReapFrom::Kernel];

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

fn aio(file: File, slots: usize, reap: ReapFrom) -> Aio {
    Aio::new(file, Buffers::new(slots, 4096).unwrap(), reap).unwrap()
}

fn read(offset: u64, slot: u16) -> Transfer {
    Transfer {
        operation: Operation::Read,
        offset,
        length: 4096,
        slot,
    }
}

/// Submits, finds the only completion by looks or by waiting, and checks that there is no other.
fn finish(aio: &mut Aio, by_looks: bool) -> RingCompletion {
    aio.submit();
    if by_looks {
        while !aio.look().unwrap() {}
    } else {
        aio.wait().unwrap();
    }
    let done = aio.pop().unwrap();
    assert!(aio.pop().is_none() && !aio.look().unwrap());
    done
}

/// Each block of the file holds its own number. The completion ring wraps around several times.
#[test]
fn reads_come_into_their_slot_round_and_round() {
    let content: Vec<u8> = (0..8 * 4096u32).map(|i| (i / 4096) as u8).collect();
    for reap in REAP_SOURCES {
        let mut aio = aio(file(&content), 2, reap);
        for n in 0..1000u64 {
            let (block, slot) = (n % 8, (n % 2) as u16);
            aio.queue(read(block * 4096, slot));
            let done = finish(&mut aio, n % 3 == 0);
            assert_eq!(done, RingCompletion { slot, result: 4096 });
            let got = aio.buffers.slot_mut(slot as usize);
            assert!(got.iter().all(|&b| u64::from(b) == block));
        }
    }
}

/// The layout of the ring has not changed since it was first mapped. The test fails on a kernel
/// that changes it.
#[test]
fn the_ring_is_understood() {
    assert_eq!(aio(file(&[]), 1, ReapFrom::Ring).reap(), ReapFrom::Ring);
    assert_eq!(aio(file(&[]), 1, ReapFrom::Kernel).reap(), ReapFrom::Kernel);
}

#[test]
fn a_read_past_the_end_is_short_and_a_refused_one_comes_back() {
    for reap in REAP_SOURCES {
        let mut short = aio(file(&[1; 1000]), 1, reap);
        short.queue(read(0, 0));
        assert_eq!(finish(&mut short, true).result, 1000);
        let write_only = File::options().write(true).open("/dev/null").unwrap();
        let mut refused = aio(write_only, 3, reap);
        for slot in [2, 0, 1] {
            refused.queue(read(0, slot));
        }
        refused.submit();
        let mut slots = [0; 3].map(|_| {
            refused.wait().unwrap();
            let done = refused.pop().unwrap();
            assert_eq!(done.result, -libc::EBADF);
            done.slot
        });
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2]);
    }
}

/// A context with more requests than the system allows fails with the name of the sysctl that
/// limits them.
#[test]
fn too_much_depth_names_the_limit() {
    let limit = std::fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap();
    let limit: u64 = limit.trim().parse().unwrap();
    if limit > 1 << 20 {
        let test = "too_much_depth_names_the_limit";
        return q2c_testkit::skip(test, "fs.aio-max-nr is very high");
    }
    // The kernel refuses 0x10000000 / 32 events or more with another error; below that the limit
    // gives EAGAIN.
    let depth = limit as u32 + 1;
    let source = AioContext::new(depth).err().unwrap();
    let error = AioError::Setup { depth, source };
    assert!(error.to_string().contains("fs.aio-max-nr"), "{error}");
}
