use super::*;

/// A disk of `room` bytes. It writes as much as fits, then reports that it is full.
#[derive(Default)]
struct SmallDisk {
    bytes: Vec<u8>,
    room: usize,
    sync_fails: bool,
    cut_fails: bool,
}

impl JournalStorage for SmallDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..fits]);
        if fits == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    fn sync(&mut self) -> io::Result<()> {
        if self.sync_fails {
            Err(io::Error::other("the disk is gone"))
        } else {
            Ok(())
        }
    }
    fn cut(&mut self, len: u64) -> io::Result<()> {
        if self.cut_fails {
            return Err(io::Error::other("the disk is gone"));
        }
        self.bytes.truncate(len as usize);
        Ok(())
    }
}

fn open_journal(storage: SmallDisk) -> RunJournal<SmallDisk> {
    let (journal, _) = RunJournal::open(storage, Path::new("cells.jsonl"), b"").unwrap();
    journal
}

#[test]
fn every_size_of_disk_keeps_whole_lines_only() {
    let lines = ["{\"a\":1}", "{\"b\":22}", "[3]"];
    // With their newlines these end at bytes 8, 17 and 21.
    let end_at = |room: usize| {
        let mut ends = [0, 8, 17, 21].into_iter();
        ends.rfind(|&end| end <= room).unwrap()
    };
    for room in 0..=21 {
        let mut journal = open_journal(SmallDisk {
            room,
            ..SmallDisk::default()
        });
        let failed = lines.iter().find_map(|line| journal.append(line).err());
        assert_eq!(failed.is_none(), room == 21);
        if let Some(error) = failed {
            assert!(matches!(error, RunDirError::DiskFull { .. }), "{error}");
        }
        let expected: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(journal.storage.bytes, &expected.as_bytes()[..end_at(room)]);
    }
}

#[test]
fn space_that_comes_back_is_used() {
    let mut journal = open_journal(SmallDisk {
        room: 6,
        ..SmallDisk::default()
    });
    assert!(journal.append("[1,2,3]").is_err());
    journal.storage.room = 100;
    journal.append("[1,2,3]").unwrap();
    assert_eq!(journal.storage.bytes, b"[1,2,3]\n");
}

#[test]
fn a_line_whose_flush_failed_does_not_count() {
    let mut journal = open_journal(SmallDisk {
        room: 100,
        sync_fails: true,
        ..SmallDisk::default()
    });
    assert!(journal.append("[1]").is_err());
    assert!(journal.storage.bytes.is_empty());
}

#[test]
fn nothing_is_glued_to_a_half_line_that_stays() {
    let mut journal = open_journal(SmallDisk {
        room: 2,
        cut_fails: true,
        ..SmallDisk::default()
    });
    assert!(journal.append("[1]").is_err());
    journal.storage.room = 100;
    let broken = journal.append("[2]");
    assert!(matches!(broken, Err(RunDirError::Broken { .. })));
    assert_eq!(journal.storage.bytes, b"[1");
}

#[test]
fn zeros_at_the_end_are_torn_and_cut() {
    let text = b"[1]\n\0\0\0\0";
    let storage = SmallDisk {
        bytes: text.to_vec(),
        room: 100,
        ..SmallDisk::default()
    };
    let (journal, torn) = RunJournal::open(storage, Path::new("cells.jsonl"), text).unwrap();
    assert_eq!(torn, Some(TornLine { line: 2, bytes: 4 }));
    assert_eq!(journal.storage.bytes, b"[1]\n");
}

#[test]
fn a_broken_line_in_the_middle_is_refused_by_number() {
    let error = split_lines(Path::new("cells.jsonl"), b"[1]\n[2\n[3]\n").unwrap_err();
    assert!(matches!(error, RunDirError::Corrupt { line: 2, .. }));
}

proptest::proptest! {
    #[test]
    fn a_cut_anywhere_keeps_exactly_the_lines_before_it(
        values in proptest::collection::vec(".{0,12}", 0..6),
        at in 0usize..200,
    ) {
        let lines: Vec<String> = values.iter().map(|v| serde_json::to_string(v).unwrap()).collect();
        let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
        let at = at.min(text.len());
        let text = &text.as_bytes()[..at];
        let (whole, torn) = split_lines(Path::new("cells.jsonl"), text).unwrap();
        let newlines = text.iter().filter(|&&b| b == b'\n').count();
        proptest::prop_assert_eq!(&whole[..], &lines[..newlines]);
        proptest::prop_assert_eq!(torn.is_some(), text.last().is_some_and(|&b| b != b'\n'));
    }
}
