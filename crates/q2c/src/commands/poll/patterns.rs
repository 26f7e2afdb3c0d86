//! The commands `q2c poll study` and `q2c poll search`, which compare rules on a set of patterns.

use super::simulated::{GridArgs, Outputs, SimulatedArgs, choose_costs, read_traces};
use crate::output::{say, show};
use crate::progress::Line;
use clap::Args;
use q2c_model::stats::Rng;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_policy::{Family, FamilyError, MAX_CONFIGURATIONS, PolicySpec};
use q2c_result::Exit;
use q2c_sim::start_threads;
use q2c_study::{
    CellProgress, ChosenCosts, Costs, LONG_RUN_S, Search, SimTrace, Study, read_library,
    standard_policies,
};
use q2c_trace::samples::PATTERNS;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Which patterns, how they are simulated, and where the result goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct PatternsArgs {
    /// Patterns: recordings as q2c poll sweep takes them, or folders of Parquet files [default: the
    /// patterns that q2c brings along]
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub patterns: Vec<PathBuf>,
    /// How they are simulated, and where the result goes. Without an option for costs those of
    /// --cost published count.
    #[command(flatten)]
    pub grid: GridArgs,
}

const EXTENSION: &str = "parquet";

pub(super) struct Patterns {
    pub traces: Vec<SimTrace>,
    reading_s: f64,
    costs: ChosenCosts,
}

impl Patterns {
    pub(crate) fn read(args: &PatternsArgs, stop: &AtomicBool) -> Result<Self, Fault> {
        let begun = Instant::now();
        let traces = read_patterns(args, stop)?;
        let reading_s = begun.elapsed().as_secs_f64();
        let SimulatedArgs { source, cost, .. } = &args.grid.simulated;
        // Without costs a sleep would be free, and rules that poll could never win.
        let mut cost = cost.clone();
        if cost.wake_delay.is_none() {
            cost.cost.get_or_insert_with(|| Costs::PUBLISHED.into());
        }
        Ok(Patterns {
            costs: choose_costs(&cost, source.recording.bs, &traces)?,
            traces,
            reading_s,
        })
    }

    fn study<'a>(&'a self, args: &PatternsArgs, policies: &'a [PolicySpec]) -> Study<'a> {
        let (traces, costs) = (&self.traces, &self.costs);
        args.grid.study(traces, policies, costs, self.reading_s)
    }

    pub(crate) fn median_wait(&self) -> Nanos {
        let medians = self.traces.iter().map(|trace| trace.input.latency_ns[2]);
        let mut medians: Vec<f64> = medians.collect();
        medians.sort_by(f64::total_cmp);
        Nanos(medians.get(medians.len() / 2).map_or(0, |ns| *ns as u64))
    }
}

/// Refuses more than [`LONG_RUN_S`] of work for `count` policies like those of `sample`.
pub(super) fn check_length(
    args: &PatternsArgs,
    what: &str,
    study: &Study<'_>,
    sample: &[PolicySpec],
    count: u64,
) -> Result<(), Fault> {
    let line = Line::with_elapsed("estimating the time");
    let expected_s = line.during(|| study.expected_s(sample, count));
    let Some(expected_s) = expected_s.filter(|s| *s > LONG_RUN_S && !args.grid.yes) else {
        return Ok(());
    };
    Err(Fault::usage(format!(
        "{what}: {count} configurations on {} patterns would take about {}; try fewer, give a shorter --measure, or say \
         --yes",
        study.traces.len(),
        Nanos::from_secs_f64(expected_s)
    )))
}

fn read_patterns(args: &PatternsArgs, stop: &AtomicBool) -> Result<Vec<SimTrace>, Fault> {
    if args.patterns.is_empty() {
        let options = args.grid.simulated.source.options(PATTERNS.len());
        let line = Line::with_elapsed("reading the patterns of q2c");
        return line.during(|| read_library(&options, stop));
    }
    let files = args.patterns.iter().map(|path| pattern_files(path));
    let files: Vec<PathBuf> = files.collect::<Result<Vec<_>, _>>()?.concat();
    read_traces(&files, &args.grid.simulated.source, stop)
}

/// The patterns at a path: the file itself, or a folder's Parquet files sorted by name.
fn pattern_files(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |reason: &dyn Display| {
        Fault::input(format!("read the patterns in {}: {reason}", path.display()))
    };
    let entries: io::Result<Vec<DirEntry>> = fs::read_dir(path).and_then(Iterator::collect);
    let files = entries.map_err(|error| failed(&error))?.into_iter();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.retain(|file| file.extension().is_some_and(|ending| ending == EXTENSION));
    paths.sort();
    if paths.is_empty() {
        let reason = format!("expected files that end in .{EXTENSION}, found none");
        Err(failed(&reason))
    } else {
        Ok(paths)
    }
}

/// Which rules on which patterns, and what counts as best.
#[derive(Clone, Debug, Args)]
pub(crate) struct StudyArgs {
    /// Patterns, costs, and where the result goes.
    #[command(flatten)]
    pub on: PatternsArgs,
    /// Rule or family beside the standard grid: min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules that competes with the standard grid of q2c poll sweep, such as pas
    /// or min:ratio=5%..95%/5%,period=1ms|10ms (may be given again)
    #[arg(long, value_name = "FAMILY")]
    pub rules: Vec<Family>,
    /// Leave the standard grid out
    #[arg(long)]
    pub only: bool,
    /// Rank the rules that take interrupts, too
    #[arg(long)]
    pub interrupts: bool,
}

impl StudyArgs {
    /// The policies: the requested ones, then those of the standard grid that are missing. The
    /// grid's fixed sleeps are chosen for the median latency `p50`. The result lists fixed sleeps,
    /// but does not rank them.
    pub(crate) fn policies(&self, p50: Nanos) -> Result<Vec<PolicySpec>, FamilyError> {
        let families = self.rules.iter().map(Family::spell_out);
        let mut policies = families.collect::<Result<Vec<_>, _>>()?.concat();
        policies.extend(self.on.grid.simulated.own.policies()?);
        if !self.only {
            let standard = standard_policies(p50).into_iter();
            let requested = policies.clone();
            policies.extend(standard.filter(|policy| !requested.contains(policy)));
        }
        Ok(policies)
    }
}

/// Number of policies simulated first, to estimate the time of a study.
const SAMPLE_POLICIES: usize = 64;

pub(super) fn study(args: &StudyArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let outputs = Outputs::make(&args.on.grid, None)?;
    let patterns = Patterns::read(&args.on, stop)?;
    check_count(args, patterns.traces.len())?;
    let policies = args.policies(patterns.median_wait()).or_exit(Exit::Usage)?;
    let study = patterns.study(&args.on, &policies);
    let every = policies.len().div_ceil(SAMPLE_POLICIES).max(1);
    let sample: Vec<PolicySpec> = policies.iter().step_by(every).cloned().collect();
    check_length(&args.on, "study", &study, &sample, policies.len() as u64)?;
    let line = Line::counting(study.cells() as u64, "configurations");
    let result = study.leave_out(
        args.interrupts,
        &mut CellProgress::new(stop, &mut |done| line.set(done as u64)),
    )?;
    drop(line);
    outputs.write(&result)?;
    show(&result, args.on.grid.json)
}

/// Refuses families whose result would not fit into memory, before they are expanded.
fn check_count(args: &StudyArgs, patterns: usize) -> Result<(), Fault> {
    let policies: u64 = args.rules.iter().map(Family::count).sum();
    let cells = policies.saturating_mul(patterns as u64);
    if cells <= MAX_CONFIGURATIONS {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "study: expected at most {MAX_CONFIGURATIONS} configurations over all patterns, found {cells}; study fewer, for \
         instance with a wider step"
    )))
}

/// How a better rule is searched for, and what is held out of the search.
#[derive(Clone, Debug, Args)]
pub(crate) struct SearchArgs {
    /// Patterns, costs, and where the result goes.
    #[command(flatten)]
    pub on: PatternsArgs,
    /// Hold this source out of the search, with all of its patterns (may be given again) [default:
    /// a third of the sources, drawn by --seed]
    #[arg(long, value_name = "SOURCE")]
    pub hold_out: Vec<String>,
    /// A known rule that a new one has to beat, beside those of --rule (may be given again)
    #[arg(long, value_name = "POLICY", default_values = ["min:70%,10ms", "pas", "mean:50%,100ms"])]
    pub reference: Vec<PolicySpec>,
    /// Rounds: the first tries points anywhere, the others near the best
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Points of each family and round
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub points: u32,
    /// Number of families whose best may win
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=15))]
    pub finalists: u32,
}

/// One in this many sources is held out if none is named.
const HELD_OUT_DIVISOR: usize = 3;

/// Searches on the patterns that are not held out, evaluates on the others, and prints the result.
pub(super) fn search(args: &SearchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let outputs = Outputs::make(&args.on.grid, None)?;
    let mut patterns = Patterns::read(&args.on, stop)?;
    let held_out_sources = choose_held_out(args, &patterns.traces)?;
    let is_held_out = |trace: &mut SimTrace| held_out_sources.contains(&trace.source());
    let held_out: Vec<SimTrace> = patterns.traces.extract_if(.., is_held_out).collect();
    let own_rules = args.on.grid.simulated.own.policies().or_exit(Exit::Usage)?;
    let references = [args.reference.clone(), own_rules].concat();
    let standard = standard_policies(patterns.median_wait());
    let study = patterns.study(&args.on, &standard);
    let search = Search {
        study: &study,
        held_out: &held_out,
        references: &references,
        rounds: args.rounds,
        points: args.points as usize,
        finalists: args.finalists as usize,
    };
    let count = search.cells() / study.traces.len();
    check_length(&args.on, "search", &study, &search.sample(), count as u64)?;
    let line = Line::counting(search.cells() as u64, "configurations");
    let result = search.run(&mut CellProgress::new(stop, &mut |done| {
        line.set(done as u64)
    }))?;
    drop(line);
    outputs.write(&result)?;
    show(&result, args.on.grid.json)
}

/// The sources that are held out: the named ones, else a third of all. The seed draws them before
/// anything is simulated.
fn choose_held_out(args: &SearchArgs, traces: &[SimTrace]) -> Result<BTreeSet<String>, Fault> {
    let sources: BTreeSet<String> = traces.iter().map(SimTrace::source).collect();
    let join = |sources: &BTreeSet<String>| sources.iter().cloned().collect::<Vec<_>>().join(", ");
    let refused = |reason: String| {
        let message = format!("search: {reason}; the sources are {}", join(&sources));
        Err(Fault::usage(message))
    };
    let mut named = args.hold_out.iter();
    if let Some(unknown) = named.find(|source| !sources.contains(*source)) {
        return refused(format!("expected a source to hold out, found `{unknown}`"));
    }
    let mut held_out: BTreeSet<String> = args.hold_out.iter().cloned().collect();
    if held_out.is_empty() {
        let mut shuffled: Vec<String> = sources.iter().cloned().collect();
        Rng::new(args.on.grid.timing.seed).shuffle(&mut shuffled);
        held_out.extend(shuffled.into_iter().take(sources.len() / HELD_OUT_DIVISOR));
        say(&format!("held out: {}", join(&held_out)));
    }
    let (count, total) = (held_out.len(), sources.len());
    if count > 0 && count < total {
        return Ok(held_out);
    }
    let reason = format!("expected sources on both sides, found {count} of {total} held out");
    refused(reason)
}
