//! The command `q2c place calibrate`.

use crate::output::{NewFile, show, unix_s};
use crate::progress::Line;
use crate::workbench::open_named;
use clap::Args;
use q2c_engine::EngineSpec;
use q2c_engine::engines::RingKind;
use q2c_host::{Roots, machine};
use q2c_model::{Bytes, Fault, Nanos, OrFault, parse_time};
use q2c_place::corun::calibrate::{CalibrationPlan, measure, siblings, trial_count, widest_spread};
use q2c_place::corun::pair::{PairMachine, PolledDevice, Siblings};
use q2c_place::speeds_file;
use q2c_result::corun::{CalibrateResult, Pair, SCHEMA, Work};
use q2c_result::{Exit, Warning};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to measure.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceCalibrateArgs {
    /// File or block device whose device has poll queues: tasks that poll it in the kernel (IOPOLL)
    /// are measured as well
    pub target: Option<String>,
    /// Write the speeds here, for --speeds; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// Trials of each pair
    #[arg(long, default_value_t = 5, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(3..=100))]
    pub trials: u32,
    /// Length of a trial
    #[arg(long, default_value = "300ms", value_name = "DURATION", value_parser = parse_time)]
    pub trial: Nanos,
    /// Seed of the trials' order
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    pub json: bool,
}

/// Block size of the reads that the tasks of the pair poll for.
const POLLED_BLOCK: Bytes = Bytes(4_096);

/// A warning is given if trials of a pair differ by more than this share of their median.
const MAX_QUIET_SPREAD: f64 = 0.2;

pub(super) fn run(args: &PlaceCalibrateArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let file = NewFile::if_named(args.speeds.as_ref())?;
    let roots = Roots::live();
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let trial = Duration::from_nanos(args.trial.0);
    let mut pair = siblings(&roots, &allowed, trial)?;
    let cpus = (pair.own, pair.other);
    let target = args.target.as_deref();
    let bench = target.map(|target| open_polled(target, &mut pair, stop));
    let bench = bench.transpose()?;
    let plan = CalibrationPlan {
        trials: args.trials,
        trial,
        seed: args.seed,
    };
    let started_unix_s = unix_s();
    let mut progress = SiblingsProgress {
        line: Line::counting(trial_count(&pair, args.trials) as u64, "trials of pairs"),
        pair,
        done: 0,
    };
    let measured = measure(&mut progress, cpus, plan, stop);
    drop(progress);
    let (pairs, speeds) = measured?;
    let result = CalibrateResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s,
        cpus,
        trials: args.trials,
        trial_s: trial.as_secs_f64(),
        seed: args.seed,
        machine: machine::read(&roots),
        target: bench.map(|bench| bench.target),
        warnings: warnings(&pairs),
        pairs,
        speeds,
    };
    if let Some(file) = file {
        file.write_and_say("speeds:", speeds_file::write(&result.speeds).as_bytes())?;
    }
    show(&result, args.json)
}

/// The pair, with a line that shows how many trials are done. The line is drawn between trials.
struct SiblingsProgress {
    pair: Siblings,
    line: Line,
    done: u64,
}

impl PairMachine for SiblingsProgress {
    fn rate(&mut self, own: Work, neighbour: Option<Work>, same_cpu: bool) -> io::Result<f64> {
        self.line.set(self.done);
        self.done += 1;
        self.pair.rate(own, neighbour, same_cpu)
    }

    fn polling(&self) -> Vec<Work> {
        self.pair.polling()
    }
}

/// Opens the target on which the tasks of the pair poll in the kernel.
fn open_polled(target: &str, pair: &mut Siblings, stop: &AtomicBool) -> Result<Workbench, Fault> {
    let request = WorkloadRequest {
        engine: Some(EngineSpec::ByDevice(RingKind::File).with_path(true)),
        ..super::random_read_request(target, POLLED_BLOCK, pair.own)
    };
    let bench = open_named(&request, stop)?;
    pair.device = Some(PolledDevice {
        engine: bench.workload.engine.clone(),
        medium: bench.workload.medium.clone(),
        span: bench.workload.span,
        bs: POLLED_BLOCK.0 as u32,
    });
    Ok(bench)
}

fn warnings(pairs: &[Pair]) -> Vec<Warning> {
    let spread = widest_spread(pairs);
    if spread <= MAX_QUIET_SPREAD {
        return Vec::new();
    }
    let percent = 100.0 * spread;
    vec![Warning::new(
        "trials-differ",
        format!("the trials of a pair differ by up to {percent:.0} %"),
        "other work runs on this core, or its clock changes",
        "repeat it on an idle machine, or with more --trials",
    )]
}
