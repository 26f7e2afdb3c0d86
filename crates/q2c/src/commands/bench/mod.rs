//! The command `q2c bench`.

mod fio;
mod order;

use super::{restore, session};
use crate::args::{BenchArgs, RunArgs, WorkloadArgs};
use crate::failure::{Fails, Failure};
use crate::media::media;
use crate::opened::LEAST_BLOCKS;
use crate::output::{print, print_json, say, screen};
use crate::workbench::{Workbench, named, scratch};
use order::Order;
use q2c_bench::asked::Asked;
use q2c_bench::media::Media;
use q2c_bench::way::Abilities;
use q2c_bench::{Bench, BenchSpec, Done};
use q2c_engine::Pattern;
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_result::bench::{BenchPoint, BenchResult};
use q2c_result::{Exit, Target};
use q2c_run::run_dir::read_plan;
use q2c_run::{RunDir, RunState, runner};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Benchmarks: begins a new run, or goes on with an interrupted one.
pub fn run(args: &BenchArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let Session {
        spec,
        place,
        order,
        mut folder,
    } = match &args.resume {
        Some(path) => resumed(path, args, stop)?,
        None => fresh(args, stop)?,
    };
    let path = folder.path().to_owned();
    say(&format!("run folder {}", path.display()));
    let done = bench(&spec, &place, &order, &mut folder, stop);
    let Done {
        result,
        state,
        aborted,
    } = match done {
        Ok(done) => done,
        Err(failure) => {
            session::keep_for_resume(place, &path);
            return Err(failure);
        }
    };
    let page = q2c_report::html::bench(&result).or_exit(Exit::Internal)?;
    session::publish(folder, state, &result, &page)?;
    let nothing = nothing_measured(&result).filter(|_| state == RunState::Complete);
    if let Some(why) = aborted.or(nothing) {
        // What was measured before is in the report; figures of half a run are not printed.
        session::tell_report(&path);
        let mut failed = format!("measure {why}");
        if state != RunState::Complete {
            failed += &format!("; mend that and go on with --resume {}", path.display());
            session::keep_for_resume(place, &path);
        }
        return Err(Failure::new(Exit::Device, failed));
    }
    match args.run.json {
        true => print_json(&result)?,
        false => print(&q2c_report::terminal::bench(&result, screen()))?,
    }
    session::tell_report(&path);
    Ok(session::end(state, place, &path))
}

/// The reason why there is no number at all; `None` where there is one.
fn nothing_measured(result: &BenchResult) -> Option<String> {
    let cells = &result.cells;
    let first = cells.first()?;
    let reason = first.failures.first()?;
    let none = cells.iter().all(|cell| cell.iops.trials == 0);
    none.then(|| {
        let BenchPoint { engine, method, .. } = &first.point;
        format!("anything: every trial failed, the first one ({engine} {method}) to {reason}")
    })
}

/// Everything that a session needs, in a new run or in an interrupted one.
struct Session {
    spec: BenchSpec,
    place: Workbench,
    order: Order,
    folder: RunDir,
}

fn fresh(args: &BenchArgs, stop: &AtomicBool) -> Result<Session, Failure> {
    let mut asked = args.asked();
    let job_file = match &args.fio {
        Some(path) => Some(fio::fill(&mut asked, path)?),
        None => None,
    };
    let sizes = asked.sizes.get_or_insert(vec![Bytes(4096)]).clone();
    let patterns = asked.patterns.get_or_insert(vec!["randread".to_owned()]);
    let rw = strongest(patterns).or_exit(Exit::Usage)?;
    let workload = WorkloadArgs {
        scratch: args.scratch,
        ..workload(asked.target.clone(), sizes.clone(), rw, args.run.clone())
    };
    let scratch = scratch(&workload, stop)?;
    let target = named("bench", &workload, scratch.as_ref())?;
    let place = Workbench::for_interfaces(&workload, &target, scratch, stop)?;
    let order = order::order(&asked, &place)?;
    let whole = place.target.size.0;
    let largest = sizes.iter().map(|bs| bs.0).max().unwrap_or(0);
    let spec = BenchSpec {
        span: fio::span(asked.size, whole, largest, LEAST_BLOCKS)?.map(Bytes),
        ..spec(args, asked, target, &place.target, &order)
    };
    let identity = session::identity(&place, &spec.cpus);
    let folder = RunDir::create(&args.run.out, "bench", &spec, &identity).or_exit(Exit::Device)?;
    if let Some(text) = job_file {
        folder
            .publish("job.fio", |out| out.write_all(&text))
            .or_exit(Exit::Device)?;
    }
    Ok(Session {
        spec,
        place,
        order,
        folder,
    })
}

/// Takes the job from the plan of the run in the folder at `path`. What the command line says of
/// the job does not count.
fn resumed(path: &Path, args: &BenchArgs, stop: &AtomicBool) -> Result<Session, Failure> {
    let spec: BenchSpec = read_plan(path).or_exit(Exit::Input)?;
    let bad = || Failure::new(Exit::Input, "understand rw in the run's plan.toml");
    let rw = strongest(&spec.patterns).map_err(|_| bad())?;
    let workload = workload(
        Some(spec.target.clone()),
        spec.sizes.clone(),
        rw,
        args.run.clone(),
    );
    let place = Workbench::for_interfaces(&workload, &spec.target, None, stop)?;
    let order = order::stored(&spec, &place)?;
    let identity = session::identity(&place, &spec.cpus);
    let folder = session::resumed(path, &identity)?;
    Ok(Session {
        spec,
        place,
        order,
        folder,
    })
}

/// The pattern that the target is opened for: one that writes, if there is one.
fn strongest(patterns: &[String]) -> Result<Pattern, String> {
    let parsed = patterns
        .iter()
        .map(|p| p.parse().map_err(|e| format!("{e}")));
    let patterns: Vec<Pattern> = parsed.collect::<Result<_, String>>()?;
    let read = Pattern {
        random: true,
        write: false,
    };
    Ok(patterns.into_iter().find(|p| p.write).unwrap_or(read))
}

/// The arguments with which the target is opened.
fn workload(target: Option<String>, bs: Vec<Bytes>, rw: Pattern, run: RunArgs) -> WorkloadArgs {
    WorkloadArgs {
        target,
        scratch: None,
        rw,
        bs,
        jobs: 1,
        cpu: Vec::new(),
        background: Vec::new(),
        engine: None,
        run,
    }
}

/// The plan: what was asked for, with defaults for the rest.
fn spec(
    args: &BenchArgs,
    asked: Asked,
    target: String,
    facts: &Target,
    order: &Order,
) -> BenchSpec {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let engines = asked.engines.unwrap_or_else(|| match facts.kind.as_str() {
        "simulated" => vec![target.clone()],
        "nvme-generic" => names(&["io_uring_cmd"]),
        "pci" => names(&["spdk"]),
        _ => names(&["io_uring", "libaio", "pvsync2"]),
    });
    BenchSpec {
        target,
        engines,
        methods: asked
            .methods
            .unwrap_or_else(|| vec![Method::INTERRUPT, Method::POLL]),
        jobs: asked.jobs.unwrap_or(vec![1]),
        depths: asked.depths.unwrap_or(vec![1]),
        sizes: asked.sizes.unwrap_or_default(),
        patterns: asked.patterns.unwrap_or_default(),
        seconds: asked.seconds.unwrap_or(3.0),
        warm_up_seconds: asked.warm_up_seconds.unwrap_or(1.0),
        trials: args.trials,
        precision: args.precision,
        cpus: order.cpus.clone(),
        cpu_order: order.words.clone(),
        rate: asked.rate,
        rating: args.rating,
        budget_s: args.budget.map(|b| b.as_secs_f64()),
        seed: args.run.seed,
        span: None,
        points: asked.points,
    }
}

fn bench(
    spec: &BenchSpec,
    place: &Workbench,
    order: &Order,
    folder: &mut RunDir,
    stop: &AtomicBool,
) -> Result<Done, Failure> {
    let restore_dir = restore::folder(None).ok();
    let media = media(place, &spec.engines)?;
    let clock = place.workload.clock;
    let floor = session::floor(clock, CpuId(spec.cpus[0]))?;
    let bench = Bench {
        spec,
        media: &media,
        span: spec.span.unwrap_or(place.workload.span),
        site: &place.workload.site,
        borders: &order.borders,
        abilities: abilities(place, &media),
        restore_dir: restore_dir.as_deref(),
        machine: &place.machine,
        target: &place.target,
        doctor: &place.doctor,
        harness_floor_ns: floor.recorded_ns,
        harness_bare_ns: floor.bare_ns,
        clock,
        stop,
    };
    let mut progress = runner::progress::on_stderr();
    let done = bench.run(folder, progress.as_mut());
    done.or_exit_of(|error| error.exit())
}

/// First and last version of Linux in which preadv2 polls and the kernel can sleep first: its own
/// sleep came with 4.10, and 5.18 is the last version in which preadv2 polls.
const KERNEL_HYBRID: std::ops::RangeInclusive<(u32, u32)> = (4, 10)..=(5, 18);

fn abilities(place: &Workbench, media: &Media) -> Abilities {
    let device = place.target.device.as_ref();
    let leaf = place.workload.site.leaf.as_ref();
    let delay = leaf.map(|leaf| leaf.disk.dir.join("queue/io_poll_delay"));
    let mut parts = place.machine.kernel.split(['.', '-']);
    let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    let kernel: (u32, u32) = (number(), number());
    let poll_queues = device.and_then(|device| device.io_poll);
    Abilities {
        poll_queues,
        poll_delay: poll_queues == Some(true)
            && KERNEL_HYBRID.contains(&kernel)
            && delay.is_some_and(|file| file.exists()),
        polled_commands: media.commands.as_ref().is_ok_and(|there| there.polled),
    }
}
