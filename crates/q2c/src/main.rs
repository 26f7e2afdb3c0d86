//! The program `q2c`: only the arguments, and the glue between the libraries.

mod args;

mod commands;
mod config;
mod full_screen;
mod output;
mod progress;
mod stream;
mod workbench;

use args::{Cli, Command};
use config::CliError;
use q2c_host::signals::Signals;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match config::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(CliError::Words(error)) => return args::end_refused(&error),
        Err(CliError::File(fault)) => return output::say_fault(&fault),
    };
    // Threads inherit the signal mask, so the signals are blocked before any other thread starts.
    let installed = Signals::install(clean_up_on_signal)
        .map_err(|error| format!("start the thread that waits for signals: {error}; raise the limit of tasks (ulimit -u, pids.max)"));
    let signals = installed.or_exit(Exit::Environment);
    let ended = signals.and_then(|signals| dispatch(cli, &signals));
    ended.map_or_else(|fault| output::say_fault(&fault), ExitCode::from)
}

/// Cleanup that runs when a signal interrupts the program.
fn clean_up_on_signal(message: &str) {
    full_screen::restore();
    commands::capture::kill_command();
    q2c_trace::remove_unfinished();
    output::say(message);
}

/// Runs the command and returns the exit code: that of another program if the command ran one in
/// its place.
fn dispatch(cli: Cli, signals: &Signals) -> Result<u8, Fault> {
    output::set_verbose(cli.verbose);
    let stop = signals.stop();
    let exit = match cli.command {
        Command::Tune(args) => commands::tune::run(&args, &stop),
        Command::Bench(args) => commands::bench::run(&args, &stop),
        Command::Calibrate(args) => commands::calibrate::run(&args, &stop),
        Command::Poll(args) => commands::poll::run(&args, &stop),
        Command::Trace(args) => commands::trace::run(&args, &stop),
        Command::Analyze(args) => commands::analyze::run(&args, &stop),
        Command::Top(args) => commands::top::run(&args, &stop),
        Command::Replay(args) => commands::replay::replay(&args, &stop),
        Command::Compare(args) => commands::replay::compare(&args, &stop),
        Command::Diff(args) => commands::diff::run(&args, &stop),
        Command::Fs(args) => commands::fs::run(&args, &stop),
        Command::Scale(args) => commands::scale::run(&args),
        Command::Machine(args) => commands::machine::run(&args, &stop),
        Command::Place(args) => commands::place::run(&args, &stop),
        Command::Report(args) => commands::runs::report(&args),
        Command::Ramdisk(args) => commands::ramdisk::run(&args, &stop),
        Command::Demo => return commands::demo::run(signals, dispatch),
        Command::Doctor(args) => return commands::doctor::run(&args, &cli.config, signals),
        Command::Reproduce(args) => commands::reproduce::run(&args, &stop),
        Command::Experiment(args) => commands::reproduce::check(&args),
        Command::Restore(args) => commands::restore::run(&args),
        Command::Runs(args) => commands::runs::list(&args),
        Command::Completions(args) => commands::shell::completions(&args),
        Command::Man(args) => commands::shell::man(&args),
    }?;
    Ok(exit.code())
}
