//! Numbers from the tables of fio's manual ("Parameter types").

use proptest::prelude::*;
use q2c_bench::fio::KbBase::{K1000, K1024};
use q2c_bench::fio::{cpus, parse_integer, read, seconds};

#[test]
fn sizes_are_those_of_the_manual() {
    const MI: u64 = 1 << 20;
    const TI: u64 = 1 << 40;
    let rows: [(u64, &[&str], &[&str]); 5] = [
        (
            4096,
            &["4096", "4096b", "4096B", "4k", "4kb", "4kB", "4K", "4KB"],
            &["4096", "4096b", "4096B", "4kib", "4kiB", "4KiB"],
        ),
        (MI, &["1m", "1024k"], &["1mib", "1024kib"]),
        (1_000_000, &["1mib", "1000kib"], &["1m", "1000k"]),
        (
            TI,
            &["1t", "1024g", "1048576m"],
            &["1tib", "1024gib", "1048576mib"],
        ),
        (
            1_000_000_000_000,
            &["1tib", "1000gib", "1000000mib"],
            &["1t", "1000g", "1000000m"],
        ),
    ];
    for (expected, by_1024, by_1000) in rows {
        for (texts, base) in [(by_1024, K1024), (by_1000, K1000)] {
            for text in texts {
                assert_eq!(parse_integer(text, base), Some(expected), "{text} {base:?}");
            }
        }
    }
    assert_eq!(parse_integer("0x1000", K1000), Some(4096));
    // Here fio 3.33 contradicts its manual; the test `beside_fio` compares with fio.
    assert_eq!(parse_integer("4ki", K1024), Some(4096));
    assert_eq!(parse_integer("4ki", K1000), Some(4000));
    for wrong in ["", "k", "-1", "4kk", "1.5k", "0x", "4 4", "20000p", "i"] {
        assert_eq!(parse_integer(wrong, K1024), None, "{wrong}");
    }
    assert_eq!(parse_integer("99999999999999999999", K1024), None);
}

#[test]
fn times_have_seconds_by_default() {
    let texts = "30 30s 30sec 10m 2H 1d 500ms 250000usec".split(' ');
    let wanted = [30.0, 30.0, 30.0, 600.0, 7200.0, 86_400.0, 0.5, 0.25];
    for (text, expected) in texts.zip(wanted) {
        let parsed = seconds(text).expect(text);
        assert!((parsed - expected).abs() < 1e-12, "{text}: {parsed}");
    }
    for wrong in ["", "s", "1w", "-3", "1.5"] {
        assert_eq!(seconds(wrong), None, "{wrong}");
    }
}

#[test]
fn cpus_are_a_set() {
    assert_eq!(cpus("0,5,8-10"), Some(vec![0, 5, 8, 9, 10]));
    assert_eq!(cpus("3,1,1"), Some(vec![1, 3]));
    for wrong in ["", "a", "3-1", "1,,2", "0-9999999"] {
        assert_eq!(cpus(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(lines in prop::collection::vec(line(), 0..20)) {
        let text = lines.join("\n");
        if let Ok(file) = read(text.as_bytes(), &|_| Some("x".to_owned())) {
            prop_assert!(!file.jobs.is_empty());
            for remark in file.refused.iter().chain(&file.not_needed) {
                prop_assert!((1..=lines.len()).contains(&remark.line));
            }
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let keys = "rw bs ioengine iodepth size runtime hipri kb_base cpus_allowed direct stonewall \
                rate_iops sqthread_poll_cpu filename verify";
    let key = prop::sample::select(keys.split(' ').collect::<Vec<_>>());
    let value = prop_oneof![
        Just(String::new()),
        "=[0-9]{0,21}[kmgtpib%,:-]{0,3}[0-9a-z]{0,4}",
        "=(randread|write|io_uring|libaio|pvsync2)",
        "[ -~]{0,12}",
    ];
    prop_oneof![
        (key, value).prop_map(|(key, value)| format!("{key}{value}")),
        "\\[[a-z]{0,8}\\]?",
        Just("[global]".to_owned()),
    ]
}
