//! The command `q2c doctor`.

use crate::args::{ConfigArgs, DoctorArgs};
use crate::config::{self, Found};
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, screen};
use q2c_config::Config;
use q2c_host::Roots;
use q2c_host::target::{OpenTarget, Wanted, WriteLeave, open};
use q2c_model::Bytes;
use q2c_result::{Check, Exit, Target, Verdict};
use q2c_sys::Clock;
use q2c_workbench::examine;
use q2c_workbench::workbench::try_cpus;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Examines the machine, and the target when one is named.
pub fn run(args: &DoctorArgs, config: &ConfigArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let target = match &args.target {
        Some(path) => Some(target(&roots, path, stop)?),
        None => None,
    };
    let mut report = examine(&roots, target.as_ref(), &[], Clock::new());
    report.checks.push(configuration(config));
    match args.json {
        true => print_json(&report)?,
        false => print(&q2c_report::terminal::doctor(&report, screen()))?,
    }
    Ok(Exit::Done)
}

/// The check of the configuration file: which one holds, and what it sets.
fn configuration(args: &ConfigArgs) -> Check {
    let (verdict, found) = match config::look(args) {
        Ok(Found::None) => (Verdict::Pass, "no q2c.toml".to_owned()),
        Ok(Found::Sound(config)) => (Verdict::Pass, in_force(&config)),
        Ok(Found::Faulty(path, faults)) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let found = format!("{}: {}", path.display(), faults.join("; "));
            (Verdict::Warn, found)
        }
        Err(failure) => (Verdict::Warn, format!("failed to {}", failure.message())),
    };
    let means = match verdict {
        Verdict::Pass => "names of targets and defaults of options; the command line wins",
        _ => "commands that it has settings for refuse it; mend it, or leave it out by --no-config",
    };
    Check {
        id: "config".to_owned(),
        group: "tool".to_owned(),
        verdict,
        columns: Vec::new(),
        found,
        means: means.to_owned(),
        fix: None,
    }
}

/// The file, and what it sets.
fn in_force(config: &Config) -> String {
    let targets = config.targets.iter();
    let targets = targets.map(|(name, target)| format!("@{name} = {target}"));
    let settings = config.settings.iter().map(config::in_words);
    let told: Vec<String> = targets.chain(settings).collect();
    let told = match told.is_empty() {
        true => "nothing".to_owned(),
        false => told.join(", "),
    };
    format!("{}: {told}", config.path.display())
}

/// The facts of the target, which is read for a moment from several CPUs.
fn target(roots: &Roots, path: &Path, stop: &AtomicBool) -> Result<Target, Failure> {
    let wanted = Wanted {
        path: path.to_owned(),
        write: false,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 1,
    };
    let open = open(roots, &wanted, &WriteLeave::none()).or_exit_of(|e| e.exit())?;
    let OpenTarget {
        file,
        mut facts,
        target_disk,
        ..
    } = open;
    try_cpus(roots, file, &mut facts, target_disk, stop).or_exit_of(|e| e.exit())?;
    Ok(facts)
}
