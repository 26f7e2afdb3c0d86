//! The settings of a run: the arguments, their checks, and the plan that the run's folder keeps.

use crate::program::metric;
use clap::Args;
use itertools::iproduct;
use q2c_model::{
    Bytes, CpuId, Exit, Fault, List, parse_counts, parse_cpus, parse_seconds_in, parse_size,
};
use q2c_result::fs::{Access, Caching, FileSystem, FsLeftOut, FsPoint, Sharing};
use q2c_run::arguments::RunArgs;
use serde::Serialize;
use std::fmt::Display;

/// The settings of a run: the arguments of `q2c fs bench` are its plan.
#[derive(Clone, Debug, Args, Serialize)]
pub struct FsSettings {
    /// Block device on which the file system is made, over what is there; name it again with
    /// --allow-write [default: loop devices over files without names in the folder of --out]
    pub device: Option<String>,
    /// File systems: ext4, xfs, btrfs, f2fs [default: all that can be made here]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip)]
    pub fs: Option<Vec<FileSystem>>,
    /// The file system beside which the others' ratios stand [default: xfs]
    #[arg(long, value_name = "FS")]
    pub control: Option<FileSystem>,
    /// How jobs share files: private (a file each), blocks (their own ones of one file), same (the
    /// first block of one file)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "private,blocks,same")]
    pub sharing: Vec<Sharing>,
    /// What jobs do: read or write random blocks, scan (read the blocks in order, of which the page
    /// cache has none), or append to the file
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "read")]
    pub rw: Vec<Access>,
    /// buffered goes through the page cache, direct past it
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "direct")]
    pub io: Vec<Caching>,
    /// Numbers of threads, with one request in flight each: 1,2,4 or 1..8 or 5..120/5 [default: 1
    /// to the number of CPUs]
    #[arg(long, value_name = "LIST", value_parser = parse_counts::<u32>)]
    pub jobs: Option<List<u32>>,
    /// Run a built-in mix of work on many files instead
    ///
    /// Run a built-in mix of what programs do with many small files and a large one: jobs per
    /// minute, with as many tasks as --jobs says
    #[arg(long, conflicts_with_all = ["program", "locks"])]
    pub mix: bool,
    /// Run this shell command on each file system instead
    ///
    /// Run this shell command on each file system instead of jobs of q2c, in an empty folder there,
    /// on as many CPUs as --jobs says ($Q2C_CPUS holds the number)
    #[arg(long = "macro", value_name = "COMMAND", requires = "metric")]
    pub program: Option<String>,
    /// Regular expression that finds the figure in what it prints
    ///
    /// Regular expression whose first group is the figure in what the command prints; the last one
    /// that fits counts
    #[arg(long, value_name = "REGEX", requires = "program")]
    pub metric: Option<String>,
    /// Block sizes
    #[arg(long, default_value = "4k", value_delimiter = ',', value_parser = parse_size)]
    pub bs: Vec<Bytes>,
    /// How far the kernel reads ahead, for --rw scan --io buffered, such as 0,128k,1m [default: as
    /// it is]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size_or_none)]
    pub readahead: Vec<Bytes>,
    /// CPUs of the threads, in this order [default: each core before any SMT sibling]
    #[arg(long, value_name = "LIST", default_value = "auto", value_parser = parse_cpus)]
    pub cpus: List<u32>,
    /// Size of each file system on a loop device
    #[arg(long, default_value = "1g", value_parser = parse_size)]
    pub size: Bytes,
    /// Bytes of the file, or of the part of the shared one, that each thread uses
    #[arg(long, default_value = "16m", value_parser = parse_size)]
    pub file: Bytes,
    /// Also name the locks that jobs wait for, in a run of its own
    ///
    /// Name the locks that jobs wait for with the code that wants them (Linux 5.19 and later), and
    /// the functions in which their CPU time goes, from one more run of each point
    #[arg(long, conflicts_with = "program")]
    pub locks: bool,
    /// Trials of each point
    #[arg(long, default_value_t = 5)]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    #[serde(skip)]
    pub all_trials: bool,
    /// Length of the counted part of a trial
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    #[arg(value_parser = |text: &str| parse_seconds_in(text, 0.01..=MAX_S))]
    pub seconds: f64,
    /// Length of the part before it
    #[arg(long, value_name = "DURATION", default_value = "300ms")]
    #[arg(value_parser = |text: &str| parse_seconds_in(text, 0.0..=MAX_S))]
    #[serde(rename = "warm_up_seconds")]
    pub warm_up: f64,
    /// Place of the run.
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunArgs,
    /// File systems, each made anew.
    #[arg(skip)]
    pub file_systems: Vec<FileSystem>,
}

fn size_or_none(text: &str) -> Result<Bytes, String> {
    match text {
        "0" => Ok(Bytes(0)),
        _ => parse_size(text).map_err(|error| error.to_string()),
    }
}

/// The longest counted part or warm-up of a trial, seconds.
const MAX_S: f64 = 3600.0;
const MAX_JOBS: u32 = 1024;
const MAX_TRIALS: u32 = 10_000;

impl FsSettings {
    /// Fills in the defaults that depend on the CPUs, so that the plan has no choice left.
    pub fn settle(&mut self, cpus: &[CpuId]) {
        self.cpus = cpus.iter().map(|cpu| cpu.0).collect();
        self.jobs
            .get_or_insert_with(|| (1..=cpus.len() as u32).collect());
        self.file_systems = match (&self.fs, &self.device) {
            (Some(named), _) => named.clone(),
            (None, None) => FileSystem::ALL.to_vec(),
            (None, Some(_)) => vec![FileSystem::Ext4],
        };
        let control = self.control.unwrap_or(FileSystem::Xfs);
        self.control = Some(control).filter(|fs| self.file_systems.contains(fs));
    }

    /// Numbers of jobs; for a program, numbers of CPUs that it may use.
    pub(crate) fn jobs(&self) -> &[u32] {
        self.jobs.as_deref().unwrap_or_default()
    }

    /// Regular expression whose first group is the figure in the program's output.
    pub(crate) fn metric(&self) -> &str {
        self.metric.as_deref().unwrap_or_default()
    }

    /// Checks that the settings make sense together.
    pub fn check(&self) -> Result<(), Fault> {
        check_each_once("--fs", &self.file_systems)?;
        check_each_once("--sharing", &self.sharing)?;
        check_each_once("--rw", &self.rw)?;
        check_each_once("--io", &self.io)?;
        check_each_once("--jobs", self.jobs())?;
        check_each_once("--bs", &self.bs)?;
        let valid_jobs = 1..=MAX_JOBS;
        if !self.jobs().iter().all(|jobs| valid_jobs.contains(jobs)) {
            return usage(format_args!("expected 1 to {MAX_JOBS} jobs"));
        }
        if !(0.05..=MAX_S).contains(&self.seconds) || !(0.0..=MAX_S).contains(&self.warm_up) {
            return usage(format_args!("expected trials of 0.05 to {MAX_S} s"));
        }
        self.check_readahead()?;
        if !(1..=MAX_TRIALS).contains(&self.trials) {
            return usage(format_args!("expected 1 to {MAX_TRIALS} trials"));
        }
        if let Some(bs) = self.bs.iter().find(|bs| bs.0 == 0 || **bs > self.file) {
            return usage(format_args!(
                "blocks of {bs} do not fit files of {}",
                self.file
            ));
        }
        if self.device.is_some() && self.file_systems.len() != 1 {
            return usage("a device takes one file system at a time; name it with --fs");
        }
        if self.program.is_some() {
            return self.check_program();
        }
        self.check_pairs()?;
        let needed = self.needed_bytes();
        if self.device.is_none() && needed > self.size {
            return usage(format_args!(
                "the files of {} jobs need {needed}, and the file system has {}; raise --size or lower --file",
                self.max_jobs(),
                self.size
            ));
        }
        Ok(())
    }

    fn check_readahead(&self) -> Result<(), Fault> {
        if self.readahead.is_empty() {
            return Ok(());
        }
        check_each_once("--readahead", &self.readahead)?;
        let wrong = if !(self.rw.contains(&Access::Scan) && self.io.contains(&Caching::Buffered)) {
            "only scans through the page cache read ahead: --rw scan --io buffered"
        } else if self.readahead.iter().all(|bytes| bytes.0 % 4096 == 0) {
            return Ok(());
        } else {
            "expected multiples of 4 KiB"
        };
        usage(format_args!("--readahead: {wrong}"))
    }

    fn check_program(&self) -> Result<(), Fault> {
        metric(self.metric())?;
        let cpus = self.cpus.len();
        match self.jobs().iter().find(|&&jobs| jobs as usize > cpus) {
            Some(jobs) => usage(format_args!(
                "--jobs {jobs}: a program runs on that many CPUs, and there are {cpus}"
            )),
            None => Ok(()),
        }
    }

    pub(crate) fn cpu_ids(&self) -> Vec<CpuId> {
        self.cpus.iter().copied().map(CpuId).collect()
    }

    pub(crate) fn max_jobs(&self) -> u32 {
        self.jobs().iter().copied().max().unwrap_or(1)
    }

    /// Bytes that the files need: one per job, and a shared one as large as all of them together.
    fn needed_bytes(&self) -> Bytes {
        let sets = if self.mix { 0 } else { 2 };
        Bytes(sets * self.file.0 * u64::from(self.max_jobs()))
    }

    /// All points on these file systems, and those that make no sense, with the reason.
    pub(crate) fn points(&self, made: &[FileSystem]) -> (Vec<FsPoint>, Vec<FsLeftOut>) {
        let (mut points, mut left_out) = (Vec::new(), Vec::new());
        for (&fs, &access, &sharing) in iproduct!(made, &self.rw, &self.sharing) {
            match senseless_reason(access, sharing) {
                None => points.extend(self.points_with(fs, sharing, access)),
                Some(reason) => left_out.push(FsLeftOut {
                    fs,
                    what: Some(format!("{access} {sharing}")),
                    reason: reason.to_owned(),
                }),
            }
        }
        (points, left_out)
    }

    fn points_with(&self, fs: FileSystem, sharing: Sharing, access: Access) -> Vec<FsPoint> {
        let mut points = Vec::new();
        for &caching in &self.io {
            let ahead = match (access, caching) {
                (Access::Scan, Caching::Buffered) if !self.readahead.is_empty() => {
                    self.readahead.iter().copied().map(Some).collect()
                }
                _ => vec![None],
            };
            let point = |(&bs, &readahead, &jobs)| FsPoint {
                fs,
                sharing,
                access,
                caching,
                jobs,
                bs,
                readahead,
            };
            points.extend(iproduct!(&self.bs, &ahead, self.jobs()).map(point));
        }
        points
    }

    /// Fails if no access has points at any level of sharing.
    fn check_pairs(&self) -> Result<(), Fault> {
        let reasons_by_level = |&access: &Access| {
            let levels = self.sharing.iter();
            levels.map(move |&sharing| senseless_reason(access, sharing))
        };
        let reasons: Option<Vec<&str>> = self.rw.iter().flat_map(reasons_by_level).collect();
        match reasons.as_deref() {
            Some([reason, ..]) if !self.mix => {
                usage(format_args!("{reason}; name other levels with --sharing"))
            }
            _ => Ok(()),
        }
    }
}

/// Why this access makes no sense at a level of sharing; `None` if it does.
fn senseless_reason(access: Access, sharing: Sharing) -> Option<&'static str> {
    match (access, sharing) {
        (Access::Append, Sharing::Blocks) => {
            Some("jobs that append have no blocks of their own in a shared file")
        }
        (Access::Scan, Sharing::Same) => Some("one block has no order to be read in"),
        _ => None,
    }
}

fn check_each_once<T: PartialEq + Display>(option: &str, values: &[T]) -> Result<(), Fault> {
    let is_repeated = |&(i, value): &(usize, &T)| values[..i].contains(value);
    if values.is_empty() {
        usage(format_args!(
            "{option}: expected an entry at least, found none"
        ))
    } else if let Some((_, value)) = values.iter().enumerate().find(is_repeated) {
        usage(format_args!(
            "{option}: expected each entry once, found {value} twice"
        ))
    } else {
        Ok(())
    }
}

fn usage(wrong: impl Display) -> Result<(), Fault> {
    Err(Fault::new(Exit::Usage, format_args!("begin: {wrong}")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    /// Settings with all accesses, two file systems and one CPU.
    pub(crate) fn valid_settings() -> FsSettings {
        let arguments = "--fs ext4,xfs --rw read,write,scan,append --jobs 1,2";
        let mut settings: FsSettings = from_words(arguments).unwrap();
        settings.settle(&[CpuId(0)]);
        settings
    }

    #[test]
    fn points_are_all_but_appended_blocks() {
        let spec = valid_settings();
        let (points, left_out) = spec.points(&spec.file_systems);
        // Factors: file systems; levels times accesses, minus two pairs; numbers of jobs.
        assert_eq!(points.len(), 2 * (3 * 4 - 2) * 2);
        let what: Vec<_> = left_out.iter().map(|left| left.what.as_deref()).collect();
        let both = [Some("scan same"), Some("append blocks")];
        assert_eq!(what, [both, both].concat());
    }

    /// Only scans through the page cache have an axis of readahead.
    #[test]
    fn readahead_multiplies_scans_through_the_page_cache() {
        let mut spec = valid_settings();
        spec.sharing = vec![Sharing::Private];
        spec.rw = vec![Access::Read, Access::Scan];
        spec.io = vec![Caching::Direct, Caching::Buffered];
        spec.readahead = vec![Bytes(4096), Bytes(1 << 20)];
        spec.jobs = Some(vec![1]);
        spec.check().unwrap();
        let (points, _) = spec.points(&[FileSystem::Xfs]);
        let ahead: Vec<_> = points.iter().filter_map(|point| point.readahead).collect();
        assert_eq!((points.len(), ahead), (5, spec.readahead.clone()));
        spec.readahead = vec![Bytes(1000)];
        assert!(spec.check().is_err());
        spec.readahead = vec![Bytes(4096)];
        spec.io = vec![Caching::Direct];
        let error = spec.check().unwrap_err().to_string();
        assert!(error.contains("--rw scan --io buffered"), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        valid_settings().check().unwrap();
        type Change = fn(&mut FsSettings);
        let wrong: [(Change, &str); 8] = [
            (|s| s.jobs = Some(vec![0]), "1 to 1024 jobs"),
            (|s| s.jobs = Some(vec![2, 2]), "found 2 twice"),
            (|s| s.seconds = 0.0, "0.05 to 3600 s"),
            (|s| s.seconds = f64::NAN, "0.05 to 3600 s"),
            (|s| s.trials = 0, "trials"),
            (|s| s.bs = vec![Bytes(32 << 20)], "do not fit files"),
            (|s| s.jobs = Some(vec![64]), "need 2 GiB"),
            (|s| s.device = Some("/dev/x".into()), "one file system"),
        ];
        for (change, excerpt) in wrong {
            let mut spec = valid_settings();
            change(&mut spec);
            let error = spec.check().unwrap_err().to_string();
            assert!(error.contains(excerpt), "{error}");
        }
    }
}
