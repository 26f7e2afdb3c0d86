use std::fs::read_to_string;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How often the thread is looked for, a millisecond apart. The thread is made with the ring, but
/// the kernel tells its id only after it has run for the first time.
const TRIES: u32 = 200;

/// Thread id of the ring's SQPOLL thread, from the `SqThread:` line of `/proc/self/fdinfo`. `None`
/// where that id names no such thread here, as in another pid namespace.
pub(super) fn sq_thread(ring: &impl AsRawFd) -> Option<u32> {
    let path = format!("/proc/self/fdinfo/{}", ring.as_raw_fd());
    (0..TRIES).find_map(|_| {
        let tid = parse(&read_to_string(&path).ok()?).filter(|&tid| is_helper(tid));
        if tid.is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        tid
    })
}

/// The id in `fdinfo`. `None` without the line, or while the ring is busy: then the kernel prints
/// -1.
fn parse(fdinfo: &str) -> Option<u32> {
    let line = fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("SqThread:"))?;
    line.trim().parse().ok()
}

/// Whether `tid` is an SQPOLL thread: before it has run once, the line names the thread that made
/// the ring.
fn is_helper(tid: u32) -> bool {
    let name = read_to_string(format!("/proc/self/task/{tid}/comm"));
    name.is_ok_and(|name| name.starts_with("iou-sqp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_found_and_a_busy_ring_has_none() {
        let fdinfo = "SqTail:\t3\nSqThread:\t4711\nSqThreadCpu:\t1\n";
        assert_eq!(parse(fdinfo), Some(4711));
        assert_eq!(parse("SqThread:\t-1\n"), None);
        assert_eq!(parse("pos:\t0\n"), None);
    }
}
