//! What to measure: the plan that the run's folder keeps.

use crate::program::metric;
use q2c_model::{Bytes, Exit, Fault};
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
    /// How far the kernel reads ahead, for scans through the page cache; empty as found.
    #[serde(default)]
    pub readahead: Vec<Bytes>,
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
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |text: String| Err(Fault::new(Exit::Usage, format!("begin: {text}")));
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
        self.check_readahead()?;
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
        self.check_pairs()?;
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

    fn check_readahead(&self) -> Result<(), Fault> {
        let wrong = |reason: &str| {
            let text = format!("begin: --readahead: {reason}");
            Err(Fault::new(Exit::Usage, text))
        };
        let scans =
            self.access.contains(&Access::Scan) && self.caching.contains(&Caching::Buffered);
        if self.readahead.is_empty() {
            return Ok(());
        }
        each_once("--readahead", &self.readahead)?;
        match self.readahead.iter().all(|bytes| bytes.0 % 4096 == 0) {
            _ if !scans => {
                wrong("only scans through the page cache read ahead: --rw scan --io buffered")
            }
            true => Ok(()),
            false => wrong("expected multiples of 4 KiB"),
        }
    }

    fn check_program(&self, program: &ProgramSpec) -> Result<(), Fault> {
        metric(&program.metric)?;
        let cpus = self.cpus.len();
        match self.jobs.iter().find(|&&jobs| jobs as usize > cpus) {
            Some(jobs) => {
                let text = format!(
                    "begin: --jobs {jobs}: a program runs on that many CPUs, and there are {cpus}"
                );
                Err(Fault::new(Exit::Usage, text))
            }
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
                    if let Some(reason) = senseless(access, sharing) {
                        left_out.push(FsLeftOut {
                            fs,
                            what: Some(format!("{access} {sharing}")),
                            reason: reason.to_owned(),
                        });
                        continue;
                    }
                    self.rest(fs, sharing, access, &mut points);
                }
            }
        }
        (points, left_out)
    }

    /// The values of readahead of a kind of access.
    fn ahead(&self, access: Access, caching: Caching) -> Vec<Option<Bytes>> {
        let ahead = access == Access::Scan && caching == Caching::Buffered;
        match ahead && !self.readahead.is_empty() {
            true => self.readahead.iter().copied().map(Some).collect(),
            false => vec![None],
        }
    }

    fn rest(&self, fs: FileSystem, sharing: Sharing, access: Access, points: &mut Vec<FsPoint>) {
        for &caching in &self.caching {
            for &bs in &self.sizes {
                for readahead in self.ahead(access, caching) {
                    points.extend(self.jobs.iter().map(|&jobs| FsPoint {
                        fs,
                        sharing,
                        access,
                        caching,
                        jobs,
                        bs,
                        readahead,
                    }));
                }
            }
        }
    }
}

impl FsSpec {
    /// Checks that some access has points at some level of sharing.
    fn check_pairs(&self) -> Result<(), Fault> {
        let of = |&access: &Access| {
            let levels = self.sharing.iter();
            levels.map(move |&sharing| senseless(access, sharing))
        };
        let reasons: Option<Vec<&str>> = self.access.iter().flat_map(of).collect();
        match reasons.as_deref() {
            Some([reason, ..]) if !self.mix => {
                let text = format!("begin: {reason}; name other levels with --sharing");
                Err(Fault::new(Exit::Usage, text))
            }
            _ => Ok(()),
        }
    }
}

/// Why this access has no points at a level of sharing; `None` where it has.
fn senseless(access: Access, sharing: Sharing) -> Option<&'static str> {
    match (access, sharing) {
        (Access::Append, Sharing::Blocks) => {
            Some("jobs that append have no blocks of their own in a shared file")
        }
        (Access::Scan, Sharing::Same) => Some("one block has no order to be read in"),
        _ => None,
    }
}

fn each_once<T: PartialEq + Display>(option: &str, values: &[T]) -> Result<(), Fault> {
    let begin = |reason: String| Fault::new(Exit::Usage, format!("begin: {option}: {reason}"));
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
            readahead: Vec::new(),
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
        // Two file systems, three levels, four accesses, less two, two numbers of jobs.
        assert_eq!(points.len(), 2 * (3 * 4 - 2) * 2);
        let what: Vec<_> = left_out.iter().map(|left| left.what.as_deref()).collect();
        let both = [Some("scan same"), Some("append blocks")];
        assert_eq!(what, [both, both].concat());
    }

    /// Only scans through the page cache have an axis of readahead.
    #[test]
    fn readahead_multiplies_scans_through_the_page_cache() {
        let mut spec = good();
        spec.sharing = vec![Sharing::Private];
        spec.access = vec![Access::Read, Access::Scan];
        spec.caching = vec![Caching::Direct, Caching::Buffered];
        spec.readahead = vec![Bytes(4096), Bytes(1 << 20)];
        spec.jobs = vec![1];
        spec.check().unwrap();
        let (points, _) = spec.points(&[FileSystem::Xfs]);
        let ahead: Vec<_> = points.iter().filter_map(|point| point.readahead).collect();
        assert_eq!((points.len(), ahead), (5, spec.readahead.clone()));
        spec.readahead = vec![Bytes(1000)];
        assert!(spec.check().is_err());
        spec.readahead = vec![Bytes(4096)];
        spec.caching = vec![Caching::Direct];
        let error = spec.check().unwrap_err().to_string();
        assert!(error.contains("--rw scan --io buffered"), "{error}");
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
