//! Documents of live views, of steering, and of RAM devices.

use super::{Document, Reported, Section};
use crate::note::{Note, ReportField, ReportTable, row};
use crate::phrase::joined;
use crate::quantity::{count, iops, number, or_dash, seconds};
use crate::terminal::{GAUGES, Gauge, KERNEL_COLUMNS, method_title};
use crate::{facts, late_time, mode};
use q2c_result::kernel_watch::{KernelInterval, KernelWatchResult};
use q2c_result::ramdisk::{RamDevice, RamDeviceServer, RamDevices, State};
use q2c_result::steer::SteerResult;
use q2c_result::watch::{WatchMethod, WatchResult};

impl Reported for WatchResult {
    fn document(&self) -> Document<'_> {
        let mut medians = self.methods.iter().filter_map(|method| method.median);
        let has_background = medians.any(|numbers| numbers.background_iops.is_some());
        let mut head = vec!["method, and what it was"];
        head.extend(GAUGES.iter().map(|gauge| gauge.name));
        head.extend(has_background.then_some("behind"));
        head.push("intervals");
        let rows = self.methods.iter().map(|m| method_row(m, has_background));
        let table = ReportTable::from_rows(head, rows);
        const MEDIANS: &str = "medians over settled intervals, which are no independent trials: q2c tune compares methods";
        Document::new("poll watch", &self.version, &self.schema)
            .titled(facts::title(&self.target, &self.machine), MEDIANS)
            .run(self.job.seed, 0)
            .section(Section::new("Methods").table(table).notes(notes(self)))
            .target(&self.target)
            .machine(&self.machine)
    }
}

fn method_row(method: &WatchMethod, with_background: bool) -> Vec<ReportField> {
    let was = method.was.as_ref().map(mode::label);
    let name = ReportField::stacked(method_title(method), was.unwrap_or_default());
    let median = method.median.as_ref();
    let text = |gauge: &Gauge| or_dash(median.map(|median| gauge.show(median)));
    let background = median.and_then(|median| median.background_iops);
    let background = with_background.then(|| or_dash(background.map(iops)));
    let settled = match method.settling {
        0 => method.intervals.to_string(),
        settling => format!("{} of {}", method.intervals, method.intervals + settling),
    };
    let numbers = GAUGES.iter().map(text).chain(background).chain([settled]);
    let mut row = vec![name];
    row.extend(numbers.map(ReportField::from));
    row
}

fn notes(result: &WatchResult) -> Vec<Note> {
    let late = result.methods.iter().filter_map(|method| {
        let numbers = method.median.and_then(|median| median.late)?;
        let heading = format!("late time of {}", method_title(method));
        let sentences =
            std::iter::once(late_time::parts(&numbers)).chain(late_time::unmatched_ios(&numbers));
        Some(Note::plain(&heading, joined(sentences, "; ")))
    });
    let captured = Note::plains("late time", result.late.as_ref().map(late_time::watch));
    let not_kept = result.not_kept;
    let not_kept = (not_kept > 0).then(|| format!("{not_kept} older intervals were not kept"));
    let unrecorded: u64 = result.intervals.iter().map(|i| i.unrecorded).sum();
    let unrecorded = (unrecorded > 0)
        .then(|| format!("{unrecorded} I/Os were too many for the memory: rates of misses, sleeps and latencies are of the others"));
    let lacks = Note::plains("left out", not_kept).chain(Note::cautions("unrecorded", unrecorded));
    late.chain(captured).chain(lacks).collect()
}

impl Reported for KernelWatchResult {
    fn document(&self) -> Document<'_> {
        let row = |until: String, interval: &KernelInterval| {
            let unknown = (interval.unknown > 0).then(|| interval.unknown.to_string());
            let mut row = vec![until];
            let fields = KERNEL_COLUMNS.iter();
            row.extend(fields.map(|(_, field)| or_dash(field(interval))));
            row.push(unknown.unwrap_or_default());
            row
        };
        let columns = KERNEL_COLUMNS.iter().map(|(name, _)| *name);
        let head = std::iter::once("until").chain(columns).chain(["unknown"]);
        let intervals = self.intervals.iter();
        let intervals = intervals.map(|interval| row(format!("{:.2} s", interval.end_s), interval));
        let total = self.total.iter().map(|i| row("all".to_owned(), i));
        let table = ReportTable::from_rows(head, intervals.chain(total));
        let not_kept = self.not_kept;
        let older = (not_kept > 0).then(|| format!("{not_kept} intervals were not kept"));
        let older = Note::plains("left out", older);
        Document::new("poll watch", &self.version, &self.schema)
            .titled(self.device.name.clone(), "the kernel's own hybrid polling")
            .section(Section::new("Intervals").table(table).notes(older))
            .machine(&self.machine)
    }
}

impl Reported for SteerResult {
    fn document(&self) -> Document<'_> {
        let delay = match self.last_delay {
            -1 => "classic polling".to_owned(),
            us => format!("{us} us"),
        };
        let [completions, writes] = [self.completions, self.writes].map(count);
        let steered =
            format!("{completions} completions, {writes} values written, the last one {delay}");
        let own_cpu = format!("{} % of a CPU", number(self.own_cpu_pct));
        let mixed = "requests of several sizes or directions shared the one value";
        let missed = [
            (self.lost, "completions were not seen: no room"),
            (self.unpolled, "requests were polled for by nobody"),
        ];
        let missed = missed.into_iter().filter(|(n, _)| *n > 0);
        let missed = missed.map(|(n, what)| format!("{} {what}", count(n)));
        let about = format!("slept by {} for {}", self.policy, seconds(self.seconds));
        let steered = Note::plain("steered", steered);
        let own_cpu = Note::plain("own CPU", own_cpu);
        let setting = Note::plain("the setting", &self.restored);
        let section = Section::new("")
            .notes([steered, own_cpu, setting])
            .notes(self.mixed.then(|| Note::caution("mixed", mixed)))
            .notes(Note::cautions("missed", missed));
        Document::new("poll steer", &self.version, &self.schema)
            .titled(self.device.name.clone(), about)
            .section(section)
    }
}

impl Reported for RamDevices {
    fn document(&self) -> Document<'_> {
        let about = if self.devices.is_empty() { "none" } else { "" };
        let heads = "device | by | size | block | queues | depth | service times | state";
        let table = ReportTable::new(heads, self.devices.iter().map(device_row));
        Document::new("ramdisk list", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("RAM devices", about)
            .section(Section::new("").table(table))
    }
}

fn device_row(device: &RamDevice) -> Vec<ReportField> {
    let queues = match device.poll_queues {
        0 => device.queues.to_string(),
        polled => format!("{} + {polled} poll", device.queues),
    };
    let maker = match device.via {
        RamDeviceServer::Module => "module",
        RamDeviceServer::Ublk => "ublk",
    };
    row![
        &device.name,
        maker,
        device.size.to_string(),
        device.block.to_string(),
        queues,
        device.depth.to_string(),
        device.service.as_deref().unwrap_or("none"),
        state_text(device),
    ]
}

fn state_text(device: &RamDevice) -> String {
    match (device.state, device.server) {
        (State::Served, Some(pid)) => format!("served by process {pid}"),
        (State::Served, None) => "served by the kernel".to_owned(),
        (State::Recoverable, _) => {
            "server ended; data can be had again: create --recover ".to_owned() + &device.name
        }
        (State::Lost, _) => "server ended, data lost: delete it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;
    use q2c_policy::Method;

    #[test]
    fn each_state_says_what_can_be_done() {
        let label = |state_of, server| {
            state_text(&RamDevice {
                name: "ublkb0".into(),
                via: RamDeviceServer::Ublk,
                size: Bytes(64 << 20),
                block: Bytes(4096),
                queues: 4,
                poll_queues: 0,
                depth: 128,
                service: None,
                server,
                state: state_of,
            })
        };
        assert!(label(State::Served, Some(7)).ends_with("process 7"));
        assert!(label(State::Recoverable, None).ends_with("--recover ublkb0"));
        assert!(label(State::Lost, None).contains("delete"));
    }

    #[test]
    fn settled_intervals_are_counted_of_all() {
        let counted = |intervals, settling| {
            let method = WatchMethod {
                intervals,
                settling,
                ..WatchMethod::new(Method::POLL, false)
            };
            method_row(&method, false).pop().expect("a field").text
        };
        assert_eq!([counted(3, 1), counted(2, 0)], ["3 of 4", "2"]);
    }
}
