//! Recordings of classic polling in the run folder: `trace-BS.parquet`, then
//! `polled-BS-ROUND.parquet`.

use super::Tune;
use super::think::with_gap;
use itertools::Itertools;
use q2c_engine::{LaneData, Sample};
use q2c_model::facts::THINK_CPU;
use q2c_model::{Bytes, DevId, Exit, Fault, IoRecord, Layer, Nanos, OrFault, Sectors, TraceMeta};
use q2c_result::TargetKind;
use q2c_run::run_dir::RunDir;
use q2c_sim::LaneRecording;
use q2c_trace::{Scan, TraceError, TraceReader, TraceWriter};
use q2c_workbench::workload::{StageId, Stages, Step, WorkloadRun};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// Time at the start that is not recorded, because the first I/Os are not like the others.
pub(super) const WARM_UP: Nanos = Nanos::from_millis(200);

pub(super) struct RecordingSpec {
    pub bs: Bytes,
    pub seconds: f64,
    pub gap_cpu: Option<Nanos>,
}

/// Records polling into the run folder's file `name`, or reads that file. One recording per lane.
pub(super) fn recording(
    tune: &Tune<'_>,
    folder: &RunDir,
    name: &str,
    spec: &RecordingSpec,
) -> Result<Vec<LaneRecording>, Fault> {
    let path = folder.path().join(name);
    if !path.exists() {
        let length = Nanos::from_secs_f64(spec.seconds);
        let mut stages = Stages::default();
        stages.push(Step::POLL, WARM_UP);
        let recorded = stages.push(Step::POLL, length);
        let seed = tune.spec.workload.run.seed;
        let watched = tune.workload.run(spec.bs, &stages, seed, None, tune.stop);
        let watched = watched.or_exit(Exit::Environment)?;
        if let Some(fault) = watched.fault {
            return Err(Fault::new(Exit::Device, fault));
        }
        if watched.data.stopped || tune.stop.load(Ordering::Relaxed) {
            let text = "tune: stopped by a signal before the first trial; finished stages are kept for --resume";
            return Err(Fault::stopped(text));
        }
        let mut lanes = watched.data.lanes.iter();
        if lanes.all(|lane| lane.phase_samples(recorded.index()).is_empty()) {
            let RecordingSpec { bs, seconds, .. } = spec;
            let text = format!(
                "record classic polling at {bs}: expected I/Os in {seconds} s, found none ({} had no room); tune a device whose \
                 I/Os take longer, or with less --think",
                watched.unrecorded()
            );
            return Err(Fault::new(Exit::Target, text));
        }
        store(tune, &watched, recorded, spec, &path).or_exit(Exit::Device)?;
    }
    let batches = read(&path).map_err(|error| {
        let todo = "the file was changed by other hands, or the disk lost data: start a new run";
        Fault::new(Exit::Input, format!("{error}; {todo}")).with_source(error)
    })?;
    let lanes = LaneRecording::from_records(&batches.concat()).or_exit(Exit::Input)?;
    Ok(with_gap(lanes, spec.gap_cpu))
}

fn read(path: &Path) -> Result<Vec<Vec<IoRecord>>, TraceError> {
    TraceReader::open(path)?.records(&Scan::new())?.collect()
}

fn store(
    tune: &Tune<'_>,
    watched: &WorkloadRun,
    stage: StageId,
    spec: &RecordingSpec,
    path: &Path,
) -> Result<(), TraceError> {
    let time = &tune.workload.site.time;
    let since_start = time.now() - watched.data.start_ns;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = now.filter(|_| time.world().is_none());
    let meta = TraceMeta {
        start_unix_ns: now.map(|now| now.as_nanos() as u64 - since_start),
        clock: time.name().to_owned(),
        lost: watched.unrecorded(),
        facts: facts(tune, watched, spec),
        source: "q2c".to_owned(),
        source_version: env!("CARGO_PKG_VERSION").to_owned(),
        file: (tune.target.kind == TargetKind::File).then(|| tune.target.path.clone()),
        ..TraceMeta::default()
    };
    let mut writer = TraceWriter::create(path, meta)?;
    let origin = watched.data.start_ns;
    let mut records: Vec<IoRecord> = Vec::new();
    for (lane, data) in watched.data.lanes.iter().enumerate() {
        let samples = data.phase_samples(stage.index()).iter();
        records.extend(samples.map(|sample| io_record(tune, sample, origin, spec.bs, lane as u32)));
    }
    records.sort_by_key(|r| r.submit_ns);
    for (record, id) in records.iter_mut().zip(0..) {
        record.id = id;
    }
    writer.push(&records)?;
    writer.finish()?;
    Ok(())
}

fn facts(tune: &Tune<'_>, watched: &WorkloadRun, spec: &RecordingSpec) -> BTreeMap<String, String> {
    let (machine, workload) = (tune.machine, tune.workload);
    let first = watched.data.lanes.first();
    let path = first.map_or("", |lane| lane.facts.polls_by.text());
    let facts = [
        ("kernel", machine.kernel.clone()),
        ("cpu_model", machine.cpu_model.clone().unwrap_or_default()),
        ("target", tune.target.path.clone()),
        ("engine", workload.engine.to_string()),
        ("method", "poll".to_owned()),
        ("path", path.to_owned()),
        ("pattern", workload.pattern.to_string()),
        ("block_size", spec.bs.to_string()),
        ("cpus", workload.cpus.iter().join(", ")),
    ];
    let think = tune.spec.think.map(|think| ("think", think.to_string()));
    let gap_cpu = spec.gap_cpu.map(|cpu| (THINK_CPU, cpu.0.to_string()));
    let facts = facts.into_iter().chain(think).chain(gap_cpu);
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    let background = workload.background.iter().enumerate();
    let background = background.map(|(n, job)| (format!("background_{n}"), job.to_string()));
    facts.chain(background).collect()
}

fn io_record(tune: &Tune<'_>, sample: &Sample, origin: u64, bs: Bytes, lane: u32) -> IoRecord {
    let device = tune.target.device.as_ref();
    let device = device.map_or_else(DevId::default, |device| device.dev);
    let submit = sample.submit_ns - origin;
    let sector = Sectors(sample.offset / Sectors::SIZE);
    IoRecord {
        lane,
        submit_ns: Some(Nanos(submit)),
        submit_end_ns: Some(Nanos(submit + u64::from(sample.submit_len_ns))),
        reap_ns: Some(Nanos(sample.reaped_ns() - origin)),
        cpu_submit: Some(tune.workload.cpus[lane as usize].0),
        error: Some(sample.result.min(0)),
        ..IoRecord::new(0, Layer::User, device, sample.op(), sector, bs)
    }
}

/// The polled I/Os as the simulator replays them. If the lane `thinks`, the last I/O of a stage
/// also has its think time, up to the first I/O of the next stage.
pub(super) fn collect(
    lane: &LaneData,
    stages: &[StageId],
    bs: Bytes,
    thinks: bool,
) -> LaneRecording {
    let mut recording = LaneRecording::default();
    for &stage in stages {
        let Some(phase) = lane.phases.get(stage.index()) else {
            continue;
        };
        let end = lane.samples.len();
        let last = if thinks { end } else { phase.samples.end };
        let samples = &lane.samples[phase.samples.start..last];
        for (n, sample) in samples.iter().take(phase.samples.len()).enumerate() {
            let reaped = sample.reaped_ns();
            let next = samples.get(n + 1).map_or(reaped, |next| next.submit_ns);
            let gap = next.saturating_sub(reaped) as f32;
            let io = sample.io(bs.0 as u32);
            recording.push(io, sample.submit_len_ns as f32, sample.wait() as f32, gap);
        }
    }
    recording
}
