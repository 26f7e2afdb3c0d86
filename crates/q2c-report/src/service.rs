//! The recorded service times of a simulated device, in words.

use crate::phrase::{listed, when};
use crate::quantity::duration;
use q2c_model::{Bytes, Direction};
use q2c_service::{Class, RecordedFacts};

/// What a simulated device's recorded service times are: of how many I/Os, by direction and size,
/// and what requests get that are unlike all of them.
///
/// Example: `U2C of 1000 recorded I/Os: 1000 reads from 4 KiB below 8 KiB (median 31.2 us);
/// requests of another direction or size take the times of the nearest`.
#[must_use]
pub fn service_times(times: &RecordedFacts) -> String {
    let recorded: u64 = times.classes.iter().map(|class| class.recorded).sum();
    let left_out = match times.left_out {
        0 => String::new(),
        n => format!(
            "; {n} records are left out: neither reads nor writes, failed, merged, or without this time"
        ),
    };
    format!(
        "{} of {recorded} recorded I/Os: {}; requests of another direction or size take the times of the nearest{left_out}",
        times.measure.name().to_uppercase(),
        listed(times.classes.iter().map(class)),
    )
}

fn class(class: &Class) -> String {
    let direction = match class.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    };
    let from = class.from.bytes();
    // The last of the kernel's eight size classes is open upwards.
    let below = (class.from.0 < 128).then(|| format!(" below {}", Bytes(2 * from.0)));
    let below = below.unwrap_or_default();
    let chosen = format!(", {} of them chosen at random", class.kept);
    let chosen = when(class.recorded != class.kept as u64, &chosen);
    let (recorded, median) = (class.recorded, duration(class.median.0 as f64));
    format!("{recorded} {direction} from {from}{below} (median {median}{chosen})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Nanos, Sectors};
    use q2c_service::Measure;

    fn class(direction: Direction, from: u64, recorded: u64, kept: usize) -> Class {
        Class {
            direction,
            from: Sectors(from),
            recorded,
            kept,
            median: Nanos(31_200),
        }
    }

    #[test]
    fn each_class_is_told_and_what_others_get() {
        let mut times = RecordedFacts {
            measure: Measure::U2c,
            classes: vec![class(Direction::Read, 8, 1_000, 1_000)],
            left_out: 0,
        };
        let told = "U2C of 1000 recorded I/Os: 1000 reads from 4 KiB below 8 KiB (median 31.2 us); \
                    requests of another direction or size take the times of the nearest";
        assert_eq!(service_times(&times), told);
        times.classes.push(class(Direction::Write, 128, 9, 4));
        times.left_out = 2;
        let told = service_times(&times);
        let write = "9 writes from 64 KiB (median 31.2 us, 4 of them chosen at random)";
        assert!(
            told.contains("1009 recorded") && told.contains(write),
            "{told}"
        );
        assert!(told.contains("2 records are left out"), "{told}");
    }
}
