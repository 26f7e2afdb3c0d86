//! The list of experiments and the verdicts of all in a terminal.

mod fixture;
mod widths;

use fixture::{reproduce as one, reproduce_all as all};
use q2c_report::Reported;
use q2c_report::terminal::{Screen, reproduce_list};
use q2c_result::reproduce::{LIST_SCHEMA, ListResult, ListedExperiment, ListedNeed, NeedKind};

fn screen(width: u16) -> Screen {
    Screen::new(width, false)
}

fn need(what: NeedKind, needed: &str, present: &str, met: Option<bool>) -> ListedNeed {
    ListedNeed {
        what,
        needed: needed.to_owned(),
        present: present.to_owned(),
        met,
    }
}

fn listed(
    name: &str,
    title: &str,
    counts: (u32, u32, u32),
    needs: Vec<ListedNeed>,
) -> ListedExperiment {
    let (claims, judgeable, depend_on_target) = counts;
    ListedExperiment {
        name: name.to_owned(),
        title: title.to_owned(),
        variant_of: None,
        source: "nowhere".to_owned(),
        claims,
        judgeable,
        depend_on_target,
        needs,
        takes_target: false,
        seconds: Some(80.0),
    }
}

/// An experiment of each kind, with names and titles as long as those that are built in.
fn list() -> ListResult {
    let cpus = |needed, met| need(NeedKind::Cpus, needed, "2", Some(met));
    let experiments = vec![
        ListedExperiment {
            variant_of: Some("sleep-ratio-interference".to_owned()),
            takes_target: true,
            seconds: Some(4_300.0),
            ..listed(
                "sleep-ratio-interference-2cpu",
                "Which sleep ratio is best when background jobs come and go, and does the best one stay the same?",
                (6, 6, 0),
                vec![need(NeedKind::Cpus, "1", "2", Some(true))],
            )
        },
        listed(
            "interfaces-by-jobs",
            "How do interfaces scale with jobs?",
            (4, 1, 2),
            vec![
                cpus("8", false),
                need(NeedKind::PollQueues, "yes", "depends on the target", None),
            ],
        ),
        listed(
            "blkmq-macro-scaling",
            "Does throughput of AIM7 fall beyond fifteen cores?",
            (1, 0, 0),
            vec![
                cpus("120", false),
                need(
                    NeedKind::Kernel,
                    "below 5.0",
                    "6.18.44-generic",
                    Some(false),
                ),
                need(NeedKind::Module, "ramdisk_mq", "not there", Some(false)),
            ],
        ),
        listed(
            "queue-balance",
            "Are the queues even?",
            (2, 0, 2),
            vec![need(NeedKind::HwQueues, "2", "depends on the target", None)],
        ),
        ListedExperiment {
            seconds: None,
            ..listed(
                "replay-ssd-comparison",
                "Which figure tells two devices apart?",
                (3, 0, 0),
                vec![need(
                    NeedKind::Other,
                    "--from with a result of `q2c compare websearch.parquet tpcc.parquet --mode timed,outstanding --on FIRST --on SECOND`",
                    "none was named",
                    Some(false),
                )],
            )
        },
        ListedExperiment {
            seconds: Some(0.1),
            ..listed("placement-within-core", "Where?", (1, 1, 0), Vec::new())
        },
    ];
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

#[test]
fn no_string_of_an_experiment_is_markup() {
    for page in [one().document().page(), all().document().page()] {
        let page = page.expect("make the page");
        assert!(!page.contains(fixture::BOLD));
        assert_eq!(page.matches("</script>").count(), 3);
    }
}
