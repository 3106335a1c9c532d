//! Keys that are made for a job.
//!
//! No client. The only place with randomness; keys go from here into a Secret and nowhere else.

use std::collections::BTreeMap;

use anyhow::Context as _;
use p521::elliptic_curve::sec1::ToEncodedPoint;
use p521::pkcs8::LineEnding;
use rand_core::OsRng;
use sec1::der::EncodePem as _;
use sec1::der::asn1::ObjectIdentifier;
use sec1::{EcParameters, EcPrivateKey};
use ssh_key::public::{EcdsaPublicKey, KeyData};

use crate::plan::Recipe;

/// Makes the content of a Secret of a job.
pub(crate) fn content(recipe: Recipe, job: &str) -> anyhow::Result<BTreeMap<&'static str, String>> {
    match recipe {
        Recipe::SshKeyPair => ssh_key_pair(),
        Recipe::CurveCertificate => Ok(BTreeMap::from([(
            Recipe::CURVE_CERTIFICATE,
            curve_certificate(job),
        )])),
    }
}

/// The curve of NIST P-521, by its number in SEC 2.
const SECP521R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");

/// Makes a key pair: the private half as SEC 1 in PEM, the public half as a line of `authorized_keys`.
fn ssh_key_pair() -> anyhow::Result<BTreeMap<&'static str, String>> {
    let secret = p521::SecretKey::random(&mut OsRng);
    let point = secret.public_key().to_encoded_point(false);
    // `to_sec1_pem` does not say which curve it is, and OpenSSL, so sshd, wants to know.
    let private = EcPrivateKey {
        private_key: &secret.to_bytes(),
        parameters: Some(EcParameters::NamedCurve(SECP521R1)),
        public_key: Some(point.as_bytes()),
    };
    let private = private.to_pem(LineEnding::LF).context("write a private key")?;
    let public = KeyData::Ecdsa(EcdsaPublicKey::NistP521(point));
    let public = ssh_key::PublicKey::from(public)
        .to_openssh()
        .context("write a public key")?;
    Ok(BTreeMap::from([
        (Recipe::SSH_PRIVATE_KEY, private),
        (Recipe::SSH_PUBLIC_KEY, format!("{public}\n")),
    ]))
}

/// Makes a certificate of ZeroMQ's CURVE: both halves in Z85, in a file of ZPL.
fn curve_certificate(job: &str) -> String {
    let secret = x25519_dalek::StaticSecret::random_from_rng(OsRng);
    let public = x25519_dalek::PublicKey::from(&secret);
    format!(
        "#   ZeroMQ CURVE certificate, with its secret key: keep it safe\n\
         metadata\n    name = \"{job}\"\n\
         curve\n    public-key = \"{}\"\n    secret-key = \"{}\"\n",
        z85::encode(public.as_bytes()),
        z85::encode(secret.as_bytes()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_pair_is_two_halves_of_one_key_and_never_the_same_twice() {
        let pair = content(Recipe::SshKeyPair, "a").unwrap();
        let (private, public) = (&pair[Recipe::SSH_PRIVATE_KEY], &pair[Recipe::SSH_PUBLIC_KEY]);
        assert!(private.starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
        assert!(public.starts_with("ecdsa-sha2-nistp521 AAAA"));
        assert_eq!(public.split(' ').count(), 2, "no comment: {public}");
        let secret = p521::SecretKey::from_sec1_pem(private).unwrap();
        let read = ssh_key::PublicKey::from_openssh(public).unwrap();
        let KeyData::Ecdsa(EcdsaPublicKey::NistP521(point)) = read.key_data() else {
            panic!("{public}");
        };
        assert_eq!(*point, secret.public_key().to_encoded_point(false));
        let (_, der) = sec1::der::pem::decode_vec(private.as_bytes()).unwrap();
        let parameters = EcPrivateKey::try_from(der.as_slice()).unwrap().parameters;
        assert_eq!(
            parameters.and_then(EcParameters::named_curve),
            Some(SECP521R1),
            "OpenSSL reads no key without it"
        );
        assert_ne!(pair, content(Recipe::SshKeyPair, "a").unwrap());
    }

    #[test]
    fn a_certificate_has_both_halves_in_forty_characters() {
        let pair = content(Recipe::CurveCertificate, "a").unwrap();
        let certificate = &pair[Recipe::CURVE_CERTIFICATE];
        let key = |name: &str| {
            let line = certificate.lines().find(|line| line.contains(name)).unwrap();
            let text = line.split('"').nth(1).unwrap();
            assert_eq!(text.len(), 40);
            <[u8; 32]>::try_from(z85::decode(text).unwrap()).unwrap()
        };
        let secret = x25519_dalek::StaticSecret::from(key("secret-key"));
        assert_eq!(
            x25519_dalek::PublicKey::from(&secret).to_bytes(),
            key("public-key")
        );
    }
}
