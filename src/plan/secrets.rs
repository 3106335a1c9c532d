//! Secrets of a job. A plan holds no key: it says how one is made, so that plans can be compared and shown.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::ownership;
use crate::api::TrainJob;

/// A Secret to be made, unless it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSecret {
    /// Name, namespace and owner.
    pub metadata: ObjectMeta,
    /// What it holds.
    pub recipe: Recipe,
}

/// How the content of a Secret is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// A key pair for SSH: ECDSA on the curve P-521.
    SshKeyPair,
    /// A certificate of ZeroMQ's CURVE, as Flux reads it.
    CurveCertificate,
}

impl Recipe {
    /// Gives the type of the Secret; `None` where Kubernetes knows none for its content.
    pub fn secret_type(self) -> Option<&'static str> {
        match self {
            Self::SshKeyPair => Some("kubernetes.io/ssh-auth"),
            Self::CurveCertificate => None,
        }
    }

    /// Lists the keys of the Secret.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::SshKeyPair => &[Self::SSH_PRIVATE_KEY, Self::SSH_PUBLIC_KEY],
            Self::CurveCertificate => &[Self::CURVE_CERTIFICATE],
        }
    }

    /// Key of the private half.
    pub const SSH_PRIVATE_KEY: &str = "ssh-privatekey";
    /// Key of the public half.
    pub const SSH_PUBLIC_KEY: &str = "ssh-publickey";
    /// Key of the certificate with both halves.
    pub const CURVE_CERTIFICATE: &str = "curve.cert";
}

/// Plans a Secret of a job.
pub(super) fn of(job: &TrainJob, name: String, recipe: Recipe) -> NewSecret {
    NewSecret {
        metadata: ownership::owned(job, name),
        recipe,
    }
}
