//! Documents of what was watched or steered, and of the RAM devices.

use super::{Document, Reported, Section};
use crate::phrase::joined;
use crate::quantity::{count, iops, number, or_nothing, seconds};
use crate::said::{Field, Said, Table, Weight};
use crate::terminal::{GAUGES, Gauge, kernel_columns, named};
use crate::{late, mode, sim_machine};
use q2c_result::kernel_watch::{KernelInterval, KernelWatchResult};
use q2c_result::ramdisk::{RamDevice, RamDevices, State, Via};
use q2c_result::steer::SteerResult;
use q2c_result::watch::{WatchMethod, WatchResult};

impl Reported for WatchResult {
    fn document(&self) -> Document<'_> {
        let mut medians = self.methods.iter().filter_map(|of| of.median);
        let behind = medians.any(|numbers| numbers.background_iops.is_some());
        let head = std::iter::once("method, and what it was")
            .chain(GAUGES.iter().map(|gauge| gauge.name))
            .chain(behind.then_some("behind"))
            .chain(["intervals"]);
        let rows = self.methods.iter().map(|of| of_method(of, behind));
        Document::new("poll watch", &self.version, &self.schema)
            .titled(
                sim_machine::title(&self.target, &self.machine),
                "medians over settled intervals, which are no independent trials: q2c tune compares methods",
            )
            .run(self.job.seed, 0)
            .section(
                Section::new("Methods")
                    .table(Table::of(head, rows))
                    .told(notes(self)),
            )
            .target(&self.target)
            .machine(&self.machine)
    }
}

fn of_method(of: &WatchMethod, with_behind: bool) -> Vec<Field> {
    let was = of.was.as_ref().map(mode::words);
    let name = Field::over(named(of), was.unwrap_or_default());
    let median = of.median.as_ref();
    let shown = |gauge: &Gauge| or_nothing(median.map(|median| gauge.show(median)));
    let behind = median.and_then(|median| median.background_iops);
    let behind = with_behind.then(|| or_nothing(behind.map(iops)));
    let counted = match of.settling {
        0 => of.intervals.to_string(),
        settling => format!("{} of {}", of.intervals, of.intervals + settling),
    };
    let numbers = GAUGES.iter().map(shown).chain(behind).chain([counted]);
    std::iter::once(name)
        .chain(numbers.map(Field::from))
        .collect()
}

fn notes(of: &WatchResult) -> Vec<Said> {
    let late = of.methods.iter().filter_map(|method| {
        let of = method.median.and_then(|median| median.late)?;
        let told = [late::numbers(&of)].into_iter().chain(late::unmatched(&of));
        let what = format!("late time of {}", named(method));
        Some(Said::plain(&what, joined(told, "; ")))
    });
    let captured = of.late.as_ref().map(late::watched);
    let captured = captured.map(|words| Said::plain("late time", words));
    let not_kept = (of.not_kept > 0).then(|| {
        let words = format!("{} older intervals were not kept", of.not_kept);
        Said::plain("left out", words)
    });
    let unrecorded: u64 = of.intervals.iter().map(|i| i.unrecorded).sum();
    let unrecorded = (unrecorded > 0).then(|| {
        let words = format!(
            "{unrecorded} I/Os were too many for the memory: rates of misses, sleeps and latencies are of the others"
        );
        Said::caution("unrecorded", words)
    });
    late.chain(captured)
        .chain(not_kept)
        .chain(unrecorded)
        .collect()
}

impl Reported for KernelWatchResult {
    fn document(&self) -> Document<'_> {
        let row = |until: String, of: &KernelInterval| {
            let unknown = (of.unknown > 0).then(|| of.unknown.to_string());
            let fields = kernel_columns().map(|(_, field)| or_nothing(field(of)));
            std::iter::once(until)
                .chain(fields)
                .chain([unknown.unwrap_or_default()])
                .collect::<Vec<_>>()
        };
        let head = std::iter::once("until")
            .chain(kernel_columns().map(|(name, _)| *name))
            .chain(["unknown"]);
        let intervals = self.intervals.iter();
        let intervals = intervals.map(|of| row(format!("{:.2} s", of.end_s), of));
        let all = self.total.iter().map(|of| row("all".to_owned(), of));
        let lost = (self.not_kept > 0).then(|| {
            let words = format!("{} intervals were not kept", self.not_kept);
            Said::plain("left out", words)
        });
        Document::new("poll watch", &self.version, &self.schema)
            .titled(self.device.name.clone(), "the kernel's own hybrid polling")
            .section(
                Section::new("Intervals")
                    .table(Table::of(head, intervals.chain(all)))
                    .told(lost),
            )
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
        let own = format!("{} % of a CPU", number(self.own_cpu_pct));
        let mixed = "requests of several sizes or directions shared the one value";
        let missed = [
            (self.lost, "completions were not seen: no room"),
            (self.unpolled, "requests were polled for by nobody"),
        ];
        let missed = missed.into_iter().filter(|(n, _)| *n > 0);
        let missed = missed.map(|(n, what)| format!("{} {what}", count(n)));
        let about = format!("slept by {} for {}", self.policy, seconds(self.seconds));
        Document::new("poll steer", &self.version, &self.schema)
            .titled(self.device.name.clone(), about)
            .section(
                Section::new("")
                    .told([
                        Said::plain("steered", steered),
                        Said::plain("own CPU", own),
                        Said::plain("the setting", &self.restored),
                    ])
                    .told(self.mixed.then(|| Said::caution("mixed", mixed)))
                    .told(Said::each(Weight::Caution, "missed", missed)),
            )
    }
}

impl Reported for RamDevices {
    fn document(&self) -> Document<'_> {
        let about = if self.devices.is_empty() { "none" } else { "" };
        let heads = "device | by | size | block | queues | depth | service times | state";
        let table = Table::headed(heads, self.devices.iter().map(device));
        Document::new("ramdisk list", env!("CARGO_PKG_VERSION"), &self.schema)
            .titled("RAM devices", about)
            .section(Section::new("").table(table))
    }
}

fn device(of: &RamDevice) -> [String; 8] {
    let queues = match of.poll_queues {
        0 => of.queues.to_string(),
        polled => format!("{} + {polled} poll", of.queues),
    };
    let by = match of.via {
        Via::Module => "module",
        Via::Ublk => "ublk",
    };
    [
        of.name.clone(),
        by.to_owned(),
        of.size.to_string(),
        of.block.to_string(),
        queues,
        of.depth.to_string(),
        of.service.clone().unwrap_or_else(|| "none".to_owned()),
        state(of),
    ]
}

fn state(of: &RamDevice) -> String {
    match (of.state, of.server) {
        (State::Served, Some(pid)) => format!("served by process {pid}"),
        (State::Served, None) => "served by the kernel".to_owned(),
        (State::Recoverable, _) => {
            let name = &of.name;
            format!("server ended; data can be had again: create --recover {name}")
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
        let told = |state_of, server| {
            state(&RamDevice {
                name: "ublkb0".into(),
                via: Via::Ublk,
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
        assert!(told(State::Served, Some(7)).ends_with("process 7"));
        assert!(told(State::Recoverable, None).ends_with("--recover ublkb0"));
        assert!(told(State::Lost, None).contains("delete"));
    }

    #[test]
    fn settled_intervals_are_counted_of_all() {
        let counted = |intervals, settling| {
            let method = WatchMethod {
                intervals,
                settling,
                ..WatchMethod::new(Method::POLL, false)
            };
            let last = of_method(&method, false).pop();
            last.expect("a field").text
        };
        assert_eq!([counted(3, 1), counted(2, 0)], ["3 of 4", "2"]);
    }
}
