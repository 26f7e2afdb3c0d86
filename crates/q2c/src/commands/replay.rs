//! The commands `q2c replay` and `q2c compare`.

use super::diff::RunLimits;
use crate::args::{CompareArgs, HowArgs, ReplayArgs, temporary_folder};
use crate::commands::run_folder;
use crate::output::{say, say_service_times, show};
use crate::progress::{Line, trial_progress};
use crate::workbench::{not_simulated_reason, simulated_machine};
use q2c_capture::CapturedBy;
use q2c_compare::{
    self, Capture, CommandStart, ComparedVariant, OpenTargets, PreparedReplay, PreparedVariant,
    ProfiledTrace, Profiler, ReplayRequest, ReplayRun, ReplayTrials, RunStart, SourceRequest,
    TraceSource, Variant, capture_for, read_machine,
};
use q2c_engine::{EngineSpec, SimMachine, TimeSource};
use q2c_host::Roots;
use q2c_host::machine::host;
use q2c_host::signals::Orderly;
use q2c_host::target::TargetError;
use q2c_model::replay::Mode;
use q2c_model::{Bytes, Fault, OrFault};
use q2c_replay::ReplayFacts;
use q2c_result::Exit;
use q2c_result::compare::{CompareFinding, CompareResult, Comparison, NotCaptured, Profile};
use q2c_result::replay::{ReplayJob, ReplayTrial, SCHEMA};
use q2c_run::runner::time_text;
use q2c_run::{RunDir, RunState};
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Memory for the rows of `--record`; further rows go to an unnamed file.
const RECORD_MEMORY: Bytes = Bytes(256 << 20);

pub(crate) fn replay(args: &ReplayArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let begun = Instant::now();
    if let Some(record) = &args.record {
        check_record(record, args.trials)?;
    }
    let limits = RunLimits::new(&args.limits, SCHEMA)?;
    let targets = args.target.iter().map(String::as_str);
    let targets = targets.chain(args.map.iter().map(|map| map.target.as_str()));
    let machine = machine_for_targets(&args.how, targets)?;
    let request = ReplayRequest {
        machine,
        ..args.how.request(args.mode)
    };
    let source = open_source(&args.trace, &[&args.trace], &args.how, stop)?;
    source.fits(&request)?;
    let target_site = open_site(args, &request, &source.facts)?;
    let roots = Roots::live();
    let sites = std::slice::from_ref(&target_site);
    let capture = match capture_for(&roots, request.capture_request, sites)? {
        Capture::By(by) => Some(by),
        Capture::Not(_) => None,
    };
    let ready = PreparedReplay::new(&roots, &request, &source.facts, sites, args.trials)?;
    let time = request.time_source();
    let begin = CommandStart::measure(begun, &roots, &time);
    let machine = read_machine(&roots, &time);
    let start = RunStart::new(machine, ready.job, &source.name, &source.made_by, begin);
    let created = RunDir::create(&args.how.run.out, "replay", &start.job, &ready.identity);
    let variant = Variant {
        name: String::new(),
        plan: ready.plan,
        facts: &source.facts,
        sites: vec![target_site.site.clone()],
    };
    let variants = [variant];
    let run = ReplayRun {
        trials: args.trials,
        record: args.record.as_deref(),
        ..single_run(&variants, &request, &args.how, (begin, time), capture, stop)
    };
    let mut folder = created?;
    let _orderly = Orderly::begin();
    let replayed = run_trials(run, request.seed, &mut folder)?;
    let path = folder.path().to_owned();
    let provenance = folder.provenance(begun, host(&roots));
    let result = q2c_compare::replay(&start, &variants[0], &replayed, provenance);
    let Some(result) = result else {
        return Err(no_result_fault(&replayed, &variants));
    };
    run_folder::publish(folder, replayed.summary.state(), &result)?;
    show(&result, args.how.run.json)?;
    if let Some(record) = &args.record {
        say(&format!("recorded: {}", record.display()));
    }
    run_folder::tell_report(&path);
    let exit = exit(replayed.summary.state(), result.trials.iter());
    limits.judge(exit, &path, &result)
}

/// The simulated machine that all targets are replayed on, if all of them are simulated devices;
/// without `--machine` one whose steps take no time. `None` replays in real time.
fn machine_for_targets<'a>(
    how: &HowArgs,
    targets: impl Iterator<Item = &'a str>,
) -> Result<Option<SimMachine>, Fault> {
    let engine_of = |target| EngineSpec::for_target(how.replay.engine.as_ref(), target);
    let (mut simulated, mut real) = (None, None);
    let mut engines = Vec::new();
    for target in targets {
        let engine = engine_of(target).or_exit(Exit::Usage)?;
        let kind = if engine.simulates().is_some() {
            &mut simulated
        } else {
            &mut real
        };
        kind.get_or_insert(target);
        engines.push(engine);
    }
    let machine = match (simulated, real) {
        (Some(_), None) if how.machine.machine.is_none() => {
            (!how.machine.real_time).then(SimMachine::free)
        }
        _ => simulated_machine(real.map(not_simulated_reason), &how.machine)?,
    };
    let mut engines = engines.iter();
    let known = engines.try_for_each(|engine| engine.check_costs(machine.as_ref()));
    known.or_exit(Exit::Usage)?;
    if let (Some(simulated), Some(real), false) = (simulated, real, how.machine.real_time) {
        say(&format!(
            "{simulated} takes its requests in real time, because {real} is not a simulated device"
        ));
    }
    Ok(machine)
}

fn check_record(path: &Path, trials: u32) -> Result<(), Fault> {
    let message = if trials > 1 {
        format!("record the replay: expected one trial, found {trials}; a trace holds one")
    } else if path.symlink_metadata().is_ok() {
        let path = path.display();
        format!(
            "record the replay in {path}: expected a new name, found an existing file; remove it or name another"
        )
    } else {
        return Ok(());
    };
    Err(Fault::usage(message))
}

/// The reason why nothing was measured, as a failure.
fn no_result_fault(replayed: &ReplayTrials, variants: &[Variant<'_>]) -> Fault {
    if let Some(reason) = replayed.abort_reason() {
        return Fault::new(Exit::Device, format!("replay on {reason}"));
    }
    let outcomes = cell_keys(variants).map(|key| replayed.cell_outcomes(&key));
    let Some(reason) = outcomes.flat_map(|(_trials, failures)| failures).next() else {
        return Fault::stopped("replay: stopped by a signal before the first request");
    };
    let failed = replayed.failed.as_ref();
    let exit = failed.map_or(Exit::Environment, Fault::exit);
    // The reason already starts with "failed to".
    Fault::new(exit, reason.strip_prefix("failed to ").unwrap_or(&reason))
}

fn cell_keys<'a>(variants: &'a [Variant<'_>]) -> impl Iterator<Item = String> + 'a {
    let keys = |variant: &'a Variant<'_>| variant.sites.iter().map(|site| variant.key(site));
    variants.iter().flat_map(keys)
}

/// The exit code. A failed device counts more than a late replayer. An incomplete run was stopped
/// by a signal, or failed in between.
fn exit<'a>(state: RunState, mut trials: impl Iterator<Item = &'a ReplayTrial> + Clone) -> Exit {
    let failed = trials.clone().any(|trial| trial.errors > 0);
    match (state, failed, trials.all(|trial| trial.valid)) {
        (RunState::Complete, true, _) => Exit::Device,
        (RunState::Complete, _, true) => Exit::Done,
        (RunState::Complete, _, false) => Exit::Requirements,
        _ => Exit::Interrupted,
    }
}

/// Opens `path`, which is one of `traces`, and shows progress.
fn open_source<P: AsRef<Path>>(
    path: &Path,
    traces: &[P],
    how: &HowArgs,
    stop: &AtomicBool,
) -> Result<TraceSource, Fault> {
    let request = SourceRequest {
        path,
        format: how.recording.format.as_deref(),
        import: &how.recording.options().for_recordings(traces),
        temporary: &temporary_folder(),
    };
    Line::reading([path]).during(|| TraceSource::open(&request, &how.selection(), stop, &say))
}

fn open_site(
    args: &ReplayArgs,
    request: &ReplayRequest,
    facts: &ReplayFacts,
) -> Result<OpenTargets, Fault> {
    let roots = Roots::live();
    let open = match &args.target {
        Some(target) => OpenTargets::with_one_target(&roots, request, target, facts, 0),
        None if args.map.is_empty() => {
            let message = "replay: name a target behind the trace, such as /dev/sdb or the simulated device sim:50us, or one for each \
                       device of the trace with --map";
            return Err(Fault::usage(message));
        }
        None => OpenTargets::from_maps(&roots, request, &args.map, facts),
    };
    let open = open.map_err(suggest_simulated)?;
    say_simulated(&open);
    Ok(open)
}

/// Adds the advice to use a simulated device to a fault of a target without a usable file. These
/// commands make no scratch file.
fn suggest_simulated(fault: Fault) -> Fault {
    if !fault.cause().is_some_and(TargetError::lacks_a_file) {
        return fault;
    }
    fault.with_advice(", or a simulated device such as sim:50us")
}

fn say_simulated(open: &OpenTargets) {
    let facts = open.site.facts.iter();
    facts.for_each(|target| say_service_times(&target.path, target.service_times.as_ref()));
}

/// Runs all trials. The targets' sites must stay open until this function returns.
fn run_trials(run: ReplayRun<'_>, seed: u64, folder: &mut RunDir) -> Result<ReplayTrials, Fault> {
    run_folder::announce(folder);
    let delays = run.possible_delays();
    delays.iter().for_each(|delay| say(delay));
    run.run(seed, folder, trial_progress().as_mut())
}

/// A run with one trial of each of `variants`, without repetitions and without a recording. The
/// capture is `Some(None)` for the first means that works, `None` for no capture.
fn single_run<'a>(
    variants: &'a [Variant<'a>],
    request: &ReplayRequest,
    how: &HowArgs,
    (begin, time): (CommandStart, TimeSource),
    capture: Option<Option<CapturedBy>>,
    stop: &'a AtomicBool,
) -> ReplayRun<'a> {
    ReplayRun {
        variants,
        trials: 1,
        all_trials: how.all_trials,
        repeats: 0,
        stayed_late: BTreeSet::new(),
        max_lateness: request.max_lateness,
        busy_cpus: begin.disturbing_cpus(),
        capture,
        precondition: request.precondition,
        record: None,
        memory: RECORD_MEMORY,
        spill: temporary_folder(),
        roots: Roots::live(),
        time,
        stop,
        partial: None,
        failed: OnceCell::new(),
    }
}

/// Most repetitions of a trial in which the replayer was late by its own fault.
const MAX_REPEATS: u32 = 3;

/// Replays the traces on several devices in turns, and shows the result.
pub(crate) fn compare(args: &CompareArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let (result, state, path) = run_compare(args, stop)?;
    show(&result, args.how.run.json)?;
    run_folder::tell_report(&path);
    let devices = result.comparisons.iter().flat_map(|one| &one.devices);
    let trials = devices.flat_map(|device| &device.trials);
    Ok(match exit(state, trials) {
        Exit::Done if !result.comparisons.iter().all(did_same_work) => Exit::Requirements,
        other => other,
    })
}

/// Replays the traces on several devices in turns. Returns the result, and the folder where it is.
pub(super) fn run_compare(
    args: &CompareArgs,
    stop: &AtomicBool,
) -> Result<(CompareResult, RunState, PathBuf), Fault> {
    let begun = Instant::now();
    let (traces, targets) = args.traces_and_targets();
    let machine = machine_for_targets(&args.how, targets.iter().map(String::as_str))?;
    let mut requests = args.requests();
    requests
        .iter_mut()
        .for_each(|request| request.machine.clone_from(&machine));
    let open = |path| open_source(path, &traces, &args.how, stop);
    let sources = traces.iter().map(|path| open(path.as_path()));
    let sources: Vec<TraceSource> = sources.collect::<Result<_, _>>()?;
    let sites = open_targets(&requests[0], targets, &sources[0])?;
    let roots = Roots::live();
    let (capture, refusal) = match capture_for(&roots, requests[0].capture_request, &sites)? {
        Capture::By(by) => (Some(by), None),
        Capture::Not(reason) => (None, Some(reason)),
    };
    let is_told = |r: &&NotCaptured| **r != NotCaptured::NotAsked && machine.is_none();
    if let Some(reason) = refusal.as_ref().filter(is_told) {
        say(&q2c_report::not_captured(reason));
    }
    let time = requests[0].time_source();
    let begin = CommandStart::measure(begun, &roots, &time);
    let profiles = make_profiles(&sources, &requests, &sites[0], &begin, stop)?;
    let rows = replay_variants(&sources, &profiles, &requests);
    let prepared = rows.iter().map(|row| {
        let name = row.name.clone();
        PreparedVariant::new(name, row.trace, &row.request, &sites, args.trials)
    });
    let prepared: Vec<PreparedVariant<'_>> = prepared.collect::<Result<_, Fault>>()?;
    let mut folder = create_folder(args, &prepared)?;
    let _orderly = Orderly::begin();
    let facts = read_machine(&roots, &time);
    let starts = rows.iter().zip(&prepared).map(|(row, ready)| {
        let TraceSource { name, made_by, .. } = row.trace;
        RunStart::new(facts.clone(), ready.job.clone(), name, made_by, begin)
    });
    let starts: Vec<RunStart> = starts.collect();
    let variants: Vec<Variant<'_>> = prepared.into_iter().map(|ready| ready.variant).collect();
    let run = ReplayRun {
        trials: args.trials,
        // In simulated time a replayer that was late is as late again.
        repeats: if machine.is_some() { 0 } else { MAX_REPEATS },
        ..single_run(
            &variants,
            &requests[0],
            &args.how,
            (begin, time),
            capture,
            stop,
        )
    };
    let replayed = run_trials(run, requests[0].seed, &mut folder)?;
    let mut outcomes = cell_keys(&variants).map(|key| replayed.cell_outcomes(&key));
    if outcomes.all(|(trials, _failures)| trials.is_empty()) {
        return Err(no_result_fault(&replayed, &variants));
    }
    let compared = starts.into_iter().zip(&variants).zip(&rows);
    let compared = compared.map(|((start, variant), row)| ComparedVariant {
        start,
        variant,
        profile: row.profile.cloned(),
    });
    let compared: Vec<ComparedVariant<'_>> = compared.collect();
    let provenance = folder.provenance(begun, host(&roots));
    let result = q2c_compare::compare(&compared, &replayed, refusal.as_ref(), provenance);
    let path = folder.path().to_owned();
    let state = replayed.summary.state();
    run_folder::publish(folder, state, &result)?;
    Ok((result, state, path))
}

/// True if all devices did the same work. False if a device has no valid trial, or its requests
/// differ from those of the first device.
fn did_same_work(comparison: &Comparison) -> bool {
    let is_unlike = |finding: &CompareFinding| {
        use CompareFinding::{NoValidTrial, WorkDiffers};
        matches!(finding, NoValidTrial { .. } | WorkDiffers { .. })
    };
    !comparison.verdict.iter().any(is_unlike)
}

/// Opens the targets. Block devices stay open as long as the sites exist.
fn open_targets(
    request: &ReplayRequest,
    targets: &[String],
    trace: &TraceSource,
) -> Result<Vec<OpenTargets>, Fault> {
    let roots = Roots::live();
    let sites = targets.iter().enumerate().map(|(nth, target)| {
        let same_before = targets[..nth].iter().filter(|other| *other == target);
        OpenTargets::with_one_target(&roots, request, target, &trace.facts, same_before.count())
    });
    let sites: Result<Vec<OpenTargets>, Fault> = sites.collect();
    let sites = sites.map_err(suggest_simulated)?;
    sites.iter().for_each(say_simulated);
    Ok(sites)
}

/// Records each trace that lacks completions which a mode needs; `None` for every other trace.
fn make_profiles(
    sources: &[TraceSource],
    requests: &[ReplayRequest],
    first: &OpenTargets,
    begin: &CommandStart,
    stop: &AtomicBool,
) -> Result<Vec<Option<ProfiledTrace>>, Fault> {
    let profiling = Profiler {
        request: &requests[0],
        first_target: first,
        memory: RECORD_MEMORY,
        temporary: &temporary_folder(),
        busy_cpus: begin.disturbing_cpus(),
        stop,
    };
    let profile = |source: &TraceSource| {
        if !source.lacks_completions(requests)? {
            return Ok(None);
        }
        let about = time_text(source.facts.time_to_last_end().as_secs_f64());
        let length = match requests[0].machine {
            Some(_) => String::new(),
            None => format!(", about {about}, and again where the replayer is late"),
        };
        say(&format!(
            "{} has no completions: it is replayed timed on {} once{length}; this recording is \
             replayed on all devices",
            source.name,
            profiling.device(source),
        ));
        profiling.profile(source).map(Some)
    };
    sources.iter().map(profile).collect()
}

struct ReplayVariant<'a> {
    name: String,
    trace: &'a TraceSource,
    profile: Option<&'a Profile>,
    request: ReplayRequest,
}

/// All traces in all modes. Each has its own name if there are several.
fn replay_variants<'a>(
    sources: &'a [TraceSource],
    profiles: &'a [Option<ProfiledTrace>],
    requests: &[ReplayRequest],
) -> Vec<ReplayVariant<'a>> {
    let several = sources.len() * requests.len() > 1;
    let mut rows: Vec<ReplayVariant<'a>> = Vec::new();
    for (source, profiled) in sources.iter().zip(profiles) {
        for request in requests {
            let is_outstanding = matches!(request.mode, Mode::Outstanding { .. });
            let profiled = profiled.as_ref().filter(|_| is_outstanding);
            let name = several.then(|| free_name(&rows, source, &request.mode));
            rows.push(ReplayVariant {
                name: name.unwrap_or_default(),
                trace: profiled.map_or(source, |profiled| &profiled.trace),
                profile: profiled.map(|profiled| &profiled.profile),
                request: ReplayRequest {
                    // The profile already holds only the requested part of the trace.
                    selection: profiled.map_or(request.selection.clone(), |_| Default::default()),
                    ..request.clone()
                },
            });
        }
    }
    rows
}

/// A name that no row has yet: trace and mode, with a number if the trace is given twice.
fn free_name(rows: &[ReplayVariant<'_>], source: &TraceSource, mode: &Mode) -> String {
    let plain = format!("{}, {}", source.name, mode.name());
    let is_free = |name: &String| rows.iter().all(|row| row.name != *name);
    let mut numbered = (2..).map(|number| format!("{plain} ({number})"));
    let name = Some(plain.clone()).filter(is_free);
    name.or_else(|| numbered.find(is_free)).unwrap_or_default()
}

#[derive(Serialize)]
struct PlannedReplay<'a> {
    name: &'a str,
    job: &'a ReplayJob,
}

/// Creates the run's folder with its plan: the job, or a list of jobs with their names.
fn create_folder(args: &CompareArgs, prepared: &[PreparedVariant<'_>]) -> Result<RunDir, Fault> {
    let out = &args.how.run.out;
    if let [one] = prepared {
        return Ok(RunDir::create(out, "compare", &one.job, &one.identity)?);
    }
    let replays = prepared.iter().map(|ready| PlannedReplay {
        name: &ready.variant.name,
        job: &ready.job,
    });
    let plan = BTreeMap::from([("replays", replays.collect::<Vec<_>>())]);
    let identity = &prepared[0].identity;
    Ok(RunDir::create(out, "compare", &plan, identity)?)
}
