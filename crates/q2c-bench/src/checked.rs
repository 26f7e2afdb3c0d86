//! Refuses runs that do not fit their target or its interfaces, before they start.

use crate::stages::unseen_reason;
use crate::trial::SLICE;
use crate::{BenchSettings, Interface};
use q2c_model::Bytes;
use q2c_model::stats::Histogram;
use q2c_result::late::UnseenReason;
use q2c_result::{Target, TargetKind};
use q2c_workbench::workload::Site;

impl BenchSettings {
    /// Refuses `--stages` if the block layer sees the I/O of none of the interfaces.
    pub fn check_stages(&self, site: &Site) -> Result<(), String> {
        let engines = self.axes.engines().iter();
        let reasons = engines.map(|name| unseen_reason(&name.parse().ok()?, site));
        let reasons: Option<Vec<UnseenReason>> = reasons.collect();
        let reasons = reasons.filter(|_| self.stages).unwrap_or_default();
        let Some(reason) = reasons.first() else {
            return Ok(());
        };
        let reason = match reason {
            UnseenReason::NoDevice => "no block device stands under it",
            _ => "its I/O does not go through the block layer",
        };
        Err(format!(
            "capture the block layer under {} for --stages: {reason}; name a block device or a file on \
             one, and an engine that reads it, or leave --stages out",
            self.target()
        ))
    }

    /// Refuses trials whose histograms do not fit into `free` memory: each job has one for every
    /// slice. A simulated machine may have many more jobs than this one has memory for.
    pub fn check_memory(&self, free: Option<Bytes>) -> Result<(), String> {
        let jobs = self.axes.jobs.iter().max().copied().unwrap_or(1);
        let phases = if self.phases {
            self.axes.background.len().max(1)
        } else {
            1
        };
        let slices = (self.warm_up + self.seconds) / SLICE.as_secs_f64() * phases as f64;
        let needed = Bytes((f64::from(jobs) * slices) as u64 * Histogram::BYTES.0);
        match free.filter(|free| *free < needed) {
            Some(free) => Err(format!(
                "keep the latencies of {jobs} jobs for {} s: expected {needed} of free memory, found {free}; name fewer \
                 --jobs or --seconds",
                slices * SLICE.as_secs_f64()
            )),
            None => Ok(()),
        }
    }

    /// Refuses interfaces that need a file if the target is simulated, and those whose costs the
    /// simulated machine does not have.
    pub fn check_simulated(&self, target: &Target) -> Result<(), String> {
        let interfaces = self.interfaces()?;
        let mut engines = interfaces.iter().filter_map(Interface::engine);
        let known = engines.try_for_each(|engine| engine.check_costs(self.machine.as_ref()));
        known.map_err(|error| error.to_string())?;
        let needs_file = |name: &&String| match name.parse() {
            Ok(Interface::Engine(engine)) => engine.needs_file(),
            Ok(Interface::Spdk) => true,
            Err(_) => false,
        };
        match self.axes.engines().iter().find(needs_file) {
            Some(name) if target.kind == TargetKind::Simulated => Err(format!(
                "bench {} with --engine {name}: a simulated device is its own engine, and {name} needs a file or \
                 device; drop --engine, or name another target",
                self.target()
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use q2c_engine::TimeSource;
    use q2c_host::Roots;
    use q2c_host::block::{Disk, TargetDisk};
    use q2c_model::DevId;
    use q2c_policy::Method;
    use q2c_result::bench::BenchPoint;
    use q2c_run::arguments::from_words;
    use q2c_run::run_dir::CheckedPlan;

    pub(crate) fn settings(words: &str) -> BenchSettings {
        let mut settings: BenchSettings = from_words(words).unwrap();
        if settings.cpus.is_empty() {
            settings.cpus.push(0);
        }
        settings
    }

    /// 1,024 jobs and 100 s, 400 slices of each, with 3,776 counts of 8 bytes: 12.4 GB.
    #[test]
    fn histograms_must_fit_into_memory() {
        let plan = settings("sim:50us --jobs 1,1024 --seconds 99s --warm-up 1s");
        let needed = 1_024 * 400 * 3_776 * 8;
        assert_eq!(plan.check_memory(Some(Bytes(needed))), Ok(()));
        assert_eq!(plan.check_memory(None), Ok(()));
        let error = plan.check_memory(Some(Bytes(needed - 1))).unwrap_err();
        assert!(error.contains("1024 jobs for 100 s"), "{error}");
    }

    #[test]
    fn each_field_is_checked() {
        let good = || settings("sim:50us -e sim:50us -m interrupt --precision 3%");
        assert_eq!(good().check(), Ok(()));
        type Spoil = fn(&mut BenchSettings);
        let spoilt: [(&str, Spoil); 17] = [
            ("engine", |s| {
                s.axes.engine = Some(vec!["null".to_owned(); 2])
            }),
            ("method", |s| s.axes.method = vec![Method::POLL; 2]),
            ("seconds", |s| s.seconds = -1.0),
            ("seconds", |s| s.seconds = f64::NAN),
            ("warm_up_seconds", |s| s.warm_up = 1e300),
            ("trials", |s| s.trials = u32::MAX),
            ("seed", |s| s.run.seed = u64::MAX),
            ("cpus", |s| s.cpus.clear()),
            ("precision", |s| s.precision = Some(f64::NAN)),
            ("rate", |s| s.rate = Some(0.0)),
            ("rate", |s| s.rate = Some(9.9 / s.seconds)),
            ("budget_s", |s| s.budget_s = Some(f64::NAN)),
            ("engine", |s| s.axes.engine = Some(vec!["magic".to_owned()])),
            ("method", |s| s.axes.method.clear()),
            ("jobs", |s| s.axes.jobs = vec![u32::MAX]),
            ("depth", |s| s.axes.depth = vec![0]),
            ("background", |s| {
                s.axes.background.resize_with(2, Default::default)
            }),
        ];
        for (field, spoil) in spoilt {
            let mut spec = good();
            spoil(&mut spec);
            let fault = spec.check().unwrap_err().to_string();
            assert!(fault.starts_with(field), "{field}: {fault}");
        }
    }

    pub(crate) fn point(words: &str) -> BenchPoint {
        settings(words).axes.points().remove(0)
    }

    pub(crate) fn site(disk: Option<&str>) -> Site {
        let disk = disk.map(|name| Disk {
            name: name.to_owned(),
            dev: DevId::default(),
            dir: "/nowhere".into(),
        });
        Site {
            roots: Roots::live(),
            target_disk: disk.map(|disk| TargetDisk {
                disk,
                partition: None,
                below: Vec::new(),
                unproved: Vec::new(),
            }),
            idle_busy_cpus: 0.0,
            time: TimeSource::default(),
        }
    }

    /// If one interface can be seen, the points of the others say why they have no stages.
    #[test]
    fn stages_are_refused_where_no_interface_can_be_seen() {
        let check = |options: &str, disk| settings(options).check_stages(&site(disk));
        let disk = Some("vda");
        let two = "d --stages -e io_uring,libaio";
        assert_eq!(check(two, disk), Ok(()));
        assert_eq!(check("d -e io_uring,libaio", None), Ok(()));
        let without = check(two, None).unwrap_err();
        assert!(without.contains("no block device"), "{without}");
        let mixed = "d --stages -e io_uring_cmd,libaio,null";
        assert_eq!(check(mixed, disk), Ok(()));
        for engines in ["io_uring_cmd,null", "spdk", "sim:50us"] {
            let options = format!("d --stages -e {engines}");
            let past = check(&options, disk).unwrap_err();
            assert!(past.contains("through the block layer"), "{past}");
        }
    }
}
