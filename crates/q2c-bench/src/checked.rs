//! Which values a plan may have: those that the command line takes, also when the plan is read
//! back.

use crate::BenchSpec;
use crate::interface::Interface;
use q2c_engine::Pattern;
use q2c_model::Bytes;
use q2c_run::run_dir::{CheckedPlan, PlanFault};
use q2c_workbench::check_machine;
use q2c_workbench::workload::Background;
use std::ops::RangeInclusive;

/// Range of the seconds of a trial's warm-up and of its measured part.
pub const SECONDS: RangeInclusive<f64> = 0.2..=3600.0;
/// Range of the trials of a point.
pub const TRIALS: RangeInclusive<u32> = 1..=1000;
/// Range of a job file's warm-up, which may be none.
const WARM_UP: RangeInclusive<f64> = 0.0..=3600.0;
/// Range of the numbers of jobs.
const JOBS: RangeInclusive<u32> = 1..=1024;
/// Range of the requests in flight of a job.
const DEPTHS: RangeInclusive<u16> = 1..=1024;
/// Range of the settings of a device.
const SETTINGS: RangeInclusive<u32> = 1..=65_536;
const SIZES: RangeInclusive<Bytes> = Bytes(1)..=Bytes(u64::MAX);
/// Range of the budget, seconds: the longest duration of the command line are 584 years.
const BUDGET: RangeInclusive<f64> = 0.0..=2e10;
/// Fewest submissions that a trial of an open loop is expected to have.
const FEWEST: f64 = 10.0;
/// Any finite number above 0.
const ABOVE_0: RangeInclusive<f64> = f64::MIN_POSITIVE..=f64::MAX;

impl CheckedPlan for BenchSpec {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::within("seconds", &self.seconds, SECONDS)?;
        PlanFault::within("warm_up_seconds", &self.warm_up_seconds, WARM_UP)?;
        PlanFault::within("trials", &self.trials, TRIALS)?;
        PlanFault::within("seed", &self.seed, 0..=(1 << 62) - 1)?;
        PlanFault::some("cpus", &self.cpus)?;
        for (field, value) in [
            ("precision", self.precision),
            ("rate", self.rate),
            ("rating", self.rating),
        ] {
            value.map_or(Ok(()), |value| PlanFault::within(field, &value, ABOVE_0))?;
        }
        self.check_rate()?;
        let budget = self.budget_s.unwrap_or_default();
        PlanFault::within("budget_s", &budget, BUDGET)?;
        check_machine(self.machine.as_ref())?;
        self.check_axes()?;
        self.check_named_points()
    }
}

impl BenchSpec {
    /// A rate must give each job I/Os to measure: of a Poisson process with [`FEWEST`] expected
    /// ones, one trial in 20,000 has none.
    fn check_rate(&self) -> Result<(), PlanFault> {
        let least = FEWEST / self.seconds;
        match self.rate {
            Some(rate) if rate < least => Err(PlanFault::new(
                "rate",
                format!(
                    "{least:.3} per second or more, or longer trials: {FEWEST} submissions in each"
                ),
                rate,
            )),
            _ => Ok(()),
        }
    }

    fn check_axes(&self) -> Result<(), PlanFault> {
        PlanFault::some("engines", &self.engines)?;
        PlanFault::some("methods", &self.methods)?;
        PlanFault::some("patterns", &self.patterns)?;
        PlanFault::some("backgrounds", &self.backgrounds)?;
        PlanFault::each_within("jobs", &self.jobs, &JOBS)?;
        PlanFault::each_within("depths", &self.depths, &DEPTHS)?;
        PlanFault::each_within("sizes", &self.sizes, &SIZES)?;
        for (field, values) in [
            ("hw_queues", &self.hw_queues),
            ("nr_requests", &self.nr_requests),
        ] {
            for value in values {
                PlanFault::within(field, value, SETTINGS)?;
            }
            PlanFault::each_once(field, values)?;
        }
        PlanFault::each_once("engines", &self.engines)?;
        PlanFault::each_once("methods", &self.methods)?;
        PlanFault::each_once("jobs", &self.jobs)?;
        PlanFault::each_once("depths", &self.depths)?;
        PlanFault::each_once("sizes", &self.sizes)?;
        PlanFault::each_once("patterns", &self.patterns)?;
        PlanFault::each_once("backgrounds", &self.backgrounds)?;
        for engine in &self.engines {
            PlanFault::read::<Interface>("engines", engine)?;
        }
        for pattern in &self.patterns {
            PlanFault::read::<Pattern>("patterns", pattern)?;
        }
        for background in self.backgrounds.iter().filter(|text| !text.is_empty()) {
            PlanFault::read::<Background>("backgrounds", background)?;
        }
        Ok(())
    }

    fn check_named_points(&self) -> Result<(), PlanFault> {
        for point in &self.points {
            PlanFault::read::<Interface>("points.engine", &point.engine)?;
            PlanFault::read::<Pattern>("points.rw", &point.rw)?;
            PlanFault::within("points.jobs", &point.jobs, JOBS)?;
            PlanFault::within("points.depth", &point.depth, DEPTHS)?;
            PlanFault::within("points.bs", &point.bs, SIZES)?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_policy::Method;

    /// The plan of `q2c bench sim:50us` with its defaults.
    pub(crate) fn good() -> BenchSpec {
        BenchSpec {
            machine: None,
            target: "sim:50us".to_owned(),
            scratch: false,
            engines: vec!["sim:50us".to_owned()],
            methods: vec![Method::INTERRUPT],
            jobs: vec![1],
            depths: vec![1],
            sizes: vec![Bytes(4096)],
            patterns: vec!["randread".to_owned()],
            hw_queues: Vec::new(),
            nr_requests: Vec::new(),
            seconds: 3.0,
            warm_up_seconds: 1.0,
            trials: 5,
            precision: Some(0.03),
            cpus: vec![1],
            cpu_order: String::new(),
            rate: None,
            rating: None,
            budget_s: None,
            seed: 1,
            span: None,
            points: Vec::new(),
            backgrounds: vec![String::new()],
            phases: false,
            tuned: None,
            stages: false,
        }
    }

    #[test]
    fn each_field_is_checked() {
        assert_eq!(good().check(), Ok(()));
        type Spoil = fn(&mut BenchSpec);
        let spoilt: [(&str, Spoil); 19] = [
            ("engines", |s| s.engines = vec!["libaio".to_owned(); 2]),
            ("methods", |s| s.methods = vec![Method::POLL; 2]),
            ("seconds", |s| s.seconds = -1.0),
            ("seconds", |s| s.seconds = f64::NAN),
            ("warm_up_seconds", |s| s.warm_up_seconds = 1e300),
            ("trials", |s| s.trials = u32::MAX),
            ("seed", |s| s.seed = u64::MAX),
            ("cpus", |s| s.cpus.clear()),
            ("precision", |s| s.precision = Some(f64::NAN)),
            ("rate", |s| s.rate = Some(0.0)),
            ("rate", |s| s.rate = Some(9.9 / s.seconds)),
            ("budget_s", |s| s.budget_s = Some(f64::NAN)),
            ("engines", |s| s.engines = vec!["magic".to_owned()]),
            ("methods", |s| s.methods.clear()),
            ("patterns", |s| s.patterns = vec!["sideways".to_owned()]),
            ("jobs", |s| s.jobs = vec![u32::MAX]),
            ("depths", |s| s.depths = vec![0]),
            ("backgrounds", |s| s.backgrounds.clear()),
            ("backgrounds", |s| s.backgrounds = vec!["jobs=0".to_owned()]),
        ];
        for (field, spoil) in spoilt {
            let mut spec = good();
            spoil(&mut spec);
            let fault = spec.check().unwrap_err().to_string();
            assert!(fault.starts_with(field), "{field}: {fault}");
        }
    }
}
