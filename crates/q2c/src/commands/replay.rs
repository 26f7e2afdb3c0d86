//! The commands `q2c replay` and `q2c compare`.

use super::run_folder;
use crate::args::{CompareArgs, HowArgs, ReplayArgs, temporary};
use crate::commands::trace::import_exit;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use crate::requests::replay::request;
use q2c_compare::{
    self, DeviceMap, OpenSite, PreparedReplay, Ran, ReplayRequest, ReplaySite, Replaying, RunStart,
    SiteError, SourceError, SourceRequest, TraceSource, align_alike,
};
use q2c_host::Roots;
use q2c_host::topology::CpuChoiceError;
use q2c_model::Bytes;
use q2c_replay::{ReplayError, ReplayFacts};
use q2c_result::Exit;
use q2c_result::replay::ReplayTrial;
use q2c_run::{RunDir, RunState, runner};
use q2c_sys::Clock;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// How often `q2c compare` repeats a trial in which the replayer was late by its own fault.
const REPEATS: u32 = 3;
/// Memory for the rows of `--record`; the rest is held in an unnamed file.
const MEMORY: Bytes = Bytes(256 << 20);

/// Replays a trace on a target.
pub fn replay(args: &ReplayArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    if args.record.is_some() && args.trials > 1 {
        let why = "record the replay: expected one trial, found --trials; a trace holds one";
        return Err(Failure::new(Exit::Usage, why));
    }
    if let Some(taken) = args
        .record
        .as_deref()
        .filter(|path| path.symlink_metadata().is_ok())
    {
        let why = format!(
            "record the replay in {}: expected a new name, found an existing file",
            taken.display()
        );
        return Err(Failure::new(Exit::Usage, why));
    }
    let request = request(&args.how);
    let source = source(&args.trace, &args.how, &request, stop)?;
    let open = site(args, &request, &source.facts)?;
    let run = Run {
        name: "replay",
        out: &args.how.run.out,
        request: &request,
        trials: args.trials,
        repeats: 0,
        record: args.record.as_deref(),
        sites: vec![open],
    };
    let (start, sites, ran, folder) = run.go(&source, stop)?;
    let path = folder.path().to_owned();
    let result = q2c_compare::replay(&start, &source.facts, &sites[0], &ran);
    let Some(result) = result else {
        return Err(nothing(&ran, &sites));
    };
    let page = q2c_report::html::replay(&result).or_exit(Exit::Internal)?;
    run_folder::publish(folder, ran.state(), &result, &page)?;
    match args.how.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::replay(&result, screen()))?,
    }
    if let Some(record) = &args.record {
        say(&format!("recorded: {}", record.display()));
    }
    run_folder::tell_report(&path);
    Ok(exit(ran.state(), result.trials.iter()))
}

/// Replays a trace on several devices in turns.
pub fn compare(args: &CompareArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let request = request(&args.how);
    let source = source(&args.trace, &args.how, &request, stop)?;
    let opens = args.targets.iter().enumerate().map(|(nth, target)| {
        let before = args.targets[..nth].iter().filter(|other| *other == target);
        OpenSite::of_one(&request, target, &source.facts, before.count())
    });
    let opens: Result<Vec<OpenSite>, SiteError> = opens.collect();
    let mut opens = opens.or_exit_of(SiteError::exit)?;
    align_alike(&mut opens, &source.facts);
    let run = Run {
        name: "compare",
        out: &args.how.run.out,
        request: &request,
        trials: args.trials,
        repeats: REPEATS,
        record: None,
        sites: opens,
    };
    let (start, sites, ran, folder) = run.go(&source, stop)?;
    let path = folder.path().to_owned();
    if sites.iter().all(|site| ran.of(&site.name).0.is_empty()) {
        return Err(nothing(&ran, &sites));
    }
    let result = q2c_compare::compare(&start, &source.facts, &sites, &ran);
    let page = q2c_report::html::compare(&result).or_exit(Exit::Internal)?;
    run_folder::publish(folder, ran.state(), &result, &page)?;
    match args.how.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::compare(&result, screen()))?,
    }
    run_folder::tell_report(&path);
    let trials = result.devices.iter().flat_map(|device| &device.trials);
    Ok(exit(ran.state(), trials))
}

/// The reason why there is no number at all, as a failure.
fn nothing(ran: &Ran, sites: &[ReplaySite]) -> Failure {
    if let Some(why) = ran.aborted() {
        return Failure::new(Exit::Device, format!("replay on {why}"));
    }
    let first = sites
        .iter()
        .find_map(|site| ran.of(&site.name).1.into_iter().next());
    match first {
        // The reason begins with "failed to" itself.
        Some(why) => Failure::new(
            Exit::Environment,
            why.strip_prefix("failed to ").unwrap_or(&why),
        ),
        None => Failure::new(
            Exit::Interrupted,
            "replay: stopped by a signal before the first request",
        ),
    }
}

/// The exit code: a device that failed counts before a replayer that was late. A run that is not
/// complete was stopped by a signal, or failed in between.
fn exit<'a>(state: RunState, trials: impl Iterator<Item = &'a ReplayTrial>) -> Exit {
    let mut valid = true;
    let mut failed = false;
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

/// Opens the trace, and tells the user about what takes long.
fn source(
    path: &Path,
    how: &HowArgs,
    request: &ReplayRequest,
    stop: &AtomicBool,
) -> Result<TraceSource, Failure> {
    let asked = SourceRequest {
        path,
        format: how.recording.format.as_deref(),
        import: &how.recording.options(),
        temporary: &temporary(),
    };
    TraceSource::open(&asked, request, stop, &say).or_exit_of(source_exit)
}

fn source_exit(error: &SourceError) -> Exit {
    match error {
        SourceError::Import(error) => import_exit(error),
        SourceError::Stopped => Exit::Interrupted,
        SourceError::Unfit(ReplayError::TooSmall { .. }) => Exit::Target,
        SourceError::Read(_)
        | SourceError::Empty { .. }
        | SourceError::Unfit(ReplayError::NoCompletions { .. } | ReplayError::NoKey(_)) => {
            Exit::Input
        }
        SourceError::Unfit(_) => Exit::Environment,
    }
}

/// Opens the one target, or the targets of `--map`.
fn site(
    args: &ReplayArgs,
    request: &ReplayRequest,
    facts: &ReplayFacts,
) -> Result<OpenSite, Failure> {
    let open = match &args.target {
        Some(target) => OpenSite::of_one(request, target, facts, 0),
        None if args.map.is_empty() => {
            let why = "replay: name a <TARGET>, or one for each device with --map";
            return Err(Failure::new(Exit::Usage, why));
        }
        None => {
            let maps: Vec<DeviceMap> = args.map.iter().map(|map| map.0.clone()).collect();
            OpenSite::of_maps(request, &maps, facts)
        }
    };
    open.or_exit_of(SiteError::exit)
}

/// The part of a replay that both commands share.
struct Run<'a> {
    name: &'static str,
    out: &'a Path,
    request: &'a ReplayRequest,
    trials: u32,
    repeats: u32,
    record: Option<&'a Path>,
    sites: Vec<OpenSite>,
}

impl Run<'_> {
    fn go(
        self,
        source: &TraceSource,
        stop: &AtomicBool,
    ) -> Result<(RunStart, Vec<ReplaySite>, Ran, RunDir), Failure> {
        let Run {
            name,
            out,
            request,
            trials,
            repeats,
            record,
            sites,
        } = self;
        let facts = &source.facts;
        let ready = PreparedReplay::new(request, facts, &sites, trials);
        let PreparedReplay {
            plan,
            job,
            identity,
        } = ready.or_exit_of(CpuChoiceError::exit)?;
        let start = RunStart::new(job, &source.name, &source.made_by);
        let mut folder = RunDir::create(out, name, &start.job, &identity).or_exit(Exit::Device)?;
        say(&format!("run folder {}", folder.path().display()));
        let (held_open, sites): (Vec<_>, Vec<ReplaySite>) = sites
            .into_iter()
            .map(|open| (open.held_open, open.site))
            .unzip();
        let replaying = Replaying {
            plan,
            facts,
            sites: &sites,
            trials,
            repeats,
            max_lateness: request.max_lateness,
            capture: request.capture,
            precondition: request.precondition,
            record,
            memory: MEMORY,
            spill: temporary(),
            roots: Roots::live(),
            clock: Clock::new(),
            stop,
            partial: None,
        };
        let mut progress = runner::progress::on_stderr();
        let ran = replaying.run(request.seed, &mut folder, progress.as_mut());
        drop(held_open);
        Ok((start, sites, ran.or_exit(Exit::Device)?, folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_trace::TraceReader;

    #[test]
    fn a_trace_that_cannot_be_read_is_a_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut.parquet");
        std::fs::write(&cut, b"PAR1 and no more").unwrap();
        let Err(error) = TraceReader::open(&cut) else {
            panic!("a file without a trace was opened");
        };
        assert_eq!(source_exit(&SourceError::Read(error)), Exit::Input);
        assert_eq!(source_exit(&SourceError::Stopped), Exit::Interrupted);
    }
}
