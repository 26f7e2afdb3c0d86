//! What to measure: the plan that the run's folder keeps.

use crate::FsError;
use crate::program::metric;
use q2c_model::Bytes;
use q2c_result::fs::{Access, Caching, FileSystem, FsLeftOut, FsPoint, Sharing};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsSpec {
    /// The block device on which the file system is made; `None` for loop devices.
    pub device: Option<String>,
    /// File systems, each made anew.
    pub file_systems: Vec<FileSystem>,
    /// The file system beside which the others' ratios stand.
    pub control: Option<FileSystem>,
    /// A program to run instead of the jobs of q2c.
    pub program: Option<ProgramSpec>,
    /// Whether the built-in mix is run instead of the jobs.
    #[serde(default)]
    pub mix: bool,
    /// How jobs share files.
    pub sharing: Vec<Sharing>,
    /// What jobs do.
    pub access: Vec<Access>,
    /// Through or past the page cache.
    pub caching: Vec<Caching>,
    /// Numbers of jobs; for a program, of the CPUs on which it may run.
    pub jobs: Vec<u32>,
    /// Block sizes.
    pub sizes: Vec<Bytes>,
    /// Length of the counted part of a trial, seconds.
    pub seconds: f64,
    /// Length of the part before it, seconds.
    pub warm_up_seconds: f64,
    /// Trials of each point.
    pub trials: u32,
    /// Whether waits for locks are watched, in a run of its own for each point.
    #[serde(default)]
    pub locks: bool,
    /// Size of a file system on a loop device.
    pub size: Bytes,
    /// Bytes of a file, or of a part of the shared one, for each job.
    pub file: Bytes,
    /// CPUs, in the order in which jobs take them.
    pub cpus: Vec<u32>,
    /// Seed of offsets and of the order of trials.
    pub seed: u64,
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// The command, for a shell.
    pub command: String,
    /// Regular expression whose first group is the figure in what the program prints.
    pub metric: String,
}

/// The longest trial, seconds.
const LONGEST: f64 = 3600.0;
/// The most jobs.
const JOBS: u32 = 1024;
/// The most trials of a point.
const TRIALS: u32 = 10_000;

impl FsSpec {
    /// Checks what was asked for.
    ///
    /// # Errors
    /// A value that makes no sense, or a list that names something twice.
    pub fn check(&self) -> Result<(), FsError> {
        let wrong = |text: String| Err(FsError::Wrong(format!("begin: {text}")));
        each_once("--fs", &self.file_systems)?;
        each_once("--sharing", &self.sharing)?;
        each_once("--rw", &self.access)?;
        each_once("--io", &self.caching)?;
        each_once("--jobs", &self.jobs)?;
        each_once("--bs", &self.sizes)?;
        if self.jobs.iter().any(|jobs| !(1..=JOBS).contains(jobs)) {
            return wrong(format!("expected 1 to {JOBS} jobs"));
        }
        if !(0.05..=LONGEST).contains(&self.seconds)
            || !(0.0..=LONGEST).contains(&self.warm_up_seconds)
        {
            return wrong(format!("expected trials of 0.05 to {LONGEST} s"));
        }
        if !(1..=TRIALS).contains(&self.trials) {
            return wrong(format!("expected 1 to {TRIALS} trials"));
        }
        if let Some(bs) = self.sizes.iter().find(|bs| bs.0 == 0 || **bs > self.file) {
            return wrong(format!("blocks of {bs} do not fit files of {}", self.file));
        }
        if self.device.is_some() && self.file_systems.len() != 1 {
            return wrong("a device takes one file system at a time; name it with --fs".to_owned());
        }
        if let Some(program) = &self.program {
            return self.check_program(program);
        }
        let needed = if self.mix { Bytes(0) } else { self.room() };
        if self.device.is_none() && needed > self.size {
            return wrong(format!(
                "the files of {} jobs need {needed}, and the file system has {}; raise --size or lower --file",
                self.most_jobs(),
                self.size
            ));
        }
        Ok(())
    }

    fn check_program(&self, program: &ProgramSpec) -> Result<(), FsError> {
        metric(&program.metric)?;
        let cpus = self.cpus.len();
        match self.jobs.iter().find(|&&jobs| jobs as usize > cpus) {
            Some(jobs) => Err(FsError::Wrong(format!(
                "begin: --jobs {jobs}: a program runs on that many CPUs, and there are {cpus}"
            ))),
            None => Ok(()),
        }
    }

    /// The largest number of jobs.
    #[must_use]
    pub fn most_jobs(&self) -> u32 {
        self.jobs.iter().copied().max().unwrap_or(1)
    }

    /// Bytes that the files need: a file for each job, and a shared one as large as all of them.
    fn room(&self) -> Bytes {
        Bytes(2 * self.file.0 * u64::from(self.most_jobs()))
    }

    /// All points of these file systems, and those that do not exist.
    pub(crate) fn points(&self, made: &[FileSystem]) -> (Vec<FsPoint>, Vec<FsLeftOut>) {
        let (mut points, mut left_out) = (Vec::new(), Vec::new());
        for &fs in made {
            for &access in &self.access {
                for &sharing in &self.sharing {
                    if access == Access::Append && sharing == Sharing::Blocks {
                        left_out.push(FsLeftOut {
                            fs,
                            what: Some(format!("{access} {sharing}")),
                            reason: "jobs that append have no blocks of their own in a shared file"
                                .to_owned(),
                        });
                        continue;
                    }
                    self.rest(fs, sharing, access, &mut points);
                }
            }
        }
        (points, left_out)
    }

    fn rest(&self, fs: FileSystem, sharing: Sharing, access: Access, points: &mut Vec<FsPoint>) {
        for &caching in &self.caching {
            for &bs in &self.sizes {
                points.extend(self.jobs.iter().map(|&jobs| FsPoint {
                    fs,
                    sharing,
                    access,
                    caching,
                    jobs,
                    bs,
                }));
            }
        }
    }
}

fn each_once<T: PartialEq + Display>(option: &str, values: &[T]) -> Result<(), FsError> {
    let begin = |text: String| FsError::Wrong(format!("begin: {option}: {text}"));
    if values.is_empty() {
        return Err(begin("expected an entry at least, found none".to_owned()));
    }
    for (at, value) in values.iter().enumerate() {
        if values[..at].contains(value) {
            return Err(begin(format!(
                "expected each entry once, found {value} twice"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn good() -> FsSpec {
        FsSpec {
            device: None,
            file_systems: vec![FileSystem::Ext4, FileSystem::Xfs],
            control: None,
            program: None,
            mix: false,
            sharing: Sharing::ALL.to_vec(),
            access: Access::ALL.to_vec(),
            caching: vec![Caching::Direct],
            jobs: vec![1, 2],
            sizes: vec![Bytes(4096)],
            seconds: 1.0,
            warm_up_seconds: 0.3,
            trials: 5,
            locks: false,
            size: Bytes(1 << 30),
            file: Bytes(16 << 20),
            cpus: vec![0],
            seed: 1,
        }
    }

    #[test]
    fn points_are_all_but_appended_blocks() {
        let spec = good();
        let (points, left_out) = spec.points(&spec.file_systems);
        // Two file systems, three levels, three accesses, less one, two numbers of jobs.
        assert_eq!(points.len(), 2 * (3 * 3 - 1) * 2);
        assert_eq!(left_out.len(), 2);
        assert_eq!(left_out[0].what.as_deref(), Some("append blocks"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        good().check().unwrap();
        type Change = fn(&mut FsSpec);
        let wrong: [(Change, &str); 8] = [
            (|s| s.jobs = vec![0], "1 to 1024 jobs"),
            (|s| s.jobs = vec![2, 2], "found 2 twice"),
            (|s| s.seconds = 0.0, "0.05 to 3600 s"),
            (|s| s.seconds = f64::NAN, "0.05 to 3600 s"),
            (|s| s.trials = 0, "trials"),
            (
                |s| s.sizes = vec![Bytes(32 << 20)],
                "do not fit files of 16 MiB",
            ),
            (|s| s.jobs = vec![64], "need 2 GiB"),
            (
                |s| s.device = Some("/dev/x".to_owned()),
                "one file system at a time",
            ),
        ];
        for (change, words) in wrong {
            let mut spec = good();
            change(&mut spec);
            let error = spec.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
