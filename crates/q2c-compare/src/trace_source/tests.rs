use super::*;
use crate::request::tests::request;
use q2c_model::Exit;
use q2c_trace::import::{ColumnMap, TimeUnit};
use std::cell::RefCell;
use std::fs;

/// Opens the recording `name` in `folder`, which is also the folder for its import.
fn open_trace(folder: &Path, name: &str, request: &ReplayRequest) -> Result<TraceSource, Fault> {
    let columns = "submit_ns=submit,latency=took,offset=offset,bytes=size,op=op";
    let mut import = ImportOptions::default();
    if !name.ends_with(".parquet") {
        import.unit = Some("us".parse::<TimeUnit>().unwrap());
        import.columns = ColumnMap::parse_list(columns).unwrap();
    }
    let asked = SourceRequest {
        path: &folder.join(name),
        format: name.ends_with(".csv").then_some("csv"),
        import: &import,
        temporary: folder,
    };
    let messages = RefCell::new(Vec::new());
    let tell = |line: &str| messages.borrow_mut().push(line.to_owned());
    // For this name, a signal has already arrived before the recording is read.
    let stop = AtomicBool::new(name == STOPPED);
    let opened = TraceSource::open(&asked, &request.selection, &stop, &tell);
    if opened.is_ok() {
        let messages = messages.borrow();
        assert!(messages[0].starts_with("importing "), "{messages:?}");
        let facts = "the trace has 2 requests over 2.0 ms to 1 device, ";
        assert!(messages[1].starts_with(facts), "{messages:?}");
    }
    opened
}

const STOPPED: &str = "stopped.csv";

fn recording(folder: &Path) -> &'static str {
    let rows = "submit,took,offset,size,op\n0,100,0,4096,read\n2000,100,8192,4096,read\n";
    fs::write(folder.join("two.csv"), rows).unwrap();
    "two.csv"
}

#[test]
fn an_import_is_there_while_the_source_is() {
    let folder = tempfile::tempdir().unwrap();
    let name = recording(folder.path());
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let source = open_trace(folder.path(), name, &request()).unwrap();
    assert_eq!((source.made_by.as_str(), source.facts.requests), ("csv", 2));
    assert!(source.name.ends_with(name));
    // The import has no name, so it leaves nothing even after SIGKILL.
    assert_eq!(files(), 1);
    let imported = source.facts.path.clone();
    assert_eq!(TraceReader::open(&imported).unwrap().rows(), 2);
}

#[test]
fn a_trace_without_what_the_replay_needs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let name = recording(folder.path());
    let mut later = request();
    later.selection.range = Some((Nanos(5_000_000_000), Nanos(6_000_000_000)));
    let empty = open_trace(folder.path(), name, &later).unwrap_err();
    assert_eq!(empty.exit(), Exit::Input);
    assert!(empty.message().contains(" between 5.00 s and 6.00 s"));
    let mut by_cpu = request();
    by_cpu.share = ShareBy::Cpu;
    let by_any = open_trace(folder.path(), name, &by_cpu);
    let lacks = by_any.unwrap().fits(&by_cpu).unwrap_err();
    assert!(matches!(lacks, ReplayError::NoKey("CPU")), "{lacks}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_a_missing_one_and_a_signal_are_three_errors() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cut.parquet"), b"PAR1 and no more").unwrap();
    let cut = open_trace(folder.path(), "cut.parquet", &request()).unwrap_err();
    assert_eq!(cut.exit(), Exit::Input, "{cut}");
    let missing = open_trace(folder.path(), "missing", &request()).unwrap_err();
    assert_eq!(missing.exit(), Exit::Input, "{missing}");
    let system: Option<&io::Error> = missing.cause();
    assert_eq!(system.map(io::Error::kind), Some(io::ErrorKind::NotFound));
    let name = folder.path().join(recording(folder.path()));
    fs::rename(name, folder.path().join(STOPPED)).unwrap();
    let stopped = open_trace(folder.path(), STOPPED, &request()).unwrap_err();
    assert_eq!(stopped.exit(), Exit::Interrupted, "{stopped}");
}
