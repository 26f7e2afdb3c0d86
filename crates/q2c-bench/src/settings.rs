//! The settings of a run. The arguments of `q2c bench` are also its plan. One type holds what is
//! typed, what a job file or `q2c.toml` fills in, and what `plan.toml` keeps.

use crate::fio::Size;
use crate::interface::Interface;
use crate::spec::{Axes, DEPTHS, JOBS, SIZES};
use clap::Args;
use q2c_engine::engines::behind_interface;
use q2c_engine::{Pattern, SimMachine};
use q2c_host::topology::ChosenCpus;
use q2c_model::{Bytes, CpuId, List, parse_budget, parse_cpus, parse_seconds_in, parse_size};
use q2c_result::bench::{BenchPoint, TunedRun};
use q2c_result::{Target, TargetKind};
use q2c_run::arguments::{LimitArgs, RunArgs, TypedNames};
use q2c_run::run_dir::{CheckedPlan, PlanFault};
use q2c_workbench::MIN_BLOCKS;
use q2c_workbench::check_machine;
use q2c_workbench::settings::MachineArgs;
use q2c_workbench::workbench::WorkloadRequest;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Range of a trial's warm-up and of its measured part, seconds.
pub(crate) const TRIAL_SECONDS: RangeInclusive<f64> = 0.2..=3600.0;
pub(crate) const TRIALS: RangeInclusive<u32> = 1..=1000;

/// Range of a job file's warm-up, seconds; 0 means none.
const WARM_UP_SECONDS: RangeInclusive<f64> = 0.0..=3600.0;
/// Range of the budget, seconds. The command line accepts durations of up to 584 years.
const BUDGET_S: RangeInclusive<f64> = 0.0..=2e10;
/// Fewest submissions that an open-loop trial must be expected to have.
const MIN_SUBMISSIONS: f64 = 10.0;
/// Any finite number above 0.
const POSITIVE: RangeInclusive<f64> = f64::MIN_POSITIVE..=f64::MAX;

/// Compare interfaces and methods over jobs.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub struct BenchSettings {
    /// What was typed, which wins over a job file.
    #[command(flatten)]
    #[serde(skip)]
    pub typed: TypedNames,
    /// File or block device; an NVMe namespace's character device (/dev/ng0n1); for spdk a
    /// controller's PCI address (0000:04:00.0); or a simulated device such as sim:50us,servers=8
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// The machine of a simulated target.
    #[command(flatten)]
    #[serde(skip)]
    pub simulated: MachineArgs,
    /// Points and target from a fio job file; flags win over it, and what q2c does not have is
    /// named with its line
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub fio: Option<PathBuf>,
    /// With --fio: only this section of the file, with the global ones; several may be given
    #[arg(long, value_name = "NAME", requires = "fio")]
    #[serde(skip)]
    pub section: Vec<String>,
    /// With --fio: leave this option of the file out; several may be given
    #[arg(long, value_name = "OPTION", requires = "fio")]
    #[serde(skip)]
    pub ignore: Vec<String>,
    /// The axes.
    #[command(flatten)]
    #[serde(flatten)]
    pub axes: Axes,
    /// Make the backgrounds phases of one trial: the jobs run on while the background changes
    #[arg(long, requires = "background")]
    pub phases: bool,
    /// Also measure what this run of q2c tune recommends
    ///
    /// Also measure the method that this run of `q2c tune` recommends for each block size
    #[arg(long, value_name = "RUN")]
    #[serde(skip)]
    pub tuned: Option<PathBuf>,
    /// Measure stages in the block layer, in a run of its own (root, but for simulated targets)
    ///
    /// After all trials, run each point once more with the block layer captured: where its I/Os
    /// spend their time, stage by stage, and which hardware queues take them (needs root)
    #[arg(long)]
    pub stages: bool,
    /// Measured part of each trial [default: 3s]
    #[arg(short = 's', long, value_name = "DURATION", value_parser = seconds, default_value = "3s")]
    #[arg(hide_default_value = true)]
    pub seconds: f64,
    /// Warm-up before it at most: it ends when throughput has settled [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = seconds, default_value = "1s")]
    #[arg(hide_default_value = true)]
    #[serde(rename = "warm_up_seconds")]
    pub warm_up: f64,
    /// Trials of each point
    #[arg(short = 't', long, default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Also run the trials of what was invalid twice for one reason
    #[arg(long)]
    #[serde(skip)]
    pub all_trials: bool,
    /// Add trials until the median is known this well, such as 3%
    ///
    /// Add trials until the median's interval is narrower than this share of it, such as 3%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Open loop: submissions of each job per second, as a Poisson process; latency counts from the
    /// intended time
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// CPUs in the order in which jobs take them, separated by commas; auto takes cores before SMT
    /// siblings, the device's NUMA node first, and the first job's by trials of a moment each
    #[arg(long, value_name = "LIST", default_value = "auto", value_parser = parse_cpus)]
    pub cpus: List<u32>,
    /// The device's rating in IOPS: what lies above it is flagged
    #[arg(long, value_name = "IOPS", value_parser = rate, allow_hyphen_values = true)]
    pub rating: Option<f64>,
    /// Time for all trials, such as 10m: fewer trials are run when they do not fit
    #[arg(id = "budget", long, value_name = "DURATION", value_parser = parse_budget)]
    pub budget_s: Option<f64>,
    /// What the run must keep.
    #[command(flatten)]
    #[serde(skip)]
    pub limits: LimitArgs,
    /// Go on with this interrupted run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "scratch", "fio"])]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// Place of the run.
    #[command(flatten)]
    #[serde(flatten)]
    pub run: RunArgs,
    /// The order of the CPUs in words.
    #[arg(skip)]
    pub cpu_order: String,
    /// Part of the target in use, from its start; `None` for all of it.
    #[arg(skip)]
    pub span: Option<Bytes>,
    /// The points, when they are fewer than the axes make together; empty when they are all.
    #[arg(skip)]
    pub points: Vec<BenchPoint>,
    /// The methods of the run of `q2c tune`, which are points beside those of the axes.
    #[arg(skip)]
    #[serde(rename = "tuned")]
    pub recommended: Option<TunedRun>,
    /// The machine on which a simulated target is measured; `None` for this one.
    #[arg(skip)]
    pub machine: Option<SimMachine>,
}

fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds_in(text, TRIAL_SECONDS)
}

fn rate(text: &str) -> Result<f64, &'static str> {
    let value: Option<f64> = text.parse().ok();
    let value = value.filter(|r| *r > 0.0 && *r <= 1e9);
    value.ok_or("expected a number above 0 and up to 10^9")
}

fn percent(text: &str) -> Result<f64, &'static str> {
    let value: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|p| *p > 0.0 && *p < 100.0);
    let percent = value.ok_or("expected a percentage above 0 and below 100")?;
    Ok(percent / 100.0)
}

impl BenchSettings {
    /// The target; empty as long as none was named.
    pub(crate) fn target(&self) -> &str {
        self.target.as_deref().unwrap_or_default()
    }

    /// The workload for which the target is opened: one that writes, if any pattern writes.
    pub fn request(&self) -> WorkloadRequest {
        let writes = self.axes.rw.iter().find(|pattern| pattern.writes());
        let background = self.axes.distinct_backgrounds().into_iter();
        WorkloadRequest {
            target: self.target().to_owned(),
            engine: None,
            pattern: writes.copied().unwrap_or(Pattern::RANDREAD),
            sizes: self.axes.bs.clone(),
            jobs: 1,
            cpus: self.cpus.iter().copied().map(CpuId).collect(),
            background: background.flat_map(|jobs| jobs.0).collect(),
            allow_write: self.run.allow_write.clone(),
            seed: self.run.seed,
            machine: self.machine.clone(),
        }
    }

    /// Settles all values that depend on the open target and the CPUs: the plan is complete.
    pub fn settle(&mut self, target: &Target, cpus: &ChosenCpus) {
        let engines: &[&str] = match target.kind {
            TargetKind::Simulated => &[self.target.as_deref().unwrap_or_default()],
            TargetKind::NvmeGeneric => &["io_uring_cmd"],
            TargetKind::Pci => &["spdk"],
            _ => &["io_uring", "libaio", "pvsync2"],
        };
        let engines = engines.iter().map(|&name| name.to_owned());
        let engines = self.axes.engine.get_or_insert_with(|| engines.collect());
        // A path is no simulated device, whatever its name.
        if let (TargetKind::Simulated, Some(name)) = (target.kind, &self.target) {
            let behind = |engine: &mut String| {
                if let Some(text) = behind_interface(name, engine) {
                    *engine = text;
                }
            };
            let points = self.points.iter_mut().map(|point| &mut point.engine);
            engines.iter_mut().chain(points).for_each(behind);
        }
        self.axes.background = self.axes.distinct_backgrounds();
        self.cpus = cpus.cpus.iter().map(|cpu| cpu.0).collect();
        self.cpu_order.clone_from(&cpus.words);
    }

    /// The settings of a stored plan, with the arguments that each session chooses anew.
    pub fn with_session(self, session: &BenchSettings) -> BenchSettings {
        BenchSettings {
            all_trials: session.all_trials,
            limits: session.limits.clone(),
            run: session.run.with_seed_of(&self.run),
            ..self
        }
    }

    /// Length of the used part; `None` for all. It must hold [`MIN_BLOCKS`] largest blocks.
    pub fn used_span(&self, size: Option<Size>, whole: Bytes) -> Result<Option<Bytes>, String> {
        let whole = whole.0;
        let span = match size {
            None | Some(Size::Percent(100)) => return Ok(None),
            Some(Size::Bytes(bytes)) => bytes.0,
            Some(Size::Percent(percent)) => (u128::from(whole) * u128::from(percent) / 100) as u64,
        };
        let largest = self.axes.bs.iter().map(|bs| bs.0).max().unwrap_or(0);
        let least = MIN_BLOCKS * largest;
        if (least..=whole).contains(&span) {
            return Ok(Some(Bytes(span)));
        }
        Err(format!(
            "use {span} bytes of the target, as size= of the fio job file asks: the target has {whole}, and {MIN_BLOCKS} of the largest \
             blocks, {least} bytes, must fit"
        ))
    }

    /// The interfaces, parsed from their names on the axis.
    pub fn interfaces(&self) -> Result<Vec<Interface>, String> {
        let names = self.axes.engines().iter();
        names.map(|name| name.parse()).collect()
    }

    /// A rate must give each job I/Os to measure. A Poisson process with [`MIN_SUBMISSIONS`]
    /// expected I/Os has none in one trial of 20,000.
    fn check_rate(&self) -> Result<(), PlanFault> {
        let least = MIN_SUBMISSIONS / self.seconds;
        let Some(rate) = self.rate.filter(|&rate| rate < least) else {
            return Ok(());
        };
        let expected = format!(
            "{least:.3} per second or more, or longer trials: {MIN_SUBMISSIONS} submissions in each"
        );
        Err(PlanFault::new("rate", expected, rate))
    }

    fn check_named_points(&self) -> Result<(), PlanFault> {
        for point in &self.points {
            PlanFault::parse::<Interface>("points.engine", &point.engine)?;
            PlanFault::parse::<Pattern>("points.rw", &point.rw)?;
            PlanFault::check_range("points.jobs", &point.jobs, JOBS)?;
            PlanFault::check_range("points.depth", &point.depth, DEPTHS)?;
            PlanFault::check_range("points.bs", &point.bs, SIZES)?;
        }
        Ok(())
    }
}

/// A plan that is read back may have only values that the command line takes.
impl CheckedPlan for BenchSettings {
    fn check(&self) -> Result<(), PlanFault> {
        PlanFault::check_range("seconds", &self.seconds, TRIAL_SECONDS)?;
        PlanFault::check_range("warm_up_seconds", &self.warm_up, WARM_UP_SECONDS)?;
        PlanFault::check_range("trials", &self.trials, TRIALS)?;
        self.run.check()?;
        PlanFault::check_not_empty("cpus", &self.cpus)?;
        for (field, value) in [
            ("precision", self.precision),
            ("rate", self.rate),
            ("rating", self.rating),
        ] {
            value.map_or(Ok(()), |v| PlanFault::check_range(field, &v, POSITIVE))?;
        }
        self.check_rate()?;
        let budget = self.budget_s.unwrap_or_default();
        PlanFault::check_range("budget_s", &budget, BUDGET_S)?;
        check_machine(self.machine.as_ref())?;
        self.axes.check()?;
        self.check_named_points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::settings;
    use q2c_policy::Method;
    use q2c_run::arguments::from_words;

    #[test]
    fn rates_and_ratings_are_numbers_that_a_device_can_have() {
        for text in ["nan", "-5", "0", "inf", "-0", "1e10", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!(rate("750e3"), Ok(750_000.0));
    }

    fn planned(words: &str, kind: TargetKind) -> BenchSettings {
        let mut settings: BenchSettings = from_words(words).unwrap();
        let facts = Target {
            kind,
            ..Target::default()
        };
        let cpus = ChosenCpus {
            cpus: vec![CpuId(2), CpuId(0)],
            words: "as asked".to_owned(),
            borders: Vec::new(),
        };
        settings.settle(&facts, &cpus);
        settings
    }

    #[test]
    fn without_options_the_plan_has_the_defaults_of_the_targets_kind() {
        let plan = planned("d", TargetKind::File);
        let axes = &plan.axes;
        assert_eq!(axes.engines(), ["io_uring", "libaio", "pvsync2"]);
        assert_eq!(axes.method, [Method::INTERRUPT, Method::POLL]);
        assert_eq!((&axes.jobs, &axes.depth), (&vec![1], &vec![1]));
        assert_eq!(axes.bs, [Bytes(4096)]);
        assert_eq!(axes.rw, ["randread".parse().unwrap()]);
        assert_eq!((plan.seconds, plan.warm_up, plan.trials), (3.0, 1.0, 5));
        assert_eq!(plan.cpus, [2, 0]);
        let given = planned("d --jobs 1..3 --bs 8k --rate 10", TargetKind::File);
        assert_eq!(
            (given.axes.jobs, given.axes.bs),
            (vec![1, 2, 3], vec![Bytes(8192)])
        );
        assert_eq!(given.rate, Some(10.0));
        let engines = |kind| planned("d", kind).axes.engine.unwrap();
        assert_eq!(engines(TargetKind::Simulated), ["d"]);
        assert_eq!(engines(TargetKind::NvmeGeneric), ["io_uring_cmd"]);
        assert_eq!(engines(TargetKind::Pci), ["spdk"]);
    }

    #[test]
    fn the_target_is_opened_for_writing_when_one_pattern_writes() {
        let writes = |rw: &str| settings(&format!("d --rw {rw}")).request().pattern.writes();
        assert!(!writes("randread,read"));
        assert!(writes("randread,write"));
        assert!(writes("randread,rw:99"));
    }

    #[test]
    fn a_part_of_the_target_holds_enough_blocks() {
        let plan = settings("d --bs 512,4k");
        let part = |size, whole| plan.used_span(size, Bytes(whole));
        assert_eq!(part(None, 1 << 20), Ok(None));
        assert_eq!(part(Some(Size::Percent(100)), 1 << 20), Ok(None));
        let half = Some(Bytes(1 << 19));
        assert_eq!(part(Some(Size::Percent(50)), 1 << 20), Ok(half));
        let quarter = Bytes(1 << 18);
        let of_bytes = |bytes| part(Some(Size::Bytes(Bytes(bytes))), 1 << 20);
        assert_eq!(of_bytes(1 << 18), Ok(Some(quarter)));
        assert!(of_bytes((1 << 18) - 1).is_err());
        assert!(of_bytes((1 << 20) + 1).is_err());
    }

    #[test]
    fn a_plan_keeps_the_settings_and_not_the_session() {
        let options = "sim:50us --jobs 1,2 --background bs=4k,cpus=1 --background none --seed 7 \
                     --budget 9s --machine here --json --out x --fail-if iops<1";
        let plan = planned(options, TargetKind::Simulated);
        let text = toml::to_string(&plan).unwrap();
        let read: BenchSettings = toml::from_str(&text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), text);
        assert!(!read.run.json && read.limits.fail_if.is_empty(), "{text}");
        let session = from_words("--resume r --json --seed 3 --allow-write d").unwrap();
        let resumed = read.with_session(&session);
        assert!(resumed.run.json && resumed.run.allow_write.len() == 1);
        assert_eq!((resumed.run.seed, resumed.budget_s), (7, Some(9.0)));
    }
}
