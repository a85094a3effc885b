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
fn addresses_that_are_not_public_are_known() {
    for address in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.9.9",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "3fff::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "5f00::1",
        "fd00:ec2::254",
    ] {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "2a00::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ] {
        assert!(is_public(address.parse().unwrap()), "{address}");
    }
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
    assert_eq!(check(&["127.0.0.1"], "http://127.1:99/"), Ok(Reach::Listed));
    assert_eq!(check(&["[::1]:80"], "http://[0:0::1]/"), Ok(Reach::Listed));
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
fn resolved_names_keep_only_the_addresses_that_may_be_asked() {
    let found = |addresses: &[&str]| -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
    };
    let mixed = || found(&["10.0.0.1", "8.8.8.8", "::1"]);
    assert_eq!(vet(Reach::Public, "x.org", mixed()).unwrap(), found(&["8.8.8.8"]));
    assert_eq!(vet(Reach::Listed, "x.org", mixed()).unwrap(), mixed());
    for entries in [&[][..], &["*"], &["*.org"], &["x.org:81", "*"]] {
        let reach = check(entries, "http://x.org:80/").unwrap();
        let refused = vet(reach, "x.org", found(&["10.0.0.1"])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the host `x.org` has the address 10.0.0.1, which is not of the public internet"
        );
    }
}

#[test]
fn a_port_that_is_listed_beside_a_wildcard_opens_no_other_port() {
    let wide = ["*", "*.local", "*:9999", "127.0.0.1:8080", "localhost:8080", "[::1]:8080"];
    for host in ["127.0.0.1", "127.1", "[::1]", "[0:0::1]", "localhost", "LOCALHOST."] {
        let at = |port: u16| check(&wide, &format!("http://{host}:{port}/"));
        assert_eq!(at(8080), Ok(Reach::Listed), "{host}");
        for port in [80, 8081, 9999] {
            let name = host.to_ascii_lowercase().starts_with("local");
            let expected = if name { Ok(Reach::Public) } else { refused() };
            assert_eq!(at(port), expected, "{host}:{port}");
        }
    }
    // The scheme's own port counts as written.
    assert_eq!(check(&["127.0.0.1:443", "*"], "https://127.0.0.1/"), Ok(Reach::Listed));
    assert_eq!(check(&["127.0.0.1:443", "*"], "http://127.0.0.1/"), refused());
    // A wildcard with a port is a wildcard.
    assert_eq!(check(&["*:8080"], "http://127.0.0.1:8080/"), refused());
    assert_eq!(check(&["*.0.0.1", "*"], "http://127.0.0.1/"), refused());
    // Without a port an entry names every port.
    assert_eq!(check(&["127.0.0.1:8080", "127.0.0.1", "*"], "http://127.0.0.1:22/"), Ok(Reach::Listed));
    // Link-local and private addresses are no different from loopback.
    for host in ["169.254.169.254", "10.0.0.1", "[fe80::1]", "[::ffff:127.0.0.1]"] {
        assert_eq!(check(&wide, &format!("http://{host}:8080/")), refused(), "{host}");
    }
}
