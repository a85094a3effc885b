use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::HttpClient;

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
fn resolved_names_keep_only_the_addresses_that_may_be_asked() {
    let found = |addresses: &[&str]| -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
    };
    let mixed = || found(&["10.0.0.1", "8.8.8.8", "::1"]);
    assert_eq!(vet(Reach::Public, "x.org", mixed()).unwrap(), found(&["8.8.8.8"]));
    for reach in [Reach::Direct, Reach::Proxied] {
        assert_eq!(vet(reach, "x.org", mixed()).unwrap(), mixed());
    }
    let refused = vet(Reach::Public, "x.org", found(&["10.0.0.1"])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the host `x.org` has the address 10.0.0.1, which is not of the public internet"
    );
}

/// A server that answers each request on a connection with nothing.
async fn server() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn what_is_not_public_is_refused_by_name_by_address_and_on_a_connection_that_is_there() {
    let port = server().await;
    let ask = |host: &str, reach| {
        let request = http::Request::get(format!("http://{host}:{port}/")).body(bytes::Bytes::new()).unwrap();
        async move { HttpClient::new(Duration::from_secs(10), reach).open(request).await }
    };
    for host in ["127.0.0.1", "localhost"] {
        // Its connection stays open, for whoever reaches as far.
        ask(host, Reach::Direct).await.unwrap();
        let error = ask(host, Reach::Public).await.unwrap_err();
        let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
        while cause.is_some_and(|cause| !cause.is::<Refused>()) {
            cause = cause.and_then(Error::source);
        }
        assert!(cause.is_some(), "{host}: {error:?}");
    }
    assert!(ask("[::ffff:127.0.0.1]", Reach::Public).await.is_err_and(|error| error.is_unsent()));
}
