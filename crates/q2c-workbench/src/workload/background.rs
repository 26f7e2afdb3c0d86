//! Background jobs as text: `rw=randread,bs=32k,depth=4,jobs=2,cpus=1`.

use super::{StageId, Stages};
use q2c_engine::{Activity, EngineSpec, Pattern, Wait};
use q2c_model::{Bytes, CpuId, parse_size};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Background jobs of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundSpec {
    /// Engine; `None` takes that of the foreground.
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
    /// Whether the jobs poll; else they wait for interrupts.
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

impl BackgroundSpec {
    /// One job of random reads of 32 KiB at depth 1 that waits for interrupts, as in the published
    /// tuning run.
    #[must_use]
    pub fn on(cpu: CpuId) -> Self {
        let pattern = Pattern {
            random: true,
            write: false,
        };
        let bs = Bytes(32 << 10);
        let cpus = vec![cpu];
        BackgroundSpec {
            engine: None,
            pattern,
            bs,
            depth: 1,
            jobs: 1,
            cpus,
            poll: false,
            stages: Vec::new(),
        }
    }

    pub(super) fn activities(&self, stages: &Stages) -> Vec<Activity> {
        let mut active = false;
        let of_stage = |id: StageId| {
            let before = active;
            active = self.stages.is_empty() || self.stages.contains(&id);
            match (active, before) {
                (false, _) => Activity::Idle,
                (true, true) => Activity::Continue,
                (true, false) => self.at_work(),
            }
        };
        stages.iter().map(|(id, _)| id).map(of_stage).collect()
    }

    /// The activity with which the jobs begin their work.
    #[must_use]
    pub fn at_work(&self) -> Activity {
        Activity::Start(match self.poll {
            true => Wait::Poll,
            false => Wait::Interrupt,
        })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = |e: &dyn fmt::Display| e.to_string();
        let whole = |least: u32| {
            value
                .parse::<u32>()
                .ok()
                .filter(|&n| n >= least)
                .ok_or(format!("{key} must be a whole number from {least}"))
        };
        match key {
            "engine" => self.engine = Some(value.parse().map_err(|e| words(&e))?),
            "rw" => self.pattern = value.parse().map_err(|e| words(&e))?,
            "bs" => self.bs = parse_size(value).map_err(|e| words(&e))?,
            "depth" => {
                self.depth =
                    u16::try_from(whole(1)?).map_err(|_| "depth is at most 65535".to_owned())?
            }
            "jobs" => self.jobs = whole(1)?,
            "cpus" => {
                let cpus: Option<Vec<CpuId>> = value
                    .split('+')
                    .map(|c| c.parse().ok().map(CpuId))
                    .collect();
                self.cpus = cpus.ok_or("cpus are numbers joined by +, such as 1 or 1+3")?;
            }
            "wait" if value == "poll" => self.poll = true,
            "wait" if value == "interrupt" => self.poll = false,
            _ => return Err(format!("`{key}={value}` is not understood")),
        }
        Ok(())
    }
}

impl FromStr for BackgroundSpec {
    type Err = ParseBackgroundError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem: String| ParseBackgroundError {
            text: text.to_owned(),
            problem,
        };
        let mut spec = BackgroundSpec::on(CpuId(0));
        spec.cpus.clear();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(format!("`{part}` has no `=`")))?;
            spec.set(key, value).map_err(wrong)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for BackgroundSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(engine) = &self.engine {
            write!(f, "engine={engine},")?;
        }
        let BackgroundSpec {
            pattern,
            bs,
            depth,
            jobs,
            ..
        } = self;
        write!(f, "rw={pattern},bs={},depth={depth},jobs={jobs}", bs.0)?;
        let cpus: Vec<String> = self.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        if !cpus.is_empty() {
            write!(f, ",cpus={}", cpus.join("+"))?;
        }
        write!(f, ",wait={}", if self.poll { "poll" } else { "interrupt" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let text = "engine=null,rw=randwrite,bs=65536,depth=4,jobs=2,cpus=1+3,wait=poll";
        assert_eq!(text.parse::<BackgroundSpec>().unwrap().to_string(), text);
    }

    #[test]
    fn wrong_parts_are_named() {
        for (text, part) in [
            ("bs", "`bs`"),
            ("bs=x", "size"),
            ("depth=0", "depth"),
            ("speed=9", "speed=9"),
        ] {
            let error = text.parse::<BackgroundSpec>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
