//! Tables and sentences of `q2c poll tune-kernel` that terminal, page and CSV share.

use crate::analysis::time;
use crate::quantity::{NOTHING, bare, count, iops, median, number, range, seconds, trials};
use crate::said::{Field, Said, Table, Weight};
use q2c_model::Nanos;
use q2c_policy::{KernelSleep, Method};
use q2c_result::kernel_tune::{KernelMethod, KernelPoint, KernelTuneResult};
use q2c_result::tune::Verdict;
use q2c_stats::Interval;

/// The run in a line: device, load, trials and duration.
pub(crate) fn about(result: &KernelTuneResult) -> String {
    let job = &result.job;
    let load = match job.command.is_empty() {
        true => "under the load that ran".to_owned(),
        false => format!("under `{}`", job.command.join(" ")),
    };
    let length = |time: Nanos| bare(&seconds(time.as_secs_f64()));
    // Classic polling runs before and after each trial, so it has more of them.
    let others = result.methods.iter().filter(|m| m.method != Method::POLL);
    let run = others.map(|m| m.measured.rates.iops.trials);
    format!(
        "the kernel's own polling {load} · {} of {} · took {}",
        trials(job.trials, run),
        length(job.trial_ns),
        seconds(result.seconds)
    )
}

/// The method's name for a table: what the kernel does, and its rule.
pub(crate) fn name(method: &Method) -> String {
    match method {
        Method::HybridKernel(KernelSleep::Own) => "hybrid, the kernel's own sleep".to_owned(),
        Method::HybridKernel(KernelSleep::Fixed(us)) => format!("hybrid, a sleep of {us} us"),
        Method::HybridKernel(KernelSleep::Steered(policy)) => format!("steered by {policy}"),
        _ => "classic polling".to_owned(),
    }
}

/// The methods, each with its measured figures and the predicted ones below.
pub(crate) fn methods(result: &KernelTuneResult) -> Table {
    const HEAD: [&str; 8] = [
        "method\npredicted below",
        "IOPS\n% classic",
        "per core\nx classic",
        "IOPS",
        "CPU\n%",
        "miss\n%",
        "effective\nsleep",
        "D2C p99",
    ];
    let row = |m: &KernelMethod| {
        let sleeps = m.method.sleeps();
        let of = |interval: &Interval, scale| both(median(interval, scale), range(interval, scale));
        let only = |text: String| if sleeps { text } else { NOTHING.to_owned() };
        let mark = if m.method == result.recommended {
            "▸ "
        } else {
            ""
        };
        let measured = &m.measured;
        vec![
            both(
                format!("{mark}{}", name(&m.method)),
                m.role.text().to_owned(),
            ),
            of(&m.relative.iops, 100.0),
            of(&m.relative.kiops_per_core, 1.0),
            both(
                iops(measured.rates.iops.median),
                iops(m.predicted.rates.iops),
            ),
            both(
                median(&measured.rates.cpu_pct, 1.0),
                number(m.predicted.rates.cpu_pct),
            ),
            both(
                only(median(&measured.rates.miss_rate, 100.0)),
                only(number(m.predicted.rates.miss_rate * 100.0)),
            ),
            both(
                only(time(measured.rates.effective_sleep_ns.median)),
                only(time(m.predicted.rates.effective_sleep_ns)),
            ),
            time(measured.d2c_p99_ns.median).into(),
        ]
    };
    Table {
        head: HEAD.map(String::from).to_vec(),
        rows: result.methods.iter().map(row).collect(),
        legend: "Medians over the trials, as the kernel's probe counted them; below them [min, max] of the columns over classic \
                 polling, and the predictions of the others. Classic polling is compared with itself.",
    }
}

fn both(text: String, below: String) -> Field {
    Field { text, below }
}

/// The calibration's points.
pub(crate) fn points(result: &KernelTuneResult) -> Table {
    const HEAD: [&str; 7] = [
        "sleep asked",
        "requests",
        "miss\n%",
        "delay",
        "late\np50",
        "late\np99",
        "CPU per\nrequest",
    ];
    let row = |point: &KernelPoint| {
        // A request that was not missed was complete after the sleep for a reason of its own.
        let late = |ns| match point.miss_rate >= 0.5 {
            true => time(ns),
            false => NOTHING.to_owned(),
        };
        [
            time(point.asked_ns),
            count(point.ios),
            number(point.miss_rate * 100.0),
            time(point.delay_ns),
            late(point.late_p50_ns),
            late(point.late_p99_ns),
            time(point.cpu_ns),
        ]
        .map(Field::from)
        .to_vec()
    };
    Table {
        head: HEAD.map(String::from).to_vec(),
        rows: result.points.iter().map(row).collect(),
        legend: "Delay: from the timer's start to the next look, less the sleep asked. Late: from the hand-over to the driver to \
                 the completion, less the sleep asked, where most sleeps outlived their request.",
    }
}

/// The verdict.
pub(crate) fn verdict(result: &KernelTuneResult) -> Said {
    let device = &result.device.name;
    let of = |method: &Method| result.methods.iter().find(|m| m.method == *method);
    let figures = of(&result.recommended).map_or_else(String::new, |m| {
        format!(
            ". It kept {} % of the IOPS of classic polling at {} times the IOPS per core, with {} % CPU and {} % missed.",
            median(&m.relative.iops, 100.0),
            median(&m.relative.kiops_per_core, 1.0),
            median(&m.measured.rates.cpu_pct, 1.0),
            median(&m.measured.rates.miss_rate, 100.0)
        )
    });
    let floor = number(result.floor * 100.0);
    match (result.verdict, &result.recommended) {
        (Verdict::Rule, Method::HybridKernel(KernelSleep::Steered(policy))) => Said::new(
            Weight::Good,
            "steer",
            format!("by {policy}{figures} Run q2c poll steer {device} --rule {policy}"),
        ),
        (Verdict::Rule, _) => Said::new(
            Weight::Good,
            "the kernel's own sleep",
            format!("is best{figures} Run echo 0 >/sys/block/{device}/queue/io_poll_delay"),
        ),
        (Verdict::TradeOff, _) => Said::new(
            Weight::Caution,
            "classic polling",
            format!("no sleep that pays kept {floor} % of its IOPS. --min-iops accepts fewer"),
        ),
        (Verdict::Limits, _) => Said::new(
            Weight::Caution,
            "classic polling",
            "no sleep that pays kept the limits",
        ),
        _ => Said::new(
            Weight::Plain,
            "no room to sleep",
            "no sleep gained 10 % in IOPS per core over classic polling while it left the CPU",
        ),
    }
}

/// Sentences on recording, simulation and prediction.
pub(crate) fn words(result: &KernelTuneResult) -> Vec<Said> {
    let [_, p10, p50, p99, _] = result.recorded.latency_ns.map(time);
    let mut said = vec![
        Said::plain(
            "recorded",
            format!(
                "{} polled requests of {} under classic polling; D2C p10 {p10}, p50 {p50}, p99 {p99}",
                count(result.recorded.ios),
                lanes(result.recorded.lanes)
            ),
        ),
        Said::plain("simulated", simulated(result)),
    ];
    said.extend(predicted(result));
    said.push(Said::plain(
        "own CPU",
        format!(
            "{} % of one CPU while steering; the probes' own time is part of every method's CPU",
            number(result.own_cpu_pct)
        ),
    ));
    if result.lost > 0 {
        let words = format!(
            "{} completions found no room in the probe's ring; the rule and the recording lack them",
            count(result.lost)
        );
        said.push(Said::new(Weight::Caution, "lost", words));
    }
    if !result.restored.is_empty() {
        said.push(Said::plain("put back", result.restored.clone()));
    }
    said
}

fn lanes(number: usize) -> String {
    match number {
        1 => "1 lane".to_owned(),
        n => format!("{n} lanes"),
    }
}

fn simulated(result: &KernelTuneResult) -> String {
    let left_out = match result.not_followed {
        0 => String::new(),
        n => format!("; {} more cannot be followed by the kernel", count(n)),
    };
    let best = match &result.best {
        Some(best) => format!("best: {best}"),
        None => "none kept the limits, so the published rule was steered by".to_owned(),
    };
    format!(
        "{} rules that the kernel can follow{left_out}; {best}",
        count(result.simulated)
    )
}

/// How far the predictions of the steered rule were off.
fn predicted(result: &KernelTuneResult) -> Option<Said> {
    let steered =
        |m: &&KernelMethod| matches!(m.method, Method::HybridKernel(KernelSleep::Steered(_)));
    let m = result.methods.iter().find(steered)?;
    let about = |of: &Interval, scale: f64| format!("{} {}", median(of, scale), range(of, scale));
    Some(Said::plain(
        "predicted",
        format!(
            "{}; predicted / measured: effective sleep {}, IOPS {}; predicted less measured: miss rate {} points, CPU {} points",
            name(&m.method),
            about(&m.off.effective_sleep_ns, 1.0),
            about(&m.off.iops, 1.0),
            about(&m.off.miss_rate, 100.0),
            about(&m.off.cpu_pct, 1.0),
        ),
    ))
}
