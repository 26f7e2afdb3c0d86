//! Tests of settings as defaults of options.

use super::*;
use crate::args::Command;
use q2c_bench::BenchSettings;
use q2c_model::{Bytes, Nanos};
use q2c_tune::TuneSettings;
use std::fs;

/// Reads a command line that names a configuration file with this text.
fn cli(text: &str, arguments: &str) -> Result<Cli, CliError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    fs::write(&file, text).unwrap();
    let line = format!("q2c --config {} {arguments}", file.display());
    read(line.split_whitespace().map(OsString::from).collect())
}

fn tune(text: &str, arguments: &str) -> TuneSettings {
    match cli(text, &format!("tune {arguments}")).unwrap().command {
        Command::Tune(args) => args,
        other => panic!("{other:?}"),
    }
}

fn bench(text: &str, arguments: &str) -> BenchSettings {
    match cli(text, &format!("bench {arguments}")).unwrap().command {
        Command::Bench(args) => args,
        other => panic!("{other:?}"),
    }
}

fn failure(text: &str, arguments: &str) -> String {
    match cli(text, arguments) {
        Err(CliError::File(failure)) => failure.message().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_is_an_option_of_its_command() {
    let program = Cli::command();
    for command in COMMANDS {
        for key in command.keys() {
            let option = option(&program, command.command, key);
            let option = option.unwrap_or_else(|| panic!("{} {key}", command.command));
            assert_eq!(option.get_id().as_str(), id(key));
            assert!(option.get_action().takes_values(), "{key}");
        }
    }
    let bench = COMMANDS.iter().find(|command| command.command == "bench");
    let keys: Vec<&str> = bench.unwrap().keys().collect();
    let are_known = JOB_FILE_KEYS.split(' ').all(|key| keys.contains(&key));
    assert!(are_known, "{keys:?}");
}

#[test]
fn the_command_line_wins_over_its_table_and_that_over_the_shared_one() {
    let text = "[defaults]\nseconds = \"4s\"\nbs = [\"4k\", \"64k\"]\ncpus = [1, 0]\n[tune]\nseconds = 2\nrule = [\"0.5 * min\", \"p01\"]\nperiod = \"5ms\"\n";
    let args = tune(text, "sim:1ms");
    assert_eq!(args.seconds, 2.0);
    assert_eq!(args.workload.bs, [Bytes(4096), Bytes(65536)]);
    assert_eq!(args.workload.cpus, [1, 0]);
    assert_eq!(args.own.rule.len(), 2);
    assert_eq!(args.own.period, Nanos::from_millis(5));
    let args = tune(text, "sim:1ms --seconds 1 --bs 8k --rule max --cpu 3");
    assert_eq!(args.seconds, 1.0);
    assert_eq!(args.workload.bs, [Bytes(8192)]);
    assert_eq!(args.own.rule.len(), 1);
    assert_eq!(args.workload.cpus, [3]);
    assert_eq!(bench(text, "sim:1ms").seconds, 4.0);
    assert_eq!(bench("", "sim:1ms").seconds, 3.0);
    // A job file states its seconds itself.
    assert_eq!(bench(text, "sim:1ms --fio job.fio").seconds, 3.0);
}

#[test]
fn a_run_that_goes_on_keeps_its_settings_but_not_its_limits() {
    let text = "[tune]\nseconds = 2\nfail-if = \"p99>5ms\"\n";
    let args = tune(text, "--resume runs/x");
    assert_eq!((args.seconds, args.limits.fail_if.len()), (1.0, 1));
}

#[test]
fn names_of_targets_are_replaced() {
    let text = "[targets]\ndisk = \"sim:1ms\"\n";
    let args = tune(text, "@disk");
    assert_eq!(args.workload.target.as_deref(), Some("sim:1ms"));
    let message = failure(text, "calibrate @disc");
    let begin = "find the target @disc: expected a name in [targets]";
    assert!(message.starts_with(begin), "{message}");
    let line = "q2c --no-config tune @disk".split(' ').map(OsString::from);
    let Err(CliError::File(failure)) = read(line.collect()) else {
        panic!("the name of a target without a file");
    };
    let message = failure.message();
    assert!(message.contains("found --no-config"), "{message}");
}

/// A mistake is reported by its place and key in the file, never by an option that nobody typed.
#[test]
fn faults_are_told_by_key_and_place() {
    let assert_fault = |text: &str, expected: &str| {
        let message = failure(text, "tune sim:1ms");
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("--seconds"), "{message}");
    };
    let seconds = "line 2, column 11: tune.seconds: expected 0.1 s to 3600 s";
    assert_fault("[tune]\nseconds = \"2 parsecs\"\n", seconds);
    let trials = "line 2, column 10: tune.trials: 0 is not in 1..=1000";
    assert_fault("[tune]\ntrials = 0\n", trials);
    let sizes = "[defaults]\nbs = [\"4k\",\n  \"x\"]\n";
    assert_fault(sizes, "line 3, column 3: defaults.bs: ");
    let key = "line 2, column 1: expected a key of [tune], one of out, cpus,";
    assert_fault("[tune]\nallow-write = \"/dev/sda\"\n", key);
    let many = failure("[x]\n[y]\n[z]\n", "runs");
    assert!(many.ends_with("; 2 more are told by q2c doctor"), "{many}");
}
