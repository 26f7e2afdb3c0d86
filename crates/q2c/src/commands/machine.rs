//! The command `q2c machine`.

use crate::commands::run_folder;
use crate::output::{NewFile, read_fault, show_as};
use crate::workbench::machine_with_costs;
use clap::{Args, Subcommand};
use q2c_engine::SimMachine;
use q2c_model::{Bytes, Fault};
use q2c_result::tune::{self, Calibration, TuneResult};
use q2c_result::{Exit, Machine};
use q2c_run::read_result_text;
use q2c_study::{RecordedCost, recorded_costs};
use q2c_trace::samples::is_sample;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The commands of `q2c machine`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Make a simulated machine of what was measured on a real one
    Fit(FitArgs),
}

/// From what, and where to.
#[derive(Clone, Debug, Args)]
pub(crate) struct FitArgs {
    /// Run folder of q2c tune or its result.json, what q2c calibrate --json printed, or a recording
    /// with times of the user layer; from the second on, calibrations by other interfaces
    #[arg(required = true)]
    pub from: Vec<PathBuf>,
    /// Write the machine here, as TOML; a name that is not taken yet
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Print the machine as JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(command: &MachineCommand, stop: &AtomicBool) -> Result<Exit, Fault> {
    let MachineCommand::Fit(args) = command;
    let out = NewFile::create(&args.out)?;
    let (first, others) = args.from.split_first().expect("clap wants one");
    let machine = if is_json(first)? {
        let (machine, bs) = from_calibration(first)?;
        let mut others = others.iter();
        others.try_fold(machine, |machine, other| with_interface(machine, bs, other))?
    } else if others.is_empty() {
        from_recording(first, &recorded_costs(first, stop)?)
    } else {
        let reason = "expected a calibration where others follow, found a recording";
        return Err(read_fault(first, reason));
    };
    machine.check()?;
    let text = machine.to_toml()?;
    out.write_and_say("machine:", text.as_bytes())?;
    show_as(&machine, args.json, |_| summary(&machine, &text))
}

/// True for a run folder, and for a file that begins as results and calibrations do. A pipe can be
/// read only once, so it is refused.
fn is_json(from: &Path) -> Result<bool, Fault> {
    if is_sample(from) {
        return Ok(false);
    }
    let kind = from.metadata().map_err(|error| read_fault(from, error))?;
    if kind.is_dir() {
        return Ok(true);
    }
    if !kind.is_file() {
        let reason = "expected a run folder or a file, found something else; write it to a file";
        return Err(read_fault(from, reason));
    }
    let mut first = [0];
    let read = File::open(from).and_then(|mut file| file.read(&mut first));
    read.map_err(|error| read_fault(from, error))?;
    Ok(matches!(first, [b'{' | b'[']))
}

/// The machine as calibrated, and the block size of the calibration.
fn from_calibration(from: &Path) -> Result<(SimMachine, Bytes), Fault> {
    let (path, text) = read_result_text(from)?;
    let (machine, calibrations) = if text.starts_with('[') {
        let calibrations: Result<Vec<Calibration>, _> = serde_json::from_str(&text);
        let calibrations = calibrations.map_err(|error| read_fault(from, error))?;
        (Machine::default(), calibrations)
    } else {
        let run: TuneResult = run_folder::parse_result(&path, &text, "q2c tune", tune::SCHEMA)?;
        (run.machine, run.calibration)
    };
    let none = || {
        let reason = "expected a calibration, found none; run q2c calibrate TARGET --json";
        read_fault(from, reason)
    };
    let calibration = calibrations.first().ok_or_else(none)?;
    let costs = calibration.cost.check();
    costs.map_err(|reason| read_fault(from, reason))?;
    let name = format!(
        "a machine as calibrated at {} in {}",
        calibration.bs,
        from.display()
    );
    let fitted = machine_with_costs(name, &machine, calibration);
    Ok((fitted, calibration.bs))
}

/// The machine with the costs of one more interface. Costs of other block sizes cannot stand beside
/// each other.
fn with_interface(mut machine: SimMachine, bs: Bytes, from: &Path) -> Result<SimMachine, Fault> {
    let (other, other_bs) = from_calibration(from)?;
    let reason = match other.interfaces.keys().next() {
        None => {
            "expected a calibration by io_uring or libaio without options, found none".to_owned()
        }
        Some(interface) if machine.interfaces.contains_key(interface) => {
            format!("expected another interface, found {interface} again")
        }
        Some(_) if other_bs != bs => format!("expected a calibration at {bs}, found {other_bs}"),
        Some(_) => {
            machine.add_interfaces_of(&other);
            return Ok(machine);
        }
    };
    Err(read_fault(from, reason))
}

fn from_recording(from: &Path, costs: &[RecordedCost]) -> SimMachine {
    let source = format!("fitted to {}", from.display());
    let machine = SimMachine {
        name: format!("a machine as recorded in {}", from.display()),
        ..SimMachine::default()
    };
    let costs: Vec<_> = costs.iter().map(|cost| (cost.key, cost.ns)).collect();
    machine.with_measured(&costs, &source)
}

/// Each value with its source, and the values that were not measured.
fn summary(machine: &SimMachine, toml: &str) -> String {
    let values = toml.lines().take_while(|line| *line != "[sources]");
    let values = values.filter(|line| !line.is_empty());
    let (mut lines, mut stated) = (Vec::new(), Vec::new());
    let mut table = "";
    for line in values {
        table = line
            .strip_prefix('[')
            .map_or(table, |name| name.trim_end_matches(']'));
        let key = if table.is_empty() {
            line.split(' ').next().unwrap_or_default()
        } else {
            table
        };
        match machine.sources.get(key) {
            Some(source) => lines.push(format!("{line:<28} {source}")),
            None if key != "name" && !key.is_empty() => stated.push(line),
            None => {}
        }
    }
    lines.push(format!(
        "not measured, left as stated: {}",
        stated.join(", ")
    ));
    lines.join("\n")
}
