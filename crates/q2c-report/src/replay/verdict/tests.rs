use super::*;
use q2c_result::replay::Invalid;

fn ratio(ratio: f64, low: f64, high: f64) -> Ratio {
    Ratio { ratio, low, high }
}

fn paths() -> (String, String) {
    ("/dev/sdb".to_owned(), "/dev/sda".to_owned())
}

fn assert_says(finding: &CompareFinding, sentence: &str) {
    let said = verdict(std::slice::from_ref(finding));
    assert_eq!(said, [sentence]);
}

#[test]
fn the_sum_names_the_better_device_or_says_why_not() {
    let (device, with) = paths();
    let better = CompareFinding::Better {
        device: device.clone(),
        than: with.clone(),
        metric: CompareMetric::SumQ2c,
        ratio: ratio(0.25, 0.24, 0.2604),
    };
    assert_says(
        &better,
        "/dev/sdb serves this trace better: \
         its sum of Q2C is 0.250 [0.240, 0.260] of that of /dev/sda",
    );
    let alike = CompareFinding::Alike {
        device: device.clone(),
        with: with.clone(),
        metric: CompareMetric::SumU2c,
        ratio: ratio(1.002, 0.9, 1.1),
    };
    assert_says(
        &alike,
        "/dev/sdb and /dev/sda cannot be told apart by their sum of U2C: \
         ratio 1.002 [0.900, 1.100]",
    );
    let few = CompareFinding::FewTrials {
        device,
        with,
        metric: CompareMetric::SumU2c,
    };
    assert_says(
        &few,
        "/dev/sdb and /dev/sda cannot be compared by their sum of U2C: \
         fewer than two valid trials each",
    );
}

#[test]
fn completion_time_has_its_own_sentences() {
    let (device, with) = paths();
    let separates = |sum_separates, overloaded: &[&str]| CompareFinding::TimeSeparates {
        device: device.clone(),
        with: with.clone(),
        ratio: ratio(2.0, 1.5, 2.5),
        sum_separates,
        overloaded: overloaded.iter().map(|&path| path.to_owned()).collect(),
    };
    assert_says(
        &separates(true, &["/dev/sda", "/dev/sdb"]),
        "completion time separates them as well: \
         ratio of /dev/sdb to /dev/sda 2.000 [1.500, 2.500]; \
         the trace overloads /dev/sda and /dev/sdb",
    );
    assert_says(
        &separates(false, &[]),
        "completion time separates them: ratio of /dev/sdb to /dev/sda 2.000 [1.500, 2.500]",
    );
    let cannot_tell = CompareFinding::TimeCannotTell {
        device: device.clone(),
        with: with.clone(),
        ratio: ratio(1.00014, 1.0, 1.0002),
        device_idle: 0.954,
        with_idle: 0.8,
    };
    assert_says(
        &cannot_tell,
        "completion time cannot tell (ratio 1.0001): \
         the trace leaves /dev/sda idle 80 % and /dev/sdb 95 % of the time, which timed replay \
         keeps. --mode outstanding leaves idle time out, so it compares them by completion time",
    );
    let alike = CompareFinding::Alike {
        device: device.clone(),
        with: with.clone(),
        metric: CompareMetric::CompletionTime,
        ratio: ratio(1.0, 0.95, 1.05),
    };
    assert_says(
        &alike,
        "completion time does not separate them: ratio 1.000 [0.950, 1.050]",
    );
    let few = CompareFinding::FewTrials {
        device,
        with,
        metric: CompareMetric::CompletionTime,
    };
    assert_says(
        &few,
        "/dev/sdb and /dev/sda cannot be compared by completion time: \
         fewer than two valid trials each",
    );
}

#[test]
fn devices_that_cannot_be_compared_are_told_with_the_reason() {
    let (device, with) = paths();
    let differs = CompareFinding::WorkDiffers {
        device: device.clone(),
        with,
        did: WorkDone {
            requests: 100,
            bytes: 3 << 20,
        },
        with_did: WorkDone {
            requests: 200,
            bytes: 6 << 20,
        },
    };
    assert_says(
        &differs,
        "/dev/sdb and /dev/sda cannot be compared: they did not do the same work, \
         100 requests of 3 MiB against 200 of 6 MiB. \
         See what was changed, and name targets of one size or other --offsets",
    );
    let without = |why| CompareFinding::NoValidTrial {
        device: device.clone(),
        why,
    };
    assert_says(
        &without(NoneValid::NotRun),
        "/dev/sdb has no valid trial: none was run",
    );
    assert_says(
        &without(NoneValid::Failed("failed to open it".to_owned())),
        "/dev/sdb has no valid trial: failed to open it",
    );
    assert_says(
        &without(NoneValid::Invalid(Invalid::Stopped)),
        "/dev/sdb has no valid trial: it was stopped before the trace's end",
    );
}

#[test]
fn what_the_figures_do_not_show_is_told() {
    let idles = |idle| CompareFinding::TraceIdles { share: 0.951, idle };
    assert_says(
        &idles(Idle::Squeeze),
        "outstanding replay keeps the number in flight and leaves out the time with nothing \
         in flight, 95 % of the trace's. Completion time compares how fast the devices do \
         the work without its pauses. With the pauses, --mode timed compares their sums of \
         latencies",
    );
    assert_says(
        &idles(Idle::Keep),
        "outstanding replay: the trace's devices have nothing in flight 95 % of their time, \
         which was kept",
    );
    let u2c = |some_have_q2c| CompareFinding::SumsOfU2c {
        some_have_q2c,
        not_captured: None,
    };
    assert_says(
        &u2c(true),
        "sums are of U2C: not every device has a valid sum of Q2C",
    );
    assert_says(
        &u2c(false),
        "sums are of U2C, what the replayer sees. \
         The block layer's sum of Q2C needs --capture and devices of the kernel's",
    );
}

#[test]
fn sums_of_u2c_say_why_nothing_was_captured() {
    let why = |why| CompareFinding::SumsOfU2c {
        some_have_q2c: false,
        not_captured: Some(why),
    };
    for (not_captured, end) in [
        (
            NotCaptured::NotAsked,
            ": the capture of the block layer was switched off",
        ),
        (
            NotCaptured::NoDisk("sim:50us".to_owned()),
            ": sim:50us has no disk of the kernel's that could be captured",
        ),
        (
            NotCaptured::Refused("failed to load: no".to_owned()),
            ": the block layer cannot be captured here, failed to load: no",
        ),
    ] {
        let sentence = format!("sums are of U2C, what the replayer sees{end}");
        assert_eq!(super::not_captured(&not_captured), sentence);
        assert_says(&why(not_captured), &sentence);
    }
}

#[test]
fn an_answer_from_reads_alone_says_so_itself() {
    let (device, with) = paths();
    let reads = |treatment| CompareFinding::ReadsOnly {
        writes: 7,
        treatment,
    };
    let better = CompareFinding::Better {
        device: device.clone(),
        than: with.clone(),
        metric: CompareMetric::SumQ2c,
        ratio: ratio(0.5, 0.4, 0.6),
    };
    let alike = CompareFinding::Alike {
        device,
        with,
        metric: CompareMetric::SumU2c,
        ratio: ratio(1.0, 0.9, 1.1),
    };
    let said = verdict(&[reads(Writes::Skip), better, alike]);
    assert_eq!(
        said,
        [
            "reads only: 7 writes of the trace were left out",
            "/dev/sdb serves this trace better (reads only): its sum of Q2C is \
             0.500 [0.400, 0.600] of that of /dev/sda",
            "/dev/sdb and /dev/sda cannot be told apart by their sum of U2C (reads only): \
             ratio 1.000 [0.900, 1.100]",
        ]
    );
    assert_says(
        &reads(Writes::AsReads),
        "reads only: 7 writes of the trace were read instead",
    );
}

#[test]
fn a_sum_that_is_not_by_request_is_told() {
    let differ = |excess| CompareFinding::TermsDiffer {
        device: "/dev/sda".to_owned(),
        requests: 400,
        excess,
    };
    assert_says(
        &differ(110),
        "the sum of Q2C of /dev/sda is not one by request: for 400 requests it has 110 more than \
         the reads and writes submitted: extents of a file, disks below the target or the longest \
         bio made several I/Os of a request, and each is in the sum",
    );
    assert_says(
        &differ(-5),
        "the sum of Q2C of /dev/sda is not one by request: for 400 requests it has 5 fewer than \
         the reads and writes submitted",
    );
}
