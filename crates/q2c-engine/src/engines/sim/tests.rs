//! Tests of a device that several submitters share. Its times are exact, and they are of
//! CLOCK_MONOTONIC, which runs on meanwhile: so no test has a tight upper bound on real time.

use super::*;
use crate::{EngineSpec, Real};
use q2c_service::{Empirical, EmpiricalBuilder, Measure, RecordedTimes};
use q2c_sys::Clock;
use q2c_sys::clock::monotonic_ns;

fn request(slot: u16) -> Request {
    Request {
        operation: Operation::Read,
        offset: 0,
        length: 4096,
        slot,
    }
}

fn spec(text: &str) -> SimSpec {
    let engine: EngineSpec = text.parse().expect("an engine");
    engine.simulates().expect("a simulated device").clone()
}

fn open(devices: &SimDevices, text: &str, slots: usize, seed: u64) -> Sim<Real> {
    let device = devices.device_for(&spec(text)).unwrap();
    Sim::open(Real(Clock::MONOTONIC), device, None, slots, seed).unwrap()
}

/// A submitter with one request at the device, and the time at which that completes, ns.
fn busy(devices: &SimDevices, text: &str) -> (Sim<Real>, u64) {
    let mut sim = open(devices, text, 4, 1);
    sim.submit(&[request(0)]).unwrap();
    let due = sim.next_due().unwrap();
    (sim, due)
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn one_server_serves_one_after_the_other() {
    let mut sim = open(&SimDevices::default(), "sim:200us", 2, 1);
    let start = monotonic_ns();
    sim.submit(&[request(0), request(1)]).unwrap();
    assert_eq!(sim.wait().unwrap().slot, 0);
    assert_eq!(sim.wait().unwrap().slot, 1);
    assert!(monotonic_ns() - start >= 400_000);
}

/// The second submitter waits for the first one's request, exact to the nanosecond. It does not
/// wait on another device, another target or a second server.
#[test]
fn submitters_of_one_device_share_its_servers() {
    let devices = SimDevices::default();
    let (_first, due) = busy(&devices, "sim:100s");
    assert_eq!(busy(&devices, "sim:100s").1, due + 100 * SECOND);
    let before = monotonic_ns();
    for unshared_due in [
        busy(&devices, "sim:99s").1,
        busy(&SimDevices::default(), "sim:100s").1,
    ] {
        let since = unshared_due - before;
        assert!((99 * SECOND..150 * SECOND).contains(&since), "{since}");
    }
    let (_first, due) = busy(&devices, "sim:100s,servers=2");
    let second = busy(&devices, "sim:100s,servers=2").1;
    assert!(second >= due && second < due + 50 * SECOND);
}

#[test]
fn clones_share_their_devices_and_a_fault_around_an_engine_too() {
    let devices = SimDevices::default();
    let (_first, due) = busy(&devices, "sim:100s");
    assert_eq!(busy(&devices.clone(), "sim:100s").1, due + 100 * SECOND);
    let spoilt = busy(&devices, "fault:eio@5:sim:100s").1;
    assert_eq!(spoilt, due + 200 * SECOND);
}

/// Requests in flight when the last engine closes the device delay nobody later.
#[test]
fn a_device_that_nobody_has_open_is_idle() {
    let devices = SimDevices::default();
    let (first, due) = busy(&devices, "sim:100s");
    let (second, second_due) = busy(&devices, "sim:100s");
    assert_eq!(second_due, due + 100 * SECOND);
    drop(first);
    assert_eq!(busy(&devices, "sim:100s").1, due + 200 * SECOND);
    drop(second);
    let later = busy(&devices, "sim:100s").1;
    assert!(later < monotonic_ns() + 101 * SECOND);
}

/// A batch of three requests at a queue of one: each follows the completion of the one before.
#[test]
fn each_request_of_a_batch_takes_a_free_one_of_its_queue() {
    let mut sim = open(
        &SimDevices::default(),
        "sim:10us,servers=3,nr_requests=1",
        3,
        1,
    );
    sim.submit(&[0, 1, 2].map(request)).unwrap();
    let dues: Vec<u64> = sim.in_flight.iter().map(|(due, _)| *due).collect();
    assert!(
        dues[1] >= dues[0] + 10_000 && dues[2] >= dues[1] + 10_000,
        "{dues:?}"
    );
}

#[test]
fn recorded_times_are_read_once_and_drawn() {
    fn read(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn std::error::Error + Send + Sync>> {
        if wanted.measure == Some(Measure::D2c) {
            return Err("find D2C: there is none".into());
        }
        let mut record = q2c_model::IoRecord::new(
            0,
            q2c_model::Layer::User,
            q2c_model::DevId::default(),
            q2c_model::Op::Write,
            q2c_model::Sectors(0),
            q2c_model::Bytes(4096),
        );
        (record.submit_ns, record.reap_ns) = (Some(Nanos(0)), Some(Nanos(60 * SECOND)));
        let mut builder = EmpiricalBuilder::new(wanted.measure);
        builder.take(&[record]);
        Ok(builder.finish()?)
    }
    let devices = SimDevices::new(read);
    let requested = spec("sim:trace=x,servers=9");
    let [device, again] = [0, 1].map(|_| devices.device_for(&requested).unwrap());
    assert!(Arc::ptr_eq(&device, &again));
    assert_eq!(
        device.recorded_times().unwrap().facts().measure,
        Measure::U2c
    );
    let before = monotonic_ns();
    let (_sim, due) = busy(&devices, "sim:trace=x,servers=9");
    assert!((60 * SECOND..90 * SECOND).contains(&(due - before)));
    let refused = |devices: &SimDevices, text| devices.device_for(&spec(text)).unwrap_err();
    let message = refused(&devices, "sim:trace=x,time=d2c").to_string();
    assert!(message.contains("x: find D2C: there is none"), "{message}");
    let message = refused(&SimDevices::default(), "sim:trace=x").to_string();
    assert!(message.contains("can read recordings"), "{message}");
}

/// A submitter draws the same times by the same seed, whatever other submitters draw.
#[test]
fn a_seed_tells_a_submitters_times() {
    let times = |seed| -> Vec<u64> {
        let devices = SimDevices::default();
        let text = "sim:lognormal(10s,0.5),servers=100";
        let [mut sim, mut other] = [seed, 99].map(|seed| open(&devices, text, 50, seed));
        let draw_beside_other = |n| {
            other.submit(&[request(n)]).unwrap();
            let (direction, bytes) = (Direction::Read, 4096);
            sim.draws.next(Io { direction, bytes }).0
        };
        (0..50).map(draw_beside_other).collect()
    };
    assert_eq!(times(3), times(3));
    assert_ne!(times(3), times(4));
}
