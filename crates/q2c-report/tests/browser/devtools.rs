//! A client of the browser's debugging protocol: JSON messages over a web socket.

use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::{Message, WebSocket, client};

/// A connection to one page.
pub(crate) struct DevTools {
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    next_id: u64,
    /// All events so far, in the order of arrival.
    pub events: Vec<Value>,
}

impl DevTools {
    /// Connects and attaches to a new, empty page.
    pub(crate) fn connect((port, path): (u16, String)) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("connect to Chromium");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("set a time limit");
        let (socket, _) =
            client(format!("ws://127.0.0.1:{port}{path}"), stream).expect("a web socket");
        let mut tools = DevTools {
            socket,
            session: None,
            next_id: 0,
            events: Vec::new(),
        };
        let attach = json!({"targetId": tools.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"], "flatten": true});
        let attached = tools.call("Target.attachToTarget", &attach);
        tools.session = attached["sessionId"].as_str().map(str::to_owned);
        tools
    }

    /// Sends a command and waits for its answer. Events that arrive meanwhile are kept in `events`.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket
            .send(Message::text(message.to_string()))
            .expect("send a command");
        loop {
            let mut answer = self.receive();
            if answer["id"] == json!(self.next_id) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Waits for the next event with this name.
    pub(crate) fn wait_for(&mut self, event: &str) {
        loop {
            let message = self.receive();
            let is_wanted = message["method"] == json!(event);
            self.events.push(message);
            if is_wanted {
                return;
            }
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            match self.socket.read().expect("hear from Chromium within 60 s") {
                Message::Text(text) => return serde_json::from_str(&text).expect("a JSON message"),
                Message::Close(_) => panic!("Chromium closed the connection"),
                _ => {}
            }
        }
    }
}
