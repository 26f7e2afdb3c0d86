//! The command `q2c poll search`.

use super::grid::Outputs;
use super::patterns::{Patterns, PatternsArgs, worth_it};
use crate::output::{say, show};
use crate::progress::Line;
use clap::Args;
use q2c_model::stats::Rng;
use q2c_model::{Fault, OrFault};
use q2c_policy::PolicySpec;
use q2c_result::Exit;
use q2c_sim::start_threads;
use q2c_study::{Search, SimTrace, standard};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

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

/// One in so many sources is held out when none is named.
const ONE_IN: usize = 3;

/// Searches on the patterns that are not held out, opens those that are, and prints what was found.
pub(crate) fn run(args: &SearchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let outputs = Outputs::make(&args.on.grid, None)?;
    let mut patterns = Patterns::read(&args.on, stop)?;
    let held_out = held_out(args, &patterns.traces)?;
    let (held_out, searched): (Vec<SimTrace>, Vec<SimTrace>) = std::mem::take(&mut patterns.traces)
        .into_iter()
        .partition(|trace| held_out.contains(&trace.source()));
    let own_rules = args.on.grid.simulated.own.policies().or_exit(Exit::Usage)?;
    let references = [args.reference.clone(), own_rules].concat();
    patterns.traces = searched;
    let standard = standard(patterns.median());
    let study = patterns.study(&args.on, &patterns.traces, &standard);
    let search = Search {
        study: &study,
        held_out: &held_out,
        references: &references,
        rounds: args.rounds,
        points: args.points as usize,
        finalists: args.finalists as usize,
    };
    let count = search.cells() / study.traces.len();
    worth_it(&args.on, "search", &study, &search.sample(), count as u64)?;
    let line = Line::counting(search.cells() as u64, "configurations");
    let result = search.run(stop, &mut |done| line.set(done as u64))?;
    drop(line);
    outputs.write(&result)?;
    show(&result, args.on.grid.json)
}

/// The sources that are held out: those that are named, else a third of all, drawn by the seed
/// before anything is simulated.
fn held_out(args: &SearchArgs, traces: &[SimTrace]) -> Result<BTreeSet<String>, Fault> {
    let sources: BTreeSet<String> = traces.iter().map(SimTrace::source).collect();
    let refused = |reason: String| {
        let names: Vec<&str> = sources.iter().map(String::as_str).collect();
        let message = format!("search: {reason}; the sources are {}", names.join(", "));
        Err(Fault::new(Exit::Usage, message))
    };
    if let Some(unknown) = args
        .hold_out
        .iter()
        .find(|source| !sources.contains(*source))
    {
        return refused(format!("expected a source to hold out, found `{unknown}`"));
    }
    let mut drawn: BTreeSet<String> = args.hold_out.iter().cloned().collect();
    if drawn.is_empty() {
        let mut shuffled: Vec<String> = sources.iter().cloned().collect();
        Rng::new(args.on.grid.timing.seed).shuffle(&mut shuffled);
        drawn.extend(shuffled.into_iter().take(sources.len() / ONE_IN));
        let names: Vec<&str> = drawn.iter().map(String::as_str).collect();
        say(&format!("held out: {}", names.join(", ")));
    }
    let (held, total) = (drawn.len(), sources.len());
    if held > 0 && held < total {
        return Ok(drawn);
    }
    refused(format!(
        "expected sources on both sides, found {held} of {total} held out"
    ))
}
