//! `q2c reproduce --list`.

use crate::args::ReproduceArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, screen};
use q2c_reproduce::Experiment;
use q2c_reproduce::file::{self, Needs};
use q2c_result::Exit;
use q2c_result::reproduce::{LIST_SCHEMA, ListResult, ListedExperiment};

/// Lists the built-in experiments.
pub(super) fn run(args: &ReproduceArgs) -> Result<Exit, Failure> {
    let all = file::all().or_exit(Exit::Internal)?;
    let result = ListResult {
        schema: LIST_SCHEMA.to_owned(),
        experiments: all.iter().map(listed).collect(),
    };
    match args.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::reproduce_list(&result, screen()))?,
    }
    Ok(Exit::Done)
}

fn listed(experiment: &Experiment) -> ListedExperiment {
    ListedExperiment {
        name: experiment.name.clone(),
        title: experiment.title.clone(),
        variant_of: experiment.variant_of.as_ref().map(|of| of.name.clone()),
        source: experiment.setting.clone(),
        claims: experiment.claims.len() as u32,
        needs: needs(experiment),
        takes_target: experiment.takes_target(),
        seconds: experiment.length_s(1.0, experiment.trials),
    }
}

/// What any of its claims needs, in words.
fn needs(experiment: &Experiment) -> Vec<String> {
    let own = experiment.claims.iter().map(|(_, needs)| needs);
    let all: Needs = own.fold(experiment.needs.clone(), |all, own| {
        let most = |one: Option<u32>, other: Option<u32>| one.max(other);
        Needs {
            cpus: most(all.cpus, own.cpus),
            ..all.and(own)
        }
    });
    let count = |what: &str, n: Option<u32>| n.map(|n| format!("{n} {what}"));
    let mut words: Vec<String> = [
        count("CPUs", all.cpus.max(experiment.cpus())),
        count("threads per core", all.threads_per_core),
        count("NUMA nodes", all.numa_nodes),
        count("hardware queues", all.hw_queues),
    ]
    .into_iter()
    .flatten()
    .collect();
    words.extend(all.kernel.map(|bound| {
        let (major, minor) = bound.version;
        let what = if bound.below { "before" } else { "from" };
        format!("Linux {what} {major}.{minor}")
    }));
    words.extend(all.poll_queues.then(|| "poll queues".to_owned()));
    words.extend(all.module.map(|module| format!("the module {module}")));
    words.extend(all.file_systems);
    words.extend(all.spdk.then(|| "SPDK".to_owned()));
    words.extend(all.devices);
    words
}
