//! The kernel thread behind a ring.

use std::os::fd::AsRawFd;
use std::path::Path;

/// Thread id of the ring's SQPOLL thread, from the `SqThread:` line of `/proc/self/fdinfo` (5.x and later). `None`
/// where there is none, or its number means nothing here (another pid namespace).
pub(super) fn sq_thread(ring: &impl AsRawFd) -> Option<u32> {
    let path = format!("/proc/self/fdinfo/{}", ring.as_raw_fd());
    // The kernel prints -1 while the ring is busy.
    let tid = (0..100).find_map(|_| parse(&std::fs::read_to_string(&path).ok()?))?;
    let here = Path::new("/proc/self/task").join(tid.to_string()).exists();
    here.then_some(tid)
}

fn parse(fdinfo: &str) -> Option<u32> {
    let line = fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("SqThread:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_found_and_a_busy_ring_has_none() {
        assert_eq!(
            parse("SqTail:\t3\nSqThread:\t4711\nSqThreadCpu:\t1\n"),
            Some(4711)
        );
        assert_eq!(parse("SqThread:\t-1\n"), None);
        assert_eq!(parse("pos:\t0\n"), None);
    }
}
