//! A mix of what programs do with files, in the spirit of AIM7's disk mixes.
//!
//! A job is one pass through the list below, in a folder of its own. Each task repeats jobs until
//! the trial ends. Jobs per minute are computed from operations, so an unfinished job counts in
//! part.

use crate::disturbance::{FsMeasurement, measure};
use crate::files::random_data;
use crate::op_counter::{OpCounter, run_in_threads};
use crate::{BenchTarget, MountedDevice, program};
use q2c_host::Roots;
use q2c_model::Bytes;
use q2c_model::stats::Rng;
use q2c_result::fs::ProgramPoint;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of small files of a job.
const SMALL_FILES: u32 = 20;
/// Sizes of small files as log2 of bytes, both ends included: 1 to 64 KiB, all equally likely.
const SMALL_SIZE_BITS: (u32, u32) = (10, 16);
/// Size of the large file.
const LARGE_SIZE: Bytes = Bytes(8 << 20);
/// Bytes of a call on the large file; `BLOCK_BYTES` has those of a read or write at a random place.
const PIECE_BYTES: usize = 64 << 10;
const BLOCK_BYTES: usize = 4096;
/// Number of reads at random places of the large file.
const RANDOM_READS: u64 = 64;
/// One of this many small files is written to the disk at once.
const SYNC_EVERY: u32 = 5;

/// Number of operations in a job. On each small file: create, read, overwrite, copy, remove both.
/// On the large file: create, write to the disk, read, read at random places, copy, remove both.
const OPERATIONS: u64 = SMALL_FILES as u64 * 5 + 6;

pub(crate) struct MixPlan<'a>(pub BenchTarget<'a>);

impl Plan for MixPlan<'_> {
    type Cell = ProgramPoint;
    type Outcome = FsMeasurement<f64>;
    const UNIT: &'static str = "jobs per minute";

    fn cells(&self) -> Vec<CellPlan<ProgramPoint>> {
        let spec = self.0.bench.spec;
        program::cell_plans(self.0, spec.warm_up + spec.seconds + 0.1, |point| {
            let s = if point.cpus == 1 { "" } else { "s" };
            format!("{} mix, {} task{s}", point.fs, point.cpus)
        })
    }

    fn metric(&self, trial: &FsMeasurement<f64>) -> f64 {
        trial.figures
    }

    fn run(
        &mut self,
        cell: &CellPlan<ProgramPoint>,
        context: &mut Context<'_>,
    ) -> Result<FsMeasurement<f64>, CellError> {
        let failed = |error: io::Error| CellError::Trial(format!("run the mix: {error}"));
        let measured = program::run_in_folder(self.0, cell.cell.fs, "mix", failed, |folder| {
            let trial = self.trial(folder, cell.cell.cpus, context);
            trial.map_err(failed)
        });
        match measured {
            Err(CellError::Cell(_)) => measured,
            _ if context.cancelled() => Err(CellError::Cancelled),
            _ => measured,
        }
    }
}

impl MixPlan<'_> {
    fn trial(&self, folder: &Path, tasks: u32, context: &Context<'_>) -> io::Result<f64> {
        let spec = self.0.bench.spec;
        let trial = MixTrial {
            tasks,
            cpus: &spec.cpus,
            warm_up_s: spec.warm_up,
            seconds: spec.seconds,
            seed: context.seed,
            stop: context.cancel,
        };
        trial.jobs_per_minute(folder)
    }
}

/// A trial of the mix.
#[derive(Clone, Copy, Debug)]
pub struct MixTrial<'a> {
    /// Number of tasks.
    pub tasks: u32,
    /// CPUs that the tasks are pinned to, in turn.
    pub cpus: &'a [u32],
    /// Time before the counted time, seconds.
    pub warm_up_s: f64,
    /// Length of the counted time, seconds.
    pub seconds: f64,
    /// Seed of sizes and places.
    pub seed: u64,
    /// Set when the run is to stop.
    pub stop: &'a AtomicBool,
}

impl MixTrial<'_> {
    /// Runs the trial on a new file system. Returns jobs per minute over all tasks.
    pub fn run_on(&self, device: &MountedDevice, roots: &Roots) -> Result<f64, CellError> {
        let failed = |error: io::Error| CellError::Trial(format!("run the mix: {error}"));
        let measured = measure(roots, || {
            self.jobs_per_minute(device.path()).map_err(failed)
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(CellError::Cancelled);
        }
        measured.map(|measured| measured.figures)
    }

    /// Jobs per minute over all tasks.
    fn jobs_per_minute(&self, folder: &Path) -> io::Result<f64> {
        let counter = OpCounter::new(self.warm_up_s, self.seconds, self.stop);
        let work = |task: usize| {
            let folder = folder.join(format!("task-{task}"));
            let rng = Rng::new(self.seed ^ (task as u64).wrapping_mul(7919));
            fs::create_dir(&folder)?;
            MixTask::new(folder, rng, counter.clone()).jobs_per_minute()
        };
        let count = self.tasks as usize;
        let (tasks, ()) = run_in_threads(("task", count), self.cpus, work, || ())?;
        Ok(tasks.iter().sum())
    }
}

struct MixTask<'a> {
    folder: PathBuf,
    rng: Rng,
    data: Vec<u8>,
    counter: OpCounter<'a>,
}

/// An operation on the file, or pair of files, with this number.
type MixOperation = fn(&mut MixTask<'_>, u32) -> io::Result<()>;

/// A job: each operation in turn, on this number of files. Copies are numbered after small files.
const JOB_OPERATIONS: [(u32, MixOperation); 11] = [
    (SMALL_FILES, |task, n| task.create_small(n)),
    (SMALL_FILES, |task, n| fs::read(task.small(n)).map(drop)),
    (SMALL_FILES, |task, n| task.overwrite_small(n)),
    (SMALL_FILES, |task, n| {
        copy(&task.small(n), &task.small(SMALL_FILES + n), &mut task.data)
    }),
    (SMALL_FILES, |task, n| {
        remove(&[task.small(n), task.small(SMALL_FILES + n)])
    }),
    (1, |task, n| task.create_large(n)),
    (1, |task, n| File::open(task.large(n))?.sync_all()),
    (1, |task, n| task.read_large(n)),
    (1, |task, n| task.read_at_random(n)),
    (1, |task, n| {
        copy(&task.large(n), &task.large(n + 1), &mut task.data)
    }),
    (1, |task, n| remove(&[task.large(n), task.large(n + 1)])),
];

impl<'a> MixTask<'a> {
    fn new(folder: PathBuf, mut rng: Rng, counter: OpCounter<'a>) -> Self {
        MixTask {
            folder,
            data: random_data(&mut rng, PIECE_BYTES),
            rng,
            counter,
        }
    }

    /// Does job after job until the time is over.
    fn jobs_per_minute(mut self) -> io::Result<f64> {
        while self.job()? {}
        let (operations, seconds) = self.counter.finish();
        let per_minute = operations as f64 / OPERATIONS as f64 / seconds * 60.0;
        Ok(if operations > 0 { per_minute } else { 0.0 })
    }

    /// Does one job. Returns false if the time ended during it.
    fn job(&mut self) -> io::Result<bool> {
        for (files, operation) in JOB_OPERATIONS {
            for n in 0..files {
                if !self.counter.start_operation() {
                    return Ok(false);
                }
                operation(self, n)?;
                self.counter.done += 1;
            }
        }
        Ok(true)
    }

    fn small(&self, n: u32) -> PathBuf {
        self.folder.join(format!("small-{n}"))
    }

    fn large(&self, n: u32) -> PathBuf {
        self.folder.join(format!("large-{n}"))
    }

    fn create_small(&mut self, n: u32) -> io::Result<()> {
        let (min, max) = SMALL_SIZE_BITS;
        let power = min + self.rng.below(u64::from(max - min + 1)) as u32;
        let mut file = File::create(self.small(n))?;
        file.write_all(&self.data[..1 << power])?;
        let syncs = n.is_multiple_of(SYNC_EVERY);
        if syncs { file.sync_all() } else { Ok(()) }
    }

    fn overwrite_small(&mut self, n: u32) -> io::Result<()> {
        let mut file = File::options().write(true).open(self.small(n))?;
        let length = file.metadata()?.len();
        let part = length.min(BLOCK_BYTES as u64);
        let offset = self.rng.below(length - part + 1);
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(&self.data[..part as usize])
    }

    fn create_large(&mut self, n: u32) -> io::Result<()> {
        let mut file = File::create(self.large(n))?;
        let pieces = LARGE_SIZE.0 as usize / PIECE_BYTES;
        (0..pieces).try_for_each(|_| file.write_all(&self.data))
    }

    fn read_large(&mut self, n: u32) -> io::Result<()> {
        let mut file = File::open(self.large(n))?;
        while file.read(&mut self.data)? > 0 {}
        Ok(())
    }

    fn read_at_random(&mut self, n: u32) -> io::Result<()> {
        let mut file = File::open(self.large(n))?;
        for _ in 0..RANDOM_READS {
            let block = self.rng.below(LARGE_SIZE.0 / BLOCK_BYTES as u64);
            file.seek(SeekFrom::Start(block * BLOCK_BYTES as u64))?;
            file.read_exact(&mut self.data[..BLOCK_BYTES])?;
        }
        Ok(())
    }
}

fn remove(files: &[PathBuf; 2]) -> io::Result<()> {
    files.iter().try_for_each(fs::remove_file)
}

/// Copies by reads and writes, as AIM7 does. A copy within the kernel would let some file systems
/// share blocks instead.
fn copy(from: &Path, to: &Path, buffer: &mut [u8]) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    loop {
        match from.read(buffer)? {
            0 => return Ok(()),
            length => to.write_all(&buffer[..length])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn task(folder: &Path, stop: &'static AtomicBool) -> MixTask<'static> {
        let counter = OpCounter::new(0.3, 600.0, stop);
        MixTask::new(folder.to_owned(), Rng::new(1), counter)
    }

    #[test]
    fn a_job_does_all_operations_and_removes_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path(), &GO_ON);
        assert!(task.job().unwrap());
        assert_eq!(task.counter.done, OPERATIONS);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn copies_and_overwritten_files_have_their_lengths() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path(), &GO_ON);
        let small = |n| fs::read(folder.path().join(format!("small-{n}"))).unwrap();
        for n in 0..SMALL_FILES {
            task.create_small(n).unwrap();
            let length = small(n).len();
            assert!((1 << 10..=1 << 16).contains(&length), "{length}");
            assert!(length.is_power_of_two(), "{length}");
            task.overwrite_small(n).unwrap();
            assert_eq!(small(n).len(), length);
            copy(&task.small(n), &task.small(SMALL_FILES + n), &mut task.data).unwrap();
            assert_eq!(small(n), small(SMALL_FILES + n));
        }
        task.create_large(0).unwrap();
        copy(&task.large(0), &task.large(1), &mut task.data).unwrap();
        let large = fs::metadata(folder.path().join("large-1")).unwrap().len();
        assert_eq!(large, LARGE_SIZE.0);
    }

    #[test]
    fn a_task_that_is_stopped_does_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        static STOP: AtomicBool = AtomicBool::new(true);
        let mut task = task(folder.path(), &STOP);
        assert!(!task.job().unwrap());
        assert_eq!(task.counter.done, 0);
    }
}
