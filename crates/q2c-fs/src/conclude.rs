//! Makes the figures, ratios and warnings of a result from the trials.

use crate::disturbance::FsMeasurement;
use crate::plan::{FsTrial, label};
use crate::spec::FsSettings;
use q2c_model::stats::{Interval, Ratio, ratio_of_medians};
use q2c_result::Warning;
use q2c_result::fs::{CreatedFs, FileSystem, FsCell, FsPoint, SharedRatio, Sharing};
use q2c_run::runner::CellRuns;

type PointRuns = CellRuns<FsPoint, FsMeasurement<FsTrial>>;

pub(crate) fn cells(runs: &[PointRuns]) -> Vec<FsCell> {
    let figures = |runs: &PointRuns, figure: fn(&FsTrial) -> Option<f64>| -> Vec<f64> {
        runs.outcomes().filter_map(|t| figure(&t.figures)).collect()
    };
    let cell = |runs: &PointRuns| FsCell {
        point: runs.plan.cell.clone(),
        iops: runs.interval(|trial| trial.figures.iops),
        in_flight: Interval::from_samples(&figures(runs, |trial| trial.in_flight)),
        from_device: Some(figures(runs, |trial| trial.from_device))
            .filter(|shares| !shares.is_empty())
            .map(|shares| Interval::from_samples(&shares)),
        locks: None,
        profile: None,
        failures: runs.failures().map(str::to_owned).collect(),
    };
    runs.iter().map(cell).collect()
}

pub(crate) fn ratios(
    runs: &[PointRuns],
    control: Option<FileSystem>,
    seed: u64,
) -> Vec<SharedRatio> {
    let points = runs.iter().map(|runs| &runs.plan.cell);
    let shared = points.filter(|point| point.sharing != Sharing::Private);
    let shared_ratio = |point: &FsPoint| {
        let control = control.filter(|&control| control != point.fs);
        let control_point = control.map(|fs| FsPoint {
            fs,
            ..point.clone()
        });
        Some(SharedRatio {
            point: point.clone(),
            shared_to_private: ratio(runs, point, seed)?,
            of_control: control_point.and_then(|point| ratio(runs, &point, seed)),
        })
    };
    shared.filter_map(shared_ratio).collect()
}

fn ratio(runs: &[PointRuns], shared: &FsPoint, seed: u64) -> Option<Ratio> {
    let sharing = Sharing::Private;
    let private = FsPoint {
        sharing,
        ..shared.clone()
    };
    let iops = |point: &FsPoint| -> Vec<f64> {
        let point_runs = runs.iter().find(|runs| runs.plan.cell == *point);
        let trials = point_runs.iter().flat_map(|runs| runs.outcomes());
        trials.map(|trial| trial.figures.iops).collect()
    };
    ratio_of_medians(&iops(shared), &iops(&private), seed)
}

pub(crate) fn warnings(spec: &FsSettings, made: &[CreatedFs], cells: &[FsCell]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = cache_warning(cells).into_iter().collect();
    if made.iter().any(|made| made.loop_direct == Some(false)) {
        warnings.push(Warning::new(
            "loop-buffered",
            "the loop devices go through the page cache of the file below".to_owned(),
            "their speed is that of memory and of one thread for each device",
            "put --out on a file system with direct I/O, or name a device",
        ));
    }
    if spec.program.is_none() && spec.max_jobs() as usize > spec.cpus.len() {
        warnings.push(Warning::new(
            "oversubscribed",
            format!("{} jobs run on {} CPUs", spec.max_jobs(), spec.cpus.len()),
            "jobs wait for CPUs, too, so that throughput ends there whatever the file system does",
            "read the numbers of jobs up to the number of CPUs",
        ));
    }
    warnings
}

/// Bytes from the device per byte of a scan, below which the page cache had some of the blocks.
const MIN_DEVICE_SHARE: f64 = 0.9;

fn cache_warning(cells: &[FsCell]) -> Option<Warning> {
    let share = |cell: &FsCell| cell.from_device.map(|share| share.median);
    let is_cached = |cell: &&FsCell| share(cell).is_some_and(|share| share < MIN_DEVICE_SHARE);
    let cached: Vec<&FsCell> = cells.iter().filter(is_cached).collect();
    let (count, first) = (cached.len(), label(&cached.first()?.point));
    Some(Warning::new(
        "cached",
        format!(
            "{count} of the scans read less than 90 % of their bytes from the device, the first {first}"
        ),
        "the page cache kept pages although it was asked to drop them, so that readahead says little",
        "use larger files (--file)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbance::tests;
    use crate::spec::tests::valid_settings;
    use q2c_model::Bytes;
    use q2c_result::fs::{Access, Caching};

    fn runs(fs: FileSystem, sharing: Sharing, iops: f64) -> PointRuns {
        let point = FsPoint {
            fs,
            sharing,
            access: Access::Read,
            caching: Caching::Direct,
            jobs: 2,
            bs: Bytes(4096),
            readahead: None,
        };
        let trial = |n: u32| FsMeasurement {
            figures: FsTrial {
                iops,
                in_flight: Some(0.5 * f64::from(n)),
                from_device: None,
            },
            wall_s: 1.0,
            other_programs: None,
            late_s: 0.0,
        };
        tests::runs(point, (0..3).map(trial).collect())
    }

    #[test]
    fn ratios_are_of_the_private_files_and_stand_beside_the_control() {
        use FileSystem::{Btrfs, Xfs};
        let cell_runs = [
            runs(Xfs, Sharing::Private, 1000.0),
            runs(Xfs, Sharing::Blocks, 900.0),
            runs(Btrfs, Sharing::Private, 1000.0),
            runs(Btrfs, Sharing::Blocks, 250.0),
            runs(Btrfs, Sharing::Same, 100.0),
        ];
        let ratios = ratios(&cell_runs, Some(Xfs), 1);
        let rows = ratios.iter().map(|r| {
            let of_control = r.of_control.map(|c| c.ratio);
            (r.point.fs, r.shared_to_private.ratio, of_control)
        });
        let rows: Vec<_> = rows.collect();
        let wanted = [
            (Xfs, 0.9, None),
            (Btrfs, 0.25, Some(0.9)),
            (Btrfs, 0.1, None),
        ];
        assert_eq!(rows, wanted);
        assert_eq!(cells(&cell_runs)[0].in_flight.median, 0.5);
    }

    #[test]
    fn more_jobs_than_cpus_are_told() {
        let ids = |spec: &FsSettings| -> Vec<String> {
            let warnings = warnings(spec, &[], &[]).into_iter();
            warnings.map(|warning| warning.id).collect()
        };
        let mut spec = valid_settings();
        assert_eq!(ids(&spec), ["oversubscribed"]);
        spec.cpus = vec![0, 1];
        assert!(ids(&spec).is_empty());
    }
}
