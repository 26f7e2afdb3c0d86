//! The commands `q2c replay` and `q2c compare`.

mod job;
mod site;
mod source;

use super::session;
use crate::args::{CompareArgs, HowArgs, ReplayArgs};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use q2c_compare::{self, Asked, Ran, Replaying, Site};
use q2c_host::Roots;
use q2c_model::Bytes;
use q2c_result::Exit;
use q2c_result::replay::ReplayTrial;
use q2c_run::{Identity, RunDir, RunState, runner};
use q2c_sys::Clock;
use site::{Open, align_alike};
use source::Source;
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
    let source = Source::open(&args.trace, &args.how, stop)?;
    let open = Open::mapped(args, &source.facts)?;
    let run = Run {
        name: "replay",
        how: &args.how,
        trials: args.trials,
        repeats: 0,
        record: args.record.as_deref(),
        sites: vec![open],
    };
    let (asked, sites, ran, folder) = run.go(&source, stop)?;
    let path = folder.path().to_owned();
    let result = q2c_compare::replay(&asked, &source.facts, &sites[0], &ran);
    let Some(result) = result else {
        return Err(nothing(&ran, &sites));
    };
    let page = q2c_report::html::replay(&result).or_exit(Exit::Internal)?;
    session::publish(folder, ran.state(), &result, &page)?;
    match args.how.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::replay(&result, screen()))?,
    }
    if let Some(record) = &args.record {
        say(&format!("recorded: {}", record.display()));
    }
    session::tell_report(&path);
    Ok(exit(ran.state(), result.trials.iter()))
}

/// Replays a trace on several devices in turns.
pub fn compare(args: &CompareArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let source = Source::open(&args.trace, &args.how, stop)?;
    let opens = args.targets.iter().enumerate().map(|(nth, target)| {
        let before = args.targets[..nth].iter().filter(|other| *other == target);
        Open::alone(&args.how, target, &source.facts, before.count())
    });
    let mut opens: Vec<Open> = opens.collect::<Result<_, _>>()?;
    align_alike(&mut opens, &source.facts);
    let run = Run {
        name: "compare",
        how: &args.how,
        trials: args.trials,
        repeats: REPEATS,
        record: None,
        sites: opens,
    };
    let (asked, sites, ran, folder) = run.go(&source, stop)?;
    let path = folder.path().to_owned();
    if sites.iter().all(|site| ran.of(&site.name).0.is_empty()) {
        return Err(nothing(&ran, &sites));
    }
    let result = q2c_compare::compare(&asked, &source.facts, &sites, &ran);
    let page = q2c_report::html::compare(&result).or_exit(Exit::Internal)?;
    session::publish(folder, ran.state(), &result, &page)?;
    match args.how.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::compare(&result, screen()))?,
    }
    session::tell_report(&path);
    let trials = result.devices.iter().flat_map(|device| &device.trials);
    Ok(exit(ran.state(), trials))
}

/// The reason why there is no number at all, as a failure.
fn nothing(ran: &Ran, sites: &[Site]) -> Failure {
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

/// The part of a replay that both commands share.
struct Run<'a> {
    name: &'static str,
    how: &'a HowArgs,
    trials: u32,
    repeats: u32,
    record: Option<&'a Path>,
    sites: Vec<Open>,
}

impl Run<'_> {
    fn go(
        self,
        source: &Source,
        stop: &AtomicBool,
    ) -> Result<(Asked, Vec<Site>, Ran, RunDir), Failure> {
        let Run {
            name,
            how,
            trials,
            repeats,
            record,
            sites,
        } = self;
        let facts = &source.facts;
        let cpus = site::cpus(how, &sites)?;
        let writes = job::writes(how, &sites);
        let job = job::job(how, &sites, writes, &cpus, trials);
        let plan = job::plan(how, facts, writes, cpus);
        let asked = Asked::new(job, &source.name, &source.made_by);
        let mut identity = Identity::default();
        for open in &sites {
            identity = identity.with(&open.site.name, &open.id);
        }
        let mut folder =
            RunDir::create(&how.run.out, name, &asked.job, &identity).or_exit(Exit::Device)?;
        say(&format!("run folder {}", folder.path().display()));
        let (held, sites): (Vec<_>, Vec<Site>) =
            sites.into_iter().map(|open| (open.held, open.site)).unzip();
        let replaying = Replaying {
            plan,
            facts,
            sites: &sites,
            trials,
            repeats,
            max_lateness: how.max_lateness,
            capture: how.capture.then_some(how.by),
            precondition: how.precondition,
            record,
            memory: MEMORY,
            spill: crate::args::temporary(),
            roots: Roots::live(),
            clock: Clock::new(),
            stop,
            partial: None,
        };
        let mut progress = runner::progress::on_stderr();
        let ran = replaying.run(how.run.seed, &mut folder, progress.as_mut());
        drop(held);
        Ok((asked, sites, ran.or_exit(Exit::Device)?, folder))
    }
}
