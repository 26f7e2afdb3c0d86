//! Background jobs as text: `rw=randread,bs=32k,depth=4,jobs=2,cpus=1`, several of them joined by
//! `;`.

use super::{StageId, Stages};
use q2c_engine::{Activity, EngineSpec, JobPlan, Medium, Pattern, Wait};
use q2c_model::{Bytes, CpuId, parse_size};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Background jobs of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundSpec {
    /// Engine; `None` takes the foreground's.
    pub engine: Option<EngineSpec>,
    /// Access pattern.
    pub pattern: Pattern,
    /// Block size.
    pub bs: Bytes,
    /// Requests in flight in each job.
    pub depth: u16,
    /// Number of jobs.
    pub jobs: u32,
    /// CPUs of the jobs, used in turn. The list must not be empty when the jobs run.
    pub cpus: Vec<CpuId>,
    /// True if the jobs poll; else they wait for interrupts.
    pub poll: bool,
    /// Stages in which the jobs run; empty means all.
    pub stages: Vec<StageId>,
}

/// A text that does not describe background jobs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "understand background job `{text}`: {problem}; write for example rw=randread,bs=32k,depth=4,jobs=2,cpus=1 \
     (keys: engine, rw, bs, depth, jobs, cpus, wait=interrupt|poll)"
)]
pub struct ParseBackgroundError {
    /// The text as given.
    pub text: String,
    /// The part that is wrong, and why.
    pub problem: String,
}

/// The most jobs of one kind, and the most requests in flight of each, as for the foreground.
const MAX_JOBS_OR_DEPTH: u16 = 1024;

impl BackgroundSpec {
    /// The engine of the jobs. If they name an engine but no path, it takes the foreground's path.
    /// If they name no engine, it is the foreground's, or io_uring if that one polls in its calls.
    pub fn engine_beside(&self, foreground: &EngineSpec) -> EngineSpec {
        match &self.engine {
            Some(engine) => engine.clone().with_path(foreground.needs_poll_queues()),
            None if foreground.polls_in_call() => EngineSpec::RING,
            None => foreground.clone(),
        }
    }

    /// The job of the published tuning run: random 32 KiB reads at depth 1 by interrupts.
    pub(crate) fn published_on_cpu(cpu: CpuId) -> Self {
        BackgroundSpec {
            engine: None,
            pattern: Pattern::RANDREAD,
            bs: Bytes(32 << 10),
            depth: 1,
            jobs: 1,
            cpus: vec![cpu],
            poll: false,
            stages: Vec::new(),
        }
    }

    pub(super) fn activities(&self, stages: &Stages) -> Vec<Activity> {
        let mut is_active = false;
        let activity = |(id, _)| {
            let was_active = is_active;
            is_active = self.stages.is_empty() || self.stages.contains(&id);
            match (is_active, was_active) {
                (false, _) => Activity::Idle,
                (true, true) => Activity::Continue,
                (true, false) => self.activity(),
            }
        };
        stages.iter().map(activity).collect()
    }

    /// The activity with which the jobs start their work.
    pub fn activity(&self) -> Activity {
        let wait = if self.poll {
            Wait::Poll
        } else {
            Wait::Interrupt
        };
        Activity::Start(wait)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let count = || {
            let n: Option<u16> = value.parse().ok();
            let n = n.filter(|n| (1..=MAX_JOBS_OR_DEPTH).contains(n));
            n.ok_or(format!(
                "{key} must be a whole number from 1 to {MAX_JOBS_OR_DEPTH}"
            ))
        };
        match key {
            "engine" => self.engine = Some(value.parse().map_err(to_text)?),
            "rw" => self.pattern = value.parse().map_err(to_text)?,
            "bs" => self.bs = parse_size(value).map_err(to_text)?,
            "depth" => self.depth = count()?,
            "jobs" => self.jobs = count()?.into(),
            "cpus" => {
                let cpus = value.split('+').map(|cpu| cpu.parse().ok().map(CpuId));
                let cpus: Option<Vec<CpuId>> = cpus.collect();
                self.cpus = cpus.ok_or("cpus are numbers joined by +, such as 1 or 1+3")?;
            }
            "wait" if value == "poll" => self.poll = true,
            "wait" if value == "interrupt" => self.poll = false,
            _ => return Err(format!("`{key}={value}` is not understood")),
        }
        Ok(())
    }
}

const KEYS: [&str; 7] = ["engine", "rw", "bs", "depth", "jobs", "cpus", "wait"];

/// Splits a job's text at commas. The commas of an engine, as in `sim:exp(20us),servers=4`, stay.
fn split_job(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let key = part.split_once('=').map(|(key, _)| key);
        let is_of_job = key.is_some_and(|key| KEYS.contains(&key));
        match parts.last_mut() {
            Some(engine) if !is_of_job && engine.starts_with("engine=") => {
                engine.push(',');
                engine.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

fn to_text(error: impl fmt::Display) -> String {
    error.to_string()
}

impl FromStr for BackgroundSpec {
    type Err = ParseBackgroundError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem: String| ParseBackgroundError {
            text: text.to_owned(),
            problem,
        };
        let mut spec = BackgroundSpec::published_on_cpu(CpuId(0));
        spec.cpus.clear();
        for part in split_job(text) {
            let pair = part.split_once('=');
            let (key, value) = pair.ok_or_else(|| error(format!("`{part}` has no `=`")))?;
            spec.set(key, value).map_err(error)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for BackgroundSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(engine) = &self.engine {
            write!(f, "engine={engine},")?;
        }
        let (pattern, bs, depth, jobs) = (self.pattern, self.bs.0, self.depth, self.jobs);
        write!(f, "rw={pattern},bs={bs},depth={depth},jobs={jobs}")?;
        let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        if !cpus.is_empty() {
            write!(f, ",cpus={}", cpus.join("+"))?;
        }
        write!(f, ",wait={}", if self.poll { "poll" } else { "interrupt" })
    }
}

/// All background jobs that run at the same time.
///
/// The text joins them by `;`; `none` means no job.
///
/// ```
/// use q2c_workbench::workload::Background;
///
/// let two: Background = "bs=32k; rw=randwrite,bs=4k,cpus=1".parse()?;
/// assert_eq!(two.0.len(), 2);
/// assert_eq!("none".parse::<Background>()?.to_string(), "none");
/// # Ok::<(), q2c_workbench::workload::ParseBackgroundError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Background(pub Vec<BackgroundSpec>);

q2c_model::serde_as_text!(BackgroundSpec, Background);

const NONE: &str = "none";

/// Where the lanes of background jobs do their I/O.
pub struct BackgroundPlace<'a> {
    /// Engine of jobs that name none.
    pub engine: &'a EngineSpec,
    /// Returns the medium for an engine's I/O.
    pub medium: &'a dyn Fn(&EngineSpec) -> Medium,
    /// Length of the used part of the target, which starts at offset 0.
    pub span: Bytes,
    /// Seed of the offsets.
    pub seed: u64,
}

impl Background {
    /// The same jobs; each that names no CPU gets `cpu`.
    pub(crate) fn placed_on(&self, cpu: CpuId) -> Self {
        let mut placed = self.clone();
        for job in placed.0.iter_mut().filter(|job| job.cpus.is_empty()) {
            job.cpus = vec![cpu];
        }
        placed
    }

    /// The CPU of each lane. Every job must have CPUs.
    pub fn cpus(&self) -> Vec<CpuId> {
        let lanes = self.lanes().enumerate();
        lanes.map(|(n, job)| job.cpus[n % job.cpus.len()]).collect()
    }

    /// A plan for each lane, with its job's `activities`. Every job must have CPUs.
    pub fn plans(
        &self,
        place: &BackgroundPlace<'_>,
        activities: &dyn Fn(&BackgroundSpec) -> Vec<Activity>,
    ) -> Vec<JobPlan> {
        let plan = |((n, job), cpu): ((usize, &BackgroundSpec), CpuId)| {
            let engine = job.engine_beside(place.engine);
            JobPlan {
                name: format!("background job {n}"),
                medium: (place.medium)(&engine),
                engine,
                pattern: job.pattern,
                bs: job.bs,
                base: Bytes(0),
                span: place.span,
                depth: job.depth,
                cpu,
                roams_on: Vec::new(),
                seed: place.seed.wrapping_add(104_729 * (n as u64 + 1)),
                activities: activities(job),
                capacity: 0,
                tally: false,
                rate: None,
                think: None,
                stop_on_fault: true,
            }
        };
        let lanes = self.lanes().enumerate().zip(self.cpus());
        lanes.map(plan).collect()
    }

    fn lanes(&self) -> impl Iterator<Item = &BackgroundSpec> {
        let jobs = self.0.iter();
        jobs.flat_map(|job| std::iter::repeat_n(job, job.jobs as usize))
    }
}

impl FromStr for Background {
    type Err = ParseBackgroundError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == NONE {
            return Ok(Background::default());
        }
        let jobs = text.split(';').map(|job| job.trim().parse());
        jobs.collect::<Result<_, _>>().map(Background)
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(if jobs.is_empty() { NONE } else { "" })?;
        f.write_str(&jobs.join(";"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_without_an_engine_take_one_that_can_wait_for_interrupts() {
        let beside = |job: &str, foreground: &str| {
            let job: BackgroundSpec = job.parse().unwrap();
            job.engine_beside(&foreground.parse().unwrap()).to_string()
        };
        assert_eq!(beside("bs=4k", "libaio"), "libaio");
        assert_eq!(beside("bs=4k", "pvsync2:hipri"), "io_uring:ring");
        assert_eq!(beside("engine=null,bs=4k", "pvsync2:hipri"), "null");
        let iopoll = "io_uring:iopoll";
        assert_eq!(beside("engine=io_uring,bs=4k", iopoll), iopoll);
    }

    #[test]
    fn text_round_trips() {
        let text = "engine=null,rw=randwrite,bs=65536,depth=4,jobs=2,cpus=1+3,wait=poll";
        assert_eq!(text.parse::<BackgroundSpec>().unwrap().to_string(), text);
        // The texts of simulated devices contain commas themselves.
        for engine in [
            "sim:2ms",
            "sim:lognormal(50us,0.3),servers=4",
            "sim:exp(20us)",
        ] {
            let job: BackgroundSpec = format!("engine={engine},bs=4k").parse().unwrap();
            assert_eq!(job.to_string().parse(), Ok(job), "{engine}");
        }
    }

    #[test]
    fn wrong_parts_are_named() {
        for (text, part) in [
            ("bs", "`bs`"),
            ("bs=x", "size"),
            ("depth=0", "depth"),
            ("depth=1025", "from 1 to 1024"),
            ("jobs=999999999", "from 1 to 1024"),
            ("jobs=4294967296", "from 1 to 1024"),
            ("speed=9", "speed=9"),
        ] {
            let error = text.parse::<BackgroundSpec>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn jobs_of_one_background_are_joined_and_none_is_a_value() {
        let text = "rw=randread,bs=32768,depth=1,jobs=1,wait=interrupt;\
                    rw=randwrite,bs=4096,depth=2,jobs=3,cpus=1+3,wait=poll";
        let both: Background = text.parse().unwrap();
        assert_eq!(both.to_string(), text);
        let placed = both.placed_on(CpuId(7));
        assert_eq!(placed.cpus(), [7, 3, 1, 3].map(CpuId));
        assert_eq!("none".parse(), Ok(Background::default()));
        assert_eq!(Background::default().to_string(), "none");
        let wrong = "bs=4k;speed=9".parse::<Background>().unwrap_err();
        assert!(wrong.to_string().contains("speed=9"), "{wrong}");
        assert!("none;bs=4k".parse::<Background>().is_err());
    }
}
