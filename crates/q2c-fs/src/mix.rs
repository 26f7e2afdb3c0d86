//! A mix of what programs do with files, in the spirit of AIM7's disk mixes.
//!
//! A job is one pass through the list below, in a folder of its own. Each task does job after job
//! for as long as a trial lasts; jobs per minute count whole operations, so that a job that is cut
//! off counts by its part.

use crate::beside::FsMeasurement;
use crate::{Bed, program};
use q2c_model::stats::Rng;
use q2c_model::{Bytes, CpuId};
use q2c_result::fs::ProgramPoint;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sys::thread::pin;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Small files of a job.
const SMALL: u32 = 20;
/// Their sizes, as powers of two: 1 to 64 KiB, each size as likely.
const SMALL_SIZES: (u32, u32) = (10, 16);
/// Size of the large file.
const LARGE: Bytes = Bytes(8 << 20);
/// Bytes of a call on the large file, and of a read or write at a random place.
const PIECE: usize = 64 << 10;
const BLOCK: usize = 4096;
/// Reads at random places of the large file.
const RANDOM_READS: u64 = 64;
/// Every so many small files, one is brought to the disk at once.
const SYNC_EVERY: u32 = 5;

/// Operations of a job. On each small file: create, read, overwrite, copy, and the removal of both;
/// on the large one: create, bring to the disk, read, read at random places, copy, and the removal
/// of both.
const OPERATIONS: u64 = SMALL as u64 * 5 + 6;

pub(crate) struct MixPlan<'a>(pub Bed<'a>);

impl Plan for MixPlan<'_> {
    type Cell = ProgramPoint;
    type Outcome = FsMeasurement<f64>;
    const UNIT: &'static str = "jobs per minute";

    fn cells(&self) -> Vec<CellPlan<ProgramPoint>> {
        let spec = self.0.bench.spec;
        program::plans(self.0, spec.warm_up + spec.seconds + 0.1, |point| {
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
        let done = program::in_folder(self.0, cell.cell.fs, "mix", failed, |folder| {
            let trial = self.trial(folder, cell.cell.cpus, context);
            trial.map_err(failed)
        });
        match done {
            Err(CellError::Cell(_)) => done,
            _ if context.cancelled() => Err(CellError::Cancelled),
            _ => done,
        }
    }
}

impl MixPlan<'_> {
    /// Jobs per minute of all tasks together.
    fn trial(&self, folder: &Path, tasks: u32, context: &Context<'_>) -> io::Result<f64> {
        let spec = self.0.bench.spec;
        let from = Instant::now() + Duration::from_secs_f64(spec.warm_up);
        let to = from + Duration::from_secs_f64(spec.seconds);
        let cpus = &spec.cpus;
        thread::scope(|scope| {
            let start = |task: u32| {
                let cpu = CpuId(cpus[task as usize % cpus.len()]);
                let folder = folder.join(format!("task-{task}"));
                let rng = Rng::new(context.seed ^ u64::from(task).wrapping_mul(7919));
                scope.spawn(move || {
                    pin(cpu)?;
                    fs::create_dir(&folder)?;
                    MixTask::new(folder, rng).until(from, to, context.cancel)
                })
            };
            let tasks: Vec<_> = (0..tasks).map(start).collect();
            let mut jobs_per_minute = 0.0;
            for task in tasks {
                let ended = task
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a task ended early")));
                jobs_per_minute += ended?;
            }
            Ok(jobs_per_minute)
        })
    }
}

struct MixTask {
    folder: PathBuf,
    rng: Rng,
    data: Vec<u8>,
    done: u64,
    /// When the counted part begins, and the operations and the time at its begin.
    from: Instant,
    counted: Option<(u64, Instant)>,
    to: Instant,
}

impl MixTask {
    fn new(folder: PathBuf, mut rng: Rng) -> Self {
        let mut data = vec![0; PIECE];
        for word in data.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes());
        }
        let now = Instant::now();
        MixTask {
            folder,
            rng,
            data,
            done: 0,
            from: now,
            counted: None,
            to: now,
        }
    }

    /// Jobs per minute until `to`, from the first operation that begins after `from` on.
    fn until(mut self, from: Instant, to: Instant, stop: &AtomicBool) -> io::Result<f64> {
        (self.from, self.to) = (from, to);
        while self.job(stop)? {}
        let Some((before, since)) = self.counted else {
            return Ok(0.0);
        };
        let jobs = (self.done - before) as f64 / OPERATIONS as f64;
        Ok(jobs / since.elapsed().as_secs_f64() * 60.0)
    }

    /// Does one job. False when the time is over in the middle of it.
    fn job(&mut self, stop: &AtomicBool) -> io::Result<bool> {
        let go_on = |task: &mut Self| {
            let now = Instant::now();
            if task.counted.is_none() && now >= task.from {
                task.counted = Some((task.done, now));
            }
            now < task.to && !stop.load(Ordering::Relaxed)
        };
        let steps: [fn(&mut Self, u32) -> io::Result<()>; 5] = [
            Self::create_small,
            |task, n| fs::read(task.small(n)).map(drop),
            Self::overwrite_small,
            Self::copy_small,
            Self::remove_small,
        ];
        for step in steps {
            for n in 0..SMALL {
                if !go_on(self) {
                    return Ok(false);
                }
                step(self, n)?;
                self.done += 1;
            }
        }
        let steps: [fn(&mut Self) -> io::Result<()>; 6] = [
            Self::create_large,
            |task| File::open(task.large(0))?.sync_all(),
            Self::read_large,
            Self::read_at_random,
            Self::copy_large,
            Self::remove_large,
        ];
        for step in steps {
            if !go_on(self) {
                return Ok(false);
            }
            step(self)?;
            self.done += 1;
        }
        Ok(true)
    }

    fn small(&self, n: u32) -> PathBuf {
        self.folder.join(format!("small-{n}"))
    }

    fn create_small(&mut self, n: u32) -> io::Result<()> {
        let (least, most) = SMALL_SIZES;
        let power = least + self.rng.below(u64::from(most - least + 1)) as u32;
        let mut file = File::create(self.small(n))?;
        file.write_all(&self.data[..1 << power])?;
        match n % SYNC_EVERY {
            0 => file.sync_all(),
            _ => Ok(()),
        }
    }

    fn overwrite_small(&mut self, n: u32) -> io::Result<()> {
        let mut file = File::options().write(true).open(self.small(n))?;
        let length = file.metadata()?.len();
        let part = length.min(BLOCK as u64);
        let at = self.rng.below(length - part + 1);
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&self.data[..part as usize])
    }

    fn copy_small(&mut self, n: u32) -> io::Result<()> {
        copy(&self.small(n), &self.small(SMALL + n), &mut self.data)
    }

    fn remove_small(&mut self, n: u32) -> io::Result<()> {
        fs::remove_file(self.small(n))?;
        fs::remove_file(self.small(SMALL + n))
    }

    fn large(&self, n: u32) -> PathBuf {
        self.folder.join(format!("large-{n}"))
    }

    fn create_large(&mut self) -> io::Result<()> {
        let mut file = File::create(self.large(0))?;
        let pieces = LARGE.0 as usize / PIECE;
        (0..pieces).try_for_each(|_| file.write_all(&self.data))
    }

    fn read_large(&mut self) -> io::Result<()> {
        let mut file = File::open(self.large(0))?;
        while file.read(&mut self.data)? > 0 {}
        Ok(())
    }

    fn read_at_random(&mut self) -> io::Result<()> {
        let mut file = File::open(self.large(0))?;
        for _ in 0..RANDOM_READS {
            let block = self.rng.below(LARGE.0 / BLOCK as u64);
            file.seek(SeekFrom::Start(block * BLOCK as u64))?;
            file.read_exact(&mut self.data[..BLOCK])?;
        }
        Ok(())
    }

    fn copy_large(&mut self) -> io::Result<()> {
        copy(&self.large(0), &self.large(1), &mut self.data)
    }

    fn remove_large(&mut self) -> io::Result<()> {
        fs::remove_file(self.large(0))?;
        fs::remove_file(self.large(1))
    }
}

/// Copies by reads and writes, as AIM7 does: calls that copy within the kernel would let some file
/// systems share blocks instead.
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

    fn task(folder: &Path) -> MixTask {
        let mut task = MixTask::new(folder.to_owned(), Rng::new(1));
        task.to = Instant::now() + Duration::from_secs(600);
        task
    }

    #[test]
    fn a_job_does_all_operations_and_removes_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path());
        assert!(task.job(&AtomicBool::new(false)).unwrap());
        assert_eq!(task.done, OPERATIONS);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn copies_and_overwritten_files_have_their_lengths() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path());
        let small = |n| fs::read(folder.path().join(format!("small-{n}"))).unwrap();
        for n in 0..SMALL {
            task.create_small(n).unwrap();
            let made = small(n).len();
            assert!((1 << 10..=1 << 16).contains(&made), "{made}");
            assert!(made.is_power_of_two(), "{made}");
            task.overwrite_small(n).unwrap();
            assert_eq!(small(n).len(), made);
            task.copy_small(n).unwrap();
            assert_eq!(small(n), small(SMALL + n));
        }
        task.create_large().unwrap();
        task.copy_large().unwrap();
        let large = fs::metadata(folder.path().join("large-1")).unwrap().len();
        assert_eq!(large, LARGE.0);
    }

    #[test]
    fn a_task_that_is_stopped_does_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path());
        assert!(!task.job(&AtomicBool::new(true)).unwrap());
        assert_eq!(task.done, 0);
    }
}
