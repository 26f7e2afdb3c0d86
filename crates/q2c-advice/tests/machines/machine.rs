//! A simulated machine of known truth. Its device drifts, its calibrated costs are wrong, and
//! sleeps change the device's latency in a form that the correction cannot express.

use q2c_advice::{PairedPrediction, PollingBaseline, TrialFigures, WAIT_QUANTILES, predict};
use q2c_model::stats::{Rng, quantiles, sorted};
use q2c_model::{Bytes, CostModel, CpuId, Curve, Nanos, WakeDelay};
use q2c_policy::{Io, LaneMethod};
use q2c_sim::{Drive, LaneRecording, SimOutcome, Waiting, simulate};

pub(crate) const CPUS: [CpuId; 1] = [CpuId(0)];
const STEP_NS: f64 = 5e6;
/// As in the tool's trials: settling, then parts with polled slices between them.
const SETTLE_NS: f64 = 250e6;
const PART_NS: f64 = 60e6;
const SLICE_NS: f64 = 40e6;
const PARTS: usize = 17;

pub(crate) struct DriftingMachine {
    pub seed: u64,
    rng: Rng,
    /// Median device time, ns.
    pub latency: f64,
    sigma: f64,
    submit: f64,
    /// Of a fast and a slow drift: standard deviation, correlation time in ns, and present state.
    drift: [(f64, f64, f64); 2],
    states: Option<Episodes>,
    pub truth: CostModel,
    pub calibrated: CostModel,
    diary: LaneRecording,
}

/// A fast state from time to time, in which half of the I/Os have this `share` of the latency.
struct Episodes {
    /// Mean lengths of the usual and of the fast state.
    mean_ns: [f64; 2],
    fast: bool,
    share: f64,
}

fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.unit()
}

fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    uniform(rng, low.ln(), high.ln()).exp()
}

impl DriftingMachine {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
        let latency = log_uniform(&mut rng, 10e3, 400e3);
        let truth = truth(&mut rng, latency);
        let calibrated = calibrate(&mut rng, &truth, latency);
        DriftingMachine {
            seed,
            latency,
            sigma: uniform(&mut rng, 0.05, 0.35),
            submit: log_uniform(&mut rng, 1e3, 20e3),
            drift: [
                (uniform(&mut rng, 0.03, 0.2), 200e6, 0.0),
                (uniform(&mut rng, 0.0, 0.12), 60e9, 0.0),
            ],
            states: None,
            truth,
            calibrated,
            diary: LaneRecording::default(),
            rng,
        }
    }

    /// A machine whose device is fast for some of its I/Os, but only for a tenth of the time.
    pub(crate) fn with_two_states(seed: u64) -> Self {
        let mut machine = DriftingMachine::new(seed);
        machine.states = Some(Episodes {
            mean_ns: [30e9, 4e9],
            fast: false,
            share: uniform(&mut machine.rng, 0.35, 0.7),
        });
        machine
    }

    fn drift(&mut self, length: f64) -> f64 {
        let mut log = 0.0;
        for (sd, time, state) in &mut self.drift {
            let decay = (-length / *time).exp();
            *state = *state * decay + *sd * (1.0 - decay * decay).sqrt() * self.rng.normal();
            log += *state;
        }
        if let Some(states) = &mut self.states {
            let mean_ns_now = states.mean_ns[usize::from(states.fast)];
            states.fast ^= self.rng.unit() < 1.0 - (-length / mean_ns_now).exp();
        }
        log.exp()
    }

    fn state_factor(&mut self) -> f64 {
        match &self.states {
            Some(states) if states.fast && self.rng.unit() < 0.5 => states.share,
            _ => 1.0,
        }
    }

    fn poll_into(&mut self, recording: &mut LaneRecording, length: f64) {
        let io = Io::READ_4K;
        let mut remaining_ns = length;
        while remaining_ns > 0.0 {
            let scale = self.drift(STEP_NS.min(remaining_ns));
            let end = remaining_ns - STEP_NS.min(remaining_ns);
            while remaining_ns > end {
                let slow = if self.rng.unit() < 0.005 { 4.0 } else { 1.0 };
                let shape = (self.sigma * self.rng.normal()).exp();
                let wait = self.latency * scale * shape * slow * self.state_factor();
                let submit = self.submit * uniform(&mut self.rng, 0.9, 1.1);
                recording.push(io, submit as f32, wait as f32, 200.0);
                remaining_ns -= submit + wait + 200.0;
            }
        }
    }

    pub(crate) fn wait(&mut self, ns: f64) {
        self.drift(ns);
    }

    pub(crate) fn recording(&mut self, length: f64) -> Vec<LaneRecording> {
        let mut recording = LaneRecording::default();
        self.poll_into(&mut recording, length);
        vec![recording]
    }

    pub(crate) fn diary(&self) -> Vec<LaneRecording> {
        vec![self.diary.clone()]
    }

    /// Keeps what a trial recorded, I/O by I/O, so that no code under test makes the truth.
    fn note_in_diary(&mut self, recording: &LaneRecording) {
        for i in 0..recording.len() {
            let io = q2c_sim::unpack(recording.ios[i]);
            let (submit, wait) = (recording.submit[i], recording.wait[i]);
            self.diary.push(io, submit, wait, recording.gap[i]);
        }
    }

    pub(crate) fn trial(
        &mut self,
        method: &LaneMethod,
        cost: &CostModel,
        round: u32,
    ) -> TrialFigures {
        let (mut parts, mut slices) = (LaneRecording::default(), LaneRecording::default());
        self.poll_into(&mut slices, SLICE_NS);
        self.poll_into(&mut parts, SETTLE_NS);
        for _ in 0..PARTS {
            self.poll_into(&mut parts, PART_NS);
            self.poll_into(&mut slices, SLICE_NS);
        }
        self.note_in_diary(&parts);
        let wake_factor = 1.0 + 0.05 * self.rng.normal();
        let now = CostModel {
            wake_clear: scale_wake(&self.truth.wake_clear, wake_factor),
            wake_hit: scale_wake(&self.truth.wake_hit, wake_factor),
            ..self.truth.clone()
        };
        let seed = self.rng.next_u64();
        let run = simulate_once(method, &parts, &now, SETTLE_NS, seed);
        let polling = simulate_once(&LaneMethod::Poll, &slices, &now, 0.0, seed);
        let noise = [(); 2].map(|()| 1.0 + 0.02 * self.rng.normal());
        let busy = |o: &SimOutcome, noise: f64| {
            Some(o.gives.rates.iops / 1e3 / o.gives.kiops_per_core * noise)
        };
        // Time passes between trials.
        self.drift(300e6);
        TrialFigures {
            rates: run.gives.rates,
            busy_cpus: busy(&run, noise[0]),
            p99_ns: run.gives.latencies.p99_ns,
            polling: PollingBaseline {
                iops: polling.gives.rates.iops,
                cpu_pct: polling.gives.rates.cpu_pct,
                busy_cpus: busy(&polling, noise[1]),
                thinks: false,
                wait_ns: wait_quantiles(&slices),
            },
            predicted: predict_pair(method, &[slices], cost, seed, polling.gives.rates.iops),
            round,
        }
    }
}

fn simulate_once(
    method: &LaneMethod,
    lane: &LaneRecording,
    cost: &CostModel,
    warm_up: f64,
    seed: u64,
) -> SimOutcome {
    let rule = Waiting::Lanes(method.build_on(&CPUS));
    let drive = Drive {
        warm_up: Nanos(warm_up as u64),
        ..Drive::one_pass(seed)
    };
    simulate(std::slice::from_ref(lane), cost, rule, drive)
}

fn predict_pair(
    method: &LaneMethod,
    slices: &[LaneRecording],
    cost: &CostModel,
    seed: u64,
    poll_iops: f64,
) -> Option<PairedPrediction> {
    method.policy()?;
    let simulated = predict(method, slices, &CPUS, cost, Nanos::from_millis(1_000), seed);
    Some(PairedPrediction {
        relative_iops: simulated.gives.rates.iops / poll_iops,
        cpu_pct: simulated.gives.rates.cpu_pct,
        miss_rate: simulated.gives.rates.miss_rate,
    })
}

fn wait_quantiles(slices: &LaneRecording) -> [f32; WAIT_QUANTILES] {
    let waits: Vec<f64> = slices.wait.iter().map(|&wait| f64::from(wait)).collect();
    let levels = quantiles(&sorted(&waits), WAIT_QUANTILES);
    std::array::from_fn(|i| levels[i] as f32)
}

fn scale_wake(wake: &WakeDelay, by: f64) -> WakeDelay {
    let times = |curve: &Curve| Curve {
        x: curve.x.clone(),
        y: curve.y.iter().map(|y| y * by).collect(),
    };
    WakeDelay {
        base_ns: times(&wake.base_ns),
        spread_ns: times(&wake.spread_ns),
        least_ns: times(&wake.least_ns),
        most_ns: times(&wake.most_ns),
        z: wake.z.clone(),
    }
}

fn wake(rng: &mut Rng, base: f64, slope: f64) -> WakeDelay {
    let far = 1e6;
    let line = |at: f64| Curve {
        x: vec![0.0, far],
        y: vec![at, at + slope * far],
    };
    // Late wake-ups come in bursts.
    let mut state = 0.0;
    let z = (0..512).map(|_| {
        state = 0.7 * state + 0.71 * rng.normal();
        state
    });
    WakeDelay {
        z: z.collect(),
        base_ns: line(base),
        spread_ns: Curve::constant(0.15 * base),
        least_ns: line(0.6 * base),
        most_ns: line(2.5 * base),
    }
}

fn truth(rng: &mut Rng, latency: f64) -> CostModel {
    let delay = log_uniform(rng, 2e3, 25e3).min(0.8 * latency);
    let constant = uniform(rng, -0.03, 0.03) * latency;
    // In half of the machines polling slows the device, and a sleep gives time back up to `ends`.
    let slows = rng.unit() < 0.5;
    let relief = if slows { uniform(rng, 0.0, 0.15) } else { 0.0 };
    let ends = uniform(rng, 0.4, 0.9) * latency;
    let cpu = delay * uniform(rng, 0.3, 0.9);
    let other = uniform(rng, 0.0, 3e3);
    CostModel {
        bs: Bytes(4096),
        wake_clear: wake(rng, delay, 0.02),
        wake_hit: wake(rng, delay * 1.1, 0.0),
        hit_lead_ns: uniform(rng, 0.0, 0.08) * latency,
        reap_hit_ns: 500.0,
        sleep_cpu_clear_ns: Curve::constant(cpu),
        sleep_cpu_hit_ns: Curve::constant(cpu * 1.2),
        added_latency_ns: Curve {
            x: vec![0.0, ends],
            y: vec![constant, constant - relief * ends],
        },
        added_submit_ns: Curve::constant(0.0),
        interrupt_cpu_ns: uniform(rng, 3e3, 15e3),
        interrupt_latency_ns: log_uniform(rng, 1.5e3, 40e3),
        other_cpu_poll_ns: other,
        other_cpu_sleep_ns: other + uniform(rng, 0.0, 3e3),
        other_cpu_interrupt_ns: other + uniform(rng, 0.0, 5e3),
        ..CostModel::delayed(Nanos::ZERO)
    }
}

/// Costs as calibrated some minutes ago: constant added latency, and every cost a little off.
fn calibrate(rng: &mut Rng, truth: &CostModel, latency: f64) -> CostModel {
    let mut factor = |sd: f64| 1.0 + sd * rng.normal();
    let cpu = factor(0.1);
    let times = |curve: &Curve| Curve::constant(curve.value_at(0.0) * cpu);
    let wake = factor(0.12);
    CostModel {
        wake_clear: scale_wake(&truth.wake_clear, wake),
        wake_hit: scale_wake(&truth.wake_hit, wake),
        hit_lead_ns: truth.hit_lead_ns * factor(0.3).max(0.0),
        sleep_cpu_clear_ns: times(&truth.sleep_cpu_clear_ns),
        sleep_cpu_hit_ns: times(&truth.sleep_cpu_hit_ns),
        added_latency_ns: Curve::constant(
            truth.added_latency_ns.value_at(latency / 2.0) + (factor(0.02) - 1.0) * latency,
        ),
        other_cpu_sleep_ns: truth.other_cpu_sleep_ns * factor(0.2),
        other_cpu_poll_ns: truth.other_cpu_poll_ns * factor(0.2),
        ..truth.clone()
    }
}
