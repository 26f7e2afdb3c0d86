//! The block device of a point: its settings in a trial, and warnings of changes by the kernel.

use super::conclude::MeasuredPoint;
use super::plan::label;
use itertools::Itertools;
use q2c_host::block::{Disk, point_device, queue_setting};
use q2c_host::restore::Guard;
use q2c_model::grouped;
use q2c_result::Warning;
use q2c_result::bench::{BenchPoint, PointDevice};
use q2c_workbench::workload::Site;
use std::path::Path;

/// The settings of a point's device. Dropping this value restores the former settings.
pub(super) struct DeviceSettings(Option<Guard>);

impl DeviceSettings {
    /// Sets the queues first, since new queues start with the driver's number of requests.
    pub fn begin(site: &Site, journal: Option<&Path>, point: &BenchPoint) -> Result<Self, String> {
        if point.hw_queues.is_none() && point.nr_requests.is_none() {
            return Ok(DeviceSettings(None));
        }
        let disk = disk(site)?;
        let journal =
            journal.ok_or("set the device: there is no folder for the journal of settings")?;
        let mut guard = Guard::new(&site.roots, journal).map_err(|error| error.to_string())?;
        let mut set = |file: &Path, value: u32, limit: &str| {
            let held = guard.hold(file);
            let written = held.and_then(|()| guard.set(file, &value.to_string()));
            written.map_err(|error| format!("{error}; {limit}"))
        };
        if let Some(queues) = point.hw_queues {
            let limit = "the kernel takes 1 to as many as there are CPUs";
            set(&queue_setting(&site.roots, disk)?, queues, limit)?;
        }
        if let Some(requests) = point.nr_requests {
            let limit = "without a scheduler the kernel takes no more than the driver's depth";
            set(&disk.dir.join("queue/nr_requests"), requests, limit)?;
        }
        Ok(DeviceSettings(Some(guard)))
    }

    pub(crate) fn end(self) -> Result<(), String> {
        let Some(mut guard) = self.0 else {
            return Ok(());
        };
        let mut outcomes = guard.undo().into_iter();
        let unrestored = outcomes.find(|(_, outcome)| !outcome.is_final());
        unrestored.map_or(Ok(()), |(file, outcome)| {
            Err(format!("put {} back: {outcome}", file.display()))
        })
    }
}

fn disk(site: &Site) -> Result<&Disk, String> {
    let target = site.target_disk.as_ref();
    let disk = target.map(|target| &target.disk);
    disk.ok_or_else(|| "set the device: no block device is known under the target".to_owned())
}

pub(super) fn read_device(site: &Site) -> Option<PointDevice> {
    let target = site.target_disk.as_ref()?;
    Some(point_device(&site.roots, &target.disk))
}

/// Checks before the run that the device has every setting that the axes need.
pub fn check_axes(site: &Site, queues: &[u32], requests: &[u32]) -> Result<(), String> {
    if queues.is_empty() && requests.is_empty() {
        return Ok(());
    }
    let disk = disk(site)?;
    if !queues.is_empty() {
        queue_setting(&site.roots, disk)?;
    }
    let hw_queues = point_device(&site.roots, disk).hw_queues;
    hw_queues.map(drop).ok_or_else(|| {
        let reason = "it takes bios and has neither hardware queues nor requests; leave --nr-requests and --hw-queues out";
        format!("set the queues of {}: {reason}", disk.name)
    })
}

pub(super) fn warnings(measured: &[MeasuredPoint<'_>]) -> Vec<Warning> {
    let mut hits_by_warning: [Vec<Hit>; 5] = Default::default();
    let mut points = 0;
    for (runs, first) in measured.iter().filter_map(|r| Some((r, device_of(r)?))) {
        points += 1;
        let changes = kernel_changes(&runs.point, first);
        for (hits, change) in hits_by_warning.iter_mut().zip(changes) {
            hits.extend(change.map(|change| (label(&runs.point), change)));
        }
        let mut devices = runs.trials.iter().map(|trial| trial.device.as_ref());
        if devices.any(|device| device != Some(first)) {
            let [.., device_changed] = &mut hits_by_warning;
            device_changed.push((label(&runs.point), String::new()));
        }
    }
    let warnings = hits_by_warning.iter().zip(MEANINGS);
    let warnings = warnings.filter(|(hits, _)| !hits.is_empty());
    warnings
        .map(|(hits, [id, means, todo])| Warning::new(id, findings_text(hits, points), means, todo))
        .collect()
}

/// The point that a warning is about, and the finding; empty if the warning's meaning says it all.
type Hit = (String, String);

/// Lists each finding once, after its points. `point_count` is the number of all points.
fn findings_text(hits: &[Hit], point_count: usize) -> String {
    let groups = grouped(
        hits.iter()
            .map(|(point, finding)| (finding.as_str(), point.as_str())),
    );
    let group = |(finding, points): &(&str, Vec<&str>)| {
        let named = match points.len() {
            n if n == point_count && n > 1 => format!("all {n} points"),
            n if n > MAX_LISTED_POINTS => {
                let shown = points[..MAX_LISTED_POINTS].join("; ");
                format!("{shown}; and {} points more", n - MAX_LISTED_POINTS)
            }
            _ => points.join("; "),
        };
        match *finding {
            "" => named,
            finding => format!("{named}: {finding}"),
        }
    };
    groups.iter().map(group).join("; ")
}

const MAX_LISTED_POINTS: usize = 4;

/// Name, meaning and advice of each warning of [`kernel_changes`]; then of a device that changed.
const MEANINGS: [[&str; 3]; 5] = [
    [
        "hw-queues-cut",
        "the kernel made another number of hardware queues than was asked for, such as one per CPU at most",
        "read the point by the queues that it had, and leave the value out",
    ],
    [
        "nr-requests-cut",
        "the kernel rounds and cuts the number of requests without an error",
        "read the point by the requests that it had, and leave the value out",
    ],
    [
        "one-queue-scheduler",
        "the kernel's choice for a device with one hardware queue is mq-deadline: its lock and its sorting are in the figures",
        "set the scheduler none (q2c doctor with the target names the line to type), and run again",
    ],
    [
        "depth-cut",
        "a job submits to one hardware queue, whose nr_requests are fewer than the depth: the rest waits for a request",
        "ask for a smaller --depth, or for more --nr-requests",
    ],
    [
        "device-changed",
        "the device's queues, requests or scheduler were not the same in all trials of the point",
        "find out who changes the device's settings, and run again",
    ],
];

/// The values that the kernel changed, for each of the first four warnings of [`MEANINGS`].
fn kernel_changes(point: &BenchPoint, device: &PointDevice) -> [Option<String>; 4] {
    let differs = |asked: Option<u32>, got: Option<u64>| {
        let (asked, got) = (asked?, got?);
        (u64::from(asked) != got).then(|| format!("asked for {asked}, got {got}"))
    };
    let queues = device.default_queues();
    let by_default = queues == Some(1) && device.scheduler.as_deref() == Some("mq-deadline");
    let requests = device.nr_requests.filter(|_| queues.is_some());
    let short = requests.filter(|&requests| requests < u64::from(point.depth));
    [
        differs(point.hw_queues, queues.map(u64::from)),
        differs(point.nr_requests, device.nr_requests),
        by_default.then(|| "one hardware queue, and the scheduler is mq-deadline".to_owned()),
        short.map(|requests| format!("depth {}, {requests} requests", point.depth)),
    ]
}

/// The device of a point in its first trial with one.
pub(super) fn device_of<'a>(runs: &MeasuredPoint<'a>) -> Option<&'a PointDevice> {
    runs.trials.iter().find_map(|trial| trial.device.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::tests::{point, site};
    use q2c_result::bench::{DeviceKind, QueueTypes};
    use std::fs;

    fn device(queues: u32, requests: u64, scheduler: &str) -> PointDevice {
        PointDevice {
            kind: DeviceKind::RamdiskMq,
            hw_queues: Some(queues),
            nr_requests: Some(requests),
            scheduler: Some(scheduler.to_owned()),
            ..PointDevice::default()
        }
    }

    fn warning_ids(point: &BenchPoint, now: &PointDevice) -> Vec<&'static str> {
        let changes = kernel_changes(point, now);
        let warnings = changes.iter().zip(MEANINGS).filter(|(c, _)| c.is_some());
        warnings.map(|(_, [id, ..])| id).collect()
    }

    #[test]
    fn what_the_kernel_cut_is_told_and_nothing_else() {
        let mut point = point("d -e spdk");
        point.depth = 8;
        assert!(warning_ids(&point, &device(4, 8, "none")).is_empty());
        assert!(warning_ids(&point, &device(2, 64, "mq-deadline")).is_empty());
        assert_eq!(warning_ids(&point, &device(4, 4, "none")), ["depth-cut"]);
        let one = device(1, 8, "mq-deadline");
        assert_eq!(warning_ids(&point, &one), ["one-queue-scheduler"]);
        point.hw_queues = Some(4);
        point.nr_requests = Some(10);
        assert!(warning_ids(&point, &device(4, 10, "none")).is_empty());
        let both = ["hw-queues-cut", "nr-requests-cut"];
        assert_eq!(warning_ids(&point, &device(3, 12, "none")), both);
    }

    #[test]
    fn what_was_found_at_all_points_is_said_once() {
        let at = |points: std::ops::Range<usize>, finding: &str| -> Vec<Hit> {
            let hits = points.map(|n| (format!("p{n}"), finding.to_owned()));
            hits.collect()
        };
        let one = "one queue";
        let everywhere = findings_text(&at(0..16, one), 16);
        assert_eq!(everywhere, "all 16 points: one queue");
        assert_eq!(findings_text(&at(0..2, one), 16), "p0; p1: one queue");
        let most = findings_text(&at(0..15, one), 16);
        assert_eq!(most, "p0; p1; p2; p3; and 11 points more: one queue");
        let both = [at(0..1, one), at(1..2, "two")].concat();
        assert_eq!(findings_text(&both, 2), "p0: one queue; p1: two");
        assert_eq!(findings_text(&at(0..1, ""), 1), "p0");
    }

    /// sysfs counts poll queues among the hardware queues, but the setting does not.
    #[test]
    fn queues_that_are_polled_are_not_counted() {
        let mut point = point("d -e spdk");
        point.hw_queues = Some(2);
        let mut now = device(4, 64, "none");
        let (default, read, poll) = (2, 0, 2);
        now.queue_types = Some(QueueTypes {
            default,
            read,
            poll,
        });
        assert!(warning_ids(&point, &now).is_empty());
        // A bio-based device has a number of requests in sysfs, but no such limit in fact.
        now = device(4, 1, "none");
        (now.hw_queues, point.hw_queues, point.depth) = (None, None, 8);
        assert!(warning_ids(&point, &now).is_empty());
    }

    #[test]
    fn requests_are_set_for_as_long_as_the_device_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("queue/nr_requests");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "64\n").unwrap();
        let mut site = site(Some("rdmq0"));
        site.target_disk.as_mut().unwrap().disk.dir = folder.path().into();
        let read = || fs::read_to_string(&file).unwrap().trim().to_owned();
        let mut point = point("d -e spdk");
        let as_found = DeviceSettings::begin(&site, None, &point).unwrap();
        as_found.end().unwrap();
        point.nr_requests = Some(7);
        let journal = folder.path().join("journal");
        fs::create_dir(&journal).unwrap();
        let held = DeviceSettings::begin(&site, Some(&journal), &point).unwrap();
        assert_eq!(read(), "7");
        held.end().unwrap();
        assert_eq!(read(), "64");
        drop(DeviceSettings::begin(&site, Some(&journal), &point).unwrap());
        assert_eq!(read(), "64");
        let refused = DeviceSettings::begin(&site, None, &point).err();
        assert!(refused.unwrap().contains("no folder for the journal"));
        fs::remove_file(&file).unwrap();
        assert!(DeviceSettings::begin(&site, Some(&journal), &point).is_err());
    }
}
