//! The command `q2c doctor`.

use crate::commands::capture::Child;
use crate::commands::restore;
use crate::config::{self, ConfigArgs};
use crate::output::{say, screen, show};
use clap::Args;
use q2c_capture::latency::LatencyProbe;
use q2c_engine::spdk::SpdkPerf;
use q2c_host::Roots;
use q2c_host::cpu_time::idle_busy_cpus;
use q2c_host::doctor::{self, Ability, DoctorFacts, FixPlan, MachineAbilities, MakerAbility};
use q2c_host::ramdisk::{check_ublk, module};
use q2c_host::restore::{Guard, UndoOutcome};
use q2c_host::signals::{Orderly, Signals};
use q2c_host::target::{OpenTarget, TargetRequirements, WritePermission, open};
use q2c_model::{Bytes, Fault};
use q2c_place::scheduler::scx::{self, ScxError};
use q2c_report::terminal::Screen;
use q2c_report::{Reported, count_settings};
use q2c_result::doctor::{ChangeState, FIX_SCHEMA, RefusedReason, Use};
use q2c_result::{Check, CheckVerdict, DoctorFix, Exit, Target};
use q2c_run::config::Config;
use q2c_sys::Clock;
use q2c_workbench::doctor_facts;
use q2c_workbench::workbench::try_cpus;
use std::ffi::OsString;
use std::fmt::Display;
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
    #[arg(long, value_name = "CHECK,...", value_delimiter = ',')]
    #[arg(requires = "fix")]
    pub only: Vec<String>,
    /// With --fix: folder of the restore journals [default: /var/lib/q2c/restore for root, else the
    /// user's state folder]
    #[arg(long, value_name = "FOLDER", requires = "fix")]
    pub journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// With --fix: put the settings back when this command has ended; q2c ends with its exit code
    #[arg(last = true, value_name = "COMMAND", requires = "fix")]
    #[arg(conflicts_with_all = ["dry_run", "json"])]
    pub command: Vec<OsString>,
}

/// Time for which the machine's idle baseline is measured.
const REST_LENGTH: Duration = Duration::from_millis(500);

/// Examines the machine, and the target if one is named; or with `--fix` changes settings. Returns
/// the exit code, which may be that of the command that was run.
pub(crate) fn run(args: &DoctorArgs, config: &ConfigArgs, signals: &Signals) -> Result<u8, Fault> {
    let roots = Roots::live();
    let named = args.target.as_deref();
    if args.fix {
        let target = named.map(|path| open_target(&roots, path)).transpose()?;
        let facts = gather(&roots, target.as_ref().map(|open| &open.facts), args);
        return fix(args, &roots, &facts, signals);
    }
    let stop = signals.stop();
    let busy = idle_busy_cpus(&roots, REST_LENGTH);
    let target = named.map(|path| examine(&roots, path, &stop)).transpose()?;
    let mut facts = gather(&roots, target.as_ref(), args);
    facts.abilities = Some(abilities(&roots));
    facts.idle_busy_cpus = busy;
    let mut report = doctor::run(&facts);
    report.checks.push(check_config(config));
    let report = doctor::sort_by_use(report);
    show(&report, args.json).map(Exit::code)
}

fn gather<'a>(roots: &'a Roots, target: Option<&'a Target>, args: &DoctorArgs) -> DoctorFacts<'a> {
    let mut facts = doctor_facts(roots, target, &[], &Clock::new().into());
    // Without a folder there can be no leftover journal.
    facts.journal = restore::folder(args.journal.as_deref()).ok();
    facts
}

/// The check of the configuration file: its path, and its settings.
fn check_config(args: &ConfigArgs) -> Check {
    let (verdict, finding) = match config::read_file(args) {
        Ok(None) => (CheckVerdict::Pass, "no q2c.toml".to_owned()),
        Ok(Some(Ok(config))) => (CheckVerdict::Pass, config_text(&config)),
        Ok(Some(Err((path, faults)))) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let finding = format!("{}: {}", path.display(), faults.join("; "));
            (CheckVerdict::Warn, finding)
        }
        Err(failure) => (CheckVerdict::Warn, format!("failed to {failure}")),
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

fn config_text(config: &Config) -> String {
    let mut settings = config::settings_text(&config.targets, config.settings.iter());
    if settings.is_empty() {
        "nothing".clone_into(&mut settings);
    }
    format!("{}: {settings}", config.path.display())
}

/// The facts of the target, which several CPUs read for a moment.
fn examine(roots: &Roots, path: &Path, stop: &AtomicBool) -> Result<Target, Fault> {
    let mut open = open_target(roots, path)?;
    try_cpus(roots, open.file, &mut open.facts, open.target_disk, stop)?;
    Ok(open.facts)
}

fn open_target(roots: &Roots, path: &Path) -> Result<OpenTarget, Fault> {
    let wanted = TargetRequirements {
        path: path.to_owned(),
        write: false,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 1,
    };
    open(roots, &wanted, &WritePermission::none()).map_err(Fault::from)
}

fn abilities(roots: &Roots) -> MachineAbilities {
    let makers = q2c_fs::makers().into_iter().map(|maker| MakerAbility {
        fs: maker.fs.to_string(),
        package: maker.package.to_owned(),
        ability: ability(maker.program),
    });
    MachineAbilities {
        bpf: ability(LatencyProbe::try_to_load(roots)),
        scx: ability(check_scx(roots)),
        ramdisk_module: module::obstacle(roots, None).map_or(Ok(()), Err),
        ublk: ability(check_ublk()),
        spdk: SpdkPerf::find().map(drop),
        makers: makers.collect(),
    }
}

fn check_scx(roots: &Roots) -> Result<(), ScxError> {
    if cfg!(feature = "scx") {
        scx::check(roots)
    } else {
        Err(ScxError::NotBuilt)
    }
}

/// The ability, or why it is missing. The errors of these crates start with what was tried.
fn ability<T, E: Display>(tried: Result<T, E>) -> Ability {
    tried.map(drop).map_err(|e| format!("failed to {e}"))
}

/// Announces and makes the changes. With a command, the changes are undone after the command has
/// ended, and else they stay. Returns the exit code.
fn fix(
    args: &DoctorArgs,
    roots: &Roots,
    facts: &DoctorFacts,
    signals: &Signals,
) -> Result<u8, Fault> {
    let plan = doctor::plan(facts).for_checks(&args.only).map_err(|name| {
        Fault::usage(format!(
            "understand --only: there is no check {name}; q2c doctor lists them"
        ))
    })?;
    let preview = DoctorFix {
        schema: FIX_SCHEMA.to_owned(),
        dry_run: args.dry_run,
        changes: plan.preview(),
        left: plan.left.clone(),
    };
    if args.dry_run {
        return show(&preview, args.json).map(Exit::code);
    }
    // Standard output is reserved for the command or the result.
    say_document(&DoctorFix {
        dry_run: true,
        ..preview.clone()
    });
    check_possible(args, &preview)?;
    apply_changes(args, roots, &plan, preview, signals)
}

/// Prints the report on stderr, without colour like all messages.
fn say_document(fix: &DoctorFix) {
    let plain = Screen {
        colour: false,
        ..screen()
    };
    fix.document().text(plain).lines().for_each(say);
}

fn check_possible(args: &DoctorArgs, fix: &DoctorFix) -> Result<(), Fault> {
    let all_refused = fix.refused().count() == fix.changes.len();
    let Some(first) = fix.changes.first().filter(|_| all_refused) else {
        return Ok(());
    };
    let ChangeState::Refused { why, error } = &first.state else {
        return Ok(());
    };
    let root = rustix::process::geteuid().is_root();
    let todo = match (why, root) {
        (RefusedReason::Permission, false) => format!("run `sudo {}`", own_command(args)),
        (RefusedReason::Permission | RefusedReason::ReadOnly, _) => {
            "run q2c outside of this container".to_owned()
        }
        _ => format!("look with `{} --dry-run`", own_command(args)),
    };
    let settings = count_settings(fix.changes.len());
    Err(Fault::environment(format!(
        "change {settings}, of which none may be written: open {}: {error}; {todo}",
        first.file
    )))
}

/// This command's own line, without the command that it runs.
fn own_command(args: &DoctorArgs) -> String {
    let target = args.target.iter().map(|p| format!(" {}", p.display()));
    format!("q2c doctor --fix{}", target.collect::<String>())
}

fn apply_changes(
    args: &DoctorArgs,
    roots: &Roots,
    plan: &FixPlan,
    preview: DoctorFix,
    signals: &Signals,
) -> Result<u8, Fault> {
    let mut guard = Guard::new(roots, &restore::folder(args.journal.as_deref())?)?;
    let changes = plan.apply(&mut guard)?;
    let fix = DoctorFix { changes, ..preview };
    if signals.stopped() {
        put_back(&mut guard);
        return Ok(Exit::Interrupted.code());
    }
    if !args.command.is_empty() {
        return run_command(args, &mut guard, &fix, signals);
    }
    guard.leave_in_force(); // the changes stay
    show(&fix, args.json)?;
    if fix.refused().count() < fix.changes.len() {
        let option = args.journal.as_ref();
        let option = option.map_or(String::new(), |f| format!(" --journal {}", f.display()));
        say(&format!("`q2c restore{option}` puts back what was changed"));
    }
    Ok(Exit::requirements(fix.refused().next().is_none()).code())
}

fn run_command(
    args: &DoctorArgs,
    guard: &mut Guard,
    fix: &DoctorFix,
    signals: &Signals,
) -> Result<u8, Fault> {
    say_document(fix);
    // After a signal the program still exits with the command's code, however long the restore
    // takes.
    std::mem::forget(Orderly::begin());
    let mut child = Child::start_in_place(&args.command)?;
    let code = child.wait(signals)?;
    Ok(match (put_back(guard), code) {
        (false, 0) => Exit::Requirements.code(),
        _ => code,
    })
}

/// Restores the settings and reports it. Returns false if one could not be restored.
fn put_back(guard: &mut Guard) -> bool {
    let undone = guard.undo();
    let is_unusual = |(_, outcome): &&(PathBuf, UndoOutcome)| {
        !matches!(outcome, UndoOutcome::Restored | UndoOutcome::AlreadyOld)
    };
    for (file, outcome) in undone.iter().filter(is_unusual) {
        say(&format!("{}: {outcome}", file.display()));
    }
    let restored = undone.iter().filter(|(_, o)| *o == UndoOutcome::Restored);
    say(&format!("put back: {}", count_settings(restored.count())));
    let complete = undone.iter().all(|(_, outcome)| outcome.is_final());
    if !complete {
        say("not everything could be put back: `q2c restore` tries again");
    }
    complete
}
