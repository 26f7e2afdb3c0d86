//! The command `q2c place sim`.

use super::RulesName;
use crate::output::{NewFile, show, unix_s};
use crate::progress::Line;
use clap::Args;
use q2c_model::{Fault, Nanos, parse_duration, parse_percent, parse_time};
use q2c_place::latency::PollTimes;
use q2c_place::sim::CacheTerm;
use q2c_place::study::{self, PlaceStudyRequest, SetupRequest};
use q2c_result::Exit;
use q2c_result::place::{Phases, PolicyName, Speeds, SpeedsFrom};
use std::path::PathBuf;

/// Which tasks on which machine.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceSimArgs {
    /// Simulate the published set-ups, and show the published gains beside the simulated ones
    #[arg(long, conflicts_with_all = [
        "cores", "threads", "caches", "compute", "polling", "work",
        "compute_phases", "polling_phases"
    ])]
    pub published: bool,
    /// Physical cores
    #[arg(long, default_value_t = 4, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub cores: u32,
    /// Logical CPUs of each core
    #[arg(long, default_value_t = 2, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=8))]
    pub threads: u32,
    /// Last-level caches that the cores share
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub caches: u32,
    /// Computing tasks
    #[arg(long, default_value_t = 8, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub compute: u32,
    /// Polling tasks
    #[arg(long, default_value_t = 8, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub polling: u32,
    /// Time that a computing task needs alone
    #[arg(long, default_value = "20s", value_parser = parse_time)]
    pub work: Nanos,
    /// Computing tasks sleep in between: mean time on a CPU, and of a sleep, such as 50ms/10ms
    #[arg(long, value_name = "RUNS/SLEEPS")]
    pub compute_phases: Option<Phases>,
    /// Polling tasks sleep in between
    #[arg(long, value_name = "RUNS/SLEEPS")]
    pub polling_phases: Option<Phases>,
    /// Background tasks, as many as logical CPUs
    ///
    /// Background tasks, as many as logical CPUs, which run for short and sleep for long. Mean time
    /// on a CPU, and of a sleep; or none
    #[arg(long, default_value = "500us/4.3s", value_name = "RUNS/SLEEPS")]
    #[arg(value_parser = background)]
    pub background: BackgroundPhases,
    /// Tasks by which loads differ for a move
    ///
    /// By how many tasks the loads of two CPUs differ for a move of the free balancer and of the
    /// published rules. With the swap step it is two. The source names no number
    #[arg(long, default_value_t = 1, value_name = "TASKS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    pub threshold: u32,
    /// The rules whose gains are shown [default: published with --published, else swap]
    ///
    /// The rules whose gains are shown, but for the rows of published gains, which are those of the
    /// published rules [default: published with --published, else swap]
    #[arg(long, value_enum)]
    pub rules: Option<RulesName>,
    /// Repeat with 0.1 to 100 times as many background runs, and with thresholds of 1 and 2
    #[arg(long)]
    pub sensitivity: bool,
    /// Speeds beside neighbours from this TOML file [default: from
    /// published figures]
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// Cost of each further computing task in a last-level cache
    ///
    /// What each further computing task in the same last-level cache adds to the time of one
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub cache_term: Option<f64>,
    /// Work lost by a move to another last-level cache
    ///
    /// Work that a computing task loses when it moves to another last-level cache
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "cache_term")]
    pub cache_refill: Option<Nanos>,
    /// Latency of a polled I/O when the task has its CPU for itself
    #[arg(long, default_value = "80us", value_parser = parse_duration, value_name = "DURATION")]
    pub io: Nanos,
    /// Time for which a task keeps its CPU while others wait for it
    #[arg(long, default_value = "3ms", value_parser = parse_duration, value_name = "DURATION")]
    pub slice: Nanos,
    /// Starts of each policy that moves tasks: tasks come in another order each time [default: 100,
    /// 5 on more than 32 CPUs or where computing or polling tasks sleep]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub starts: Option<u32>,
    /// Seed of the starts
    #[arg(long, hide_short_help = true, default_value_t = 1)]
    pub seed: u64,
    /// Write a page with charts here; a name that is not taken yet
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON; q2c report draws it again
    #[arg(long)]
    pub json: bool,
}

/// The phases of background tasks; `None` without such tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackgroundPhases(Option<Phases>);

fn background(text: &str) -> Result<BackgroundPhases, String> {
    if text == "none" {
        return Ok(BackgroundPhases(None));
    }
    let parsed = text.parse::<Phases>();
    let parsed = parsed.map_err(|e| e.replace("50ms/10ms", "500us/4s, or none"))?;
    Ok(BackgroundPhases(Some(parsed)))
}

/// Number of random starts of each policy.
const STARTS: u32 = 100;

/// Number of starts where a run takes long: it sees many arrangements anyway.
const FEW_STARTS: u32 = 5;

/// The most CPUs for which a run without sleeps of computing and polling tasks is short.
const FEW_CPUS: u32 = 32;

pub(super) fn run(args: &PlaceSimArgs) -> Result<Exit, Fault> {
    let page = NewFile::if_named(args.html.as_ref())?;
    let (speeds, speeds_from) = super::read_speeds(args.speeds.as_deref())?;
    let request = to_request(args, speeds, speeds_from);
    let line = Line::with_elapsed("simulating placements");
    let mut result = study::simulate(&request)?;
    drop(line);
    if !args.published {
        result.started_unix_s = unix_s();
    }
    page.map(|file| file.write_page(&result)).transpose()?;
    show(&result, args.json)
}

fn to_request(args: &PlaceSimArgs, speeds: Speeds, speeds_from: SpeedsFrom) -> PlaceStudyRequest {
    let us = |time: Nanos| time.0 as f64 / 1e3;
    let sleeping = args.compute_phases.is_some() || args.polling_phases.is_some();
    let long = sleeping || (!args.published && args.cores * args.threads > FEW_CPUS);
    let starts = if long { FEW_STARTS } else { STARTS };
    PlaceStudyRequest {
        setups: if args.published {
            published_setups(args)
        } else {
            vec![setup(args)]
        },
        speeds,
        speeds_from,
        cache: args.cache_term.map(|share| CacheTerm {
            per_neighbour: share,
            refill_s: args.cache_refill.map_or(0.0, Nanos::as_secs_f64),
        }),
        poll: PollTimes {
            io_us: us(args.io),
            slice_us: us(args.slice),
        },
        rules: match args.rules {
            Some(RulesName::Swap) => PolicyName::Proposed,
            None if !args.published => PolicyName::Proposed,
            Some(RulesName::Published) | None => PolicyName::ProposedLiteral,
        },
        sensitivity: args.sensitivity,
        starts: args.starts.unwrap_or(starts),
        seed: args.seed,
    }
}

fn published_setups(args: &PlaceSimArgs) -> Vec<SetupRequest> {
    let mut setups = study::setups();
    for setup in &mut setups {
        (setup.background, setup.threshold) = (args.background.0, args.threshold);
    }
    setups
}

fn setup(args: &PlaceSimArgs) -> SetupRequest {
    SetupRequest {
        cores: args.cores,
        threads: args.threads,
        caches: args.caches,
        compute: args.compute,
        polling: args.polling,
        work_s: args.work.as_secs_f64(),
        compute_phases: args.compute_phases,
        polling_phases: args.polling_phases,
        background: args.background.0,
        threshold: args.threshold,
        published: Vec::new(),
    }
}
