//! TLS to a real server, straight and through a proxy's tunnel. The certificate beside this file is for these tests only, and
//! is its own authority.

use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use windlass_core::model::FailureKind;
use windlass_models::{HttpModel, HttpModelConfig};

use crate::server::*;

const CERTIFICATE: &str = include_str!("tls/cert.pem");
const KEY: &str = include_str!("tls/key.pem");

/// The variable with the port for the children below.
const PORT: &str = "WINDLASS_TEST_TLS_PORT";

/// A server that answers each request on an encrypted connection; its port.
async fn encrypted_server() -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).expect("a key");
    let mut settings = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .expect("TLS settings");
    settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
                let mut request = [0; 4096];
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    for step in json(HELLO_WHOLE) {
                        let Step::Send(bytes) = step else { return };
                        stream.write_all(&bytes).await.expect("sent");
                    }
                }
            });
        }
    });
    port
}

/// A proxy that opens a tunnel to the port of this machine that it is asked for, whatever the host; its URL, and how many tunnels it opened.
async fn tunnelling_proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a head"));
            }
            let head = String::from_utf8(head).expect("text");
            let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
            let port = target.and_then(|target| target.rsplit(':').next()?.parse::<u16>().ok());
            let there = ("127.0.0.1", port.expect("a CONNECT"));
            let mut behind = TcpStream::connect(there).await.expect("it is there");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("sent");
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move { copy_bidirectional(&mut stream, &mut behind).await.ok() });
        }
    });
    (url, opened)
}

/// Runs the child below, which trusts the certificate or not.
async fn child(port: u16, trusts: bool, proxy: Option<String>) -> Output {
    let program = std::env::current_exe().expect("this test");
    let work = move || {
        let mut command = Command::new(program);
        command.args(["--exact", "tls::child_with_a_port", "--ignored"]).env(PORT, port.to_string());
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
            command.env_remove(name);
        }
        if let Some(proxy) = proxy {
            command.env("HTTPS_PROXY", proxy);
        }
        let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls/cert.pem");
        if trusts {
            command.env("SSL_CERT_FILE", certificate);
        } else {
            command.env("WINDLASS_TEST_REFUSED", "1");
        }
        command.output()
    };
    tokio::task::spawn_blocking(work).await.expect("no panic").expect("it runs")
}

/// Run as a child of the tests below.
#[tokio::test]
#[ignore = "only with a port, from the tests beside it"]
async fn child_with_a_port() {
    let port = std::env::var(PORT).expect("a port");
    let through = |host: &str| {
        let url = format!("https://{host}:{port}/v1");
        HttpModel::new(HttpModelConfig { allow_proxy: true, ..config(&url) }).expect("a good base URL")
    };
    if std::env::var("WINDLASS_TEST_REFUSED").is_ok() {
        let failure = ask(&through("localhost"), false).await.expect_err("nobody vouches for it");
        assert_eq!(failure.kind, FailureKind::Connect);
        let words = format!("no TLS connection to localhost:{port}: ");
        assert!(failure.message.starts_with(&words), "{}", failure.message);
        return;
    }
    let behind_a_proxy = std::env::var("HTTPS_PROXY").is_ok();
    // Hosts of this machine are asked directly, whatever the variables say.
    let hosts =
        if behind_a_proxy { ["model.invalid", "other.invalid", "model.invalid"] } else { ["localhost"; 3] };
    for host in hosts.into_iter().chain(["localhost", "127.0.0.1", "localhost"]) {
        ask(&through(host), false).await.expect("a reply");
    }
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn e45_a_server_with_a_trusted_certificate_is_asked() {
    let port = encrypted_server().await;
    succeeded(&child(port, true, None).await);
}

#[tokio::test]
async fn e45_a_server_that_nobody_vouches_for_is_not_asked() {
    let port = encrypted_server().await;
    succeeded(&child(port, false, None).await);
}

#[tokio::test]
async fn e45_tls_goes_through_a_proxy_s_tunnel() {
    let (port, (proxy, opened)) = (encrypted_server().await, tunnelling_proxy().await);
    succeeded(&child(port, true, Some(proxy)).await);
    assert_eq!(opened.load(Ordering::SeqCst), 2, "one connection a host, used again");
}
