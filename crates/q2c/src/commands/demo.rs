//! The command `q2c demo`: three questions, each answered by a command on samples.

use crate::args::{Cli, Command};
use crate::output::{print, set_answers_alone};
use clap::Parser;
use q2c_host::signals::Signals;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;

const QUESTIONS: [(&str, &str); 3] = [
    (
        "How long should a thread sleep before it polls, on a fast SSD?",
        "q2c poll sweep sample:zssd-983zet --wake-delay 2us",
    ),
    (
        "Where does the time go between the program and the disk?",
        "q2c analyze sample:disk-mixed-4-threads",
    ),
    (
        "Which of two devices serves a workload better?",
        "q2c compare sample:websearch sim:60us,servers=8 sim:120us,servers=8",
    ),
];

const NEXT: &str = "\
Each command prints a whole report. About a disk of yours:
    q2c tune --scratch 1g         how to wait for its I/O, in about three minutes, without root
    sudo q2c top                  what your disks do now";

/// Runs each command by `run_command`, and shows its answers alone.
pub(crate) fn run(
    signals: &Signals,
    run_command: fn(Cli, &Signals) -> Result<u8, Fault>,
) -> Result<u8, Fault> {
    let runs = tempfile::tempdir().or_fault(Exit::Environment, "make a folder for the runs")?;
    for (question, command) in QUESTIONS {
        print(&format!("{question}\n    {command}"))?;
        let mut cli = Cli::try_parse_from(command.split(' ')).or_exit(Exit::Internal)?;
        if let Command::Compare(args) = &mut cli.command {
            args.how.run.out = runs.path().to_owned();
        }
        set_answers_alone(true);
        let ended = run_command(cli, signals);
        set_answers_alone(false);
        let code = ended?;
        if code != Exit::Done.code() {
            return Ok(code);
        }
        print("")?;
    }
    print(NEXT)?;
    Ok(Exit::Done.code())
}
