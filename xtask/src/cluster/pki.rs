//! Certificates and kubeconfigs, new for each cluster: one authority for everything but the API server's front proxy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

use super::network::{API_PORT, API_SERVICE, NODE, NODE_ADDRESS};
use super::state::State;

/// The cluster's authority, and the files that it made.
pub(super) struct Pki {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// Who a certificate is for.
struct Subject {
    /// The user name, where it is a client's.
    name: String,
    /// The group, where it is a client's.
    group: Option<&'static str>,
    /// Names and addresses, where it is a server's.
    hosts: Vec<String>,
}

impl Pki {
    /// Makes the authorities, the servers' certificates and the keys of service account tokens.
    pub(super) fn create(state: &State) -> Result<Self> {
        let folder = state.path("pki");
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        let pki = Self {
            authority: authority(&folder, "ca", "trainer-test-ca")?,
            folder,
        };
        let front_proxy = authority(&pki.folder, "front-proxy-ca", "trainer-test-front-proxy-ca")?;
        // By it, servers that extend the API believe the API server who a user is.
        let aggregator = Subject {
            name: "front-proxy-client".into(),
            group: None,
            hosts: Vec::new(),
        };
        pki.issue_by(&front_proxy, "front-proxy-client", &aggregator)?;

        let tokens = KeyPair::generate()?;
        private(&pki.file("service-accounts.key"), &tokens.serialize_pem())?;
        fs::write(pki.file("service-accounts.pub"), tokens.public_key_pem())?;

        let local = ["localhost", "127.0.0.1"].map(str::to_owned);
        let api = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let api = api
            .into_iter()
            .chain([NODE_ADDRESS, API_SERVICE])
            .map(str::to_owned)
            .chain(local.clone())
            .collect();
        pki.issue(
            "apiserver",
            &Subject {
                name: "kube-apiserver".into(),
                group: None,
                hosts: api,
            },
        )?;
        let kubelet = [NODE, NODE_ADDRESS]
            .map(str::to_owned)
            .into_iter()
            .chain(local.clone())
            .collect();
        let node = Subject {
            name: format!("system:node:{NODE}"),
            group: Some("system:nodes"),
            hosts: kubelet,
        };
        pki.issue("kubelet-server", &node)?;
        pki.issue(
            "jobset-webhook",
            &Subject {
                name: "jobset-webhook".into(),
                group: None,
                hosts: local.into(),
            },
        )?;
        pki.client(
            "apiserver-to-kubelet",
            "kube-apiserver-kubelet-client",
            Some("system:masters"),
        )?;
        Ok(pki)
    }

    /// A file of the certificate folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The authority's certificate.
    pub(super) fn authority(&self) -> String {
        self.authority.pem()
    }

    /// A kubeconfig for a user, for programs inside the cluster's network.
    pub(super) fn kubeconfig(&self, file: &str, user: &str, group: Option<&'static str>) -> Result<PathBuf> {
        let (certificate, key) = self.client(file, user, group)?;
        let user = json!({
            "client-certificate-data": base64(certificate.as_bytes()),
            "client-key-data": base64(key.as_bytes()),
        });
        self.write_kubeconfig(&self.file(&format!("{file}.conf")), API_PORT, &user)
    }

    /// The administrator's kubeconfig for programs on this machine.
    pub(super) fn admin_kubeconfig(&self, path: &Path, port: u16) -> Result<PathBuf> {
        let (certificate, key) = self.client("admin", "admin", Some("system:masters"))?;
        let user = json!({
            "client-certificate-data": base64(certificate.as_bytes()),
            "client-key-data": base64(key.as_bytes()),
        });
        self.write_kubeconfig(path, port, &user)
    }

    /// A kubeconfig for who holds a token, for programs inside the cluster's network.
    pub(super) fn token_kubeconfig(&self, file: &str, token: &str) -> Result<PathBuf> {
        self.write_kubeconfig(
            &self.file(&format!("{file}.conf")),
            API_PORT,
            &json!({"token": token}),
        )
    }

    fn write_kubeconfig(&self, path: &Path, port: u16, user: &Value) -> Result<PathBuf> {
        // JSON is YAML.
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "trainer", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority-data": base64(self.authority().as_bytes()),
            }}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "trainer", "context": {"cluster": "trainer", "user": "user"}}],
            "current-context": "trainer",
        });
        private(path, &format!("{config:#}\n"))?;
        Ok(path.to_owned())
    }

    fn client(&self, file: &str, user: &str, group: Option<&'static str>) -> Result<(String, String)> {
        self.issue(
            file,
            &Subject {
                name: user.to_owned(),
                group,
                hosts: Vec::new(),
            },
        )
    }

    /// Writes `FILE.crt` and `FILE.key` and returns them.
    fn issue(&self, file: &str, subject: &Subject) -> Result<(String, String)> {
        self.issue_by(&self.authority, file, subject)
    }

    fn issue_by(
        &self,
        authority: &CertifiedIssuer<'static, KeyPair>,
        file: &str,
        subject: &Subject,
    ) -> Result<(String, String)> {
        let mut params = CertificateParams::new(subject.hosts.clone())?;
        name(&mut params, &subject.name);
        if let Some(group) = subject.group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, authority)?.pem();
        let key = key.serialize_pem();
        fs::write(self.file(&format!("{file}.crt")), &certificate)?;
        private(&self.file(&format!("{file}.key")), &key)?;
        Ok((certificate, key))
    }
}

/// Makes an authority of its own and writes `FILE.crt` and `FILE.key`.
fn authority(folder: &Path, file: &str, common_name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    name(&mut params, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let key = KeyPair::generate()?;
    let key_pem = key.serialize_pem();
    let authority = CertifiedIssuer::self_signed(params, key)?;
    fs::write(folder.join(format!("{file}.crt")), authority.pem())?;
    private(&folder.join(format!("{file}.key")), &key_pem)?;
    Ok(authority)
}

/// Sets the common name, and nothing else, as the subject.
fn name(params: &mut CertificateParams, common_name: &str) {
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
}

fn private(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
}

/// Standard base64, as in kubeconfigs and CA bundles.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (0..3).fold(0_u32, |group, index| {
            group << 8 | u32::from(chunk.get(index).copied().unwrap_or(0))
        });
        for index in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= chunk.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_to_groups_of_four() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
