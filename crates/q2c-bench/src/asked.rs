//! The settings that a user asked for: by flags, and by a fio job file where no flag says
//! otherwise.

use super::spec::Axes;
use q2c_fio::{Job, JobFile, Remark, Size, Topic};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::bench::BenchPoint;
use thiserror::Error;

/// The settings that were asked for. A field that is `None` gets its default later.
///
/// The caller sets the fields that flags gave, then calls [`Asked::fill_from`] with a job file, if
/// there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Path of a file or device, or a simulated device.
    pub target: Option<String>,
    /// Whether a scratch file takes the place of the target, and its size that of the target's
    /// part.
    pub scratch: bool,
    /// Interfaces.
    pub engines: Option<Vec<String>>,
    /// Completion methods.
    pub methods: Option<Vec<Method>>,
    /// Numbers of jobs.
    pub jobs: Option<Vec<u32>>,
    /// Depths: requests in flight in each job.
    pub depths: Option<Vec<u16>>,
    /// Hardware queues of the device; empty for those that it has.
    pub hw_queues: Vec<u32>,
    /// `nr_requests` of the device; empty for what it has.
    pub nr_requests: Vec<u32>,
    /// Block sizes.
    pub sizes: Option<Vec<Bytes>>,
    /// Patterns of access, such as `randread`.
    pub patterns: Option<Vec<String>>,
    /// Background jobs of the points, as text; empty for a point without them. `None` for points
    /// without background jobs.
    pub backgrounds: Option<Vec<String>>,
    /// Length of the measured part of a trial, seconds.
    pub seconds: Option<f64>,
    /// Most length of the warm-up, seconds.
    pub warm_up_seconds: Option<f64>,
    /// Submissions of each job per second (open loop).
    pub rate: Option<f64>,
    /// CPUs in the order in which jobs take them.
    pub cpus: Option<Vec<u32>>,
    /// CPU of the helper thread of a single job.
    pub helper_cpu: Option<u32>,
    /// Part of the target in use.
    pub size: Option<Size>,
    /// The points, when they are fewer than the axes make together; empty when they are all.
    pub points: Vec<BenchPoint>,
}

/// Why a job file cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NotRunnable {
    /// The file has options that q2c does not have.
    #[error("{}", list(.0))]
    Refused(Vec<Remark>),
    /// Different jobs run at the same time.
    #[error(
        "line {line}: [{second}] runs beside [{first}] in fio, and they differ; q2c bench runs one point at a time: write stonewall into \
         [{second}]"
    )]
    AtOnce {
        /// Name of the first job of the group.
        first: String,
        /// Name of the job that differs from it.
        second: String,
        /// Line on which that job begins.
        line: usize,
    },
    /// Jobs differ in an option that one run can have only once.
    #[error(
        "line {line}: [{job}] has another {what} than [{first}], and one run has one of it: make them the same, or give it by a flag"
    )]
    Differs {
        /// Name of the option.
        what: &'static str,
        /// Name of the first job.
        first: String,
        /// Name of the first job that differs from it.
        job: String,
        /// Line on which that job begins.
        line: usize,
    },
    /// The file names the CPU of a helper thread, and there are several jobs.
    #[error(
        "sqthread_poll_cpu is one CPU, and --jobs asks for more than one job: leave it out of the file"
    )]
    OneHelper,
}

fn list(remarks: &[Remark]) -> String {
    let each: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    each.join("; ")
}

impl Asked {
    /// Takes from the file the settings that no flag gave.
    ///
    /// # Errors
    /// The file asks for an option that q2c does not have, or its jobs are no list of points.
    pub fn fill_from(&mut self, file: &JobFile) -> Result<(), NotRunnable> {
        let flags = self.topics();
        let open = |remark: &&Remark| remark.about.is_none_or(|about| !flags.contains(&about));
        let refused: Vec<Remark> = file.refused.iter().filter(open).cloned().collect();
        if !refused.is_empty() {
            return Err(NotRunnable::Refused(refused));
        }
        let groups = self.groups(&file.jobs)?;
        self.take_common(&file.jobs)?;
        self.take_points(&groups);
        let jobs = self.jobs.as_deref().unwrap_or_default();
        match self.helper_cpu {
            Some(_) if jobs != [1] => Err(NotRunnable::OneHelper),
            _ => Ok(()),
        }
    }

    /// The topics that flags have settled.
    fn topics(&self) -> Vec<Topic> {
        let said = [
            (Topic::Engine, self.engines.is_some()),
            (Topic::Method, self.methods.is_some()),
            (Topic::Jobs, self.jobs.is_some()),
            (Topic::Depth, self.depths.is_some()),
            (Topic::Bs, self.sizes.is_some()),
            (Topic::Rw, self.patterns.is_some()),
            (Topic::Seconds, self.seconds.is_some()),
            (Topic::WarmUp, self.warm_up_seconds.is_some()),
            (Topic::Rate, self.rate.is_some()),
            (Topic::Cpus, self.cpus.is_some()),
            (Topic::Target, self.target.is_some() || self.scratch),
            (Topic::Size, self.scratch),
        ];
        let said = said.into_iter().filter(|(_, said)| *said);
        said.map(|(topic, _)| topic).collect()
    }

    /// Joins equal jobs that run at the same time into one point with more jobs.
    fn groups(&self, jobs: &[Job]) -> Result<Vec<Axes>, NotRunnable> {
        let mut groups: Vec<(&Job, Axes, u32)> = Vec::new();
        for job in jobs {
            let axes = self.axes(job);
            let threads = job.jobs.unwrap_or(1);
            match groups.last_mut() {
                Some((first, same, all)) if first.group == job.group && *same == axes => {
                    *all += threads;
                }
                Some((first, ..)) if first.group == job.group => {
                    return Err(NotRunnable::AtOnce {
                        first: first.name.clone(),
                        second: job.name.clone(),
                        line: job.line,
                    });
                }
                _ => groups.push((job, axes, threads)),
            }
        }
        let counted = |(_, axes, threads): (_, Axes, u32)| Axes {
            jobs: self.jobs.clone().unwrap_or(vec![threads]),
            ..axes
        };
        Ok(groups.into_iter().map(counted).collect())
    }

    /// The axes of a job, without its number of threads.
    fn axes(&self, job: &Job) -> Axes {
        fn either<T: Clone>(flag: Option<&Vec<T>>, file: Option<&T>) -> Vec<T> {
            let of_file = || file.cloned().into_iter().collect();
            flag.cloned().unwrap_or_else(of_file)
        }
        Axes {
            engines: either(self.engines.as_ref(), job.engine.as_ref()),
            methods: either(self.methods.as_ref(), job.method.as_ref()),
            jobs: Vec::new(),
            depths: either(self.depths.as_ref(), job.depth.as_ref()),
            sizes: either(self.sizes.as_ref(), job.bs.as_ref()),
            patterns: either(self.patterns.as_ref(), job.rw.as_ref()),
            // A job file knows no background: jobs that run at once are points.
            backgrounds: self.backgrounds.clone().unwrap_or(vec![String::new()]),
            hw_queues: self.hw_queues.clone(),
            nr_requests: self.nr_requests.clone(),
        }
    }

    /// Takes the options that all jobs of a run must have in common.
    fn take_common(&mut self, jobs: &[Job]) -> Result<(), NotRunnable> {
        if self.target.is_none() && !self.scratch {
            self.target = common("filename", jobs, |job| job.target.clone())?;
        }
        if !self.scratch {
            self.size = common("size", jobs, |job| job.size)?;
        }
        if self.seconds.is_none() {
            self.seconds = common("runtime", jobs, |job| job.seconds)?;
        }
        if self.warm_up_seconds.is_none() {
            self.warm_up_seconds = common("ramp_time", jobs, |job| job.warm_up)?;
        }
        if self.rate.is_none() {
            self.rate = common("rate_iops", jobs, |job| job.rate)?;
        }
        if self.cpus.is_none() {
            self.cpus = common("cpus_allowed", jobs, |job| job.cpus.clone())?;
            let with_helper: Vec<Job> = jobs
                .iter()
                .filter(|j| j.helper_cpu.is_some())
                .cloned()
                .collect();
            self.helper_cpu = common("sqthread_poll_cpu", &with_helper, |job| job.helper_cpu)?;
        }
        Ok(())
    }

    /// Sets each axis to the values that occur in the file. Sets the points as well when they are
    /// fewer than the axes make together.
    fn take_points(&mut self, groups: &[Axes]) {
        let points = distinct(groups.iter().flat_map(Axes::points));
        let axes = Axes {
            engines: distinct(points.iter().map(|p| p.engine.clone())),
            methods: distinct(points.iter().map(|p| p.method.clone())),
            jobs: distinct(points.iter().map(|p| p.jobs)),
            depths: distinct(points.iter().map(|p| p.depth)),
            sizes: distinct(points.iter().map(|p| p.bs)),
            patterns: distinct(points.iter().map(|p| p.rw.clone())),
            backgrounds: distinct(points.iter().map(|p| p.background.clone())),
            hw_queues: distinct(points.iter().filter_map(|p| p.hw_queues)),
            nr_requests: distinct(points.iter().filter_map(|p| p.nr_requests)),
        };
        if axes.points().len() > points.len() {
            self.points = points;
        }
        self.engines = Some(axes.engines);
        self.methods = Some(axes.methods);
        self.jobs = Some(axes.jobs);
        self.depths = Some(axes.depths);
        self.sizes = Some(axes.sizes);
        self.patterns = Some(axes.patterns);
    }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// The value that all jobs have, or the first job that differs.
fn common<T: PartialEq>(
    what: &'static str,
    jobs: &[Job],
    of: impl Fn(&Job) -> Option<T>,
) -> Result<Option<T>, NotRunnable> {
    let first = jobs.first().and_then(&of);
    match jobs.iter().find(|job| of(job) != first) {
        None => Ok(first),
        Some(job) => Err(NotRunnable::Differs {
            what,
            first: jobs[0].name.clone(),
            job: job.name.clone(),
            line: job.line,
        }),
    }
}
