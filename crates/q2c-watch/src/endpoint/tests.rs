use super::*;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::time::Instant;

fn serving(text: &str) -> PageServer {
    let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
    let serving = endpoint.serve("/metrics", "text/plain", text.to_owned(), || {});
    serving.expect("a thread")
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).expect("it listens")
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n";

#[test]
fn the_latest_page_is_served() {
    let serving = serving("a 1\n");
    assert!(ask(serving.address, GET).ends_with("\r\n\r\na 1\n"));
    serving.publish("a 2\n".to_owned());
    let answer = ask(serving.address, GET);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("a 2\n"));
    assert!(ask(serving.address, "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(ask(serving.address, "PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(20_000));
    assert!(ask(serving.address, &long).starts_with("HTTP/1.1 400 "));
}

/// Clients that send nothing stop neither the work nor other clients.
#[test]
fn slow_clients_hold_nobody_up() {
    let serving = serving("a 1\n");
    let slow: Vec<TcpStream> = (0..8).map(|_| connect(serving.address)).collect();
    let begun = Instant::now();
    for n in 0..1_000 {
        serving.publish(format!("a {n}\n"));
    }
    assert!(ask(serving.address, GET).ends_with("a 999\n"));
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    drop(slow);
}

/// A client that takes all the time there is loses its place, so that others have one again.
#[test]
fn slow_clients_are_given_up() {
    let serving = serving("a 1\n");
    let slow: Vec<TcpStream> = (0..40).map(|_| connect(serving.address)).collect();
    for mut stream in slow {
        let mut nothing = Vec::new();
        // The connection is closed, or reset where something was not read.
        stream.read_to_end(&mut nothing).ok();
        assert!(nothing.is_empty());
    }
    assert!(ask(serving.address, GET).ends_with("a 1\n"));
}

#[test]
fn an_address_in_use_is_named_and_free_again_at_the_end() {
    let serving = serving("a 1\n");
    let address = serving.address;
    let refused = Endpoint::bind(address).expect_err("in use").to_string();
    assert!(refused.contains(&address.to_string()) && refused.contains("name another port"));
    drop(serving);
    let again = Endpoint::bind(address).expect("it is free");
    assert_eq!(again.address(), address);
}
