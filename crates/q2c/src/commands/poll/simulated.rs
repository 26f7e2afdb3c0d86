//! The commands that simulate sleep rules on traces. They share recordings, costs, times and
//! outputs with the studies of patterns.

use crate::args::{RecordingArgs, temporary_folder};
use crate::output::{NewFile, read_fault, show};
use crate::progress::Line;
use clap::Args;
use q2c_host::{Roots, machine};
use q2c_model::{
    Bytes, DevId, DeviceTime, Fault, LanesBy, Nanos, OrFault, parse_duration, parse_size,
    parse_time,
};
use q2c_policy::{Family, PolicySpec, SpecError};
use q2c_report::Reported;
use q2c_result::figures::{FigureTable, Measures};
use q2c_result::{Exit, Warning};
use q2c_run::whole_file;
use q2c_sim::{Arrival, Configuration, TraceOptions, start_threads};
use q2c_study::{
    CellProgress, ChosenCosts, Costs, LaneStorage, SimTrace, Simulation, SourceOptions, Study,
    SweepPolicies, Timing, read,
};
use q2c_trace::table::TableColumn;
use q2c_workbench::settings::{GoalArgs, RuleArgs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// How long is simulated, and when submissions come.
#[derive(Clone, Debug, Args)]
pub(crate) struct TimingArgs {
    /// Simulated time before anything counts
    #[arg(long, value_name = "DURATION", default_value = "400ms", value_parser = parse_time)]
    pub warm_up: Nanos,
    /// Simulated time that counts; a recording is repeated as long [default: each recording's
    /// length, at least 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse_time)]
    pub measure: Option<Nanos>,
    /// Open loop: submissions come as they came in the recording
    ///
    /// Open loop: submissions come when they came in the recording, not when the last completion
    /// allows
    #[arg(long)]
    pub open: bool,
    /// Seed of everything that is drawn: wake-up delays, resampled sets, sources held out, points
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
}

impl TimingArgs {
    /// When requests are submitted: as recorded with `--open`, else after the recorded think time.
    pub(crate) fn arrival(&self) -> Arrival {
        if self.open {
            Arrival::OpenLoop
        } else {
            Arrival::ClosedLoop
        }
    }

    pub(crate) fn timing(&self) -> Timing {
        Timing {
            warm_up: self.warm_up,
            measure: self.measure,
            seed: self.seed,
        }
    }
}

/// Arguments of every simulation.
#[derive(Clone, Debug, Args)]
pub(crate) struct SimulatedArgs {
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// What the trace does not say itself.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Costs.
    #[command(flatten)]
    pub cost: CostArgs,
}

/// Memory for the recordings if the amount of free memory is unknown.
const DEFAULT_MEMORY: Bytes = Bytes(1 << 30);

/// Help of `--bs`, which here also selects the calibration.
const BLOCK_SIZE: &str = "Block size: of requests that have none [default: 4k], and of the calibration that is used [default: the trace's]";

/// What an input that is no q2c trace does not say itself. The block size is also that of the
/// calibration.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("bs", |bs| bs.help(BLOCK_SIZE)))]
pub(crate) struct SourceArgs {
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Block layer: what is the device's time: d2c, i2c or q2c
    ///
    /// Block layer: the interval that is the device's time: d2c (from the hand-over to the driver),
    /// i2c (from the insertion into the scheduler) or q2c (from queued); what is before it is the
    /// submission [default: d2c, or q2c of a trace without hand-overs]
    #[arg(long, value_name = "INTERVAL")]
    pub latency: Option<DeviceTime>,
    /// Block layer: whose requests form lanes of depth 1, thread or device; requests that overlap
    /// are dealt to several [default: thread]
    #[arg(long, value_name = "WHOSE")]
    pub lanes: Option<LanesBy>,
    /// Take the requests of this device alone, such as 259:0
    #[arg(long, value_name = "MAJOR:MINOR")]
    pub device: Option<DevId>,
    /// Hold so much of the recordings in memory, 16 bytes per I/O, and the rest in unnamed files
    /// [default: half of what is free]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Where these files are made [default: $TMPDIR, or /var/tmp]
    #[arg(long, hide_short_help = true, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

impl SourceArgs {
    /// The options for `q2c_study`, for one of `inputs` recordings that share the memory.
    pub(crate) fn options(&self, inputs: usize) -> SourceOptions {
        let half_free = || machine::free_memory(&Roots::live()).map(|free| Bytes(free.0 / 2));
        let memory = self.memory.or_else(half_free).unwrap_or(DEFAULT_MEMORY);
        SourceOptions {
            format: self.recording.format.clone(),
            import: self.recording.options(),
            trace: TraceOptions {
                latency: self.latency,
                lanes: self.lanes,
                device: self.device,
            },
            storage: LaneStorage {
                memory: Bytes(memory.0 / inputs.max(1) as u64),
                folder: self.spill.clone().unwrap_or_else(temporary_folder),
                new_file: q2c_workbench::lane_file::new,
            },
        }
    }
}

/// Reads recordings, which share the memory and the options.
pub(super) fn read_traces(
    paths: &[PathBuf],
    args: &SourceArgs,
    stop: &AtomicBool,
) -> Result<Vec<SimTrace>, Fault> {
    let mut options = args.options(paths.len());
    options.import = options.import.for_recordings(paths);
    let _line = Line::reading(paths.iter().map(PathBuf::as_path));
    let traces = paths.iter().map(|path| read(path, &options, stop));
    traces.collect()
}

/// What a simulated machine charges.
#[derive(Clone, Debug, Args)]
pub(crate) struct CostArgs {
    /// Costs of a machine, which decide the answer: corrected.json or calibration.json of a run, or
    /// what `q2c calibrate --json` prints; or `published`, a machine as the published measurements
    /// of hybrid polling describe it [default: those of the run whose folder the recording lies in]
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
    /// Every sleep ends this much late, and nothing else costs [default: 2us, where there are no
    /// other costs; poll study and poll search: --cost published]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "cost")]
    pub wake_delay: Option<Nanos>,
}

/// The costs for a simulation of `traces`: the requested ones, else those of the run whose folder
/// holds the recordings, else assumed ones. A file of calibrations has one per block size, selected
/// by `bs`. Without `bs` the traces must have a single block size.
pub(super) fn choose_costs(
    args: &CostArgs,
    bs: Option<Bytes>,
    traces: &[SimTrace],
) -> Result<ChosenCosts, Fault> {
    let sizes: BTreeSet<Bytes> = traces.iter().flat_map(|t| t.input.sizes.clone()).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let asked = match (args.wake_delay, &args.cost) {
        (None, None) => {
            let paths: Vec<&Path> = traces.iter().map(|t| Path::new(&t.input.path)).collect();
            let Some(path) = Costs::find_in_run(&paths) else {
                return Ok(Costs::run_or_assumed(None, &[], bs, &sizes));
            };
            let disturbed = read_disturbances(&path)?;
            let run = read_costs(path)?;
            return Ok(Costs::run_or_assumed(Some(run), &disturbed, bs, &sizes));
        }
        (None, Some(path)) if path.as_os_str() == Costs::PUBLISHED => Costs::Published,
        (None, Some(path)) => read_costs(path.clone())?,
        (Some(delay), _) => Costs::Delay(delay),
    };
    asked.choose(bs, &sizes)
}

fn read_disturbances(costs_path: &Path) -> Result<Vec<Warning>, Fault> {
    let Some(path) = Costs::result_file(costs_path) else {
        return Ok(Vec::new());
    };
    let text = whole_file::read_named_text(&path, whole_file::MAX_RESULT);
    let text = text.map_err(|error| read_fault(&path, error))?;
    Costs::disturbances(&path, &text)
}

fn read_costs(path: PathBuf) -> Result<Costs, Fault> {
    let text = whole_file::read_named_text(&path, whole_file::MAX_RESULT);
    let text = text.map_err(|e| read_fault(&path, format!("{e}; {}", Costs::FILES)))?;
    Ok(Costs::Calibrated { path, text })
}

/// How rules are simulated, what is best, and where the result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct GridArgs {
    /// Own rules, the reading of the traces, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// What is best.
    #[command(flatten)]
    pub goal: GoalArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Go on even when it takes long
    #[arg(long)]
    pub yes: bool,
    /// Write a report with charts to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the cells as CSV to this file, a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl GridArgs {
    pub(crate) fn study<'a>(
        &self,
        traces: &'a [SimTrace],
        policies: &'a [PolicySpec],
        costs: &'a ChosenCosts,
        reading_s: f64,
    ) -> Study<'a> {
        Study {
            traces,
            reading_s,
            policies,
            cost: &costs.cost,
            cost_in_words: costs.in_words.clone(),
            timing: self.timing.timing(),
            arrival: self.timing.arrival(),
            objective: self.goal.objective,
            limits: self.goal.limits(),
            follow: None,
        }
    }
}

pub(super) struct Outputs {
    html: Option<NewFile>,
    csv: Option<NewFile>,
    parquet: Option<NewFile>,
}

impl Outputs {
    /// Creates the files before the work, so that an existing name does not cost the result.
    pub(crate) fn make(args: &GridArgs, parquet: Option<&PathBuf>) -> Result<Self, Fault> {
        Ok(Outputs {
            html: NewFile::if_named(args.html.as_ref())?,
            csv: NewFile::if_named(args.csv.as_ref())?,
            parquet: NewFile::if_named(parquet)?,
        })
    }

    pub(crate) fn write(self, result: &(impl Measures + Reported)) -> Result<(), Fault> {
        if let Some(file) = self.html {
            let page = result.document().page().or_exit(Exit::Internal)?;
            file.write_and_say("wrote", page.as_bytes())?;
        }
        if let Some(file) = self.csv {
            let table = q2c_report::csv(&result.figures()).or_exit(Exit::Internal)?;
            file.write_and_say("wrote", table.as_bytes())?;
        }
        if let Some(file) = self.parquet {
            file.write_and_say("wrote", &parquet(&result.figures())?)?;
        }
        Ok(())
    }
}

/// A table of figures as a Parquet file: its texts and its medians.
fn parquet(table: &FigureTable) -> Result<Vec<u8>, Fault> {
    let texts = table.keys.iter().enumerate().map(|(column, name)| {
        let cells = table.rows.iter().map(|row| row.keys[column].clone());
        TableColumn::Text(name.to_string(), cells.collect())
    });
    let numbers = table.figures.iter().enumerate().map(|(column, figure)| {
        let values = table.rows.iter().map(|row| Some(row.values[column]));
        let measured = values.map(|value| value.filter(|value| value.trials > 0));
        let cells = measured.map(|value| value.map_or(f64::NAN, |value| value.median));
        TableColumn::Number(figure.column(), cells.collect())
    });
    let columns: Vec<TableColumn> = texts.chain(numbers).collect();
    q2c_trace::table::parquet(&columns).or_exit(Exit::Internal)
}

/// Which rules on which trace, at which costs.
#[derive(Clone, Debug, Args)]
pub(crate) struct SimArgs {
    /// Trace of the block layer, or of classic polling
    ///
    /// Trace of the block layer (q2c trace record, blktrace, or imported), or of classic polling: a
    /// run's trace-BS.parquet
    pub trace: PathBuf,
    /// Sleep rule, such as mean or min:70%,10ms (may be given again)
    #[arg(long, required_unless_present = "rule", value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules, the reading of the trace, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl SimArgs {
    /// The rules: the named ones, then the user's own.
    pub(crate) fn policies(&self) -> Result<Vec<PolicySpec>, SpecError> {
        let own_rules = self.simulated.own.policies()?;
        Ok([self.policy.clone(), own_rules].concat())
    }
}

pub(super) fn sim(args: &SimArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let traces = read_traces(slice::from_ref(&args.trace), source, stop)?;
    let trace = &traces[0];
    let costs = choose_costs(cost, source.recording.bs, &traces)?;
    let policies = args.policies().or_exit(Exit::Usage)?;
    let simulation = Simulation {
        input: &trace.input,
        policies: &policies,
        configuration: Configuration {
            lanes: &trace.lanes,
            cost: &costs.cost,
            drive: args.timing.timing().drive_for(trace.input.span_ns),
            arrival: args.timing.arrival(),
        },
        cost_in_words: costs.in_words,
        doubt: costs.doubt,
    };
    let line = Line::with_elapsed(&match policies.len() {
        1 => "simulating a rule, classic polling and the oracle".to_owned(),
        n => format!("simulating {n} rules, classic polling and the oracle"),
    });
    show(&line.during(|| simulation.run(stop))?, args.json)
}

/// What is swept on what, and what counts as best.
#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    /// Traces of the block layer, or of classic polling
    ///
    /// Traces of the block layer (q2c trace record, blktrace, or imported), or of classic polling:
    /// q2c's own, lists of latencies (name their --unit), CSV (name its --columns)
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Rule or family of rules, such as min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules, such as pas or min:ratio=5%..95%/5%,period=1ms|10ms|100ms (may be
    /// given again) [default: mean and min over ratios 5 to 95 % and periods 1 to 200 ms, every
    /// other rule as it comes, and fixed sleeps up to the median latency]
    #[arg(long, value_name = "FAMILY")]
    pub policy: Vec<Family>,
    /// How they are simulated, what is best, and where the result goes.
    #[command(flatten)]
    pub grid: GridArgs,
    /// Show this rule I/O by I/O in the report [default: the best]
    #[arg(long, value_name = "POLICY")]
    pub follow: Option<PolicySpec>,
    /// Write every cell as Parquet to this file
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
}

pub(super) fn sweep(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let grid = &args.grid;
    let outputs = Outputs::make(grid, args.parquet.as_ref())?;
    let begun = Instant::now();
    let SimulatedArgs { source, cost, own } = &grid.simulated;
    let traces = read_traces(&args.inputs, source, stop)?;
    let reading_s = begun.elapsed().as_secs_f64();
    let costs = choose_costs(cost, source.recording.bs, &traces)?;
    let swept = SweepPolicies {
        families: &args.policy,
        own: &own.policies().or_exit(Exit::Usage)?,
        p50: Nanos(traces[0].input.latency_ns[2] as u64),
    };
    let mut study = grid.study(&traces, &[], &costs, reading_s);
    study.follow.clone_from(&args.follow);
    let line = Line::with_elapsed("estimating the time of the sweep");
    let checked = line.during(|| swept.check_extent(&study, grid.yes));
    checked.or_exit(Exit::Usage)?;
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let line = Line::counting(study.cells() as u64, "configurations");
    let mut result = study.run(&mut CellProgress::new(stop, &mut |done| {
        line.set(done as u64)
    }))?;
    drop(line);
    result.warnings.splice(0..0, costs.doubt);
    outputs.write(&result)?;
    show(&result, grid.json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    fn sim(arguments: &str) -> SimArgs {
        from_words(arguments).unwrap()
    }

    fn sweep(arguments: &str) -> SweepArgs {
        from_words(arguments).unwrap()
    }

    #[test]
    fn a_sweep_is_as_long_as_a_simulation() {
        let of_sim = |options: &str| sim(&format!("t --policy pas {options}")).timing.timing();
        let of_sweep = |options: &str| sweep(&format!("t {options}")).grid.timing.timing();
        assert_eq!(of_sweep(""), of_sim(""));
        let named = of_sim("--measure 10ms --warm-up 1ms --seed 9");
        assert_eq!(of_sweep("--measure 10ms --warm-up 1ms --seed 9"), named);
        let ms = Nanos::from_millis;
        assert_eq!(named.measure, Some(ms(10)));
        assert_eq!(named.warm_up, ms(1));
        assert_eq!(named.seed, 9);
    }

    #[test]
    fn own_rules_come_after_named_ones() {
        let rules = sim("t --rule 0.7*min --policy pas --policy mean")
            .policies()
            .unwrap();
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3);
        let in_order = names[0].starts_with("pas") && names[1].starts_with("mean");
        assert!(in_order, "{names:?}");
    }
}
