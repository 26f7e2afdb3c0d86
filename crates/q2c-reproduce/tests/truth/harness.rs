//! Runs changed experiments on simulated devices, and checks their verdicts.

use q2c_bench::abilities::Abilities;
use q2c_bench::media::Media;
use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, SimMachine, World};
use q2c_host::Roots;
use q2c_model::Bytes;
use q2c_reproduce::file::built_in_experiment;
use q2c_reproduce::jobs::{AxisValues, JobResources, JobsPlan, UserTarget};
use q2c_reproduce::needs::Features;
use q2c_reproduce::studies::place::PlacePlan;
use q2c_reproduce::{DeviceMaker, Experiment, RunFacts, answer};
use q2c_result::reproduce::{JudgedClaim, PointTrial, ReproduceResult, ReproduceVerdict};
use q2c_run::runner::progress::SilentProgress;
use q2c_run::runner::{Plan, Runner, Settings};
use q2c_run::{Identity, RunDir, Summary};
use q2c_workbench::RunnerClock;
use q2c_workbench::workload::Site;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const TRIALS: u32 = 3;

/// A built-in experiment with changed text. Each old text must occur in it.
pub(crate) fn changed(name: &str, changes: &[(&str, &str)]) -> Experiment {
    changed_text(name, built_in_experiment(name).unwrap().text, changes)
}

pub(crate) fn changed_text(name: &str, mut text: String, changes: &[(&str, &str)]) -> Experiment {
    // A changed experiment is a variant, whose settings need no origins.
    if let Some(begin) = text.find("[from]\n") {
        let end = begin + text[begin..].find("\n\n").unwrap();
        let variant = format!("variant_of = {{ name = \"{name}\", reason = \"a test\" }}");
        text.replace_range(begin..end, &variant);
    }
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no `{from}`");
        text = text.replace(from, to);
    }
    Experiment::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The experiment's text with only those claims that contain one of the texts `says`.
pub(crate) fn pick(name: &str, says: &[&str]) -> String {
    let text = built_in_experiment(name).unwrap().text;
    let mut sections = text.split("\n[[");
    let head = sections.next().unwrap_or_default().to_owned();
    let is_included = |section: &&str| {
        let is_claim = section.starts_with("claim]]");
        !is_claim || says.iter().any(|says| section.contains(says))
    };
    sections
        .filter(is_included)
        .fold(head, |text, section| format!("{text}\n[[{section}"))
}

/// The experiment without `[needs]` up to an empty line, and without its claims' `needs` and
/// `fitted`.
pub(crate) fn without_needs(experiment: &Experiment) -> Experiment {
    let mut in_needs = false;
    let lines = experiment.text.lines().filter(|line| {
        in_needs = *line == "[needs]" || (in_needs && !line.is_empty());
        !in_needs && !line.starts_with("needs = ") && !line.starts_with("fitted = ")
    });
    let text: Vec<&str> = lines.collect();
    Experiment::parse(&text.join("\n")).unwrap()
}

/// Runs an experiment on the simulated target `target` of a simulated machine with `cpus` CPUs.
pub(crate) fn run(experiment: &Experiment, target: &str, cpus: u32, scale: f64) -> ReproduceResult {
    let world = World::new(SimMachine {
        cores: cpus,
        ..SimMachine::default()
    });
    let (cpus, folder) = (world.cpus(), tempfile::tempdir().unwrap());
    let site = Site::without_disk(Roots::live(), world);
    let simulated = SimDevices::default();
    let engine: EngineSpec = target.parse().unwrap();
    let media = Media::without_nvme(simulated.medium(&engine).unwrap());
    let resources = JobResources {
        target: Some(UserTarget {
            media: &media,
            span: Bytes(1 << 30),
            engine: Some(engine),
            abilities: Abilities::default(),
        }),
        site: &site,
        cpus: &cpus,
        maker: DeviceMaker::new(Roots::live(), folder.path().into(), None, 1, simulated),
        restore_dir: None,
    };
    let mut plan = JobsPlan {
        experiment,
        resources: &resources,
        scale,
    };
    let clock = RunnerClock::new(&site.time);
    let summary = match &experiment.place {
        Some(setup) => trials(&mut PlacePlan { setup }, &clock, folder.path()),
        None => trials(&mut plan, &clock, folder.path()),
    };
    let present = Features::default();
    let facts = run_facts(&present, scale, TRIALS);
    answer(experiment, &facts, &summary, |at| plan.cpus(at))
}

fn trials<P: Plan<Cell = AxisValues, Outcome = PointTrial>>(
    plan: &mut P,
    clock: &RunnerClock,
    folder: &Path,
) -> Summary<AxisValues, PointTrial> {
    let settings = Settings {
        trials: TRIALS,
        ..Settings::default()
    };
    let plan_as_run = std::collections::BTreeMap::from([("seed", 1)]);
    let mut folder = RunDir::create(folder, "truth", &plan_as_run, &Identity::default()).unwrap();
    let mut runner = Runner {
        settings: &settings,
        cancel: &AtomicBool::new(false),
        clock,
        progress: &mut SilentProgress,
    };
    let summary = runner.run(plan, &mut folder).unwrap();
    folder.finish(summary.state()).unwrap();
    summary
}

pub(crate) fn claim<'a>(result: &'a ReproduceResult, says: &str) -> &'a JudgedClaim {
    let claim = result.claims.iter().find(|claim| claim.says.contains(says));
    claim.unwrap_or_else(|| panic!("{}: no claim says `{says}`", result.name))
}

pub(crate) type ExpectedVerdict<'a> = (&'a str, ReproduceVerdict);

/// Facts of a run with this number of trials of each point, which took no time.
pub(crate) fn run_facts(present: &Features, scale: f64, trials: u32) -> RunFacts<'_> {
    RunFacts {
        present,
        target: None,
        scale,
        trials,
        seed: 1,
        started_unix_s: 0,
        seconds: 0.0,
        idle_busy_cpus: 0.0,
    }
}

pub(crate) fn assert_verdicts(result: &ReproduceResult, verdict: ReproduceVerdict, says: &[&str]) {
    let wanted: Vec<ExpectedVerdict<'_>> = says.iter().map(|says| (*says, verdict)).collect();
    check_all(result, &wanted);
}

pub(crate) fn check_all(result: &ReproduceResult, wanted: &[ExpectedVerdict<'_>]) {
    let wrong = wanted.iter().filter_map(|(says, verdict)| {
        let claim = claim(result, says);
        let (name, seen, expects) = (&result.name, claim.verdict, &claim.expects);
        (seen != *verdict).then(|| format!("{name}: {says}: {seen:?} {expects:#?}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
