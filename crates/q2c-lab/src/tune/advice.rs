//! What to use, and why, in words with the measured numbers.

use super::Tune;
use super::cells::LINUX;
use super::kernel;
use super::search::Searched;
use q2c_model::Nanos;
use q2c_result::tune::{Calibration, Cell, Recommendation};
use q2c_stats::Ratio;

/// The recommendation for one block size.
pub(super) fn recommend(
    tune: &Tune<'_>,
    searched: &Searched,
    calibration: &Calibration,
    cells: &[Cell],
    over: &dyn Fn(&str, &Cell) -> Option<Ratio>,
) -> Recommendation {
    let bs = calibration.bs;
    let live_cells: Vec<&Cell> = cells
        .iter()
        .filter(|c| c.bs == bs && c.measured.iops.trials > 0)
        .collect();
    let find = |wanted: &dyn Fn(&Cell) -> bool| live_cells.iter().copied().find(|c| wanted(c));
    let chosen = searched.chosen.as_ref().map(ToString::to_string);
    let live = chosen
        .as_ref()
        .and_then(|policy| find(&|c| c.policy == *policy));
    let (Some(policy), Some(live)) = (chosen, live) else {
        return without_sleep(tune, searched, calibration, &live_cells);
    };
    let linux = find(&|c| c.policy == LINUX);
    let poll = find(&|c| c.method == "poll");
    let floor = floor_now(searched, poll);
    let mut why = vec![
        format!("measured {}", numbers(live)),
        floor_in_words(searched, floor),
    ];
    why.extend(poll.map(|cell| format!("classic polling: {}", numbers(cell))));
    why.extend(linux.map(|cell| format!("Linux's rule: {}", numbers(cell))));
    why.extend(by_kernel(&live_cells));
    let over_linux = linux
        .filter(|linux| linux.policy != live.policy)
        .and_then(|linux| over(&policy, linux));
    why.extend(over_linux.map(|r| {
        format!(
            "KIOPS/core {:.2} times that of Linux's rule (95 % interval {:.2} to {:.2})",
            r.ratio, r.low, r.high
        )
    }));
    why.extend(linux.and_then(|linux| behind_linux(live, linux, floor)));
    if live.measured.iops.median < floor {
        why.push(
            "measured IOPS are below the floor: live, the rule was slower than on the recording"
                .to_owned(),
        );
    }
    Recommendation {
        bs,
        method: "hybrid".to_owned(),
        verdict: format!("use {policy}"),
        why: why.join("; "),
        over_linux,
        apply: apply_rule(
            &tune.spec.engine,
            &policy,
            live,
            tune.target.device.as_ref().map_or("DEVICE", |d| &d.name),
        ),
        policy,
    }
}

/// The floor was set on the first recording; where the device has slowed down since, as polling tells, it follows.
fn floor_now(searched: &Searched, poll: Option<&Cell>) -> f64 {
    let drift = poll.map_or(1.0, |cell| {
        cell.measured.iops.median / searched.sweep.poll.iops
    });
    searched.choice.floor_iops * drift.min(1.0)
}

fn floor_in_words(searched: &Searched, floor: f64) -> String {
    let set = searched.choice.floor_iops;
    let followed = match floor < set * 0.999 {
        true => format!(" ({set:.0} on the recording, less what polling has lost since)"),
        false => String::new(),
    };
    format!("floor {floor:.0} IOPS{followed}: {}", searched.choice.floor)
}

fn numbers(cell: &Cell) -> String {
    let m = &cell.measured;
    let missed = match m.miss_rate.trials {
        0 => "misses not seen".to_owned(),
        _ => format!("{:.1} % missed", m.miss_rate.median * 100.0),
    };
    format!(
        "{:.0} IOPS, {:.1} % CPU, {:.2} KIOPS/core, {missed}",
        m.iops.median, m.cpu_pct.median, m.kiops_per_core.median,
    )
}

/// The kernel's own hybrid polling, where it ran.
fn by_kernel(cells: &[&Cell]) -> Vec<String> {
    let own = cells.iter().filter(|c| c.method == kernel::METHOD);
    let told = |cell: &&Cell| {
        let delay = match cell.policy.as_str() {
            "" => "its own sleep",
            fixed => fixed,
        };
        format!("in the kernel (preadv2, {delay}): {}", numbers(cell))
    };
    own.map(told).collect()
}

fn behind_linux(live: &Cell, linux: &Cell, floor: f64) -> Option<String> {
    let (own, theirs) = (
        &live.measured.kiops_per_core,
        &linux.measured.kiops_per_core,
    );
    let slow = if linux.measured.iops.median < floor {
        format!(", yet its IOPS are below the floor of {floor:.0}")
    } else {
        ": this run's recording promised otherwise".to_owned()
    };
    (own.median <= theirs.median && live.policy != linux.policy).then(|| {
        format!(
            "Linux's rule measured more KIOPS/core ({:.2} [{:.2}, {:.2}] against {:.2} [{:.2}, {:.2}]){slow}",
            theirs.median, theirs.min, theirs.max, own.median, own.min, own.max
        )
    })
}

fn without_sleep(
    tune: &Tune<'_>,
    searched: &Searched,
    calibration: &Calibration,
    cells: &[&Cell],
) -> Recommendation {
    let shortest = Nanos::from_micros(1);
    let cost = &calibration.cost;
    let delay = cost.wake_clear.base_ns.at(shortest.0 as f64);
    let wake = format!(
        "the shortest sleep, {shortest} asked, ends after {} and costs {} of CPU; the device takes {} (median)",
        Nanos(shortest.0 + delay as u64),
        Nanos(
            (cost.sleep_cpu_clear_ns.at(shortest.0 as f64) as u64).min(shortest.0 + delay as u64)
        ),
        Nanos(searched.wait_p50 as u64)
    );
    let verdict = match searched.no_room {
        true => "no room to sleep: waking costs more than the device takes",
        false => "no sleep rule keeps the limits",
    };
    let method = |name: &str| cells.iter().copied().find(|c| c.method == name);
    let (poll, interrupt) = (method("poll"), method("interrupt"));
    let floor = floor_now(searched, poll);
    let mut why = vec![wake, floor_in_words(searched, floor)];
    why.extend(poll.map(|cell| format!("classic polling: {}", numbers(cell))));
    why.extend(interrupt.map(|cell| format!("interrupts: {}", numbers(cell))));
    why.extend(by_kernel(cells));
    let enough = interrupt.is_some_and(|cell| cell.measured.iops.median >= floor);
    let method = if enough { "interrupt" } else { "poll" };
    let engine = &tune.spec.engine;
    Recommendation {
        bs: calibration.bs,
        method: method.to_owned(),
        policy: String::new(),
        verdict: format!("{verdict}; use {method}"),
        why: why.join("; "),
        over_linux: None,
        apply: match method {
            "poll" => vec![
                format!(
                    "{engine}: submit, then look at the completion ring until the completion is there"
                ),
                "interrupts take less CPU at fewer IOPS: choose them where CPU is short".to_owned(),
            ],
            _ if is_aio(engine) => vec![format!(
                "{engine}: io_submit, then io_getevents with a minimum of 1"
            )],
            _ => vec![format!(
                "{engine}: submit and wait in one io_uring_enter call (min_complete = 1)"
            )],
        },
    }
}

fn is_aio(engine: &str) -> bool {
    engine.starts_with("libaio")
}

fn apply_rule(engine: &str, policy: &str, live: &Cell, device: &str) -> Vec<String> {
    let ring = match is_aio(engine) {
        true => {
            "libaio: look at the completion ring mapped at the context's address; no completion ends a sleep"
        }
        false => {
            "ring: IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, so that a completion does not end the sleep"
        }
    };
    let asked = Nanos(live.measured.effective_sleep_ns.median as u64);
    let us = (asked.0 / 1000).max(1);
    vec![
        format!("method hybrid:{policy} of q2c's engine is what was measured"),
        ring.to_owned(),
        "thread: prctl(PR_SET_TIMERSLACK, 1); after the submission returned, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME), then poll".to_owned(),
        format!("the rule asked {asked} per I/O here; a fixed sleep of that length does not follow the device when it changes"),
        format!("kernels 4.10 to 5.18 with poll queues: echo {us} > /sys/block/{device}/queue/io_poll_delay (fixed, whole microseconds)"),
    ]
}
