//! The arguments of the program.

mod replay;

use crate::commands;
use crate::config::ConfigArgs;
use crate::output::{check_written, say, say_fault};
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, CommandFactory, Parser, Subcommand};
use q2c_bench::BenchSettings;
use q2c_model::Fault;
use q2c_policy::SpecError;
use q2c_reproduce::ReproduceSettings;
use q2c_result::Exit;
use q2c_tune::TuneSettings;
pub(crate) use replay::{CompareArgs, HowArgs, RecordingArgs, ReplayArgs, temporary_folder};
use std::error::Error as _;
use std::process::ExitCode;

/// A laboratory for the life of a block I/O, from Q (queued) to C (complete).
#[derive(Debug, Parser)]
#[command(name = "q2c", version, after_help = exit_codes(), mut_subcommands(shorten))]
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
    #[command(subcommand)]
    Poll(commands::poll::PollCommand),
    /// Record a device's I/Os, bring recordings of other tools in, look into traces
    #[command(subcommand, after_help = commands::trace::HINT)]
    Trace(commands::trace::TraceCommand),
    /// Say where the I/Os of a trace spend their time: stages, queues, load, the bottleneck
    Analyze(commands::analyze::AnalyzeArgs),
    /// Show what the disks do now: latencies over time, load, processes, where the time goes
    Top(commands::top::TopArgs),
    /// Replay a trace on a device: timed, with as much in flight, or as a closed loop
    Replay(ReplayArgs),
    /// Replay a trace on several devices and say which serves it better
    Compare(CompareArgs),
    /// Compare two results of one kind, figure by figure, and say what changed around them
    Diff(commands::diff::DiffArgs),
    /// Measure file systems under jobs that share their files
    #[command(subcommand)]
    Fs(commands::fs::FsCommand),
    /// Predict throughput at more cores than were measured
    #[command(subcommand)]
    Scale(commands::scale::ScaleCommand),
    /// Make a simulated machine of what was measured on a real one
    #[command(subcommand)]
    Machine(commands::machine::MachineCommand),
    /// Place polling tasks beside computing tasks on SMT cores
    #[command(subcommand)]
    Place(commands::place::PlaceCommand),
    /// Draw tables and the HTML report again from a result
    Report(commands::runs::ReportArgs),
    /// Make RAM block devices with service times, list and delete them
    #[command(subcommand)]
    Ramdisk(commands::ramdisk::RamdiskCommand),
    /// Answer three questions from samples that q2c contains, in about a second: no device, no root
    Demo,
    /// List what this machine can and cannot do, by use, why, and the line that would change it
    Doctor(commands::doctor::DoctorArgs),
    /// Run published experiments here, and judge each published claim
    Reproduce(ReproduceSettings),
    /// Check an experiment file of your own
    #[command(subcommand)]
    Experiment(commands::reproduce::ExperimentCommand),
    /// Put back settings that `doctor --fix` or a killed run left changed
    Restore(commands::restore::RestoreArgs),
    /// List the runs that were made here, the latest first
    Runs(commands::runs::RunsArgs),
    /// Print the completions of a shell
    Completions(commands::shell::CompletionsArgs),
    /// Write the man pages into a folder
    Man(commands::shell::ManArgs),
}

/// Ends a command line that clap refused or answered itself. Help and version are results. Anything
/// else is wrong usage, reported in one line like every failure. For a mistake in a sleep rule, a
/// line above shows its place.
pub(crate) fn end_refused(error: &clap::Error) -> ExitCode {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if error.use_stderr() && !is_help {
        let given = std::env::args_os().skip(1);
        let given = given.map(|word| word.to_string_lossy().into_owned());
        let rule = error.source().and_then(|e| e.downcast_ref::<SpecError>());
        rule.iter().for_each(|rule| say(&rule.pointer()));
        let message = one_line(&error.to_string(), given);
        return say_fault(&Fault::usage(message));
    }
    if let Err(failure) = check_written(error.print()) {
        return say_fault(&failure);
    }
    let exit = if is_help { Exit::Usage } else { Exit::Done };
    ExitCode::from(exit.code())
}

/// The parser's message in one line, without its usage lines, and with a hint to the help.
fn one_line(message: &str, given: impl Iterator<Item = String>) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    // No command here needs the parser's tip to pass an unknown option as a value.
    let scratch = message.contains("unexpected argument '--scratch'");
    let is_useless =
        |line: &str| line.starts_with("tip: to pass '") || scratch && line.starts_with("tip:");
    let is_useful = |line: &&str| !line.is_empty() && !is_useless(line);
    let sentence = lines.filter(is_useful).collect::<Vec<_>>().join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    let (advice, command) = (missing_advice(sentence), command_name(given));
    format!("understand the command line: {sentence}{advice}; see {command} --help")
}

/// Advice that the parser's message lacks.
fn missing_advice(sentence: &str) -> &'static str {
    if sentence.contains("--resume") && sentence.contains("cannot be used with") {
        "; a resumed run keeps its own settings"
    } else if sentence.starts_with("unexpected argument '--scratch'") {
        "; this command makes no scratch file: name a file, a block device or a simulated device such as sim:50us"
    } else {
        ""
    }
}

/// The command at the start of these words, such as `q2c trace import`.
fn command_name(arguments: impl Iterator<Item = String>) -> String {
    let mut command = Cli::command();
    let mut name = "q2c".to_owned();
    for word in arguments {
        match command.find_subcommand(&word) {
            Some(subcommand) => {
                name = format!("{name} {word}");
                command = subcommand.clone();
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

/// Characters of a help text that fit on a line next to the name of its option.
const MAX_HELP_CHARS: usize = 64;

/// Shortens the texts of the command and its subcommands for `-h`. Rarely needed options set
/// `hide_short_help` where they are declared.
fn shorten(command: clap::Command) -> clap::Command {
    command.mut_args(shorten_arg).mut_subcommands(shorten)
}

/// Shortens the text of an option for `-h` if it takes several lines. An option with a short and a
/// long text keeps both.
fn shorten_arg(arg: Arg) -> Arg {
    let long = arg.get_long_help().is_some();
    let text = arg.get_help().map(StyledStr::to_string).filter(|_| !long);
    match text {
        Some(text) if text.chars().count() > MAX_HELP_CHARS => {
            arg.help(first_clause(&text)).long_help(text)
        }
        _ => arg,
    }
}

/// The first clause of a text, followed by the default at the text's end if both fit.
fn first_clause(text: &str) -> String {
    let (description, default) = match text.rfind(" [default: ") {
        Some(start) if text.ends_with(']') => text.split_at(start),
        _ => (text, ""),
    };
    let clause = |end: &str| description.find(end).map(|length| &description[..length]);
    let ends = ["; ", ", such as ", ": ", ". ", ", "];
    let clauses = ends.into_iter().filter_map(clause);
    let fits = |clause: &&str| {
        let is_balanced = clause.matches('(').count() == clause.matches(')').count();
        is_balanced && (MIN_CLAUSE_CHARS..=MAX_HELP_CHARS).contains(&clause.chars().count())
    };
    let Some(first) = std::iter::once(description).chain(clauses).find(fits) else {
        return text.to_owned();
    };
    let with_default = format!("{first}{default}");
    let fits = with_default.chars().count() <= MAX_HELP_CHARS;
    if fits { with_default } else { first.to_owned() }
}

/// A clause with fewer characters than this does not describe an option.
const MIN_CLAUSE_CHARS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

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
        let hint = "; see q2c trace import --help";
        assert!(import.ends_with(hint), "{import}");
        assert!(!import.contains("as a value"), "{import}");
        let jobs = message_of("tune --jobs none sim:50us");
        assert!(jobs.ends_with("; see q2c tune --help"), "{jobs}");
        let replay = message_of("replay a.parquet --scratch 1g");
        assert!(replay.contains("no scratch file: name a file"), "{replay}");
        assert!(replay.ends_with("; see q2c replay --help"), "{replay}");
        let tunes = message_of("tunes");
        assert!(tunes.ends_with("; see q2c --help"), "{tunes}");
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_long_text_is_cut_behind_a_clause() {
        for (text, line) in [
            (
                "CPUs of the foreground threads, separated by commas; auto takes the last ones, leaving CPU 0 to others",
                "CPUs of the foreground threads, separated by commas",
            ),
            (
                "Background jobs beside the points, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1, or none",
                "Background jobs beside the points",
            ),
            (
                "Interfaces, separated by commas: io_uring, libaio, pvsync2, spdk (spdk_nvme_perf) [default: io_uring]",
                "Interfaces, separated by commas [default: io_uring]",
            ),
        ] {
            assert_eq!(first_clause(text), line);
        }
    }

    /// Visits all commands, including subcommands.
    fn walk(command: &clap::Command, name: &str, visit: &mut dyn FnMut(&str, &clap::Command)) {
        visit(name, command);
        for sub in command.get_subcommands() {
            walk(sub, &format!("{name} {}", sub.get_name()), visit);
        }
    }

    #[test]
    fn the_short_help_of_a_command_is_a_screen() {
        let mut program = Cli::command().term_width(100);
        program.build();
        let mut long = Vec::new();
        walk(&program, "q2c", &mut |name, command| {
            let lines = command.clone().render_help().to_string().lines().count();
            if lines >= 50 {
                long.push(format!("{name}: {lines}"));
            }
        });
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn the_whole_texts_are_in_the_long_help() {
        let mut program = Cli::command();
        let bench = program.find_subcommand_mut("bench").unwrap();
        let (short, long) = (bench.render_help(), bench.render_long_help());
        let (short, long) = (short.to_string(), long.to_string());
        assert!(short.contains("CPUs in the order"), "{short}");
        assert!(!short.contains("SMT siblings") && long.contains("SMT siblings"));
    }
}
