//! The machine that a simulated target is measured on.

use clap::Args;
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

/// The machine of a simulated target.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct MachineArgs {
    /// Machine of a simulated target: here (as calibrated), or a TOML file of CPUs and costs
    /// [default: q2c's own, with 8 CPUs]
    #[arg(long, conflicts_with = "real_time", hide_short_help = true)]
    pub machine: Option<MachineName>,
    /// Measure a simulated target in real time, on the CPUs of this machine
    #[arg(long, hide_short_help = true)]
    pub real_time: bool,
}

/// A machine by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineName {
    /// This machine, with the costs of its newest calibration.
    Here,
    /// As a file describes it.
    File(PathBuf),
}

impl FromStr for MachineName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "here" => MachineName::Here,
            path => MachineName::File(path.into()),
        })
    }
}
