//! The report of `q2c poll tune-kernel`.

use crate::document::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, row};
use crate::phrase::{counted, when};
use crate::plots;
use crate::quantity::{
    count, duration, iops, median, number, or_dash, range, seconds, trials, trim_zeros,
};
use q2c_model::stats::Interval;
use q2c_policy::{KernelSleep, Method};
use q2c_result::kernel_tune::{KernelMethod, KernelPoint, KernelTuneResult};
use q2c_result::tune::Verdict;

impl Reported for KernelTuneResult {
    fn document(&self) -> Document<'_> {
        let methods = Section::new("Methods").table(method_table(self));
        Document::new("poll tune-kernel", &self.version, &self.schema)
            .titled(self.device.name.clone(), about(self))
            .run(self.job.seed, self.started_unix_s)
            .answers([verdict(self)])
            .section(methods.plots(|| plots::over_time::kernel_plots(self)))
            .section(Section::new("How it was found").notes(how_found(self)))
            .section(Section::new("Calibration in the kernel").table(point_table(self)))
            .warnings(&self.warnings)
            .machine(&self.machine)
    }
}

fn about(result: &KernelTuneResult) -> String {
    let job = &result.job;
    let load = match job.command.join(" ").as_str() {
        "" => "under the load that ran".to_owned(),
        command => format!("under `{command}`"),
    };
    // Classic polling runs before and after each trial, so it has more trials than the others.
    let others = result.methods.iter().filter(|m| m.method != Method::POLL);
    format!(
        "the kernel's own polling {load} · {} of {} · took {}",
        trials(job.trials, others.map(|m| m.measured.rates.iops.trials)),
        trim_zeros(&seconds(job.trial_ns.as_secs_f64())),
        seconds(result.seconds)
    )
}

/// The method's name for a table: what the kernel does, and the method's rule.
pub(crate) fn method_name(method: &Method) -> String {
    match method {
        Method::HybridKernel(KernelSleep::Own) => "hybrid, the kernel's own sleep".to_owned(),
        Method::HybridKernel(KernelSleep::Fixed(us)) => format!("hybrid, a sleep of {us} us"),
        Method::HybridKernel(KernelSleep::Steered(policy)) => format!("steered by {policy}"),
        _ => "classic polling".to_owned(),
    }
}

fn method_table(result: &KernelTuneResult) -> ReportTable {
    let row = |m: &KernelMethod| {
        let (rates, predicted) = (&m.measured.rates, &m.predicted.rates);
        let field = |i, scale| ReportField::stacked(median(i, scale), range(i, scale));
        let if_sleeps = |text: String| or_dash(m.method.sleeps().then_some(text));
        let missed = if_sleeps(median(&rates.miss_rate, 100.0));
        let predicted_missed = if_sleeps(number(predicted.miss_rate * 100.0));
        let slept = if_sleeps(duration(rates.effective_sleep_ns.median));
        let predicted_sleep = if_sleeps(duration(predicted.effective_sleep_ns));
        let mark = when(m.method == result.recommended, "▸ ");
        row![
            ReportField::stacked(format!("{mark}{}", method_name(&m.method)), m.role.text()),
            field(&m.relative.iops, 100.0),
            field(&m.relative.kiops_per_core, 1.0),
            ReportField::stacked(iops(rates.iops.median), iops(predicted.iops)),
            ReportField::stacked(median(&rates.cpu_pct, 1.0), number(predicted.cpu_pct)),
            ReportField::stacked(missed, predicted_missed),
            ReportField::stacked(slept, predicted_sleep),
            duration(m.measured.d2c_p99_ns.median),
        ]
    };
    let heads = "method\npredicted below | IOPS\n% classic | per core\nx classic | IOPS | CPU\n% | miss\n% | effective\nsleep | D2C p99";
    let legend = "Medians over the trials, as the kernel's probe counted them; below them [min, max] of the columns over classic \
         polling, and the predictions of the others. Classic polling is compared with itself.";
    ReportTable::new(heads, result.methods.iter().map(row)).legend(legend)
}

fn point_table(result: &KernelTuneResult) -> ReportTable {
    let row = |point: &KernelPoint| {
        // Without a miss, the sleep is not the reason why a wait ended late.
        let late = |ns| or_dash((point.miss_rate >= 0.5).then(|| duration(ns)));
        [
            duration(point.asked_ns),
            count(point.ios),
            number(point.miss_rate * 100.0),
            duration(point.delay_ns),
            late(point.late_p50_ns),
            late(point.late_p99_ns),
            duration(point.cpu_ns),
        ]
    };
    let heads =
        "sleep asked | requests | miss\n% | delay | late\np50 | late\np99 | CPU per\nrequest";
    let legend = "Delay: from the timer's start to the next look, less the sleep asked. Late: from the hand-over to the driver to \
         the completion, less the sleep asked, where most sleeps outlived their request.";
    ReportTable::new(heads, result.points.iter().map(row)).legend(legend)
}

const NO_ROOM: &str =
    "no sleep gained 10 % in IOPS per core over classic polling while it left the CPU";

fn verdict(result: &KernelTuneResult) -> Note {
    let device = &result.device.name;
    let mut methods = result.methods.iter();
    let figures = methods.find(|m| m.method == result.recommended).map(|m| {
        let share = |figure: &Interval| median(figure, 100.0);
        let (iops, missed) = (share(&m.relative.iops), share(&m.measured.rates.miss_rate));
        let per_core = median(&m.relative.kiops_per_core, 1.0);
        let cpu = median(&m.measured.rates.cpu_pct, 1.0);
        let iops_sentence = format!("It kept {iops} % of the IOPS of classic polling");
        let core = format!("{per_core} times the IOPS per core");
        format!(". {iops_sentence} at {core}, with {cpu} % CPU and {missed} % missed.")
    });
    let figures = figures.unwrap_or_default();
    let floor = number(result.floor * 100.0);
    let message = match (result.verdict, &result.recommended) {
        (Verdict::Rule, Method::HybridKernel(KernelSleep::Steered(policy))) => {
            let run = format!("Run q2c poll steer {device} --rule {policy}");
            return Note::good("steer", format!("by {policy}{figures} {run}"));
        }
        (Verdict::Rule, _) => {
            let run = format!("Run echo 0 >/sys/block/{device}/queue/io_poll_delay");
            return Note::good("the kernel's own sleep", format!("is best{figures} {run}"));
        }
        (Verdict::TradeOff, _) => {
            format!("no sleep that pays kept {floor} % of its IOPS. --min-iops accepts fewer")
        }
        (Verdict::Limits, _) => "no sleep that pays kept the limits".to_owned(),
        _ => return Note::plain("no room to sleep", NO_ROOM),
    };
    Note::caution("classic polling", message)
}

fn how_found(result: &KernelTuneResult) -> Vec<Note> {
    let [_, p10, p50, p99, _] = result.recorded.latency_ns.map(duration);
    let recorded = format!(
        "{} polled requests of {} under classic polling; D2C p10 {p10}, p50 {p50}, p99 {p99}",
        count(result.recorded.ios),
        counted(result.recorded.lanes, "lane")
    );
    let own_cpu = format!(
        "{} % of one CPU while steering; the probes' own time is part of every method's CPU",
        number(result.own_cpu_pct)
    );
    let simulated = Note::plain("simulated", simulation(result));
    let mut notes = vec![Note::plain("recorded", recorded), simulated];
    notes.extend(Note::plains("predicted", prediction(result)));
    notes.push(Note::plain("own CPU", own_cpu));
    let lost = count(result.lost);
    let lost = (result.lost > 0).then(|| {
        format!("{lost} completions found no room in the probe's ring; the rule and the recording lack them")
    });
    notes.extend(Note::cautions("lost", lost));
    notes.extend((!result.restored.is_empty()).then(|| Note::plain("put back", &result.restored)));
    notes
}

fn simulation(result: &KernelTuneResult) -> String {
    let left_out = match result.not_followed {
        0 => String::new(),
        n => format!("; {} more cannot be followed by the kernel", count(n)),
    };
    let best = match &result.best {
        Some(best) => format!("best: {best}"),
        None => "none kept the limits, so the published rule was steered by".to_owned(),
    };
    let rules = count(result.simulated);
    format!("{rules} rules that the kernel can follow{left_out}; {best}")
}

fn prediction(result: &KernelTuneResult) -> Option<String> {
    let is_steered =
        |m: &&KernelMethod| matches!(m.method, Method::HybridKernel(KernelSleep::Steered(_)));
    let m = result.methods.iter().find(is_steered)?;
    let text = |i: &Interval, scale: f64| format!("{} {}", median(i, scale), range(i, scale));
    let sleep = text(&m.off.effective_sleep_ns, 1.0);
    let iops = text(&m.off.iops, 1.0);
    let (missed, cpu) = (text(&m.off.miss_rate, 100.0), text(&m.off.cpu_pct, 1.0));
    let ratios = format!("predicted / measured: effective sleep {sleep}, IOPS {iops}");
    let differences = format!("miss rate {missed} points, CPU {cpu} points");
    let name = method_name(&m.method);
    Some(format!(
        "{name}; {ratios}; predicted less measured: {differences}"
    ))
}
