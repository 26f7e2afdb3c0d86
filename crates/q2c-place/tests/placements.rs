//! The daemon beside the tasks of a trial, on a machine whose cores have two logical CPUs. Guests
//! are such machines, but the logical CPUs of their cores share no pipeline, so that this says
//! nothing about speed.

use q2c_host::Roots;
use q2c_model::{Bytes, CpuId};
use q2c_place::corun::run::cores::Cores;
use q2c_place::corun::run::plan::PlaceTrialRunner;
use q2c_place::corun::run::spec::{PlaceRunSettings, RunCell};
use q2c_place::scheduler::hints::Hints;
use q2c_place::scheduler::map::from_machine;
use q2c_result::place::PolicyName;
use q2c_run::arguments::from_words;
use q2c_run::runner::Context;
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const BS: Bytes = Bytes(4_096);

fn simulated(roots: &Roots, stop: &AtomicBool) -> Workbench {
    let request = WorkloadRequest {
        machine: None,
        target: "sim:200us".to_owned(),
        engine: None,
        pattern: "randread".parse().expect("a pattern"),
        sizes: vec![BS],
        jobs: 1,
        cpus: vec![CpuId(0)],
        background: Vec::new(),
        allow_write: Vec::new(),
        seed: 1,
    };
    Workbench::open(roots, &request, None, stop).expect("a simulated device")
}

fn spec(tasks: u32) -> PlaceRunSettings {
    let arguments = "--work integer --placements proposed --trials 1 --trial 3s --settle 8s";
    PlaceRunSettings {
        compute: Some(tasks),
        polling: Some(tasks),
        ..from_words(arguments).expect("arguments")
    }
}

fn restore_journals(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("the folder");
    let names = files.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".jsonl")).collect()
}

#[test]
fn the_daemon_moves_the_tasks_of_a_trial_and_gives_their_cpus_back() {
    let roots = Roots::live();
    let map = from_machine(&roots);
    if map.cpus() < 2 * map.cores() || map.cores() < 2 {
        let needs = "it takes two cores with two logical CPUs each; a guest has them";
        q2c_testkit::skip("the daemon beside a trial", needs);
        return;
    }
    let spec = spec(map.cores() as u32);
    let stop = AtomicBool::new(false);
    let bench = simulated(&roots, &stop);
    let journal = tempfile::tempdir().expect("a folder");
    let mut cores = Cores {
        map: &map,
        spec: &spec,
        polls: Some((&bench.workload, BS)),
        roots: &roots,
        journal: journal.path(),
        hints: &Hints::default(),
        clock: bench.workload.site.time.real().unwrap(),
    };
    let context = Context {
        trial: 0,
        seed: 1,
        cancel: &stop,
        notes: Vec::new(),
    };
    let cell = RunCell::Placed(PolicyName::Proposed, spec.tasks()[0].clone());
    let trial = cores.run_trial(&cell, &context).expect("a trial");
    // All tasks begin with all CPUs; each polling task gets one CPU from the daemon.
    let moves = trial.moves.expect("a daemon");
    assert!(moves >= spec.polling(), "{moves} moves");
    assert_eq!(trial.compute_s.len(), spec.compute() as usize);
    assert!(trial.polls.is_some_and(|polls| polls.iops > 0.0));
    let files = restore_journals(journal.path());
    assert_eq!(files, Vec::<String>::new(), "changes that were not undone");
}
