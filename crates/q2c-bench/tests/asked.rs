//! Tests of flags and a fio job file together.

use q2c_bench::asked::{Asked, NotRunnable};
use q2c_fio::read;
use q2c_model::Bytes;
use q2c_policy::Method;

fn filled(text: &str, mut asked: Asked) -> Result<Asked, NotRunnable> {
    let file = read(text.as_bytes(), &|_| None).expect("a job file");
    asked.fill_from(&file)?;
    Ok(asked)
}

fn points(asked: &Asked) -> Vec<(String, Method, u32, u16, u64, String)> {
    let point = |p: &q2c_result::bench::BenchPoint| {
        (
            p.engine.clone(),
            p.method.clone(),
            p.jobs,
            p.depth,
            p.bs.0,
            p.rw.clone(),
        )
    };
    asked.points.iter().map(point).collect()
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

/// Two sections make two points, not all points that their axes make together.
#[test]
fn sections_are_points() {
    let asked = filled(TWO, Asked::default()).expect("runnable");
    let interrupt = || Method::INTERRUPT;
    assert_eq!(
        points(&asked),
        [
            (
                "libaio".to_owned(),
                interrupt(),
                1,
                32,
                4096,
                "randread".to_owned()
            ),
            (
                "io_uring".to_owned(),
                interrupt(),
                2,
                1,
                4096,
                "randread".to_owned()
            ),
        ]
    );
    assert_eq!(
        (asked.target.as_deref(), asked.seconds),
        (Some("/dev/a"), Some(7.0))
    );
    assert_eq!(
        (asked.rate, asked.warm_up_seconds, asked.size),
        (None, None, None)
    );
}

#[test]
fn flags_win() {
    let flags = Asked {
        engines: Some(vec!["pvsync2".to_owned()]),
        depths: Some(vec![1]),
        jobs: Some(vec![1, 4]),
        target: Some("/dev/b".to_owned()),
        seconds: Some(2.0),
        ..Asked::default()
    };
    let asked = filled(TWO, flags).expect("runnable");
    // Both sections make the same point now, with two numbers of jobs, so the points are all that
    // the axes make.
    assert_eq!(asked.points, []);
    assert_eq!(asked.engines.as_deref(), Some(&["pvsync2".to_owned()][..]));
    assert_eq!(
        (asked.jobs, asked.depths),
        (Some(vec![1, 4]), Some(vec![1]))
    );
    assert_eq!(
        (asked.target.as_deref(), asked.seconds),
        (Some("/dev/b"), Some(2.0))
    );
    // A flag takes the place of an option of the file that q2c does not have.
    let psync = TWO.replace("ioengine=libaio", "ioengine=psync");
    let refused = filled(&psync, Asked::default()).expect_err("no psync");
    assert!(
        refused.to_string().starts_with("line 7: ioengine"),
        "{refused}"
    );
    let flags = Asked {
        engines: Some(vec!["libaio".to_owned()]),
        ..Asked::default()
    };
    assert!(filled(&psync, flags).is_ok());
}

#[test]
fn jobs_at_once_are_one_point_only_when_they_are_alike() {
    let text = "[global]\ndirect=1\nioengine=libaio\n[a]\n[b]\nnumjobs=3\n";
    let asked = filled(text, Asked::default()).expect("runnable");
    assert_eq!(asked.jobs, Some(vec![4]));
    assert_eq!(asked.sizes, Some(vec![Bytes(4096)]));
    let error = filled(&format!("{text}iodepth=2\n"), Asked::default()).expect_err("two at once");
    let expected = NotRunnable::AtOnce {
        first: "a".to_owned(),
        second: "b".to_owned(),
        line: 5,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("stonewall"));
}

#[test]
fn a_run_has_one_target_and_one_runtime() {
    let text = TWO.replace("[two]", "[two]\nruntime=8");
    let error = filled(&text, Asked::default()).expect_err("two runtimes");
    assert!(
        matches!(
            error,
            NotRunnable::Differs {
                what: "runtime",
                line: 9,
                ..
            }
        ),
        "{error}"
    );
    let text = TWO.replace("[two]", "[two]\nfilename=/dev/c");
    let error = filled(&text, Asked::default()).expect_err("two targets");
    assert!(error.to_string().contains("another filename"), "{error}");
    let scratch = Asked {
        scratch: true,
        ..Asked::default()
    };
    let asked = filled(&text, scratch).expect("a scratch file stands for both");
    assert_eq!(asked.target, None);
}

#[test]
fn a_helper_has_its_cpu_for_one_job() {
    let text = "[a]\ndirect=1\nioengine=io_uring\nsqthread_poll\nsqthread_poll_cpu=3\n";
    assert_eq!(
        filled(text, Asked::default()).expect("runnable").helper_cpu,
        Some(3)
    );
    let several = Asked {
        jobs: Some(vec![1, 2]),
        ..Asked::default()
    };
    assert_eq!(filled(text, several), Err(NotRunnable::OneHelper));
}
