//! Job files as people write them. The expected values are derived by hand from fio's manual.

use q2c_bench::fio::{FioJob, FioJobFile, Size, Topic, read};
use q2c_model::Bytes;
use q2c_policy::Method;

fn file(text: &str) -> FioJobFile {
    let variable = |name: &str| (name == "DEVICE").then(|| "/dev/nvme1n1".to_owned());
    read(text.as_bytes(), &variable).expect("a job file")
}

fn refusals(text: &str) -> Vec<(usize, String)> {
    let refused = file(text).refused.into_iter();
    refused.map(|r| (r.line, r.option)).collect()
}

/// A file in the manner of vendors' test plans: first the defaults, then one job after the other.
const COMPARISON: &str = "\
; 4 KiB random reads, three interfaces
[global]
filename=/dev/nvme0n1
rw=randread
bs=4k
direct=1
runtime=30
ramp_time=5s
time_based
group_reporting
norandommap=1
cpus_allowed=0-3

[libaio-qd32]
stonewall
ioengine=libaio
iodepth=32
numjobs=4

[uring-polled]   # the device is asked
stonewall
ioengine=io_uring
hipri
fixedbufs=1
registerfiles=1
iodepth=128
size=50%

[sync]
wait_for_previous
ioengine=pvsync2
iodepth=8
";

#[test]
fn a_comparison() {
    let file = file(COMPARISON);
    let common = FioJob {
        rw: "randread".parse().ok(),
        bs: Some(Bytes(4096)),
        depth: Some(1),
        jobs: Some(1),
        target: Some("/dev/nvme0n1".to_owned()),
        seconds: Some(30.0),
        warm_up: Some(5.0),
        cpus: Some(vec![0, 1, 2, 3]),
        ..FioJob::default()
    };
    let expected = [
        FioJob {
            name: "libaio-qd32".to_owned(),
            line: 14,
            group: 0,
            engine: Some("libaio".to_owned()),
            method: Some(Method::INTERRUPT),
            depth: Some(32),
            jobs: Some(4),
            ..common.clone()
        },
        FioJob {
            name: "uring-polled".to_owned(),
            line: 20,
            group: 1,
            engine: Some("io_uring:iopoll".to_owned()),
            method: Some(Method::POLL),
            depth: Some(128),
            size: Some(Size::Percent(50)),
            ..common.clone()
        },
        FioJob {
            name: "sync".to_owned(),
            line: 29,
            group: 2,
            engine: Some("pvsync2".to_owned()),
            method: Some(Method::INTERRUPT),
            ..common
        },
    ];
    assert_eq!(file.jobs, expected);
    assert_eq!(file.refused, []);
    let not_needed = file.not_needed.iter();
    let not_needed: Vec<_> = not_needed.map(|r| (r.line, r.option.as_str())).collect();
    // Each remark appears once, although three jobs inherit the options. q2c pins threads where fio
    // lets them move.
    let wanted = [
        (9, "time_based"),
        (10, "group_reporting"),
        (11, "norandommap"),
        (12, "cpus_allowed"),
        (32, "iodepth"),
    ];
    assert_eq!(not_needed, wanted);
}

/// SQPOLL, a rate, a variable, kb_base, and a second global section that only later jobs see.
const PECULIAR: &str = "\
[global]
ioengine=io_uring
direct=1
rw=randwrite
kb_base=1000
filename=${DEVICE}
[a]
bs=4kib,8kib
sqthread_poll=1
sqthread_poll_cpu=3
rate_iops=,2k
rate_process=poisson
[global]
blocksize=64k
buffered=0
[b]
kb_base=1024
size=1g
bs=,16k
sqthread_poll=1
hipri=1
[c]
readwrite=read
timeout=1m
bs=0x2000
size=10m
";

#[test]
fn peculiar_things() {
    let file = file(PECULIAR);
    let [a, b, c] = &file.jobs[..] else {
        panic!("{file:#?}");
    };
    assert_eq!(a.target.as_deref(), Some("/dev/nvme1n1"));
    assert_eq!((a.bs, a.rate), (Some(Bytes(8192)), Some(2000.0)));
    assert_eq!(a.method, Some(Method::SqPoll));
    assert_eq!(a.helper_cpu, Some(3));
    assert_eq!(b.bs, Some(Bytes(16384)));
    assert_eq!(b.size, Some(Size::Bytes(Bytes(1 << 30))));
    assert_eq!(b.method, Some(Method::SqPollIoPoll));
    assert_eq!(c.rw, "read".parse().ok());
    assert_eq!((c.seconds, c.bs), (Some(60.0), Some(Bytes(8192))));
    assert_eq!(c.size, Some(Size::Bytes(Bytes(10_000_000))));
    assert_eq!((a.group, b.group, c.group), (0, 0, 0));
    // The 64000 bytes of the second global section apply to no job.
    assert_eq!(file.refused, []);
}

/// fio's manual: rwmixread is 50 by default, of both shares the last one counts, and theta of zipf
/// is 1.1 by default.
#[test]
fn mixes_hot_blocks_and_flushes_are_patterns() {
    let plain = "[j]\nioengine=libaio\ndirect=1\n";
    for (lines, pattern) in [
        ("rw=randrw", "randrw:50"),
        ("rw=readwrite\nrwmixread=70", "rw:70"),
        ("rw=randrw\nrwmixread=10\nrwmixwrite=20", "randrw:80"),
        ("rw=randread\nrwmixread=10\nfdatasync=1", "randread"),
        (
            "rw=randread\nrandom_distribution=zipf:1.2",
            "randread:zipf=1.2",
        ),
        (
            "rw=randrw\nrandom_distribution=zipf\nfdatasync=4",
            "randrw:50:zipf=1.1:fdatasync=4",
        ),
        ("rw=write\nbs=4k,8k\nfdatasync=0", "write"),
    ] {
        let file = file(&format!("{plain}{lines}\n"));
        assert_eq!(file.refused, [], "{lines}");
        assert_eq!(file.jobs[0].rw, pattern.parse().ok(), "{lines}");
    }
}

#[test]
fn what_would_change_the_meaning_is_refused_with_its_line() {
    let plain = "[j]\nioengine=libaio\ndirect=1\n";
    for (line, topic) in [
        ("rw=randtrim", Some(Topic::Rw)),
        ("rw=randrw\nrwmixread=101", Some(Topic::Rw)),
        ("rw=rw\nbs=4k,8k", Some(Topic::Bs)),
        ("rw=rw\nrate_iops=1k", Some(Topic::Rate)),
        ("rw=randread:8", Some(Topic::Rw)),
        ("bssplit=4k/50:8k/50", None),
        ("bs=1000", Some(Topic::Bs)),
        ("bs=4q", Some(Topic::Bs)),
        ("iodepth=4096", Some(Topic::Depth)),
        ("numjobs=0", Some(Topic::Jobs)),
        ("filename=/dev/a:/dev/b", Some(Topic::Target)),
        ("directory=/mnt", Some(Topic::Target)),
        ("size=0%", Some(Topic::Size)),
        ("runtime=soon", Some(Topic::Seconds)),
        ("ramp_time=2w", Some(Topic::WarmUp)),
        ("rate_iops=1k", Some(Topic::Rate)),
        ("cpus_allowed=3-1", Some(Topic::Cpus)),
        ("verify=crc32c", None),
        ("fsync=1", None),
        ("iodepth_batch=16", None),
        (
            "rw=randread\nrandom_distribution=pareto:0.2",
            Some(Topic::Rw),
        ),
        (
            "rw=randread\nrandom_distribution=zipf:1.2:0.5",
            Some(Topic::Rw),
        ),
        ("hipri", None),
        ("nosuch=1", None),
        ("direct=0", None),
        ("buffered=1", None),
        ("kb_base=7\niodepth=1k", Some(Topic::Depth)),
    ] {
        let file = file(&format!("{plain}{line}\n"));
        let lines = 3 + line.lines().count();
        let remarks: Vec<_> = file.refused.iter().map(|r| (r.line, r.topic)).collect();
        assert_eq!(remarks, [(lines, topic)], "{line}");
    }
    assert_eq!(refusals(plain), []);
    let lacks = |option: &str| (2, format!("[j] without {option}"));
    let both = [lacks("ioengine"), lacks("direct")];
    assert_eq!(refusals("[global]\n[j]\n"), both);
    // The contents of buffers matter only to a job that writes.
    assert_eq!(refusals(&format!("{plain}zero_buffers\n")), []);
    let zero = refusals(&format!("{plain}rw=write\nzero_buffers\n"));
    assert_eq!(zero, [(5, "zero_buffers".to_owned())]);
    let several = "[j]\nioengine=io_uring\ndirect=1\nnumjobs=2\n";
    let several = format!("{several}sqthread_poll\nsqthread_poll_cpu=1\n");
    assert_eq!(refusals(&several), [(6, "sqthread_poll_cpu".to_owned())]);
}

#[test]
fn a_text_that_is_no_job_file_says_where() {
    for (text, line, word) in [
        ("", 1, "no job"),
        ("[global]\nrw=read\n", 1, "no job"),
        ("\nrw=read\n[a]\n", 2, "before the first section"),
        ("[a]\n[b\n", 2, "in [ ]"),
        ("[a]\n= 3\n", 2, "OPTION=VALUE"),
        ("[a]\nrw read\n", 2, "OPTION=VALUE"),
        ("[a]\ninclude other.fio\n", 2, "include"),
        ("[a]\n\nfilename=${NOPE}/x\n", 3, "NOPE"),
        ("[a]\nnumjobs=$ncpus\n", 2, "${VARIABLE}"),
    ] {
        let error = read(text.as_bytes(), &|_| None).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.reason.contains(word), "{text}: {error}");
    }
    let error = read(b"[a]\n\xff\xfe\n", &|_| None).expect_err("other bytes");
    assert_eq!(error.line, 2);
}

#[test]
fn a_file_from_elsewhere_has_other_line_ends() {
    let unix = file("[a]\nioengine=libaio\ndirect=1\nbs=8k\n");
    let dos = file("[a]\r\nioengine=libaio\r\ndirect=1\r\nbs=8k\r\n");
    assert_eq!(unix, dos);
}
