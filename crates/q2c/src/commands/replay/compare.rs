//! The command `q2c compare`: traces, each in some modes, on devices in turns.

use super::{MEMORY, ReplayRun, exit, keys, not_opened, nothing, say_simulated, source};
use crate::args::{CompareArgs, temporary};
use crate::commands::run_folder;
use crate::output::{say, show};
use q2c_compare::{
    Begin, Capturing, Compared, OpenSite, PreparedVariant, Profiled, Profiling, ReplayRequest,
    RunStart, TraceSource, Variant, capturing,
};
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, replay::Mode};
use q2c_replay::ReplaySelection;
use q2c_result::Exit;
use q2c_result::compare::{CompareFinding, CompareResult, Comparison, NotCaptured, Profile};
use q2c_result::replay::ReplayJob;
use q2c_run::RunDir;
use q2c_run::runner::spoken;
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// How often a trial is repeated in which the replayer was late by its own fault.
const REPEATS: u32 = 3;

/// Replays the traces on several devices in turns.
pub(crate) fn compare(args: &CompareArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let begun = Instant::now();
    let requests = args.requests();
    let (traces, targets) = args.traces_and_targets();
    let open = |path| source(path, &traces, &args.how, stop);
    let sources = traces.iter().map(|path| open(path.as_path()));
    let sources: Vec<TraceSource> = sources.collect::<Result<_, _>>()?;
    let opens = opened(&requests[0], targets, &sources[0])?;
    let (capture, not_captured) = match capturing(&Roots::live(), requests[0].wish, &opens)? {
        Capturing::By(by) => (Some(by), None),
        Capturing::Not(reason) => (None, Some(reason)),
    };
    match &not_captured {
        None | Some(NotCaptured::NotAsked) => {}
        Some(reason) => say(&q2c_report::not_captured(reason)),
    }
    let begin = Begin::look(begun, &Roots::live());
    let profiles = profiles(&sources, &requests, &opens[0], &begin, stop)?;
    let rows = rows(&sources, &profiles, &requests);
    let prepared = rows.iter().map(|row| row.prepared(&opens, args.trials));
    let prepared: Vec<PreparedVariant<'_>> = prepared.collect::<Result<_, Fault>>()?;
    let mut folder = folder(args, &prepared)?;
    let _orderly = Orderly::begin();
    let starts = rows.iter().zip(&prepared);
    let starts: Vec<RunStart> = starts
        .map(|(row, ready)| row.start(&ready.job, begin))
        .collect();
    let variants: Vec<Variant<'_>> = prepared.into_iter().map(|ready| ready.variant).collect();
    let run = ReplayRun {
        request: &requests[0],
        trials: args.trials,
        all_trials: args.how.all_trials,
        repeats: REPEATS,
        begin,
        capture,
        record: None,
    };
    let ran = run.go(&variants, &mut folder, stop)?;
    if keys(&variants).all(|key| ran.cell_outcomes(&key).0.is_empty()) {
        return Err(nothing(&ran, &variants));
    }
    let compared = starts.into_iter().zip(&variants).zip(&rows);
    let compared = compared.map(|((start, variant), row)| Compared {
        start,
        variant,
        profile: row.profile.cloned(),
    });
    let compared: Vec<Compared<'_>> = compared.collect();
    let result = q2c_compare::compare(&compared, &ran, not_captured.as_ref());
    publish(args, folder, &ran, &result)
}

fn publish(
    args: &CompareArgs,
    folder: RunDir,
    ran: &q2c_compare::ReplayTrials,
    result: &CompareResult,
) -> Result<Exit, Fault> {
    let path = folder.path().to_owned();
    run_folder::publish(folder, ran.state(), result)?;
    show(result, args.how.run.json)?;
    run_folder::tell_report(&path);
    let devices = result.comparisons.iter().flat_map(|one| &one.devices);
    let trials = devices.flat_map(|device| &device.trials);
    Ok(match exit(ran.state(), trials) {
        Exit::Done if !result.comparisons.iter().all(compares) => Exit::Requirements,
        other => other,
    })
}

/// Whether all devices were compared by the same work. A device without a valid trial was not, nor
/// was one whose requests differ from those of the first.
fn compares(one: &Comparison) -> bool {
    let unlike = |finding: &CompareFinding| {
        use CompareFinding::{NoValidTrial, WorkDiffers};
        matches!(finding, NoValidTrial { .. } | WorkDiffers { .. })
    };
    !one.verdict.iter().any(unlike)
}

/// Opens the targets. Block devices are held open as long as the sites are kept.
fn opened(
    request: &ReplayRequest,
    targets: &[String],
    trace: &TraceSource,
) -> Result<Vec<OpenSite>, Fault> {
    let roots = Roots::live();
    let opens = targets.iter().enumerate().map(|(nth, target)| {
        let before = targets[..nth].iter().filter(|other| *other == target);
        OpenSite::of_one(&roots, request, target, &trace.facts, before.count())
    });
    let opens: Result<Vec<OpenSite>, Fault> = opens.collect();
    let opens = opens.map_err(not_opened)?;
    opens.iter().for_each(say_simulated);
    Ok(opens)
}

/// For each trace its recording with completions, where one of the modes needs it.
fn profiles(
    sources: &[TraceSource],
    requests: &[ReplayRequest],
    first: &OpenSite,
    begin: &Begin,
    stop: &AtomicBool,
) -> Result<Vec<Option<Profiled>>, Fault> {
    let profiling = Profiling {
        request: &requests[0],
        first,
        memory: MEMORY,
        temporary: &temporary(),
        busy_cpus: begin.disturbing_cpus(),
        stop,
    };
    let profile = |source: &TraceSource| {
        if !source.lacks_completions(requests)? {
            return Ok(None);
        }
        say(&format!(
            "{} has no completions: it is replayed timed on {} once, about {}, and again where the \
             replayer is late; this recording is replayed on all devices",
            source.name,
            profiling.device(source),
            spoken(source.facts.time_to_last_end().as_secs_f64())
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

/// All traces in all modes, each with a name of its own where there are several.
fn rows<'a>(
    sources: &'a [TraceSource],
    profiles: &'a [Option<Profiled>],
    requests: &[ReplayRequest],
) -> Vec<ReplayVariant<'a>> {
    let several = sources.len() * requests.len() > 1;
    let mut rows: Vec<ReplayVariant<'a>> = Vec::new();
    for (source, profiled) in sources.iter().zip(profiles) {
        for request in requests {
            let needs = matches!(request.mode, Mode::Outstanding { .. });
            let profiled = profiled.as_ref().filter(|_| needs);
            let name = if several {
                name(&rows, source, &request.mode)
            } else {
                String::new()
            };
            rows.push(ReplayVariant {
                name,
                trace: profiled.map_or(source, |profiled| &profiled.trace),
                profile: profiled.map(|profiled| &profiled.told),
                request: ReplayRequest {
                    // The recording of a replay has what was wanted of the trace, and nothing else.
                    wanted: match profiled {
                        Some(_) => ReplaySelection::default(),
                        None => request.wanted.clone(),
                    },
                    ..request.clone()
                },
            });
        }
    }
    rows
}

/// A name that no row has yet: the trace and the mode, with a number when the trace is given again.
fn name(rows: &[ReplayVariant<'_>], source: &TraceSource, mode: &Mode) -> String {
    let plain = format!("{}, {}", source.name, mode.name());
    let numbered = (2..).map(|number| format!("{plain} ({number})"));
    let taken = |name: &String| rows.iter().any(|row| row.name == *name);
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}

impl<'a> ReplayVariant<'a> {
    fn start(&self, job: &ReplayJob, begin: Begin) -> RunStart {
        let TraceSource { name, made_by, .. } = self.trace;
        RunStart::new(&Roots::live(), job.clone(), name, made_by, begin)
    }

    fn prepared(&self, opens: &[OpenSite], trials: u32) -> Result<PreparedVariant<'a>, Fault> {
        let name = self.name.clone();
        PreparedVariant::new(name, self.trace, &self.request, opens, trials)
    }
}

/// The plan of a run of several variants, as its folder keeps it.
#[derive(Serialize)]
struct VariantsPlan<'a> {
    replays: Vec<PlannedReplay<'a>>,
}

#[derive(Serialize)]
struct PlannedReplay<'a> {
    name: &'a str,
    job: &'a ReplayJob,
}

/// Makes the run's folder with its plan: the job, or a list of jobs with their names.
fn folder(args: &CompareArgs, prepared: &[PreparedVariant<'_>]) -> Result<RunDir, Fault> {
    let out = &args.how.run.out;
    if let [one] = prepared {
        return Ok(RunDir::create(out, "compare", &one.job, &one.identity)?);
    }
    let replays = prepared.iter().map(|ready| PlannedReplay {
        name: &ready.variant.name,
        job: &ready.job,
    });
    let replays = replays.collect();
    let identity = prepared.first().map(|ready| ready.identity.clone());
    let identity = identity.unwrap_or_default();
    Ok(RunDir::create(
        out,
        "compare",
        &VariantsPlan { replays },
        &identity,
    )?)
}
