//! The answers of `q2c tune` on simulated machines with a wrong calibration, against brute force.

use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, SimMachine, World};
use q2c_host::Roots;
use q2c_host::machine::simulated;
use q2c_model::stats::{Rng, percentile, sorted};
use q2c_model::{Bytes, CpuId, Curve, Nanos};
use q2c_policy::{LaneMethod, Method};
use q2c_result::tune::{Calibration, TuneResult, Verdict};
use q2c_result::{DoctorReport, Target};
use q2c_run::arguments::from_words;
use q2c_run::runner::progress::SilentProgress;
use q2c_run::{Identity, RunDir};
use q2c_sim::standard_grid;
use q2c_tune::{Tune, TuneSettings};
use q2c_workbench::calibrate::{calibrate, identity};
use q2c_workbench::workload::{Site, Stages, Step, Workload};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

const BS: Bytes = Bytes(4096);
const CPU: CpuId = CpuId(1);
/// Number of best methods by the report's sweep that are measured to find the true best.
const MAX_BEST: usize = 12;

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.unit()
}

fn over_decades(rng: &mut Rng, low: f64, high: f64) -> u64 {
    between(rng, low.ln(), high.ln()).exp() as u64
}

fn machine(rng: &mut Rng) -> SimMachine {
    let switch_ns = over_decades(rng, 500.0, 4e3);
    let (timer_ns, interrupt_ns) = (over_decades(rng, 200.0, 1e3), over_decades(rng, 500.0, 3e3));
    SimMachine {
        cores: 2,
        submission_ns: over_decades(rng, 500.0, 10e3),
        turnaround_ns: over_decades(rng, 50.0, 500.0),
        look_ns: over_decades(rng, 30.0, 300.0),
        switch_ns,
        timer_ns,
        wake_delay_ns: switch_ns + timer_ns + over_decades(rng, 1e3, 20e3),
        interrupt_ns,
        interrupt_delay_ns: switch_ns + interrupt_ns + over_decades(rng, 500.0, 15e3),
        ..SimMachine::default()
    }
}

fn device(rng: &mut Rng) -> (EngineSpec, Nanos) {
    let (median, sigma) = (over_decades(rng, 10e3, 400e3), between(rng, 0.05, 0.35));
    let engine = format!("sim:lognormal({median}ns,{sigma:.3})");
    (engine.parse().unwrap(), Nanos(median))
}

fn workload(machine: SimMachine, engine: EngineSpec) -> Workload {
    let simulated = SimDevices::default();
    Workload {
        medium: simulated.medium(&engine).unwrap(),
        simulated,
        engine,
        pattern: "randread".parse().unwrap(),
        think: None,
        span: Bytes(1 << 30),
        cpus: vec![CPU],
        background: Vec::new(),
        sampler_cpu: None,
        site: Site::without_disk(Roots::live(), World::new(machine)),
    }
}

fn spec(workload: &Workload, seed: u64) -> TuneSettings {
    let engine = &workload.engine;
    let options = format!(
        "sim --engine {engine} --bs 4k --cpus {} --seed {seed}",
        CPU.0
    );
    TuneSettings {
        part_seconds: 0.061,
        slice_seconds: 0.042,
        ..from_words(&options).unwrap()
    }
}

fn tune(workload: &Workload, seed: u64) -> TuneResult {
    let spec = spec(workload, seed);
    let world = workload.site.time.world().unwrap();
    let target = Target::default();
    let tune = Tune {
        spec: &spec,
        workload,
        machine: &simulated(world.machine(), world.cpus()),
        target: &target,
        calibration_target: "sim",
        doctor: &DoctorReport::default(),
        store: None,
        restore_dir: None,
        harness_floor_ns: 0.0,
        harness_bare_ns: 0.0,
        stop: &AtomicBool::new(false),
    };
    let runs = tempfile::tempdir().unwrap();
    let mut folder = RunDir::create(runs.path(), "tune", &spec, &Identity::default()).unwrap();
    let identity = identity(tune.machine, "sim", workload);
    let calibration = wrong_calibration(workload, seed);
    folder
        .publish_json("calibration-identity.json", &identity)
        .unwrap();
    folder
        .publish_json("calibration.json", &calibration)
        .unwrap();
    tune.run(&mut folder, &mut SilentProgress).unwrap().0
}

fn wrong_calibration(workload: &Workload, seed: u64) -> Vec<Calibration> {
    let mut rng = Rng::new(seed ^ 0x0ff5_0ff5);
    let stop = AtomicBool::new(false);
    let mut calibrations = calibrate(workload, &[BS], seed, &mut SilentProgress, &stop).unwrap();
    let [wake, cpu] = [0.12, 0.1].map(|most| between(&mut rng, 1.0 - most, 1.0 + most));
    let scale = |curve: &mut Curve, by: f64| curve.y.iter_mut().for_each(|y| *y *= by);
    for Calibration { cost, .. } in &mut calibrations {
        for delay in [&mut cost.wake_clear, &mut cost.wake_hit] {
            scale(&mut delay.base_ns, wake);
            scale(&mut delay.least_ns, wake);
            scale(&mut delay.most_ns, wake);
        }
        scale(&mut cost.sleep_cpu_clear_ns, cpu);
        scale(&mut cost.sleep_cpu_hit_ns, cpu);
    }
    calibrations
}

/// IOPS, and IOPS per busy CPU, on a machine of its own. The same I/Os count for every method.
fn measured(workload: &Workload, median: Nanos, method: &LaneMethod) -> (f64, f64) {
    let machine = workload.site.time.world().unwrap().machine().clone();
    let alone = self::workload(machine, workload.engine.clone());
    let mut stages = Stages::default();
    // Rules learn in the first windows, which do not show what the rules cost.
    stages.push(Step::By(method.clone()), Nanos::from_millis(250));
    let stage = stages.push(Step::Same, Nanos::from_millis(1_750));
    let stop = AtomicBool::new(false);
    let watched = alone.run(BS, &stages, 1, Some(100e3), &stop).unwrap();
    let samples = &watched.data.lanes[0].samples;
    let submitted = |nth: usize| samples.get(nth).map(|sample| sample.submit_ns as f64);
    let ios = (2.5e8 / median.0 as f64) as usize;
    let length = submitted(3 * ios).zip(submitted(ios));
    // A method that does not get that far is below any floor.
    let iops = length.map_or(0.0, |(end, begin)| 2e9 * ios as f64 / (end - begin));
    let per_core = watched.stats(stage).iops() / watched.span(stage).busy_cpus.unwrap();
    (iops, per_core)
}

struct Score {
    seed: u64,
    verdict: Verdict,
    chosen: String,
    best_is: String,
    regret: f64,
    iops: f64,
    has_room: bool,
    floor: f64,
}

fn candidates(result: &TuneResult, median: Nanos) -> Vec<LaneMethod> {
    let tried = result.cells.iter();
    let tried = tried.filter_map(|cell| cell.method.lane().cloned());
    let mut methods: Vec<LaneMethod> = tried.collect();
    let sweep = &result.sweeps[0];
    let least = sweep.poll.rates.iops * 0.96;
    let mut cells: Vec<_> = sweep.cells.iter().collect();
    cells.retain(|cell| cell.gives.rates.iops >= least);
    cells.sort_by(|a, b| b.gives.kiops_per_core.total_cmp(&a.gives.kiops_per_core));
    let grid = standard_grid(median).into_iter().map(LaneMethod::from);
    let best = cells.iter().take(MAX_BEST).map(|cell| cell.policy.clone());
    let best: Vec<String> = best.collect();
    let is_best = |method: &LaneMethod| best.contains(&Method::from(method.clone()).detail());
    methods.extend(grid.filter(is_best));
    methods
}

fn score(seed: u64) -> Score {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
    let (engine, median) = device(&mut rng);
    let workload = workload(machine(&mut rng), engine);
    let result = tune(&workload, seed);
    let answer = &result.recommendation[0];
    let (poll_iops, poll_per_core) = measured(&workload, median, &LaneMethod::Poll);
    let ratios = |method: &LaneMethod| {
        let (iops, per_core) = measured(&workload, median, method);
        (iops / poll_iops, per_core / poll_per_core)
    };
    let (mut best, mut best_is, mut has_room) = (1.0, "poll".to_owned(), false);
    for method in candidates(&result, median) {
        let (iops, per_core) = ratios(&method);
        if iops >= answer.floor && per_core > best {
            (best, best_is) = (per_core, method.to_string());
            has_room |= method.policy().is_some() && per_core > 1.02;
        }
    }
    let (iops, per_core) = ratios(answer.method.lane().unwrap());
    Score {
        seed,
        verdict: answer.verdict,
        chosen: answer.method.to_string(),
        best_is,
        regret: (1.0 - per_core / best).max(0.0),
        iops,
        has_room,
        floor: answer.floor,
    }
}

fn scores(seeds: Range<u64>) -> Vec<Score> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        let own_seeds = |n| seeds.clone().filter(move |seed| seed % threads == n);
        let spawn = |n| scope.spawn(move || own_seeds(n).map(score).collect::<Vec<Score>>());
        let spawned: Vec<_> = (0..threads).map(spawn).collect();
        let scores = spawned.into_iter().flat_map(|task| task.join().unwrap());
        scores.collect()
    })
}

/// Limits reached on simulated machines of an earlier kind (docs/journal/2026-11-22-verdicts.md).
fn check(seeds: Range<u64>) {
    let scores = scores(seeds);
    let share = |which: &dyn Fn(&Score) -> bool| {
        scores.iter().filter(|score| which(score)).count() as f64 / scores.len() as f64
    };
    let regret = sorted(&scores.iter().map(|score| score.regret).collect::<Vec<_>>());
    let [median, p95, worst] = [0.5, 0.95, 1.0].map(|q| percentile(&regret, q));
    let broken = share(&|s| s.iops < s.floor);
    let far_below = share(&|s| s.iops < s.floor * 0.99);
    let false_no_room = share(&|s| s.verdict == Verdict::NoRoom && s.has_room);
    println!(
        "regret median {median:.4}, p95 {p95:.4}, worst {worst:.3}; floor broken {broken:.3}, by more than 1 % \
         {far_below:.3}; false no room {false_no_room:.3}"
    );
    for score in &scores {
        if score.regret > 0.08 || score.iops < score.floor {
            let Score {
                seed,
                chosen,
                best_is,
                regret,
                iops,
                ..
            } = score;
            println!("  {seed}: {chosen} for {best_is}: regret {regret:.3}, IOPS {iops:.4}");
        }
    }
    assert!(median < 0.02 && p95 < 0.25);
    assert!(broken <= 0.02 && far_below == 0.0 && false_no_room == 0.0);
}

#[test]
fn the_answer_is_near_the_true_best() {
    check(0..10);
}

#[test]
#[ignore = "200 machines: cargo test --workspace --release --test machines -- --ignored --nocapture"]
fn the_answer_is_near_the_true_best_on_all_machines() {
    check(0..200);
}
