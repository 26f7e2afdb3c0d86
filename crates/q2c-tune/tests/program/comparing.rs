use super::*;
use q2c_model::stats::Interval;
use q2c_model::{Latencies, Rates};
use q2c_policy::Method;
use q2c_result::mode::{EffectiveMode, WaitMode};
use q2c_result::program::{
    FigureLikeness, LikenedFigure, Likeness, Program, ProgramRecording, WorthCaveat,
};
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{
    Cell, Measured, OpenQuestion, PerCore, Recommendation, Relative, Series, Verdict,
};
use q2c_tune::program::{compare, nearest_workload};

const RULE: &str = "hybrid:min:70%,10ms";

/// A cell at 4 KiB with its IOPS, mean latency (us) and thread CPU (percent of one CPU per job).
fn cell(method: &str, iops: f64, mean_us: f64, cpu_pct: f64) -> Cell {
    let interval = |value: f64| Interval::from_samples(&[value]);
    let method: Method = method.parse().unwrap();
    Cell {
        bs: Bytes(4096),
        sleeping: method.sleeps(),
        role: CellRole::Known(Role::Baseline),
        predicted: None,
        predicted_first: None,
        measured: Measured {
            rates: Rates {
                iops,
                cpu_pct,
                miss_rate: 0.0,
                effective_sleep_ns: 0.0,
            }
            .map(interval),
            latencies: Latencies {
                mean_ns: mean_us * 1e3,
                p50_ns: mean_us * 1e3,
                p99_ns: mean_us * 1.5e3,
                p999_ns: mean_us * 3e3,
            }
            .map(interval),
            ..Measured::default()
        },
        relative: Some(Relative {
            iops: interval(iops / 25_000.0),
            kiops_per_core: interval(1.0),
            cores: PerCore::Threads,
        }),
        effective_mode: EffectiveMode {
            asked: method.clone(),
            mode: WaitMode::default(),
            proof: Default::default(),
        },
        method,
        series: Series::default(),
        latency_quantiles: Vec::new(),
        late: None,
    }
}

fn figure(like: &Likeness, kind: LikenedFigure) -> FigureLikeness {
    let mut figures = like.figures.iter();
    *figures.find(|figure| figure.figure == kind).unwrap()
}

fn answer(method: &str) -> Recommendation {
    Recommendation::clear(Bytes(4096), Verdict::Rule, method.parse().unwrap(), 0.97)
}

fn program(streams: &[SyntheticStream]) -> Program {
    let pattern = pattern(streams);
    Program {
        copied: nearest_workload(&pattern, 4),
        pattern,
        ..Program::default()
    }
}

/// Reads take 80 us of every 100 us. The rule needs 64 us where interrupts need 80, so 100 us
/// become 84 us. At 10,000 reads per second it saves 10 us - 8 us of each: 2 % of a CPU.
#[test]
fn only_the_time_in_flight_changes() {
    let program = program(&[SyntheticStream {
        ios: 5_000,
        ..SyntheticStream::READS
    }]);
    let cells = [
        // 12,500 per second at 12.5 % of a CPU: 10 us each.
        cell("interrupt", 12_500.0, 80.0, 12.5),
        // 15,625 per second at 12.5 %: 8 us each.
        cell(RULE, 15_625.0, 64.0, 12.5),
    ];
    let compared_program = compare(&program, &cells, &[answer(RULE)], Some("vda"));
    let worth = &compared_program.worth[0];
    near(worth.ios_share, 1.0, 1e-9);
    near(worth.wait_share, 0.8, 1e-3);
    near(worth.iops_times, 1.25, 1e-9);
    near(worth.latency_times, 0.8, 1e-9);
    near(worth.program_times, 100.0 / 84.0, 1e-3);
    near(worth.program_cpu_pct.unwrap(), -2.0, 1e-3);
    assert_eq!(worth.cpu.unwrap().of, PerCore::Threads);
    assert_eq!(worth.caveats, []);
    let like = &compared_program.likeness[0];
    assert!(like.figures.iter().all(|figure| figure.like), "{like:?}");
    let iops = figure(like, LikenedFigure::Iops);
    near(iops.program, 12_500.0, 1e-3);
    near(iops.ratio(), 1.0, 1e-3);
}

/// Four submitters read for 80 us of every 200 us: 20,000 times per second, with 1.6 in flight. The
/// workload's jobs do the same, and both figures are compared over all time.
#[test]
fn with_think_time_all_of_the_time_is_compared() {
    let program = program(&[0, 1, 2, 3].map(|lane| SyntheticStream {
        lane,
        think: 120 * US,
        ..SyntheticStream::READS
    }));
    assert_eq!(program.copied.jobs, 4);
    let cells = [
        cell("interrupt", 19_000.0, 84.0, 5.0),
        cell(RULE, 20_000.0, 80.0, 5.0),
    ];
    let compared_program = compare(&program, &cells, &[answer(RULE)], None);
    let like = &compared_program.likeness[0];
    let iops = figure(like, LikenedFigure::Iops);
    near(iops.program, 20_000.0, 1e-3);
    near(iops.workload, 19_000.0, 1e-9);
    let in_flight = figure(like, LikenedFigure::InFlight);
    near(in_flight.program, 1.6, 1e-3);
    near(in_flight.workload, 19_000.0 * 84e-6, 1e-9);
    assert!(like.figures.iter().all(|figure| figure.like), "{like:?}");
    near(compared_program.worth[0].wait_share, 0.4, 1e-3);
    // On a device half as fast, the jobs lose a third of their rate.
    let slow = ["interrupt", RULE].map(|method| cell(method, 14_286.0, 160.0, 5.0));
    let compared_program = compare(&program, &slow, &[answer(RULE)], None);
    let unlike = WorthCaveat::Unlike(vec![LikenedFigure::LatencyP50, LikenedFigure::LatencyP99]);
    let caveats = &compared_program.worth[0].caveats;
    assert!(caveats.contains(&unlike), "{caveats:?}");
}

/// A device much slower than the program's causes a caveat, and so does all else that is doubtful.
#[test]
fn an_unlike_workload_is_a_caveat() {
    let mut program = program(&[SyntheticStream {
        ios: 5_000,
        ..SyntheticStream::READS
    }]);
    program.recording = ProgramRecording {
        disks: Some("vdb (253:16), vdc (253:32)".to_owned()),
        lost: 3,
        ..ProgramRecording::default()
    };
    let cells = ["interrupt", RULE].map(|method| cell(method, 5_000.0, 200.0, 12.5));
    let (single, tried) = (2, 2);
    let open = Recommendation {
        undecided: vec![OpenQuestion::SingleTrials { single, tried }],
        ..answer(RULE)
    };
    let compared_program = compare(&program, &cells, &[open], Some("vda"));
    use LikenedFigure::{Iops, LatencyP50, LatencyP99};
    let caveats = [
        WorthCaveat::Unlike(vec![Iops, LatencyP50, LatencyP99]),
        WorthCaveat::NotSettled,
        WorthCaveat::Lost(3),
        WorthCaveat::OtherDisk("vda".to_owned()),
    ];
    assert_eq!(compared_program.worth[0].caveats, caveats);
    near(compared_program.worth[0].program_times, 1.0, 1e-9);
    let text = serde_json::to_string(&compared_program).unwrap();
    let back: Program = serde_json::from_str(&text).unwrap();
    assert_eq!(back, compared_program);
    let same_disk = compare(&program, &cells, &[answer(RULE)], Some("vdc"));
    let other = WorthCaveat::OtherDisk("vdc".to_owned());
    assert!(!same_disk.worth[0].caveats.contains(&other));
}

/// A program that polls is compared with polling; a block size without trials has neither likeness
/// nor worth.
#[test]
fn the_method_of_the_program_is_the_one_it_shows() {
    let mut program = program(&[SyntheticStream::READS]);
    program.pattern.polled = program.pattern.ios;
    let cells = [
        cell("interrupt", 12_500.0, 80.0, 12.5),
        cell("poll", 12_500.0, 80.0, 100.0),
    ];
    let compared_program = compare(&program, &cells, &[answer("poll")], None);
    let worth = &compared_program.worth[0];
    assert_eq!(worth.over.0, Method::POLL);
    assert_eq!(worth.over, worth.method);
    let none = compare(&program, &cells[..1], &[answer("poll")], None);
    assert_eq!((none.likeness.len(), none.worth.len()), (0, 0));
}

#[test]
fn a_program_is_read_back() {
    let mut program = program(&[
        SyntheticStream::READS,
        SyntheticStream {
            bytes: 512,
            think: 120 * US,
            ..SyntheticStream::READS
        },
    ]);
    program.recording.command = vec!["dd".to_owned(), "if=file".to_owned()];
    let cells = [
        cell("interrupt", 12_500.0, 80.0, 12.5),
        cell(RULE, 15_625.0, 64.0, 12.5),
    ];
    let compared_program = compare(&program, &cells, &[answer(RULE)], Some("vda"));
    // Read back through a value, since parsing the text of a number may change its last bit.
    let value = serde_json::to_value(&compared_program).unwrap();
    let back: Program = serde_json::from_value(value).unwrap();
    assert_eq!(back, compared_program);
}
