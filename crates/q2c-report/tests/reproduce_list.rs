//! The list of experiments and the verdicts of all in a terminal.

mod fixture;
mod widths;

use fixture::reproduce_all as all;
use q2c_report::Reported;
use q2c_report::terminal::{Screen, reproduce_list};
use q2c_result::reproduce::{LIST_SCHEMA, ListResult, ListedExperiment, ListedNeed, NeedKind};

fn screen(width: u16) -> Screen {
    Screen::new(width, false)
}

/// A need: its kind, the needed value, the present value, and whether that is enough.
type NeedCase = (NeedKind, &'static str, &'static str, Option<bool>);

fn listed(
    name: &str,
    title: &str,
    [claims, judgeable, depend_on_target]: [u32; 3],
    seconds: Option<f64>,
    needs: &[NeedCase],
) -> ListedExperiment {
    let need = |(what, needed, present, met): &NeedCase| ListedNeed {
        what: *what,
        needed: (*needed).to_owned(),
        present: (*present).to_owned(),
        met: *met,
    };
    ListedExperiment {
        name: name.to_owned(),
        title: title.to_owned(),
        variant_of: None,
        source: "nowhere".to_owned(),
        claims,
        judgeable,
        depend_on_target,
        needs: needs.iter().map(need).collect(),
        takes_target: false,
        seconds,
    }
}

/// An experiment of each kind. Names and titles are as long as those of the built-in ones.
fn list() -> ListResult {
    const UNKNOWN: &str = "depends on the target";
    let (cpus, long) = (NeedKind::Cpus, Some(80.0));
    let title = "Which sleep ratio is best when background jobs come and go, and does the best one stay the same?";
    let need = [(cpus, "1", "2", Some(true))];
    let name = "sleep-ratio-interference-2cpu";
    let mut variant = listed(name, title, [6, 6, 0], Some(4_300.0), &need);
    variant.variant_of = Some("sleep-ratio-interference".to_owned());
    variant.takes_target = true;
    let title = "How do interfaces scale with jobs?";
    let polled = (NeedKind::PollQueues, "yes", UNKNOWN, None);
    let needs = [(cpus, "8", "2", Some(false)), polled];
    let interfaces = listed("interfaces-by-jobs", title, [4, 1, 2], long, &needs);
    let title = "Does throughput of AIM7 fall beyond fifteen cores?";
    let needs = [
        (cpus, "120", "2", Some(false)),
        (
            NeedKind::Kernel,
            "below 5.0",
            "6.18.44-generic",
            Some(false),
        ),
        (NeedKind::Module, "ramdisk_mq", "not there", Some(false)),
    ];
    let macros = listed("blkmq-macro-scaling", title, [1, 0, 0], long, &needs);
    let title = "Are the queues even?";
    let need = [(NeedKind::HwQueues, "2", UNKNOWN, None)];
    let queues = listed("queue-balance", title, [2, 0, 2], long, &need);
    let title = "Which figure tells two devices apart?";
    let from = "--from with a result of `q2c compare websearch.parquet tpcc.parquet --mode timed,outstanding --on FIRST --on SECOND`";
    let need = [(NeedKind::Other, from, "none was named", Some(false))];
    let replays = listed("replay-ssd-comparison", title, [3, 0, 0], None, &need);
    let placement = listed("placement-within-core", "Where?", [1, 1, 0], Some(0.1), &[]);
    let experiments = vec![variant, interfaces, macros, queues, replays, placement];
    ListResult {
        schema: LIST_SCHEMA.to_owned(),
        scale: 0.1,
        trials: Some(3),
        target: None,
        seconds: experiments.iter().filter_map(|e| e.seconds).sum(),
        experiments,
    }
}

#[test]
fn the_list_fits_every_width() {
    widths::fits("the_list", |screen| reproduce_list(&list(), screen));
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "snapshots", omit_expression => true}, {
        insta::assert_snapshot!("the_list_at_80", reproduce_list(&list(), screen(80)));
    });
}

/// Names are what one copies, so none of them is broken, and no line is wider than the terminal.
#[test]
fn names_stay_whole_and_lines_fit() {
    for width in [60, 80, 100, 120, 160] {
        let text = reproduce_list(&list(), screen(width)) + &all().document().text(screen(width));
        let names = list().experiments.into_iter().map(|e| e.name);
        for name in names.chain(["miss-rate-interference-2cpu".to_owned()]) {
            assert!(text.contains(&name), "{name} at {width}: {text}");
        }
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(width)), "{widest:?}: {text}");
    }
}
