//! Device times: the public Z-SSD trace, and seeded times that need no external file.

use super::closed_loop::LoopRequest;
use q2c_model::Direction;
use q2c_model::stats::Rng;
use q2c_policy::Io;

/// 1,000 times of 4 KiB random reads on a Samsung 983 ZET, ns; a counted skip without the file.
pub(crate) fn zssd() -> Option<Vec<u64>> {
    let path = q2c_testkit::shared_data(
        "the public Z-SSD trace",
        "zssd-983zet-randread4k-latency-us.txt",
    )?;
    let text = std::fs::read_to_string(&path).expect("the sample data can be read");
    let to_ns =
        |line: &str| (line.trim().parse::<f64>().expect("microseconds") * 1e3).round() as u64;
    let times: Vec<u64> = text.lines().map(to_ns).collect();
    assert_eq!(times.len(), 1000, "{}", path.display());
    Some(times)
}

/// 600 device times, ns, drawn once with a seed: steady at 11 us, 62 us while another job runs, 11
/// us again, a mix with hits in the device's cache and a tail, 80 times of 2 us, and steady again.
pub(crate) fn seeded() -> Vec<u64> {
    let lines = include_str!("seeded-ns.txt").lines();
    let times: Vec<u64> = lines.map(|l| l.parse().expect("whole ns")).collect();
    assert_eq!(times.len(), 600);
    times
}

/// Seeded times, ns, of shapes that are hard for rules, long enough for many windows of 1 ms.
pub(crate) fn synthetic() -> Vec<(&'static str, Vec<u64>)> {
    let mut rng = Rng::new(20_260_101);
    let mut times = |draw: &dyn Fn(usize, &mut Rng) -> u64| -> Vec<u64> {
        (0..4_000).map(|i| draw(i, &mut rng)).collect()
    };
    vec![
        ("constant", times(&|_, _| 30_000)),
        ("noisy", times(&|_, r| 9_000 + r.below(4_000))),
        (
            "jumps",
            times(&|i, r| [10_000, 200_000][i / 500 % 2] + r.below(1_000)),
        ),
        (
            "two peaks",
            times(&|_, r| [12_000, 90_000][usize::from(r.below(5) == 0)] + r.below(500)),
        ),
        (
            "heavy tail",
            times(&|_, r| (8_000.0 / (1.0 - r.unit()).powf(0.7)) as u64),
        ),
        ("tiny", times(&|_, r| 1 + r.below(300))),
    ]
}

/// Mixed sizes and directions with think times, some longer than any window of the tests.
pub(crate) fn mixed(streams: usize) -> Vec<Vec<LoopRequest>> {
    let mut rng = Rng::new(7);
    let mut request = || {
        let bytes = [512, 4096, 16_384, 1 << 20][rng.below(4) as usize];
        let write = rng.below(3) == 0;
        let direction = [Direction::Read, Direction::Write][usize::from(write)];
        let base = if write { 6_000 } else { 20_000 };
        LoopRequest {
            io: Io { direction, bytes },
            latency: base + u64::from(bytes) / 40 + rng.below(3_000),
            think: [0, 500, 8_000, 25_000_000][rng.below(400) as usize / 133],
        }
    };
    let stream = |_| (0..1_500).map(|_| request()).collect();
    (0..streams).map(stream).collect()
}
