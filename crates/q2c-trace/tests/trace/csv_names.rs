//! CSV columns with usual names: which are used or refused, and which map is suggested.

use crate::csv::{import, rows, suggested};
use crate::support::{columns, parts, stating, tells};
use q2c_model::{Bytes, Layer, Nanos, Op};
use q2c_trace::import::ImportOptions;

/// Usual names need no map: a name contains the unit, and the trace says how columns were used.
#[test]
fn usual_names_need_no_map() {
    let text = b"Timestamp_us,Response Time (us),Op,Offset,Size,Host\n10,5,R,4096,4096,a\n12,7,W,0,8192,b\n";
    let (records, meta) = import(text, &ImportOptions::default()).unwrap();
    let requests = records.iter().map(|r| {
        let (start, latency) = (r.submit_ns.unwrap().0, r.u2c().unwrap().0);
        (r.op, r.sector.0, r.bytes.0, start, latency)
    });
    let expected = [
        (Op::Read, 8, 4096, 0, 5_000),
        (Op::Write, 0, 8192, 2_000, 7_000),
    ];
    assert_eq!(requests.collect::<Vec<_>>(), expected);
    let columns =
        "submit_ns=Timestamp_us,latency=Response Time (us),op=Op,offset=Offset,bytes=Size";
    assert_eq!(meta.facts["columns_by_name"], columns);
    assert_eq!(meta.facts["columns_not_taken"], "Host");
}

/// An end belongs to the layer of the start, or to the block layer if there is no start.
#[test]
fn names_of_ends_and_places_with_any_unit() {
    for case in [
        "start_us,complete_us,op,size\n1,3,R,512 => 0 read 512 0 2000",
        "time_ms,completion_ms,op,size\n1,3,R,512 => 0 read 512 0 2000000",
        "time_us,op,size_bytes,start_sector\n1,R,512,8 => 0 read 512 8 0",
        "time_us,op,size,lba_4k\n1,R,4096,2 => ask",
        "time_us,op,size_bytes,lba_4k\n1,R,4096,2 => 0 read 4096 16 0",
        "time_us,op,size,address_bytes\n1,R,512,4096 => 0 read 512 8 0",
        "time_us,op,size,addr (sectors)\n1,R,512,8 => 0 read 512 8 0",
        "time_us,op,size,address\n1,R,512,8 => ask",
        "time_us,clat_us,op,size\n1,5,R,512 => 0 read 512 0 0",
    ] {
        let [text, expected] = parts(case);
        let read = rows(format!("{text}\n"), "", None);
        let read = read.map_or_else(|_| "ask".to_owned(), |(read, _)| read[0].clone());
        assert_eq!(read, expected, "{text}");
    }
    let text = b"complete_us,latency_us,op,size\n9,5,R,512\n";
    let (records, _) = import(text, &ImportOptions::default()).unwrap();
    let layer_and_latency = (records[0].layer, records[0].q2c());
    assert_eq!(layer_and_latency, (Layer::Block, Some(Nanos(5_000))));
}

/// A unit that is part of the header's own name is used; a different one is an error.
#[test]
fn a_header_may_end_with_the_size_of_a_block() {
    let text = "time_us,op,size,LBA:4K\n1,R,4096,2\n";
    let map = "submit_ns=time_us,bytes=size,sector=LBA:4K";
    assert_eq!(rows(text, map, None).unwrap().0, ["0 read 4096 16 0"]);
    let mut stated = stating(|o| (o.columns, o.offset_unit) = (columns(map), Some(Bytes(512))));
    assert!(import(text.as_bytes(), &stated).is_err());
    stated.offset_unit = Some(Bytes(4096));
    import(text.as_bytes(), &stated).unwrap();
}

#[test]
fn columns_that_were_not_taken_may_hold_what_lacks() {
    let facts = |head: &str| {
        let (_, meta) = rows(format!("{head}\n1,R,512,4\n"), "", None).unwrap();
        meta.facts
    };
    let unused = facts("time_us,op,size,clat_us");
    for fact in ["stated.sector", "stated.depth_at_submit"] {
        assert!(unused[fact].contains("clat_us"), "{}", unused[fact]);
    }
    let used = facts("time_us,op,size,pid");
    assert!(used["stated.sector"].contains("the source has no offsets"));
}

/// The map that the error suggests imports the file.
#[test]
fn two_usual_names_of_one_field_are_refused() {
    for case in [
        "time_us,op,size,service_time_us,lat_us\n1,R,512,2,3 => latency => service_time_us => lat_us",
        "time_us,op,size,duration_us,response_us\n1,R,512,2,3 => latency => duration_us => response_us",
        "time_us,op,blocksize,size\n1,R,512,4096 => bytes => blocksize => size",
        "time_us,type,size,op\n1,R,512,W => op => type => op",
        "start_us,op,size,submit_us\n1,R,512,2 => submit_ns => start_us => submit_us",
        "time_us,op,size,end_us,finish_us\n1,R,512,2,3 => reap_ns => end_us => finish_us",
    ] {
        let [text, field, first, second] = parts(case);
        let text = format!("{text}\n");
        let error = rows(&text, "", None).unwrap_err();
        assert_eq!(suggested(&error), format!("{field}={first}"));
        tells(&error, &format!("`{first}`"));
        tells(&error, &format!("`{second}`"));
        let other = rows(&text, &format!("{field}={second}"), None);
        let (_, meta) = other.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(meta.facts["columns_not_taken"], first);
    }
}

/// Usual names give the fields that the map leaves open, unless they contradict it.
#[test]
fn usual_names_fill_up_a_map() {
    let text = b"when_us,start_us,lat_us,op,size,lba,pid\n10,9,5,R,4096,8,3\n12,11,7,W,8192,0,3\n";
    for case in [
        "submit_ns=when_us,bytes=size:B => 2000 write 8192 0 7000 => latency=lat_us,op=op,sector=lba,pid=pid => start_us",
        // With an end and a start, a latency would be a contradiction.
        "reap_ns=when_us,bytes=size:B => 2000 write 8192 0 1000 => submit_ns=start_us,op=op,sector=lba,pid=pid => lat_us",
        // The offset is in the column that usually holds the sector.
        "offset=lba:512B,bytes=size,submit_ns=start_us => 2000 write 8192 0 7000 => latency=lat_us,op=op,pid=pid => when_us",
    ] {
        let [map, row, by_name, not_taken] = parts(case);
        let (read, meta) = rows(text, map, None).unwrap();
        assert_eq!(read[1], row, "{map}");
        assert_eq!(meta.facts["columns_by_name"], by_name, "{map}");
        assert_eq!(meta.facts["columns_not_taken"], not_taken, "{map}");
    }
    let error = rows(text, "submit_ns=when_us", None).unwrap_err();
    tells(&error, "bytes=size:B in --columns");
}

#[test]
fn names_that_say_too_little_are_told_with_a_line_to_begin_with() {
    let error = import(b"when,took\n1,2\n", &ImportOptions::default()).unwrap_err();
    tells(
        &error,
        "--columns 'submit_ns=when,latency=took' --unit UNIT --op read --bs 4k \
         (guessed by `when`, `took` in the headers; fields: device, op,",
    );
    tells(&error, "found the headers `when, took`");
    // The words in headers decide what is suggested; a size in pages is not read as bytes.
    for case in [
        "when_us,kind,where_bytes,how_long_bytes,took_us => \
         'submit_ns=when_us,op=kind,offset=where_bytes,bytes=how_long_bytes,latency=took_us' \
         (guessed by `when`, `where`, `long`, `took` in the headers; fields: ",
        "a_us,size_pages,b => 'submit_ns=COLUMN' --op read --bs 4k (fields: ",
        "x,io_start_s,lba,at_offset,pages => \
         'submit_ns=io_start_s,sector=lba' --op read --bs 4k (guessed by `start`",
    ] {
        let [headers, options] = parts(case);
        let rows = format!("{headers}\n1,2,3,4,5\n");
        let error = import(rows.as_bytes(), &ImportOptions::default()).unwrap_err();
        tells(&error, options);
    }
    let error = import(b"time,lat_us\n1,2\n", &ImportOptions::default()).unwrap_err();
    tells(
        &error,
        "expected a unit at the end of every header of times",
    );
    tells(&error, "found `time`");
    let error = import(b"time,lat\n1,2\n", &ImportOptions::default()).unwrap_err();
    let expected = "expected the option unit: the times are bare numbers";
    tells(&error, expected);
}
