use super::*;

fn hosts(entries: &[&str]) -> Hosts {
    Hosts::new(&entries.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
}

fn check(entries: &[&str], url: &str) -> Result<Reach, String> {
    hosts(entries).check(&Url::parse(url).unwrap()).map_err(|error| error.kind.unwrap().to_string())
}

fn refused() -> Result<Reach, String> {
    Err("AddressRefused".to_owned())
}

#[test]
fn addresses_in_urls_are_refused_in_every_way_of_writing_them() {
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.0.0.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]:8080/",
        "http://169.254.169.254/latest",
        "http://10.0.0.1./",
        "https://①②⑦.0.0.1/",
    ] {
        assert_eq!(check(&[], url), Err("AddressRefused".to_owned()), "{url}");
        assert_eq!(check(&["*"], url), Err("AddressRefused".to_owned()), "{url}");
    }
    assert_eq!(check(&["127.0.0.1"], "http://127.1:99/"), Ok(Reach::Direct));
    assert_eq!(check(&["[::1]:80"], "http://[0:0::1]/"), Ok(Reach::Direct));
    assert_eq!(check(&[], "http://1.1.1.1/"), Ok(Reach::Public));
}

#[test]
fn only_listed_hosts_and_ports_are_asked() {
    let list = ["example.org", "*.wiki.org", "127.0.0.1:8080", "Bücher.example"];
    for url in [
        "https://example.org/x",
        "http://EXAMPLE.org:99/",
        "https://example.org./",
        "https://de.wiki.org/",
        "http://127.0.0.1:8080/",
        "https://xn--bcher-kva.example/",
    ] {
        assert!(check(&list, url).is_ok(), "{url}");
    }
    for url in [
        "https://www.example.org/",
        "https://wiki.org/",
        "https://evilwiki.org/",
        "http://127.0.0.1:8081/",
        "http://127.0.0.1/",
        "https://example.org.evil.com/",
        "https://8.8.8.8/",
    ] {
        assert_eq!(check(&list, url), Err("HostRefused".to_owned()), "{url}");
    }
    for url in ["ftp://example.org/", "file:///etc/passwd", "http://user@example.org/", "data:text/plain,x"] {
        assert_eq!(check(&list, url), Err("BadUrl".to_owned()), "{url}");
    }
}

#[test]
fn what_is_no_host_is_refused_when_the_agent_is_built() {
    for entry in [
        "",
        "http://example.org",
        "example.org/path",
        "a b",
        "*example.org",
        "x:y",
        "a.*.org",
        "user@x.org",
        "x.org?q",
    ] {
        assert!(Hosts::new(&[entry.to_owned()]).is_err(), "{entry}");
    }
}

#[test]
fn no_wildcard_reaches_more_than_the_public_internet() {
    for entries in [&[][..], &["*"], &["*.org"], &["x.org:81", "*"]] {
        assert_eq!(check(entries, "http://x.org:80/"), Ok(Reach::Public), "{entries:?}");
    }
    assert_eq!(check(&["x.org", "*"], "http://x.org:80/"), Ok(Reach::Direct));
}

#[test]
fn a_port_that_is_listed_beside_a_wildcard_opens_no_other_port() {
    let wide = ["*", "*.local", "*:9999", "127.0.0.1:8080", "localhost:8080", "[::1]:8080"];
    for host in ["127.0.0.1", "127.1", "[::1]", "[0:0::1]", "localhost", "LOCALHOST."] {
        let at = |port: u16| check(&wide, &format!("http://{host}:{port}/"));
        assert_eq!(at(8080), Ok(Reach::Direct), "{host}");
        for port in [80, 8081, 9999] {
            let name = host.to_ascii_lowercase().starts_with("local");
            let expected = if name { Ok(Reach::Public) } else { refused() };
            assert_eq!(at(port), expected, "{host}:{port}");
        }
    }
    // The scheme's own port counts as written.
    assert_eq!(check(&["127.0.0.1:443", "*"], "https://127.0.0.1/"), Ok(Reach::Direct));
    assert_eq!(check(&["127.0.0.1:443", "*"], "http://127.0.0.1/"), refused());
    // A wildcard with a port is a wildcard.
    assert_eq!(check(&["*:8080"], "http://127.0.0.1:8080/"), refused());
    assert_eq!(check(&["*.0.0.1", "*"], "http://127.0.0.1/"), refused());
    // Without a port an entry names every port.
    assert_eq!(check(&["127.0.0.1:8080", "127.0.0.1", "*"], "http://127.0.0.1:22/"), Ok(Reach::Direct));
    // Link-local and private addresses are no different from loopback.
    for host in ["169.254.169.254", "10.0.0.1", "[fe80::1]", "[::ffff:127.0.0.1]"] {
        assert_eq!(check(&wide, &format!("http://{host}:8080/")), refused(), "{host}");
    }
}
