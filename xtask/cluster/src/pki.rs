//! Certificates and kubeconfigs, new for each cluster. One authority issues all but the certificates of the API server's
//! front proxy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

use crate::network::{API_PORT, API_SERVICE, NODE, NODE_ADDRESS};
use crate::state::State;

/// The cluster's authority, and the folder of its files.
pub(crate) struct Pki {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// Who a certificate is for.
struct Subject {
    /// The user name of a client, or a server's common name.
    name: String,
    /// The group of a client.
    group: Option<&'static str>,
    /// Names and addresses of a server.
    hosts: Vec<String>,
}

/// A certificate and its key, in PEM.
struct Issued {
    certificate: String,
    key: String,
}

impl Issued {
    /// Returns the user of a kubeconfig.
    fn as_user(&self) -> Value {
        json!({
            "client-certificate-data": BASE64.encode(&self.certificate),
            "client-key-data": BASE64.encode(&self.key),
        })
    }
}

impl Pki {
    /// Makes the authorities, the servers' certificates, and the keys that sign service account tokens.
    pub(crate) fn create(state: &State) -> Result<Self> {
        let folder = state.path("pki");
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        let pki = Self {
            authority: authority(&folder, "ca", "trainer-test-ca")?,
            folder,
        };
        let front_proxy = authority(&pki.folder, "front-proxy-ca", "trainer-test-front-proxy-ca")?;
        // Aggregated API servers trust this client of theirs: it names the user of each request.
        let aggregator = Subject {
            name: "front-proxy-client".into(),
            group: None,
            hosts: Vec::new(),
        };
        pki.issue_by(&front_proxy, "front-proxy-client", &aggregator)?;

        let tokens = KeyPair::generate()?;
        private(&pki.file("service-accounts.key"), &tokens.serialize_pem())?;
        fs::write(pki.file("service-accounts.pub"), tokens.public_key_pem())?;

        let local = ["localhost", "127.0.0.1"];
        let api = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            NODE_ADDRESS,
            API_SERVICE,
        ];
        pki.server("apiserver", "kube-apiserver", None, &[&api, &local[..]].concat())?;
        let node = format!("system:node:{NODE}");
        let kubelet = [&[NODE, NODE_ADDRESS], &local[..]].concat();
        pki.server("kubelet-server", &node, Some("system:nodes"), &kubelet)?;
        pki.server("jobset-webhook", "jobset-webhook", None, &local)?;
        let kubelet_client = "kube-apiserver-kubelet-client";
        pki.client("apiserver-to-kubelet", kubelet_client, Some("system:masters"))?;
        Ok(pki)
    }

    /// Returns the path of a file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the authority's certificate.
    pub(crate) fn authority(&self) -> String {
        self.authority.pem()
    }

    /// Writes a kubeconfig of a user, for programs in the cluster's network.
    pub(crate) fn kubeconfig(&self, file: &str, user: &str, group: Option<&'static str>) -> Result<PathBuf> {
        let certificate = self.client(file, user, group)?;
        self.write_kubeconfig(
            &self.file(&format!("{file}.conf")),
            API_PORT,
            &certificate.as_user(),
        )
    }

    /// Writes the administrator's kubeconfig, for programs on this machine.
    pub(crate) fn admin_kubeconfig(&self, path: &Path, port: u16) -> Result<PathBuf> {
        let certificate = self.client("admin", "admin", Some("system:masters"))?;
        self.write_kubeconfig(path, port, &certificate.as_user())
    }

    /// Writes a kubeconfig with a token, for programs in the cluster's network.
    pub(crate) fn token_kubeconfig(&self, file: &str, token: &str) -> Result<PathBuf> {
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
                "certificate-authority-data": BASE64.encode(self.authority()),
            }}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "trainer", "context": {"cluster": "trainer", "user": "user"}}],
            "current-context": "trainer",
        });
        private(path, &format!("{config:#}\n"))?;
        Ok(path.to_owned())
    }

    fn client(&self, file: &str, user: &str, group: Option<&'static str>) -> Result<Issued> {
        self.server(file, user, group, &[])
    }

    fn server(&self, file: &str, name: &str, group: Option<&'static str>, hosts: &[&str]) -> Result<Issued> {
        let subject = Subject {
            name: name.to_owned(),
            group,
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        };
        self.issue_by(&self.authority, file, &subject)
    }

    /// Writes `FILE.crt` and `FILE.key`.
    fn issue_by(
        &self,
        authority: &CertifiedIssuer<'static, KeyPair>,
        file: &str,
        subject: &Subject,
    ) -> Result<Issued> {
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
        Ok(Issued { certificate, key })
    }
}

/// Makes a self-signed authority, and writes its `FILE.crt` and `FILE.key`.
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

/// Sets a subject that is only a common name.
fn name(params: &mut CertificateParams, common_name: &str) {
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
}

/// Writes a file that only its owner can read.
fn private(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
}
