//! The command `q2c doctor`.

mod abilities;
mod fix;

use crate::commands::restore;
use crate::config::{self, ConfigArgs, ConfigLookup};
use crate::output::show;
use clap::Args;
use q2c_host::Roots;
use q2c_host::cpu_time::busy_at_rest;
use q2c_host::doctor::{self, DoctorFacts};
use q2c_host::signals::Signals;
use q2c_host::target::{OpenTarget, Wanted, WriteLeave, open};
use q2c_model::{Bytes, Fault};
use q2c_result::doctor::Use;
use q2c_result::{Check, CheckVerdict, Exit, Target};
use q2c_run::config::Config;
use q2c_sys::Clock;
use q2c_workbench::doctor_facts;
use q2c_workbench::workbench::try_cpus;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// List what this machine can and cannot do, by use; or change the settings that stand in the way.
#[derive(Clone, Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also look at this file or block device
    pub target: Option<PathBuf>,
    /// Change the settings of the machine that were found wanting, with TARGET those of its disk,
    /// too; `q2c restore` puts them back
    #[arg(long)]
    pub fix: bool,
    /// With --fix: only say what would be changed
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// With --fix: change only what these checks found
    #[arg(
        long,
        value_name = "CHECK,...",
        value_delimiter = ',',
        requires = "fix"
    )]
    pub only: Vec<String>,
    /// With --fix: folder of the restore journals [default: /var/lib/q2c/restore for root, else the
    /// user's state folder]
    #[arg(long, value_name = "FOLDER", requires = "fix")]
    pub journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// With --fix: put the settings back when this command has ended; q2c ends with its exit code
    #[arg(
        last = true,
        value_name = "COMMAND",
        requires = "fix",
        conflicts_with_all = ["dry_run", "json"]
    )]
    pub command: Vec<OsString>,
}

const REST: Duration = Duration::from_millis(500);

/// Examines the machine, and the target when one is named; or changes its settings. Returns the
/// exit code, which may be that of the command that was run.
pub(crate) fn run(args: &DoctorArgs, config: &ConfigArgs, signals: &Signals) -> Result<u8, Fault> {
    let roots = Roots::live();
    let named = args.target.as_deref();
    if args.fix {
        let target = named.map(|path| opened(&roots, path)).transpose()?;
        let facts = facts(&roots, target.as_ref().map(|open| &open.facts), args);
        return fix::run(args, &roots, &facts, signals);
    }
    let stop = signals.stop();
    let busy = busy_at_rest(&roots, REST);
    let target = named.map(|path| target(&roots, path, &stop)).transpose()?;
    let mut facts = facts(&roots, target.as_ref(), args);
    facts.abilities = Some(abilities::ask(&roots));
    facts.busy_at_rest = busy;
    let mut report = doctor::run(&facts);
    report.checks.push(configuration(config));
    let report = doctor::by_use(report);
    show(&report, args.json).map(Exit::code)
}

fn facts<'a>(roots: &'a Roots, target: Option<&'a Target>, args: &DoctorArgs) -> DoctorFacts<'a> {
    let mut facts = doctor_facts(roots, target, &[], &Clock::new().into());
    // Without a folder nothing can have been left there.
    facts.journal = restore::folder(args.journal.as_deref()).ok();
    facts
}

/// The check of the configuration file: which one holds, and what it sets.
fn configuration(args: &ConfigArgs) -> Check {
    let (verdict, finding) = match config::look(args) {
        Ok(ConfigLookup::None) => (CheckVerdict::Pass, "no q2c.toml".to_owned()),
        Ok(ConfigLookup::Sound(config)) => (CheckVerdict::Pass, in_force(&config)),
        Ok(ConfigLookup::Faulty(path, faults)) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let finding = format!("{}: {}", path.display(), faults.join("; "));
            (CheckVerdict::Warn, finding)
        }
        Err(failure) => (
            CheckVerdict::Warn,
            format!("failed to {}", failure.message()),
        ),
    };
    let means = match verdict {
        CheckVerdict::Pass => "names of targets and defaults of options; the command line wins",
        _ => "commands that it has settings for refuse it; mend it, or leave it out by --no-config",
    };
    Check {
        id: "config".to_owned(),
        group: "tool".to_owned(),
        uses: vec![Use::Measuring],
        verdict,
        columns: Vec::new(),
        found: finding,
        means: means.to_owned(),
        fix: None,
    }
}

fn in_force(config: &Config) -> String {
    let settings = config::what_it_sets(&config.targets, config.settings.iter());
    let settings = if settings.is_empty() {
        "nothing"
    } else {
        &settings
    };
    format!("{}: {settings}", config.path.display())
}

/// The facts of the target, which is read for a moment from several CPUs.
fn target(roots: &Roots, path: &Path, stop: &AtomicBool) -> Result<Target, Fault> {
    let OpenTarget {
        file,
        mut facts,
        target_disk,
        ..
    } = opened(roots, path)?;
    try_cpus(roots, file, &mut facts, target_disk, stop)?;
    Ok(facts)
}

fn opened(roots: &Roots, path: &Path) -> Result<OpenTarget, Fault> {
    let wanted = Wanted {
        path: path.to_owned(),
        write: false,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 1,
    };
    open(roots, &wanted, &WriteLeave::none()).map_err(Fault::from)
}
