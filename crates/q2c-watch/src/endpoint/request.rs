//! Requests and the answers to them, without any connection.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpRequest {
    /// The page, or with `false` its head alone.
    Page(bool),
    Elsewhere,
    /// Another method than GET and HEAD.
    Method,
    /// Something that is no request of HTTP/1.
    Broken,
}

impl HttpRequest {
    /// The request with this head, where the page has the path `path`.
    pub(crate) fn parse(head: &[u8], path: &str) -> HttpRequest {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
        let Ok(line) = std::str::from_utf8(line) else {
            return HttpRequest::Broken;
        };
        let fields: Vec<&str> = line.trim_end_matches('\r').split(' ').collect();
        let [method, target, version] = fields[..] else {
            return HttpRequest::Broken;
        };
        let asked = target.split('?').next();
        match (version.starts_with("HTTP/1."), method) {
            (false, _) => HttpRequest::Broken,
            _ if asked != Some(path) => HttpRequest::Elsewhere,
            (_, "GET") => HttpRequest::Page(true),
            (_, "HEAD") => HttpRequest::Page(false),
            _ => HttpRequest::Method,
        }
    }

    /// The whole answer.
    pub(crate) fn answer(self, content_type: &str, page: &str) -> String {
        const TEXT: &str = "text/plain; charset=utf-8";
        let (status, kind, body) = match self {
            HttpRequest::Page(_) => ("200 OK", content_type, page),
            HttpRequest::Elsewhere => ("404 Not Found", TEXT, "not found\n"),
            HttpRequest::Method => ("405 Method Not Allowed", TEXT, "only GET and HEAD\n"),
            HttpRequest::Broken => ("400 Bad Request", TEXT, "no request of HTTP/1\n"),
        };
        let allow = match self {
            HttpRequest::Method => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let length = body.len();
        let body = if self == HttpRequest::Page(false) {
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
            (
                "GET /metrics HTTP/1.1\r\nHost: x\r\n",
                HttpRequest::Page(true),
            ),
            ("GET /metrics?a=b HTTP/1.0\n\n", HttpRequest::Page(true)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", HttpRequest::Page(false)),
            ("GET / HTTP/1.1\r\n\r\n", HttpRequest::Elsewhere),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", HttpRequest::Elsewhere),
            ("POST /metrics HTTP/1.1\r\n\r\n", HttpRequest::Method),
            ("GET /metrics HTTP/2\r\n\r\n", HttpRequest::Broken),
            ("GET /metrics\r\n\r\n", HttpRequest::Broken),
            ("\u{16}\u{3}\u{1}", HttpRequest::Broken),
            ("", HttpRequest::Broken),
        ] {
            assert_eq!(
                HttpRequest::parse(head.as_bytes(), "/metrics"),
                wanted,
                "{head}"
            );
        }
        assert_eq!(
            HttpRequest::parse(&[0xff, b'\n'], "/metrics"),
            HttpRequest::Broken
        );
    }

    #[test]
    fn answers_have_the_length_of_their_body() {
        let whole = HttpRequest::Page(true).answer("text/x", "a 1\n");
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"));
        assert!(head.contains("Content-Length: 4\r\n"), "{head}");
        assert_eq!(body, "a 1\n");
        assert_eq!(
            HttpRequest::Page(false).answer("text/x", "a 1\n"),
            format!("{head}\r\n\r\n")
        );
        let wrong = HttpRequest::Method.answer("text/x", "a 1\n");
        assert!(wrong.contains("405 ") && wrong.contains("\r\nAllow: GET, HEAD\r\n"));
    }
}
