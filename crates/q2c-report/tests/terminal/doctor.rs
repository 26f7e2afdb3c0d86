//! Tests the terminal reports of the doctor.

use crate::{PIPE, fixture, widths};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::doctor::{Ready, Use, UseState};

/// The same checks by use: a use with checks of its own, one that refers to them, and one that is
/// not ready.
#[test]
fn doctor_by_use_fits_every_width() {
    let mut report = fixture::tune().doctor;
    let uses_of = |id: &str| match id {
        "io-uring" | "poll-queues" => vec![Use::Tune, Use::Bench],
        "kernel-hybrid" => vec![Use::KernelPolling, Use::Tune],
        _ => vec![Use::Measuring],
    };
    for check in &mut report.checks {
        check.uses = uses_of(&check.id);
    }
    let state = |of, ready, by: &[&str], to_improve| UseState {
        of,
        ready,
        by: by.iter().map(|&id| id.to_owned()).collect(),
        to_improve,
    };
    report.uses = vec![
        state(Use::Measuring, Ready::Ready, &[], 0),
        state(Use::Tune, Ready::Limited, &["kernel-hybrid"], 1),
        state(Use::Bench, Ready::Unknown, &["io-uring"], 1),
        state(Use::KernelPolling, Ready::NotReady, &["kernel-hybrid"], 0),
    ];
    widths::fits("doctor_by_use", |screen| report.document().text(screen));
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true}, {
        let text = report.document().text(Screen::new(80, false));
        insta::assert_snapshot!("doctor_by_use_at_80", text);
    });
    let text = report.document().text(PIPE);
    let tune = "tune: ready but for hybrid-kernel, kiops-per-core (kernel-hybrid); 1 to improve";
    assert!(text.contains(tune), "{text}");
    assert!(text.contains("See also: io-uring, poll-queues."), "{text}");
    // A missing feature is not a disturbance, and the uses that need it are named.
    assert!(!text.contains("invalidate"), "{text}");
    let counts = "5 checks: 2 ok; 1 to improve; 1 missing, which only some uses need; 1 unknown";
    assert!(text.contains(counts), "{text}");
    let uses = "▸ 4 uses: ready: All measurements; ready but for a part: tune; not ready: The \
                kernel's own hybrid polling; not known: bench";
    let flat: Vec<&str> = text.split_whitespace().collect();
    assert!(flat.join(" ").contains(uses), "{text}");
}
