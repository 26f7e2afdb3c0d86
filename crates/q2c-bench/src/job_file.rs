//! Takes settings from a fio job file, unless an option of the command line states them.

use crate::fio::{FioJob, FioJobFile, Remark, Size, Topic};
use crate::settings::{BenchSettings, TRIAL_SECONDS};
use crate::spec::Axes;
use itertools::Itertools;
use q2c_model::distinct;
use q2c_policy::Method;
use q2c_workbench::workload::{Background, BackgroundSpec};

/// Settings of a job file that have no option in `q2c bench`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobFileExtras {
    /// Part of the target in use.
    pub size: Option<Size>,
    /// CPU of the SQPOLL helper thread of a single job.
    pub helper_cpu: Option<u32>,
}

impl BenchSettings {
    /// Takes untyped settings from the file. The error has all reasons why q2c cannot run the file,
    /// by line.
    pub fn fill_from(&mut self, file: &FioJobFile) -> Result<JobFileExtras, String> {
        let typed = self.typed_topics();
        let is_unsettled = |r: &&Remark| r.topic.is_none_or(|topic| !typed.contains(&topic));
        let refused = file.refused.iter().filter(is_unsettled);
        let mut refusals: Refusals = refused.map(|r| (r.line, r.to_string())).collect();
        let groups = self.group_axes(&file.jobs, &mut refusals);
        let extras = self.take_shared_settings(&file.jobs, &mut refusals);
        if !refusals.is_empty() {
            refusals.sort_by_key(|(line, _)| *line);
            return Err(refusals.iter().map(|(_, reason)| reason).join("; "));
        }
        self.set_points(&groups);
        if extras.helper_cpu.is_some() && self.axes.jobs != [1] {
            let reason = "sqthread_poll_cpu is one CPU, and --jobs asks for more than one job: leave it out of the file";
            return Err(reason.to_owned());
        }
        Ok(extras)
    }

    /// The topics of a job file for which an option was typed.
    fn typed_topics(&self) -> Vec<Topic> {
        const TOPICS: [(Topic, &str); 12] = [
            (Topic::Engine, "engine"),
            (Topic::Jobs, "jobs"),
            (Topic::Depth, "depth"),
            (Topic::Bs, "bs"),
            (Topic::Rw, "rw"),
            (Topic::Seconds, "seconds"),
            (Topic::WarmUp, "warm_up"),
            (Topic::Rate, "rate"),
            (Topic::Cpus, "cpus"),
            (Topic::Target, "target"),
            (Topic::Target, "scratch"),
            (Topic::Size, "scratch"),
        ];
        // With `--cpus auto` the file may still name the CPUs.
        let names_cpus = !self.cpus.is_empty();
        let typed = TOPICS.iter().filter(|(topic, option)| {
            self.typed.has(option) && (*topic != Topic::Cpus || names_cpus)
        });
        typed.map(|(topic, _)| *topic).collect()
    }

    /// The axes of each group of jobs, which fio runs at once. Equal jobs are threads of one job;
    /// those that differ from the first are its background.
    fn group_axes(&self, jobs: &[FioJob], refusals: &mut Refusals) -> Vec<Axes> {
        let mut groups: Vec<JobGroup<'_>> = Vec::new();
        for job in jobs {
            let axes = self.axes_of(job);
            let threads = job.jobs.unwrap_or(1);
            let group = groups
                .last_mut()
                .filter(|open| open.first.group == job.group);
            match group {
                Some(group) if group.axes == axes => group.threads += threads,
                Some(group) => match background_job(&axes, threads) {
                    Some(beside) if !self.typed.has("background") => group.background.push(beside),
                    _ => refusals.push((job.line, refused_beside(job, group.first))),
                },
                None => groups.push(JobGroup {
                    first: job,
                    axes,
                    threads,
                    background: Vec::new(),
                }),
            }
        }
        let has_background = groups.iter().any(|group| !group.background.is_empty());
        let with_threads = |JobGroup {
                                axes,
                                threads,
                                background,
                                ..
                            }| Axes {
            jobs: self.unless_typed("jobs", &axes.jobs, Some(threads)),
            background: if has_background {
                vec![Background(background)]
            } else {
                axes.background
            },
            ..axes
        };
        groups.into_iter().map(with_threads).collect()
    }

    /// The values of an axis: the option's if it was typed or the file has none, else the file's.
    fn unless_typed<T: Clone>(&self, option: &str, option_values: &[T], file: Option<T>) -> Vec<T> {
        let file_value = file.filter(|_| !self.typed.has(option));
        file_value.map_or_else(|| option_values.to_vec(), |value| vec![value])
    }

    /// The axes of a job, without its number of threads and without a background.
    fn axes_of(&self, job: &FioJob) -> Axes {
        let axes = &self.axes;
        Axes {
            engine: Some(self.unless_typed("engine", axes.engines(), job.engine.clone())),
            method: self.unless_typed("method", &axes.method, job.method.clone()),
            depth: self.unless_typed("depth", &axes.depth, job.depth),
            bs: self.unless_typed("bs", &axes.bs, job.bs),
            rw: self.unless_typed("rw", &axes.rw, job.rw),
            ..axes.clone()
        }
    }

    fn take_shared_settings(&mut self, jobs: &[FioJob], refusals: &mut Refusals) -> JobFileExtras {
        let mut extras = JobFileExtras::default();
        if self.scratch.is_none() {
            if self.target.is_none() {
                let target = |job: &FioJob| job.target.clone();
                self.target = shared_value("filename", jobs, target, refusals);
            }
            extras.size = shared_value("size", jobs, |job| job.size, refusals);
        }
        if !self.typed.has("seconds") {
            let runtime = shared_value("runtime", jobs, |job| job.seconds, refusals);
            self.seconds = runtime.unwrap_or(self.seconds);
        }
        if !self.typed.has("warm_up") {
            let ramp_time = shared_value("ramp_time", jobs, |job| job.warm_up, refusals);
            self.warm_up = ramp_time.unwrap_or(self.warm_up);
        }
        if self.rate.is_none() {
            self.rate = shared_value("rate_iops", jobs, |job| job.rate, refusals);
        }
        if self.cpus.is_empty() {
            let cpus = shared_value("cpus_allowed", jobs, |job| job.cpus.clone(), refusals);
            self.cpus = cpus.unwrap_or_default();
            let with_helper = jobs.iter().filter(|job| job.helper_cpu.is_some()).cloned();
            let with_helper: Vec<FioJob> = with_helper.collect();
            let helper_cpu = |job: &FioJob| job.helper_cpu;
            extras.helper_cpu =
                shared_value("sqthread_poll_cpu", &with_helper, helper_cpu, refusals);
        }
        extras
    }

    /// Sets the axes, and also the points if the axes make more of them than the file has.
    fn set_points(&mut self, groups: &[Axes]) {
        fn values<T: Clone + PartialEq>(groups: &[Axes], axis: fn(&Axes) -> &[T]) -> Vec<T> {
            distinct(groups.iter().flat_map(axis).cloned())
        }
        self.axes = Axes {
            engine: Some(values(groups, Axes::engines)),
            method: values(groups, |axes| &axes.method),
            jobs: values(groups, |axes| &axes.jobs),
            depth: values(groups, |axes| &axes.depth),
            bs: values(groups, |axes| &axes.bs),
            rw: values(groups, |axes| &axes.rw),
            background: values(groups, |axes| &axes.background),
            ..self.axes.clone()
        };
        let points = distinct(groups.iter().flat_map(Axes::points));
        if self.axes.points().len() > points.len() {
            self.points = points;
        }
    }

    /// Checks the times of a job file. Times given as options are checked where they are parsed.
    pub fn check_times(&self) -> Result<(), String> {
        let (least, most) = TRIAL_SECONDS.into_inner();
        for (option, time) in [("runtime", self.seconds), ("ramp_time", self.warm_up)] {
            if time > 0.0 && !TRIAL_SECONDS.contains(&time) {
                let have = format!("q2c bench has {least} to {most} s");
                return Err(format!("{option} is {time} s, and {have}"));
            }
        }
        Ok(())
    }
}

/// Jobs of a file that fio runs at once.
struct JobGroup<'a> {
    first: &'a FioJob,
    /// The axes of the first job and of those that equal it.
    axes: Axes,
    /// Their threads.
    threads: u32,
    /// The other jobs.
    background: Vec<BackgroundSpec>,
}

/// A job of these axes as a background; `None` if it waits in a way that no background has.
fn background_job(axes: &Axes, jobs: u32) -> Option<BackgroundSpec> {
    let ([engine], [method], [depth]) = (axes.engines(), &axes.method[..], &axes.depth[..]) else {
        return None;
    };
    let ([pattern], [bs]) = (&axes.rw[..], &axes.bs[..]) else {
        return None;
    };
    let is_known = [Method::INTERRUPT, Method::POLL].contains(method);
    Some(BackgroundSpec {
        engine: Some(engine.parse().ok().filter(|_| is_known)?),
        pattern: *pattern,
        bs: *bs,
        depth: *depth,
        jobs,
        cpus: Vec::new(),
        poll: *method == Method::POLL,
        stages: Vec::new(),
    })
}

fn refused_beside(FioJob { name, line, .. }: &FioJob, first: &FioJob) -> String {
    format!(
        "line {line}: [{name}] runs beside [{}] in fio, and differs from it in a way that no --background has: write stonewall \
         into [{name}], or take one of them by --section",
        first.name
    )
}

/// Reasons why a file cannot be run, each with its line.
type Refusals = Vec<(usize, String)>;

/// The value that all jobs have. If one has another value, the first such job becomes a refusal.
fn shared_value<T: PartialEq>(
    option: &str,
    jobs: &[FioJob],
    value: impl Fn(&FioJob) -> Option<T>,
    refusals: &mut Refusals,
) -> Option<T> {
    let first = jobs.first().and_then(&value);
    if let Some(FioJob { line, name, .. }) = jobs.iter().find(|job| value(job) != first) {
        let reason = format!(
            "line {line}: [{name}] has another {option} than [{}], and one run has one of it: make them the same, give it by a \
             flag, or take one of them by --section",
            jobs[0].name
        );
        refusals.push((*line, reason));
        return None;
    }
    first
}
