//! Owns the TLS settings of the process. They are made at the first https address: reading the system's certificates takes
//! tens of milliseconds, which a local server need not cost.

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// The TLS settings: certificates as the system trusts them, HTTP/1.1.
///
/// # Errors
/// The system's certificates cannot be used.
pub(crate) fn config() -> Result<Arc<ClientConfig>, rustls::Error> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    // A provider that the program has installed itself is as good.
    let provider =
        CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(CONFIG.get_or_init(|| Arc::new(config)).clone())
}
