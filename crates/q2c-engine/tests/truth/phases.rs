//! Tests of phases, their boundaries, and the common start.

use crate::plan::{Scripted, alone, clock, cpu, hybrid, job, once, plan, run, run_watched};
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, JobPlan, Observer, PhaseData, Sample, Wait};
use q2c_model::Nanos;
use q2c_policy::Decision;
use q2c_stats::percentile;

/// The time by which a scheduler with other work may be late, ns.
const LATE_NS: u64 = 20_000_000;

/// A rule that sleeps for 1 us with the first I/O, 2 us with the second, and so on: the sleep tells
/// how often the rule was asked.
fn counting() -> Wait {
    Scripted::wait(|n| Decision::Sleep(Nanos(n * 1_000)))
}

#[test]
fn what_a_start_ended_is_taken_up_again_with_its_state() {
    alone(
        "what_a_start_ended_is_taken_up_again_with_its_state",
        || {
            let activities = vec![
                Activity::Start(counting()),
                Activity::Start(Wait::Poll),
                Activity::Resume,
                Activity::Start(Wait::Poll),
                Activity::Resume,
            ];
            let data = run(plan(&[30; 5], vec![job("sim:500us", activities)])).unwrap();
            let asked = |n: usize| {
                let samples = data.lanes[0].phase_samples(n).iter();
                samples.map(|s| s.asked_ns / 1_000).collect::<Vec<_>>()
            };
            let slept = [asked(0), asked(2), asked(4)].concat();
            assert_eq!(slept, (1..).take(slept.len()).collect::<Vec<u32>>());
            assert!([1, 3].map(asked).concat().iter().all(|&us| us == 0));
            assert!((0..5).all(|n| !asked(n).is_empty()));
        },
    );
}

#[test]
fn a_phase_starts_continues_or_rests() {
    alone("a_phase_starts_continues_or_rests", || {
        let activities = vec![
            Activity::Start(counting()),
            Activity::Continue,
            Activity::Idle,
            Activity::Continue,
            Activity::Start(counting()),
            Activity::Start(Wait::Interrupt),
            Activity::Continue,
            Activity::Start(Wait::Poll),
        ];
        let data = run(plan(&[60; 8], vec![job("sim:500us", activities)])).unwrap();
        let lane = &data.lanes[0];
        let phase = |n: usize| &lane.samples[lane.phases[n].samples.clone()];
        let asked = |n: usize| {
            phase(n)
                .iter()
                .map(|s| s.asked_ns / 1_000)
                .collect::<Vec<_>>()
        };
        let counted = |from: u32, n: usize| (from..).take(phase(n).len()).collect::<Vec<_>>();
        assert_eq!(asked(0), counted(1, 0));
        assert_eq!(
            asked(1),
            counted(1 + phase(0).len() as u32, 1),
            "the rule's state is kept"
        );
        assert!(
            phase(2).is_empty() && phase(3).is_empty(),
            "who rests has nothing to continue"
        );
        assert_eq!(asked(4), counted(1, 4), "a new rule starts from nothing");
        for n in [5, 6] {
            assert!(phase(n).iter().all(|s| s.flags == Sample::ONE_CALL));
        }
        assert!(phase(7).iter().all(|s| s.flags == 0));
        for n in [0, 1, 4, 5, 6, 7] {
            // 120 I/Os of 500 us fit into 60 ms, and one more that was under way.
            assert!(
                (20..=121).contains(&phase(n).len()),
                "phase {n}: {}",
                phase(n).len()
            );
        }
    });
}

#[test]
fn an_idle_lane_does_no_io_and_takes_no_cpu() {
    alone("an_idle_lane_does_no_io_and_takes_no_cpu", || {
        let data = run(plan(&[150], vec![job("null", vec![Activity::Idle])])).unwrap();
        let PhaseData {
            begin,
            end,
            ios,
            ref samples,
            ..
        } = data.lanes[0].phases[0];
        assert_eq!((ios, samples.len(), data.lanes[0].ios), (0, 0, 0));
        assert!(end.t_ns - begin.t_ns >= 150_000_000 - LATE_NS);
        assert!(
            end.cpu_ns - begin.cpu_ns < 5_000_000,
            "{} ns",
            end.cpu_ns - begin.cpu_ns
        );
    });
}

#[derive(Default)]
struct Boundaries(Vec<(usize, u64)>);

impl Observer for Boundaries {
    fn boundary(&mut self, phase: usize) {
        self.0.push((phase, clock().now()));
    }
}

#[test]
fn phases_come_at_their_time_and_the_observer_is_told() {
    alone("phases_come_at_their_time_and_the_observer_is_told", || {
        let lengths = [40, 80, 20];
        let activities = vec![
            Activity::Start(Wait::Poll),
            Activity::Idle,
            Activity::Start(Wait::Poll),
        ];
        let mut told = Boundaries::default();
        let data = run_watched(
            plan(&lengths, vec![job("sim:100us", activities)]),
            &mut told,
        )
        .unwrap();
        let edges = [0, 40, 120, 140].map(|ms| data.start_ns + ms * 1_000_000);
        assert_eq!(told.0.iter().map(|b| b.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        for ((phase, at), edge) in told.0.iter().zip(edges) {
            assert!((edge..edge + LATE_NS).contains(at), "boundary {phase}");
        }
        let phases = &data.lanes[0].phases;
        for (n, phase) in phases.iter().enumerate() {
            assert!(
                (edges[n]..edges[n] + LATE_NS).contains(&phase.begin.t_ns),
                "phase {n}"
            );
            assert!(
                (edges[n + 1]..edges[n + 1] + LATE_NS).contains(&phase.end.t_ns),
                "phase {n}"
            );
        }
        // By the lane's own marks every I/O lies inside its phase.
        for phase in phases {
            let samples = &data.lanes[0].samples[phase.samples.clone()];
            let inside =
                |s: &Sample| phase.begin.t_ns <= s.submit_ns && s.reaped_ns() <= phase.end.t_ns;
            assert!(samples.iter().all(inside));
        }
        assert!(!data.stopped);
    });
}

/// One lane has 48 MB to touch before it is set up. No lane begins before that.
#[test]
fn all_lanes_begin_together() {
    alone("all_lanes_begin_together", || {
        let jobs = (0..4).map(|n| {
            let mut job = job("sim:200us", vec![Activity::Start(Wait::Interrupt)]);
            (job.cpu, job.capacity) = (cpu(n), if n == 2 { 1_000_000 } else { 1_000 });
            job
        });
        let data = run(plan(&[100], jobs.collect())).unwrap();
        for lane in &data.lanes {
            let late = lane.samples[0].submit_ns.checked_sub(data.start_ns);
            assert!(
                late.is_some_and(|ns| ns < LATE_NS),
                "{late:?} ns after the start"
            );
        }
    });
}

#[test]
fn what_does_not_fit_is_counted_and_not_recorded() {
    alone("what_does_not_fit_is_counted_and_not_recorded", || {
        for capacity in [0, 10] {
            let mut job = job(
                "sim:100us",
                vec![Activity::Start(Wait::Poll), Activity::Continue],
            );
            job.capacity = capacity;
            let data = run(plan(&[40, 40], vec![job])).unwrap();
            let lane = &data.lanes[0];
            assert_eq!(lane.samples.len(), capacity);
            assert_eq!(lane.phases.iter().map(|p| p.ios).sum::<u64>(), lane.ios);
            assert_eq!(lane.phases[0].samples, 0..capacity);
            assert_eq!(lane.phases[1].samples, capacity..capacity);
            assert!(lane.phases.iter().all(|p| p.ios > 50), "{:?}", lane.phases);
        }
        let all = once("sim:100us", Wait::Poll, 40);
        assert_eq!(all.samples.len() as u64, all.ios);
    });
}

/// The tally and the samples agree phase by phase; where the room for samples ran out the tally
/// still counts.
#[test]
fn a_tally_counts_what_the_samples_say_and_what_they_lack() {
    alone(
        "a_tally_counts_what_the_samples_say_and_what_they_lack",
        || {
            let run_with = |capacity| {
                let activities = vec![
                    Activity::Start(Wait::Poll),
                    Activity::Start(hybrid("fixed:30us")),
                ];
                let job = JobPlan {
                    tally: true,
                    capacity,
                    ..job("sim:100us", activities)
                };
                run(plan(&[60, 60], vec![job])).unwrap().lanes.remove(0)
            };
            let lane = run_with(100_000);
            for (number, phase) in lane.phases.iter().enumerate() {
                let (tally, stats) = (phase.tally.as_ref().unwrap(), phase_stats(&lane, number));
                assert_eq!(tally.latencies.count(), phase.ios);
                assert_eq!(
                    (tally.sleeps.handled, tally.sleeps.slept),
                    (stats.sleeps.handled, stats.sleeps.slept)
                );
                assert_eq!(
                    (tally.sleeps.asked_ns, tally.sleeps.slept_ns),
                    (stats.sleeps.asked_ns, stats.sleeps.slept_ns)
                );
                let mean = q2c_stats::mean(&stats.latencies);
                assert!((tally.latencies.mean() - mean).abs() < 1e-6 * mean);
                let p99 = percentile(&stats.latencies, 0.99);
                assert!((tally.latencies.percentile(0.99) - p99).abs() <= 0.008 * p99);
            }
            assert_eq!(lane.phases[0].tally.as_ref().unwrap().sleeps.handled, 0);
            let without_room = run_with(0);
            for phase in &without_room.phases {
                assert_eq!(phase.tally.as_ref().unwrap().latencies.count(), phase.ios);
                assert!(phase.ios > 100 && phase.samples.is_empty());
            }
        },
    );
}
