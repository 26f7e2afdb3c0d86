//! Tests how the kernel program joins the events of an I/O. `tests/joining.c` runs the same code
//! outside the kernel on scripted events. The events come in the order of the block layer
//! (`__bio_split_to_limits`, `blk_mq_submit_bio`, `blk_mq_requeue_request`), and an address is used
//! again as soon as its bio is free. The model below knows what each record must hold: it knows
//! every I/O by its own number and looks up no address.

mod scripted;

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::Path;

/// A record: times of Q, G, D and C, sector, bytes, and 1 for a part of a split.
type JoinedRecord = [u64; 7];

/// I/Os that are in no record, by reason.
#[derive(Debug, Default, PartialEq)]
struct MissingIos {
    unqueued: u64,
    /// The I/O's end was not seen, which shows when its bio is queued again or the script ends.
    unended: u64,
    refused: u64,
    no_room: u64,
}

fn records(program: &Path, script: &str) -> (Vec<JoinedRecord>, MissingIos) {
    let text = scripted::run_script(program, script);
    let mut records = Vec::new();
    let mut missing = MissingIos::default();
    for line in text.lines() {
        let (kind, numbers) = line.split_once(' ').expect("a word and numbers");
        let numbers = numbers.split(' ').map(|n| n.parse().expect("a number"));
        let numbers: [u64; 7] = numbers.collect::<Vec<_>>().try_into().expect("seven");
        match kind {
            "record" => records.push(numbers),
            "counts" => {
                let [unqueued, unended, refused, map, ring, unissued, issued] = numbers;
                missing = MissingIos {
                    unqueued,
                    unended: unended + issued,
                    refused: refused + unissued,
                    no_room: map + ring,
                };
            }
            _ => panic!("{line}"),
        }
    }
    records.sort_unstable();
    (records, missing)
}

/// A small generator of numbers that look random (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % limit
    }
}

/// A request on its way: its number, its bio, the bio that it was split from, and what its record
/// must hold.
struct ModelRequest {
    number: usize,
    bio: usize,
    whole: usize,
    record: JoinedRecord,
}

/// A block layer that reports I/Os as Linux does.
struct Model {
    dice: Dice,
    script: String,
    time: u64,
    /// Addresses that are free; the last one is used next, as in the kernel's caches.
    free: Vec<usize>,
    free_requests: Vec<usize>,
    /// By address of a whole bio: its parts that are not complete. It is free when all are.
    parts_left: Vec<u64>,
    in_flight: VecDeque<ModelRequest>,
    records: Vec<JoinedRecord>,
    missing: MissingIos,
}

const BLOCK: u64 = 64 << 10;

impl Model {
    fn new(seed: u64) -> Model {
        Model {
            dice: Dice(seed),
            script: String::new(),
            time: 0,
            free: (1..=300).rev().collect(),
            free_requests: (1..=300).rev().collect(),
            parts_left: vec![0; 301],
            in_flight: VecDeque::new(),
            records: Vec::new(),
            missing: MissingIos::default(),
        }
    }

    fn emit(&mut self, event: &str) -> u64 {
        writeln!(self.script, "{event}").expect("memory");
        self.time += 1;
        self.time
    }

    /// Submits an I/O of up to 8 parts. Half of those that would be split may not wait: they end at
    /// once and are queued again.
    fn submit_io(&mut self) {
        let parts = [1, 1, 1, 4, 8][self.dice.below(5) as usize];
        let sector = self.dice.below(1 << 20) * 8;
        if parts > 1 && self.dice.below(2) == 0 {
            let bio = self.free.pop().expect("a bio");
            self.emit(&format!("queue {bio} {sector} {}", parts * BLOCK));
            self.emit(&format!("refuse {bio}"));
            self.missing.refused += 1;
            self.free.push(bio);
            // Another I/O may take the address first.
            if self.dice.below(4) == 0 {
                self.complete_one();
            }
        }
        let whole = self.free.pop().expect("a bio");
        let queued = self.emit(&format!("queue {whole} {sector} {}", parts * BLOCK));
        self.parts_left[whole] = parts;
        for part in 0..parts {
            let at = sector + part * BLOCK / 512;
            let mut bio = whole;
            if part + 1 < parts {
                bio = self.free.pop().expect("a bio");
                self.emit(&format!("split {bio} {whole} {BLOCK}"));
            }
            let split = u64::from(parts > 1);
            self.issue_request(bio, whole, [queued, 0, 0, 0, at, BLOCK, split]);
        }
    }

    fn issue_request(&mut self, bio: usize, whole: usize, mut record: JoinedRecord) {
        let number = self.free_requests.pop().expect("a request");
        record[1] = self.emit(&format!("getrq {bio} {number}")); // G
        record[2] = self.emit(&format!("issue {number}")); // D
        while self.dice.below(8) == 0 {
            self.emit(&format!("requeue {number}"));
            record[2] = self.emit(&format!("issue {number}"));
        }
        self.in_flight.push_back(ModelRequest {
            number,
            bio,
            whole,
            record,
        });
    }

    /// Completes a random request. The kernel program does not see one completion in 50.
    fn complete_one(&mut self) {
        let Some(place) = (self.in_flight.len() as u64).checked_sub(1) else {
            return;
        };
        let place = self.dice.below(place + 1) as usize;
        let mut request = self.in_flight.remove(place).expect("it is there");
        if self.dice.below(50) == 0 {
            self.emit(&format!("hidden {}", request.number));
            self.missing.unended += 1;
        } else {
            request.record[3] = self.emit(&format!("complete {}", request.number)); // C
            self.records.push(request.record);
        }
        self.free_requests.push(request.number);
        if request.bio != request.whole {
            self.free.push(request.bio);
        }
        self.parts_left[request.whole] -= 1;
        if self.parts_left[request.whole] == 0 {
            self.free.push(request.whole);
        }
    }

    fn run(mut self, ios: u64) -> (String, Vec<JoinedRecord>, MissingIos) {
        for _ in 0..ios {
            self.submit_io();
            while self.in_flight.len() as u64 > self.dice.below(64) {
                self.complete_one();
            }
        }
        while !self.in_flight.is_empty() {
            self.complete_one();
        }
        self.records.sort_unstable();
        (self.script, self.records, self.missing)
    }
}

#[test]
fn every_io_is_a_record_or_has_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = scripted::program(folder.path(), "joining");
    for seed in 0..20 {
        let (script, wanted, missing) = Model::new(seed).run(300);
        assert!(missing.unended > 0 && missing.refused > 0);
        let joined = records(&program, &script);
        assert_eq!(joined, (wanted, missing), "seed {seed}");
    }
}

/// A read of 128 KiB that may not wait and would have to be split, then again with the address of
/// the first bio: the record has the time of the second Q.
#[test]
fn refused_and_queued_again_at_the_same_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = scripted::program(folder.path(), "joining");
    let script = "queue 1 100 131072\nrefuse 1\nqueue 1 100 131072\nsplit 2 1 65536\n\
        getrq 2 1\nissue 1\ngetrq 1 2\nissue 2\ncomplete 2\ncomplete 1";
    let expected = [[3, 5, 6, 10, 100, 65_536, 1], [3, 7, 8, 9, 228, 65_536, 1]];
    let missing = MissingIos {
        refused: 1,
        ..MissingIos::default()
    };
    assert_eq!(records(&program, script), (expected.to_vec(), missing));
}

/// A bio that joined another's request is a record with the time of its M, and the D and C of the
/// request.
#[test]
fn merged_and_not_seen_to_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = scripted::program(folder.path(), "joining");
    let script = "queue 1 100 4096\ngetrq 1 1\nqueue 2 108 4096\nmerge 2 1\nissue 1\nrequeue 1\nissue 1\n\
        complete 1\nqueue 2 0 4096\ngetrq 2 1\nissue 1\nhidden 1\nqueue 2 8 4096\ngetrq 2 1\nissue 1\ncomplete 1";
    let expected = [
        [1, 2, 7, 8, 100, 4096, 0],
        [3, 4, 7, 8, 108, 4096, 0],
        [13, 14, 15, 16, 8, 4096, 0],
    ];
    let missing = MissingIos {
        unended: 1,
        ..MissingIos::default()
    };
    assert_eq!(records(&program, script), (expected.to_vec(), missing));
}
