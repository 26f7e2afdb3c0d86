//! Turns the options of a section into a job.

use crate::fio::lines::FioOption;
use crate::fio::number;
use crate::fio::options::{Reader, Topic};
use q2c_model::{Bytes, Direction, Pattern};
use q2c_policy::Method;

/// The part of the target that a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This many bytes from the start of the target.
    Bytes(Bytes),
    /// This share of the target in percent, 1 to 100.
    Percent(u8),
}

/// One job section. A field is `None` if the file does not state it, or states a refused value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioJob {
    /// Name of the section.
    pub name: String,
    /// Line of the section's head, from 1.
    pub line: usize,
    /// Jobs of one group run at once; the groups follow each other (`stonewall`).
    pub group: usize,
    /// Interface with its options, such as `io_uring:iopoll` or `pvsync2:nowait`.
    pub engine: Option<String>,
    /// Completion method: `interrupt`, `poll`, `sqpoll`, `sqpoll-iopoll`.
    pub method: Option<Method>,
    /// Access pattern.
    pub rw: Option<Pattern>,
    /// Bytes per request.
    pub bs: Option<Bytes>,
    /// Requests in flight for each thread, 1 to 1024.
    pub depth: Option<u16>,
    /// Number of threads, 1 to 1024.
    pub jobs: Option<u32>,
    /// Path of the file or device.
    pub target: Option<String>,
    /// The part of the target that is used; `None` means all of it.
    pub size: Option<Size>,
    /// Measured time, seconds.
    pub seconds: Option<f64>,
    /// Time before the measured time, seconds.
    pub warm_up: Option<f64>,
    /// Submissions of each thread per second, as a Poisson process.
    pub rate: Option<f64>,
    /// CPUs in the order in which threads take them (ascending).
    pub cpus: Option<Vec<u32>>,
    /// CPU of the kernel thread that submits (SQPOLL).
    pub helper_cpu: Option<u32>,
}

/// Most threads of a job, and most requests in flight of each.
const MAX_JOBS_OR_DEPTH: u64 = 1024;

/// Takes every option that it understands from `reader`; [`Reader::finish`] sorts the others.
pub(crate) fn read_job(reader: &mut Reader<'_>, group: usize) -> FioJob {
    let rw = pattern(reader);
    reader.pattern = rw.unwrap_or(Pattern::RANDREAD);
    let bs = block_size(reader);
    let mut job = FioJob {
        name: reader.section.name.clone(),
        line: reader.section.line,
        group,
        rw,
        bs,
        depth: depth(reader),
        jobs: count(reader, "numjobs", Topic::Jobs).map(|n| n as u32),
        seconds: time(reader, "runtime", Topic::Seconds),
        warm_up: time(reader, "ramp_time", Topic::WarmUp),
        target: target(reader),
        size: size(reader),
        rate: rate(reader),
        cpus: cpus(reader),
        ..FioJob::default()
    };
    set_engine(reader, &mut job);
    check_direct(reader, job.engine.as_deref());
    job
}

/// A count of at most [`MAX_JOBS_OR_DEPTH`], which is 1 by default as in fio.
fn count(reader: &mut Reader<'_>, key: &str, topic: Topic) -> Option<u64> {
    if !reader.has(key) {
        return Some(1);
    }
    reader.count(key, MAX_JOBS_OR_DEPTH, topic)
}

fn depth(reader: &mut Reader<'_>) -> Option<u16> {
    if reader.value("ioengine") != Some("pvsync2") {
        return count(reader, "iodepth", Topic::Depth).map(|n| n as u16);
    }
    if let Some(entry) = reader.take("iodepth") {
        let reason = "one call is one request: fio, too, has one in flight with pvsync2";
        reader.not_needed(&entry, reason);
    }
    Some(1)
}

fn pattern(reader: &mut Reader<'_>) -> Option<Pattern> {
    let rw = reader.take("rw");
    let name = rw.as_ref().map_or("read", FioOption::text);
    let known = match name {
        "readwrite" => Ok("rw"),
        name if name.contains(':') => Err("q2c bench has no modifiers of patterns"),
        name => Ok(name),
    };
    let parsed = known.and_then(|name| {
        let unknown =
            "q2c bench has randread, randwrite, randrw, read, write and rw: trims are not here";
        name.parse::<Pattern>().map_err(|_| unknown)
    });
    let mut pattern = match rw {
        Some(entry) => reader.ok(&entry, Topic::Rw, parsed)?,
        None => parsed.ok()?,
    };
    let mixes = ["rwmixread", "rwmixwrite"].map(|key| reader.take(key));
    // Of several the last one counts.
    let last = mixes.into_iter().flatten().max_by_key(|entry| entry.line);
    if let Some(entry) = last.filter(|_| pattern.direction().is_none()) {
        let percent = entry
            .text()
            .parse()
            .ok()
            .filter(|percent| *percent <= 100u8);
        let percent = reader.ok(&entry, Topic::Rw, percent.ok_or("expected 0 to 100"))?;
        pattern.write_pct = match entry.key.as_str() {
            "rwmixwrite" => percent,
            _ => 100 - percent,
        };
    }
    set_distribution(reader, pattern)
}

/// The pattern with its hot blocks and its flushes.
fn set_distribution(reader: &mut Reader<'_>, mut pattern: Pattern) -> Option<Pattern> {
    let entry = reader.take("random_distribution");
    if let Some(entry) = entry.filter(|entry| pattern.random && entry.text() != "random") {
        let theta = entry.text().strip_prefix("zipf").map(|theta| match theta {
            // fio's own default.
            "" => "1.1",
            theta => theta.trim_start_matches(':'),
        });
        let text = format!("{pattern}:zipf={}", theta.unwrap_or_default());
        let reason = "q2c bench has random and zipf:THETA, theta above 0 and at most 10";
        pattern = reader.ok(&entry, Topic::Rw, text.parse().map_err(|_| reason))?;
    }
    with_flushes(reader, pattern)
}

fn with_flushes(reader: &mut Reader<'_>, mut pattern: Pattern) -> Option<Pattern> {
    let entry = reader.take("fdatasync").filter(|_| pattern.writes());
    if let Some(entry) = entry.filter(|entry| entry.text() != "0") {
        let writes = entry
            .text()
            .parse()
            .map_err(|_| "expected a number of writes");
        pattern.fdatasync = Some(reader.ok(&entry, Topic::Rw, writes)?);
    }
    Some(pattern)
}

/// The part of `READS,WRITES,TRIMS` for the job's direction. If it is missing, the last part given
/// counts; an empty part means the default. A mix needs equal parts.
fn part_for_pattern(value: &str, pattern: Pattern) -> Result<&str, &'static str> {
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    let part = |wanted: usize| *parts.get(wanted).unwrap_or(&parts[parts.len() - 1]);
    match pattern.direction() {
        Some(Direction::Read) => Ok(part(0)),
        Some(Direction::Write) => Ok(part(1)),
        None if part(0) == part(1) => Ok(part(0)),
        None => Err("reads and writes of a mix have one value here"),
    }
}

fn block_size(reader: &mut Reader<'_>) -> Option<Bytes> {
    const DEFAULT: Bytes = Bytes(4096);
    let Some(entry) = reader.take("bs") else {
        return Some(DEFAULT);
    };
    let value = entry.text();
    let part = part_for_pattern(value, reader.pattern);
    let size = match reader.ok(&entry, Topic::Bs, part)? {
        "" if value.contains(',') => return Some(DEFAULT),
        text => reader.number(&entry, text, Topic::Bs)?,
    };
    if let Some(align) = reader.take("ba") {
        if align.value.as_deref() == Some(value) {
            reader.not_needed(&align, "offsets are multiples of the block size");
        } else {
            reader.refuse(&align, "offsets are multiples of the block size here", None);
        }
    }
    let sectors = Some(Bytes(size)).filter(|_| size > 0 && size.is_multiple_of(512));
    let reason = || format!("direct I/O needs a multiple of 512 bytes, found {size}");
    reader.ok(&entry, Topic::Bs, sectors.ok_or_else(reason))
}

fn time(reader: &mut Reader<'_>, key: &str, topic: Topic) -> Option<f64> {
    let entry = reader.take(key)?;
    let text = entry.text();
    let reason = || format!("expected a time such as 30, 30s, 2m or 500ms, found `{text}`");
    let seconds = reader.ok(&entry, topic, number::seconds(text).ok_or_else(reason));
    // For fio a runtime of 0 means no limit, as if it were absent; a ramp time of 0 is no ramp.
    seconds.filter(|s| *s > 0.0 || topic == Topic::WarmUp)
}

fn target(reader: &mut Reader<'_>) -> Option<String> {
    if let Some(directory) = reader.take("directory") {
        let reason = "q2c makes no files there: name a target, or --scratch SIZE";
        reader.refuse(&directory, reason, Some(Topic::Target));
    }
    let entry = reader.take("filename")?;
    let value = entry.text();
    // `\:` is a colon in a name; `:` separates names.
    let path = if value.replace("\\:", "").contains(':') {
        Err("q2c bench has one target: name one of these files")
    } else if value.is_empty() {
        Err("expected a path")
    } else {
        Ok(value.replace("\\:", ":"))
    };
    reader.ok(&entry, Topic::Target, path)
}

fn size(reader: &mut Reader<'_>) -> Option<Size> {
    let entry = reader.take("size")?;
    if let Some(percent) = entry.text().strip_suffix('%') {
        let percent: Option<u8> = percent.trim().parse().ok();
        let percent = percent.filter(|p| (1..=100).contains(p)).map(Size::Percent);
        return reader.ok(&entry, Topic::Size, percent.ok_or("expected 1% to 100%"));
    }
    let bytes = reader.number(&entry, entry.text(), Topic::Size)?;
    // In fio, 0 means the whole target.
    (bytes > 0).then_some(Size::Bytes(Bytes(bytes)))
}

fn rate(reader: &mut Reader<'_>) -> Option<f64> {
    let process = reader.take("rate_process");
    let entry = reader.take("rate_iops")?;
    let part = match reader.pattern.direction() {
        None => Err("fio has a rate for each direction of a mix, q2c one for all of its requests"),
        Some(_) => part_for_pattern(entry.text(), reader.pattern),
    };
    let rate = match reader.ok(&entry, Topic::Rate, part)? {
        "" => return None,
        text => reader.number(&entry, text, Topic::Rate)?,
    };
    if rate == 0 {
        return None;
    }
    let poisson = process.is_some_and(|process| process.text() == "poisson");
    let reason = "q2c's open loop is a Poisson process, fio's is linear unless rate_process=poisson is given: add that";
    let rate = poisson.then_some(rate as f64).ok_or(reason);
    reader.ok(&entry, Topic::Rate, rate)
}

fn cpus(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    let policy = reader.take("cpus_allowed_policy");
    let entry = reader.take("cpus_allowed")?;
    let cpus = number::cpus(entry.text()).ok_or("expected CPUs such as 0,5,8-15");
    let cpus = reader.ok(&entry, Topic::Cpus, cpus);
    if cpus.is_some() && policy.is_none_or(|policy| policy.text() != "split") {
        let reason = "cpus_allowed_policy=shared lets fio's jobs move among these CPUs; q2c pins each job to one, as split does";
        reader.not_needed(&entry, reason);
    }
    cpus
}

/// Checks that the job does direct I/O: q2c's I/O never goes through the page cache.
fn check_direct(reader: &mut Reader<'_>, engine: Option<&str>) {
    const BUFFERED_REASON: &str =
        "q2c bench does direct I/O only, this would go through the page cache: write direct=1";
    match reader.take("direct") {
        Some(entry) if matches!(entry.value.as_deref(), None | Some("1")) => {}
        Some(entry) => reader.refuse(&entry, BUFFERED_REASON, None),
        // A character device has no page cache.
        None if engine == Some("io_uring_cmd") => {}
        None => reader.refuse_missing("direct", BUFFERED_REASON, None),
    }
}

/// Sets engine and method. In fio both follow from the ioengine and its options.
fn set_engine(reader: &mut Reader<'_>, job: &mut FioJob) {
    job.method = Some(Method::INTERRUPT);
    let Some(entry) = reader.take("ioengine") else {
        let reason =
            "fio takes psync then, which q2c does not have: name io_uring, libaio or pvsync2";
        return reader.refuse_missing("ioengine", reason, Some(Topic::Engine));
    };
    // fio's libaio has no `hipri` either.
    let hipri = entry.text() != "libaio" && reader.flag("hipri");
    if hipri {
        job.method = Some(Method::POLL);
    }
    match entry.text() {
        "io_uring" => set_ring(reader, job, hipri),
        "libaio" => job.engine = Some("libaio".to_owned()),
        "pvsync2" => set_pvsync2(reader, job),
        "io_uring_cmd" => set_command_ring(reader, job),
        _ => {
            let reason = "q2c bench has io_uring, libaio, pvsync2 and io_uring_cmd";
            reader.refuse(&entry, reason, Some(Topic::Engine));
        }
    }
}

fn set_ring(reader: &mut Reader<'_>, job: &mut FioJob, hipri: bool) {
    refuse_disabled(reader, &["fixedbufs", "registerfiles", "nonvectored"]);
    let helper = reader.flag("sqthread_poll");
    let (engine, method) = match (helper, hipri) {
        (true, true) => ("io_uring", Method::SqPollIoPoll),
        (true, false) => ("io_uring", Method::SqPoll),
        // With hipri, polling asks the device instead of only reading the completion ring.
        (false, true) => ("io_uring:iopoll", Method::POLL),
        (false, false) => ("io_uring", Method::INTERRUPT),
    };
    (job.engine, job.method) = (Some(engine.to_owned()), Some(method));
    let Some(entry) = reader.take("sqthread_poll_cpu") else {
        return;
    };
    if !helper {
        return reader.not_needed(&entry, "it has no effect without sqthread_poll");
    }
    match number::cpus(entry.text()).as_deref() {
        Some([cpu]) if job.jobs == Some(1) => job.helper_cpu = Some(*cpu),
        Some([_]) => {
            let reason = "fio puts the submitting threads of all jobs on this one CPU; q2c gives each its own: leave it out";
            reader.refuse(&entry, reason, Some(Topic::Cpus));
        }
        _ => reader.refuse(&entry, "expected one CPU", Some(Topic::Cpus)),
    }
}

/// Refuses options that turn off features which q2c's rings always have.
fn refuse_disabled(reader: &mut Reader<'_>, keys: &[&str]) {
    for key in keys {
        if let Some(entry) = reader.take(key).filter(|entry| entry.text() == "0") {
            let reason = "q2c's rings always have registered files and buffers";
            reader.refuse(&entry, reason, Some(Topic::Engine));
        }
    }
}

fn set_pvsync2(reader: &mut Reader<'_>, job: &mut FioJob) {
    let mut options = Vec::new();
    if reader.flag("nowait") {
        options.push("nowait");
    }
    if let Some(entry) = reader.take("sync") {
        match entry.text() {
            "none" | "0" => {}
            "sync" | "1" => options.push("sync"),
            "dsync" => options.push("dsync"),
            _ => reader.refuse(&entry, "expected none, sync or dsync", None),
        }
    }
    job.engine = Some(match &options[..] {
        [] => "pvsync2".to_owned(),
        options => format!("pvsync2:{}", options.join(",")),
    });
}

fn set_command_ring(reader: &mut Reader<'_>, job: &mut FioJob) {
    refuse_disabled(reader, &["fixedbufs", "registerfiles", "nonvectored"]);
    let kind = reader.take("cmd_type");
    if let Some(entry) = kind.filter(|kind| kind.text() != "nvme") {
        reader.refuse(&entry, "q2c has NVMe commands only", None);
    }
    job.engine = Some("io_uring_cmd".to_owned());
}
