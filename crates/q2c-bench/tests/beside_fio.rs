//! fio reads the same file; its null engine reports the requested bytes and requests.

use q2c_bench::fio::{Size, read};
use q2c_model::Bytes;
use serde_json::Value;
use std::process::{Command, Output};

/// `ioengine` is added separately, because q2c does not have fio's null engine.
const JOBS: &str = "\
[global]
stonewall
size=1m
rw=randread
norandommap
[plain]
[k]
bs=4K
[kb]
bs=8kB
[mi]
size=2mi
bs=64ki ; a comment
[mib]
size=2560KiB
bs=64kib
[thousand]
kb_base=1000
bs=8kib
size=1024k
[hex]
bs=0x2000
[two]
bs=2k,8k
[write]
rw=write
bs=2k,8k
[comma]
rw=write
bs=2k,
[before]
readwrite=write
bs=,2k
[global2]
blocksize=64k
kb_base=1000
[later]
size=640k
[own]
bs=1kib
size=64kib
[back]
kb_base=1024
size=64k
bs=512b
[again]
bs=4kib
bs=32kib
size=128kib
";

/// The output of fio with this option for a job file; `None` if fio is not installed.
fn fio(option: &str, text: &str) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("job.fio"), text).expect("a file");
    let mut fio = Command::new("fio");
    fio.current_dir(folder.path()).args([option, "job.fio"]);
    fio.output().ok()
}

/// Bytes and requests of each job, as fio counts them.
fn by_fio() -> Option<Vec<(String, u64, u64)>> {
    let text = JOBS.replacen("[global]", "[global]\nioengine=null", 1);
    let ran = fio("--output-format=json", &text)?;
    assert!(ran.status.success(), "{ran:?}");
    let text = String::from_utf8(ran.stdout).expect("text");
    // fio may print notes before the document.
    let json = &text[text.find('{').expect("a document")..];
    let result: Value = serde_json::from_str(json).expect("JSON");
    let jobs = result["jobs"].as_array().expect("jobs");
    let counts = |job: &Value| {
        let total = |key: &str| {
            let ways = ["read", "write"].map(|way| job[way][key].as_u64().expect("a count"));
            ways.iter().sum::<u64>()
        };
        let name = job["jobname"].as_str().expect("a name").to_owned();
        (name, total("io_bytes"), total("total_ios"))
    };
    Some(jobs.iter().map(counts).collect())
}

#[test]
fn sizes_and_inheritance_are_those_of_fio() {
    let Some(theirs) = by_fio() else {
        let test = "sizes_and_inheritance_are_those_of_fio";
        return q2c_testkit::skip(test, "fio is not installed");
    };
    let file = read(JOBS.as_bytes(), &|_| None).expect("a job file");
    assert_eq!(file.jobs.len(), theirs.len());
    for (job, (name, bytes, ios)) in file.jobs.iter().zip(theirs) {
        assert_eq!(job.name, name);
        let (Some(Bytes(bs)), Some(Size::Bytes(Bytes(size)))) = (job.bs, job.size) else {
            panic!("{job:#?}");
        };
        assert_eq!((bytes, ios), (size, size / bs), "{name}");
    }
}

/// The exit status of fio's `--parse-only` depends on options, not on the form of lines.
#[test]
fn fio_refuses_options_before_a_section_and_ones_that_are_none() {
    let good = "[a]\nioengine=null\nsize=1m\nrw=read:8\nbs=4kib\ndirect\n";
    for (text, bad) in [
        ("rw=read\n[a]\nioengine=null\nsize=1m\n", true),
        ("[a]\nioengine=null\nsize=1m\nnosuch=1\n", true),
        (good, false),
    ] {
        let Some(ran) = fio("--parse-only", text) else {
            let test = "fio_refuses_options_before_a_section";
            return q2c_testkit::skip(test, "fio is not installed");
        };
        let output = [ran.stdout, ran.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        let is_bad_for_fio = output.contains("Bad option") || output.contains("outside of");
        assert_eq!(is_bad_for_fio, bad, "{text}: {output}");
        let is_bad_here = match read(text.as_bytes(), &|_| None) {
            Err(_) => true,
            Ok(file) => file.refused.iter().any(|r| r.option == "nosuch"),
        };
        assert_eq!(is_bad_here, bad, "{text}");
    }
}
