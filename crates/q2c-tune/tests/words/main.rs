//! No sentence of a recommendation contradicts its figures, at random or in two stored runs.

mod checker;

use checker::{MethodFigures, contradictions};
use proptest::prelude::*;
use q2c_advice::{
    Estimate, Goal, MethodContender, Noise, PollingBaseline, TrialFigures, decide,
    per_core_divisor, relative,
};
use q2c_model::stats::Interval;
use q2c_model::{Bytes, Rates};
use q2c_policy::Method;
use q2c_report::advice::answer;
use q2c_result::mode::{EffectiveMode, WaitMode};
use q2c_result::role::Role;
use q2c_result::tune::{
    Calibration, Cell, Fidelity, Job, Measured, PerCore, Recommendation, SCHEMA, Series, TuneResult,
};
use q2c_result::{DoctorReport, Machine, Provenance, Target};
use serde_json::Value;

const BS: Bytes = Bytes(4096);
const WANTED: u32 = 5;

fn cell(contender: &MethodContender, cores: PerCore) -> Cell {
    let method = Method::from(contender.method.clone());
    let rates: Rates<Vec<f64>> = contender.trials.iter().map(|t| t.rates).collect();
    let linux = method.detail().starts_with("mean:ratio=50%,period=100ms");
    Cell {
        bs: BS,
        role: if linux { Role::Linux } else { Role::Family }.into(),
        sleeping: method.sleeps(),
        method,
        predicted: None,
        predicted_first: None,
        measured: Measured {
            rates: rates.map(|values| Interval::from_samples(&values)),
            ..Measured::default()
        },
        relative: relative(&contender.trials, cores),
        effective_mode: EffectiveMode {
            asked: contender.method.clone().into(),
            mode: WaitMode::default(),
            proof: Default::default(),
        },
        series: Series::default(),
        latency_quantiles: Vec::new(),
        late: None,
    }
}

fn result(cells: Vec<Cell>, recommendation: Recommendation) -> TuneResult {
    TuneResult {
        schema: SCHEMA.to_owned(),
        version: String::new(),
        provenance: Provenance::default(),
        complete: true,
        job: Job {
            engine: "io_uring".to_owned(),
            ..Job::default()
        },
        machine: Machine::default(),
        target: Target::default(),
        doctor: DoctorReport::default(),
        calibration: Vec::<Calibration>::new(),
        cells,
        sweeps: Vec::new(),
        recommendation: vec![recommendation],
        lessons: Vec::new(),
        fidelity: Fidelity::default(),
        harness_floor_ns: 0.0,
        harness_bare_ns: 0.0,
        unavailable: Vec::new(),
        program: None,
        warnings: Vec::new(),
    }
}

fn figures(contenders: &[MethodContender], cores: PerCore) -> Vec<MethodFigures> {
    let tried = contenders.iter().filter(|c| !c.trials.is_empty());
    let to_figures = |c: &MethodContender| MethodFigures {
        name: c
            .method
            .policy()
            .map_or_else(|| c.method.to_string(), ToString::to_string),
        sleeps: c.method.policy().is_some(),
        iops: c.trials.iter().map(TrialFigures::relative_iops).collect(),
        cpu: c.trials.iter().map(|t| t.rates.cpu_pct).collect(),
        per_core: match cores {
            PerCore::Machine => c
                .trials
                .iter()
                .filter_map(TrialFigures::relative_per_core)
                .collect(),
            PerCore::Threads => c
                .trials
                .iter()
                .map(TrialFigures::relative_per_thread_cpu)
                .collect(),
        },
    };
    tried.map(to_figures).collect()
}

fn checked_text(contenders: &[MethodContender], goal: &Goal, asked: &str) -> (String, Vec<String>) {
    let noise = Noise::from_cells(contenders.iter().map(|c| c.trials.as_slice()));
    let cores = per_core_divisor(contenders.iter().map(|c| c.trials.as_slice()));
    let decision = decide(contenders, goal, &noise, WANTED);
    let recommendation = decision.recommendation(BS, contenders, &noise, asked);
    let tried = contenders.iter().filter(|c| !c.trials.is_empty());
    let cells = tried.map(|contender| cell(contender, cores));
    let result = result(cells.collect(), recommendation);
    let answer = answer(&result, &result.recommendation[0]);
    let sentences = [vec![answer.headline], answer.caveats, answer.evidence].concat();
    let text = sentences.join("; ");
    let wrong = contradictions(&text, &figures(contenders, cores), decision.floor);
    (text, wrong)
}

fn trial(iops: f64, per_core: f64, miss_rate: f64, blind: bool) -> TrialFigures {
    TrialFigures {
        rates: Rates {
            iops: 10_000.0 * iops,
            cpu_pct: 100.0 * iops / per_core,
            miss_rate,
            effective_sleep_ns: 20_000.0,
        },
        busy_cpus: (!blind).then_some(1.1 * iops / per_core),
        p99_ns: 100_000.0,
        polling: PollingBaseline {
            iops: 10_000.0,
            cpu_pct: 100.0,
            busy_cpus: (!blind).then_some(1.1),
            thinks: false,
            ..PollingBaseline::default()
        },
        ..TrialFigures::default()
    }
}

const METHODS: [&str; 8] = [
    "interrupt",
    "poll",
    "hybrid:mean:50%,100ms",
    "hybrid:min:70%,10ms",
    "hybrid:fixed:10us",
    "hybrid:pas",
    "hybrid:mean:30%,10ms",
    "hybrid:uring",
];

prop_compose! {
    fn contender(method: &'static str)(
        iops in prop_oneof![0.3..1.1f64, 0.94..1.0f64],
        per_core in prop_oneof![0.5..4.0f64, 0.97..1.1f64],
        miss in prop_oneof![Just(0.0f64), 0.0..1.0f64],
        noise in prop::collection::vec((0.95..1.05f64, 0.95..1.05f64), 0..7),
        blind in prop::bool::weighted(0.1),
        belief in prop::option::of((0.9..1.02f64, 0.9..2.0f64, 0.003..0.05f64)),
    ) -> MethodContender {
        let to_trial = |(a, b): &(f64, f64)| trial(iops * a, per_core * b, miss, blind);
        MethodContender {
            method: method.parse().expect(method),
            trials: noise.iter().map(to_trial).collect(),
            carries: Vec::new(),
            belief: belief.map(|(iops, per_core, se)| {
                let known = |ratio: f64| Estimate { log: ratio.ln(), se };
                (known(iops), known(per_core))
            }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_sentence_is_contradicted_by_its_figures(
        contenders in Vec::from(METHODS.map(contender)),
        asked in prop_oneof![Just(""), Just("90%"), Just("99%")],
    ) {
        let mut goal = Goal::default();
        goal.limits.min_iops = asked.parse().ok();
        let (text, wrong) = checked_text(&contenders, &goal, asked);
        prop_assert!(wrong.is_empty(), "{text}\n{wrong:#?}");
    }
}

/// A stored run by block size: the text that was made from it then, and its trials.
fn read_stored(text: &str) -> Vec<(String, Vec<MethodContender>)> {
    let run: Value = serde_json::from_str(text).expect("a kept run");
    let number = |value: &Value| value.as_f64().expect("a number");
    let trial = |t: &Value| TrialFigures {
        rates: Rates {
            iops: number(&t[0]),
            cpu_pct: number(&t[1]),
            miss_rate: number(&t[2]),
            effective_sleep_ns: number(&t[3]),
        },
        p99_ns: number(&t[4]),
        polling: PollingBaseline {
            iops: number(&t[5]),
            cpu_pct: number(&t[6]),
            busy_cpus: None,
            thinks: false,
            ..PollingBaseline::default()
        },
        ..TrialFigures::default()
    };
    let array = |value: &Value| value.as_array().expect("an array").clone();
    let of_size = |said: &Value| {
        let cells = array(&run["cells"]).into_iter();
        let cells = cells.filter(|c| c["bs"] == said["bs"]);
        let contender = |c: Value| MethodContender {
            method: c["method"]
                .as_str()
                .expect("a name")
                .parse()
                .expect("a method"),
            trials: array(&c["trials"]).iter().map(trial).collect(),
            carries: Vec::new(),
            belief: None,
        };
        let text = said["text"].as_str().expect("a text").to_owned();
        (text, cells.map(contender).collect())
    };
    array(&run["said"]).iter().map(of_size).collect()
}

const RUNS: [&str; 2] = [include_str!("run-1.json"), include_str!("run-2.json")];

/// The first run's text was wrong at 4 KiB and right at 64 KiB. The second run's were all wrong.
#[test]
fn what_was_said_then_is_contradicted() {
    let wrong = |run: &str| -> Vec<bool> {
        let sizes = read_stored(run).into_iter();
        let check = |(text, contenders): (String, Vec<MethodContender>)| {
            !contradictions(&text, &figures(&contenders, PerCore::Threads), 0.97).is_empty()
        };
        sizes.map(check).collect()
    };
    assert_eq!(wrong(RUNS[0]), [true, false]);
    assert_eq!(wrong(RUNS[1]), [true, true, true]);
}

/// With one trial per method the scatter of trials is unknown, and 4 % is assumed.
#[test]
fn a_scatter_that_nobody_saw_is_called_an_assumption() {
    let tried = |method: &str, iops, per_core, trials| MethodContender {
        method: method.parse().unwrap(),
        trials: vec![trial(iops, per_core, 0.0, false); trials],
        carries: Vec::new(),
        belief: None,
    };
    let text = |trials| {
        let rule = tried("hybrid:min:70%,10ms", 0.99, 1.5, trials);
        checked_text(&[tried("poll", 1.0, 1.0, 1), rule], &Goal::default(), "").0
    };
    let assumed = "scatter by 4.00 % (assumed, as no method has two)";
    assert!(text(1).contains(assumed), "{}", text(1));
    assert!(!text(2).contains("(assumed"), "{}", text(2));
    assert!(text(2).contains("scatter by"), "{}", text(2));
}

/// CI met this once among 16,000 methods: the freed CPU is so small that only a bound is written.
#[test]
fn a_freed_cpu_that_is_almost_nothing_is_a_bound() {
    let tried = |method: &str, iops, cpu_pct| {
        let mut trial = trial(iops, 1.0, 0.0, false);
        (trial.rates.cpu_pct, trial.busy_cpus) = (cpu_pct, Some(cpu_pct / 100.0));
        MethodContender {
            method: method.parse().expect(method),
            trials: vec![trial; 5],
            carries: Vec::new(),
            belief: None,
        }
    };
    let hybrid = tried("hybrid:min:70%,10ms", 0.95, 32.798);
    let contenders = [tried("poll", 0.34, 32.8), hybrid];
    let mut goal = Goal::default();
    goal.limits.min_iops = "99%".parse().ok();
    let (text, wrong) = checked_text(&contenders, &goal, "99%");
    assert!(text.contains("would free <0.01 % of a CPU"), "{text}");
    assert!(wrong.is_empty(), "{text}\n{wrong:#?}");
}

#[test]
fn what_is_said_of_the_same_trials_now_is_not() {
    let mut verdicts = Vec::new();
    for (_, contenders) in RUNS.iter().flat_map(|run| read_stored(run)) {
        let (text, wrong) = checked_text(&contenders, &Goal::default(), "");
        assert!(wrong.is_empty(), "{text}\n{wrong:#?}");
        verdicts.push(text.split(';').next().unwrap_or_default().to_owned());
    }
    // At 4 KiB a fixed sleep of 10 us kept 0.993 of the IOPS, and in the second run 0.977 at 1.19
    // times. One of 7 us kept 1.014 but gained only 4 %, which is too little. At 64 KiB of the
    // second run no method kept 0.97.
    let fixed = "hybrid polling by fixed:sleep=10us,";
    assert!(verdicts[0].contains(fixed), "{verdicts:#?}");
    assert!(verdicts[2].contains(fixed), "{verdicts:#?}");
    assert!(verdicts[3].contains("To accept that"), "{verdicts:#?}");
    assert!(!verdicts[4].contains("min:ratio=85%"), "{verdicts:#?}");
}
