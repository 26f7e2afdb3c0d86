//! Jobs that read their files in order through the page cache, which is empty at the start of each
//! pass: their speed depends on what the kernel reads ahead.

use crate::files::JobFile;
use crate::op_counter::{OpCounter, run_in_threads};
use crate::plan::FsTrial;
use crate::spec::FsSettings;
use q2c_host::block::DiskStats;
use q2c_model::Bytes;
use q2c_run::runner::CellError;
use rustix::fs::{Advice, fadvise};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks whether the run should stop.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// Bytes of a sector in the kernel's statistics.
const SECTOR_BYTES: u64 = 512;

/// Runs one trial: each job reads its file in passes until the time is over.
pub(crate) fn trial(
    files: &[JobFile],
    bs: Bytes,
    spec: &FsSettings,
    statistics: &Path,
    stop: &AtomicBool,
) -> Result<FsTrial, CellError> {
    let failed = |error| CellError::Trial(format!("read a file: {error}"));
    let counter = OpCounter::new(spec.warm_up, spec.seconds, stop);
    let (reads, [before, after]) = run_in_threads(
        ("job", files.len()),
        &spec.cpus,
        |job| read_passes(&files[job], bs, counter.clone()),
        || read_at_bounds(&counter, || DiskStats::read(statistics).ok()),
    )
    .map_err(failed)?;
    if counter.is_stopped() {
        return Err(CellError::Cancelled);
    }
    if reads.iter().any(|(blocks, _)| *blocks == 0) {
        let reason = "a job had no read that ended in the counted time; raise --seconds";
        return Err(failed(io::Error::other(reason)));
    }
    let blocks: u64 = reads.iter().map(|(blocks, _)| blocks).sum();
    let statistics = before.zip(after);
    let seconds = spec.seconds;
    Ok(FsTrial {
        iops: reads.iter().map(|&(n, seconds)| n as f64 / seconds).sum(),
        in_flight: statistics.and_then(|(before, after)| {
            let added = after.queue_ms.checked_sub(before.queue_ms)?;
            Some(added as f64 / 1e3 / seconds)
        }),
        from_device: statistics.and_then(|(before, after)| {
            let sectors = after.read.sectors.0.checked_sub(before.read.sectors.0)?;
            Some((sectors * SECTOR_BYTES) as f64 / (blocks * bs.0) as f64)
        }),
    })
}

/// Reads a file's part in order, again and again, each time from the device. Returns the number of
/// blocks in the counted time, and its length in seconds.
fn read_passes(file: &JobFile, bs: Bytes, mut counter: OpCounter<'_>) -> io::Result<(u64, f64)> {
    let mut buffer = vec![0; bs.0 as usize];
    let end = file.base.0 + file.span.0 / bs.0 * bs.0;
    let mut offset = end;
    while counter.start_operation() {
        if offset >= end {
            let length = NonZeroU64::new(file.span.0);
            fadvise(&file.file, file.base.0, length, Advice::DontNeed)?;
            offset = file.base.0;
        }
        file.file.read_exact_at(&mut buffer, offset)?;
        offset += bs.0;
        counter.done += 1;
    }
    Ok(counter.finish())
}

/// Calls `read` at the start and at the end of the counted part.
fn read_at_bounds<T>(counter: &OpCounter<'_>, read: impl Fn() -> T) -> [T; 2] {
    [counter.from, counter.to].map(|moment| {
        while Instant::now() < moment && !counter.is_stopped() {
            thread::sleep(STOP_CHECK.min(moment.saturating_duration_since(Instant::now())));
        }
        read()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::valid_settings;

    fn file(blocks: u64) -> JobFile {
        let file = tempfile::tempfile().unwrap();
        let ones = vec![1; 4096 * blocks as usize];
        file.write_all_at(&ones, 0).unwrap();
        file.sync_all().unwrap();
        JobFile {
            file,
            base: Bytes(4096),
            span: Bytes(4096 * (blocks - 1)),
        }
    }

    fn run_trial(files: &[JobFile], stopped: bool) -> Result<FsTrial, CellError> {
        let cpus = q2c_sys::thread::allowed_cpus().unwrap();
        let spec = FsSettings {
            seconds: 0.2,
            warm_up: 0.05,
            cpus: vec![cpus[0].0],
            ..valid_settings()
        };
        let (nowhere, stop) = (Path::new("/nowhere"), AtomicBool::new(stopped));
        trial(files, Bytes(4096), &spec, nowhere, &stop)
    }

    #[test]
    fn jobs_read_for_the_counted_time() {
        let trial = run_trial(&[file(9), file(5)], false).unwrap();
        assert!(trial.iops > 10.0, "{trial:?}");
        assert_eq!((trial.in_flight, trial.from_device), (None, None));
    }

    #[test]
    fn a_stopped_trial_is_cancelled_and_a_short_file_an_error() {
        let stopped = run_trial(&[file(3)], true).unwrap_err();
        assert!(matches!(stopped, CellError::Cancelled), "{stopped}");
        let mut short = file(3);
        short.span = Bytes(4096 * 8);
        let failed = run_trial(&[short], false).unwrap_err();
        assert!(matches!(failed, CellError::Trial(_)), "{failed}");
    }
}
