//! Checks a trial: all jobs worked together for the requested time, the machine never stood still,
//! and the device did the counted I/O.

use super::timetable::SteadyWindow;
use super::trial::{BenchTrial, Moment, SLICE};
use q2c_engine::{LaneData, RunData};
use q2c_model::{Bytes, Nanos};
use q2c_result::bench::BenchPoint;
use thiserror::Error;

/// Least share of the requested time in which all jobs must work together. A job that is cut off
/// late starts and ends its counted part late, which shortens the common time.
const MIN_COMMON_SHARE: f64 = 0.5;
/// Most busy CPUs for each CPU of the machine. Each counter has steps of 10 ms. In an emulated
/// machine the counters run ahead of the clock: 4.5 of 4 CPUs were seen in one second.
const MAX_BUSY_PER_CPU: f64 = 1.5;
/// Most counted bytes for each byte that the device moved.
const MAX_COUNTED_PER_MOVED: f64 = 1.25;
/// Longest delay of a boundary between slices. The thread that reads the counters does no I/O. So
/// it is late only if the machine stood still or gave it no CPU.
const MAX_DELAY: Nanos = Nanos::from_millis(2_000);

/// Why the figures of a trial are invalid. The text continues a sentence after "failed to".
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum InvalidTrial {
    #[error(
        "complete a request in the {wanted_s:.2} s that count: ask for longer trials (--seconds), or look at the device"
    )]
    NoRequest { wanted_s: f64 },
    #[error(
        "keep all jobs at work together for the {wanted_s:.2} s that count: they were for {common_s:.3} s, as jobs were cut off late; \
         ask for longer trials (--seconds), fewer jobs or less depth"
    )]
    LittleCommonTime { common_s: f64, wanted_s: f64 },
    #[error(
        "count busy CPUs: {busy:.1} of {cpus} were busy in the counted time, so the counters and the jobs' I/O are not of one time; \
         ask for longer trials (--seconds), fewer jobs or less depth"
    )]
    TooBusy { busy: f64, cpus: usize },
    #[error(
        "count I/O in time: the jobs reaped {counted} in the counted time and the device moved {moved} in it, so requests of before were \
         reaped late; ask for longer trials (--seconds), fewer jobs or less depth"
    )]
    ReapedLate { counted: Bytes, moved: Bytes },
    #[error(
        "run all the time: a reading of the counters was {late_s:.1} s late, so the program or the machine stood still (stopped by \
         a signal, a paused virtual machine, or no CPU left for it); run again while nothing stops it"
    )]
    StoodStill { late_s: f64 },
}

pub(super) fn longest_delay(start_ns: u64, moments: &[Moment]) -> Nanos {
    let planned = |n: usize| start_ns + n as u64 * SLICE.0;
    let readings = moments.iter().enumerate();
    let late = readings.map(|(n, moment)| moment.t_ns.saturating_sub(planned(n)));
    Nanos(late.max().unwrap_or(0))
}

pub(super) fn check_delays(data: &RunData, moments: &[Moment]) -> Result<(), InvalidTrial> {
    let late = longest_delay(data.start_ns, moments);
    let late_s = late.as_secs_f64();
    refuse_if(late > MAX_DELAY, InvalidTrial::StoodStill { late_s })
}

fn refuse_if(wrong: bool, invalid: InvalidTrial) -> Result<(), InvalidTrial> {
    if wrong { Err(invalid) } else { Ok(()) }
}

pub(super) fn check_trial(
    lanes: &[LaneData],
    moments: &[Moment],
    window: &SteadyWindow,
    trial: &BenchTrial,
    point: &BenchPoint,
) -> Result<(), InvalidTrial> {
    check_common_time(lanes, window)?;
    let wanted_s = wanted_s(window);
    refuse_if(trial.ios == 0, InvalidTrial::NoRequest { wanted_s })?;
    let [begin, end] = [window.slices.start, window.slices.end].map(|n| &moments[n].counters);
    let cpus = begin.cpu.as_ref().zip(end.cpu.as_ref());
    let cpus = cpus.map_or(0, |(begin, end)| end.busy_since(begin).cpus.len());
    check_busy(trial, cpus)?;
    let background_ios = trial.background.as_ref().map_or(0, |b| b.ios);
    let in_flight = u64::from(point.jobs) * u64::from(point.depth);
    let moved = end.since(begin).bytes.filter(|_| background_ios == 0);
    moved.map_or(Ok(()), |moved| {
        check_reaping(trial.ios, in_flight, point.bs, Bytes(moved))
    })
}

fn wanted_s(window: &SteadyWindow) -> f64 {
    window.slices.len() as f64 * SLICE.as_secs_f64()
}

fn check_common_time(lanes: &[LaneData], window: &SteadyWindow) -> Result<(), InvalidTrial> {
    let counted_begin = |lane: &LaneData| lane.phases[window.slices.start].begin.t_ns;
    let counted_end = |lane: &LaneData| lane.phases[window.slices.end - 1].end.t_ns;
    let begin = lanes.iter().map(counted_begin).max().unwrap_or(0);
    let end = lanes.iter().map(counted_end).min().unwrap_or(0);
    let common_s = Nanos(end.saturating_sub(begin)).as_secs_f64();
    let wanted_s = wanted_s(window);
    let invalid = InvalidTrial::LittleCommonTime { common_s, wanted_s };
    refuse_if(common_s < MIN_COMMON_SHARE * wanted_s, invalid)
}

fn check_busy(trial: &BenchTrial, cpus: usize) -> Result<(), InvalidTrial> {
    let machine_busy_s = trial.busy_s.unwrap_or(0.0);
    let busy = machine_busy_s.max(trial.job_cpu_s) / trial.wall_s;
    let too_busy = cpus > 0 && busy > MAX_BUSY_PER_CPU * cpus as f64;
    refuse_if(too_busy, InvalidTrial::TooBusy { busy, cpus })
}

/// Compares bytes, since requests may be split or merged. A difference counts as late reaping only
/// if the requests in flight explain it. I/O that never reaches the disk causes a warning instead.
fn check_reaping(ios: u64, in_flight: u64, bs: Bytes, moved: Bytes) -> Result<(), InvalidTrial> {
    let counted = Bytes(ios * bs.0);
    let too_much = counted.0 as f64 > MAX_COUNTED_PER_MOVED * moved.0 as f64;
    let explained = counted.0.saturating_sub(moved.0) <= in_flight * bs.0;
    let late = moved.0 > 0 && too_much && explained;
    refuse_if(late, InvalidTrial::ReapedLate { counted, moved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::{Mark, PhaseData};

    const MS: u64 = 1_000_000;

    fn lane(marks_ms: &[u64]) -> LaneData {
        let mark = |ms: u64| Mark {
            t_ns: ms * MS,
            ..Mark::default()
        };
        let phase = |pair: &[u64]| PhaseData {
            begin: mark(pair[0]),
            end: mark(pair[1]),
            ..PhaseData::default()
        };
        LaneData {
            phases: marks_ms.windows(2).map(phase).collect(),
            ..LaneData::default()
        }
    }

    fn window(slices: std::ops::Range<usize>) -> SteadyWindow {
        SteadyWindow {
            begin: 0,
            slices,
            steady: true,
        }
    }

    /// The first fill of the second job left 10 ms in which both worked; the requested time is 1 s.
    #[test]
    fn jobs_that_were_not_at_work_together_are_no_trial() {
        let prompt = || lane(&[0, 250, 500, 750, 1000, 1250]);
        let late = lane(&[0, 1240, 1240, 1241, 1242, 1252]);
        let invalid = check_common_time(&[prompt(), late], &window(1..5)).unwrap_err();
        let (common_s, wanted_s) = (0.010, 1.0);
        assert!(invalid.to_string().contains("0.010 s"), "{invalid}");
        let wanted = InvalidTrial::LittleCommonTime { common_s, wanted_s };
        assert_eq!(invalid, wanted);
        // An I/O of 200 ms at a cut shifts it, and the common time is 0.8 of 1 s.
        let slow = lane(&[0, 450, 500, 750, 1000, 1250]);
        assert_eq!(check_common_time(&[prompt(), slow], &window(1..5)), Ok(()));
    }

    #[test]
    fn more_busy_cpus_than_the_machine_has_are_no_figure() {
        let trial = |busy_s, job_cpu_s| BenchTrial {
            wall_s: 0.5,
            busy_s,
            job_cpu_s,
            ..BenchTrial::default()
        };
        assert_eq!(check_busy(&trial(Some(1.05), 0.9), 2), Ok(()));
        assert_eq!(check_busy(&trial(None, 1.0), 2), Ok(()));
        let too_busy = InvalidTrial::TooBusy { busy: 8.0, cpus: 2 };
        assert_eq!(check_busy(&trial(Some(4.0), 0.9), 2), Err(too_busy.clone()));
        assert_eq!(check_busy(&trial(None, 4.0), 2), Err(too_busy));
        // A machine whose number of CPUs is unknown is not judged.
        assert_eq!(check_busy(&trial(Some(4.0), 0.9), 0), Ok(()));
    }

    /// 65,536 requests in flight explain 142,000 counted against 80,000 done, but not 200,000.
    #[test]
    fn requests_that_were_reaped_late_are_told_from_those_that_never_came() {
        let (bs, flight) = (Bytes(4096), 64 * 1024);
        let check = |ios: u64, done: u64| check_reaping(ios, flight, bs, Bytes(done * 4096));
        let reaped = check(142_000, 80_000);
        assert!(matches!(reaped, Err(InvalidTrial::ReapedLate { .. })));
        assert_eq!(check(142_000, 120_000), Ok(()));
        // A target of two disks, or a file with holes.
        assert_eq!(check(200_000, 100_000), Ok(()));
        // Nothing reached the disk, so the I/O goes elsewhere.
        assert_eq!(check(1_000, 0), Ok(()));
    }

    #[test]
    fn a_program_that_was_stopped_is_told() {
        let moments = |at_ms: &[u64]| -> Vec<Moment> {
            let moment = |ms: &u64| Moment {
                t_ns: ms * MS,
                ..Moment::default()
            };
            at_ms.iter().map(moment).collect()
        };
        let data = RunData {
            lanes: Vec::new(),
            start_ns: 100 * MS,
            stopped: false,
        };
        assert_eq!(check_delays(&data, &moments(&[100, 352, 601, 900])), Ok(()));
        let stood = check_delays(&data, &moments(&[100, 350, 4_600, 4_600]));
        assert_eq!(stood, Err(InvalidTrial::StoodStill { late_s: 4.0 }));
    }
}
