//! Tests of opening a workbench on simulated devices and on a scratch file, of refused requests,
//! and of the counters of a simulated machine.

use q2c_engine::engines::SimDevice;
use q2c_engine::{EngineSpec, JobPlan, Medium, Pattern, SimMachine};
use q2c_host::Roots;
use q2c_host::target::{SIMULATED_SIZE, Scratch};
use q2c_host::topology::AllowedCpus;
use q2c_model::{Bytes, CpuId, Fault, Nanos};
use q2c_policy::LaneMethod;
use q2c_result::{Exit, TargetKind};
use q2c_workbench::workbench::{Workbench, WorkloadRequest};
use q2c_workbench::workload::{Stages, Step, Workload};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The stop flag of a run, which is never set.
static STOP: AtomicBool = AtomicBool::new(false);

/// Random reads of 4 KiB by one job.
fn reads(target: &str) -> WorkloadRequest {
    let pattern = Pattern::RANDREAD;
    WorkloadRequest {
        machine: Some(SimMachine::default()),
        ..WorkloadRequest::new(target, pattern, vec![Bytes(4096)])
    }
}

fn workload(request: &WorkloadRequest) -> Workload {
    let bench = Workbench::open(&Roots::live(), request, None, &STOP);
    bench.expect("a workbench").workload
}

fn refused(request: &WorkloadRequest) -> Fault {
    Workbench::open(&Roots::live(), request, None, &STOP).expect_err("a refusal")
}

#[test]
fn a_simulated_device_needs_no_file() {
    let bench = Workbench::open(&Roots::live(), &reads("sim:50us"), None, &STOP).unwrap();
    assert!(matches!(bench.workload.medium, Medium::Simulated(_)));
    assert!(matches!(bench.workload.engine, EngineSpec::Sim(_)));
    assert_eq!(bench.workload.span, SIMULATED_SIZE);
    assert_eq!(bench.target.kind, TargetKind::Simulated);
    let names = [bench.target_id.as_str(), &bench.calibration_target];
    assert_eq!(names, ["sim:50us"; 2]);
    assert!(bench.namespace().is_err());
    assert_eq!(bench.keep_scratch(), None);
}

/// Jobs on one target share its simulated device, unless an engine names another one.
#[test]
fn foreground_and_background_share_the_device() {
    let background = |engine: &str| format!("{engine}rw=randread,bs=4k,jobs=2,cpus=0");
    let request = WorkloadRequest {
        jobs: 2,
        background: ["", "engine=sim:2ms,"]
            .map(|e| background(e).parse().unwrap())
            .to_vec(),
        ..reads("sim:1ms")
    };
    let workload = workload(&request);
    let stages = Stages::default();
    let mut jobs = workload.foreground(Bytes(4096), &stages, 1, 0);
    jobs.extend(workload.background_jobs(&stages, 1));
    let device = |job: &JobPlan| match &job.medium {
        Medium::Simulated(devices) => devices.device_for(job.engine.simulates().unwrap()).unwrap(),
        other => panic!("no simulated device: {other:?}"),
    };
    let devices: Vec<Arc<SimDevice>> = jobs.iter().map(device).collect();
    assert_eq!(devices.len(), 6);
    for (n, other) in devices.iter().enumerate() {
        assert_eq!(Arc::ptr_eq(&devices[0], other), n < 4, "job {n}");
        assert_eq!(Arc::ptr_eq(&devices[4], other), n >= 4, "job {n}");
    }
}

/// A background on a simulated device can run beside a foreground on any target.
#[test]
fn a_background_has_a_device_beside_any_target() {
    let request = WorkloadRequest {
        background: vec!["engine=sim:2ms,bs=4k,jobs=2,cpus=0".parse().unwrap()],
        ..reads("null")
    };
    let workload = workload(&request);
    let jobs = workload.background_jobs(&Stages::default(), 1);
    let mut media = jobs.iter().map(|job| &job.medium);
    assert!(media.all(|medium| matches!(medium, Medium::Simulated(_))));
    let absent = WorkloadRequest {
        background: vec!["engine=sim:trace=/nowhere".parse().unwrap()],
        ..reads("null")
    };
    assert_eq!(refused(&absent).exit(), Exit::Input);
}

/// With interrupts an I/O of 1 ms takes 3.6 us more. The CPU is busy for the steps, a switch and
/// the handler: 600 + 1,487 + 1,076 ns. A resting thread wakes every 50 ms. A polling thread is
/// busy all the time.
#[test]
fn a_stages_counters_are_those_of_its_jobs() {
    let bench = Workbench::open(&Roots::live(), &reads("sim:1ms"), None, &STOP).unwrap();
    let mut stages = Stages::default();
    let length = Nanos::from_millis(100);
    let interrupt = stages.push(Step::By(LaneMethod::Interrupt), length);
    let rest = stages.push(Step::Rest, length);
    let poll = stages.push(Step::By(LaneMethod::Poll), length);
    let workload = &bench.workload;
    let watched = workload.run(Bytes(4096), &stages, 1, None, &STOP).unwrap();
    for (stage, interrupts, busy) in [
        (interrupt, 99, 99.0 * 3_163e-9 / 0.1),
        (rest, 0, 0.0),
        (poll, 0, 1.0),
    ] {
        let span = watched.span(stage);
        let seen = span.interrupts.unwrap();
        assert!(seen.abs_diff(interrupts) <= 1, "{span:?}");
        let off = span.busy_cpus.unwrap() - busy;
        assert!(off.abs() < 2e-4, "{off} beside {busy}");
        assert_eq!(span.other_programs, Some(0.0));
        assert_eq!((span.requests, span.bytes), (None, None));
    }
}

#[test]
fn jobs_without_named_cpus_get_allowed_ones_and_background_a_spare_one() {
    let allowed = AllowedCpus::read().unwrap();
    let request = WorkloadRequest {
        jobs: 3,
        background: vec!["rw=randread,bs=32k".parse().unwrap()],
        ..reads("null")
    };
    let workload = workload(&request);
    assert_eq!(workload.cpus.len(), 3);
    assert!(workload.cpus.iter().all(|cpu| allowed.check(*cpu).is_ok()));
    assert_eq!(workload.sampler_cpu, allowed.spare(&workload.cpus, &[]));
    let spare_cpu = workload.sampler_cpu.unwrap_or(workload.cpus[0]);
    assert_eq!(workload.background[0].cpus, [spare_cpu]);
}

#[test]
fn a_scratch_file_may_be_written_and_goes_with_the_workbench() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("scratch.bin");
    let scratch = Scratch::create(&path, Bytes(1 << 20), 1, &mut |_| true).unwrap();
    let mut request = reads(path.to_str().unwrap());
    request.pattern.write_pct = 100;
    let other = refused(&request);
    assert_eq!(other.exit(), Exit::Target, "{other}");
    let bench = Workbench::open(&Roots::live(), &request, Some(scratch), &STOP).unwrap();
    assert!(matches!(bench.workload.medium, Medium::File(_)));
    assert_eq!(bench.workload.engine, EngineSpec::RING);
    assert_eq!(bench.workload.span, Bytes(1 << 20));
    let id = &bench.target_id;
    assert!(id.starts_with("File { dev: "), "{id}");
    assert!(path.exists());
    drop(bench);
    assert!(!path.exists());
}

#[test]
fn the_refusals_have_the_exit_codes_of_their_causes() {
    assert_eq!(refused(&reads("sim:50parsecs")).exit(), Exit::Usage);
    assert_eq!(refused(&reads("/dev/is/not/there")).exit(), Exit::Target);
    let nowhere = WorkloadRequest {
        cpus: vec![CpuId(4095)],
        ..reads("null")
    };
    let error = refused(&nowhere);
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().starts_with("use CPU 4095: "), "{error}");
}

#[test]
fn runs_on_other_cpus_or_by_other_programs_are_told_apart() {
    let bench = Workbench::open(&Roots::live(), &reads("null"), None, &STOP).unwrap();
    let identity = bench.identity(&[CpuId(1), CpuId(0)], "0.1 abc");
    let fact = |name: &str| identity.0[name].clone();
    assert_eq!(fact("cpus"), "1,0");
    assert_eq!([fact("target"), fact("target_id")], ["null", "null"]);
    let other = bench.identity(&[CpuId(1), CpuId(0)], "0.1 abd");
    let names = identity.differences(&other).into_iter().map(|d| d.key);
    assert_eq!(names.collect::<Vec<_>>(), ["q2c"]);
}

#[test]
fn the_machine_is_the_one_that_the_roots_show() {
    let folder = tempfile::tempdir().unwrap();
    let roots = Roots::under(folder.path());
    std::fs::create_dir_all(roots.proc("sys/kernel")).unwrap();
    std::fs::write(roots.proc("sys/kernel/osrelease"), "5.10.0-made\n").unwrap();
    let bench = Workbench::open(&roots, &reads("null"), None, &STOP).unwrap();
    assert_eq!(bench.machine.kernel, "5.10.0-made");
    assert_eq!(bench.workload.site.roots, roots);
}

#[test]
fn interfaces_may_be_chosen_on_a_controller_that_the_kernel_does_not_drive() {
    let mut request = reads("0000:ff:1f.7");
    let bench = Workbench::for_interfaces(&Roots::live(), &request, None, &STOP).unwrap();
    assert_eq!(bench.target.kind, TargetKind::Pci);
    assert_eq!(bench.workload.engine, EngineSpec::Null);
    request.pattern.write_pct = 100;
    let bench = Workbench::for_interfaces(&Roots::live(), &request, None, &STOP);
    let error = bench.expect_err("no leave to write");
    assert_eq!(error.exit(), Exit::Target, "{error}");
    request.allow_write = vec!["0000:ff:1f.7".into()];
    assert!(Workbench::for_interfaces(&Roots::live(), &request, None, &STOP).is_ok());
}
