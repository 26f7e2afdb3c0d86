//! A shell script takes the place of the program, so that no SPDK device is needed.

use super::*;
use crate::checked::tests::settings;
use crate::mode::effective_mode;
use crate::spec::setups;
use crate::{Abilities, BenchSettings, Media};
use q2c_engine::Medium;
use q2c_engine::spdk::{SpdkPerf, user_driver};
use q2c_host::Roots;
use q2c_model::{Bytes, CpuId};
use q2c_result::mode::Evidence;
use q2c_sys::Clock;
use q2c_workbench::workload::Site;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Mean, p50, p99 and p99.9 of the latencies, ns.
fn figures(trial: &BenchTrial) -> [f64; 4] {
    let lats = &trial.latencies;
    [lats.mean_ns, lats.p50_ns, lats.p99_ns, lats.p999_ns]
}

fn core(percentiles: &[(f64, f64)]) -> SpdkPercentiles {
    SpdkPercentiles {
        worker: "a core".to_owned(),
        percentiles: percentiles.to_vec(),
    }
}

/// Readings of a program that sets up for a second at half a CPU, then polls for one at a whole
/// CPU.
fn life() -> Vec<CpuSample> {
    let start = Instant::now();
    let look = |n: u64| CpuSample {
        at: start + READ_INTERVAL * n as u32,
        program_cpu: Nanos::from_millis(n * 50 + n.saturating_sub(10) * 50),
        cpu: None,
    };
    (0..=20).map(look).collect()
}

#[test]
fn its_cpu_is_that_of_the_time_in_which_it_polls() {
    let result = SpdkResult {
        iops: 1000.5,
        mib_s: 4.0,
        avg_us: 20.0,
        min_us: 1.0,
        max_us: 90.0,
        workers: 2,
        latencies: vec![
            core(&[(50.0, 10.0), (99.0, 40.0), (99.9, 50.0)]),
            core(&[(50.0, 30.0), (99.5, 35.0), (99.99, 90.0)]),
        ],
    };
    let trial = to_trial(&result, 1.0, &life()).unwrap();
    assert_eq!((trial.ios, trial.wall_s), (1001, 1.0));
    assert_eq!(figures(&trial), [20e3, 30e3, 40e3, 90e3]);
    assert!((trial.job_cpu_s - 1.0).abs() < 1e-9, "{}", trial.job_cpu_s);
    assert_eq!((trial.busy_s, trial.interrupts), (None, None));
}

#[test]
fn a_program_is_run_watched_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let stand = Stand::new(dir.path());
    let spec = spec("interrupt,poll", "1,2");
    let media = stand.media();
    let (setups, left_out) = setups(&spec, Abilities::default(), &media).unwrap();
    let reasons: Vec<&str> = left_out.iter().map(|left| left.reason.as_str()).collect();
    assert_eq!(setups.len(), 1, "{reasons:?}");
    assert!(reasons[0].contains("no other method"), "{reasons:?}");
    assert!(reasons[2].contains("one thread on each CPU"), "{reasons:?}");
    let site = Site::without_disk(stand.roots, Clock::MONOTONIC);
    let place = TrialPlace {
        media: &media,
        span: Bytes(0),
        cpus: &[CpuId(0)],
        site: &site,
        spec: &spec,
        stop: &AtomicBool::new(false),
    };
    let Ok(trial) = place.run_trial(&setups[0], 1) else {
        panic!("no trial");
    };
    let [trial] = trial.try_into().expect("one phase");
    assert_eq!((trial.ios, trial.wall_s), (135_405, 1.0));
    let wanted = [236_310.0, 230_400.0, 608_329.0, 1_763_474.0];
    assert_eq!(figures(&trial), wanted);
    // The script spins for about a second; its CPU time depends on what else runs on this machine.
    assert!(trial.job_cpu_s > 0.02 && trial.job_cpu_s < 1.3, "{trial:?}");
    let mode = effective_mode(&setups[0], &[&trial]);
    let through = |evidence: &Evidence| match evidence {
        Evidence::Through(way) => way.split(',').next() == Some("0000:04:00.0 on vfio-pci"),
        _ => false,
    };
    assert!(mode.proof.iter().any(through), "{mode:?}");
}

const ADDRESS: &str = "0000:04:00.0";
/// The script's fourth argument is the block size, the sixth the pattern, and the eighth the
/// seconds.
const SCRIPT: &str = r#"#!/bin/sh
[ "$4 $6 $8" = "4096 randread 1" ] || exit 9
sleep 0.3
end=$(($(date +%s%N) + 1100000000))
while [ $(date +%s%N) -lt $end ]; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done
cat <<END
Device Information                     :       IOPS      MiB/s    Average        min        max
PCIE (0000:04:00.0) NSID 1 from core  0:  135405.05     528.93     236.31      19.03    1761.46
Total                                  :  135405.05     528.93     236.31      19.03    1761.46

Summary latency data for PCIE (0000:04:00.0) NSID 1                  from core 0:
 50.00000% :   230.400us
 99.00000% :   608.329us
 99.90000% :  1763.474us
END
"#;

/// A sysfs with a controller on a user-space driver, and the script.
struct Stand {
    roots: Roots,
    perf: SpdkPerf,
}

impl Stand {
    fn new(dir: &Path) -> Self {
        let device = dir.join("sys/bus/pci/devices").join(ADDRESS);
        fs::create_dir_all(&device).unwrap();
        symlink("../../drivers/vfio-pci", device.join("driver")).unwrap();
        let program = dir.join("spdk_nvme_perf");
        fs::write(&program, SCRIPT).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let roots = Roots {
            sys: dir.join("sys"),
            ..Roots::live()
        };
        let perf = SpdkPerf::from_path(program).unwrap();
        Stand { roots, perf }
    }

    fn media(&self) -> Media {
        Media {
            spdk: Ok(SpdkSite {
                perf: self.perf.clone(),
                address: ADDRESS.to_owned(),
                driver: user_driver(&self.roots.sys, ADDRESS).unwrap(),
            }),
            ..Media::without_nvme(Medium::None)
        }
    }
}

pub(crate) fn spec(methods: &str, jobs: &str) -> BenchSettings {
    let options = format!("{ADDRESS} -e spdk -m {methods} -j {jobs} --seconds 0.5 --trials 1");
    BenchSettings {
        warm_up: 0.0,
        ..settings(&options)
    }
}

#[test]
fn what_is_missing_is_no_number() {
    assert!(max_percentile(&[core(&[(50.0, 1.0)])], 99.0).is_err());
    assert!(max_percentile(&[], 50.0).is_err());
    assert!(busiest_stretch(&life(), 2.5).is_none());
}
