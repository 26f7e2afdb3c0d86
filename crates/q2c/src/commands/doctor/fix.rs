//! `q2c doctor --fix`: changes settings, and puts them back after a command.

use super::DoctorArgs;
use crate::commands::capture::Child;
use crate::commands::restore;
use crate::output::{say, screen, show};
use q2c_host::Roots;
use q2c_host::doctor::{self, DoctorFacts, FixPlan};
use q2c_host::restore::{Guard, UndoOutcome};
use q2c_host::signals::{Orderly, Signals};
use q2c_model::Fault;
use q2c_report::terminal::Screen;
use q2c_report::{Reported, count_settings};
use q2c_result::doctor::{ChangeState, FIX_SCHEMA, NotChanged};
use q2c_result::{DoctorFix, Exit};
use std::path::PathBuf;

/// Says what will be changed, changes it, and leaves it so, or puts it back when the command has
/// ended. Returns the exit code.
pub(crate) fn run(
    args: &DoctorArgs,
    roots: &Roots,
    facts: &DoctorFacts,
    signals: &Signals,
) -> Result<u8, Fault> {
    let plan = doctor::plan(facts).only(&args.only).map_err(|name| {
        let message = format!("understand --only: there is no check {name}; q2c doctor lists them");
        Fault::new(Exit::Usage, message)
    })?;
    let foreseen = DoctorFix {
        schema: FIX_SCHEMA.to_owned(),
        dry_run: args.dry_run,
        changes: plan.foreseen(),
        left: plan.left.clone(),
    };
    if args.dry_run {
        return show(&foreseen, args.json).map(Exit::code);
    }
    // Standard output is the command's, or that of the result.
    say_document(&DoctorFix {
        dry_run: true,
        ..foreseen.clone()
    });
    possible(args, &foreseen)?;
    change(args, roots, &plan, foreseen, signals)
}

/// Says on stderr what a report tells. Messages have no colour.
fn say_document(fix: &DoctorFix) {
    let plain = Screen {
        colour: false,
        ..screen()
    };
    fix.document().text(plain).lines().for_each(say);
}

fn possible(args: &DoctorArgs, fix: &DoctorFix) -> Result<(), Fault> {
    let Some(first) = fix.changes.first() else {
        return Ok(());
    };
    let ChangeState::Refused { why, error } = &first.state else {
        return Ok(());
    };
    if fix.refused().count() < fix.changes.len() {
        return Ok(());
    }
    let root = rustix::process::geteuid().is_root();
    let todo = match (why, root) {
        (NotChanged::Permission, false) => format!("run `sudo {}`", own_words(args)),
        (NotChanged::Permission | NotChanged::ReadOnly, _) => {
            "run q2c outside of this container".to_owned()
        }
        _ => format!("look with `{} --dry-run`", own_words(args)),
    };
    let settings = count_settings(fix.changes.len());
    let message = format!(
        "change {settings}, of which none may be written: open {}: {error}; {todo}",
        first.file
    );
    Err(Fault::new(Exit::Environment, message))
}

/// This command's own line, without the command that it runs.
fn own_words(args: &DoctorArgs) -> String {
    match &args.target {
        Some(target) => format!("q2c doctor --fix {}", target.display()),
        None => "q2c doctor --fix".to_owned(),
    }
}

fn change(
    args: &DoctorArgs,
    roots: &Roots,
    plan: &FixPlan,
    foreseen: DoctorFix,
    signals: &Signals,
) -> Result<u8, Fault> {
    let mut guard = Guard::new(roots, &restore::folder(args.journal.as_deref())?)?;
    let changes = plan.apply(&mut guard)?;
    let fix = DoctorFix {
        changes,
        ..foreseen
    };
    if signals.stopped() {
        put_back(&mut guard);
        return Ok(Exit::Interrupted.code());
    }
    if !args.command.is_empty() {
        return run_command(args, &mut guard, &fix, signals);
    }
    guard.leave();
    show(&fix, args.json)?;
    if fix.refused().count() < fix.changes.len() {
        let named = args.journal.as_ref().map_or(String::new(), |folder| {
            format!(" --journal {}", folder.display())
        });
        say(&format!("`q2c restore{named}` puts back what was changed"));
    }
    Ok(match fix.refused().next() {
        None => Exit::Done.code(),
        Some(_) => Exit::Requirements.code(),
    })
}

fn run_command(
    args: &DoctorArgs,
    guard: &mut Guard,
    fix: &DoctorFix,
    signals: &Signals,
) -> Result<u8, Fault> {
    say_document(fix);
    // After a signal the program still ends with the code of the command, however long the putting
    // back takes.
    std::mem::forget(Orderly::begin());
    let mut child = Child::start_in_place(&args.command)?;
    let code = child.wait(signals)?;
    Ok(match (put_back(guard), code) {
        (false, 0) => Exit::Requirements.code(),
        _ => code,
    })
}

/// Puts the settings back and says so. Returns false when one could not be.
fn put_back(guard: &mut Guard) -> bool {
    let ends = guard.undo();
    let odd = |(_, outcome): &&(PathBuf, UndoOutcome)| {
        !matches!(outcome, UndoOutcome::Restored | UndoOutcome::AlreadyOld)
    };
    for (file, outcome) in ends.iter().filter(odd) {
        say(&format!("{}: {outcome}", file.display()));
    }
    let restored = ends.iter().filter(|(_, end)| *end == UndoOutcome::Restored);
    say(&format!("put back: {}", count_settings(restored.count())));
    let complete = ends.iter().all(|(_, outcome)| outcome.is_final());
    if !complete {
        say("not everything could be put back: `q2c restore` tries again");
    }
    complete
}
