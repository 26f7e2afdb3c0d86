use super::{block, export, export_all, three, window};
use crate::support::{self, import};
use q2c_model::{IoRecord, Nanos, Op, TraceMeta};
use q2c_trace::import::{ImportOptions, TimeUnit};

const HEADER: &str = "id,layer,device,op,flags,sector,bytes,lane,depth_at_submit,queue_ns,getrq_ns,insert_ns,issue_ns,\
complete_ns,submit_ns,submit_end_ns,reap_ns,sleep_asked_ns,slept_ns,missed,pid,comm,cpu_submit,cpu_complete,hctx,tag,\
cgroup,error,merged_into";

#[test]
fn lines_by_hand() {
    let (text, exported) = export_all("csv", &three());
    let wanted = [
        HEADER,
        "0,block,259:3,read,0,8,4096,0,1,0,1000,2000,3000,80500,,,,,,,71,\"a, \"\"b\"\"\",1,3,2,9,,0,",
        "1,block,259:3,write,5,8589934592,512,0,1,1500,2500,,4000,50000,,,,,,,,,1,,,,,-5,",
        "2,block,259:3,flush,0,0,0,0,1,70000,71000,72000,,,,,,,,,,,,,,,,,",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), wanted);
    assert_eq!((exported.written, exported.left_out.len()), (3, 0));
    let (meta, window) = (TraceMeta::default(), window(1_500, 70_000));
    let (text, _) = export("csv", &meta, &three(), &window).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), [HEADER, wanted[2]]);
}

/// Reads the given columns of an export with the CSV importer.
fn read_back(text: &str, columns: &str) -> Vec<IoRecord> {
    let names = columns.split(',');
    let maps: Vec<String> = names.map(|name| format!("{name}={name}")).collect();
    let options = ImportOptions {
        unit: Some(TimeUnit::Nanoseconds),
        columns: support::columns(&maps.join(",")),
        ..ImportOptions::default()
    };
    import("csv", "some", text.as_bytes(), &options).unwrap().0
}

const BLOCK: &str = "device,op,flags,sector,bytes,lane,depth_at_submit,queue_ns,getrq_ns,insert_ns,issue_ns,complete_ns,pid,\
comm,cpu_submit,cpu_complete,hctx,tag,cgroup,error";
const USER: &str = "device,op,flags,sector,bytes,lane,depth_at_submit,submit_ns,submit_end_ns,reap_ns,sleep_asked_ns,slept_ns,\
missed,pid,cpu_submit";

#[test]
fn the_importer_reads_it_back() {
    let mut records = three();
    for id in 3..5_000u64 {
        let at = i64::try_from(id * 60_000).unwrap();
        let times = [at, at + 5, -1, at + 9, at + 77];
        let mut record = block(id, Op::Discard, id * 977, 4096 << (id % 7), times);
        record.lane = u32::try_from(id % 3).unwrap();
        record.depth_at_submit = u32::try_from(id % 40).unwrap();
        record.cgroup = id.is_multiple_of(5).then_some(u64::MAX - id);
        let named = id.is_multiple_of(2);
        record.comm = named.then(|| "kworker/u8:2+flush".to_owned());
        records.push(record);
    }
    // The importer numbers lanes by appearance.
    for (at, record) in records.iter_mut().enumerate() {
        record.lane = u32::try_from(at % 3).unwrap();
    }
    let (text, _) = export_all("csv", &records);
    assert_eq!(read_back(&text, BLOCK), records);
}

#[test]
fn so_for_the_user_layer() {
    let user = |id: u64| {
        let mut record = block(id, Op::Read, id * 8, 4096, [-1; 5]);
        record.layer = q2c_model::Layer::User;
        let at = |ns: u64| Some(Nanos(id * 100_000 + ns));
        (record.submit_ns, record.submit_end_ns, record.reap_ns) = (at(0), at(1_200), at(31_201));
        record.sleep_asked_ns = id.is_multiple_of(2).then_some(Nanos(20_000));
        record.slept_ns = record.sleep_asked_ns.map(|ns| ns + Nanos(3));
        record.missed = record.slept_ns.map(|_| id.is_multiple_of(4));
        record.error = None;
        record
    };
    let records: Vec<IoRecord> = (0..100).map(user).collect();
    let (text, _) = export_all("csv", &records);
    assert_eq!(read_back(&text, USER), records);
}
