//! The command `q2c place sim`.

use crate::args::PlaceSimArgs;
use crate::output::{NewFile, show, unix_s};
use crate::progress::Line;
use q2c_model::{Fault, Nanos};
use q2c_place::latency::PollTimes;
use q2c_place::sim::{CacheTerm, Phases};
use q2c_place::study::{self, Request, SetupOf};
use q2c_result::Exit;
use q2c_result::place::{Speeds, SpeedsFrom};

const STARTS: u32 = 100;
/// The same where tasks sleep: such a run takes long, and sees many arrangements by itself.
const STARTS_WITH_SLEEPS: u32 = 5;

pub(super) fn run(args: &PlaceSimArgs) -> Result<Exit, Fault> {
    let page = NewFile::if_named(args.html.as_ref())?;
    let (speeds, speeds_from) = super::speeds(args.speeds.as_deref())?;
    let request = request(args, speeds, speeds_from);
    let line = Line::working("simulating placements");
    let mut result = study::simulate(&request)?;
    drop(line);
    if !args.published {
        result.started_unix_s = unix_s();
    }
    if let Some(file) = page {
        file.write_page(&result)?;
    }
    show(&result, args.json)?;
    Ok(Exit::Done)
}

fn request(args: &PlaceSimArgs, speeds: Speeds, speeds_from: SpeedsFrom) -> Request {
    let us = |time: Nanos| time.0 as f64 / 1e3;
    let sleeps = args.compute_phases.is_some() || args.polling_phases.is_some();
    let starts = if sleeps { STARTS_WITH_SLEEPS } else { STARTS };
    Request {
        setups: match args.published {
            true => study::setups(),
            false => vec![setup(args)],
        },
        speeds,
        speeds_from,
        cache: args.cache_term.map(|share| CacheTerm {
            per_neighbour: share,
            refill_s: args.cache_refill.map_or(0.0, seconds),
        }),
        poll: PollTimes {
            io_us: us(args.io),
            slice_us: us(args.slice),
        },
        starts: args.starts.unwrap_or(starts),
        seed: args.seed,
    }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

fn setup(args: &PlaceSimArgs) -> SetupOf {
    let phases = |(runs, sleeps)| Phases {
        runs_s: seconds(runs),
        sleeps_s: seconds(sleeps),
    };
    SetupOf {
        cores: args.cores,
        threads: args.threads,
        caches: args.caches,
        compute: args.compute,
        polling: args.polling,
        work_s: seconds(args.work),
        compute_phases: args.compute_phases.map(phases),
        polling_phases: args.polling_phases.map(phases),
        published: Vec::new(),
    }
}
