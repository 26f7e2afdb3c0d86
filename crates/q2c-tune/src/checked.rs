//! Which values a plan may have: those that the command line takes, also when the plan is read
//! back.

use crate::{TuneJobsSpec, TuneSpec};
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, Nanos};
use q2c_policy::PolicySpec;
use q2c_run::run_dir::{CheckedPlan, PlanFault};
use q2c_sim::{MinIops, Objective};
use q2c_workbench::check_machine;
use q2c_workbench::workload::BackgroundSpec;
use std::ops::RangeInclusive;

/// Range of the seconds of a trial's measured part.
pub const SECONDS: RangeInclusive<f64> = 0.1..=3600.0;
/// Range of the trials that an answer stands on.
pub const TRIALS: RangeInclusive<u32> = 1..=1000;
/// Range of a think time: with a longer one a trial has too few I/Os.
pub const THINK: RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_millis(1_000);
/// Range of a part and of a polled slice, seconds: a trial has at most some 100,000 of them.
const PART: RangeInclusive<f64> = 0.02..=3600.0;
/// The first recording is as long as two trials.
const RECORD: RangeInclusive<f64> = 0.1..=7200.0;
/// Any number that is not negative and can be a time in ns.
const FINITE: RangeInclusive<f64> = 0.0..=1e19;
/// Range of the budget, seconds: the longest duration of the command line are 584 years.
const BUDGET: RangeInclusive<f64> = 0.0..=2e10;
/// Most foreground jobs.
const MOST_JOBS: u32 = 1024;

impl CheckedPlan for TuneSpec {
    fn check(&self) -> Result<(), PlanFault> {
        self.check_texts()?;
        PlanFault::within("seconds", &self.seconds, SECONDS)?;
        PlanFault::within("part_seconds", &self.part_seconds, PART)?;
        PlanFault::within("slice_seconds", &self.slice_seconds, PART)?;
        PlanFault::within("record_seconds", &self.record_seconds, RECORD)?;
        PlanFault::within("trials", &self.trials, TRIALS)?;
        PlanFault::within("seed", &self.seed, 0..=(1 << 62) - 1)?;
        for (field, value) in [
            ("max_p99_ns", self.max_p99_ns),
            ("max_cpu_pct", self.max_cpu_pct),
        ] {
            value.map_or(Ok(()), |value| PlanFault::within(field, &value, FINITE))?;
        }
        if let Some(think) = self.think() {
            PlanFault::within("think_ns", &think, THINK)?;
        }
        PlanFault::within("budget_s", &self.budget_s.unwrap_or_default(), BUDGET)?;
        PlanFault::each_within("sizes", &self.sizes, &(Bytes(1)..=Bytes(u64::MAX)))?;
        PlanFault::each_once("sizes", &self.sizes)?;
        check_machine(self.machine.as_ref())?;
        PlanFault::some("cpus", &self.cpus)?;
        PlanFault::within("number of cpus", &(self.cpus.len() as u32), 1..=MOST_JOBS)
    }
}

impl TuneSpec {
    fn check_texts(&self) -> Result<(), PlanFault> {
        PlanFault::read::<EngineSpec>("engine", &self.engine)?;
        PlanFault::read::<Pattern>("rw", &self.rw)?;
        PlanFault::read::<Objective>("objective", &self.objective)?;
        if let Some(min) = &self.min_iops {
            PlanFault::read::<MinIops>("min_iops", min)?;
        }
        for job in &self.background {
            PlanFault::read::<BackgroundSpec>("background", job)?;
        }
        for rule in &self.rules {
            PlanFault::read::<PolicySpec>("rules", rule)?;
        }
        Ok(())
    }
}

impl CheckedPlan for TuneJobsSpec {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::each_within("jobs", &self.jobs, &(1..=MOST_JOBS))?;
        if self.jobs.len() < 2 || !self.jobs.is_sorted_by(|a, b| a < b) {
            let expected = "two numbers or more in rising order";
            return Err(PlanFault::new("jobs", expected, format!("{:?}", self.jobs)));
        }
        self.each.check()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The plan of `q2c tune sim:50us` with its defaults.
    pub(crate) fn good() -> TuneSpec {
        TuneSpec {
            machine: None,
            target: "sim:50us".to_owned(),
            scratch: false,
            program: false,
            engine: "sim:50us".to_owned(),
            rw: "randread".to_owned(),
            think_ns: Some(100_000),
            sizes: vec![Bytes(4096)],
            cpus: vec![1],
            background: Vec::new(),
            rules: vec!["min:70%,10ms".to_owned()],
            seconds: 1.0,
            part_seconds: 0.0613,
            slice_seconds: 0.0417,
            record_seconds: 2.0,
            trials: 5,
            all_trials: false,
            objective: "iops".to_owned(),
            min_iops: Some("93%".to_owned()),
            max_p99_ns: None,
            max_cpu_pct: Some(50.0),
            budget_s: None,
            seed: 1,
        }
    }

    #[test]
    fn each_field_is_checked() {
        assert_eq!(good().check(), Ok(()));
        type Spoil = fn(&mut TuneSpec);
        let spoilt: [(&str, Spoil); 21] = [
            ("think_ns", |s| s.think_ns = Some(0)),
            ("think_ns", |s| s.think_ns = Some(u64::MAX)),
            ("sizes", |s| s.sizes = vec![Bytes(512); 2]),
            ("budget_s", |s| s.budget_s = Some(1e300)),
            ("seconds", |s| s.seconds = -1.0),
            ("seconds", |s| s.seconds = f64::NAN),
            ("part_seconds", |s| s.part_seconds = 1e-300),
            ("slice_seconds", |s| s.slice_seconds = f64::INFINITY),
            ("record_seconds", |s| s.record_seconds = 0.0),
            ("trials", |s| s.trials = u32::MAX),
            ("trials", |s| s.trials = 0),
            ("seed", |s| s.seed = u64::MAX),
            ("sizes", |s| s.sizes.clear()),
            ("cpus", |s| s.cpus.clear()),
            ("objective", |s| s.objective = "fastest".to_owned()),
            ("rules", |s| s.rules = vec!["min:170%,10ms".to_owned()]),
            ("min_iops", |s| s.min_iops = Some("-9".to_owned())),
            ("engine", |s| {
                s.engine = "sim:50us,servers=4294967295".to_owned()
            }),
            ("background", |s| {
                s.background = vec!["jobs=999999999".to_owned()]
            }),
            ("max_cpu_pct", |s| s.max_cpu_pct = Some(f64::NAN)),
            ("budget_s", |s| s.budget_s = Some(-1.0)),
        ];
        for (field, spoil) in spoilt {
            let mut spec = good();
            spoil(&mut spec);
            let fault = spec.check().unwrap_err().to_string();
            assert!(fault.starts_with(field), "{field}: {fault}");
        }
    }

    #[test]
    fn numbers_of_jobs_rise() {
        let with = |jobs: &[u32]| {
            let jobs = jobs.to_vec();
            let each = good();
            TuneJobsSpec { jobs, each }.check()
        };
        assert_eq!(with(&[1, 4]), Ok(()));
        for wrong in [&[][..], &[1], &[2, 2], &[4, 1], &[0, 1], &[1, u32::MAX]] {
            assert!(with(wrong).is_err(), "{wrong:?}");
        }
    }
}
