//! The job that the arguments of `q2c tune` ask for, in a new run or in one that goes on.

use crate::args::{Counts, TuneArgs};
use crate::failure::{Fails, Failure};
use crate::requests::workload::workload;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, CpuId, Direction, Nanos};
use q2c_result::Exit;
use q2c_result::program::Copied;
use q2c_tune::TuneSpec;
use q2c_workbench::workbench::WorkloadRequest;
use q2c_workbench::workload::{Background, BackgroundSpec};

/// Lengths of a trial's parts and of the polled slices between them, seconds. They are short
/// against the drift of the device, and no multiples of the 10 ms in which CPU times are printed
/// (docs/journal/2026-11-22-verdicts.md).
const PART_S: f64 = 0.0613;
const SLICE_S: f64 = 0.0417;
/// Length of the first recording, in trials.
const RECORD_TRIALS: f64 = 2.0;

/// The numbers of jobs of a new run, ascending.
pub fn numbers_of_jobs(args: &TuneArgs) -> Vec<u32> {
    let mut numbers: Vec<u32> = args.jobs.0.iter().map(|&jobs| jobs.into()).collect();
    numbers.sort_unstable();
    numbers
}

/// Size of the scratch file of a run for a program that names no target.
const SCRATCH: Bytes = Bytes(1 << 30);

/// The arguments with the workload that copies a program. Without a target it runs on a scratch
/// file, so that nothing that exists is written to.
pub fn for_program(args: &TuneArgs, copied: &Copied) -> TuneArgs {
    let mut own = args.clone();
    let workload = &mut own.workload;
    workload.rw = pattern(copied.direction, copied.random);
    workload.bs.clone_from(&copied.sizes);
    let background = copied.background.iter().map(|job| BackgroundSpec {
        engine: None,
        pattern: pattern(job.direction, job.random),
        bs: job.bs,
        depth: job.depth,
        jobs: 1,
        cpus: Vec::new(),
        poll: false,
        stages: Vec::new(),
    });
    workload.background = vec![Background(background.collect())];
    if workload.target.is_none() {
        workload.scratch.get_or_insert(SCRATCH);
    }
    own.think = copied.think_ns.map(|ns| Nanos(ns.round() as u64));
    own.jobs = Counts(vec![u16::try_from(copied.jobs).unwrap_or(u16::MAX)]);
    own
}

fn pattern(direction: Direction, random: bool) -> Pattern {
    let write = direction == Direction::Write;
    Pattern { random, write }
}

/// The job of a new run on `target`. The CPUs are those that the user named.
pub fn new_job(args: &TuneArgs, target: String) -> Result<TuneSpec, Failure> {
    let workload = &args.workload;
    let own = args.own.policies().or_exit(Exit::Usage)?;
    let rules = args.policy.iter().chain(&own).map(ToString::to_string);
    let limits = args.goal.limits();
    let engine = EngineSpec::for_target(workload.engine.as_ref(), &target);
    Ok(TuneSpec {
        engine: engine.or_exit(Exit::Usage)?.to_string(),
        target,
        scratch: workload.scratch.is_some(),
        program: args.program.is_asked_for(),
        rw: workload.rw.to_string(),
        think_ns: args.think.map(|think| think.0),
        sizes: workload.bs.clone(),
        cpus: workload.cpus.0.clone(),
        background: workload
            .background_jobs()
            .iter()
            .map(ToString::to_string)
            .collect(),
        rules: rules.collect(),
        seconds: args.seconds,
        part_seconds: PART_S,
        slice_seconds: SLICE_S,
        record_seconds: args.seconds * RECORD_TRIALS,
        trials: args.trials,
        all_trials: args.all_trials,
        objective: args.goal.objective.to_string(),
        min_iops: limits.min_iops.map(|min| min.to_string()),
        max_p99_ns: limits.max_p99_ns,
        max_cpu_pct: limits.max_cpu_pct,
        budget_s: args.budget.map(|budget| budget.as_secs_f64()),
        seed: workload.run.seed,
        machine: None,
    })
}

/// The workload of a stored job. What the command line says of the job does not count, except for
/// leave to write. The error is the name of the field that cannot be understood.
pub fn stored_workload(spec: &TuneSpec, args: &TuneArgs) -> Result<WorkloadRequest, &'static str> {
    let background = spec.background.iter().map(|job| job.parse());
    Ok(WorkloadRequest {
        pattern: spec.rw.parse().map_err(|_| "rw")?,
        sizes: spec.sizes.clone(),
        cpus: spec.cpus.iter().copied().map(CpuId).collect(),
        background: background
            .collect::<Result<_, _>>()
            .map_err(|_| "background")?,
        engine: Some(spec.engine.parse().map_err(|_| "engine")?),
        seed: spec.seed,
        machine: spec.machine.clone(),
        ..workload(&args.workload, spec.cpus.len() as u32, spec.target.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::tune;
    use q2c_result::program::CopiedBackground;

    #[test]
    fn a_new_job_has_named_rules_before_own_ones() {
        let args =
            tune("sim:50us --rule 0.7*min --policy pas --seconds 2 --min-iops 93% --budget 90s");
        let spec = new_job(&args, "sim:50us".to_owned()).unwrap();
        assert!(spec.engine.starts_with("sim:"), "{}", spec.engine);
        assert_eq!(spec.rules.len(), 2);
        assert!(spec.rules[0].starts_with("pas"), "{:?}", spec.rules);
        assert_eq!(spec.record_seconds, 4.0);
        assert_eq!(
            (spec.min_iops.as_deref(), spec.budget_s),
            (Some("93%"), Some(90.0))
        );
        assert!(new_job(&args, "sim:50parsecs".to_owned()).is_err());
    }

    /// The workload of a program has a scratch file where no target was named.
    #[test]
    fn a_program_becomes_the_workload() {
        let copied = Copied {
            direction: Direction::Write,
            random: true,
            sizes: vec![Bytes(16 << 10), Bytes(4096)],
            jobs: 3,
            think_ns: Some(150_400.4),
            background: vec![CopiedBackground {
                direction: Direction::Read,
                random: false,
                bs: Bytes(128 << 10),
                depth: 5,
            }],
            ..Copied::default()
        };
        let own = for_program(&tune("--from t"), &copied);
        assert_eq!(own.workload.scratch, Some(SCRATCH));
        let spec = new_job(&own, "s".to_owned()).unwrap();
        assert!(spec.program && spec.scratch);
        assert_eq!(
            (spec.rw.as_str(), numbers_of_jobs(&own)),
            ("randwrite", vec![3])
        );
        assert_eq!(spec.sizes, copied.sizes);
        assert_eq!(spec.think_ns, Some(150_400));
        let beside = "rw=read,bs=131072,depth=5,jobs=1,wait=interrupt";
        assert_eq!(spec.background, [beside]);
        let on_target = for_program(&tune("d --from t"), &copied);
        assert_eq!(on_target.workload.scratch, None);
        let small = for_program(&tune("--scratch 16m --from t"), &copied);
        assert_eq!(small.workload.scratch, Some(Bytes(16 << 20)));
    }

    /// What has no meaning without a program, or beside one, is refused.
    #[test]
    fn options_of_a_program_need_one() {
        use crate::args::tests::refused;
        for words in [
            "--process dd d",
            "--record d d",
            "--by bpf d",
            "--record-for 1s --from t",
        ] {
            assert!(tune(words).program.check().is_err(), "{words}");
        }
        assert!(tune("--from t --process dd").program.check().is_ok());
        assert!(tune("--record d -- dd if=d").program.check().is_ok());
        for words in ["--from t --bs 4k", "--jobs 2 -- dd", "--from t -- dd"] {
            assert!(refused(&format!("tune {words}")), "{words}");
        }
    }

    #[test]
    fn numbers_of_jobs_are_a_list_or_a_range() {
        let numbers = |jobs: &str| numbers_of_jobs(&tune(&format!("sim:50us {jobs}")));
        assert_eq!(numbers(""), [1]);
        assert_eq!(numbers("--jobs 3"), [3]);
        assert_eq!(numbers("--jobs 4,1,2"), [1, 2, 4]);
        assert_eq!(numbers("--jobs 8,1..3,2"), [1, 2, 3, 8]);
    }

    /// Four jobs have the CPUs of two and two more, and with two numbers of jobs each has half of
    /// the budget.
    #[test]
    fn numbers_of_jobs_share_cpus_and_budget() {
        let args = tune("sim:50us --jobs 2,4 --cpu 3,1,0 --budget 90s");
        let mut each = new_job(&args, "sim:50us".to_owned()).unwrap();
        assert_eq!(each.cpus, [3, 1, 0]);
        // As the workbench chooses them for four jobs.
        each.cpus = vec![3, 1, 0, 3];
        let all = q2c_tune::TuneJobsSpec {
            jobs: numbers_of_jobs(&args),
            each,
        };
        let (two, four) = (all.of(2), all.of(4));
        assert_eq!((two.cpus, two.budget_s), (vec![3, 1], Some(45.0)));
        assert_eq!((four.cpus, four.budget_s), (vec![3, 1, 0, 3], Some(45.0)));
    }

    #[test]
    fn a_stored_job_wins_over_the_command_line() {
        let first = tune("d --bs 8k --cpu 1,0 --seed 5 --background rw=randread,bs=32k,cpus=1");
        let spec = new_job(&first, "d".to_owned()).unwrap();
        let again = tune("--resume run --bs 64k --jobs 9 --seed 2 --allow-write d");
        let asked = stored_workload(&spec, &again).unwrap();
        assert_eq!(asked.target, "d");
        assert_eq!((asked.jobs, asked.seed), (2, 5));
        assert_eq!(asked.cpus, [CpuId(1), CpuId(0)]);
        assert_eq!(asked.sizes, spec.sizes);
        assert_eq!(asked.background, first.workload.background_jobs());
        assert_eq!(asked.engine, Some(EngineSpec::IO_URING));
        assert_eq!(asked.allow_write.len(), 1);
        for (field, broken) in [
            (
                "rw",
                TuneSpec {
                    rw: "x".to_owned(),
                    ..spec.clone()
                },
            ),
            (
                "engine",
                TuneSpec {
                    engine: "x".to_owned(),
                    ..spec.clone()
                },
            ),
            (
                "background",
                TuneSpec {
                    background: vec!["x".to_owned()],
                    ..spec.clone()
                },
            ),
        ] {
            assert_eq!(stored_workload(&broken, &again).unwrap_err(), field);
        }
    }
}
