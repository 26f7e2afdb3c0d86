//! The reports of `q2c place sim`.

#[path = "fixture/facts.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod facts;
mod widths;

use q2c_model::{Bytes, CpuId, Latencies};
use q2c_report::terminal::{self, Screen};
use q2c_result::Warning;
use q2c_result::corun::{CalibrateResult, Pair, Work};
use q2c_result::place::{
    CTimes, Gain, PlaceSimResult, PolicyFigures, PolicyName, PollLatency, Published,
    PublishedFigure, SCHEMA, Setup, Speeds, SpeedsFrom, States,
};
use q2c_result::place_run::{
    ClassRun, ComputeTask, PlaceRunResult, PlacementGain, PlacementLeftOut, PlacementRun,
    PollFigures, PollTask,
};
use q2c_result::place_watch::{
    AdvisedMove, Detector, MoveReason, PlaceWatchResult, SeenBy, Stays, WatchedCore, WatchedCpu,
    WatchedTask,
};
use q2c_stats::Interval;

const HOSTILE: &str = "</script><b>x";

/// All figures are chosen by hand.
fn result() -> PlaceSimResult {
    let figures = |policy, c_slowdown: f64| PolicyFigures {
        policy,
        c_slowdown,
        c_slowdown_low: c_slowdown - 0.1,
        c_slowdown_high: c_slowdown + 0.1,
        p_bandwidth: 0.5,
        p_latency: Some(PollLatency {
            mean_us: 160.0,
            p99_us: 3_080.0,
            p999_us: 3_080.0,
        }),
        migrations: 6.2,
        states: States {
            colocate: 0.75,
            spread: 0.25,
            ..States::default()
        },
    };
    let queues = |core: [&str; 2]| vec![core.map(String::from).to_vec()];
    PlaceSimResult {
        schema: SCHEMA.into(),
        version: "0.1.0".into(),
        started_unix_s: 1_795_478_400,
        seed: 1,
        starts: 100,
        speeds: Speeds {
            compute_beside_compute: 0.6,
            compute_beside_polling: 0.72,
            polling_beside_compute: 1.0,
            polling_beside_polling: 1.0,
        },
        speeds_from: SpeedsFrom::File(HOSTILE.into()),
        setups: vec![Setup {
            name: "2c2p-1x2".into(),
            cores: 1,
            threads: 2,
            caches: 1,
            compute: 2,
            polling: 2,
            c_time: CTimes {
                free: 1.1,
                bunch: 1.2,
                scatter: 1.05,
                colocate: 1.0,
                spread: 1.1,
                worst: Some(1.2),
                best: Some(1.0),
                proposed: 1.03,
                proposed_literal: 1.1,
                proposed_swap: 1.03,
            },
            c_time_unit: 2.5,
            gain_over_free_pct: Gain::of(1.1, 1.03),
            gain_over_worst_pct: Some(Gain::of(1.2, 1.03)),
            fitted: false,
            policies: vec![
                figures(PolicyName::Free, 2.75),
                figures(PolicyName::Proposed, 2.575),
            ],
            best: Some(queues(["PP", "CC"])),
            worst: Some(queues(["PC", "PC"])),
            worst_is: vec![PolicyName::Spread],
            published: vec![Published {
                figure: PublishedFigure::ColocateOverSpread,
                published_pct: 9.09,
                simulated: Gain::of(1.1, 1.0),
                fitted: false,
            }],
        }],
        warnings: vec![Warning::new("an-id", "found".into(), "it means", "do this")],
    }
}

#[test]
fn place_fits_every_width() {
    widths::snapshots("place", |screen| terminal::place_sim(&result(), screen));
}

#[test]
fn the_page_has_its_charts_and_nothing_hostile() {
    let page = q2c_report::html::place_sim(&result()).expect("make the page");
    assert!(!page.contains(HOSTILE));
    assert!(page.contains("id=\"place-0\"") || page.contains("place-0"));
    assert!(page.contains("colocate over spread"));
}

/// A core of two polling tasks beside one of two computing ones, and what would be better; all
/// figures are chosen by hand.
fn look() -> PlaceWatchResult {
    let task = |tid: u32, polls: bool, stays| WatchedTask {
        pid: tid,
        tid,
        name: if polls {
            format!("poller {tid}")
        } else {
            format!("solver {HOSTILE}")
        },
        polls,
        by: if polls {
            SeenBy::Kernel
        } else {
            SeenBy::Nothing
        },
        cpu_pct: 99.6,
        stays,
    };
    let cpu = |cpu: u32, tasks: Vec<WatchedTask>, c_slowdown| WatchedCpu {
        cpu: CpuId(cpu),
        tasks,
        c_slowdown,
    };
    let move_of = |tid: u32, polls: bool, from: u32, to: u32, why| AdvisedMove {
        pid: tid,
        tid,
        name: format!("task {tid}"),
        polls,
        from: CpuId(from),
        to: CpuId(to),
        why,
    };
    PlaceWatchResult {
        schema: q2c_result::place_watch::SCHEMA.into(),
        version: "0.1.0".into(),
        at_unix_s: 1_795_478_400,
        window_s: 0.5,
        detector: Detector {
            functions: vec!["blk_mq_poll".into()],
            missing: None,
        },
        speeds: result().speeds,
        speeds_from: SpeedsFrom::Published,
        cores: vec![
            WatchedCore {
                cpus: vec![
                    cpu(0, vec![task(100, true, None)], None),
                    cpu(4, vec![task(101, true, Some(Stays::Pinned))], None),
                ],
            },
            WatchedCore {
                cpus: vec![
                    cpu(
                        1,
                        vec![task(102, false, None), task(103, false, None)],
                        Some(3.33),
                    ),
                    cpu(5, vec![], None),
                ],
            },
        ],
        c_slowdown: Some(1.6),
        c_slowdown_after: Some(1.33),
        moves: vec![
            move_of(100, true, 0, 1, MoveReason::Scatter),
            move_of(102, false, 1, 0, MoveReason::Room),
        ],
        warnings: Vec::new(),
    }
}

#[test]
fn watch_fits_every_width() {
    widths::snapshots("watch", |screen| terminal::place_watch(&look(), screen));
}

#[test]
fn the_page_of_a_look_has_nothing_hostile() {
    let page = q2c_report::html::place_watch(&look()).expect("make the page");
    assert!(!page.contains(HOSTILE));
    assert!(page.contains("What would be better"));
}

/// Two pairs of a calibration; all figures are chosen by hand.
fn calibration() -> CalibrateResult {
    let pair = |own, neighbour, same_cpu, trials: &[f64]| Pair {
        own,
        neighbour: Some(neighbour),
        same_cpu,
        speed: Interval::of(trials),
    };
    CalibrateResult {
        schema: q2c_result::corun::SCHEMA.into(),
        version: "0.1.0".into(),
        started_unix_s: 1_795_478_400,
        cpus: (CpuId(3), CpuId(7)),
        trials: 3,
        trial_s: 0.3,
        seed: 1,
        machine: facts::machine(),
        target: None,
        pairs: vec![
            pair(Work::Integer, Work::Integer, false, &[0.6, 0.61, 0.59]),
            pair(Work::Integer, Work::PollPause, true, &[0.5, 0.5, 0.49]),
        ],
        speeds: result().speeds,
        warnings: Vec::new(),
    }
}

#[test]
fn calibration_fits_every_width() {
    widths::snapshots("calibration", |screen| {
        terminal::place_calibrate(&calibration(), screen)
    });
    let page = q2c_report::html::place_calibrate(&calibration()).expect("make the page");
    assert!(page.contains("integer, same CPU") || page.contains("same CPU"));
    let csv = q2c_report::csv::place_calibrate(&calibration()).expect("make the CSV");
    assert_eq!(
        csv.lines().nth(2),
        Some("Integer,PollPause,true,0.5,0.49,0.5")
    );
}

/// One kind of work in three placements; all figures are chosen by hand.
fn placements() -> PlaceRunResult {
    let polls = |iops: f64, p99_us: f64| PollFigures {
        iops: Interval::of(&[iops, iops * 1.01, iops * 0.99]),
        bytes_per_s: Interval::of(&[iops * 4_096.0]),
        latency: Latencies {
            mean_ns: 81e3,
            p50_ns: 80e3,
            p99_ns: p99_us * 1e3,
            p999_ns: 3.1e6,
        }
        .map(|ns| Interval::of(&[ns])),
    };
    let run = |policy, trials: &[f64]| PlacementRun {
        policy,
        c_slowdown: Interval::of(trials),
        polls: Some(polls(11_500.0, 95.0)),
        moves: None,
        failures: Vec::new(),
    };
    let proposed = PlacementRun {
        moves: Some(Interval::of(&[6.0, 5.0, 6.0])),
        ..run(PolicyName::Proposed, &[1.25, 1.24, 1.26])
    };
    let failed = PlacementRun {
        polls: None,
        failures: vec![format!("run a computing task: {HOSTILE}")],
        ..run(PolicyName::Bunch, &[])
    };
    let gain = |over, pct: f64, published_pct| PlacementGain {
        of: PolicyName::Proposed,
        over,
        t_over_t_minus_1_pct: Interval::of(&[pct, pct - 1.0, pct + 1.0]),
        one_minus_pct: Interval::of(&[pct - 0.5]),
        published_pct,
    };
    PlaceRunResult {
        schema: q2c_result::place_run::SCHEMA.into(),
        version: "0.1.0".into(),
        started_unix_s: 1_795_478_400,
        complete: true,
        machine: facts::machine(),
        cores: 4,
        cpus: 8,
        compute: 8,
        polling: 8,
        polls: PollTask::Engine {
            engine: "io_uring:iopoll".into(),
            bs: Bytes(4_096),
        },
        target: None,
        trials: 3,
        trial_s: 3.0,
        settle_s: 2.0,
        seed: 1,
        beside_own_kind: Interval::of(&[0.6, 0.61, 0.62]),
        polling_alone: Some(polls(12_000.0, 92.0)),
        classes: vec![ClassRun {
            task: ComputeTask::Own(Work::Float),
            placements: vec![run(PolicyName::Free, &[1.4, 1.38, 1.45]), failed, proposed],
            gains: vec![
                gain(PolicyName::Free, 12.0, Some(9.8)),
                gain(PolicyName::Bunch, 0.5, None),
            ],
        }],
        left_out: vec![PlacementLeftOut {
            policy: PolicyName::Spread,
            reason: HOSTILE.into(),
        }],
        warnings: Vec::new(),
    }
}

#[test]
fn measured_placements_fits_every_width() {
    widths::snapshots("measured_placements", |screen| {
        terminal::place_run(&placements(), screen)
    });
    let page = q2c_report::html::place_run(&placements()).expect("make the page");
    assert!(!page.contains(HOSTILE));
    let csv = q2c_report::csv::place_run(&placements()).expect("make the CSV");
    let first = csv.lines().nth(1).expect("a row");
    assert!(
        first.starts_with("floating point,free,1.4,1.38,1.45,3,11500,"),
        "{first}"
    );
}

#[test]
fn a_gain_is_told_only_where_the_interval_leaves_out_nothing() {
    let said = |trials: &[f64]| {
        let mut result = placements();
        result.classes[0].gains[0].t_over_t_minus_1_pct = Interval::of(trials);
        terminal::place_run(
            &result,
            Screen {
                width: 200,
                colour: false,
            },
        )
    };
    assert!(said(&[2.0, 3.0]).contains("lets computing tasks run faster than the kernel's own"));
    assert!(said(&[-1.0, 3.0]).contains("cannot be told from the kernel's own"));
    assert!(said(&[-2.0, -1.0]).contains("makes computing tasks slower than"));
    assert!(said(&[9.0]).contains("was tried once beside"));
}
