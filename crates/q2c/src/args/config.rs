//! Arguments about the configuration file.

use clap::Args;
use std::path::PathBuf;

/// Which configuration file holds.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration file")]
pub struct ConfigArgs {
    /// Names of targets, and defaults of options; without it $Q2C_CONFIG, or the q2c.toml of this
    /// folder or of the nearest one above that has one
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "no_config"
    )]
    pub config: Option<PathBuf>,
    /// Take nothing from a configuration file
    #[arg(long, global = true, hide_short_help = true)]
    pub no_config: bool,
}
