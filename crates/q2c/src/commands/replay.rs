//! The commands `q2c replay` and, in `compare`, `q2c compare`.

mod compare;

pub(crate) use compare::compare;

use super::limits::RunLimits;
use super::run_folder;
use crate::args::{HowArgs, ReplayArgs, temporary};
use crate::output::{say, say_service_times, show};
use crate::progress::{Line, of_trials};
use q2c_capture::CapturedBy;
use q2c_compare::{
    self, Begin, Capturing, DeviceMap, OpenSite, PreparedReplay, ReplayRequest, ReplayTrials,
    Replaying, RunStart, SourceRequest, TraceSource, Variant, capturing,
};
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_host::target::TargetError;
use q2c_model::{Bytes, Fault};
use q2c_replay::ReplayFacts;
use q2c_result::Exit;
use q2c_result::replay::{ReplayTrial, SCHEMA};
use q2c_run::{RunDir, RunState};
use q2c_sys::Clock;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Memory for the rows of `--record`; the rest is held in an unnamed file.
const MEMORY: Bytes = Bytes(256 << 20);

pub(crate) fn replay(args: &ReplayArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let begun = Instant::now();
    if let Some(record) = &args.record {
        can_record(record, args.trials)?;
    }
    let limits = RunLimits::new(&args.limits, SCHEMA)?;
    let request = args.how.request(args.mode);
    let source = source(&args.trace, &[&args.trace], &args.how, stop)?;
    source.fits(&request)?;
    let open = site(args, &request, &source.facts)?;
    let roots = Roots::live();
    let sites = std::slice::from_ref(&open);
    let capture = match capturing(&roots, request.wish, sites)? {
        Capturing::By(by) => Some(by),
        Capturing::Not(_) => None,
    };
    let ready = PreparedReplay::new(&roots, &request, &source.facts, sites, args.trials)?;
    let begin = Begin::look(begun, &roots);
    let start = RunStart::new(&roots, ready.job, &source.name, &source.made_by, begin);
    let created = RunDir::create(&args.how.run.out, "replay", &start.job, &ready.identity);
    let variant = Variant {
        name: String::new(),
        plan: ready.plan,
        facts: &source.facts,
        sites: vec![open.site.clone()],
    };
    let variants = [variant];
    let run = ReplayRun {
        request: &request,
        trials: args.trials,
        all_trials: args.how.all_trials,
        repeats: 0,
        begin,
        capture,
        record: args.record.as_deref(),
    };
    let mut folder = created?;
    let _orderly = Orderly::begin();
    let ran = run.go(&variants, &mut folder, stop)?;
    let path = folder.path().to_owned();
    let Some(result) = q2c_compare::replay(&start, &variants[0], &ran) else {
        return Err(nothing(&ran, &variants));
    };
    run_folder::publish(folder, ran.state(), &result)?;
    show(&result, args.how.run.json)?;
    if let Some(record) = &args.record {
        say(&format!("recorded: {}", record.display()));
    }
    run_folder::tell_report(&path);
    limits.end(exit(ran.state(), result.trials.iter()), &path, &result)
}

fn can_record(path: &Path, trials: u32) -> Result<(), Fault> {
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
    Err(Fault::new(Exit::Usage, message))
}

/// The reason why there is no number at all, as a failure.
fn nothing(ran: &ReplayTrials, variants: &[Variant<'_>]) -> Fault {
    if let Some(reason) = ran.aborted() {
        return Fault::new(Exit::Device, format!("replay on {reason}"));
    }
    let Some(reason) = keys(variants).find_map(|key| ran.cell_outcomes(&key).1.into_iter().next())
    else {
        return Fault::stopped("replay: stopped by a signal before the first request");
    };
    let exit = ran.failed.as_ref().map_or(Exit::Environment, Fault::exit);
    // The reason begins with "failed to" itself.
    Fault::new(exit, reason.strip_prefix("failed to ").unwrap_or(&reason))
}

fn keys<'a>(variants: &'a [Variant<'_>]) -> impl Iterator<Item = String> + 'a {
    let variant_keys =
        |variant: &'a Variant<'_>| variant.sites.iter().map(move |site| variant.key(site));
    variants.iter().flat_map(variant_keys)
}

/// The exit code: a device that failed counts before a replayer that was late. A run that is not
/// complete was stopped by a signal, or failed in between.
fn exit<'a>(state: RunState, trials: impl Iterator<Item = &'a ReplayTrial>) -> Exit {
    let (mut valid, mut failed) = (true, false);
    for trial in trials {
        valid &= trial.valid;
        failed |= trial.errors > 0;
    }
    match (state, failed, valid) {
        (RunState::Complete, true, _) => Exit::Device,
        (RunState::Complete, _, true) => Exit::Done,
        (RunState::Complete, _, false) => Exit::Requirements,
        _ => Exit::Interrupted,
    }
}

/// Opens one of `traces`, and tells the user about what takes long.
fn source<P: AsRef<Path>>(
    path: &Path,
    traces: &[P],
    how: &HowArgs,
    stop: &AtomicBool,
) -> Result<TraceSource, Fault> {
    let asked = SourceRequest {
        path,
        format: how.recording.format.as_deref(),
        import: &how.recording.options().for_recordings(traces),
        temporary: &temporary(),
    };
    let _line = Line::reading([path]);
    TraceSource::open(&asked, &how.wanted(), stop, &say)
}

fn site(
    args: &ReplayArgs,
    request: &ReplayRequest,
    facts: &ReplayFacts,
) -> Result<OpenSite, Fault> {
    let roots = Roots::live();
    let maps: Vec<DeviceMap> = args.map.iter().map(|map| map.0.clone()).collect();
    let open = match &args.target {
        Some(target) => OpenSite::of_one(&roots, request, target, facts, 0),
        None if maps.is_empty() => {
            let message = "replay: name a target behind the trace, such as /dev/sdb or the simulated device sim:50us, or one for each \
                       device of the trace with --map";
            return Err(Fault::new(Exit::Usage, message));
        }
        None => OpenSite::of_maps(&roots, request, &maps, facts),
    };
    let open = open.map_err(not_opened)?;
    say_simulated(&open);
    Ok(open)
}

/// The failure of a target. These commands make no file of their own.
fn not_opened(fault: Fault) -> Fault {
    if !fault.cause().is_some_and(TargetError::lacks_a_file) {
        return fault;
    }
    let text = format!("{fault}, or a simulated device such as sim:50us");
    Fault::new(fault.exit(), text)
}

fn say_simulated(open: &OpenSite) {
    for target in &open.site.facts {
        say_service_times(&target.path, target.service_times.as_ref());
    }
}

struct ReplayRun<'a> {
    request: &'a ReplayRequest,
    trials: u32,
    all_trials: bool,
    repeats: u32,
    begin: Begin,
    /// Whether the block layer is captured, and by which means, as [`Replaying::capture`].
    capture: Option<Option<CapturedBy>>,
    record: Option<&'a Path>,
}

impl ReplayRun<'_> {
    /// Runs all trials. The targets' sites must be open until it returns.
    fn go(
        &self,
        variants: &[Variant<'_>],
        folder: &mut RunDir,
        stop: &AtomicBool,
    ) -> Result<ReplayTrials, Fault> {
        run_folder::announce(folder);
        let replaying = self.replaying(variants, stop);
        replaying
            .beyond_estimate()
            .iter()
            .for_each(|what| say(what));
        let mut progress = of_trials();
        replaying.run(self.request.seed, folder, progress.as_mut())
    }

    fn replaying<'a>(&'a self, variants: &'a [Variant<'a>], stop: &'a AtomicBool) -> Replaying<'a> {
        Replaying {
            variants,
            trials: self.trials,
            all_trials: self.all_trials,
            repeats: self.repeats,
            stayed_late: BTreeSet::new(),
            max_lateness: self.request.max_lateness,
            busy_cpus: self.begin.disturbing_cpus(),
            capture: self.capture,
            precondition: self.request.precondition,
            record: self.record,
            memory: MEMORY,
            spill: temporary(),
            roots: Roots::live(),
            clock: Clock::new(),
            stop,
            partial: None,
            failed: OnceCell::new(),
        }
    }
}
