//! Tests of options combined with a fio job file.

use q2c_bench::BenchSettings;
use q2c_bench::fio::{FioSelection, read_selection};
use q2c_bench::job_file::JobFileExtras;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_run::arguments::from_words;

fn filled(text: &str, words: &str) -> Result<BenchSettings, String> {
    filled_with_extras(text, words).map(|(settings, _)| settings)
}

fn filled_with_extras(text: &str, words: &str) -> Result<(BenchSettings, JobFileExtras), String> {
    let mut settings: BenchSettings = from_words(words).expect("arguments");
    let selection = FioSelection {
        sections: &settings.section,
        ignore: &settings.ignore,
    };
    let file = read_selection(text.as_bytes(), &|_| None, selection);
    let file = file.map_err(|error| error.to_string())?;
    let extras = settings.fill_from(&file)?;
    Ok((settings, extras))
}

const TWO: &str = "\
[global]
direct=1
rw=randread
filename=/dev/a
runtime=7
[one]
ioengine=libaio
iodepth=32
[two]
stonewall
ioengine=io_uring
numjobs=2
";

/// Two sections make two points, not every combination of their values.
#[test]
fn sections_are_points() {
    let settings = filled(TWO, "").expect("runnable");
    let points = settings.points.iter();
    let points: Vec<_> = points
        .map(|p| (p.engine.as_str(), p.jobs, p.depth))
        .collect();
    assert_eq!(points, [("libaio", 1, 32), ("io_uring", 2, 1)]);
    for p in &settings.points {
        let common = (&p.method, p.bs, p.rw.as_str());
        assert_eq!(common, (&Method::INTERRUPT, Bytes(4096), "randread"));
    }
    assert_eq!(settings.target.as_deref(), Some("/dev/a"));
    assert_eq!(settings.seconds, 7.0);
    assert_eq!((settings.rate, settings.warm_up), (None, 1.0));
}

#[test]
fn options_win() {
    let options = "/dev/b --engine pvsync2 --depth 1 --jobs 1,4 --seconds 2";
    let settings = filled(TWO, options).expect("runnable");
    // Both sections now make the same point, with two numbers of jobs. So the axes alone describe
    // all points.
    assert_eq!(settings.points, []);
    let axes = &settings.axes;
    assert_eq!(axes.engines(), ["pvsync2"]);
    assert_eq!((&axes.jobs, &axes.depth), (&vec![1, 4], &vec![1]));
    assert_eq!(settings.target.as_deref(), Some("/dev/b"));
    assert_eq!(settings.seconds, 2.0);
    // A typed option replaces a value of the file that q2c does not support.
    let psync = TWO.replace("ioengine=libaio", "ioengine=psync");
    let refused = filled(&psync, "").expect_err("no psync");
    assert!(refused.starts_with("line 7: ioengine: "), "{refused}");
    assert!(filled(&psync, "--engine libaio").is_ok());
}

#[test]
fn jobs_at_once_are_one_point_only_when_they_are_alike() {
    let text = "[global]\ndirect=1\nioengine=libaio\n[a]\n[b]\nnumjobs=3\n";
    let settings = filled(text, "").expect("runnable");
    assert_eq!(settings.axes.jobs, [4]);
    assert_eq!(settings.axes.bs, [Bytes(4096)]);
    let polled = "ioengine=io_uring\nsqthread_poll\n";
    let error = filled(&format!("{text}{polled}"), "").expect_err("no such background");
    assert!(error.starts_with("line 5: [b] runs beside [a]"), "{error}");
}

/// The jobs of fio's own example run at once: the first is measured, the others are beside it.
#[test]
fn jobs_at_once_that_differ_are_a_background() {
    let writer = "[b]\nrw=write\nbs=128k\nnumjobs=2\nioengine=io_uring\nhipri\n";
    let global = "[global]\ndirect=1\nioengine=libaio\nrw=randread\n";
    let text = format!("{global}[a]\niodepth=4\n{writer}");
    let settings = filled(&text, "").expect("runnable");
    let beside = "engine=io_uring:iopoll,rw=write,bs=128k,jobs=2,wait=poll";
    assert_eq!(
        settings.axes.background,
        [beside.parse().expect("a background")]
    );
    assert_eq!(
        (&settings.axes.jobs, &settings.axes.depth),
        (&vec![1], &vec![4])
    );
    assert!(settings.request().background[0].pattern.writes());
    assert!(filled(&text, "--background none").is_err());
    // A later group has its own background, or none.
    let settings = filled(&format!("{text}[alone]\nstonewall\n"), "").expect("runnable");
    let beside: Vec<bool> = settings
        .points
        .iter()
        .map(|p| !p.background.is_empty())
        .collect();
    assert_eq!(beside, [true, false]);
}

#[test]
fn a_run_has_one_target_and_one_runtime() {
    let text = TWO.replace("[two]", "[two]\nruntime=8");
    let error = filled(&text, "").expect_err("two runtimes");
    let expected = "line 9: [two] has another runtime";
    assert!(error.starts_with(expected), "{error}");
    let text = TWO.replace("[two]", "[two]\nfilename=/dev/c");
    let error = filled(&text, "").expect_err("two targets");
    assert!(error.contains("another filename than [one]"), "{error}");
    let settings = filled(&text, "--scratch 1g").expect("a scratch file stands for both");
    assert_eq!(settings.target, None);
}

/// All reasons stand in one error, by line, and each has a way out.
#[test]
fn all_refusals_are_told_at_once() {
    let text = TWO.replace("ioengine=libaio", "ioengine=psync");
    let text = text.replace("[two]", "[two]\nfilename=/dev/c\nruntime=8\nverify=crc32c");
    let error = filled(&text, "").expect_err("four reasons");
    let reasons: Vec<&str> = error.split("; line ").collect();
    let begins = [
        "line 7: ioengine",
        "9: [two] has another filename",
        "9: [two] has another runtime",
        "12: verify",
    ];
    assert_eq!(reasons.len(), begins.len(), "{error}");
    for (reason, begin) in reasons.iter().zip(begins) {
        assert!(reason.starts_with(begin), "{error}");
    }
    let settings = filled(&text, "--fio x --section two --ignore verify").expect("runnable");
    assert_eq!(settings.target.as_deref(), Some("/dev/c"));
    assert_eq!(
        (settings.axes.engines(), settings.seconds),
        (&["io_uring".to_owned()][..], 8.0)
    );
    for (words, reason) in [
        ("--section three", "no section [three]; it has one, two"),
        (
            "--section two --ignore thinktime",
            "has the option thinktime",
        ),
    ] {
        let error = filled(&text, &format!("--fio x {words}")).expect_err(words);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_helper_has_its_cpu_for_one_job() {
    let text = "[a]\ndirect=1\nioengine=io_uring\nsqthread_poll\nsqthread_poll_cpu=3\n";
    let (_, extras) = filled_with_extras(text, "").expect("runnable");
    assert_eq!(extras.helper_cpu, Some(3));
    let several = filled(text, "--jobs 1,2").expect_err("several jobs");
    assert!(several.starts_with("sqthread_poll_cpu"), "{several}");
}

#[test]
fn times_of_a_job_file_have_the_bounds_of_options() {
    let checked = |times: &str| {
        let text = format!("[a]\ndirect=1\nioengine=libaio\n{times}");
        filled(&text, "").expect("runnable").check_times()
    };
    assert_eq!(checked("runtime=1\nramp_time=0\n"), Ok(()));
    assert_eq!(checked(""), Ok(()));
    let wrong = checked("runtime=1\nramp_time=9999\n").unwrap_err();
    assert!(wrong.starts_with("ramp_time is 9999 s"), "{wrong}");
}
