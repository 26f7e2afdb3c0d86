//! Tests of `q2c bench --fio`.

use crate::program::*;
use q2c_testkit::random_mib;

fn run_job(folder: &Place, job: &str, more: &str) -> CommandOutcome {
    folder.put("job.fio", job);
    folder.q2c(format!("bench --fio job.fio --trials 1 {more}"))
}

/// Each section is a point, and options replace the target and its engine. The device serves two
/// requests at once, 5 ms each, even if two jobs have two in flight each.
#[test]
fn sections_are_the_points_and_flags_win() {
    let folder = Place::new();
    let job = "[global]\nioengine=libaio\ndirect=1\nrw=randread\nfilename=/nowhere\nruntime=1\nramp_time=300ms\n\
           [one]\n[two]\nstonewall\niodepth=2\nnumjobs=2\n";
    let device = "sim:5ms,servers=2 --engine sim:5ms,servers=2";
    let result = run_job(&folder, job, &format!("{device} --json")).json();
    let cells = result.list("cells");
    assert_eq!(cells.len(), 2, "{result:#}");
    for (cell, jobs, depth, wanted) in [(&cells[0], 1, 1, 200.0), (&cells[1], 2, 2, 400.0)] {
        assert_eq!(cell["jobs"], jobs);
        assert_eq!(cell["depth"], depth);
        assert_near(number(cell, "/iops/median"), wanted, 0.003);
    }
    assert_eq!(number(&result, "/job/trial_seconds"), 1.0);
    assert_eq!(number(&result, "/job/warm_up_seconds"), 0.3);
}

/// Each section's interface stands before the simulated device.
#[test]
fn sections_on_a_simulated_device_keep_their_interfaces() {
    let job = "[global]\ndirect=1\nrw=randread\nioengine=io_uring\n[one]\n[deep]\nstonewall\niodepth=4\nbs=8k\n";
    let costs = "--machine cores=8,interfaces.io_uring.submission_ns=500";
    let result = run_job(&Place::new(), job, &format!("sim:100us {costs} --json")).json();
    let cells = result.list("cells");
    assert_eq!(cells.len(), 2, "{result:#}");
    for cell in cells {
        let engine = cell["engine"].as_str().unwrap();
        assert!(
            engine.starts_with("sim:") && engine.ends_with("interface=io_uring"),
            "{cell}"
        );
        assert!(number(cell, "/iops/median") > 1_000.0, "{cell}");
    }
}

#[test]
fn a_file_with_a_real_target() {
    let folder = Place::on_disk();
    folder.put("target", random_mib());
    let target = fs::File::open(folder.path().join("target"));
    target.unwrap().sync_all().unwrap();
    let job = "[j]\nioengine=libaio\ndirect=1\nrw=randread\nfilename=target\nbs=8k\niodepth=4\nsize=75%\nruntime=1\n\
               cpus_allowed=0\ngroup_reporting\n";
    let ended = run_job(&folder, job, "--json");
    let remarks = "job.fio, line 11: group_reporting | job.fio, line 10: cpus_allowed";
    has_words(&ended.stderr, remarks);
    let result = ended.json();
    let cell = &result["cells"][0];
    assert_eq!(cell["engine"], "libaio");
    assert_eq!(cell["method"], "interrupt");
    assert_eq!((&cell["bs"], &cell["depth"]), (&8192.into(), &4.into()));
    assert_eq!(result["job"]["cpus"], json!([0]));
    assert_eq!(result["job"]["span"], 786_432, "three quarters of 1 MiB");
    let kept = folder.text(folder.only_run().join("job.fio"));
    assert_eq!(kept, job, "the file is kept");
    run_job(&folder, &job.replace("75%", "2m"), "").refused(5, "2097152 bytes | 1048576");
}

#[test]
fn what_cannot_be_run_is_named_with_its_line() {
    let folder = Place::new();
    let plain = "[global]\nioengine=libaio\nrw=randread\ndirect=1\n[a]\n";
    for (more, phrases) in [
        (
            "verify=crc32c\nfsync=1\n",
            "job.fio | line 6: verify | line 7: fsync",
        ),
        ("runtime=2h\n", "runtime | 3600"),
        (
            "[b]\nioengine=io_uring\nsqthread_poll\n",
            "line 6 | [b] | [a] | stonewall",
        ),
        ("ioengine\nbssplit\n", "line 6: ioengine | line 7: bssplit"),
        ("[b\n", "line 6 | expected a name"),
    ] {
        run_job(&folder, &format!("{plain}{more}"), "sim:5ms").refused(3, phrases);
    }
    let refused = folder.q2c("bench --fio nowhere.fio");
    refused.refused(3, "nowhere.fio | No such file");
    run_job(&folder, plain, "").refused(2, "name a file or a block device");
    assert!(!folder.path().join("runs").exists(), "nothing was begun");
}
