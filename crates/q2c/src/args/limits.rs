//! Limits of commands that measure.

use clap::Args;
use q2c_diff::Limit;
use std::path::PathBuf;

/// What the run must keep, and what it is compared with.
#[derive(Clone, Debug, Args)]
pub struct LimitArgs {
    /// End with 7 where a figure of the run breaks this limit, such as p99>200us or iops<50000, or
    /// beside --baseline p99>+5% or p99>+5% sure (may be given again); what the trials leave open
    /// breaks no limit
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Limit>,
    /// Write the limits to this new file as JUnit XML, a test case each
    #[arg(
        long,
        value_name = "FILE",
        requires = "fail_if",
        hide_short_help = true
    )]
    pub junit: Option<PathBuf>,
    /// Limits on changes compare with this run of the same command: its folder or result.json
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<PathBuf>,
}
