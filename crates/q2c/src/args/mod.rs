//! The arguments of the program.

mod recording;
mod replay;
mod short;
mod watch;

pub(crate) use recording::{RecordingArgs, temporary};
pub(crate) use replay::{CompareArgs, HowArgs, ReplayArgs};
pub(crate) use watch::{WatchArgs, seconds};

use crate::commands;
use crate::config::ConfigArgs;
use crate::output::{arrived, say, say_fault};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use q2c_bench::BenchSettings;
use q2c_model::Fault;
use q2c_policy::SpecError;
use q2c_reproduce::ReproduceSettings;
use q2c_result::Exit;
use q2c_tune::TuneSettings;
use std::error::Error as _;
use std::process::ExitCode;

/// A laboratory for the life of a block I/O, from Q (queued) to C (complete).
#[derive(Debug, Parser)]
#[command(name = "q2c", version, after_help = exit_codes(), mut_subcommands(short::shortened))]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// The configuration file.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Show what stands behind the answers, too: costs, roles, late time, how far to trust it
    #[arg(short, long, global = true, hide_short_help = true)]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the best way to wait for I/O on a device: calibrate, record, simulate, verify live,
    /// report
    Tune(TuneSettings),
    /// Compare I/O interfaces and methods over jobs, depths and block sizes
    Bench(BenchSettings),
    /// Measure what sleeping, waking, polling and interrupts cost here
    Calibrate(commands::calibrate::CalibrateArgs),
    /// Simulate sleep rules on a trace, or watch them at work
    Poll(commands::poll::PollArgs),
    /// Record a device's I/Os, bring recordings of other tools in, look into traces
    Trace(commands::trace::TraceArgs),
    /// Say where the I/Os of a trace spend their time: stages, queues, load, the bottleneck
    Analyze(commands::analyze::AnalyzeArgs),
    /// Replay a trace on a device: timed, with as much in flight, or as a closed loop
    Replay(ReplayArgs),
    /// Replay a trace on several devices and say which serves it better
    Compare(CompareArgs),
    /// Compare two results of one kind, figure by figure, and say what changed around them
    Diff(commands::diff::DiffArgs),
    /// Measure file systems under jobs that share their files
    Fs(commands::fs::FsArgs),
    /// Predict throughput at more cores than were measured
    Scale(commands::scale::ScaleArgs),
    /// Place polling tasks beside computing tasks on SMT cores
    Place(commands::place::PlaceArgs),
    /// Draw tables and the HTML report again from a result
    Report(commands::report::ReportArgs),
    /// Make RAM block devices with service times, list and delete them
    Ramdisk(commands::ramdisk::RamdiskArgs),
    /// List what this machine can and cannot do, by use, why, and the line that would change it
    Doctor(commands::doctor::DoctorArgs),
    /// Run published experiments here, and judge each published claim
    Reproduce(ReproduceSettings),
    /// Check an experiment file of your own
    Experiment(commands::experiment::ExperimentArgs),
    /// Put back settings that `doctor --fix` or a killed run left changed
    Restore(commands::restore::RestoreArgs),
    /// List the runs that were made here, the latest first
    Runs(commands::runs::RunsArgs),
    /// Print the completions of a shell
    Completions(commands::shell::CompletionsArgs),
    /// Write the man pages into a folder
    Man(commands::shell::ManArgs),
}

/// Ends a command line that clap did not take. Help and version are results. Anything else is wrong
/// usage, and is told in one line as every failure. For a mistake in a sleep rule, a line above
/// shows its place.
pub(crate) fn refused(error: &clap::Error) -> ExitCode {
    let help_instead = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if error.use_stderr() && !help_instead {
        let given = std::env::args_os().skip(1);
        let given = given.map(|word| word.to_string_lossy().into_owned());
        let rule = error.source().and_then(|e| e.downcast_ref::<SpecError>());
        rule.iter().for_each(|rule| say(&rule.pointer()));
        let message = one_line(&error.to_string(), given);
        return say_fault(&Fault::new(Exit::Usage, message));
    }
    if let Err(failure) = arrived(error.print()) {
        return say_fault(&failure);
    }
    let exit = if help_instead {
        Exit::Usage
    } else {
        Exit::Done
    };
    ExitCode::from(exit.code())
}

/// The parser's message in one line, without its usage lines, and the help that tells more.
fn one_line(message: &str, given: impl Iterator<Item = String>) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    // The parser's idea to pass an unknown option as a value is of no use in any command here.
    let scratch = message.contains("unexpected argument '--scratch'");
    let useless =
        |line: &str| line.starts_with("tip: to pass '") || scratch && line.starts_with("tip:");
    let of_use = |line: &&str| !line.is_empty() && !useless(line);
    let useful_lines: Vec<&str> = lines.filter(of_use).collect();
    let sentence = useful_lines.join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    let more = more_of(sentence);
    let command = command_of(given);
    format!("understand the command line: {sentence}{more}; see {command} --help")
}

/// What the parser does not know about its own message.
fn more_of(sentence: &str) -> &'static str {
    if sentence.contains("--resume") && sentence.contains("cannot be used with") {
        "; a resumed run keeps its own settings"
    } else if sentence.starts_with("unexpected argument '--scratch'") {
        "; this command makes no scratch file: name a file, a block device or a simulated device such as sim:50us"
    } else {
        ""
    }
}

/// The command that these words of a command line begin with: `q2c trace import`.
fn command_of(arguments: impl Iterator<Item = String>) -> String {
    let mut command = Cli::command();
    let mut name = "q2c".to_owned();
    for word in arguments {
        match command.find_subcommand(&word) {
            Some(below) => {
                name = format!("{name} {word}");
                command = below.clone();
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    name
}

fn exit_codes() -> String {
    let line = |(exit, meaning): &(Exit, &str)| format!("  {:>3}  {meaning}", exit.code());
    let lines: Vec<String> = Exit::TABLE.iter().map(line).collect();
    format!("Exit codes:\n{}", lines.join("\n"))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::commands::poll::PollCommand;

    fn command(line: &str) -> Command {
        let arguments = std::iter::once("q2c").chain(line.split_whitespace());
        let cli = Cli::try_parse_from(arguments);
        cli.unwrap_or_else(|error| panic!("{error}")).command
    }

    /// The arguments of `q2c compare`, split at blanks.
    pub(crate) fn compare(arguments: &str) -> CompareArgs {
        match command(&format!("compare {arguments}")) {
            Command::Compare(args) => args,
            other => panic!("{other:?}"),
        }
    }

    /// The arguments of `q2c replay`, split at blanks.
    pub(crate) fn replay(arguments: &str) -> ReplayArgs {
        match command(&format!("replay {arguments}")) {
            Command::Replay(args) => args,
            other => panic!("{other:?}"),
        }
    }

    /// The arguments of a command of `q2c poll`, split at blanks.
    pub(crate) fn poll(arguments: &str) -> PollCommand {
        match command(&format!("poll {arguments}")) {
            Command::Poll(args) => args.command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_message_of_the_parser_names_its_help() {
        let message_of = |line: &str| {
            let given = line.split_whitespace();
            let refused = Cli::try_parse_from(std::iter::once("q2c").chain(given.clone()));
            let message = refused.unwrap_err().to_string();
            one_line(&message, given.map(str::to_owned))
        };
        let import = message_of("trace import a.csv --sratch 1g");
        assert!(import.contains("'--sratch'"), "{import}");
        assert!(
            import.ends_with("; see q2c trace import --help"),
            "{import}"
        );
        assert!(!import.contains("as a value"), "{import}");
        let jobs = message_of("tune --jobs none sim:50us");
        assert!(jobs.ends_with("; see q2c tune --help"), "{jobs}");
        let replay = message_of("replay a.parquet --scratch 1g");
        assert!(replay.contains("no scratch file: name a file"), "{replay}");
        assert!(replay.ends_with("; see q2c replay --help"), "{replay}");
        assert!(
            message_of("tunes").ends_with("; see q2c --help"),
            "{}",
            message_of("tunes")
        );
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
