//! Takes settings from a fio job file, unless an option of the command line states them.

use crate::fio::{FioJob, FioJobFile, Remark, Size, Topic};
use crate::settings::{BenchSettings, SECONDS};
use crate::spec::Axes;
use itertools::Itertools;

/// Settings of a job file that have no option in `q2c bench`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobFileExtras {
    /// Part of the target in use.
    pub size: Option<Size>,
    /// CPU of the SQPOLL helper thread of a single job.
    pub helper_cpu: Option<u32>,
}

impl BenchSettings {
    /// Takes untyped settings from the file. The error says why q2c cannot run the file.
    pub fn fill_from(&mut self, file: &FioJobFile) -> Result<JobFileExtras, String> {
        let settled = self.settled_topics();
        let open = |remark: &&Remark| remark.about.is_none_or(|about| !settled.contains(&about));
        let refused = file.refused.iter().filter(open).join("; ");
        if !refused.is_empty() {
            return Err(refused);
        }
        let groups = self.groups(&file.jobs)?;
        let extras = self.take_common(&file.jobs)?;
        self.take_points(&groups);
        if extras.helper_cpu.is_some() && self.axes.jobs != [1] {
            let reason = "sqthread_poll_cpu is one CPU, and --jobs asks for more than one job: leave it out of the file";
            return Err(reason.to_owned());
        }
        Ok(extras)
    }

    /// The topics of a job file for which an option was typed.
    fn settled_topics(&self) -> Vec<Topic> {
        const TOPICS: [(Topic, &str); 13] = [
            (Topic::Engine, "engine"),
            (Topic::Method, "method"),
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
        let settled = TOPICS.iter().filter(|(topic, option)| {
            self.typed.has(option) && (*topic != Topic::Cpus || names_cpus)
        });
        settled.map(|(topic, _)| *topic).collect()
    }

    fn groups(&self, jobs: &[FioJob]) -> Result<Vec<Axes>, String> {
        let mut groups: Vec<(&FioJob, Axes, u32)> = Vec::new();
        for job in jobs {
            let axes = self.axes_of(job);
            let threads = job.jobs.unwrap_or(1);
            match groups.last_mut() {
                Some((first, same, group_threads)) if first.group == job.group && *same == axes => {
                    *group_threads += threads;
                }
                Some((first, ..)) if first.group == job.group => {
                    let FioJob { name, line, .. } = job;
                    return Err(format!(
                        "line {line}: [{name}] runs beside [{}] in fio, and they differ; q2c bench runs one point at a time: write \
                         stonewall into [{name}]",
                        first.name
                    ));
                }
                _ => groups.push((job, axes, threads)),
            }
        }
        let counted = |(_, axes, threads): (_, Axes, u32)| Axes {
            jobs: self.unless_typed("jobs", &axes.jobs, Some(threads)),
            ..axes
        };
        Ok(groups.into_iter().map(counted).collect())
    }

    /// The values of an axis: the option's if it was typed or the file has none, else the file's.
    fn unless_typed<T: Clone>(&self, option: &str, own: &[T], file: Option<T>) -> Vec<T> {
        let of_file = file.filter(|_| !self.typed.has(option));
        of_file.map_or_else(|| own.to_vec(), |value| vec![value])
    }

    /// The axes of a job, without its number of threads and without a background.
    fn axes_of(&self, job: &FioJob) -> Axes {
        let axes = &self.axes;
        let rw = job.rw.as_ref().and_then(|rw| rw.parse().ok());
        Axes {
            engine: Some(self.unless_typed("engine", axes.engines(), job.engine.clone())),
            method: self.unless_typed("method", &axes.method, job.method.clone()),
            depth: self.unless_typed("depth", &axes.depth, job.depth),
            bs: self.unless_typed("bs", &axes.bs, job.bs),
            rw: self.unless_typed("rw", &axes.rw, rw),
            ..axes.clone()
        }
    }

    fn take_common(&mut self, jobs: &[FioJob]) -> Result<JobFileExtras, String> {
        let mut extras = JobFileExtras::default();
        if self.scratch.is_none() {
            if self.target.is_none() {
                self.target = common("filename", jobs, |job| job.target.clone())?;
            }
            extras.size = common("size", jobs, |job| job.size)?;
        }
        if !self.typed.has("seconds") {
            let runtime = common("runtime", jobs, |job| job.seconds)?;
            self.seconds = runtime.unwrap_or(self.seconds);
        }
        if !self.typed.has("warm_up") {
            let ramp_time = common("ramp_time", jobs, |job| job.warm_up)?;
            self.warm_up = ramp_time.unwrap_or(self.warm_up);
        }
        if self.rate.is_none() {
            self.rate = common("rate_iops", jobs, |job| job.rate)?;
        }
        if self.cpus.is_empty() {
            self.cpus = common("cpus_allowed", jobs, |job| job.cpus.clone())?.unwrap_or_default();
            let with_helper = jobs.iter().filter(|job| job.helper_cpu.is_some()).cloned();
            let with_helper: Vec<FioJob> = with_helper.collect();
            extras.helper_cpu = common("sqthread_poll_cpu", &with_helper, |job| job.helper_cpu)?;
        }
        Ok(extras)
    }

    /// Sets the axes, and also the points if the axes make more of them than the file has.
    fn take_points(&mut self, groups: &[Axes]) {
        fn distinct_values<T: Clone + PartialEq>(groups: &[Axes], of: fn(&Axes) -> &[T]) -> Vec<T> {
            distinct(groups.iter().flat_map(of).cloned())
        }
        self.axes = Axes {
            engine: Some(distinct_values(groups, Axes::engines)),
            method: distinct_values(groups, |axes| &axes.method),
            jobs: distinct_values(groups, |axes| &axes.jobs),
            depth: distinct_values(groups, |axes| &axes.depth),
            bs: distinct_values(groups, |axes| &axes.bs),
            rw: distinct_values(groups, |axes| &axes.rw),
            ..self.axes.clone()
        };
        let points = distinct(groups.iter().flat_map(Axes::points));
        if self.axes.points().len() > points.len() {
            self.points = points;
        }
    }

    /// Checks the times of a job file. Times given as options are checked where they are parsed.
    pub fn check_times(&self) -> Result<(), String> {
        let (least, most) = SECONDS.into_inner();
        for (option, time) in [("runtime", self.seconds), ("ramp_time", self.warm_up)] {
            if time > 0.0 && !SECONDS.contains(&time) {
                let have = format!("q2c bench has {least} to {most} s");
                return Err(format!("{option} is {time} s, and {have}"));
            }
        }
        Ok(())
    }
}

pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

/// The value that all jobs have, or an error that names the first job with another value.
fn common<T: PartialEq>(
    option: &str,
    jobs: &[FioJob],
    value: impl Fn(&FioJob) -> Option<T>,
) -> Result<Option<T>, String> {
    let first = jobs.first().and_then(&value);
    match jobs.iter().find(|job| value(job) != first) {
        None => Ok(first),
        Some(FioJob { line, name, .. }) => Err(format!(
            "line {line}: [{name}] has another {option} than [{}], and one run has one of it: make them the same, or give it by a flag",
            jobs[0].name
        )),
    }
}
