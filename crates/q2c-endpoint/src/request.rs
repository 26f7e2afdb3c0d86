//! Requests and the answers to them, without any connection.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The page, or with `false` its head alone.
    Page(bool),
    Elsewhere,
    /// Another method than GET and HEAD.
    Method,
    /// Something that is no request of HTTP/1.
    Broken,
}

impl Request {
    /// The request with this head, where the page has the path `path`.
    pub fn of(head: &[u8], path: &str) -> Request {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
        let Ok(line) = std::str::from_utf8(line) else {
            return Request::Broken;
        };
        let words: Vec<&str> = line.trim_end_matches('\r').split(' ').collect();
        let [method, target, version] = words[..] else {
            return Request::Broken;
        };
        let asked = target.split('?').next();
        match (version.starts_with("HTTP/1."), method) {
            (false, _) => Request::Broken,
            _ if asked != Some(path) => Request::Elsewhere,
            (_, "GET") => Request::Page(true),
            (_, "HEAD") => Request::Page(false),
            _ => Request::Method,
        }
    }

    /// The whole answer.
    pub fn answer(self, content_type: &str, page: &str) -> String {
        const TEXT: &str = "text/plain; charset=utf-8";
        let (status, kind, body) = match self {
            Request::Page(_) => ("200 OK", content_type, page),
            Request::Elsewhere => ("404 Not Found", TEXT, "not found\n"),
            Request::Method => ("405 Method Not Allowed", TEXT, "only GET and HEAD\n"),
            Request::Broken => ("400 Bad Request", TEXT, "no request of HTTP/1\n"),
        };
        let allow = match self {
            Request::Method => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let length = body.len();
        let body = if self == Request::Page(false) {
            ""
        } else {
            body
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n{body}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        for (head, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n", Request::Page(true)),
            ("GET /metrics?a=b HTTP/1.0\n\n", Request::Page(true)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", Request::Page(false)),
            ("GET / HTTP/1.1\r\n\r\n", Request::Elsewhere),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", Request::Elsewhere),
            ("POST /metrics HTTP/1.1\r\n\r\n", Request::Method),
            ("GET /metrics HTTP/2\r\n\r\n", Request::Broken),
            ("GET /metrics\r\n\r\n", Request::Broken),
            ("\u{16}\u{3}\u{1}", Request::Broken),
            ("", Request::Broken),
        ] {
            assert_eq!(Request::of(head.as_bytes(), "/metrics"), wanted, "{head}");
        }
        assert_eq!(Request::of(&[0xff, b'\n'], "/metrics"), Request::Broken);
    }

    #[test]
    fn answers_have_the_length_of_their_body() {
        let whole = Request::Page(true).answer("text/x", "a 1\n");
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"));
        assert!(head.contains("Content-Length: 4\r\n"), "{head}");
        assert_eq!(body, "a 1\n");
        assert_eq!(
            Request::Page(false).answer("text/x", "a 1\n"),
            format!("{head}\r\n\r\n")
        );
        let wrong = Request::Method.answer("text/x", "a 1\n");
        assert!(wrong.contains("405 ") && wrong.contains("\r\nAllow: GET, HEAD\r\n"));
    }
}
