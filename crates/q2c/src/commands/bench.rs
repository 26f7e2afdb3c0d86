//! `q2c bench`.

use super::restore;
use super::tune::{binary, keep_for_resume};
use crate::args::{BenchArgs, Counts, Engines, Methods};
use crate::failure::{Fails, Failure};
use crate::media::media;
use crate::output::{print, print_json, say, screen};
use crate::workbench::{Workbench, named, scratch};
use q2c_host::block::pci_node;
use q2c_host::topology::{Border, CpuOrder, Topology, cpu_order, device_node};
use q2c_lab::bench::media::Media;
use q2c_lab::bench::method::Abilities;
use q2c_lab::bench::{Bench, BenchSpec};
use q2c_lab::run_dir::read_plan;
use q2c_lab::{Identity, RunDir, RunState, runner};
use q2c_model::CpuId;
use q2c_result::bench::BenchResult;
use q2c_result::{Exit, Target};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Benchmarks: a new run, or the rest of an interrupted one.
pub fn run(args: &BenchArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let stored: Option<BenchSpec> = match &args.resume {
        Some(folder) => Some(read_plan(folder).or_exit(Exit::Input)?),
        None => None,
    };
    let mut workload = args.workload();
    let scratch = scratch(&workload, stop)?;
    let target = match &stored {
        Some(spec) => spec.target.clone(),
        None => named("bench", &workload, scratch.as_ref())?,
    };
    if let Some(spec) = &stored {
        workload.bs = spec.sizes.clone();
        workload.rw = stored_pattern(spec)?;
    }
    let place = Workbench::for_interfaces(&workload, &target, scratch, stop)?;
    let order = order(args, stored.as_ref(), &place)?;
    let spec = match stored {
        Some(spec) => spec,
        None => spec(args, &target, &place.target, &order),
    };
    let media = media(&place, &spec.engines)?;
    let identity = identity(&place, &spec);
    let mut folder = match &args.resume {
        Some(path) => resumed(path, &identity)?,
        None => RunDir::create(&args.out, "bench", &spec, &identity).or_exit(Exit::Device)?,
    };
    say(&format!("run folder {}", folder.path().display()));
    let restore_dir = restore::folder(None).ok();
    let clock = place.workload.clock;
    let floor =
        q2c_engine::floor::measure(clock, CpuId(spec.cpus[0])).or_exit(Exit::Environment)?;
    let bench = Bench {
        spec: &spec,
        media: &media,
        span: place.workload.span,
        site: &place.workload.site,
        borders: &order.1,
        abilities: abilities(&place, &media),
        restore_dir: restore_dir.as_deref(),
        machine: &place.machine,
        target: &place.target,
        doctor: &place.doctor,
        harness_floor_ns: floor,
        clock,
        stop,
    };
    let mut progress = runner::progress::on_stderr();
    let done = bench.run(&mut folder, progress.as_mut());
    let path = folder.path().to_owned();
    let (result, state) = match done {
        Ok(done) => done,
        Err(error) => {
            keep_for_resume(place, &path);
            return Err(Failure::new(error.exit(), error));
        }
    };
    conclude(&result, folder, state, args.json)?;
    match state {
        RunState::Complete => Ok(Exit::Done),
        _ => {
            say(&format!(
                "stopped: the finished trials are in the report; --resume {} goes on",
                path.display()
            ));
            keep_for_resume(place, &path);
            Ok(Exit::Interrupted)
        }
    }
}

fn stored_pattern(spec: &BenchSpec) -> Result<q2c_engine::Pattern, Failure> {
    let bad = || Failure::new(Exit::Input, "understand rw in the run's plan.toml");
    let patterns: Result<Vec<q2c_engine::Pattern>, _> =
        spec.patterns.iter().map(|p| p.parse()).collect();
    let patterns = patterns.map_err(|_| bad())?;
    let writes = patterns.iter().find(|p| p.write).or(patterns.first());
    writes.copied().ok_or_else(bad)
}

fn resumed(path: &std::path::Path, identity: &Identity) -> Result<RunDir, Failure> {
    let (folder, torn) = RunDir::resume(path, identity).or_exit(Exit::Input)?;
    torn.iter().for_each(|torn| say(&torn.to_string()));
    Ok(folder)
}

/// CPUs in the order in which jobs take them, the steps in it, and the order in words.
type Order = (Vec<u32>, Vec<Border>, String);

fn order(
    args: &BenchArgs,
    stored: Option<&BenchSpec>,
    place: &Workbench,
) -> Result<Order, Failure> {
    let site = &place.workload.site;
    let allowed = q2c_sys::thread::allowed_cpus().or_exit(Exit::Environment)?;
    let topology = Topology::read(&site.roots);
    let node = match &site.leaf {
        Some(leaf) => device_node(&site.roots, leaf),
        None => pci_node(&site.roots, &place.target.path),
    };
    let CpuOrder {
        cpus,
        words,
        borders,
    } = cpu_order(&topology, node, &allowed);
    if let Some(spec) = stored {
        return Ok((spec.cpus.clone(), borders, spec.cpu_order.clone()));
    }
    if args.cpus.is_empty() {
        return Ok((
            cpus.iter().map(|placed| placed.cpu.0).collect(),
            borders,
            words,
        ));
    }
    if let Some(cpu) = args
        .cpus
        .iter()
        .find(|cpu| !allowed.contains(&CpuId(**cpu)))
    {
        let have: Vec<String> = allowed.iter().map(|cpu| cpu.0.to_string()).collect();
        let have = have.join(", ");
        return Err(Failure::new(
            Exit::Usage,
            format!("use CPU {cpu}: q2c may run on CPUs {have} here"),
        ));
    }
    Ok((args.cpus.clone(), Vec::new(), "as asked".to_owned()))
}

fn spec(args: &BenchArgs, target: &str, facts: &Target, order: &Order) -> BenchSpec {
    let engines = match (&args.engine, facts.kind.as_str()) {
        (Some(Engines(engines)), _) => engines.iter().map(ToString::to_string).collect(),
        (None, "simulated") => vec![target.to_owned()],
        (None, "nvme-generic") => vec!["io_uring_cmd".to_owned()],
        (None, "pci") => vec!["spdk".to_owned()],
        (None, _) => ["io_uring", "libaio", "pvsync2"]
            .map(str::to_owned)
            .to_vec(),
    };
    let Methods(methods) = &args.method;
    let Counts(jobs) = &args.jobs;
    let Counts(depths) = &args.depth;
    BenchSpec {
        target: target.to_owned(),
        engines,
        methods: methods.iter().map(ToString::to_string).collect(),
        jobs: jobs.iter().map(|&n| n.into()).collect(),
        depths: depths.clone(),
        sizes: args.bs.clone(),
        patterns: args.rw.iter().map(ToString::to_string).collect(),
        seconds: args.seconds,
        warm_up_seconds: args.warm_up,
        trials: args.trials,
        precision: args.precision,
        cpus: order.0.clone(),
        cpu_order: order.2.clone(),
        rate: args.rate,
        rating: args.rating,
        budget_s: args.budget.map(|b| b.as_secs_f64()),
        seed: args.seed,
    }
}

/// What must be the same for two sessions' trials to belong together.
fn identity(place: &Workbench, spec: &BenchSpec) -> Identity {
    let cpus: Vec<String> = spec.cpus.iter().map(ToString::to_string).collect();
    Identity::default()
        .with("target", &place.target.path)
        .with("target_id", &place.target_id)
        .with("kernel", &place.machine.kernel)
        .with("cpus", cpus.join(","))
        .with("q2c", binary())
}

/// The last kernel line whose preadv2 polls is 5.18; the kernel's own sleep came with 4.10.
const KERNEL_HYBRID: std::ops::RangeInclusive<(u32, u32)> = (4, 10)..=(5, 18);

fn abilities(place: &Workbench, media: &Media) -> Abilities {
    let leaf = place.workload.site.leaf.as_ref();
    let device = place.target.device.as_ref();
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

fn conclude(
    result: &BenchResult,
    folder: RunDir,
    state: RunState,
    json: bool,
) -> Result<(), Failure> {
    folder
        .publish_json("result.json", result)
        .or_exit(Exit::Device)?;
    let page = q2c_report::html::bench(result).or_exit(Exit::Internal)?;
    folder
        .publish("report.html", |out| out.write_all(page.as_bytes()))
        .or_exit(Exit::Device)?;
    let report: PathBuf = folder.path().join("report.html");
    folder.finish(state).or_exit(Exit::Device)?;
    match json {
        true => print_json(result)?,
        false => print(&q2c_report::terminal::bench(result, screen()))?,
    }
    say(&format!("report: {}", report.display()));
    Ok(())
}
